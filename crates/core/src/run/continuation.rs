//! The additions with which a person continues a run that has ended.

use serde::{Deserialize, Serialize};

use crate::graph::workflow::Budget;
use crate::price::PriceTable;
use crate::spec::{Check, Policy};
use crate::time::written;
use crate::usage::dollars;

/// A change of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Raise<T> {
    /// More than the limit so far.
    Add(T),
    /// A new limit, which counts from the start of the run.
    Total(T),
}

impl Raise<u32> {
    /// Returns the limit after the change.
    pub fn applied(self, limit: u32) -> u32 {
        match self {
            Raise::Add(more) => limit.saturating_add(more),
            Raise::Total(total) => total,
        }
    }
}

impl Raise<u64> {
    /// Returns the limit after the change.
    pub fn applied(self, limit: u64) -> u64 {
        match self {
            Raise::Add(more) => limit.saturating_add(more),
            Raise::Total(total) => total,
        }
    }
}

impl Raise<f64> {
    /// Returns the limit after the change.
    pub fn applied(self, limit: f64) -> f64 {
        match self {
            Raise::Add(more) => limit + more,
            Raise::Total(total) => total,
        }
    }
}

/// Changes of a budget. A part without a limit gets none by an addition.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetRaise {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Raise<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Raise<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Raise<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<Raise<u64>>,
}

impl BudgetRaise {
    pub fn is_empty(&self) -> bool {
        *self == BudgetRaise::default()
    }

    /// Returns the budget after the changes.
    pub fn applied(&self, budget: &Budget) -> Budget {
        Budget {
            turns: raised(self.turns, budget.turns, Raise::<u32>::applied),
            tokens: raised(self.tokens, budget.tokens, Raise::<u64>::applied),
            cost_usd: raised(self.cost_usd, budget.cost_usd, Raise::<f64>::applied),
            time_ms: raised(self.time_ms, budget.time_ms, Raise::<u64>::applied),
        }
    }
}

fn raised<T: Copy>(raise: Option<Raise<T>>, limit: Option<T>, applied: fn(Raise<T>, T) -> T) -> Option<T> {
    match (raise, limit) {
        (Some(Raise::Total(total)), _) => Some(total),
        (Some(raise), Some(limit)) => Some(applied(raise, limit)),
        (Some(Raise::Add(_)) | None, limit) => limit,
    }
}

/// The additions with which a person continues a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Continuation {
    /// The maximum number of iterations of the loops that ran out of them, or else of all loops in
    /// progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<Raise<u32>>,
    #[serde(skip_serializing_if = "BudgetRaise::is_empty")]
    pub budget: BudgetRaise,
    /// Checks to add. A check with a known name replaces the one before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Instructions for the sessions that continue, or for the next session that starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The policy from here on. `None` keeps the policy of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The prices from here on. `None` keeps the prices of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<PriceTable>,
}

impl Continuation {
    /// Describes the additions for people, one part each. The policy and the prices are not mentioned.
    pub fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        let limit = |raise: Raise<String>, what: &str| match raise {
            Raise::Add(more) if more == "1" => format!("1 more {}", what.trim_end_matches('s')),
            Raise::Add(more) => format!("{more} more {what}"),
            Raise::Total(total) => format!("{total} {what} in total"),
        };
        parts.extend(self.iterations.map(|raise| limit(shown(raise, |n| n.to_string()), "iterations")));
        parts.extend(self.budget.turns.map(|raise| limit(shown(raise, |n| n.to_string()), "turns")));
        parts.extend(self.budget.tokens.map(|raise| limit(shown(raise, |n| n.to_string()), "tokens")));
        parts.extend(self.budget.cost_usd.map(|raise| limit(shown(raise, dollars), "cost")));
        parts.extend(self.budget.time_ms.map(|raise| limit(shown(raise, written), "time")));
        parts.extend(self.checks.iter().map(|check| format!("check {}: {}", check.name, check.command)));
        parts.extend(self.message.iter().map(|message| format!("message: {message}")));
        parts
    }
}

fn shown<T>(raise: Raise<T>, write: impl Fn(T) -> String) -> Raise<String> {
    match raise {
        Raise::Add(more) => Raise::Add(write(more)),
        Raise::Total(total) => Raise::Total(write(total)),
    }
}
