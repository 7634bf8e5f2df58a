//! Decides whether the text around a document is JSON itself. Then the document is part of
//! something broken or duplicated, and using it alone would lose the rest.

/// The first characters of a JSON value.
const VALUE: &[char] = &['"', '\'', '[', '{', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];

/// The type of the document that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentKind {
    Object,
    List,
}

/// Returns the first byte outside `at..end` that belongs to JSON, or `None` if all of it is prose.
pub(super) fn json_around(text: &str, at: usize, end: usize, kind: DocumentKind) -> Option<usize> {
    let before = text.get(..at).unwrap_or_default();
    let after = text.get(end..).unwrap_or_default();
    let in_before = [unmatched(before), braced_key(before), member(before), member_of(before, kind)];
    let in_after = [unmatched(after), braced_key(after), member(after)];
    let first = in_before.into_iter().flatten().min();
    first.or_else(|| in_after.into_iter().flatten().min().map(|at| end + at))
}

/// Finds a bracket without its counterpart, which must be in the document or on its other side.
fn unmatched(part: &str) -> Option<usize> {
    let mut open: Vec<(usize, char)> = Vec::new();
    for (at, c) in part.char_indices() {
        match c {
            '{' => open.push((at, '}')),
            '[' => open.push((at, ']')),
            '}' | ']' if open.pop().is_none_or(|(_, closing)| closing != c) => return Some(at),
            _ => {}
        }
    }
    open.first().map(|(at, _)| *at)
}

/// Finds `{ key:`, with or without quotes.
fn braced_key(part: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || "_$-".contains(c);
    let opens = part.match_indices('{').find(|(at, _)| {
        let inside = part.get(at + 1..).unwrap_or_default().trim_start().trim_start_matches(['"', '\'']);
        let rest = inside.trim_start_matches(is_word);
        let is_key = rest.len() < inside.len();
        is_key && rest.trim_start_matches(['"', '\'']).trim_start().starts_with(':')
    });
    opens.map(|(at, _)| at)
}

/// Finds `"key":` followed by a value.
fn member(part: &str) -> Option<usize> {
    let is_value = |rest: &str| {
        rest.starts_with(VALUE) || ["true", "false", "null"].iter().any(|word| rest.starts_with(word))
    };
    keys(part).find(|(_, rest)| is_value(rest)).map(|(at, _)| at)
}

/// Finds `"key":` directly before a list. Prose may introduce an object this way, but a list after
/// a key was once part of an object.
fn member_of(before: &str, kind: DocumentKind) -> Option<usize> {
    let last = keys(before).find(|(_, rest)| rest.is_empty()).map(|(at, _)| at);
    last.filter(|_| kind == DocumentKind::List)
}

/// Finds each string on one line that a colon follows, with the text after the colon.
fn keys(part: &str) -> impl Iterator<Item = (usize, &str)> {
    part.match_indices(['"', '\'']).filter_map(|(at, quote)| {
        let inside = part.get(at + 1..)?;
        let key = inside.get(..inside.find(quote)?)?;
        let rest = inside.get(key.len() + 1..)?.trim_start().strip_prefix(':')?;
        let is_key = !key.is_empty() && !key.contains('\n');
        is_key.then(|| (at, rest.trim_start()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first byte of JSON around the `@`, if any.
    fn around(text: &str, kind: DocumentKind) -> Option<usize> {
        let at = text.find('@').unwrap();
        json_around(text, at, at + 1, kind)
    }

    #[test]
    fn prose_is_no_json() {
        let texts = [
            "@",
            "Here is the plan [x]:\n```json\n@```\nI hope {this} helps!",
            "It's \"so\": @",
            "don't: it's [1] 'fine': no\n@",
        ];
        for text in texts {
            assert_eq!(around(text, DocumentKind::Object), None, "{text}");
        }
    }

    #[test]
    fn a_document_that_was_a_part_is_told() {
        let parts = [
            ("{ version: 1, \"tasks\": @, \"notes\": 1}", 0),
            ("{'version': '1.0', 'tasks': @}", 0),
            ("\"version\": \"1.0\", \"tasks\": @, \"notes\": \"precious\"}", 0),
            ("\"tasks\":\n@", 0),
            ("@, \"notes\": \"precious\"", 3),
            ("@}", 1),
            ("Old: {id: 1} @", 5),
            ("@ and [ {'a' : 1} ]", 8),
            ("{ // a comment\n\"version\": 1.0.0, \"tasks\": @ }", 0),
        ];
        for (text, at) in parts {
            assert_eq!(around(text, DocumentKind::List), Some(at), "{text}");
        }
    }
}
