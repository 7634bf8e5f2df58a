//! The surroundings of a command: the user's folders, the current folder and the terminal. Read once.

use std::future::Future;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use windlass_runtime::Durability;
use windlass_runtime::handle::Handle;
use windlass_runtime::home::Home;

use super::report::{Report, warn};
use super::sanitize::plain_line;
use super::terminal::Terminal;
use super::{home, output::OutputWriter, sim_script};
use crate::exit::Exit;

/// The hint for commands that only a person may use.
pub(crate) const OWN_TERMINAL: &str = "do it from a terminal of your own";

/// The user's folders, the current folder and the terminal of this command.
pub(crate) struct Invocation {
    pub(crate) home: Home,
    pub(crate) cwd: PathBuf,
    pub(crate) screen: Terminal,
}

impl Invocation {
    /// Reads the environment, the current folder and the terminal.
    pub(crate) fn look() -> Result<Invocation, Report> {
        let mut home = home::read()?;
        let screen = Terminal::of(&home);
        let cwd = home::cwd()?;
        sim_script::make_absolute(&mut home, &cwd);
        Ok(Invocation { cwd, screen, home })
    }

    /// Opens the store. Warns if the log is empty but runs have left folders: then the log was lost, and is
    /// not just new.
    pub(crate) fn open(&self, durability: Durability) -> Result<Handle, Report> {
        let handle = Handle::open(self.home.clone(), durability)?;
        if let Some(count) = handle.lost_runs()? {
            warn(&lost(count, &self.home.state));
        }
        Ok(handle)
    }

    /// Opens the store to read it or to leave a request.
    pub(crate) fn open_to_ask(&self) -> Result<Handle, Report> {
        self.open(Durability::Full)
    }

    /// Refuses the command to every process below the session of a run.
    pub(crate) fn refuse_agents(&self, what: &str) -> Result<(), Report> {
        match windlass_runtime::person::refusal(what) {
            None => Ok(()),
            Some(why) => Err(Report::new(Exit::Refused, plain_line(&why)).hint(OWN_TERMINAL)),
        }
    }

    /// Decides whether a person sits at this terminal. An agent's terminal does not count, because an agent
    /// may not answer itself.
    pub(crate) fn has_person(&self) -> bool {
        std::io::stdin().is_terminal()
            && std::io::stderr().is_terminal()
            && self.home.var("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
            && windlass_runtime::person::refusal("").is_none()
    }

    /// Decides whether somebody sees what this command says and can type: both ends are a terminal.
    pub(crate) fn has_terminal(&self) -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Returns the durability from the settings, or the safe one if they cannot be read.
    pub(crate) fn durability(&self) -> Durability {
        windlass_runtime::config::durability(&self.home, &self.cwd)
    }
}

/// Warns that the log is empty although runs have left folders.
fn lost(count: usize, state: &Path) -> String {
    let folders = if count == 1 {
        "1 run has left its folder".to_owned()
    } else {
        format!("{count} runs have left folders")
    };
    format!(
        "the log in {} has no runs, but {folders} there: the log was emptied or deleted (`windlass ps` lists them)",
        state.display()
    )
}

/// Runs async work on one thread. Only the verbs that need it start a runtime.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Report>>) -> Result<T, Report> {
    waiting_runtime()?.block_on(work)
}

/// Runs one async call and converts its error.
pub(crate) fn wait_for<T, E: Into<Report>>(call: impl Future<Output = Result<T, E>>) -> Result<T, Report> {
    block_on(async { call.await.map_err(Into::into) })
}

/// Starts an async runtime with one thread.
pub(crate) fn waiting_runtime() -> Result<tokio::runtime::Runtime, Report> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Report::new(Exit::Unexpected, "cannot wait for events").caused_by(&error))
}

/// Prints lines to standard output.
pub(crate) fn print(lines: &[String]) -> Result<Exit, Report> {
    let mut out = OutputWriter::stdout();
    for line in lines {
        out.line(line);
    }
    out.end(Exit::Completed)
}
