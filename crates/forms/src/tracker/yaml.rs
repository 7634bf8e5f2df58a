//! Writes the YAML that Windlass needs: double-quoted text, which is also valid TOML, and moments.

use std::fmt::Write as _;

use windlass_core::time::Moment;

/// Quotes a text on one line, so that both YAML and TOML read it back.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                // Writing to a String cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Writes a moment as RFC 3339 in UTC, to the second. A moment outside the calendar becomes its
/// number of seconds.
pub(crate) fn moment(moment: Moment) -> String {
    let seconds = moment.0.div_euclid(1000);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_on_its_line() {
        assert_eq!(quote("E2E_COMPLETE"), "\"E2E_COMPLETE\"");
        assert_eq!(quote("a\"b\\c\nd\te\u{1b}\u{2028}é"), r#""a\"b\\c\nd\te\u001b\u2028é""#);
    }

    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(moment(Moment(1_772_013_600_999)), "2026-02-25T10:00:00Z");
        assert_eq!(moment(Moment(-1)), "1969-12-31T23:59:59Z");
        assert_eq!(moment(Moment(i64::MAX)), "9223372036854775");
    }
}
