//! Finds a position inside a YAML text value: the third line of a prompt is some line of the file.
//!
//! Walks through the source of a value as YAML reads it, with folded lines and escapes, until it
//! reaches the wanted line and column. Returns `None` if the position is uncertain.

use std::ops::ControlFlow::{self, Break, Continue};

/// Returns the byte in the document for a line and column, both from 1, of the value that begins at
/// `at`.
pub(super) fn find(document: &str, at: usize, line: usize, column: usize) -> Option<usize> {
    let at = at + properties(document.get(at..)?);
    let first = document.get(at..)?.chars().next()?;
    let mut walk = SourceWalk { document, at, blanks: at, now: (1, 1), wanted: (line, column) };
    let found = match first {
        '|' | '>' => walk.block(first)?,
        '"' | '\'' => walk.quoted(first),
        // These values are not text.
        '[' | '{' | '*' => return None,
        _ => walk.plain(),
    };
    found.break_value()
}

/// Returns the number of bytes that an anchor and a tag take before a value.
fn properties(text: &str) -> usize {
    let mut rest = text;
    while rest.starts_with(['&', '!']) {
        rest = rest.trim_start_matches(|c: char| !c.is_whitespace()).trim_start_matches([' ', '\t']);
    }
    text.len() - rest.len()
}

/// A walk through the source of a value that breaks off at the wanted position.
struct SourceWalk<'d> {
    document: &'d str,
    /// The byte to read next.
    at: usize,
    /// The start of the blanks before `at`. They count only if something follows on their line.
    blanks: usize,
    /// The line and column, within the value, of the next character.
    now: (usize, usize),
    wanted: (usize, usize),
}

impl<'d> SourceWalk<'d> {
    fn rest(&self) -> &'d str {
        self.document.get(self.at..).unwrap_or_default()
    }

    /// Counts one character of the value, whose source is at `at`.
    fn pass(&mut self, c: char, at: usize) -> ControlFlow<usize> {
        self.end(at)?;
        let (line, column) = self.now;
        self.now = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
        Continue(())
    }

    /// Breaks off if the wanted position is here, which may be just past the end of the value.
    fn end(&self, at: usize) -> ControlFlow<usize> {
        if self.now == self.wanted { Break(at) } else { Continue(()) }
    }

    /// Counts the blanks before a byte.
    fn pass_blanks(&mut self, at: usize) -> ControlFlow<usize> {
        for blank in self.blanks..at {
            self.pass(' ', blank)?;
        }
        Continue(())
    }

    fn next(&mut self) -> Option<(char, usize)> {
        let (c, at) = (self.rest().chars().next()?, self.at);
        self.at += c.len_utf8();
        Some((c, at))
    }

    fn plain(&mut self) -> ControlFlow<usize> {
        while let Some((c, at)) = self.next() {
            match c {
                ' ' | '\t' | '\r' => {}
                '\n' => self.fold(at)?,
                c => self.letter(c, at)?,
            }
        }
        Continue(())
    }

    fn quoted(&mut self, quote: char) -> ControlFlow<usize> {
        self.at += 1;
        self.blanks = self.at;
        while let Some((c, at)) = self.next() {
            match c {
                ' ' | '\t' | '\r' => {}
                '\n' => self.fold(at)?,
                '\\' if quote == '"' => self.escape(at)?,
                '\'' if quote == '\'' && self.rest().starts_with('\'') => {
                    self.at += 1;
                    self.letter('\'', at)?;
                }
                c if c == quote => {
                    self.pass_blanks(at)?;
                    return self.end(at);
                }
                c => self.letter(c, at)?,
            }
        }
        Continue(())
    }

    /// Counts a character that is not blank. It begins at `at`, and `self.at` is already past it.
    fn letter(&mut self, c: char, at: usize) -> ControlFlow<usize> {
        self.pass_blanks(at)?;
        self.pass(c, at)?;
        self.blanks = self.at;
        Continue(())
    }

    /// Counts a folded line break: a blank between two lines, or one newline for each empty line.
    fn fold(&mut self, at: usize) -> ControlFlow<usize> {
        let empty = self.skip_to_next_line();
        if empty == 0 {
            self.pass(' ', at)?;
        }
        self.pass_newlines(empty, at)
    }

    fn pass_newlines(&mut self, count: usize, at: usize) -> ControlFlow<usize> {
        for _ in 0..count {
            self.pass('\n', at)?;
        }
        Continue(())
    }

    /// Skips empty lines and the indentation of the next line. Returns the number of empty lines.
    fn skip_to_next_line(&mut self) -> usize {
        let rest = self.rest();
        let next = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let skipped = rest.get(..rest.len() - next.len()).unwrap_or_default();
        self.at += skipped.len();
        self.blanks = self.at;
        skipped.matches('\n').count()
    }

    /// Reads the escape whose backslash is at `at`.
    fn escape(&mut self, at: usize) -> ControlFlow<usize> {
        let rest = self.rest();
        let line = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'));
        if let Some(line) = line {
            self.pass_blanks(at)?;
            self.at += rest.len() - line.len();
            let empty = self.skip_to_next_line();
            return self.pass_newlines(empty, at);
        }
        let (c, length) = escaped(rest);
        self.at += length;
        self.letter(c, at)
    }

    /// Reads a block of lines. Returns `None` if its indentation is unknown.
    fn block(&mut self, style: char) -> Option<ControlFlow<usize>> {
        let header = self.rest().split_inclusive('\n').next()?;
        let indicators = header.chars().skip(1).take(2);
        let body = self.rest().get(header.len()..)?;
        let indent = match indicators.filter_map(|c| c.to_digit(10)).next() {
            Some(more) => indent_around(self.document, self.at)? + usize::try_from(more).ok()?,
            None => body.split('\n').find(|line| !is_empty(line)).map(indent_of)?,
        };
        self.at += header.len();
        let lines = BlockLines { body, at: self.at, indent };
        Some(if style == '|' { self.literal(lines) } else { self.folded(lines) })
    }

    fn literal(&mut self, lines: BlockLines<'_>) -> ControlFlow<usize> {
        for (text, at) in lines {
            self.pass_text(text, at)?;
            self.pass('\n', at + text.len())?;
        }
        Continue(())
    }

    /// Folds lines as in a quoted text, except that more-indented lines keep their breaks.
    fn folded(&mut self, lines: BlockLines<'_>) -> ControlFlow<usize> {
        let (mut last, mut empty, mut broken_at) = (None, 0, lines.at);
        for (text, at) in lines {
            if text.is_empty() {
                empty += 1;
                continue;
            }
            let is_more = text.starts_with([' ', '\t']);
            match last {
                None => self.pass_newlines(empty, broken_at)?,
                Some(was_more) if was_more || is_more => self.pass_newlines(empty + 1, broken_at)?,
                Some(_) if empty == 0 => self.pass(' ', broken_at)?,
                Some(_) => self.pass_newlines(empty, broken_at)?,
            }
            self.pass_text(text, at)?;
            (last, empty, broken_at) = (Some(is_more), 0, at + text.len());
        }
        self.end(broken_at)
    }

    fn pass_text(&mut self, text: &str, at: usize) -> ControlFlow<usize> {
        for (offset, c) in text.char_indices() {
            self.pass(c, at + offset)?;
        }
        Continue(())
    }
}

