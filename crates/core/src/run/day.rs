//! Budgets for one day, which all runs of a user share.

use serde::{Deserialize, Serialize};

use super::Spent;
use crate::engine::tokens;
use crate::graph::workflow::Budget;

/// A limit on what all runs of a user may spend on one day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DayLimit {
    /// The driver whose turns it limits. `None` limits all drivers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    pub budget: Budget,
}

impl DayLimit {
    /// Returns the table of settings that sets this limit.
    pub fn setting(&self) -> String {
        format!("budgets.{}", self.driver.as_deref().unwrap_or("day"))
    }
}

/// The share of a [`DayLimit`] that other runs leave to one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DayAllowance {
    pub limit: DayLimit,
    /// The most that the sessions of this run may have spent, counted from the start of the run.
    pub most: Budget,
}

/// The turns, tokens, money and time that runs spent on one day.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DaySpent {
    pub turns: u64,
    /// Input and output tokens together.
    pub tokens: u64,
    pub cost_usd: f64,
    /// The time for which the processes of turns ran.
    pub time_ms: u64,
}

impl DaySpent {
    pub fn of(spent: &Spent) -> DaySpent {
        DaySpent {
            turns: u64::from(spent.turns),
            tokens: tokens(&spent.usage),
            cost_usd: spent.usage.cost_usd.unwrap_or(0.0),
            time_ms: spent.time_ms,
        }
    }

    pub fn add(&mut self, other: &DaySpent) {
        self.turns = self.turns.saturating_add(other.turns);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost_usd += other.cost_usd;
        self.time_ms = self.time_ms.saturating_add(other.time_ms);
    }
}
