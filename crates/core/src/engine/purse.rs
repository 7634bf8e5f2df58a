//! What may be spent: by the run, by each block around a node, and by runs that are started there.

use crate::effect::Effect;
use crate::graph::walk::find;
use crate::graph::workflow::Budget;
use crate::id::NodeId;
use crate::run::{Active, Doing, Lane, Spent, State};
use crate::usage::{Usage, dollars};

/// Less money than this is a matter of rounding.
const CENT_OF_A_CENT: f64 = 0.000_1;

/// What may be spent and was.
pub(super) struct Purse {
    pub(super) budget: Budget,
    pub(super) spent: Spent,
}

impl Purse {
    /// What is spent, in words.
    pub(super) fn is_spent(&self) -> Option<String> {
        let Purse { budget, spent } = self;
        if let Some(most) = budget.turns.filter(|most| spent.turns >= *most) {
            return Some(format!("the budget of {most} turns is spent"));
        }
        self.is_empty()
    }

    /// What of tokens and money is spent, in words.
    pub(super) fn is_empty(&self) -> Option<String> {
        let Purse { budget, spent } = self;
        let tokens = tokens(&spent.usage);
        if let Some(most) = budget.tokens.filter(|most| tokens >= *most) {
            return Some(format!("the budget of {most} tokens is spent: {tokens} were used"));
        }
        let cost = spent.usage.cost_usd.unwrap_or(0.0);
        let most = budget.cost_usd.filter(|most| cost >= *most)?;
        Some(format!("the budget of {} is spent: it cost {}", dollars(most), dollars(cost)))
    }

    /// What is left in it for one who has spent so much of it.
    fn left_to(&self, by: &Spent) -> Budget {
        let Purse { budget, spent } = self;
        let others = spent.since(by);
        let cost = others.usage.cost_usd.unwrap_or(0.0);
        Budget {
            turns: budget.turns.map(|most| most.saturating_sub(others.turns)),
            tokens: budget.tokens.map(|most| most.saturating_sub(tokens(&others.usage))),
            cost_usd: budget.cost_usd.map(|most| (most - cost).max(0.0)),
            time_ms: None,
        }
    }
}

/// What one who has spent so much of all of them may spend of them in all.
pub(super) fn left_to(purses: &[Purse], by: &Spent) -> Budget {
    purses.iter().fold(Budget::default(), |left, purse| left.least(&purse.left_to(by)))
}

/// Tokens that count: in and out, not those from a cache.
pub(super) fn tokens(usage: &Usage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}

/// What each run that was started from here may spend in all, by its node: those that may spend
/// less by now than what they began with, because others spent of it too.
pub fn allowances(state: &State) -> Vec<(NodeId, Budget)> {
    let budget = state.spec.budget.least(&state.book.allowed);
    let mut purses = vec![Purse { budget, spent: state.spent }];
    let mut found = Vec::new();
    gather(state, &state.root, &mut purses, &mut found);
    found
}

fn gather(state: &State, lane: &Lane, purses: &mut Vec<Purse>, found: &mut Vec<(NodeId, Budget)>) {
    let Some(active) = &lane.now else { return };
    let budget = find(&state.spec.body, &active.step).map(|step| step.budget).unwrap_or_default();
    purses.push(Purse { budget, spent: active.spent });
    found.extend(allowance(state, active, purses).map(|budget| (active.instance.clone(), budget)));
    for lane in active.doing.lanes() {
        gather(state, lane, purses, found);
    }
    purses.pop();
}

fn allowance(state: &State, active: &Active, purses: &[Purse]) -> Option<Budget> {
    let Doing::Run { spent, is_ahead, .. } = &active.doing else { return None };
    let given = state.book.open.iter().find_map(|planned| match &planned.effect {
        Effect::StartRun { spec, .. } if planned.id.node == active.instance => Some(spec.budget),
        _ => None,
    })?;
    let own = Spent { turns: spent.turns.saturating_add(u32::from(*is_ahead)), usage: spent.usage };
    let mut now = given.least(&left_to(purses, &own));
    now.cost_usd = now.cost_usd.map(|cost| (cost / CENT_OF_A_CENT).round() * CENT_OF_A_CENT);
    let is_less_money = match (now.cost_usd, given.cost_usd) {
        (Some(now), Some(given)) => now < given - CENT_OF_A_CENT,
        (now, _) => now.is_some(),
    };
    let is_less = now.turns != given.turns || now.tokens != given.tokens || is_less_money;
    is_less.then_some(now)
}