/// The lines of a block without their indentation, each with its byte. The block ends at the first
/// line that is indented less.
struct BlockLines<'d> {
    body: &'d str,
    at: usize,
    indent: usize,
}

impl<'d> Iterator for BlockLines<'d> {
    type Item = (&'d str, usize);

    fn next(&mut self) -> Option<(&'d str, usize)> {
        let whole = self.body.split_inclusive('\n').next()?;
        let at = self.at;
        self.body = self.body.get(whole.len()..)?;
        self.at += whole.len();
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if is_empty(line) && line.len() <= self.indent {
            return Some(("", at + line.len()));
        }
        (indent_of(line) >= self.indent).then_some((line.get(self.indent..)?, at + self.indent))
    }
}

/// Returns the character that an escape stands for, as far as positions need it, and its length
/// after the backslash.
fn escaped(rest: &str) -> (char, usize) {
    let hex = |from: usize, digits: usize| {
        rest.get(from..from + digits).and_then(|digits| u32::from_str_radix(digits, 16).ok())
    };
    let of_code = |code: Option<u32>| code.and_then(char::from_u32).unwrap_or('?');
    match rest.chars().next() {
        Some('n') => ('\n', 1),
        Some('x') => (of_code(hex(1, 2)), 3),
        Some('u') => {
            // JSON writes some characters as a surrogate pair.
            let is_half = hex(1, 4).is_some_and(|code| (0xd800..0xdc00).contains(&code));
            let is_pair = is_half && rest.get(5..7) == Some("\\u");
            (of_code(hex(1, 4)), if is_pair { 11 } else { 5 })
        }
        Some('U') => (of_code(hex(1, 8)), 9),
        Some(c) => (c, c.len_utf8()),
        None => ('?', 0),
    }
}

/// Returns the indentation of the mapping or list that contains the block at `at`.
fn indent_around(document: &str, at: usize) -> Option<usize> {
    let line = document.get(..at)?.rsplit('\n').next()?;
    let mut dash = None;
    let mut rest = line.trim_start_matches(' ');
    while let Some(inner) = rest.strip_prefix("- ") {
        dash = Some(line.len() - rest.len());
        rest = inner.trim_start_matches(' ');
    }
    match rest.chars().next() {
        None | Some('&' | '!') => dash,
        Some('?') => None,
        Some(_) => Some(line.len() - rest.len()),
    }
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_empty(line: &str) -> bool {
    line.trim_matches([' ', '\r']).is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;
    use crate::json::{JsonNode, JsonValue};

    #[test]
    fn a_place_in_a_text_is_a_place_in_the_file() {
        let document = "a: |\n    é one\n\n      two\nb: \"x y\"\nc: plain\nd: 'it\\n'\ne: \"\\n y\"\n";
        let place = |value: &str, line, column| {
            find(document, document.find(value).unwrap(), line, column)
                .map(|at| &document[at..at + document[at..].find('\n').unwrap()])
        };
        assert_eq!(place("|", 1, 3), Some("one"));
        assert_eq!(place("|", 3, 3), Some("two"));
        assert_eq!(place("\"x", 1, 3), Some("y\""));
        assert_eq!(place("\"x", 1, 4), Some("\""));
        assert_eq!(place("plain", 1, 2), Some("lain"));
        assert_eq!(place("\"\\n", 2, 2), Some("y\""));
        assert_eq!(place("\"\\n", 1, 4), None);
        assert_eq!(place("plain", 2, 1), None);
        assert_eq!(place("|", 9, 1), None);
        assert_eq!(find("x", 9, 1, 1), None);
    }

    /// Every text of a tree, with where it stands.
    fn texts(node: &JsonNode) -> Vec<(usize, &str)> {
        match &node.value {
            JsonValue::Text(text) => vec![(node.at, text)],
            JsonValue::List(items) => items.iter().flat_map(texts).collect(),
            JsonValue::Object(members) => members.iter().flat_map(|member| texts(&member.node)).collect(),
            _ => Vec::new(),
        }
    }

    /// Looks for every letter of every value, and counts them.
    fn find_all(document: &str) -> usize {
        let tree = tree::read(document);
        assert!(tree.broken.is_empty(), "{document}: {:?}", tree.broken);
        let mut found = 0;
        for (at, text) in texts(&tree.root) {
            for (line, words) in text.split('\n').enumerate() {
                for (column, c) in words.chars().enumerate().filter(|(_, c)| *c != ' ') {
                    let place = find(document, at, line + 1, column + 1);
                    let there = place.and_then(|place| document[place..].chars().next());
                    assert!(
                        there == Some(c) || there == Some('\\'),
                        "{document}\n{text:?}: {c} is at {place:?}, where {there:?} is"
                    );
                    found += 1;
                }
            }
        }
        found
    }

    #[test]
    fn every_letter_of_every_way_to_write_a_text_is_found() {
        let documents = [
            "a: 'it''s {{ one }}'\n",
            "a: 'it''s\n  two  \n\n\n  lines''s '\n",
            "- a: |2\n     x\n    y\n\n    z\n- |2-\n    u\n   v\n",
            "  a:\n    b: |1+\n      x\n\n     y\n",
            "a: >-\n  folded\n  text\n\n\n  more\n    kept\n    so\n\n  and\n  on\nb: x\n",
            "a: >\n\n\n  begins late\n  on\n   more\n\n   more\n  less\n\n\n",
            "a: \"double  \n  quoted \\\n    cont \\\n\n  x\\ty\\n  z\\u00e9 \\x41 \\U0001F600 \\\"q\\\" end \"\n",
            "a: plain\n  on  two\n\n  lines\nb: c\n",
            "a: |\r\n  one\r\n\r\n  two\r\nb: >\r\n  one\r\n  two\r\nc: 'a\r\n  b'\r\nd: \"a \\\r\n  b\"\r\n",
            "a: &x 'it''s'\nb: !!str plain\nc: &y |2\n    a\nd: |  # what > is | said\n  b\n",
            "{\"a\": \"x\\n\\\"b\\\" \\u00e9\\ud83d\\ude00 \\/ {{ bad }}\", \"b\": [\"\\u007b\\u007b c\"]}",
            "[one, 'two', {a: b c}]",
        ];
        let found: Vec<usize> = documents.iter().map(|document| find_all(document)).collect();
        assert!(found.iter().all(|letters| *letters > 1), "{found:?}");
    }
}
