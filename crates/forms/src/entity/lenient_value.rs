//! Interprets a value that is not valid YAML, and explains the mistake and how to correct it.

use super::lenient_yaml::LenientLine;
use crate::tracker::yaml::quote;

/// The intended value and the diagnostic about it.
pub(super) struct Fix {
    pub(super) value: String,
    pub(super) message: String,
    pub(super) hint: String,
    /// The byte that the message is about.
    pub(super) at: usize,
}

/// A value as written in a file.
pub(super) struct Written<'a> {
    /// The text before the value: a key with its colon, or the dash of a list.
    pub(super) label: &'a str,
    /// The first line of the value.
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// True if no space separates the value from its label.
    pub(super) is_glued: bool,
    /// The further lines of the value.
    pub(super) below: &'a [LenientLine<'a>],
    /// The offset to add to the positions of the lines.
    pub(super) base: usize,
}

/// The longest value that a hint repeats.
const SHOWN: usize = 60;

/// Characters that cannot begin an unquoted value.
const SPECIAL: &[char] = &['@', '%', '*', '&', '!', '|', '>', '{', '}', '[', ']', ',', '#', '?', '-', ':'];

/// Interprets a value.
pub(super) fn fix(written: &Written<'_>) -> Fix {
    let value = meant(written);
    let (at, message) = value_error(written);
    let hint = hint(written, &value);
    Fix { value, message, hint, at }
}

fn hint(written: &Written<'_>, value: &str) -> String {
    if unclosed(written.text).is_some() {
        return "close it, or put the whole value in quotes".to_owned();
    }
    if value.chars().nth(SHOWN).is_some() || value.contains('\n') {
        return "put the whole value in quotes".to_owned();
    }
    format!("write it as `{} {}`", written.label, quote(value))
}

/// Returns the bracket that a value opens and never closes.
fn unclosed(text: &str) -> Option<char> {
    let closing = match text.chars().next()? {
        '[' => ']',
        '{' => '}',
        _ => return None,
    };
    if text.contains(closing) { None } else { text.chars().next() }
}

fn meant(written: &Written<'_>) -> String {
    let below = written.below.iter().map(LenientLine::content);
    if written.text.starts_with(['|', '>']) && !written.text.contains(char::is_alphanumeric) {
        let separator = if written.text.starts_with('|') { "\n" } else { " " };
        return below.collect::<Vec<_>>().join(separator).trim().to_owned();
    }
    let mut value = written.text.to_owned();
    for line in below.filter(|line| !line.is_empty()) {
        value.push(' ');
        value.push_str(line);
    }
    unquoted(&value).to_owned()
}

/// Removes quotes around the whole value, or a quote that is never closed.
fn unquoted(value: &str) -> &str {
    let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return value };
    let inner = value.get(1..).unwrap_or_default();
    let Some(second) = inner.find(quote) else { return inner };
    let Some(whole) = inner.strip_suffix(quote) else { return value };
    // Leaves `"a" and "b"` alone. In `'it's'` and `"say "hi""` the outer pair encloses the whole
    // value.
    let after = inner.get(second + 1..).and_then(|rest| rest.chars().next());
    let is_around = second == whole.len() || after.is_some_and(char::is_alphanumeric);
    if is_around { whole } else { value }
}

/// Returns the position and the message of the mistake.
fn value_error(written: &Written<'_>) -> (usize, String) {
    let Written { text, at, label, .. } = written;
    if written.is_glued {
        return (*at, format!("a space is missing after `{label}`"));
    }
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let closed = text.get(1..).is_some_and(|rest| rest.contains(quote));
        let what = if closed { "there are quotes inside of quotes" } else { "the quote is never closed" };
        return (*at, what.to_owned());
    }
    if let Some(bracket) = unclosed(text) {
        return (*at, format!("the `{bracket}` is never closed"));
    }
    if text.starts_with('`') {
        return (*at, "a value that starts with a backtick must be in quotes".to_owned());
    }
    if let Some(first) = text.chars().next().filter(|c| SPECIAL.contains(c)) {
        return (*at, format!("a value that starts with `{first}` must be in quotes"));
    }
    let lines = written.below.iter().map(|line| (written.base + line.at, line.text));
    let colon = std::iter::once((*at, *text))
        .chain(lines.clone())
        .find_map(|(at, line)| colon(line).map(|offset| at + offset));
    if let Some(at) = colon {
        return (at, "a value with `: ` in it must be in quotes".to_owned());
    }
    let mut flush = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with([' ', '\t']));
    if let Some((at, _)) = flush.next() {
        return (
            at,
            format!("this line is not `key: value`; it is read as part of `{}`", label.trim_end_matches(':')),
        );
    }
    (*at, "this value is not YAML; it is read as it is written".to_owned())
}

/// Returns the position of a colon that YAML treats as the end of a key.
fn colon(line: &str) -> Option<usize> {
    line.find(": ").or_else(|| line.find(":\t")).or_else(|| line.strip_suffix(':').map(str::len))
}
