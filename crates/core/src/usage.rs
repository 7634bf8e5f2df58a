//! The tokens and money that an agent spent.
//!
//! A driver makes sure that each message counts once. This module only adds up.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read, except those from a cache.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// The cost that the CLI reports, or that follows from the prices of the run.
    pub cost_usd: Option<f64>,
    /// The CLI did not report everything, so the numbers are a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
    /// At least a part of the cost follows from prices, because no CLI reported it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_cost_computed: bool,
    /// The cost of a part of the usage is unknown, so the cost is a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_cost_partial: bool,
}

/// The usage of one model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelUsage {
    /// The name that the CLI uses.
    pub model: String,
    pub usage: Usage,
}

impl Usage {
    /// Adds the usage of another session.
    pub fn add(&mut self, other: &Usage) {
        // An agent reports these numbers and may report anything, so they must not overflow.
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.is_partial |= other.is_partial;
        self.is_cost_computed |= other.is_cost_computed;
        self.is_cost_partial |= other.is_cost_partial;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }

    /// Returns the usage since an earlier reading.
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_sub(earlier.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(earlier.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_sub(earlier.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_sub(earlier.cache_write_tokens),
            is_partial: self.is_partial,
            is_cost_computed: self.is_cost_computed,
            is_cost_partial: self.is_cost_partial,
            cost_usd: self.cost_usd.map(|cost| (cost - earlier.cost_usd.unwrap_or(0.0)).max(0.0)),
        }
    }
}

/// A cost, and how much of it is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    pub usd: Option<f64>,
    /// At least a part follows from prices.
    pub is_computed: bool,
    /// A part is unknown, so `usd` is a lower bound.
    pub is_partial: bool,
}

impl Usage {
    pub fn cost(&self) -> Cost {
        Cost { usd: self.cost_usd, is_computed: self.is_cost_computed, is_partial: self.is_cost_partial }
    }

    /// Decides whether the usage can have cost money: there are tokens, or the CLI did not report all of them.
    pub fn may_cost(&self) -> bool {
        let all = [self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens];
        self.is_partial || all.iter().any(|tokens| *tokens > 0)
    }
}

/// Formats an amount of money. An amount below one cent does not become zero.
pub fn dollars(usd: f64) -> String {
    match usd {
        usd if usd > 0.0 && usd < 0.0001 => "less than $0.0001".to_owned(),
        usd if usd > 0.0 && usd < 0.01 => format!("${usd:.4}"),
        usd => format!("${usd:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_a_cent_is_not_nothing() {
        let rows = [
            (0.0, "$0.00"),
            (0.000_01, "less than $0.0001"),
            (0.001, "$0.0010"),
            (0.079, "$0.08"),
            (12.0, "$12.00"),
        ];
        for (usd, shown) in rows {
            assert_eq!(dollars(usd), shown);
        }
    }
}
