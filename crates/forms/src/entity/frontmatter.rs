//! Splits a Markdown file into the frontmatter between the `---` lines and the text below.

/// The longest frontmatter, in bytes.
pub(super) const LONGEST: usize = 64 * 1024;

const BOM: char = '\u{feff}';

/// The parts of an entity file.
#[derive(Debug, PartialEq)]
pub(super) struct EntityFileParts<'a> {
    pub(super) head: Option<FrontmatterText<'a>>,
    /// The text after the frontmatter, unchanged.
    pub(super) body: &'a str,
}

/// The text between the `---` lines.
#[derive(Debug, PartialEq)]
pub(super) struct FrontmatterText<'a> {
    /// The byte of the opening line.
    pub(super) opens: usize,
    /// The byte where the text begins.
    pub(super) at: usize,
    pub(super) text: &'a str,
    /// False if there is no closing line.
    pub(super) is_closed: bool,
}

/// Splits a file. Ignores blank lines before the opening line.
pub(super) fn split(text: &str) -> EntityFileParts<'_> {
    let start = if text.starts_with(BOM) { BOM.len_utf8() } else { 0 };
    let without = EntityFileParts { head: None, body: from(text, start) };
    let opens = start + blank(from(text, start));
    let Some(line) = from(text, opens).split_inclusive('\n').next().filter(|line| is_fence(line)) else {
        return without;
    };
    let at = opens + line.len();
    let inner = from(text, at);
    let (length, rest, is_closed) = match closing(inner) {
        Some((length, fence)) => (length, length + fence, true),
        None => match unclosed(inner) {
            // The `---` may just be a horizontal rule at the start of the file.
            0 => return without,
            length => (length, length, false),
        },
    };
    let head = FrontmatterText { opens, at, text: inner.get(..length).unwrap_or_default(), is_closed };
    EntityFileParts { head: Some(head), body: from(inner, rest) }
}

fn from(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// Returns the length of the leading blank lines.
fn blank(text: &str) -> usize {
    text.split_inclusive('\n').take_while(|line| line.trim().is_empty()).map(str::len).sum()
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.trim().is_empty())
}

/// Returns the start and the length of the closing line.
fn closing(inner: &str) -> Option<(usize, usize)> {
    let mut at = 0;
    for line in inner.split_inclusive('\n') {
        if is_fence(line) {
            return Some((at, line.len()));
        }
        at += line.len();
    }
    None
}

/// Returns the length of the text that looks like unclosed frontmatter: keys and the lines that
/// belong to them.
fn unclosed(inner: &str) -> usize {
    let belongs = |line: &&str| line.starts_with([' ', '\t', '-', '#']) || is_key_line(line);
    if !inner.split_inclusive('\n').next().is_some_and(is_key_line) {
        return 0;
    }
    inner
        .split_inclusive('\n')
        .take_while(|line| !line.trim().is_empty())
        .take_while(belongs)
        .map(str::len)
        .sum()
}

/// Decides whether a line, from its first letter on, reads `key: …`.
pub(super) fn is_key_line(line: &str) -> bool {
    key_of(line).is_some()
}

/// Returns the key that a line begins with.
pub(super) fn key_of(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let is_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'$');
    let is_key = !key.is_empty() && key.len() <= 64 && key.bytes().all(is_word);
    (is_key && !rest.starts_with("//") && !key.starts_with('-')).then_some(key)
}

/// Returns the prompt: the body without surrounding blank lines, and with `\n` as the only line
/// ending.
pub(super) fn prompt(body: &str) -> String {
    if body.contains('\r') {
        return prompt(&body.replace("\r\n", "\n").replace('\r', "\n"));
    }
    from(body, blank(body)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Option<(&str, bool)> {
        split(text).head.map(|head| (head.text, head.is_closed))
    }

    #[test]
    fn a_file_is_frontmatter_and_body() {
        let parts = split("---\nname: x\n---\nbody\n---\nmore\n");
        assert_eq!(parts.head, Some(FrontmatterText { opens: 0, at: 4, text: "name: x\n", is_closed: true }));
        assert_eq!(parts.body, "body\n---\nmore\n");
    }

    #[test]
    fn marks_line_ends_and_blank_lines_do_not_matter() {
        for text in ["\u{feff}---\r\nname: x\r\n---\r\nbody", "\n\n---  \nname: x\n---\t\nbody"] {
            let parts = split(text);
            let head = parts.head.unwrap();
            assert_eq!((head.text.trim_end(), parts.body), ("name: x", "body"), "{text:?}");
            assert_eq!(&text[head.at..head.at + 4], "name");
        }
    }

    #[test]
    fn without_frontmatter_everything_is_body() {
        for text in [
            "",
            "body",
            "--- \n# A line across the page\n",
            "----\nname: x\n----\n",
            "text\n---\nname: x\n---\n",
        ] {
            assert_eq!(split(text), EntityFileParts { head: None, body: text });
        }
        assert_eq!(split("\u{feff}body").body, "body");
    }

    #[test]
    fn a_head_that_is_never_closed_ends_where_it_stops_looking_like_one() {
        assert_eq!(
            head("---\nname: x\ntools:\n  - a\n- b\n\nDo: this\n"),
            Some(("name: x\ntools:\n  - a\n- b\n", false))
        );
        assert_eq!(head("---\nname: x\nDo this now\n"), Some(("name: x\n", false)));
        assert_eq!(head("---\nhttps://example.com\n"), None);
        assert_eq!(head("---"), None);
    }

    #[test]
    fn a_prompt_keeps_its_indentation_and_has_one_kind_of_line_end() {
        assert_eq!(prompt("\r\n \n    code\r\n\r\ntext\r\n\r\n"), "    code\n\ntext");
        assert_eq!(prompt("\r\rone\r\r\ntwo"), "one\n\ntwo");
        assert_eq!(prompt(" \n\n"), "");
    }
}
