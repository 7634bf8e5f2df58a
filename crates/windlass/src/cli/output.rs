//! Standard output, and what becomes of a command when it cannot be written.
//!
//! A reader that went away (`| head`) is no error: nothing more is written and the command goes
//! on. Anything else (a full disk) is remembered and said at the end, with an exit code of its
//! own; a run is never ended by it.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::report::Report;
use crate::exit::Exit;

/// Where data goes. A thread of its own writes it: a reader that stalls (`| less`, Ctrl-S) must
/// not keep the owner of a run from answering hooks and signals.
pub(crate) struct Out {
    texts: Option<Sender<String>>,
    writer: Option<JoinHandle<()>>,
    state: Arc<Mutex<Reader>>,
}

/// Whether somebody still reads.
enum Reader {
    There,
    Gone,
    Failed(io::Error),
}

impl Out {
    /// Standard output.
    pub(crate) fn stdout() -> Out {
        Out::to(Box::new(io::stdout()))
    }

    /// Any other place.
    pub(crate) fn to(to: Box<dyn Write + Send>) -> Out {
        let (texts, received) = channel();
        let state = Arc::new(Mutex::new(Reader::There));
        let shared = Arc::clone(&state);
        let writer = std::thread::spawn(move || write_all(to, &received, &shared));
        Out { texts: Some(texts), writer: Some(writer), state }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: &str) {
        self.text(&format!("{text}\n"));
    }

    /// Writes text as it is.
    pub(crate) fn text(&mut self, text: &str) {
        if let Some(texts) = &self.texts {
            // A writer that has ended has said why.
            let _ = texts.send(text.to_owned());
        }
    }

    /// Whether anything written still arrives.
    pub(crate) fn is_read(&self) -> bool {
        matches!(*lock(&self.state), Reader::There)
    }

    /// Waits until everything is written, or cannot be.
    fn settle(&mut self) {
        self.texts = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }

    /// How the command ends, given how it would have ended.
    pub(crate) fn end(mut self, exit: Exit) -> Result<Exit, Report> {
        self.settle();
        match &*lock(&self.state) {
            Reader::There | Reader::Gone => Ok(exit),
            Reader::Failed(error) => {
                Err(Report::new(Exit::Output, "the output could not be written").caused_by(error))
            }
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.settle();
    }
}

fn write_all(mut to: Box<dyn Write + Send>, texts: &Receiver<String>, state: &Mutex<Reader>) {
    for text in texts {
        let Err(error) = to.write_all(text.as_bytes()).and_then(|()| to.flush()) else { continue };
        *lock(state) = match error.kind() {
            io::ErrorKind::BrokenPipe => Reader::Gone,
            _ => Reader::Failed(error),
        };
        return;
    }
}

fn lock(state: &Mutex<Reader>) -> MutexGuard<'_, Reader> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut out = Out::to(Box::new(Broken(io::ErrorKind::BrokenPipe)));
        out.line("hello");
        out.settle();
        assert!(!out.is_read());
        assert_eq!(out.end(Exit::Exhausted).unwrap(), Exit::Exhausted);
    }

    #[test]
    fn a_full_disk_is_said_at_the_end() {
        let mut out = Out::to(Box::new(Broken(io::ErrorKind::StorageFull)));
        out.line("hello");
        assert_eq!(out.end(Exit::Completed).unwrap_err().exit, Exit::Output);
    }
}
