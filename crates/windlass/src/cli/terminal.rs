//! The abilities of the terminal: width, colours and symbols. Without a terminal there are none.

use std::os::fd::{AsFd, BorrowedFd};

use windlass_runtime::home::Home;

/// The width of lines without a terminal.
const PLAIN_WIDTH: usize = 100;
/// The widest line: wider text is hard to read.
const WIDEST: usize = 120;
const NARROWEST: usize = 20;
/// The number of lines if the terminal does not report it.
const ROWS: usize = 24;

/// The abilities of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminal {
    /// A line can be redrawn in place.
    pub(crate) redraws: bool,
    /// Colours may be used.
    pub(crate) colours: bool,
    /// Symbols outside ASCII may be used.
    pub(crate) unicode: bool,
    /// Characters on a line.
    pub(crate) width: usize,
    /// Standard output is a terminal.
    pub(crate) is_terminal: bool,
}

/// The meaning of a text, which chooses its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextTone {
    Good,
    Bad,
    Careful,
    Strong,
    Faint,
}

impl Terminal {
    /// Detects the abilities from standard output and the environment.
    pub(crate) fn of(home: &Home) -> Terminal {
        let stdout = std::io::stdout();
        let is_terminal = rustix::termios::isatty(stdout.as_fd());
        let is_dumb = home.var("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let no_colour = home.var("NO_COLOR").is_some_and(|value| !value.is_empty());
        let width = columns().filter(|_| is_terminal).unwrap_or(PLAIN_WIDTH);
        Terminal {
            redraws: is_terminal && !is_dumb,
            colours: is_terminal && !is_dumb && !no_colour,
            unicode: ["LC_ALL", "LC_CTYPE", "LANG"]
                .iter()
                .find_map(|name| non_empty(home, name))
                .is_some_and(is_utf8),
            width: width.clamp(NARROWEST, WIDEST),
            is_terminal,
        }
    }

    /// Returns the widest line that fits. Without a terminal there is no limit.
    pub(crate) fn limit(self) -> Option<usize> {
        self.is_terminal.then_some(self.width)
    }

    /// Measures the width again: people resize the terminal during a run.
    pub(crate) fn measure(&mut self) {
        if let Some(width) = columns().filter(|_| self.redraws) {
            self.width = width.clamp(NARROWEST, WIDEST);
        }
    }

    /// Returns the number of lines of the terminal.
    pub(crate) fn rows(self) -> usize {
        let size = rustix::termios::tcgetwinsize(std::io::stdout().as_fd()).ok();
        size.map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(ROWS)
    }

    /// Returns the abilities of a file: no colours, no redrawing, only ASCII.
    #[cfg(test)]
    pub(crate) fn plain() -> Terminal {
        Terminal { redraws: false, colours: false, unicode: false, width: 80, is_terminal: false }
    }

    /// Paints a text in the colour of its tone.
    pub(crate) fn paint(self, tone: TextTone, text: &str) -> String {
        if !self.colours || text.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            TextTone::Good => "32",
            TextTone::Bad => "31",
            TextTone::Careful => "33",
            TextTone::Strong => "1",
            TextTone::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Returns the symbol of a check that passed or failed.
    pub(crate) fn check(self, passed: bool) -> String {
        let sign = match (self.unicode, passed) {
            (true, true) => "✓",
            (true, false) => "✗",
            (false, true) => "ok",
            (false, false) => "FAILED",
        };
        self.paint(if passed { TextTone::Good } else { TextTone::Bad }, sign)
    }

    /// Returns the symbol of a node that starts.
    pub(crate) fn arrow(self) -> &'static str {
        if self.unicode { "▸" } else { ">" }
    }

    /// Returns the separator between facts on one line.
    pub(crate) fn dot(self) -> &'static str {
        if self.unicode { " · " } else { ", " }
    }
}

/// Returns the width of the terminal on standard output.
fn columns() -> Option<usize> {
    columns_of(std::io::stdout().as_fd())
}

/// Returns the width of the terminal on standard error.
pub(crate) fn error_columns() -> Option<usize> {
    columns_of(std::io::stderr().as_fd())
}

fn columns_of(stream: BorrowedFd<'_>) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}

fn non_empty<'a>(home: &'a Home, name: &str) -> Option<&'a str> {
    home.var(name).filter(|value| !value.is_empty())
}

fn is_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_there_is_not_one_escape() {
        let screen = Terminal::plain();
        assert_eq!(screen.paint(TextTone::Bad, "x"), "x");
        assert_eq!(screen.check(false), "FAILED");
    }

    #[test]
    fn colours_end_where_the_text_does() {
        let screen = Terminal { colours: true, unicode: true, ..Terminal::plain() };
        assert_eq!(screen.check(true), "\u{1b}[32m✓\u{1b}[0m");
    }

    #[test]
    fn the_locale_says_whether_signs_are_understood() {
        assert!(is_utf8("de_DE.UTF-8") && is_utf8("C.utf8") && !is_utf8("C") && !is_utf8("POSIX"));
    }
}
