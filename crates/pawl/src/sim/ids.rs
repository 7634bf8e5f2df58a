//! Ids and times, as the agent CLIs write them.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns a random number, unique across processes.
fn random() -> u64 {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.write_u128(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()));
    hasher.finish()
}

/// Returns the tail of an id like `toolu_…`.
pub(super) fn short_id() -> String {
    let tail = format!("{:016x}{:016x}", random(), random());
    tail.chars().take(20).collect()
}

pub(super) fn new_uuid() -> String {
    uuid((u128::from(random()) << 64) | u128::from(random()), 4)
}

/// Returns a UUID that begins with the current time.
pub(super) fn new_timed_uuid() -> String {
    let ms = u128::from(now_ms().unsigned_abs() & 0xffff_ffff_ffff);
    uuid((ms << 80) | (u128::from(random()) << 16) | u128::from(random() & 0xffff), 7)
}

fn uuid(bits: u128, version: u128) -> String {
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | (version << 76) | (2 << 62);
    let part = |shift: u32, digits: u32| (bits >> shift) & ((1 << (4 * digits)) - 1);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        part(96, 8),
        part(80, 4),
        part(64, 4),
        part(48, 4),
        part(0, 12)
    )
}

/// Returns milliseconds since the epoch.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(super) fn now_iso() -> String {
    iso(now_ms())
}

/// Formats a time as `2026-11-15T23:35:12.588Z`.
pub(super) fn iso(ms: i64) -> String {
    let (days, in_day) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    // Converts days to a date in the proleptic Gregorian calendar, with years that start in March.
    let z = days + 719_468;
    let (era, day_of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hours, minutes) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (seconds, millis) = (in_day / 1000 % 60, in_day % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_the_cli_does() {
        assert_eq!(iso(1_794_785_712_588), "2026-11-15T23:35:12.588Z");
        assert_eq!(iso(951_782_400_000), "2000-02-29T00:00:00.000Z");
    }

    #[test]
    fn ids_differ_and_have_the_right_form() {
        for (id, version) in [(new_uuid(), b'4'), (new_timed_uuid(), b'7')] {
            assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
            assert_eq!(id.as_bytes()[14], version);
            assert!(b"89ab".contains(&id.as_bytes()[19]));
        }
        assert_ne!(new_uuid(), new_uuid());
        assert_ne!(new_timed_uuid(), new_timed_uuid());
        assert_eq!(short_id().len(), 20);
    }
}
