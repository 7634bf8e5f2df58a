//! Reads the time of a line that has one at its top level: `"timestamp":"2026-11-15T23:35:12.588Z"`.

use std::borrow::Cow;

use serde::Deserialize;
use windlass_core::time::Moment;

/// The key, as the CLI writes it. A line without it is not parsed for its time.
const KEY: &str = r#""timestamp":"#;

#[derive(Deserialize)]
struct Stamped<'a> {
    #[serde(borrow)]
    timestamp: Option<Cow<'a, str>>,
}

/// Returns the time at which the CLI wrote a line. Only the line's own key counts: an agent can write the
/// same key into the input of a tool.
pub(in crate::agent) fn time(line: &str) -> Option<Moment> {
    memchr::memmem::find(line.as_bytes(), KEY.as_bytes())?;
    let Stamped { timestamp } = serde_json::from_str(line).ok()?;
    moment(&timestamp?)
}

/// Reads a time in UTC.
pub(in crate::agent) fn moment(text: &str) -> Option<Moment> {
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (clock, part) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut clock = clock.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let is_right = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second)
        && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_right {
        return None;
    }
    let ms: i64 = format!("{part:0<3}").get(..3)?.parse().ok()?;
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(Moment(seconds * 1000 + ms))
}

/// Returns the days from 1970-01-01 to a date, with years that start in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_line_is_its_own_and_not_one_inside_it() {
        let line = |rest: &str| format!(r#"{{"type":"assistant",{rest}}}"#);
        let at = |rest: &str| time(&line(rest)).map(|at| at.0);
        assert_eq!(at(r#""timestamp":"2023-11-14T22:13:20.123Z""#), Some(1_700_000_000_123));
        assert_eq!(at(r#""timestamp":"2024-02-29T00:00:00Z""#), Some(1_709_164_800_000));
        assert_eq!(at(r#""message":{"timestamp":"2023-11-14T22:13:20.123Z"}"#), None);
        for wrong in
            ["x", "2023-11-14", "2023-13-14T00:00:00Z", "2023-11-14T22:13:20+01:00", "2023-11-14T22:13:20.xZ"]
        {
            assert_eq!(at(&format!(r#""timestamp":"{wrong}""#)), None, "{wrong}");
        }
        assert_eq!((at(r#""timestamp":7"#), time("{")), (None, None), "never an error");
    }
}
