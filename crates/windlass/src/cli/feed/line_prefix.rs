//! The prefix of a line: the indentation of a node, or a label.

use crate::cli::sanitize::{columns, plain_line};

/// The longest label, in characters.
const LABEL: usize = 30;

/// The prefix of each line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinePrefix {
    /// Two blanks for each block.
    Depth(usize),
    /// A name, for lines of several nodes in turn.
    Label(String),
    /// Blanks and a name, before lines that keep their own prefix.
    Within(String),
}

impl LinePrefix {
    /// Creates a label from a name.
    pub(super) fn label(name: &str) -> LinePrefix {
        let short: String = plain_line(name).chars().take(LABEL).collect();
        LinePrefix::Label(format!("[{short}] "))
    }

    /// Creates an indented label for the lines of a sub-run, which have a prefix of their own.
    pub(super) fn within(depth: usize, name: &str) -> LinePrefix {
        let LinePrefix::Label(label) = LinePrefix::label(name) else { return LinePrefix::Depth(depth) };
        LinePrefix::Within(format!("{}{label}", "  ".repeat(depth)))
    }

    /// Returns the width of the prefix.
    pub(super) fn columns(&self) -> usize {
        match self {
            LinePrefix::Depth(depth) => depth * 2,
            LinePrefix::Label(label) | LinePrefix::Within(label) => columns(label),
        }
    }

    /// Puts the prefix before each line that is not empty.
    pub(super) fn put(&self, lines: Vec<String>) -> Vec<String> {
        lines.into_iter().map(|line| self.before(line)).collect()
    }

    fn before(&self, line: String) -> String {
        match self {
            _ if line.is_empty() => line,
            LinePrefix::Depth(depth) => format!("{}{line}", "  ".repeat(*depth)),
            LinePrefix::Label(label) => format!("{label}{}", unindented(&line)),
            LinePrefix::Within(label) => format!("{label}{line}"),
        }
    }
}

/// Removes the indentation of a line, also after a colour code.
fn unindented(line: &str) -> String {
    const INDENT: &str = "  ";
    if let Some(rest) = line.strip_prefix(INDENT) {
        return rest.to_owned();
    }
    let painted = line.strip_prefix("\u{1b}[").and_then(|rest| rest.split_once('m'));
    match painted.and_then(|(code, rest)| Some((code, rest.strip_prefix(INDENT)?))) {
        Some((code, rest)) => format!("\u{1b}[{code}m{rest}"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(margin: &LinePrefix, line: &str) -> String {
        margin.put(vec![line.to_owned()]).remove(0)
    }

    #[test]
    fn a_label_takes_the_place_of_the_indent_with_or_without_a_colour() {
        let label = LinePrefix::label("history");
        assert_eq!(one(&label, "  Bash   ls"), "[history] Bash   ls");
        assert_eq!(one(&label, "\u{1b}[2m  ~ hm\u{1b}[0m"), "[history] \u{1b}[2m~ hm\u{1b}[0m");
        assert_eq!(one(&label, "> build (shell)"), "[history] > build (shell)");
        assert_eq!(one(&label, ""), "");
    }

    #[test]
    fn depth_is_two_blanks_each() {
        assert_eq!(one(&LinePrefix::Depth(2), "  x"), "      x");
        assert_eq!((LinePrefix::Depth(2).columns(), LinePrefix::label("a").columns()), (4, 4));
    }

    #[test]
    fn a_label_cannot_break_out() {
        let label = LinePrefix::label(&format!("a\u{1b}[2J{}", "x".repeat(99)));
        assert_eq!(one(&label, "y"), format!("[a^[[2J{}] y", "x".repeat(24)));
    }
}
