//! Errors and warnings about a text: the message, the position and a hint, and their layout on a
//! screen.
//!
//! Plain text without colours. [`Diagnostic`] replaces control characters when it is built, so that
//! no face can print an escape sequence from a file. The reader of each format finds the problems.

use std::fmt;

use serde::Serialize;
use unicode_width::UnicodeWidthChar;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The text cannot be used.
    Error,
    /// The text can be used, but may not mean what its author intended.
    Warning,
}

/// An error or warning about a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    pub severity: Severity,
    /// One line.
    pub message: String,
    /// The file, environment variable or flag that the diagnostic is about.
    pub file: Option<String>,
    /// `None` for a flag or a variable, which has no lines.
    pub place: Option<TextPosition>,
    /// An instruction that fixes the problem.
    pub hint: Option<String>,
}

/// A line and column in a text, with an excerpt of the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TextPosition {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The whole line, or the part around the column if the line is long.
    pub snippet: String,
    /// The number of characters in the snippet before the column.
    #[serde(skip)]
    caret: usize,
}

/// The most characters of a line that a snippet keeps.
const SNIPPET: usize = 120;
/// The number of those characters before the column, in a line that is too long.
const BEFORE: usize = 60;
/// The screen columns that the line number takes.
const MARGIN: usize = 9;
/// The fewest columns for the snippet, however narrow the screen is.
const NARROWEST: usize = 10;

impl Diagnostic {
    /// Creates a diagnostic without a position.
    pub fn new(severity: Severity, message: &str) -> Diagnostic {
        Diagnostic { severity, message: tame(message), file: None, place: None, hint: None }
    }

    pub fn in_file(mut self, file: Option<&str>) -> Diagnostic {
        self.file = file.map(tame);
        self
    }

    /// Sets the position, from a byte offset into the text.
    pub fn at(mut self, text: &str, offset: usize) -> Diagnostic {
        self.place = Some(TextPosition::find(text, offset));
        self
    }

    pub fn hint(mut self, hint: Option<String>) -> Diagnostic {
        self.hint = hint.as_deref().map(tame);
        self
    }

    /// Decides whether this diagnostic is about the given file.
    pub fn is_in(&self, file: &str) -> bool {
        self.file.as_ref().is_some_and(|own| *own == tame(file))
    }

    /// Renders the diagnostic for a screen of this width. A wider line is cut to the part around
    /// the position.
    pub fn on_screen(&self, columns: usize) -> String {
        self.shown(Some(columns.saturating_sub(MARGIN).max(NARROWEST)))
    }

    /// Renders the diagnostic with at most `most` columns of the line.
    fn shown(&self, most: Option<usize>) -> String {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        format!("{severity}: {}", self.body(most))
    }

    /// Returns the text without the word `error` or `warning` before it.
    pub fn without_severity(&self) -> String {
        self.body(None)
    }

