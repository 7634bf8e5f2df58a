//! Reads the subset of YAML that most frontmatter uses, many times faster than the full reader.
//!
//! The subset: keys at even margins, unquoted words, plain quoted text, lists of these, blocks of
//! text without blank lines, and comments on their own lines. For anything else this reader returns
//! `None`, and the full reader takes over. It may decline any text, but the tree it returns must
//! equal the full reader's, positions included; a property test compares the two.

use crate::json::{JsonMember, JsonNode, JsonValue};
use crate::yaml;

/// Longer texts are rare and go to the reader that enforces size limits.
const LONGEST: usize = 8 * 1024;
const DEEPEST: usize = 8;

/// Reads a text, or returns `None` to decline.
pub(super) fn read(text: &str, base: usize) -> Option<JsonNode> {
    if text.len() > LONGEST || text.bytes().any(|b| b < b' ' && b != b'\n' || b == 0x7f) {
        return None;
    }
    let mut reader = FastYamlReader { text, base, at: 0, ahead: None };
    let first = reader.peek()?;
    let value = reader.members(first.indent, 0)?;
    let is_over = reader.peek().is_none();
    (first.indent == 0 && is_over).then_some(JsonNode { at: base + first.at, value })
}

struct FastYamlReader<'a> {
    text: &'a str,
    base: usize,
    /// The byte where the next line begins.
    at: usize,
    /// The next line, once it has been peeked at.
    ahead: Option<YamlLine<'a>>,
}

/// A line that is neither empty nor a comment.
#[derive(Clone, Copy)]
struct YamlLine<'a> {
    /// The number of leading spaces. For text after a dash, its column.
    indent: usize,
    /// The byte of the first character after the indentation.
    at: usize,
    content: &'a str,
}

impl<'a> FastYamlReader<'a> {
    /// Returns the next line that is neither empty nor a comment.
    fn peek(&mut self) -> Option<YamlLine<'a>> {
        if self.ahead.is_none() {
            self.ahead = self.line();
        }
        self.ahead
    }

    fn take(&mut self) {
        self.ahead = None;
    }

    fn line(&mut self) -> Option<YamlLine<'a>> {
        loop {
            let rest = self.text.get(self.at..)?;
            let end = rest.find('\n').unwrap_or(rest.len());
            let line = rest.get(..end)?;
            let start = self.at;
            if rest.is_empty() {
                return None;
            }
            self.at += (end + 1).min(rest.len());
            let content = line.trim_start_matches(' ');
            let is_comment = content.starts_with('#') && content.chars().all(is_plain_char);
            if line.is_empty() || is_comment {
                continue;
            }
            let indent = line.len() - content.len();
            return Some(YamlLine { indent, at: start + indent, content });
        }
    }

    /// Reads the keys at one margin, up to a line further left.
    fn members(&mut self, margin: usize, depth: usize) -> Option<JsonValue> {
        let mut members = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.indent >= margin) {
            if line.indent > margin || depth == DEEPEST {
                return None;
            }
            self.take();
            members.push(self.member(line, depth)?);
        }
        Some(JsonValue::Object(members))
    }

    fn member(&mut self, line: YamlLine<'a>, depth: usize) -> Option<JsonMember> {
        let length = line.content.bytes().take_while(|b| is_key_byte(*b)).count();
        let (key, rest) = line.content.split_at_checked(length)?;
        let is_key = length <= 64 && key.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
        let written = rest.strip_prefix(':').filter(|_| is_key)?;
        let node = match written.strip_prefix(' ') {
            Some(written) => self.value(written, line.at + length + 2, line.indent)?,
            None if written.is_empty() => self.below(line.indent, depth)?,
            None => return None,
        };
        Some(JsonMember { key: key.to_owned(), key_at: self.base + line.at, node })
    }

    /// Reads the lines below a key: a list (perhaps at the key's own margin), or keys further
    /// right.
    fn below(&mut self, margin: usize, depth: usize) -> Option<JsonNode> {
        let first = self.peek()?;
        let is_list = first.content.starts_with("- ");
        let belongs = first.indent > margin || is_list && first.indent == margin;
        if !belongs || depth == DEEPEST {
            return None;
        }
        let value = match is_list {
            true => self.items(first.indent, depth + 1)?,
            false => self.members(first.indent, depth + 1)?,
        };
        // The full reader places a list at its key's margin after the first dash.
        let at = if first.indent == margin { first.at + 2 } else { first.at };
        Some(JsonNode { at: self.base + at, value })
    }

    fn items(&mut self, margin: usize, depth: usize) -> Option<JsonValue> {
        let mut items = Vec::new();
        while let Some(line) = self.peek().filter(|line| line.indent >= margin) {
            let Some(content) = line.content.strip_prefix("- ") else {
                // The next key of the surrounding map may follow at the list's margin.
                return (line.indent == margin).then_some(JsonValue::List(items));
            };
            if line.indent > margin || depth == DEEPEST {
                return None;
            }
            self.take();
            let inner = YamlLine { indent: margin + 2, at: line.at + 2, content };
            items.push(self.item(inner, margin, depth)?);
        }
        Some(JsonValue::List(items))
    }

    fn item(&mut self, inner: YamlLine<'a>, margin: usize, depth: usize) -> Option<JsonNode> {
        let length = inner.content.bytes().take_while(|b| is_key_byte(*b)).count();
        let after = inner.content.get(length..)?;
        if !(after == ":" || after.starts_with(": ")) {
            return self.value(inner.content, inner.at, margin);
        }
        self.ahead = Some(inner);
        let value = self.members(inner.indent, depth + 1)?;
        Some(JsonNode { at: self.base + inner.at, value })
    }

    /// Reads a value on the line of its key or dash, which is at `margin`.
    fn value(&mut self, written: &str, at: usize, margin: usize) -> Option<JsonNode> {
        let value = match written {
            "|" => return self.block(margin, "\n", "\n"),
            "|-" => return self.block(margin, "\n", ""),
            ">" => return self.block(margin, " ", "\n"),
            ">-" => return self.block(margin, " ", ""),
            _ if written.starts_with('[') => JsonValue::List(words(written, self.base + at)?),
            _ => inline(written)?,
        };
        // A line further right would continue this value.
        if self.peek().is_some_and(|next| next.indent > margin) {
            return None;
        }
        Some(JsonNode { at: self.base + at, value })
    }

    /// Reads the lines of a block of text. They begin at the margin of the first line; in a `|`
    /// block, lines may also be indented further.
    fn block(&mut self, margin: usize, between: &str, end: &str) -> Option<JsonNode> {
        // No line has been peeked at here, so `self.at` is the end of the key's line.
        let mut first = None;
        let mut text = String::new();
        while let Some((line, _)) = self.text.get(self.at..)?.split_once('\n') {
            let content = line.trim_start_matches(' ');
            let indent = line.len() - content.len();
            if content.is_empty() {
                return None;
            }
            if indent <= margin {
                break;
            }
            let (left, _) = *first.get_or_insert((indent, self.at + indent));
            if indent < left || (indent > left && between == " ") || !content.chars().all(is_plain_char) {
                return None;
            }
            if !text.is_empty() {
                text.push_str(between);
            }
            text.push_str(line.get(left..)?);
            self.at += line.len() + 1;
        }
        // If the last line has no line break, the text has none either.
        let rest = self.text.get(self.at..)?;
        if !rest.contains('\n') && !rest.is_empty() {
            return None;
        }
        text.push_str(end);
        let (_, at) = first?;
        Some(JsonNode { at: self.base + at, value: JsonValue::Text(text) })
    }
}

