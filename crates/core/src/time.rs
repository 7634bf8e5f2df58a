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

/// Reads a duration such as `1500ms`, `90s` or `1h30m`, in milliseconds.
pub fn parse_span(text: &str) -> Option<u64> {
    let units = [("ms", 1), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    let mut rest = text.trim();
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at_checked(end)?;
        let (after, size) = units.iter().find_map(|(unit, size)| Some((after.strip_prefix(unit)?, *size)))?;
        sum = sum.checked_add(number.parse::<u64>().ok()?.checked_mul(size)?)?;
        rest = after.trim_start();
    }
    (!text.trim().is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_as_it_is_written() {
        let rows = [
            ("90s", Some(90_000)),
            ("1h30m", Some(5_400_000)),
            ("1d 2h", Some(93_600_000)),
            ("1500ms", Some(1_500)),
            ("0s", Some(0)),
            ("", None),
            ("90", None),
            ("h", None),
            ("1w", None),
            ("99999999999999999999d", None),
        ];
        for (text, ms) in rows {
            assert_eq!(parse_span(text), ms, "{text}");
        }
        for ms in [0, 1, 90_000, 7_200_000, 86_400_000] {
            assert_eq!(parse_span(&written(ms)), Some(ms));
        }
    }
}