    fn body(&self, most: Option<usize>) -> String {
        let mut shown = self.message.clone();
        match (&self.file, &self.place) {
            (Some(file), Some(place)) => shown += &format!("\n  at {file}:{}:{}", place.line, place.column),
            (Some(file), None) => shown += &format!("\n  at {file}"),
            (None, Some(place)) => shown += &format!("\n  at line {}, column {}", place.line, place.column),
            (None, None) => {}
        }
        if let Some(place) = &self.place {
            let (snippet, before) = place.snippet_within(most);
            shown += &format!("\n{:>6} | {snippet}\n{:>6} | {:before$}^", place.line, "", "");
        }
        if let Some(hint) = &self.hint {
            shown += &format!("\n  hint: {hint}");
        }
        shown
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl TextPosition {
    /// Returns the position of a byte. An offset past the end means the end.
    fn find(text: &str, offset: usize) -> TextPosition {
        let before = text.get(..offset).unwrap_or(text);
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = text.get(start..).unwrap_or_default().lines().next().unwrap_or_default();
        let caret = before.get(start..).unwrap_or_default().chars().count();
        let (snippet, shown) = window(line, caret);
        TextPosition {
            line: before.matches('\n').count() + 1,
            column: caret + 1,
            snippet: tame(&snippet),
            caret: shown,
        }
    }

    /// Returns at most `most` columns of the snippet, and the number of columns before the
    /// position.
    fn snippet_within(&self, most: Option<usize>) -> (String, usize) {
        let caret = self.snippet.char_indices().nth(self.caret).map_or(self.snippet.len(), |(at, _)| at);
        let (before, after) = self.snippet.split_at_checked(caret).unwrap_or((&self.snippet, ""));
        let after = after.trim_end();
        let Some(most) = most.filter(|most| width(before) + width(after) > *most) else {
            let snippet = format!("{before}{after}");
            return (snippet.trim_end().to_owned(), width(before));
        };
        let room = most.saturating_sub(width(after)).max(most / 2);
        let before = end_within(before, room);
        let after = start_within(after, most.saturating_sub(width(&before)));
        (format!("{before}{after}"), width(&before))
    }
}

/// Returns the terminal columns that a text takes. Some characters take two columns, some none.
fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Returns the start of a text, cut to `most` columns.
fn start_within(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let kept: String = fitting(text.chars(), most).collect();
    format!("{kept}…")
}

/// Returns the end of a text, cut to `most` columns.
fn end_within(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let kept: Vec<char> = fitting(text.chars().rev(), most).collect();
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

/// Returns the characters that fit while leaving a column for the `…`.
fn fitting(chars: impl Iterator<Item = char>, most: usize) -> impl Iterator<Item = char> {
    let mut used = 1;
    chars.take_while(move |c| {
        used += columns(*c);
        used <= most
    })
}

/// Cuts a long line to the part around the caret, and returns the caret's index in that part.
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

/// Replaces every character that could move the cursor, ring the bell or change the writing
/// direction. Each becomes exactly one other character, so that columns stay the same.
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
        f.write_str(&self.shown(None))
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
        let place = TextPosition::find(&text, 1000);
        assert_eq!(place.column, 1001);
        assert_eq!(place.snippet.chars().nth(place.caret), Some('!'));
        assert!(place.snippet.chars().count() <= SNIPPET + 2);
    }

    fn at(text: &str, what: &str) -> Diagnostic {
        let place = TextPosition::find(text, text.find(what).unwrap());
        Diagnostic { place: Some(TextPosition { line: 1, ..place }), ..Diagnostic::new(Severity::Error, "x") }
    }

    #[test]
    fn the_caret_stands_below_its_column_whatever_is_before_it() {
        let rows = [("日本語 !", 7), ("\t\t!", 2), ("e\u{301}x!", 2), ("👍!", 2), ("\u{1b}!", 1)];
        for (text, before) in rows {
            let shown = at(text, "!").to_string();
            assert_eq!(shown.lines().last().unwrap(), format!("       | {:before$}^", ""), "{text}");
        }
    }

    #[test]
    fn on_a_narrow_screen_the_part_around_the_place_is_shown() {
        let text = format!("{} here! {}", "before ".repeat(7), "behind ".repeat(7));
        let found = at(&text, "!");
        assert_eq!(found.on_screen(200), found.to_string());
        let columns = |columns| {
            let shown = found.on_screen(columns);
            let lines: Vec<String> =
                shown.lines().filter(|line| line.contains(" | ")).map(str::to_owned).collect();
            assert!(lines.iter().all(|line| width(line) <= columns), "{shown}");
            lines
        };
        let narrow = "     1 | …before before  here! behind behind behi…";
        assert_eq!(columns(50), [narrow.to_owned(), format!("       | {:20}^", "")]);
        let end = at(&text[..text.find('!').unwrap() + 1], "!").on_screen(50);
        assert!(end.contains("…") && end.ends_with("                                       ^"), "{end}");
        let wide = at("日本語日本語日本語日本語日本語 ! 日本語日本語日本語", "!").on_screen(29);
        assert!(wide.contains("     1 | …語日本語 ! 日本語…"), "{wide}");
        assert!(found.on_screen(1).contains("     1 | …here! be…\n"), "{}", found.on_screen(1));
    }

    #[test]
    fn a_place_past_the_end_or_inside_a_character_is_the_end() {
        assert_eq!(TextPosition::find("ab\n", 99).line, 2);
        assert_eq!(TextPosition::find("é", 1).column, 2);
        assert_eq!(TextPosition::find("", 0).column, 1);
    }
}
