//! Fits lines to the terminal: wraps and shortens at blanks, never inside a word.
//!
//! Without a terminal nothing is changed: programs read whole lines. A word that is wider than the line stays
//! whole, because it is a path that a person copies. So does a command: on a line of its own, below its label.

use super::sanitize::{columns, fitting, padded};

/// Wraps a line. All lines but the first start with `indent`.
pub(crate) fn wrap(line: &str, indent: &str, width: Option<usize>) -> Vec<String> {
    let Some(width) = width.filter(|width| visible(line) > *width) else { return vec![line.to_owned()] };
    if let Some((label, command)) = labelled_command(line) {
        return vec![label.to_owned(), format!("{indent}{command}")];
    }
    let lead: String = line.chars().take_while(|c| *c == ' ').collect();
    let (mut lines, mut current, mut is_empty) = (Vec::new(), lead, true);
    for word in line.trim_start().split(' ') {
        if !is_empty && visible(&current) + 1 + visible(word) > width {
            lines.push(std::mem::replace(&mut current, indent.to_owned()).trim_end().to_owned());
            is_empty = true;
        }
        if !is_empty {
            current.push(' ');
        }
        current.push_str(word);
        is_empty = false;
    }
    lines.push(current.trim_end().to_owned());
    lines
}

/// The programs whose commands a person copies from a line.
const PROGRAMS: [&str; 3] = ["git ", "(cd ", "windlass "];

/// Splits `label: COMMAND`. A list of commands is no command.
fn labelled_command(line: &str) -> Option<(&str, &str)> {
    let at = line.find(": ")? + 1;
    let (label, command) = line.split_at_checked(at)?;
    let command = command.trim_start();
    let is_command = PROGRAMS.iter().any(|program| command.starts_with(program));
    (is_command && !command.contains(", ")).then_some((label, command))
}

/// Wraps every line, each below its own first word.
pub(crate) fn wrap_all(lines: &[String], deeper: usize, width: Option<usize>) -> Vec<String> {
    let indent = |line: &String| " ".repeat(line.len() - line.trim_start().len() + deeper);
    lines.iter().flat_map(|line| wrap(line, &indent(line), width)).collect()
}

/// Shortens a text to at most `most` columns, at a blank if there is one, and ends it with `...`.
pub(crate) fn shorten_words(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let cut = fitting(text, most.saturating_sub(3));
    let (kept, rest) = text.split_at_checked(cut).unwrap_or((text, ""));
    let blank = if rest.starts_with(' ') { Some(cut) } else { kept.rfind(' ') };
    let kept = blank.filter(|at| *at > 0).and_then(|at| kept.get(..at)).unwrap_or(kept);
    format!("{}...", kept.trim_end_matches([' ', ',', ';', ':', '.']))
}

/// Lays out rows, each column as wide as its widest cell. If the lines are too wide, the cells of the column
/// `flexible` are shortened.
pub(crate) fn table<const N: usize>(
    rows: &[[String; N]],
    flexible: usize,
    width: Option<usize>,
) -> Vec<String> {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns(cell));
        }
    }
    let shown = widths.iter().filter(|width| **width > 0).count();
    let whole: usize = widths.iter().sum::<usize>() + 2 * shown.saturating_sub(1);
    if let (Some(width), Some(flexible)) = (width, widths.get_mut(flexible)) {
        let narrower = flexible.saturating_sub(whole.saturating_sub(width));
        *flexible = narrower.max(NARROWEST.min(*flexible));
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).filter(|(_, width)| *width > 0);
        let cells: Vec<String> =
            cells.map(|(cell, width)| padded(&shorten_words(cell, width), width)).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The narrowest column that is still readable.
const NARROWEST: usize = 10;

/// Returns the columns that a text takes, without its colours.
fn visible(text: &str) -> usize {
    let mut all = 0;
    for (at, part) in text.split('\u{1b}').enumerate() {
        let shown = if at == 0 { part } else { part.split_once('m').map_or(part, |(_, rest)| rest) };
        all += columns(shown);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_wrapped_at_blanks_and_a_long_word_stays_whole() {
        assert_eq!(wrap("  one two three four", "    ", Some(12)), ["  one two", "    three", "    four"]);
        assert_eq!(
            wrap("in /a/very/long/path here", "  ", Some(10)),
            ["in", "  /a/very/long/path", "  here"]
        );
        assert_eq!(wrap("as wide as it wants", "  ", None), ["as wide as it wants"]);
        assert_eq!(wrap("fits", "  ", Some(4)), ["fits"]);
        assert_eq!(wrap_all(&["  one two three".to_owned()], 2, Some(10)), ["  one two", "    three"]);
    }

    #[test]
    fn a_command_is_never_wrapped() {
        assert_eq!(
            wrap("  commit them: (cd /a/path && git commit)", "    ", Some(20)),
            ["  commit them:", "    (cd /a/path && git commit)"]
        );
        assert_eq!(wrap("more: windlass show a, windlass logs a", "  ", Some(24)).len(), 2);
    }

    #[test]
    fn colours_take_no_columns() {
        assert_eq!(wrap("\u{1b}[32mok\u{1b}[0m fine", "", Some(7)), ["\u{1b}[32mok\u{1b}[0m fine"]);
    }

    #[test]
    fn a_text_is_shortened_at_a_word() {
        assert_eq!(shorten_words("Ships the release, then tells", 21), "Ships the release...");
        assert_eq!(shorten_words("Ships the release", 15), "Ships the...");
        assert_eq!(shorten_words("abcdefghij", 8), "abcde...");
        assert_eq!(shorten_words("fits", 4), "fits");
    }

    #[test]
    fn only_the_flexible_column_gives_way() {
        let row = |name: &str, about: &str| [name.to_owned(), String::new(), about.to_owned()];
        let rows = [row("release", "Ships the release to everybody"), row("a", "Short")];
        assert_eq!(table(&rows, 2, Some(25)), ["release  Ships the...", "a        Short"]);
        assert_eq!(table(&rows, 2, None), ["release  Ships the release to everybody", "a        Short"]);
    }
}
