//! Explains common mistakes in YAML, with a hint for each.
//!
//! A YAML scanner reports where it stopped; this module reports the likely cause.
//! [`tree`](super::tree) reads the text.

use crate::json::JsonError;

/// Says that no value has the name of an alias.
pub(crate) const NO_ANCHOR: &str = "no value above has this anchor";

/// Finds lines indented with tabs. Returns their errors and the text with a space for each of those
/// tabs, so that byte positions stay the same.
pub(super) fn tabs(text: &str) -> Option<(Vec<JsonError>, String)> {
    let mut tabs = Vec::new();
    let mut spaced = String::with_capacity(text.len());
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - content.len();
        let tab = line.get(..indent).and_then(|indent| indent.find('\t'));
        if let Some(tab) = tab.filter(|_| !content.trim().is_empty()) {
            let message = "this line is indented with a tab".to_owned();
            tabs.push(JsonError { at: at + tab, message, hint: Some("use spaces") });
        }
        spaced.extend(std::iter::repeat_n(' ', indent));
        spaced.push_str(content);
        at += line.len();
    }
    (!tabs.is_empty()).then_some((tabs, spaced))
}

/// Finds the header (`|`, `>`) of a block, given the text that ends before the first letter of the
/// block. A comment may follow the header.
pub(super) fn block_header(above: &str) -> Option<usize> {
    let above = above.trim_end();
    let start = above.rfind('\n').map_or(0, |newline| newline + 1);
    let line = above.get(start..)?;
    let without_comment = line.split(" #").next().unwrap_or(line);
    let header = |text: &str| text.rfind(['|', '>']).map(|at| start + at);
    header(without_comment).or_else(|| header(line))
}

/// Decides whether there is a template at a byte, where YAML sees a mapping.
pub(super) fn is_template(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    ["{{", "{%", "{#"].iter().any(|start| rest.starts_with(start))
}

/// Reports a template without quotes.
pub(super) fn unquoted(at: usize) -> JsonError {
    let message = "a text that begins with a template must be in quotes".to_owned();
    JsonError { at, message, hint: Some("write \"{{ … }}\", or put it on lines of its own below `|`") }
}

/// Reports a value with an unknown tag, whose `!` is before this byte.
pub(super) fn tagged(text: &str, at: usize) -> JsonError {
    let before = text.get(..at).unwrap_or_default();
    let at = before.rfind('!').unwrap_or(at);
    let message = "a value that begins with `!` must be in quotes".to_owned();
    JsonError { at, message, hint: Some("or write `not` instead of `!`") }
}

/// Explains why the scanner stopped at a byte.
pub(super) fn explain(text: &str, at: usize, info: &str) -> JsonError {
    let (start, line) = line_of(text, at);
    let value_at = start + line.len() - value_of(line).len();
    if is_template(text, value_at) {
        return unquoted(value_at);
    }
    let value = text.get(value_at..start + line.len()).unwrap_or_default().trim_end();
    if let Some((message, hint)) = yaml_error(value) {
        return JsonError { at: value_at, message: message.to_owned(), hint: Some(hint) };
    }
    if let Some((message, hint)) = said_by_scanner(info) {
        return JsonError { at, message: message.to_owned(), hint: Some(hint) };
    }
    let hint = "a text with `: `, ` #`, quotes or brackets in it goes into quotes";
    JsonError { at, message: format!("not YAML: {info}"), hint: Some(hint) }
}

fn said_by_scanner(info: &str) -> Option<(&'static str, &'static str)> {
    let meanings = [
        ("parsing a flow sequence", "a `,` or a `]` is missing before this", "check the text before it"),
        ("parsing a flow mapping", "a `,` or a `}` is missing before this", "check the text before it"),
        (
            "multiline quoted scalar",
            "a quote that was opened above is not closed",
            "close it, or put the text on lines of its own below `|`",
        ),
        ("unknown anchor", NO_ANCHOR, "mark a value above it with `&NAME`"),
        ("parsing a block", "the indentation of this line matches no line above", "align the keys of a node"),
    ];
    let (_, message, hint) = meanings.into_iter().find(|(part, ..)| info.contains(part))?;
    Some((message, hint))
}

fn yaml_error(value: &str) -> Option<(&'static str, &'static str)> {
    let first = value.chars().next()?;
    if matches!(first, '"' | '\'') {
        let inner = value.get(1..)?;
        let end = inner.find(first)?;
        let has_more = !inner.get(end + 1..)?.trim_start().is_empty();
        let hint = "put the whole value in the other kind of quotes";
        return has_more.then_some(("there is more after the closing quote", hint));
    }
    if matches!(first, '@' | '`' | '%') {
        return Some(("a text that begins with this character must be in quotes", "put quotes around it"));
    }
    let is_text = !matches!(first, '[' | '{' | '|' | '>' | '&' | '*' | '!');
    let hint = "put quotes around it, or put it on a line of its own below `|`";
    (is_text && value.contains(": ")).then_some(("a text with `: ` in it must be in quotes", hint))
}

fn line_of(text: &str, at: usize) -> (usize, &str) {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
    (start, line)
}

/// Returns the part of a line after its dashes and key.
fn value_of(line: &str) -> &str {
    let mut rest = line.trim_start();
    while let Some(inner) = rest.strip_prefix("- ") {
        rest = inner.trim_start();
    }
    match rest.split_once(": ") {
        Some((key, value)) if !key.contains([' ', '"', '\'', '{', '[']) => value.trim_start(),
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_was_probably_meant() {
        let rows = [
            ("  - prompt: {{ inputs[\"a\"] }}", "a text that begins with a template must be in quotes"),
            ("when: \"a\" == inputs.a", "there is more after the closing quote"),
            ("prompt: Fix this: now", "a text with `: ` in it must be in quotes"),
            ("prompt: @file", "a text that begins with this character must be in quotes"),
            ("nodes: [a", "not YAML: odd"),
        ];
        for (text, meant) in rows {
            assert_eq!(explain(text, 9, "odd").message, meant, "{text}");
        }
    }

    #[test]
    fn every_tab_is_found_and_no_byte_moves() {
        let text = "a:\n\tb: 1\n  \tc: |\n    x\ty\n";
        let (found, spaced) = tabs(text).unwrap();
        assert_eq!(found.iter().map(|broken| broken.at).collect::<Vec<_>>(), [3, 11]);
        assert_eq!(spaced, "a:\n b: 1\n   c: |\n    x\ty\n");
        assert_eq!(tabs("a: b\tc\n"), None);
    }
}
