//! Reads the times in the JSON lines of `windlass`.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the seconds from now to a time such as `2026-01-31T23:59:59.5Z`. Negative if the time is over.
pub(super) fn seconds_until(text: &str) -> Option<i64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(epoch(text)? - i64::try_from(now).ok()?)
}

/// Returns a time as seconds since 1970.
fn epoch(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time.split('.').next()?, ':')?;
    Some(((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

fn numbers(text: &str, separator: char) -> Option<[i64; 3]> {
    let parts: Option<Vec<i64>> = text.split(separator).map(|part| part.parse().ok()).collect();
    parts?.try_into().ok()
}

/// Returns the days since 1970. The year begins in March, so that the leap day is its last one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_becomes_seconds() {
        assert_eq!(epoch("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(epoch("2000-02-29T12:00:00.250Z"), Some(951_825_600));
        assert_eq!(epoch("2026-11-19T21:10:24Z"), Some(1_795_122_624));
        assert_eq!(epoch("2026-11-19"), None);
    }
}
