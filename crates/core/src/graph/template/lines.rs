//! Keeps the newline after a tag that shares its line with other content.
//!
//! The engine removes the newline after every block tag and comment. That is right only if the line
//! has nothing else, so that the whole line disappears.

use super::rewrite::Edits;

/// Collects the edits that keep the newline of each line with more than block tags.
pub(super) fn keep_newlines(source: &str, edits: &mut Edits) {
    let mut line = TemplateLine::default();
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let text = rest.find("{{").into_iter().chain(rest.find("{%")).chain(rest.find("{#")).min();
        let text = rest.get(..text.unwrap_or(rest.len())).unwrap_or_default();
        line.text(text, at, edits);
        at += text.len();
        let Some(tag) = source.get(at..).and_then(tag) else { break };
        match tag.kind {
            TagKind::Value => line.has_text = true,
            TagKind::Quiet => {
                let end = at + tag.len;
                let is_marked = source.get(..end - 2).is_some_and(|text| text.ends_with(['-', '+']));
                line.last = Some((end, is_marked));
            }
        }
        at += tag.len;
        if tag.is_raw {
            let raw = source.get(at..).unwrap_or_default();
            let inside = raw.get(..end_of_raw(raw)).unwrap_or_default();
            line.text(inside, at, edits);
            at += inside.len();
        }
    }
    line.end(source.len(), edits);
}

/// Returns the offset of the first `${#`, the length of a variable in a shell, that the template reads as the
/// start of a comment.
pub(in crate::graph) fn length_as_comment(source: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        at += rest.find("{{").into_iter().chain(rest.find("{%")).chain(rest.find("{#")).min()?;
        let (before, from) = source.split_at_checked(at)?;
        if from.starts_with("{#") && before.ends_with('$') {
            return Some(at - 1);
        }
        let tag = tag(from)?;
        at += tag.len;
        if tag.is_raw {
            at += source.get(at..).map_or(0, end_of_raw);
        }
    }
    None
}

/// The content of a line so far.
#[derive(Default)]
struct TemplateLine {
    has_text: bool,
    /// The end of the last block or comment, and whether it has an explicit `-` or `+`.
    last: Option<(usize, bool)>,
    /// Blanks between and after tags: the offset and the length of each.
    blanks: Vec<(usize, usize)>,
}

impl TemplateLine {
    fn text(&mut self, text: &str, mut at: usize, edits: &mut Edits) {
        for piece in text.split_inclusive('\n') {
            let is_end = piece.ends_with('\n');
            let inner = piece.trim_end_matches('\n').trim_end_matches('\r');
            if !inner.trim().is_empty() {
                self.has_text = true;
            } else if !inner.is_empty() && self.last.is_some() {
                self.blanks.push((at, inner.len()));
            }
            if is_end {
                let newline = at + inner.len();
                std::mem::take(self).end(newline, edits);
            }
            at += piece.len();
        }
    }

    /// Ends the line, whose newline is at this offset.
    fn end(self, newline: usize, edits: &mut Edits) {
        let Some((last, is_marked)) = self.last else { return };
        if !self.has_text {
            self.blanks.into_iter().for_each(|(at, count)| edits.replace(at, count, ""));
        } else if last == newline && !is_marked {
            // `+%}` keeps the newline.
            edits.put(last - 2, "+");
        }
    }
}

enum TagKind {
    /// A tag that writes a value.
    Value,
    /// A block or a comment.
    Quiet,
}

struct Tag {
    kind: TagKind,
    len: usize,
    is_raw: bool,
}

/// Reads the tag at the start of a text, if the tag is complete.
fn tag(text: &str) -> Option<Tag> {
    let quiet = |len, is_raw| Tag { kind: TagKind::Quiet, len, is_raw };
    match text.get(..2)? {
        "{#" => text.get(2..)?.find("#}").map(|end| quiet(end + 4, false)),
        "{%" => {
            let len = end_of_tag(text, "%}")?;
            let inside = text.get(2..len - 2)?;
            Some(quiet(len, inside.trim_matches(['-', '+']).trim() == "raw"))
        }
        _ => Some(Tag { kind: TagKind::Value, len: end_of_tag(text, "}}")?, is_raw: false }),
    }
}

/// Returns the length of a tag. Skips closing marks inside quotes and brackets.
fn end_of_tag(text: &str, end: &str) -> Option<usize> {
    let mut quote = None;
    let mut is_escaped = false;
    let mut depth = 0_usize;
    for (at, sign) in text.char_indices().skip(2) {
        match (quote, sign) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), _) if open == sign => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(sign),
            (None, _) if depth == 0 && text.get(at..).is_some_and(|rest| rest.starts_with(end)) => {
                return Some(at + end.len());
            }
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
    }
    None
}

/// Returns the offset of the `endraw` tag.
fn end_of_raw(text: &str) -> usize {
    let mut blocks = text.match_indices("{%").map(|(at, _)| at);
    let is_end = |at: &usize| {
        let inside = text.get(at + 2..).unwrap_or_default();
        inside.trim_start_matches(['-', '+']).trim_start().starts_with("endraw")
    };
    blocks.find(is_end).unwrap_or(text.len())
}
