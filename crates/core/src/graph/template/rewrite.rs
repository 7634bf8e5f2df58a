//! Edits to the source of a template before the engine parses it. Positions in the edited text map
//! back to the original.

use std::borrow::Cow;

/// A list of edits to a text.
#[derive(Debug, Default)]
pub(super) struct Edits(Vec<Edit>);

#[derive(Debug)]
struct Edit {
    at: usize,
    removed: usize,
    put: Cow<'static, str>,
}

impl Edits {
    /// Inserts a text. Insertions at the same place keep their order.
    pub(super) fn put(&mut self, at: usize, text: impl Into<Cow<'static, str>>) {
        self.replace(at, 0, text);
    }

    /// Replaces `removed` bytes with a text.
    pub(super) fn replace(&mut self, at: usize, removed: usize, text: impl Into<Cow<'static, str>>) {
        self.0.push(Edit { at, removed, put: text.into() });
    }

    /// Returns the source with all edits.
    pub(super) fn applied<'s>(&mut self, source: &'s str) -> Cow<'s, str> {
        if self.0.is_empty() {
            return Cow::Borrowed(source);
        }
        self.0.sort_by_key(|edit| edit.at);
        let mut text = String::with_capacity(source.len() + 16 * self.0.len());
        let mut rest = 0;
        for edit in &self.0 {
            text.push_str(source.get(rest..edit.at).unwrap_or_default());
            text.push_str(&edit.put);
            rest = edit.at + edit.removed;
        }
        text.push_str(source.get(rest..).unwrap_or_default());
        Cow::Owned(text)
    }

    /// Maps an offset in the edited text to the original. Call [`applied`](Edits::applied) first: it
    /// sorts the edits.
    pub(super) fn original(&self, offset: usize) -> usize {
        let (mut old, mut new) = (0, 0);
        for edit in &self.0 {
            let same = edit.at - old;
            if offset < new + same {
                break;
            }
            if offset < new + same + edit.put.len() {
                return edit.at;
            }
            new += same + edit.put.len();
            old = edit.at + edit.removed;
        }
        old + offset.saturating_sub(new)
    }
}
