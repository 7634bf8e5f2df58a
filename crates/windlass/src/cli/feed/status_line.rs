//! The line at the bottom of a terminal: the progress of the run, or the text that a person types.
//!
//! It disappears while other lines are written and comes back below them, with the typed text.

use crate::cli::sanitize::{columns, plain};

/// Moves to the first column and clears the line.
pub(super) const CLEAR: &str = "\r\u{1b}[K";
/// The prefix of the typed text.
const INPUT: &str = "  > ";

/// The state of the line.
#[derive(Default)]
pub(super) struct StatusLine {
    /// The typed text, if a question is open.
    typed: Option<String>,
    drawn: bool,
    /// The typed text has changed since the line was drawn.
    stale: bool,
    /// The number of lines written since the question was asked.
    lines: usize,
}

impl StatusLine {
    /// Returns the text that draws the line, or `None` if it is on the screen already.
    pub(super) fn draw(&mut self, width: usize, progress: impl FnOnce() -> String) -> Option<String> {
        let was_drawn = std::mem::replace(&mut self.drawn, true);
        let is_stale = std::mem::take(&mut self.stale);
        match &self.typed {
            Some(_) if was_drawn && !is_stale => None,
            Some(typed) => Some(input(typed, width)),
            None => Some(format!("{CLEAR}{}", progress())),
        }
    }

    /// Decides whether a person types in the line.
    pub(super) fn is_input(&self) -> bool {
        self.typed.is_some()
    }

    /// Returns the text that clears the line, or nothing if it is not drawn.
    pub(super) fn clear(&mut self) -> &'static str {
        if std::mem::take(&mut self.drawn) { CLEAR } else { "" }
    }

    /// Counts lines that were written above.
    pub(super) fn wrote(&mut self, lines: usize) {
        self.lines += lines;
    }

    /// Returns the number of lines written since the question was asked.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Turns the line into an input line.
    pub(super) fn open_input(&mut self) {
        self.typed.get_or_insert_default();
        self.lines = 0;
    }

    /// Sets the typed text.
    pub(super) fn type_in(&mut self, text: &str) {
        if let Some(typed) = self.typed.as_mut().filter(|typed| *typed != text) {
            text.clone_into(typed);
            self.stale = true;
        }
    }

    /// Closes the input line and returns the text that clears it.
    pub(super) fn close_input(&mut self) -> &'static str {
        self.typed = None;
        self.clear()
    }

    /// Keeps an entered line on the screen and returns the text for that. Returns nothing if the terminal has
    /// echoed the line itself.
    pub(super) fn input_entered(&mut self, line: &str, width: usize) -> String {
        let was = std::mem::take(self);
        was.typed.map(|_| format!("{}\n", input(line, width))).unwrap_or_default()
    }
}

/// Draws the input line. If the text is too wide, shows its end, where the person types.
fn input(typed: &str, width: usize) -> String {
    let shown = plain(typed);
    let room = width.saturating_sub(INPUT.len() + 1);
    let mut tail = shown.as_str();
    while columns(tail) > room {
        let mut rest = tail.chars();
        rest.next();
        tail = rest.as_str();
    }
    format!("{CLEAR}{INPUT}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(bottom: &mut StatusLine) -> Option<String> {
        bottom.draw(12, || "working".to_owned())
    }

    #[test]
    fn what_was_typed_so_far_comes_back_below_other_lines() {
        let mut bottom = StatusLine::default();
        assert_eq!(draw(&mut bottom).as_deref(), Some("\r\u{1b}[Kworking"));
        assert_eq!(bottom.clear(), CLEAR);
        bottom.open_input();
        assert_eq!(draw(&mut bottom).as_deref(), Some("\r\u{1b}[K  > "));
        bottom.type_in("tw");
        assert_eq!(draw(&mut bottom).as_deref(), Some("\r\u{1b}[K  > tw"));
        assert_eq!(draw(&mut bottom), None, "it stands already");
        assert_eq!(bottom.clear(), CLEAR);
        bottom.wrote(3);
        assert_eq!(draw(&mut bottom).as_deref(), Some("\r\u{1b}[K  > tw"));
        assert_eq!(bottom.lines(), 3);
        assert_eq!(bottom.close_input(), CLEAR);
        assert_eq!(draw(&mut bottom).as_deref(), Some("\r\u{1b}[Kworking"));
    }

    #[test]
    fn what_was_entered_stays_and_what_follows_stands_below() {
        let mut bottom = StatusLine::default();
        assert_eq!(bottom.input_entered("2", 12), "", "the terminal has shown it");
        bottom.open_input();
        draw(&mut bottom);
        assert_eq!(bottom.input_entered("2", 12), "\r\u{1b}[K  > 2\n");
        assert_eq!(bottom.clear(), "");
    }

    #[test]
    fn of_a_long_line_the_end_is_seen() {
        let mut bottom = StatusLine::default();
        bottom.open_input();
        bottom.type_in("abcdefghij");
        assert_eq!(draw(&mut bottom).as_deref(), Some("\r\u{1b}[K  > defghij"));
    }
}
