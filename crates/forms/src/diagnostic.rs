//! What is wrong in a text, where, and what to do about it; and how that reads on a screen.
//!
//! Plain text without colours. What came from a file is made harmless when a diagnostic is
//! made, so that no face can echo an escape sequence by accident. Finding things out is left
//! to the readers of each format.

use std::fmt;

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The text cannot be used.
    Error,
    /// It can, but perhaps not as meant.
    Warning,
}

/// One thing that is wrong in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub message: String,
    /// The file (or the variable, or the flag) it is in.
    pub file: Option<String>,
    /// The place in that file, when it has places.
    pub place: Option<Place>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The line itself, or the part of a long one around the column.
    pub snippet: String,
    /// How many characters of the snippet stand before the column.
    #[serde(skip)]
    caret: usize,
}

/// The most characters of a line that are shown.
const SNIPPET: usize = 120;
/// How many of them stand before the column, in a line that is too long.
const BEFORE: usize = 60;

impl Diagnostic {
    /// A diagnostic without a place.
    pub fn new(severity: Severity, message: &str) -> Diagnostic {
        Diagnostic { severity, message: tame(message), file: None, place: None, hint: None }
    }

    /// Names the file it is in.
    pub fn in_file(mut self, file: Option<&str>) -> Diagnostic {
        self.file = file.map(tame);
        self
    }

    /// Points at a byte of the text.
    pub fn at(mut self, text: &str, offset: usize) -> Diagnostic {
        self.place = Some(Place::find(text, offset));
        self
    }

    /// Says what to do.
    pub fn hint(mut self, hint: Option<String>) -> Diagnostic {
        self.hint = hint.as_deref().map(tame);
        self
    }

    /// Whether it is about this file.
    pub fn is_in(&self, file: &str) -> bool {
        self.file.as_ref().is_some_and(|own| *own == tame(file))
    }

    /// Whether the text cannot be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl Place {
    /// The place of a byte. An offset past the end is the end.
    fn find(text: &str, offset: usize) -> Place {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
        let caret = before.get(start..).unwrap_or_default().chars().count();
        let (snippet, shown) = window(line, caret);
        Place {
            line: before.matches('\n').count() + 1,
            column: caret + 1,
            snippet: tame(&snippet),
            caret: shown,
        }
    }
}

/// The part of a line that is shown, and where the column is in it.
fn window(line: &str, caret: usize) -> (String, usize) {
    if line.chars().nth(SNIPPET).is_none() {
        return (line.to_owned(), caret);
    }
    let skipped = caret.saturating_sub(BEFORE);
    let head = if skipped > 0 { "…" } else { "" };
    let rest: String = line.chars().skip(skipped).take(SNIPPET).collect();
    let tail = if line.chars().nth(skipped + SNIPPET).is_some() { "…" } else { "" };
    (format!("{head}{rest}{tail}"), caret - skipped + head.chars().count())
}

/// Text that cannot move a cursor, ring a bell or turn the direction of writing: each such
/// character becomes one other, so that columns stay what they are.
fn tame(text: &str) -> String {
    text.chars().map(tame_char).collect()
}

fn tame_char(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => ' ',
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => {
            '\u{fffd}'
        }
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}", self.message)?;
        match (&self.file, &self.place) {
            (Some(file), Some(place)) => write!(f, "\n  at {file}:{}:{}", place.line, place.column)?,
            (Some(file), None) => write!(f, "\n  at {file}")?,
            (None, Some(place)) => write!(f, "\n  at line {}, column {}", place.line, place.column)?,
            (None, None) => {}
        }
        if let Some(place) = &self.place {
            let snippet = place.snippet.trim_end();
            write!(f, "\n{:>6} | {snippet}\n{:>6} | {:caret$}^", place.line, "", "", caret = place.caret)?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_what_where_and_what_to_do() {
        let text = "{\n  \"loop\": {\n    \"maxIterations\": \"15\"\n  }\n}\n";
        let offset = text.find("\"15\"").unwrap();
        let diagnostic =
            Diagnostic::new(Severity::Error, "`loop.maxIterations` must be a whole number, found text")
                .in_file(Some("plugins/e2e/workflow.json"))
                .at(text, offset)
                .hint(Some("write it without quotes".into()));
        let expected = "error: `loop.maxIterations` must be a whole number, found text
  at plugins/e2e/workflow.json:3:22
     3 |     \"maxIterations\": \"15\"
       |                      ^
  hint: write it without quotes";
        assert_eq!(diagnostic.to_string(), expected);
    }

    #[test]
    fn never_echoes_control_characters() {
        let text = "a\u{1b}[31m\u{7}\tb\u{202e}c\r\n";
        let diagnostic = Diagnostic::new(Severity::Warning, "odd \u{1b}]0;x\u{7} key\nhere")
            .in_file(Some("a\u{1b}[2J.json"))
            .at(text, 8)
            .hint(Some("\u{9b}1m".into()));
        let shown = diagnostic.to_string();
        assert!(shown.chars().all(|c| c == '\n' || (!c.is_control() && c != '\u{202e}')), "{shown:?}");
        assert_eq!(diagnostic.place.unwrap().snippet, "a\u{fffd}[31m\u{fffd} b\u{fffd}c");
    }

    #[test]
    fn shows_only_a_part_of_a_long_line() {
        let text = format!("{}!{}", "x".repeat(1000), "y".repeat(1000));
        let place = Place::find(&text, 1000);
        assert_eq!(place.column, 1001);
        assert_eq!(place.snippet.chars().nth(place.caret), Some('!'));
        assert!(place.snippet.chars().count() <= SNIPPET + 2);
    }

    #[test]
    fn a_place_past_the_end_or_inside_a_character_is_the_end() {
        assert_eq!(Place::find("ab\n", 99).line, 2);
        assert_eq!(Place::find("é", 1).column, 2);
        assert_eq!(Place::find("", 0).column, 1);
    }
}
