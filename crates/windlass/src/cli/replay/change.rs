//! What `--what-if` changes in the orders of a run.

use windlass_core::graph::workflow::{Act, CriteriaLoopNode, LoopNode, Step, TaskLoopNode};
use windlass_core::spec::Spec;

use super::super::orders::milliseconds;

/// One thing that would have been ordered otherwise.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// As it was typed.
    pub(super) typed: String,
    pub(super) what: What,
}

/// Which.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum What {
    MaxIterations(u32),
    Turns(u32),
    Tokens(u64),
    Cost(f64),
    Timeout(u64),
    StuckAfter(u32),
}

/// Those there are.
const KEYS: &str = "max_iterations, budget.turns, budget.tokens, budget.cost, timeout, stuck_after";

/// Reads `KEY=VALUE`.
pub(super) fn read(text: &str) -> Result<Change, String> {
    let Some((key, value)) = text.split_once('=') else { return Err("write it like KEY=VALUE".to_owned()) };
    let what = match key {
        "max_iterations" => What::MaxIterations(number(value)?),
        "budget.turns" => What::Turns(number(value)?),
        "budget.tokens" => What::Tokens(number(value)?),
        "budget.cost" => What::Cost(money(value)?),
        "timeout" => What::Timeout(milliseconds(value)?),
        "stuck_after" => What::StuckAfter(number(value)?),
        _ => return Err(format!("there is no `{key}`; there are: {KEYS}")),
    };
    Ok(Change { typed: text.to_owned(), what })
}

fn number<N: std::str::FromStr>(value: &str) -> Result<N, String> {
    value.parse().map_err(|_| "it must be a whole number".to_owned())
}

fn money(value: &str) -> Result<f64, String> {
    let sum = value.strip_prefix('$').unwrap_or(value).parse::<f64>().ok();
    sum.filter(|sum| sum.is_finite() && *sum >= 0.0)
        .ok_or_else(|| "it must be a sum in US dollars".to_owned())
}

impl What {
    /// Whether it holds for each run by itself; the rest is about the whole.
    pub(super) fn is_of_each(self) -> bool {
        matches!(self, What::MaxIterations(_) | What::StuckAfter(_))
    }

    /// Orders it. How long a run may take is no matter of its log alone, and not done here.
    pub(super) fn order(self, spec: &mut Spec) {
        match self {
            What::MaxIterations(most) => {
                let rules = spec.sessions.values_mut().filter_map(|orders| orders.rules.as_mut());
                rules.for_each(|rules| rules.max_iterations = most);
                bound(&mut spec.body, most);
            }
            What::StuckAfter(turns) => {
                let rules = spec.sessions.values_mut().filter_map(|orders| orders.rules.as_mut());
                rules.for_each(|rules| rules.stuck_after = turns);
            }
            What::Turns(turns) => spec.budget.turns = Some(turns),
            What::Tokens(tokens) => spec.budget.tokens = Some(tokens),
            What::Cost(sum) => spec.budget.cost_usd = Some(sum),
            What::Timeout(_) => {}
        }
    }
}

fn bound(body: &mut [Step], most: u32) {
    for step in body {
        if let Act::Loop(LoopNode { max, .. })
        | Act::CriteriaLoop(CriteriaLoopNode { max, .. })
        | Act::TaskLoop(TaskLoopNode { max, .. }) = &mut step.act
        {
            *max = most;
        }
        step.act.blocks_mut().into_iter().for_each(|block| bound(block, most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_kind_of_value() {
        let what = |text| read(text).ok().map(|change| change.what);
        assert_eq!(what("max_iterations=3"), Some(What::MaxIterations(3)));
        assert_eq!(what("budget.turns=3"), Some(What::Turns(3)));
        assert_eq!(what("budget.tokens=5000000000"), Some(What::Tokens(5_000_000_000)));
        assert_eq!(what("budget.cost=$2.50"), Some(What::Cost(2.5)));
        assert_eq!(what("timeout=30m"), Some(What::Timeout(1_800_000)));
        assert_eq!(what("stuck_after=0"), Some(What::StuckAfter(0)));
        for wrong in [
            "",
            "x",
            "max_iterations",
            "max_iterations=",
            "max_iterations=-1",
            "budget.cost=NaN",
            "budget.cost=-1",
            "timeout=soon",
            "stuck_after=1.5",
            "=3",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read("mode=fresh").unwrap_err().contains("max_iterations, budget.turns"));
    }
}
