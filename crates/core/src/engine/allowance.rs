//! The allowance of the run and of each block around a node.

use crate::graph::workflow::Budget;
use crate::run::Spent;
use crate::usage::{Usage, dollars};

/// A budget and the amount spent from it.
#[derive(Debug)]
pub(super) struct Allowance {
    pub(super) budget: Budget,
    pub(super) spent: Spent,
}

impl Allowance {
    /// Describes the part of the budget that is used up, including turns.
    pub(super) fn is_spent(&self) -> Option<String> {
        let Allowance { budget, spent } = self;
        if let Some(most) = budget.turns.filter(|most| spent.turns >= *most) {
            let turns = if most == 1 { "turn" } else { "turns" };
            return Some(format!("the budget of {most} {turns} is spent"));
        }
        self.is_empty()
    }

    /// Describes the part of the budget that is used up, tokens and money only.
    pub(super) fn is_empty(&self) -> Option<String> {
        let Allowance { budget, spent } = self;
        let tokens = tokens(&spent.usage);
        if let Some(most) = budget.tokens.filter(|most| tokens >= *most) {
            return Some(format!("the budget of {most} tokens is spent: {tokens} were used"));
        }
        let cost = spent.usage.cost_usd.unwrap_or(0.0);
        let most = budget.cost_usd.filter(|most| cost >= *most)?;
        Some(format!("the budget of {} is spent: it cost {}", dollars(most), dollars(cost)))
    }

    /// Returns the most that a run may spend in total from this allowance, given that it has spent
    /// `by` of it.
    pub(super) fn left_to(&self, by: &Spent) -> Budget {
        let Allowance { budget, spent } = self;
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

/// Returns the most that a run may spend in total from all allowances, given its own spending.
pub(super) fn left_to(allowances: &[Allowance], by: &Spent) -> Budget {
    allowances.iter().fold(Budget::default(), |left, purse| left.least(&purse.left_to(by)))
}

/// Returns the number of tokens that count against a budget: in and out, but not from a cache.
pub(crate) fn tokens(usage: &Usage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}
