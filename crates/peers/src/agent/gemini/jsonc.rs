//! Reads settings of the CLI: JSON in which comments are allowed.

use serde_json::{Map, Value};

/// Parses an object. Returns `None` for anything else.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(&without_comments(text)).ok()
}

/// Replaces comments outside of strings by spaces.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', '/']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = match from.as_bytes() {
            [b'"', ..] => {
                let length = string_length(from);
                out.push_str(from.get(..length).unwrap_or(from));
                length
            }
            [b'/', b'/', ..] => from.find('\n').unwrap_or(from.len()),
            [b'/', b'*', ..] => from.find("*/").map_or(from.len(), |end| end + 2),
            _ => {
                out.push('/');
                1
            }
        };
        out.push(' ');
        rest = from.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Returns the length of the string at the start of a text, with its quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_are_left_out_and_strings_are_kept() {
        let text = r#"{ // a "comment"
            "a": "x // y /* z */ \" // w", /* "b": 1, */
            "c": 2 // the end"#;
        assert_eq!(object(text), None);
        let whole = format!("{text}\n}}");
        assert_eq!(object(&whole), json!({"a": "x // y /* z */ \" // w", "c": 2}).as_object().cloned());
        for wrong in ["", "[1]", "{\"a\": 1,}", "{\"a\": 1} /", "{\"a", "/*"] {
            assert_eq!(object(wrong), None, "{wrong}");
        }
    }
}
