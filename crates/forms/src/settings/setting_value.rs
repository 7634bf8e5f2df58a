//! A value from a layer, and its conversion to the type of its key.
//!
//! A file has typed values. A variable or a flag has only text, which the key's type interprets.

use std::time::Duration;

use crate::tracker::yaml::quote;
use crate::words::{WordTable, quoted};

/// A value from a layer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SettingValue {
    /// Text from a variable or a flag.
    Typed(String),
    /// The items of a list from a variable.
    TypedList(Vec<String>),
    Text(String),
    /// Digits, with the sign if negative.
    Integer(String),
    /// A number with a fraction, as written.
    Fraction(String),
    Boolean(bool),
    /// The items, each with its position in the file.
    List(Vec<(usize, SettingValue)>),
    /// A type that no key accepts, by its name in messages.
    Other(&'static str),
}

/// An invalid value. `message` follows the key in the text; `at` is set if the error is not at the start
/// of the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingError {
    pub(super) message: String,
    pub(super) hint: Option<String>,
    pub(super) at: Option<usize>,
}

/// The largest count that a setting accepts.
const MOST: u32 = 1_000_000;
/// The longest duration that a setting accepts: a year.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

impl SettingError {
    pub(super) fn new(message: impl Into<String>, hint: Option<&str>) -> SettingError {
        SettingError { message: message.into(), hint: hint.map(str::to_owned), at: None }
    }
}

