//! Interprets unquoted YAML words (the core schema of YAML 1.2) and converts values to JSON.

use serde_json::{Map, Number};

use crate::json::{JsonNode, JsonValue};

/// Interprets an unquoted text. Infinity and not-a-number stay text, because JSON has no such
/// numbers.
pub(crate) fn plain(text: String) -> JsonValue {
    // Most values are words and sentences; the first byte rules out anything else.
    let may_be_more = matches!(
        text.bytes().next(),
        None | Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b'~' | b'n' | b'N' | b't' | b'T' | b'f' | b'F')
    );
    if !may_be_more {
        return JsonValue::Text(text);
    }
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => JsonValue::Null,
        "true" | "True" | "TRUE" => JsonValue::Boolean(true),
        "false" | "False" | "FALSE" => JsonValue::Boolean(false),
        number if is_number(number) => JsonValue::Number(text),
        _ => JsonValue::Text(text),
    }
}

fn is_number(text: &str) -> bool {
    if let Some(digits) = text.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return !digits.is_empty() && digits.bytes().all(|b| matches!(b, b'0'..=b'7'));
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let has_digits = !(whole.is_empty() && fraction.is_empty());
    has_digits && is_digits(whole) && is_digits(fraction) && exponent.is_none_or(is_exponent)
}

fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Parses a non-negative whole number in any YAML notation.
pub(crate) fn whole(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return u64::from_str_radix(digits, 8).ok();
    }
    text.parse().ok()
}

/// Converts a value to JSON. The last of several equal keys wins.
pub(crate) fn to_json(node: JsonNode) -> serde_json::Value {
    match node.value {
        JsonValue::Null => serde_json::Value::Null,
        JsonValue::Boolean(flag) => serde_json::Value::Bool(flag),
        JsonValue::Number(text) => number(&text).map_or(serde_json::Value::String(text), Into::into),
        JsonValue::Text(text) => serde_json::Value::String(text),
        JsonValue::List(items) => items.into_iter().map(to_json).collect(),
        JsonValue::Object(members) => {
            let pairs = members.into_iter().map(|member| (member.key, to_json(member.node)));
            serde_json::Value::Object(pairs.collect::<Map<_, _>>())
        }
    }
}

/// Converts a number if JSON can represent it without loss.
fn number(text: &str) -> Option<Number> {
    if let Some(whole) = whole(text) {
        return Some(whole.into());
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    // A whole number too large for 64 bits would lose digits as a fraction.
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'-' || b == b'+') {
        return None;
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unquoted_words_mean_what_yaml_1_2_says() {
        let number = |text: &str| JsonValue::Number(text.to_owned());
        let text = |text: &str| JsonValue::Text(text.to_owned());
        let rows = [
            ("", JsonValue::Null),
            ("~", JsonValue::Null),
            ("null", JsonValue::Null),
            ("True", JsonValue::Boolean(true)),
            ("false", JsonValue::Boolean(false)),
            ("yes", text("yes")),
            ("off", text("off")),
            ("0", number("0")),
            ("-12", number("-12")),
            ("0x1F", number("0x1F")),
            ("0o17", number("0o17")),
            ("1.10", number("1.10")),
            (".5", number(".5")),
            ("1e3", number("1e3")),
            ("1.", number("1.")),
            ("-", text("-")),
            (".", text(".")),
            ("1e", text("1e")),
            ("1.2.3", text("1.2.3")),
            ("2026-02-05", text("2026-02-05")),
            (".inf", text(".inf")),
            ("nothing", text("nothing")),
            ("30m", text("30m")),
        ];
        for (written, meant) in rows {
            assert_eq!(plain(written.to_owned()), meant, "{written}");
        }
    }

    #[test]
    fn a_number_json_cannot_say_stays_as_it_was_written() {
        let json = |text: &str| to_json(JsonNode { at: 0, value: JsonValue::Number(text.to_owned()) });
        assert_eq!(json("0x1F"), 31);
        assert_eq!(json("007"), 7);
        assert_eq!(json("-7"), -7);
        assert_eq!(json("1.5"), 1.5);
        assert_eq!(json("18446744073709551615"), u64::MAX);
        assert_eq!(json("18446744073709551616"), "18446744073709551616");
        assert_eq!(json("1e999"), "1e999");
    }
}
