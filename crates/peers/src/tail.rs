//! The output of children, read from append-only files as it grows.
//!
//! [`Tail`] reads one file from an offset, whole lines at a time. [`Watcher`] does it for many
//! children: inotify marks folders dirty, dirty ones are read together every 20 ms, and the end of a
//! child is noticed by its exit file or its freed lock. What a line means is
//! [`crate::agent`]'s.

mod watcher;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::files::{FileError, open_plain};
use crate::os;

pub use watcher::{TailEvent, Watcher};

/// A line longer than this is skipped. Several copies of one line are in memory while it is read.
pub const MAX_LINE: usize = 8 * 1024 * 1024;
/// At most this much is given out at once, apart from a longer line.
const READ_SIZE: usize = 128 * 1024;

/// Whole lines, and where the file was read to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Lines with their newlines; only the very last of a stream may lack it.
    pub bytes: Vec<u8>,
    /// The offset after them, from which to read on after a crash.
    pub offset: u64,
    /// Bytes of lines that were too long and are left out.
    pub skipped: u64,
}

/// Reads one growing file.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of a line whose end is not written yet.
    partial: Vec<u8>,
    /// How far the file was read, the partial line included.
    read_to: u64,
    /// The line under way is too long: its rest is skipped.
    skipping: bool,
    skipped: u64,
    /// The last read found the end of the file.
    at_end: bool,
    max_line: usize,
}

impl Tail {
    /// Reads `path` from `offset` on. The file need not be there yet.
    pub fn new(path: &Path, offset: u64) -> Tail {
        Tail {
            path: path.to_owned(),
            file: None,
            partial: Vec::new(),
            read_to: offset,
            skipping: false,
            skipped: 0,
            at_end: false,
            max_line: MAX_LINE,
        }
    }

    /// Reads once and gives out what is whole now. Without whole lines there is more to read
    /// unless [`is_at_end`](Self::is_at_end) says otherwise: a long line comes in many reads.
    pub fn next_lines(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<Chunk>> {
        self.at_end = true;
        if !self.open()? {
            return Ok(None);
        }
        buffer.resize(READ_SIZE, 0);
        let Some(file) = &self.file else { return Ok(None) };
        let count = file.read_at(buffer, self.read_to)?;
        self.read_to += count as u64;
        self.at_end = count < READ_SIZE;
        Ok(buffer.get(..count).filter(|new| !new.is_empty()).and_then(|new| self.take(new)))
    }

    /// How far the file was read.
    pub fn read_to(&self) -> u64 {
        self.read_to
    }

    /// Another reader at the same place, for a look at what comes.
    pub fn ahead(&self) -> Tail {
        Tail { path: self.path.clone(), file: None, partial: self.partial.clone(), ..*self }
    }

    /// Whether the line under way is longer than what is usually given out at once.
    pub fn has_long_line(&self) -> bool {
        self.partial.len() > READ_SIZE
    }

    /// Whether the last read found the end of the file, so that the next would find nothing.
    pub fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// What is left without a newline, once the stream is known to be at its end.
    pub fn rest(&mut self) -> Option<Chunk> {
        let bytes = std::mem::take(&mut self.partial);
        if bytes.is_empty() && self.skipped == 0 {
            return None;
        }
        Some(Chunk { bytes, offset: self.read_to, skipped: std::mem::take(&mut self.skipped) })
    }

    fn open(&mut self) -> io::Result<bool> {
        if self.file.is_some() {
            return Ok(true);
        }
        match open_plain(&self.path) {
            Ok(file) => {
                // Noting the time of every read would cost as much as the read. Where it is not
                // granted it is noted.
                os::leave_read_time(&file);
                self.file = Some(file);
            }
            Err(e) if e.is_missing() => return Ok(false),
            Err(FileError::Io { source, .. }) => return Err(source),
            Err(e) => return Err(io::Error::other(e)),
        }
        Ok(true)
    }

    /// Adds what was just read; gives out what is whole.
    fn take(&mut self, mut new: &[u8]) -> Option<Chunk> {
        if self.skipping {
            let end = memchr::memchr(b'\n', new).map(|at| at + 1);
            let (gone, kept) = new.split_at(end.unwrap_or(new.len()));
            self.skipped += gone.len() as u64;
            self.skipping = end.is_none();
            new = kept;
        }
        let Some(last) = memchr::memrchr(b'\n', new) else {
            self.keep_partial(new);
            return None;
        };
        let (whole, begun) = new.split_at(last + 1);
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.extend_from_slice(whole);
        let chunk = Chunk {
            bytes,
            offset: self.read_to - begun.len() as u64,
            skipped: std::mem::take(&mut self.skipped),
        };
        self.keep_partial(begun);
        Some(chunk)
    }

    fn keep_partial(&mut self, new: &[u8]) {
        if self.partial.len() + new.len() <= self.max_line {
            self.partial.extend_from_slice(new);
            return;
        }
        self.skipped += (self.partial.len() + new.len()) as u64;
        self.partial = Vec::new();
        self.skipping = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn all(tail: &mut Tail) -> Vec<Chunk> {
        let mut buffer = Vec::new();
        let mut chunks = Vec::new();
        loop {
            chunks.extend(tail.next_lines(&mut buffer).unwrap());
            if tail.is_at_end() {
                return chunks;
            }
        }
    }

    #[test]
    fn a_partial_line_waits_for_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout");
        let mut tail = Tail::new(&path, 0);
        assert_eq!(all(&mut tail), vec![]);
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\ntwo\nthr").unwrap();
        assert_eq!(all(&mut tail), vec![Chunk { bytes: b"one\ntwo\n".into(), offset: 8, skipped: 0 }]);
        file.write_all(b"ee\nfo").unwrap();
        assert_eq!(all(&mut tail), vec![Chunk { bytes: b"three\n".into(), offset: 14, skipped: 0 }]);
        assert_eq!(tail.rest(), Some(Chunk { bytes: b"fo".into(), offset: 16, skipped: 0 }));
        assert_eq!(tail.rest(), None);
    }

    #[test]
    fn reading_goes_on_from_an_offset() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout");
        std::fs::write(&path, "one\ntwo\n").unwrap();
        let mut tail = Tail::new(&path, 4);
        assert_eq!(all(&mut tail), vec![Chunk { bytes: b"two\n".into(), offset: 8, skipped: 0 }]);
    }

    #[test]
    fn a_line_of_five_megabytes_arrives_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout");
        let line = [vec![b'x'; 5_000_000], vec![b'\n']].concat();
        std::fs::write(&path, &line).unwrap();
        let mut tail = Tail::new(&path, 0);
        let chunks = all(&mut tail);
        assert_eq!(chunks.iter().flat_map(|c| c.bytes.clone()).collect::<Vec<_>>(), line);
        assert_eq!(chunks.last().unwrap().offset, 5_000_001);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout");
        std::fs::write(&path, [&[b'x'; 400_000][..], b"\nnext\n"].concat()).unwrap();
        let mut tail = Tail { max_line: 200_000, ..Tail::new(&path, 0) };
        assert_eq!(
            all(&mut tail),
            vec![Chunk { bytes: b"next\n".into(), offset: 400_006, skipped: 400_001 }]
        );
    }
}