impl SettingValue {
    fn kind(&self) -> &'static str {
        match self {
            SettingValue::Typed(_) | SettingValue::Text(_) => "a string",
            SettingValue::Integer(_) => "a number",
            SettingValue::Boolean(_) => "true or false",
            SettingValue::List(_) | SettingValue::TypedList(_) => "a list",
            SettingValue::Fraction(_) => "a fraction",
            SettingValue::Other(name) => name,
        }
    }

    fn error(&self, wanted: &str) -> SettingError {
        SettingError::new(format!("must be {wanted}, found {}", self.kind()), None)
    }

    /// Returns the value as TOML. A value of no known type has no text.
    pub(super) fn as_toml(&self) -> String {
        let list = |items: Vec<String>| format!("[{}]", items.join(", "));
        match self {
            SettingValue::Typed(text) | SettingValue::Text(text) => quote(text),
            SettingValue::TypedList(items) => list(items.iter().map(|item| quote(item)).collect()),
            SettingValue::Integer(digits) | SettingValue::Fraction(digits) => digits.clone(),
            SettingValue::Boolean(is_true) => is_true.to_string(),
            SettingValue::List(items) => list(items.iter().map(|(_, item)| item.as_toml()).collect()),
            SettingValue::Other(_) => String::new(),
        }
    }

    /// Returns the text if it is not blank and has no NUL.
    pub(super) fn text(&self) -> Result<String, SettingError> {
        let (SettingValue::Typed(text) | SettingValue::Text(text)) = self else {
            return Err(self.error("a string"));
        };
        if text.trim().is_empty() {
            return Err(SettingError::new("is empty", None));
        }
        if text.contains('\0') {
            return Err(SettingError::new("contains a NUL character", None));
        }
        Ok(text.clone())
    }

    pub(super) fn word<T: Copy + PartialEq>(&self, words: &WordTable<T>) -> Result<T, SettingError> {
        let word = self.text()?;
        words.meaning(&word).ok_or_else(|| {
            let (message, hint) = words.unknown(&word);
            SettingError { message, hint, at: None }
        })
    }

    /// Returns the meanings of a list of words, without duplicates.
    pub(super) fn words<T: Copy + PartialEq>(&self, words: &WordTable<T>) -> Result<Vec<T>, SettingError> {
        let items: Vec<(Option<usize>, SettingValue)> = match self {
            SettingValue::List(items) => items.iter().map(|(at, item)| (Some(*at), item.clone())).collect(),
            // `pairs` has already split a variable; a flag arrives whole.
            SettingValue::Typed(text) => {
                text.split(',').map(|item| (None, SettingValue::Typed(item.trim().to_owned()))).collect()
            }
            other => other.texts()?.into_iter().map(|item| (None, SettingValue::Typed(item))).collect(),
        };
        let mut found = Vec::new();
        for (at, item) in items {
            let meaning = item.word(words).map_err(|wrong| SettingError { at, ..wrong })?;
            if !found.contains(&meaning) {
                found.push(meaning);
            }
        }
        Ok(found)
    }

    pub(super) fn count(&self) -> Result<u32, SettingError> {
        let written = match self {
            SettingValue::Integer(written) | SettingValue::Typed(written) => written.trim(),
            SettingValue::Text(text) if text.parse::<u32>().is_ok() => {
                let message = "must be a whole number, found a string";
                return Err(SettingError::new(message, Some("write it without quotes")));
            }
            _ => return Err(self.error("a whole number")),
        };
        let digits = written.strip_prefix('-').unwrap_or(written);
        let is_whole = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        match written.parse::<u32>() {
            Ok(count) if count <= MOST => Ok(count),
            _ if !is_whole => {
                Err(SettingError::new(format!("must be a whole number, found {}", quoted(written)), None))
            }
            _ if written.starts_with('-') => {
                Err(SettingError::new(format!("must not be negative, found {}", quoted(written)), None))
            }
            _ => Err(SettingError::new(format!("must be at most {MOST}, found {}", quoted(written)), None)),
        }
    }

    /// Returns a whole number that may be larger than a count.
    pub(super) fn whole(&self) -> Result<u64, SettingError> {
        let (SettingValue::Integer(written) | SettingValue::Typed(written)) = self else {
            return Err(self.error("a whole number"));
        };
        let wrong = || SettingError::new(format!("must be a whole number, found {}", quoted(written)), None);
        written.trim().parse().map_err(|_| wrong())
    }

    /// Returns an amount of money, which is not negative.
    pub(super) fn dollars(&self) -> Result<f64, SettingError> {
        let (SettingValue::Integer(written) | SettingValue::Fraction(written) | SettingValue::Typed(written)) =
            self
        else {
            return Err(self.error("an amount in dollars"));
        };
        let amount = written.trim().replace('_', "").parse::<f64>().ok();
        amount.filter(|amount| amount.is_finite() && *amount >= 0.0).ok_or_else(|| {
            let hint = "write a number such as `5` or `0.5`";
            SettingError::new(format!("must be an amount in dollars, found {}", quoted(written)), Some(hint))
        })
    }

    pub(super) fn flag(&self) -> Result<bool, SettingError> {
        match self {
            SettingValue::Boolean(is_true) => Ok(*is_true),
            SettingValue::Typed(text) if text == "true" || text == "false" => Ok(text == "true"),
            SettingValue::Typed(text) => {
                Err(SettingError::new(format!("must be true or false, found {}", quoted(text)), None))
            }
            SettingValue::Text(text) if text == "true" || text == "false" => {
                let message = "must be true or false, found a string";
                Err(SettingError::new(message, Some("write it without quotes")))
            }
            _ => Err(self.error("true or false")),
        }
    }

    pub(super) fn duration(&self) -> Result<Duration, SettingError> {
        let (SettingValue::Typed(text) | SettingValue::Text(text)) = self else {
            let hint = matches!(self, SettingValue::Integer(_))
                .then_some("write the unit: \"90s\", \"15m\", \"2h30m\"");
            return Err(SettingError {
                hint: hint.map(str::to_owned),
                ..self.error("a duration such as \"90m\"")
            });
        };
        parse_duration(text).map_err(|error| SettingError::new(format!("must be a duration: {error}"), None))
    }

    /// Returns a duration longer than zero.
    pub(super) fn time(&self) -> Result<Duration, SettingError> {
        let duration = self.duration()?;
        if duration.is_zero() {
            return Err(SettingError::new("must be longer than zero", None));
        }
        Ok(duration)
    }

    /// Returns the position of an item of a list, if the list comes from a file.
    pub(super) fn place_of(&self, number: usize) -> Option<usize> {
        match self {
            SettingValue::List(items) => items.get(number).map(|(at, _)| *at),
            _ => None,
        }
    }

    pub(super) fn texts(&self) -> Result<Vec<String>, SettingError> {
        match self {
            SettingValue::Typed(_) => Ok(vec![self.text()?]),
            SettingValue::TypedList(items) => Ok(items.clone()),
            SettingValue::List(items) => items
                .iter()
                .map(|(at, item)| match item {
                    SettingValue::Text(text) if text.trim().is_empty() => {
                        let hint = Some("remove the entry");
                        Err(SettingError { at: Some(*at), ..SettingError::new("has an empty entry", hint) })
                    }
                    item => item.text().map_err(|wrong| SettingError { at: Some(*at), ..wrong }),
                })
                .collect(),
            SettingValue::Text(_) => {
                let message = "must be a list, found a string";
                Err(SettingError::new(message, Some("put it in square brackets")))
            }
            _ => Err(self.error("a list of strings")),
        }
    }
}

