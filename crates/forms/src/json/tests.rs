//! Tests for the JSON reader: valid texts, and the positions of errors.

use super::*;

fn plain(node: &JsonNode) -> serde_json::Value {
    match &node.value {
        JsonValue::Null => serde_json::Value::Null,
        JsonValue::Boolean(b) => (*b).into(),
        JsonValue::Number(n) => serde_json::from_str(n).unwrap(),
        JsonValue::Text(t) => t.clone().into(),
        JsonValue::List(items) => items.iter().map(plain).collect(),
        JsonValue::Object(members) => members.iter().map(|m| (m.key.clone(), plain(&m.node))).collect(),
    }
}

#[test]
fn reads_what_serde_json_reads() {
    let texts = [
        r#"{"a": [1, -2.5, 1e3, 0, -0.0E+1], "b": {"c": null, "d": true, "e": false}}"#,
        r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é😀""#,
        " \r\n\t[ ] ",
        "{}",
        "\"\u{7f}\u{2028}\"",
    ];
    for text in texts {
        let expected: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(plain(&read(text).unwrap()), expected, "{text}");
    }
}

#[test]
fn values_know_where_they_stand() {
    let text = "{\n  \"a\": [true]\n}";
    let JsonValue::Object(members) = read(text).unwrap().value else { panic!() };
    assert_eq!((members[0].key_at, members[0].node.at), (4, 9));
    let JsonValue::List(items) = &members[0].node.value else { panic!() };
    assert_eq!(items[0].at, 10);
}

#[test]
fn broken_text_is_refused_where_it_breaks() {
    let cases = [
        ("", 0, "the file is empty"),
        ("  \n", 3, "the file is empty"),
        ("{", 1, "expected a field name in double quotes, found the end of the file"),
        ("{\"a\" 1}", 5, "expected `:` after the field name, found `1`"),
        ("{\"a\": }", 6, "expected a value, found `}`"),
        ("{\"a\": 1 \"b\": 2}", 8, "expected `,` or `}`, found `\"`"),
        ("{\"a\": 1,}", 7, "a comma with nothing after it"),
        ("[1,\n]", 2, "a comma with nothing after it"),
        ("[1 2]", 3, "expected `,` or `]`, found `2`"),
        ("{'a': 1}", 1, "expected a field name in double quotes, found `'`"),
        ("// x\n{}", 0, "comments are not allowed in JSON"),
        ("{} /* x */", 3, "comments are not allowed in JSON"),
        ("# x", 0, "comments are not allowed in JSON"),
        ("{} {}", 3, "there is more text after the end of the document"),
        ("True", 0, "expected a value, found `True`"),
        ("[truex]", 1, "expected a value, found `truex`"),
        ("01", 0, "a number may not start with a zero"),
        ("1.", 2, "expected a digit, found the end of the file"),
        ("-", 1, "expected a digit, found the end of the file"),
        ("+1", 0, "expected a value, found `+`"),
        ("\"abc", 0, "this string is never closed"),
        ("\"a\nb\"", 0, "this string is not closed on its line"),
        ("\"a\u{1b}\"", 2, "a control character in a string must be written as \\u001b"),
        ("\"\\x\"", 1, "unknown escape in a string"),
        ("\"\\u12g4\"", 1, "\\u must be followed by four hexadecimal digits"),
        ("\"\\u+123\"", 1, "\\u must be followed by four hexadecimal digits"),
        ("\"\\ud800\"", 1, "half of a surrogate pair in a string"),
        ("\"\\ud800\\u0041\"", 1, "half of a surrogate pair in a string"),
        ("\"\\udc00\"", 1, "half of a surrogate pair in a string"),
    ];
    for (text, at, message) in cases {
        let broken = read(text).unwrap_err();
        assert_eq!((broken.at, broken.message.as_str()), (at, message), "{text:?}");
        assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text:?}");
    }
}

#[test]
fn deep_nesting_is_refused_and_not_a_stack_overflow() {
    let deep = "[".repeat(DEEPEST) + &"]".repeat(DEEPEST);
    assert!(read(&deep).is_ok());
    let message = read(&"[".repeat(1_000_000)).unwrap_err().message;
    assert_eq!(message, "nested more than 64 levels deep");
}
