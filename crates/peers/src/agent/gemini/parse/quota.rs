//! Reads how long a usage limit lasts from the message of an error: the CLI has no field for it.

/// The words before the time, of the CLI and of the service.
const BEFORE: &[&str] =
    &["Suggested retry after ", "Please retry in ", r#"retryDelay":""#, r#"retryDelay": ""#];

/// Returns the milliseconds until the next request may succeed.
pub(super) fn wait(message: &str) -> Option<i64> {
    BEFORE.iter().find_map(|words| {
        let (_, rest) = message.split_once(words)?;
        duration(rest)
    })
}

/// Reads the duration at the start of a text: `17s`, `3.5s`, `500ms`, `1h2m3.5s`.
fn duration(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut sum = None;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, unit) = rest.split_at(end);
        let Ok(number) = number.parse::<f64>() else { return sum };
        let units = [("ms", 1.0), ("s", 1e3), ("m", 60e3), ("h", 3_600e3)];
        let (unit, ms) = units.into_iter().find(|(name, _)| unit.starts_with(name))?;
        // A float becomes the nearest integer, so that a wrong number is only a long wait.
        #[expect(clippy::cast_possible_truncation, reason = "the conversion saturates")]
        let part = (number * ms).ceil() as i64;
        sum = Some(sum.unwrap_or(0i64).saturating_add(part));
        rest = rest.get(end + unit.len()..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_limit_is_read_in_every_form() {
        for (message, expected) in [
            ("[API Error: You exceeded your quota.\nSuggested retry after 3.5s.]", Some(3_500)),
            ("Please retry in 17s.", Some(17_000)),
            ("Please retry in 250ms", Some(250)),
            (
                r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"86400s"}"#,
                Some(86_400_000),
            ),
            ("Please retry in 1h2m3.5s.", Some(3_723_500)),
            ("Suggested retry after 1e999s", None),
            ("Suggested retry after soon", None),
            ("retry in 5s", None),
            ("", None),
        ] {
            assert_eq!(wait(message), expected, "{message}");
        }
    }
}
