//! The time at which a usage limit ends, as Codex writes it: in words, in the local time zone.

use std::time::SystemTime;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use windlass_core::time::Moment;

/// The words before the time.
const WORDS: &str = "try again at ";

/// Returns the time in a message about a limit: `Try again at 3:45 PM.` or `… at Nov 20th, 2026 3:45 PM.`
pub(super) fn time(message: &str) -> Option<Moment> {
    let now = Timestamp::try_from(SystemTime::now()).ok()?;
    time_after(message, &now.to_zoned(TimeZone::system()))
}

fn time_after(message: &str, now: &Zoned) -> Option<Moment> {
    let at = message.to_ascii_lowercase().rfind(WORDS)?;
    let text = message.get(at + WORDS.len()..)?.trim().trim_end_matches('.');
    let civil = match text.split_once(", ") {
        None => DateTime::from_parts(now.date(), clock(text)?),
        Some((day, rest)) => {
            let (year, time) = rest.split_once(' ')?;
            DateTime::from_parts(date(day, year)?, clock(time)?)
        }
    };
    let at = now.time_zone().to_timestamp(civil).ok()?;
    Some(Moment(at.as_millisecond()))
}

/// Reads `Nov 20th` and a year.
fn date(day: &str, year: &str) -> Option<Date> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (month, day) = day.split_once(' ')?;
    let month = MONTHS.iter().position(|known| *known == month)? + 1;
    let day = day.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    Date::new(year.parse().ok()?, i8::try_from(month).ok()?, day.parse().ok()?).ok()
}

/// Reads `3:45 PM`.
fn clock(text: &str) -> Option<Time> {
    let (time, half) = text.split_once(' ')?;
    let (hour, minute) = time.split_once(':')?;
    let hour: i8 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    let after_noon = match half {
        "AM" => 0,
        "PM" => 12,
        _ => return None,
    };
    Time::new(hour % 12 + after_noon, minute.parse().ok()?, 0, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(message: &str) -> Option<String> {
        let now: Zoned = "2026-11-19T10:00:00-05:00[America/New_York]".parse().unwrap();
        time_after(message, &now).map(|moment| Timestamp::from_millisecond(moment.0).unwrap().to_string())
    }

    #[test]
    fn the_time_of_a_limit_is_local_and_today_unless_it_has_a_date() {
        let at = |text: &str| {
            read(&format!("You've hit your usage limit. Visit https://x or try again at {text}."))
        };
        assert_eq!(at("3:45 PM").as_deref(), Some("2026-11-19T20:45:00Z"));
        assert_eq!(at("12:05 AM").as_deref(), Some("2026-11-19T05:05:00Z"));
        assert_eq!(at("Jul 2nd, 2027 12:30 PM").as_deref(), Some("2027-07-02T16:30:00Z"));
        assert_eq!(
            read("You've hit your usage limit. Try again at 1:00 AM.").as_deref(),
            Some("2026-11-19T06:00:00Z")
        );
        for none in
            ["13:00 PM", "Foo 2nd, 2027 1:00 PM", "later", "3:45", "3:99 PM", "Nov 31st, 2026 1:00 PM", ""]
        {
            assert_eq!(at(none), None, "{none}");
        }
        assert_eq!(read("You've hit your usage limit. Try again later."), None);
    }
}
