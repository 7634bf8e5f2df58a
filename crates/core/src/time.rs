//! Time as data: milliseconds since the epoch, put into events by whoever saw them.

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Moment(pub i64);

impl Moment {
    /// The moment this many milliseconds later.
    pub fn plus_ms(self, ms: u64) -> Moment {
        Moment(self.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
    }

    /// Milliseconds from `earlier` to this moment; zero when it lies in the future.
    pub fn since(self, earlier: Moment) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}
