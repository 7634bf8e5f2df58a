//! Standard output, and what becomes of a command when it cannot be written.
//!
//! A reader that went away (`| head`) is no error: nothing more is written and the command goes
//! on. Anything else (a full disk) is remembered and said at the end, with an exit code of its
//! own; a run is never ended by it.

use std::io::{self, Write};

use super::report::Report;
use crate::exit::Exit;

/// Where data goes.
pub(crate) struct Out {
    to: Box<dyn Write>,
    state: Reader,
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
    pub(crate) fn to(to: Box<dyn Write>) -> Out {
        Out { to, state: Reader::There }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: &str) {
        self.text(&format!("{text}\n"));
    }

    /// Writes text as it is.
    pub(crate) fn text(&mut self, text: &str) {
        if !matches!(self.state, Reader::There) {
            return;
        }
        let written = self.to.write_all(text.as_bytes()).and_then(|()| self.to.flush());
        let Err(error) = written else { return };
        self.state = match error.kind() {
            io::ErrorKind::BrokenPipe => Reader::Gone,
            _ => Reader::Failed(error),
        };
    }

    /// Whether anything written still arrives.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self.state, Reader::There)
    }

    /// How the command ends, given how it would have ended.
    pub(crate) fn end(self, exit: Exit) -> Result<Exit, Report> {
        match self.state {
            Reader::There | Reader::Gone => Ok(exit),
            Reader::Failed(error) => {
                Err(Report::new(Exit::Output, "the output could not be written").caused_by(&error))
            }
        }
    }
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
