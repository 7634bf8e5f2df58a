//! The line at the bottom of a terminal: how far the run is, or what a person types.
//!
//! It goes before other lines are written and comes back below them, with what was typed so far.

use crate::cli::sanitize::{columns, plain};

/// Goes to the first column and empties the line.
pub(super) const CLEAR: &str = "\r\u{1b}[K";
/// What stands before what a person types.
const INPUT: &str = "  > ";

/// What stands there.
#[derive(Default)]
pub(super) struct StatusLine {
    /// What was typed so far, where somebody is asked.
    typed: Option<String>,
    drawn: bool,
    /// It was drawn, and something else was typed since.
    stale: bool,
    /// How many lines were written since somebody was asked.
    lines: usize,
}

impl StatusLine {
    /// What draws it on a line so wide, given how far the run is; nothing where it stands already.
    pub(super) fn draw(&mut self, width: usize, progress: impl FnOnce() -> String) -> Option<String> {
        let was_drawn = std::mem::replace(&mut self.drawn, true);
        let is_stale = std::mem::take(&mut self.stale);
        match &self.typed {
            Some(_) if was_drawn && !is_stale => None,
            Some(typed) => Some(input(typed, width)),
            None => Some(format!("{CLEAR}{}", progress())),
        }
    }

    /// What makes room for other lines; empty when nothing stands there.
    pub(super) fn clear(&mut self) -> &'static str {
        if std::mem::take(&mut self.drawn) { CLEAR } else { "" }
    }

    /// So many lines were written above it.
    pub(super) fn wrote(&mut self, lines: usize) {
        self.lines += lines;
    }

    /// How many lines were written since somebody was asked.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// From now on it is a line to type on.
    pub(super) fn open_input(&mut self) {
        self.typed.get_or_insert_default();
        self.lines = 0;
    }

    /// What was typed so far.
    pub(super) fn type_in(&mut self, text: &str) {
        if let Some(typed) = self.typed.as_mut().filter(|typed| *typed != text) {
            text.clone_into(typed);
            self.stale = true;
        }
    }

    /// Nobody is asked any more: the line goes, with what stands on it.
    pub(super) fn close_input(&mut self) -> &'static str {
        self.typed = None;
        self.clear()
    }

    /// A line was typed to its end: it stays, and what follows stands below it. Empty where the
    /// terminal has shown it itself.
    pub(super) fn input_entered(&mut self, line: &str, width: usize) -> String {
        let was = std::mem::take(self);
        was.typed.map(|_| format!("{}\n", input(line, width))).unwrap_or_default()
    }
}

/// The line to type on: of what is too wide, the end, where somebody types.
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
