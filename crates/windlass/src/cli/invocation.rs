//! Where a command was typed: the user's places, the folder, the terminal. Read once.

use std::future::Future;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use windlass_runtime::Durability;
use windlass_runtime::handle::Handle;
use windlass_runtime::home::Home;

use super::report::{Report, warn};
use super::sanitize::plain_line;
use super::terminal::Terminal;
use super::{home, output::OutputWriter};
use crate::exit::Exit;

/// What somebody who is no person is told to do.
pub(crate) const OWN_TERMINAL: &str = "do it from a terminal of your own";

/// What every verb starts from.
pub(crate) struct Invocation {
    /// The user's places and environment.
    pub(crate) home: Home,
    /// The current folder.
    pub(crate) cwd: PathBuf,
    /// The terminal, or that there is none.
    pub(crate) screen: Terminal,
}

impl Invocation {
    /// Looks around.
    pub(crate) fn look() -> Result<Invocation, Report> {
        let home = home::read()?;
        let screen = Terminal::of(&home);
        Ok(Invocation { cwd: home::cwd()?, screen, home })
    }

    /// Opens the store. A log that holds nothing, where runs have left folders, was lost: nobody
    /// should take it for a new one.
    pub(crate) fn open(&self, durability: Durability) -> Result<Handle, Report> {
        let handle = Handle::open(self.home.clone(), durability)?;
        if let Some(count) = handle.is_lost()? {
            warn(&lost(count, &self.home.state));
        }
        Ok(handle)
    }

    /// Opens the store to look at it, or to leave a request.
    pub(crate) fn open_to_ask(&self) -> Result<Handle, Report> {
        self.open(Durability::Full)
    }

    /// Refuses what only a person may do to whatever is below the session of a run.
    pub(crate) fn refuse_agents(&self, what: &str) -> Result<(), Report> {
        match windlass_runtime::person::refusal(what) {
            None => Ok(()),
            Some(why) => Err(Report::new(Exit::Refused, plain_line(&why)).hint(OWN_TERMINAL)),
        }
    }

    /// Whether a person sits at this terminal. Not behind an agent: it may not answer itself.
    pub(crate) fn has_person(&self) -> bool {
        std::io::stdin().is_terminal()
            && std::io::stderr().is_terminal()
            && self.home.var("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
            && windlass_runtime::person::refusal("").is_none()
    }

    /// How hard commits are by the settings; the safe way where those cannot be read.
    pub(crate) fn durability(&self) -> Durability {
        windlass_runtime::config::durability(&self.home, &self.cwd)
    }
}

/// That the log holds nothing, where runs have left folders.
fn lost(count: usize, state: &Path) -> String {
    let folders = if count == 1 {
        "1 run has left its folder".to_owned()
    } else {
        format!("{count} runs have left folders")
    };
    format!(
        "the log in {} holds no run, but {folders} there: the log was emptied or deleted (`windlass ps` names them)",
        state.display()
    )
}

/// Waits for the world in one thread; only the verbs that need it pay for it.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Report>>) -> Result<T, Report> {
    waiting_runtime()?.block_on(work)
}

/// Waits for one call that may take its time.
pub(crate) fn wait_for<T, E: Into<Report>>(call: impl Future<Output = Result<T, E>>) -> Result<T, Report> {
    block_on(async { call.await.map_err(Into::into) })
}

/// What waits, in one thread.
pub(crate) fn waiting_runtime() -> Result<tokio::runtime::Runtime, Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Report::new(Exit::Unexpected, "cannot wait for events").caused_by(&error))
}

/// Prints lines and ends well.
pub(crate) fn print(lines: &[String]) -> Result<Exit, Report> {
    let mut out = OutputWriter::stdout();
    for line in lines {
        out.line(line);
    }
    out.end(Exit::Completed)
}
