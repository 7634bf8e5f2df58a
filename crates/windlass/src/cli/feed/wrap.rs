//! Breaks text into lines that fit, at blanks if there are any.

use crate::cli::sanitize::{columns, fitting};

/// The further indentation of the lines after the first.
const FOLDED: &str = "    ";

/// Wraps a text to lines of at most `width` columns, each starting with `indent`.
///
/// Keeps the line breaks of the text, and cuts words that are too long.
pub(super) fn wrap(text: &str, indent: &str, width: usize) -> Vec<String> {
    let room = width.saturating_sub(columns(indent)).max(10);
    let lines = text.trim_end().split('\n').flat_map(|line| wrap_line(line.trim_end(), room));
    lines.map(|line| format!("{indent}{line}").trim_end().to_owned()).collect()
}

fn wrap_line(line: &str, room: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = line;
    loop {
        let fits = fitting(rest, room);
        let (head, tail) = rest.split_at_checked(fits).unwrap_or((rest, ""));
        if tail.is_empty() {
            lines.push(rest);
            return lines;
        }
        // A blank just after the part that fits can end the line too.
        let blank = if tail.starts_with(' ') { Some(fits) } else { head.rfind(' ') };
        let end = blank.filter(|at| *at > 0).unwrap_or(fits);
        let (shown, next) = rest.split_at_checked(end).unwrap_or((rest, ""));
        lines.push(shown);
        rest = next.trim_start_matches(' ');
    }
}

/// Breaks a line that is too wide for the terminal. The further lines are indented. A line with a command
/// stays whole, so that a person can copy it.
pub(crate) fn fold(line: &str, width: usize) -> Vec<String> {
    if columns(line) <= width || line.contains(": windlass ") {
        return vec![line.to_owned()];
    }
    let text = line.trim_start();
    let indent = line.get(..line.len() - text.len()).unwrap_or_default();
    let mut lines = wrap(text, indent, width.saturating_sub(FOLDED.len()));
    lines.iter_mut().skip(1).for_each(|line| line.insert_str(0, FOLDED));
    lines
}

/// Returns the first lines and the number of lines left out.
pub(super) fn first(mut lines: Vec<String>, most: usize) -> (Vec<String>, usize) {
    let hidden = lines.len().saturating_sub(most);
    lines.truncate(most);
    (lines, hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_line_is_folded_and_a_command_is_not() {
        assert_eq!(fold("  one two three", 15), ["  one two three"]);
        assert_eq!(fold("  one two three four", 16), ["  one two", "      three four"]);
        let command = "  answer it: windlass answer k3f9 \"TEXT\"";
        assert_eq!(fold(command, 20), [command]);
    }

    #[test]
    fn breaks_at_blanks_and_cuts_what_has_none() {
        assert_eq!(wrap("one two three four", "  ", 12), ["  one two", "  three four"]);
        assert_eq!(wrap("abcdefghijklmno", "", 10), ["abcdefghij", "klmno"]);
        assert_eq!(wrap("a\n\nb\n", "> ", 40), ["> a", ">", "> b"]);
    }

    #[test]
    fn counts_characters_not_bytes() {
        assert_eq!(wrap("äöüäöüäöüä äöü", "", 10), ["äöüäöüäöüä", "äöü"]);
    }

    #[test]
    fn wide_writing_takes_two_columns() {
        assert_eq!(wrap("世界世界世界世", "", 10), ["世界世界世", "界世"]);
        assert_eq!(wrap("ab 世界 cd 🙂🙂🙂", "  ", 12), ["  ab 世界 cd", "  🙂🙂🙂"]);
        assert_eq!(wrap(&format!("x{}", "世".repeat(6)), "", 10), ["x世世世世", "世世"]);
    }

    #[test]
    fn takes_time_in_proportion_to_the_text() {
        // A line of this length took minutes when each cut copied what was left.
        assert_eq!(wrap(&"x".repeat(5_000_000), "", 80).len(), 62_500);
    }

    #[test]
    fn says_how_many_lines_are_hidden() {
        let lines = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
        assert_eq!(first(lines, 2), (vec!["a".to_owned(), "b".to_owned()], 1));
    }
}
