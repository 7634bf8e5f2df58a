//! Edits the line that a person types below the feed.
//!
//! `keyboard.rs` reads the keys, and `feed/status_line.rs` shows the line.

/// The longest line, in bytes.
const MOST: usize = 4096;

const ESCAPE: char = '\u{1b}';

/// A line that is being typed.
#[derive(Debug, Default)]
pub(crate) struct Typing {
    text: String,
    /// Bytes that are not processed yet: after the end of a line, or half a character.
    rest: Vec<u8>,
}

/// A line that a person entered, or the end of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PromptLine {
    Entered(String),
    /// The person leaves instead of typing anything.
    Leave,
}

/// The effect of a key.
enum KeyAction {
    Enter,
    End,
    Erase,
    EraseWord,
    EraseAll,
    Character(char),
    /// A key without effect, such as an arrow.
    Other,
}

impl Typing {
    /// Returns the line so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Adds typed bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
    }

    /// Returns the line once a person has entered it, or that the person leaves.
    pub(crate) fn line(&mut self) -> Option<PromptLine> {
        while let Some(key) = self.key() {
            match key {
                KeyAction::End if self.text.is_empty() => return Some(PromptLine::Leave),
                KeyAction::Enter | KeyAction::End => {
                    return Some(PromptLine::Entered(std::mem::take(&mut self.text)));
                }
                KeyAction::Erase => drop(self.text.pop()),
                KeyAction::EraseAll => self.text.clear(),
                KeyAction::EraseWord => {
                    let kept = self.text.trim_end().rfind(' ').map_or(0, |blank| blank + 1);
                    self.text.truncate(kept);
                }
                KeyAction::Character(c) if self.text.len() < MOST => self.text.push(c),
                KeyAction::Character(_) | KeyAction::Other => {}
            }
        }
        None
    }

    /// Returns the next key whose bytes have all arrived.
    fn key(&mut self) -> Option<KeyAction> {
        let (first, size) = self.character()?;
        if first == ESCAPE {
            let size = self.sequence()?;
            self.rest.drain(..size);
            return Some(KeyAction::Other);
        }
        self.rest.drain(..size);
        Some(match first {
            '\n' | '\r' => KeyAction::Enter,
            // Ctrl-D enters a line, and ends the input where there is none, as it does in terminals.
            '\u{4}' => KeyAction::End,
            '\u{7f}' | '\u{8}' => KeyAction::Erase,
            '\u{15}' => KeyAction::EraseAll,
            '\u{17}' => KeyAction::EraseWord,
            '\t' => KeyAction::Character(' '),
            c if c.is_control() => KeyAction::Other,
            c => KeyAction::Character(c),
        })
    }

    /// Returns the first character and its length in bytes, or `None` if only half of it has arrived.
    fn character(&self) -> Option<(char, usize)> {
        let valid = match std::str::from_utf8(&self.rest) {
            Ok(text) => text,
            Err(error) if error.valid_up_to() > 0 => {
                let valid = self.rest.get(..error.valid_up_to()).unwrap_or_default();
                std::str::from_utf8(valid).unwrap_or_default()
            }
            Err(error) => return error.error_len().map(|size| (char::REPLACEMENT_CHARACTER, size)),
        };
        valid.chars().next().map(|c| (c, c.len_utf8()))
    }

    /// Returns the length of an escape sequence such as an arrow, or `None` if it has not all arrived.
    fn sequence(&self) -> Option<usize> {
        match self.rest.get(1)? {
            b'[' => {
                let last = self.rest.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte))?;
                Some(last + 3)
            }
            b'O' => self.rest.get(2).map(|_| 3),
            _ => Some(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> (Option<String>, String) {
        let mut typing = Typing::default();
        typing.add(bytes);
        (entered(&mut typing), typing.text().to_owned())
    }

    fn entered(typing: &mut Typing) -> Option<String> {
        match typing.line()? {
            PromptLine::Entered(line) => Some(line),
            PromptLine::Leave => panic!("left"),
        }
    }

    #[test]
    fn ctrl_d_enters_a_line_and_leaves_where_there_is_none() {
        let mut typing = Typing::default();
        typing.add(b"two\x04\x04");
        assert_eq!(typing.line(), Some(PromptLine::Entered("two".to_owned())));
        assert_eq!(typing.line(), Some(PromptLine::Leave));
        assert_eq!(typing.line(), None);
    }

    #[test]
    fn what_is_typed_stands_until_it_is_entered() {
        let mut typing = Typing::default();
        typing.add(b"tw");
        assert_eq!((entered(&mut typing), typing.text()), (None, "tw"));
        typing.add(b"o\nrest");
        assert_eq!(entered(&mut typing).as_deref(), Some("two"));
        assert_eq!((entered(&mut typing), typing.text()), (None, "rest"));
    }

    #[test]
    fn keys_take_back_a_character_a_word_or_all() {
        assert_eq!(typed("für\u{7f}".as_bytes()).1, "fü");
        assert_eq!(typed(b"one two \x17").1, "one ");
        assert_eq!(typed(b"one two\x15x").1, "x");
        assert_eq!(typed(b"\x7f\x17").1, "");
    }

    #[test]
    fn keys_that_move_are_no_text() {
        assert_eq!(typed(b"a\x1b[Db\x1b[1;5C\x1bOPc\x07").1, "abc");
        assert_eq!(typed(b"a\x04").0.as_deref(), Some("a"));
    }

    #[test]
    fn half_a_character_waits_for_its_other_half() {
        let mut typing = Typing::default();
        typing.add(&[0xc3]);
        assert_eq!((entered(&mut typing), typing.text()), (None, ""));
        typing.add(&[0xbc, 0xff, b'!']);
        assert_eq!((entered(&mut typing), typing.text()), (None, "ü\u{fffd}!"));
    }
}
