//! Finds the end of a JSON value, skipping comments. Does not check that the text between is valid
//! JSON.

/// Returns the byte after the value that begins at `at`, or `None` if it is never closed.
pub(super) fn end(text: &str, at: usize) -> Option<usize> {
    match text.as_bytes().get(at)? {
        b'{' | b'[' => end_of_nested(text, at),
        b'"' => end_of_string(text, at),
        _ => Some(end_of_word(text, at)),
    }
}

fn end_of_nested(text: &str, opened: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (opened, 0_usize);
    loop {
        match bytes.get(at)? {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b'"' => {
                at = end_of_string(text, at)?;
                continue;
            }
            b'/' => {
                at = end_of_comment(text, at);
                continue;
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

fn end_of_string(text: &str, opened: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = opened + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            // A JSON string ends on its line, so a stray quote in prose skips no further.
            b'\n' => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the byte after a comment, or after a lone slash.
fn end_of_comment(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    if rest.starts_with("//") {
        return rest.find('\n').map_or(text.len(), |length| at + length);
    }
    if rest.starts_with("/*") {
        return rest.find("*/").map_or(text.len(), |length| at + length + 2);
    }
    at + 1
}

fn end_of_word(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let is_over = |byte: &u8| byte.is_ascii_whitespace() || b",]}/".contains(byte);
    at + rest.iter().position(is_over).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<&str> {
        end(text, 0).and_then(|end| text.get(..end))
    }

    #[test]
    fn a_value_ends_where_it_is_closed() {
        assert_eq!(first("[1, [2]], 3"), Some("[1, [2]]"));
        assert_eq!(first(r#"{"a": "}\""} x"#), Some(r#"{"a": "}\""}"#));
        assert_eq!(first(r#""a\\" , "b""#), Some(r#""a\\""#));
        assert_eq!([first("12,"), first("true}"), first("null")], [Some("12"), Some("true"), Some("null")]);
    }

    #[test]
    fn a_bracket_in_a_comment_closes_nothing() {
        assert_eq!(first("[1 // ]\n, /* ] */ 2]"), Some("[1 // ]\n, /* ] */ 2]"));
    }

    #[test]
    fn what_is_never_closed_has_no_end() {
        for text in ["[1, 2", "{\"a", "\"a\nb\"", "[ // ]", "[ /* ]", "", "\"\\"] {
            assert_eq!(first(text), None, "{text}");
        }
    }
}
