//! The settings that `--what-if` can change.

use windlass_core::graph::workflow::{CriteriaLoopNode, LoopNode, Node, NodeKind, TaskLoopNode};
use windlass_core::spec::Spec;

use super::super::run_flags::milliseconds;

/// A setting that `--what-if` changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SettingChange {
    /// The text as a person typed it.
    pub(super) typed: String,
    pub(super) what: ChangedSetting,
}

/// A setting and its new value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ChangedSetting {
    MaxIterations(u32),
    Turns(u32),
    Tokens(u64),
    Cost(f64),
    Timeout(u64),
    StuckAfter(u32),
}

/// All keys, for the error message.
const KEYS: &str = "max_iterations, budget.turns, budget.tokens, budget.cost, timeout, stuck_after";

/// Reads `KEY=VALUE`.
pub(super) fn read(text: &str) -> Result<SettingChange, String> {
    let Some((key, value)) = text.split_once('=') else { return Err("write it like KEY=VALUE".to_owned()) };
    let what = match key {
        "max_iterations" => ChangedSetting::MaxIterations(number(value)?),
        "budget.turns" => ChangedSetting::Turns(number(value)?),
        "budget.tokens" => ChangedSetting::Tokens(number(value)?),
        "budget.cost" => ChangedSetting::Cost(money(value)?),
        "timeout" => ChangedSetting::Timeout(milliseconds(value)?),
        "stuck_after" => ChangedSetting::StuckAfter(number(value)?),
        _ => return Err(format!("unknown key `{key}`; the keys are: {KEYS}")),
    };
    Ok(SettingChange { typed: text.to_owned(), what })
}

fn number<N: std::str::FromStr>(value: &str) -> Result<N, String> {
    value.parse().map_err(|_| "it must be a whole number".to_owned())
}

fn money(value: &str) -> Result<f64, String> {
    let sum = value.strip_prefix('$').unwrap_or(value).parse::<f64>().ok();
    sum.filter(|sum| sum.is_finite() && *sum >= 0.0)
        .ok_or_else(|| "it must be a sum in US dollars".to_owned())
}

impl ChangedSetting {
    /// Returns whether the setting applies to each run separately. The others apply to the whole family.
    pub(super) fn is_of_each(self) -> bool {
        matches!(self, ChangedSetting::MaxIterations(_) | ChangedSetting::StuckAfter(_))
    }

    /// Changes the spec. A timeout depends on the times in the log, so `turning_point` handles it.
    pub(super) fn order(self, spec: &mut Spec) {
        match self {
            ChangedSetting::MaxIterations(most) => {
                let rules =
                    spec.sessions.values_mut().filter_map(|session_settings| session_settings.rules.as_mut());
                rules.for_each(|rules| rules.max_iterations = most);
                bound(&mut spec.body, most);
            }
            ChangedSetting::StuckAfter(turns) => {
                let rules =
                    spec.sessions.values_mut().filter_map(|session_settings| session_settings.rules.as_mut());
                rules.for_each(|rules| rules.stuck_after = turns);
            }
            ChangedSetting::Turns(turns) => spec.budget.turns = Some(turns),
            ChangedSetting::Tokens(tokens) => spec.budget.tokens = Some(tokens),
            ChangedSetting::Cost(sum) => spec.budget.cost_usd = Some(sum),
            ChangedSetting::Timeout(_) => {}
        }
    }
}

fn bound(body: &mut [Node], most: u32) {
    for node in body {
        if let NodeKind::Loop(LoopNode { max, .. })
        | NodeKind::CriteriaLoop(CriteriaLoopNode { max, .. })
        | NodeKind::TaskLoop(TaskLoopNode { max, .. }) = &mut node.kind
        {
            *max = most;
        }
        node.kind.blocks_mut().into_iter().for_each(|block| bound(block, most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_kind_of_value() {
        let what = |text| read(text).ok().map(|change| change.what);
        assert_eq!(what("max_iterations=3"), Some(ChangedSetting::MaxIterations(3)));
        assert_eq!(what("budget.turns=3"), Some(ChangedSetting::Turns(3)));
        assert_eq!(what("budget.tokens=5000000000"), Some(ChangedSetting::Tokens(5_000_000_000)));
        assert_eq!(what("budget.cost=$2.50"), Some(ChangedSetting::Cost(2.5)));
        assert_eq!(what("timeout=30m"), Some(ChangedSetting::Timeout(1_800_000)));
        assert_eq!(what("stuck_after=0"), Some(ChangedSetting::StuckAfter(0)));
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
