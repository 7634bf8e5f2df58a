//! Passes on standard input that stays open, so that Windlass can talk to a running child.
//!
//! Windlass appends to a file, and the host writes the file's contents to the child as the file grows. So a
//! conversation survives the death of the engine: the next owner of the run appends to the same file. The
//! child's input ends when the child prints a line with the launch's mark, whether or not an owner lives, or when
//! the file has an end-of-input byte.
//!
//! The child gets a socket and not a pipe: no other process can open it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use serde_json::Value;
use serde_json::value::RawValue;
use windlass_core::launch::{END_OF_INPUT, LineMark};

use crate::os::{self, FileChanges};

const PART: usize = 64 << 10;
/// The longest line that is read as JSON, as in Windlass itself. A longer line is only searched for the mark.
const LONGEST_LINE: usize = 8 << 20;

/// The open input of a child.
pub(super) struct OpenInput {
    /// The file to which Windlass appends.
    source: File,
    /// The child's end of the conversation is in its output.
    output: OutputLines,
    changes: FileChanges,
    sink: OwnedFd,
    /// The bytes that the child did not take yet.
    unsent: Vec<u8>,
    /// Windlass ended the input: nothing follows `unsent`.
    is_complete: bool,
}

impl OpenInput {
    /// Opens the file of Windlass and the output of the child. Also returns the child's end of the input.
    pub(super) fn open(source: &Path, output: &Path, until: LineMark) -> io::Result<(OpenInput, OwnedFd)> {
        let (sink, childs_end) = os::socket_pair()?;
        rustix::io::ioctl_fionbio(&sink, true)?;
        let input = OpenInput {
            source: File::open(source)?,
            output: OutputLines::of(File::open(output)?, until),
            changes: FileChanges::of(&[source, output])?,
            sink,
            unsent: Vec::new(),
            is_complete: false,
        };
        Ok((input, childs_end))
    }

    /// Passes on what is new. Returns `None` once the input has ended.
    pub(super) fn advance(mut self) -> io::Result<Option<OpenInput>> {
        self.changes.discard()?;
        let is_read = self.pass_on()?;
        let is_over = self.output.has_mark()?;
        Ok((is_read && !is_over).then_some(self))
    }

