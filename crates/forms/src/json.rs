//! Reads JSON into values that know their position in the text.
//!
//! Written by hand because every value needs its position: readers report a wrong type where it is,
//! and all such mistakes at once, which serde_json cannot do. The parser is strict and names the
//! problem when it finds a comment, a trailing comma or a single quote; JSONC formats allow the
//! first two. The reader of each document interprets the fields.

/// A value and the byte it starts at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JsonNode {
    pub(crate) at: usize,
    pub(crate) value: JsonValue,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JsonValue {
    Null,
    Boolean(bool),
    /// The number as written, so that the reader can decide whether it is a whole number.
    Number(String),
    Text(String),
    List(Vec<JsonNode>),
    Object(Vec<JsonMember>),
}

/// A field of an object. A repeated key is kept, so that the reader can report it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JsonMember {
    pub(crate) key: String,
    pub(crate) key_at: usize,
    pub(crate) node: JsonNode,
}

/// The reason that a text is not JSON, and the byte where parsing failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) at: usize,
    pub(crate) message: String,
    pub(crate) hint: Option<&'static str>,
}

/// Deeper than any valid document; keeps a hostile one from exhausting the stack.
const DEEPEST: usize = 64;

/// Reads a whole document. The caller must remove a byte order mark first.
pub(crate) fn read(text: &str) -> Result<JsonNode, JsonError> {
    document(JsonReader { text, at: 0, depth: 0, allows_comments: false })
}

/// Reads a whole JSONC document: comments, a comma after the last value and a byte order mark are
/// allowed.
pub(crate) fn read_commented(text: &str) -> Result<JsonNode, JsonError> {
    let at = if text.starts_with(BOM) { BOM.len_utf8() } else { 0 };
    document(JsonReader { text, at, depth: 0, allows_comments: true })
}

const BOM: char = '\u{feff}';

fn document(mut reader: JsonReader<'_>) -> Result<JsonNode, JsonError> {
    reader.skip_space()?;
    if reader.peek().is_none() {
        return Err(broken(reader.at, "the file is empty", None));
    }
    let node = reader.value()?;
    reader.skip_space()?;
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(broken(reader.at, "there is more text after the end of the document", None)),
    }
}

/// Names the type of a value for a message.
pub(crate) fn kind(value: &JsonValue) -> &'static str {
    match value {
        JsonValue::Null => "null",
        JsonValue::Boolean(_) => "true or false",
        JsonValue::Number(_) => "a number",
        JsonValue::Text(_) => "a string",
        JsonValue::List(_) => "a list",
        JsonValue::Object(_) => "an object",
    }
}

