//! The sentences in which Codex reports that the model's service refuses.

use serde_json::json;

use crate::os::local_time;
use crate::sim::event::{Failure, LimitReset, status_text};

/// Returns the message of a failure.
pub(super) fn message(failure: &Failure) -> String {
    match (failure.limit, failure.status) {
        (Some(LimitReset::At(seconds)), _) => {
            format!("You've hit your usage limit. Try again at {}.", in_words(seconds))
        }
        (Some(LimitReset::Unknown), _) => "You've hit your usage limit. Try again later.".to_owned(),
        (None, 429) => "exceeded retry limit, last status: 429 Too Many Requests".to_owned(),
        (None, 500) => {
            "We’re currently experiencing high demand, which may cause temporary errors.".to_owned()
        }
        (None, 400) => {
            let error = json!({"type": "api_error", "code": "400", "message": failure.words()});
            json!({"type": "error", "error": error}).to_string()
        }
        (None, status) => {
            let words = failure.words();
            let name = status_text(status);
            format!("unexpected status {status} {name}: {words}, url: http://127.0.0.1/v1/responses")
        }
    }
}

/// Writes a time as Codex does: to the minute, in the local time zone. It is rounded up, so that the limit never
/// ends early.
fn in_words(seconds: i64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let minute = seconds.saturating_add(59).div_euclid(60).saturating_mul(60);
    let Some(time) = local_time(minute) else { return "a later time".to_owned() };
    let month = MONTHS.get(time.month).copied().unwrap_or("Jan");
    let (hour, half) = match time.hour {
        0 => (12, "AM"),
        12 => (12, "PM"),
        hour @ 13.. => (hour - 12, "PM"),
        hour => (hour, "AM"),
    };
    let (day, year) = (time.day, time.year);
    format!("{month} {day}{}, {year} {hour}:{:02} {half}", ordinal(day), time.minute)
}

fn ordinal(day: i32) -> &'static str {
    match day {
        11..=13 => "th",
        day if day % 10 == 1 => "st",
        day if day % 10 == 2 => "nd",
        day if day % 10 == 3 => "rd",
        _ => "th",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(status: u16, limit: Option<LimitReset>) -> Failure {
        Failure { status, message: "m".into(), limit }
    }

    #[test]
    fn each_refusal_has_its_sentence() {
        assert_eq!(
            message(&failure(503, None)),
            "unexpected status 503 Service Unavailable: m, url: http://127.0.0.1/v1/responses"
        );
        assert!(message(&failure(429, None)).starts_with("exceeded retry limit"));
        let limited = message(&failure(429, Some(LimitReset::At(1_795_100_001))));
        assert!(limited.contains(" 2026 ") && limited.ends_with("M."), "{limited}");
        assert_eq!(ordinal(21), "st");
        assert_eq!(ordinal(12), "th");
    }
}
