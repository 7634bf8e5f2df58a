//! Reads the output of children from append-only files as they grow.
//!
//! [`Tail`] reads one file from an offset, in whole lines. [`Watcher`] does so for many children:
//! inotify marks folders dirty, the watcher reads the dirty ones together every 20 ms, and the exit file
//! or the freed lock shows the end of a child. [`crate::agent`] interprets the lines.

mod watcher;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::files::{FileError, open_plain};
use crate::os;

pub use watcher::{TailEvent, Watcher};

/// The maximum length of a line; longer lines are skipped. Several copies of a line are in memory while
/// it is read.
pub const MAX_LINE: usize = 8 * 1024 * 1024;
/// The maximum size of a chunk, unless a single line is longer.
const READ_SIZE: usize = 128 * 1024;

/// Whole lines, and the offset up to which the file was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Lines with their newlines. Only the last line of a stream may lack one.
    pub bytes: Vec<u8>,
    /// The offset after the lines, from which to continue after a crash.
    pub offset: u64,
    /// Bytes of skipped lines that were too long.
    pub skipped: u64,
}

/// A reader of one growing file.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of an incomplete line.
    partial: Vec<u8>,
    /// The offset up to which the file was read, including the partial line.
    read_to: u64,
    /// Set while the rest of an overlong line is being skipped.
    skipping: bool,
    skipped: u64,
    /// Set if the last read reached the end of the file.
    at_end: bool,
    max_line: usize,
}

impl Tail {
    /// Creates a reader of `path` that starts at `offset`. The file need not exist yet.
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

    /// Reads once and returns the lines that are now complete. `None` does not mean the end: a long line
    /// takes many reads, and [`is_at_end`](Self::is_at_end) tells when to stop.
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

    pub fn read_to(&self) -> u64 {
        self.read_to
    }

    /// Returns a second reader at the same position, for reading ahead.
    pub fn ahead(&self) -> Tail {
        Tail { path: self.path.clone(), file: None, partial: self.partial.clone(), ..*self }
    }

    /// Decides whether the incomplete line is longer than a normal chunk.
    pub fn has_long_line(&self) -> bool {
        self.partial.len() > READ_SIZE
    }

    /// Decides whether the last read reached the end of the file.
    pub fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Returns a last line without a newline. Call it only when the stream has ended.
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
                // Recording the access time would cost as much as the read itself. If the system
                // refuses, reading still works.
                os::leave_read_time(&file);
                self.file = Some(file);
            }
            Err(e) if e.is_missing() => return Ok(false),
            Err(FileError::Io { source, .. }) => return Err(source),
            Err(e) => return Err(io::Error::other(e)),
        }
        Ok(true)
    }

    /// Adds bytes that were read and returns the complete lines.
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
