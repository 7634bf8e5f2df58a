//! Time as data: milliseconds since the Unix epoch, added to an event by the process that saw it.

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Moment(pub i64);

impl Moment {
    /// Returns the moment this many milliseconds later.
    pub fn plus_ms(self, ms: u64) -> Moment {
        Moment(self.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
    }

    /// Returns the milliseconds since `earlier`, or zero if `earlier` is later.
    pub fn since(self, earlier: Moment) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }
}

/// Formats a duration in the largest unit that divides it: `90s`, `2h`.
pub fn written(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    match units.iter().find(|(size, _)| ms > 0 && ms.is_multiple_of(*size)) {
        Some((size, unit)) => format!("{}{unit}", ms / size),
        None => format!("{ms}ms"),
    }
}
