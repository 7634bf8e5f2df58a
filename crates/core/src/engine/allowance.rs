//! What may be spent by the run and by each block around a node.

use crate::graph::workflow::Budget;
use crate::run::Spent;
use crate::usage::{Usage, dollars};

/// What may be spent and was.
#[derive(Debug)]
pub(super) struct Allowance {
    pub(super) budget: Budget,
    pub(super) spent: Spent,
}

impl Allowance {
    /// What is spent, in words.
    pub(super) fn is_spent(&self) -> Option<String> {
        let Allowance { budget, spent } = self;
        if let Some(most) = budget.turns.filter(|most| spent.turns >= *most) {
            return Some(format!("the budget of {most} turns is spent"));
        }
        self.is_empty()
    }

    /// What of tokens and money is spent, in words.
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

    /// What is left in it for one who has spent so much of it.
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

/// What one who has spent so much of all of them may spend of them in all.
pub(super) fn left_to(purses: &[Allowance], by: &Spent) -> Budget {
    purses.iter().fold(Budget::default(), |left, purse| left.least(&purse.left_to(by)))
}

/// Tokens that count: in and out, not those from a cache.
pub(super) fn tokens(usage: &Usage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}
