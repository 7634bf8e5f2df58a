//! Finds a place inside of a text that stands in YAML: the third line of a prompt is some line of
//! the file.
//!
//! Exact for `|` blocks and for texts on one line; where YAML folds lines or escapes characters
//! there is no answer.

/// The byte in the document of a line and a column, both from 1, of the value that begins at `at`.
pub(super) fn find(document: &str, at: usize, line: usize, column: usize) -> Option<usize> {
    let rest = document.get(at..)?;
    let first = rest.lines().next()?;
    match rest.chars().next()? {
        '|' => in_block(rest, line, column).map(|offset| at + offset),
        // Folded, or no text at all.
        '>' | '[' | '{' | '*' | '&' | '!' => None,
        quote @ ('"' | '\'') => {
            let inner = first.get(1..)?;
            let is_simple = !inner.split(quote).next()?.contains('\\');
            (line == 1 && is_simple).then(|| Some(at + 1 + byte_of(inner, column)?)).flatten()
        }
        _ => (line == 1).then(|| Some(at + byte_of(first, column)?)).flatten(),
    }
}

fn in_block(rest: &str, line: usize, column: usize) -> Option<usize> {
    let header = rest.split_inclusive('\n').next()?.len();
    let body = rest.get(header..)?;
    let indent = body.lines().find(|line| !line.trim().is_empty()).map(indent_of)?;
    let mut offset = header;
    for (index, text) in body.split_inclusive('\n').enumerate() {
        if index + 1 == line {
            return Some(offset + indent + byte_of(text.get(indent..)?, column)?);
        }
        offset += text.len();
    }
    None
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The byte of a column, which may be just behind the end.
fn byte_of(line: &str, column: usize) -> Option<usize> {
    let ends = std::iter::once(line.len());
    line.char_indices().map(|(at, _)| at).chain(ends).nth(column.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_text_is_a_place_in_the_file() {
        let document = "a: |\n    é one\n\n      two\nb: \"x y\"\nc: plain\nd: 'it\\n'\ne: \"\\n y\"\n";
        let place = |value: &str, line, column| {
            find(document, document.find(value).unwrap(), line, column)
                .map(|at| &document[at..at + document[at..].find('\n').unwrap()])
        };
        assert_eq!(place("|", 1, 3), Some("one"));
        assert_eq!(place("|", 3, 3), Some("two"));
        assert_eq!(place("\"x", 1, 3), Some("y\""));
        assert_eq!(place("plain", 1, 2), Some("lain"));
        assert_eq!(place("\"\\n", 1, 4), None);
        assert_eq!(place("plain", 2, 1), None);
        assert_eq!(place("|", 9, 1), None);
        assert_eq!(find("x", 9, 1, 1), None);
    }
}
