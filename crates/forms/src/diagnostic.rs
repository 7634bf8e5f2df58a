//! What is wrong in a text, where, and what to do about it; and how that reads on a screen.
//!
//! Plain text without colours. What came from a file is made harmless when a diagnostic is
//! made, so that no face can echo an escape sequence by accident. Finding things out is left
//! to the readers of each format.

use std::fmt;

use serde::Serialize;
use unicode_width::UnicodeWidthChar;

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
    pub place: Option<TextPosition>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TextPosition {
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
/// The columns that the number of the line takes before it.
const MARGIN: usize = 9;
/// On a screen that is narrower than any, so many columns of the line are shown all the same.
const NARROWEST: usize = 10;

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
        self.place = Some(TextPosition::find(text, offset));
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

    /// As it reads on a screen of so many columns: of a line that is wider, the part around the place.
    pub fn on_screen(&self, columns: usize) -> String {
        self.shown(Some(columns.saturating_sub(MARGIN).max(NARROWEST)))
    }

    /// With no more than so many columns of the line.
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

    /// Whether the text cannot be used.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl TextPosition {
    /// The place of a byte. An offset past the end is the end.
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

    /// The snippet in no more than so many columns, and how many of them stand before the place.
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

/// The columns that a text takes on a terminal: some writing is twice as wide, some marks take none.
fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// As much of the start of a text as fits into so many columns.
fn start_within(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let kept: String = fitting(text.chars(), most).collect();
    format!("{kept}…")
}

/// As much of the end of a text as fits into so many columns.
fn end_within(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let kept: Vec<char> = fitting(text.chars().rev(), most).collect();
    std::iter::once('…').chain(kept.into_iter().rev()).collect()
}

/// The characters that fit, and leave a column for the `…`.
fn fitting(chars: impl Iterator<Item = char>, most: usize) -> impl Iterator<Item = char> {
    let mut used = 1;
    chars.take_while(move |c| {
        used += columns(*c);
        used <= most
    })
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