/// The reason that a text is not a valid duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("{} is not a time such as `45s`, `90m` or `2h30m`", quoted(.0))]
    Unreadable(String),
    #[error("{} is negative", quoted(.0))]
    Negative(String),
    #[error("{} is longer than a year", quoted(.0))]
    TooLong(String),
}

/// Reads a duration: `45s`, `90m`, `2h30m`, `1h 5m 30s`, `500ms`, `1d`, `1d12h`.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let text = text.trim();
    let (days, rest) = match text.split_once('d') {
        Some((days, rest)) if days.bytes().all(|b| b.is_ascii_digit()) => (days.parse::<u64>().ok(), rest),
        _ => (None, text),
    };
    let rest = if rest.is_empty() && days.is_some() { "0s" } else { rest };
    // Any number of days beyond a year is refused as too long; the limit avoids an overflow.
    let days = Duration::from_secs(days.unwrap_or_default().min(1_000) * 24 * 60 * 60);
    let duration = match parse_time(rest) {
        Ok(time) => time + days,
        Err(DurationError::Unreadable(_)) => return Err(DurationError::Unreadable(text.to_owned())),
        Err(error) => return Err(error),
    };
    if duration > LONGEST {
        return Err(DurationError::TooLong(text.to_owned()));
    }
    Ok(duration)
}

/// Reads a duration without days.
fn parse_time(text: &str) -> Result<Duration, DurationError> {
    let text = text.trim();
    // jiff also reads `ago` and ISO 8601, which are not part of the syntax of settings.
    let is_plain = text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !text.contains("ago");
    let parsed = text.parse::<jiff::SignedDuration>().ok().filter(|_| is_plain);
    let duration = parsed.ok_or_else(|| DurationError::Unreadable(text.to_owned()))?;
    let Ok(duration) = Duration::try_from(duration) else {
        return Err(DurationError::Negative(text.to_owned()));
    };
    if duration > LONGEST {
        return Err(DurationError::TooLong(text.to_owned()));
    }
    Ok(duration)
}

/// Writes a duration in the syntax that [`parse_duration`] reads.
pub(super) fn written(duration: Duration) -> String {
    let parts = [(3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    let mut left = duration.as_millis();
    let mut text = String::new();
    for (size, unit) in parts {
        if left >= size {
            text.push_str(&format!("{}{unit}", left / size));
            left %= size;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_numbers_with_units() {
        let cases = [
            ("45s", 45_000),
            ("90m", 5_400_000),
            ("2h30m", 9_000_000),
            ("1h 5m 30s", 3_930_000),
            ("500ms", 500),
            ("1.5h", 5_400_000),
            (" 0s ", 0),
            ("1d", 86_400_000),
            ("1d12h", 129_600_000),
            ("2d 30m", 174_600_000),
        ];
        for (text, ms) in cases {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "90", "m", "2x", "1h ago", "PT2H", "soon", "1h30", "∞", "1h\0", "d", "1d x", "-1d"]
        {
            assert_eq!(parse_duration(text), Err(DurationError::Unreadable(text.into())), "{text}");
        }
        assert_eq!(parse_duration("-5s"), Err(DurationError::Negative("-5s".into())));
        assert_eq!(parse_duration("9000h"), Err(DurationError::TooLong("9000h".into())));
        assert!(parse_duration("99999999999999999999h").is_err());
    }

    #[test]
    fn a_duration_is_written_as_it_is_read() {
        for text in ["45s", "1h30m", "2h30m", "1s500ms", "0s", "1h5m30s"] {
            assert_eq!(written(parse_duration(text).unwrap()), text);
        }
    }
}