fn is_key_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')
}

/// Reads a value that is all on one line.
fn inline(written: &str) -> Option<JsonValue> {
    if written.ends_with(' ') || !written.chars().all(is_plain_char) {
        return None;
    }
    match written.as_bytes().first()? {
        b'"' => quoted(written, '"'),
        b'\'' => quoted(written, '\''),
        _ => plain(written),
    }
}

/// Decides whether a character has no special meaning in any text.
fn is_plain_char(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{d7ff}') && !matches!(c, '\u{2028}' | '\u{2029}')
}

/// Reads a quoted text without quotes or escapes inside.
fn quoted(written: &str, quote: char) -> Option<JsonValue> {
    let inner = written.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains([quote, '\\'])).then(|| JsonValue::Text(inner.to_owned()))
}

/// Reads a list of single words in brackets.
fn words(written: &str, at: usize) -> Option<Vec<JsonNode>> {
    let inner = written.strip_prefix('[')?.strip_suffix(']')?;
    let mut items = Vec::new();
    let mut at = at + 1;
    for word in inner.split(", ") {
        let is_word = word.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
        if !is_word || !word.bytes().all(|b| is_key_byte(b) || b == b'.') {
            return None;
        }
        items.push(JsonNode { at, value: yaml::plain(word.to_owned()) });
        at += word.len() + 2;
    }
    Some(items)
}

fn plain(written: &str) -> Option<JsonValue> {
    let first = written.chars().next()?;
    let is_safe = first.is_alphanumeric() || matches!(first, '.' | '/' | '_' | '(' | '<' | '$' | '~' | '+');
    let ends = written.contains(": ") || written.contains(" #") || written.ends_with(':');
    (is_safe && !ends).then(|| yaml::plain(written.to_owned()))
}

#[cfg(test)]
mod tests;
