//! Writes standard output, and decides how a command ends if that fails.
//!
//! A reader that went away (`| head`) is no error: the command continues and writes nothing more. Any other
//! failure (a full disk) is reported at the end, with its own exit code. It never ends a run.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::Notify;

use super::report::Report;
use crate::exit::Exit;

/// The bytes that may wait to be written before a writer should wait.
const ROOM: usize = 1 << 20;

/// A writer with its own thread: a reader that stalls (`| less`, Ctrl-S) must not keep the owner of a run
/// from answering hooks and signals. Callers with much to write wait for [`OutputRoom`] first.
pub(crate) struct OutputWriter {
    texts: Option<Sender<String>>,
    writer: Option<JoinHandle<()>>,
    shared: Arc<OutputShared>,
}

#[derive(Default)]
struct OutputShared {
    state: Mutex<OutputState>,
    wrote: Condvar,
    wrote_async: Notify,
}

#[derive(Default)]
struct OutputState {
    reader: ReaderState,
    /// Bytes that wait to be written.
    waiting: usize,
}

/// The state of whoever reads the output.
#[derive(Default)]
enum ReaderState {
    #[default]
    There,
    Gone,
    Failed(io::Error),
}

/// A view of the writer that tells whether there is room for more.
#[derive(Clone)]
pub(crate) struct OutputRoom(Arc<OutputShared>);

impl OutputRoom {
    /// Returns whether there is room now. If nobody reads, there always is.
    pub(crate) fn is_there(&self) -> bool {
        lock(&self.0).waiting < ROOM
    }

    /// Waits until there is room.
    pub(crate) async fn wait(&self) {
        loop {
            let wrote = self.0.wrote_async.notified();
            if self.is_there() {
                return;
            }
            wrote.await;
        }
    }
}

impl OutputWriter {
    /// Writes to standard output.
    pub(crate) fn stdout() -> OutputWriter {
        OutputWriter::to(Box::new(io::stdout()))
    }

    /// Writes to anything else.
    pub(crate) fn to(to: Box<dyn Write + Send>) -> OutputWriter {
        let (texts, received) = channel();
        let shared = Arc::new(OutputShared::default());
        let theirs = Arc::clone(&shared);
        let writer = std::thread::spawn(move || write_all(to, &received, &theirs));
        OutputWriter { texts: Some(texts), writer: Some(writer), shared }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: &str) {
        self.text(&format!("{text}\n"));
    }

    /// Writes text without a line break.
    pub(crate) fn text(&mut self, text: &str) {
        let Some(texts) = self.texts.as_ref().filter(|_| !text.is_empty()) else { return };
        let mut state = lock(&self.shared);
        if matches!(state.reader, ReaderState::There) {
            state.waiting += text.len();
            // If the writer thread has ended, it has recorded why.
            let _ = texts.send(text.to_owned());
        }
    }

    /// Returns whether somebody still reads the output.
    pub(crate) fn is_read(&self) -> bool {
        matches!(lock(&self.shared).reader, ReaderState::There)
    }

    /// Returns a handle for async callers that wait for room.
    pub(crate) fn room(&self) -> OutputRoom {
        OutputRoom(Arc::clone(&self.shared))
    }

    /// Blocks this thread until there is room.
    pub(crate) fn wait_for_room(&self) {
        let mut state = lock(&self.shared);
        while state.waiting >= ROOM {
            state = self.shared.wrote.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until everything is written or writing has failed.
    fn settle(&mut self) {
        self.texts = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }

    /// Waits for the writer and returns `exit`, or an error if writing failed.
    pub(crate) fn end(mut self, exit: Exit) -> Result<Exit, Report> {
        self.settle();
        match &lock(&self.shared).reader {
            ReaderState::There | ReaderState::Gone => Ok(exit),
            ReaderState::Failed(error) => {
                Err(Report::new(Exit::Output, "cannot write the output").caused_by(error))
            }
        }
    }
}

impl Drop for OutputWriter {
    fn drop(&mut self) {
        self.settle();
    }
}

fn write_all(mut to: Box<dyn Write + Send>, texts: &Receiver<String>, shared: &OutputShared) {
    for text in texts {
        let written = to.write_all(text.as_bytes()).and_then(|()| to.flush());
        let mut state = lock(shared);
        state.waiting = state.waiting.saturating_sub(text.len());
        let failed = written.err();
        let is_over = failed.is_some();
        if let Some(error) = failed {
            state.waiting = 0;
            state.reader = match error.kind() {
                io::ErrorKind::BrokenPipe => ReaderState::Gone,
                _ => ReaderState::Failed(error),
            };
        }
        drop(state);
        shared.wrote.notify_all();
        shared.wrote_async.notify_waiters();
        if is_over {
            return;
        }
    }
}

fn lock(shared: &OutputShared) -> MutexGuard<'_, OutputState> {
    shared.state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_error() {
        let mut out = OutputWriter::to(Box::new(Broken(io::ErrorKind::BrokenPipe)));
        out.line("hello");
        out.settle();
        assert!(!out.is_read());
        assert_eq!(out.end(Exit::Exhausted).unwrap(), Exit::Exhausted);
    }

    #[test]
    fn a_full_disk_is_said_at_the_end() {
        let mut out = OutputWriter::to(Box::new(Broken(io::ErrorKind::StorageFull)));
        out.line("hello");
        assert_eq!(out.end(Exit::Completed).unwrap_err().exit, Exit::Output);
    }

    /// Writes when it is let.
    struct Stalled(std::sync::mpsc::Receiver<()>);

    impl Write for Stalled {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(io::Error::other)?;
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn there_is_room_again_when_a_stalled_reader_reads_on() {
        let (go, stalled) = channel();
        let mut out = OutputWriter::to(Box::new(Stalled(stalled)));
        let room = out.room();
        room.wait().await;
        for _ in 0..2 {
            out.text(&"x".repeat(ROOM));
        }
        assert!(!room.is_there());
        let waiting = tokio::spawn(async move { room.wait().await });
        for _ in 0..2 {
            go.send(()).unwrap();
        }
        waiting.await.unwrap();
        out.wait_for_room();
        assert_eq!(out.end(Exit::Completed).unwrap(), Exit::Completed);
    }
}