fn broken(at: usize, message: impl Into<String>, hint: Option<&'static str>) -> JsonError {
    JsonError { at, message: message.into(), hint }
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    allows_comments: bool,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn peek_char(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.peek_char()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn skip_space(&mut self) -> Result<(), JsonError> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                self.at += 1;
            }
            let rest = self.text.get(self.at..).unwrap_or_default();
            let is_comment = rest.starts_with("//") || rest.starts_with("/*");
            if is_comment && self.allows_comments {
                self.skip_comment(rest)?;
                continue;
            }
            if is_comment || rest.starts_with('#') {
                return Err(broken(self.at, "comments are not allowed in JSON", Some("remove the comment")));
            }
            return Ok(());
        }
    }

    fn skip_comment(&mut self, rest: &str) -> Result<(), JsonError> {
        let length = match rest.strip_prefix("/*") {
            Some(inner) => inner.find("*/").map(|end| end + 4),
            None => Some(rest.find('\n').unwrap_or(rest.len())),
        };
        let length =
            length.ok_or_else(|| broken(self.at, "this comment is never closed", Some("add `*/`")))?;
        self.at += length;
        Ok(())
    }

    fn unexpected(&self, wanted: &str) -> JsonError {
        let (found, hint) = match self.peek_char() {
            None => ("the end of the file".to_owned(), None),
            Some('\'') => ("`'`".to_owned(), Some("strings are written with double quotes")),
            Some(c) => (format!("`{c}`"), None),
        };
        broken(self.at, format!("expected {wanted}, found {found}"), hint)
    }

    fn value(&mut self) -> Result<JsonNode, JsonError> {
        let at = self.at;
        let value = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::list)?,
            Some(b'"') => JsonValue::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => JsonValue::Number(self.number()?),
            _ => self.word()?,
        };
        Ok(JsonNode { at, value })
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<JsonValue, JsonError>,
    ) -> Result<JsonValue, JsonError> {
        if self.depth == DEEPEST {
            return Err(broken(self.at, format!("nested more than {DEEPEST} levels deep"), None));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<JsonValue, JsonError> {
        let mut members = Vec::new();
        self.skip_space()?;
        if self.eat(b'}') {
            return Ok(JsonValue::Object(members));
        }
        loop {
            members.push(self.member()?);
            self.skip_space()?;
            if self.eat(b'}') {
                return Ok(JsonValue::Object(members));
            }
            self.comma("`,` or `}`", b'}')?;
            if self.eat(b'}') {
                return Ok(JsonValue::Object(members));
            }
        }
    }

    fn member(&mut self) -> Result<JsonMember, JsonError> {
        let key_at = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a field name in double quotes"));
        }
        let key = self.string()?;
        self.skip_space()?;
        if !self.eat(b':') {
            return Err(self.unexpected("`:` after the field name"));
        }
        self.skip_space()?;
        Ok(JsonMember { key, key_at, node: self.value()? })
    }

    fn list(&mut self) -> Result<JsonValue, JsonError> {
        let mut items = Vec::new();
        self.skip_space()?;
        if self.eat(b']') {
            return Ok(JsonValue::List(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_space()?;
            if self.eat(b']') {
                return Ok(JsonValue::List(items));
            }
            self.comma("`,` or `]`", b']')?;
            if self.eat(b']') {
                return Ok(JsonValue::List(items));
            }
        }
    }

    /// Reads the comma between two values, and the space before the second.
    fn comma(&mut self, wanted: &str, closing: u8) -> Result<(), JsonError> {
        let at = self.at;
        if !self.eat(b',') {
            return Err(self.unexpected(wanted));
        }
        self.skip_space()?;
        if self.peek() == Some(closing) && !self.allows_comments {
            return Err(broken(at, "a comma with nothing after it", Some("remove the comma")));
        }
        Ok(())
    }

    fn word(&mut self) -> Result<JsonValue, JsonError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let word = rest.get(..length).unwrap_or_default();
        let value = match word {
            "true" => JsonValue::Boolean(true),
            "false" => JsonValue::Boolean(false),
            "null" => JsonValue::Null,
            "" => return Err(self.unexpected("a value")),
            word => {
                let message = format!("expected a value, found {}", crate::words::quoted(word));
                let hint = "strings are written with double quotes; true, false and null in lower case";
                return Err(broken(self.at, message, Some(hint)));
            }
        };
        self.at += length;
        Ok(value)
    }

    fn number(&mut self) -> Result<String, JsonError> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(broken(start, "a number may not start with a zero", None));
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _sign = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(self.text.get(start..self.at).unwrap_or_default().to_owned())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected("a digit"));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<String, JsonError> {
        let opened = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let at = self.at;
            match self.next_char() {
                None => return Err(broken(opened, "this string is never closed", None)),
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape(at)?),
                Some('\n' | '\r') => {
                    let hint = Some("write a line break as \\n");
                    return Err(broken(opened, "this string is not closed on its line", hint));
                }
                Some(c) if c < ' ' => {
                    let code = u32::from(c);
                    let message = format!("a control character in a string must be written as \\u{code:04x}");
                    return Err(broken(at, message, None));
                }
                Some(c) => text.push(c),
            }
        }
    }

    /// Reads the rest of an escape sequence whose backslash is at `at`.
    fn escape(&mut self, at: usize) -> Result<char, JsonError> {
        match self.next_char() {
            Some('"') => Ok('"'),
            Some('\\') => Ok('\\'),
            Some('/') => Ok('/'),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('u') => self.unicode(at),
            _ => Err(broken(at, "unknown escape in a string", Some("a backslash itself is written as \\\\"))),
        }
    }

    fn unicode(&mut self, at: usize) -> Result<char, JsonError> {
        let half = || broken(at, "half of a surrogate pair in a string", None);
        let first = self.hex(at)?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or_else(half);
        }
        if first >= 0xdc00 || !(self.eat(b'\\') && self.eat(b'u')) {
            return Err(half());
        }
        let second = self.hex(at)?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(half());
        }
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).ok_or_else(half)
    }

    fn hex(&mut self, at: usize) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|d| u32::from_str_radix(d, 16).ok());
        let code = code.ok_or_else(|| broken(at, "\\u must be followed by four hexadecimal digits", None))?;
        self.at += 4;
        Ok(code)
    }
}

#[cfg(test)]
mod tests;
