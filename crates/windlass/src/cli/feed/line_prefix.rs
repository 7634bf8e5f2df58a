//! What stands at the beginning of a line: how deep a node is, or whose words it has.

use crate::cli::sanitize::{columns, plain_line};

/// The longest label.
const LABEL: usize = 30;

/// The beginning of each line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LinePrefix {
    /// Blanks, two for each block.
    Depth(usize),
    /// A name, where lines of several stand between each other.
    Label(String),
    /// A name below blanks, before lines that keep their own.
    Within(String),
}

impl LinePrefix {
    /// A name as a label.
    pub(super) fn label(name: &str) -> LinePrefix {
        let short: String = plain_line(name).chars().take(LABEL).collect();
        LinePrefix::Label(format!("[{short}] "))
    }

    /// A name so deep, before the lines of a run that has a depth of its own.
    pub(super) fn within(depth: usize, name: &str) -> LinePrefix {
        let LinePrefix::Label(label) = LinePrefix::label(name) else { return LinePrefix::Depth(depth) };
        LinePrefix::Within(format!("{}{label}", "  ".repeat(depth)))
    }

    /// How many columns it takes.
    pub(super) fn columns(&self) -> usize {
        match self {
            LinePrefix::Depth(depth) => depth * 2,
            LinePrefix::Label(label) | LinePrefix::Within(label) => columns(label),
        }
    }

    /// Puts it before each line that says something.
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

/// The line without the blanks it begins with, which may stand behind a colour.
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
