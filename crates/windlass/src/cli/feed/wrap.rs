//! Breaks text into lines that fit, at blanks where there are any.

/// The text in lines of at most `width` characters, each begun with `indent`.
///
/// Line breaks of the text are kept; a word that is too long is cut.
pub(super) fn wrap(text: &str, indent: &str, width: usize) -> Vec<String> {
    let room = width.saturating_sub(indent.chars().count()).max(10);
    let lines = text.trim_end().split('\n').flat_map(|line| wrap_line(line.trim_end(), room));
    lines.map(|line| format!("{indent}{line}").trim_end().to_owned()).collect()
}

fn wrap_line(line: &str, room: usize) -> Vec<String> {
    let chars: Vec<char> = line.chars().collect();
    let mut lines = Vec::new();
    let mut rest = chars.as_slice();
    while rest.len() > room {
        let head = rest.get(..=room).unwrap_or_default();
        let blank = head.iter().rposition(|c| *c == ' ').filter(|at| *at > 0);
        let (shown, tail) = rest.split_at(blank.unwrap_or(room));
        lines.push(shown.iter().collect());
        let blanks = tail.iter().take_while(|c| **c == ' ').count();
        rest = tail.get(blanks..).unwrap_or_default();
    }
    lines.push(rest.iter().collect());
    lines
}

/// The first lines, and how many are not shown.
pub(super) fn first(mut lines: Vec<String>, most: usize) -> (Vec<String>, usize) {
    let hidden = lines.len().saturating_sub(most);
    lines.truncate(most);
    (lines, hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

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