    /// Writes until the file has no more or the child takes no more. Returns false if Windlass ended the input
    /// or the child closed its end.
    fn pass_on(&mut self) -> io::Result<bool> {
        loop {
            if self.unsent.is_empty() && !self.is_complete && self.read_more()? == 0 {
                return Ok(true);
            }
            if self.unsent.is_empty() && self.is_complete {
                return Ok(false);
            }
            match send(&self.sink, &self.unsent, SendFlags::NOSIGNAL) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => return Ok(true),
                Err(Errno::PIPE | Errno::CONNRESET) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads the next part of the file, up to the end of the input.
    fn read_more(&mut self) -> io::Result<usize> {
        let count = (&self.source).take(PART as u64).read_to_end(&mut self.unsent)?;
        if let Some(end) = self.unsent.iter().position(|byte| *byte == END_OF_INPUT) {
            self.unsent.truncate(end);
            self.is_complete = true;
        }
        Ok(count)
    }

    /// Returns the descriptors that need attention next.
    pub(super) fn ready(&self) -> Vec<(BorrowedFd<'_>, PollFlags)> {
        let changes = (self.changes.as_fd(), PollFlags::IN);
        let sink = (self.sink.as_fd(), PollFlags::OUT);
        if self.unsent.is_empty() { vec![changes] } else { vec![changes, sink] }
    }
}

/// The output of the child, searched for the mark line by line.
struct OutputLines {
    file: File,
    until: LineMark,
    /// The start of a line that is not complete yet, or the end of what was searched of a line that is too long.
    line: Vec<u8>,
    /// The current line is too long.
    is_long: bool,
    /// A line that is too long has the text of the mark.
    has_text: bool,
}

impl OutputLines {
    fn of(file: File, until: LineMark) -> OutputLines {
        OutputLines { file, until, line: Vec::new(), is_long: false, has_text: false }
    }

    /// Reads the new output. Returns true if a line has the mark.
    fn has_mark(&mut self) -> io::Result<bool> {
        let mut part = [0; PART];
        loop {
            let count = self.file.read(&mut part)?;
            if count == 0 {
                return Ok(false);
            }
            let mut pieces = part.get(..count).unwrap_or_default().split(|byte| *byte == b'\n').peekable();
            while let Some(piece) = pieces.next() {
                let is_whole = pieces.peek().is_some();
                if self.add(piece, is_whole) {
                    return Ok(true);
                }
            }
        }
    }

    /// Adds a piece of a line. Returns true if the line is whole and has the mark.
    fn add(&mut self, piece: &[u8], is_whole: bool) -> bool {
        self.line.extend_from_slice(piece);
        self.is_long |= self.line.len() > LONGEST_LINE;
        if self.is_long {
            self.search();
        }
        if !is_whole {
            return false;
        }
        let is_marked = if self.is_long { self.has_text } else { is_marked(&self.line, &self.until) };
        self.line.clear();
        (self.is_long, self.has_text) = (false, false);
        is_marked
    }

    /// Searches a line that is too long for the text of the mark, and forgets what was searched. The text may also
    /// be in a nested object; then the input ends early, which only refuses what the child asks for later.
    fn search(&mut self) {
        let LineMark { key, value } = &self.until;
        let text = format!("{}:{}", Value::from(key.as_str()), Value::from(value.as_str()));
        self.has_text |= self.line.windows(text.len()).any(|part| part == text.as_bytes());
        let searched = self.line.len().saturating_sub(text.len());
        self.line.drain(..searched);
    }
}

/// Decides whether a line is a JSON object with this field.
fn is_marked(line: &[u8], mark: &LineMark) -> bool {
    // Most lines start with the field, which saves reading the rest.
    let first = line.strip_prefix(b"{\"").and_then(|line| line.strip_prefix(mark.key.as_bytes()));
    if let Some(rest) = first.and_then(|line| line.strip_prefix(b"\":\"")) {
        return rest.strip_prefix(mark.value.as_bytes()).is_some_and(|rest| rest.starts_with(b"\""));
    }
    let Ok(fields) = serde_json::from_slice::<BTreeMap<String, &RawValue>>(line) else { return false };
    let value = fields.get(&mark.key).map(|value| serde_json::from_str::<String>(value.get()));
    matches!(value, Some(Ok(value)) if value == mark.value)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn mark() -> LineMark {
        LineMark { key: "type".to_owned(), value: "result".to_owned() }
    }

    struct Conversation {
        dir: tempfile::TempDir,
        input: Option<OpenInput>,
        child: OwnedFd,
    }

    impl Conversation {
        fn begin(first: &[u8]) -> Conversation {
            let dir = tempfile::tempdir().unwrap();
            let [source, output] = ["input", "stdout"].map(|name| dir.path().join(name));
            std::fs::write(&source, first).unwrap();
            std::fs::write(&output, "").unwrap();
            let (input, child) = OpenInput::open(&source, &output, mark()).unwrap();
            rustix::io::ioctl_fionbio(&child, true).unwrap();
            Conversation { dir, input: Some(input), child }
        }

        fn append(&mut self, name: &str, text: &[u8]) {
            let path = self.dir.path().join(name);
            std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text).unwrap();
            self.advance();
        }

        fn advance(&mut self) {
            self.input = self.input.take().and_then(|input| input.advance().unwrap());
        }

        /// Reads what the child would read now.
        fn heard(&self) -> Vec<u8> {
            let mut heard = Vec::new();
            let mut part = [0; PART];
            while let Ok(count @ 1..) = rustix::io::read(&self.child, &mut part) {
                heard.extend_from_slice(&part[..count]);
            }
            heard
        }
    }

    #[test]
    fn a_child_hears_what_is_appended() {
        let mut talk = Conversation::begin(b"first\n");
        talk.advance();
        assert_eq!(talk.heard(), b"first\n");
        talk.append("input", b"second\n");
        assert_eq!(talk.heard(), b"second\n");
    }

    #[test]
    fn the_input_ends_after_the_marked_line_and_not_before() {
        let mut talk = Conversation::begin(b"first\n");
        for line in [
            "{\"type\":\"other\"}\n",
            "{\"a\":{\"type\":\"result\"}}\n",
            "\"type\":\"result\"\n",
            "{\"text\":\"{\\\"type\\\":\\\"result\\\"}\",\"type\":\"text\"}\n",
            "{\"b\":1,\"type\":\"res",
        ] {
            talk.append("stdout", line.as_bytes());
            assert!(talk.input.is_some(), "{line}");
        }
        talk.append("stdout", b"ult\"}\n");
        assert!(talk.input.is_none());
        assert_eq!(talk.heard(), b"first\n");
        assert!(matches!(rustix::io::read(&talk.child, &mut [0; 1]), Ok(0)));
    }

    #[test]
    fn windlass_can_end_the_input_after_its_last_line() {
        let mut talk = Conversation::begin(b"first\n");
        talk.advance();
        talk.append("input", b"last\n\x04never\n");
        assert!(talk.input.is_none());
        assert_eq!(talk.heard(), b"first\nlast\n");
        assert!(matches!(rustix::io::read(&talk.child, &mut [0; 1]), Ok(0)));
    }

    #[test]
    fn a_child_that_reads_slowly_gets_everything() {
        let long: Vec<u8> = (0..5_000_000_u32).map(|number| 32 + (number % 91) as u8).collect();
        let mut talk = Conversation::begin(&long);
        let mut heard = Vec::new();
        while heard.len() < long.len() {
            talk.advance();
            assert!(talk.input.as_ref().unwrap().unsent.len() <= PART);
            heard.extend(talk.heard());
        }
        assert!(heard == long);
    }

    #[test]
    fn an_endless_line_is_only_searched() {
        let mut talk = Conversation::begin(b"");
        talk.append("stdout", &vec![b'x'; LONGEST_LINE + 10]);
        assert!(talk.input.as_ref().unwrap().output.line.len() <= PART);
        talk.append("stdout", b"\n");
        assert!(talk.input.is_some());
        let long = format!("{{\"text\":\"{}\",\"type\":\"res", "x".repeat(LONGEST_LINE));
        talk.append("stdout", long.as_bytes());
        assert!(talk.input.is_some());
        talk.append("stdout", b"ult\"}\n");
        assert!(talk.input.is_none());
    }

    #[test]
    fn a_child_that_is_gone_ends_its_input() {
        let mut talk = Conversation::begin(b"first\n");
        let (_, other) = os::socket_pair().unwrap();
        talk.child = other;
        talk.advance();
        assert!(talk.input.is_none());
    }
}
