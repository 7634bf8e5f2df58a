//! `windlass` without a command: the short help, and on a terminal the state of this folder.
//!
//! On a terminal this is a screen for a person, and no error. Without one, somebody's script forgot the
//! command: it gets exit code 2, so that it does not take this for a completed run.

use std::io::IsTerminal;

use windlass_core::id::RunId;
use windlass_core::run::Outcome;
use windlass_runtime::Durability;
use windlass_runtime::handle::Handle;
use windlass_runtime::view::{RunStatus, RunView};

use super::default_run::newest;
use super::fast_help::SHORT;
use super::feed::words;
use super::help::show;
use super::invocation::Invocation;
use super::report::{Report, note};
use super::sanitize::plain_short;
use crate::exit::Exit;

/// The widest name of a workflow in the line about this folder.
const WORKFLOW: usize = 16;

/// Shows the short help, and on a terminal the newest run of this folder.
pub(super) fn perform() -> Result<Exit, Report> {
    if !std::io::stdout().is_terminal() {
        note(SHORT.trim_end());
        return Ok(Exit::Usage);
    }
    // The screen is for a person who looks for a command, so it shows no errors.
    let line = Invocation::look().ok().and_then(|invocation| here(&invocation));
    show(&format!("{SHORT}{}", line.map(|line| format!("{line}\n")).unwrap_or_default()))
}

/// Describes the newest run of this folder and its next command.
fn here(invocation: &Invocation) -> Option<String> {
    if !invocation.home.state.join("windlass.db").exists() {
        return None;
    }
    let handle = Handle::open(invocation.home.clone(), Durability::Full).ok()?;
    let run = newest(invocation, &handle)?;
    let view = handle.view(&run).ok()?;
    let (state, command) = next(&handle, &view);
    let workflow = plain_short(&view.state.spec.workflow, WORKFLOW);
    Some(format!("Here: run {run} ({workflow}) {state}: {command}"))
}

/// Returns the state of a run, and the command that a person probably needs.
fn next(handle: &Handle, view: &RunView) -> (String, String) {
    let run = &view.run;
    let family = handle.family(view);
    let status = family.status(view.status);
    if status.is_open()
        && let Some((asker, ask)) = family.asks().first()
    {
        let command = match ask.tool {
            Some(_) => format!("windlass approve {asker}"),
            None => format!("windlass answer {asker} \"TEXT\""),
        };
        return ("waits for you".to_owned(), command);
    }
    let with = |verb: &str, run: &RunId| format!("windlass {verb} {run}");
    match status {
        RunStatus::Crashed => ("crashed".to_owned(), with("resume", run)),
        RunStatus::Paused => ("is paused".to_owned(), with("resume", run)),
        RunStatus::Running | RunStatus::Waiting => (format!("is {}", status.word()), with("logs -f", run)),
        RunStatus::Ended(_) | RunStatus::Unknown => {
            let age = words::ago(words::now().since(view.state.started));
            let how = view.state.outcome().and_then(Outcome::resume_flags);
            let command =
                how.map_or_else(|| with("show", run), |how| format!("{}{how}", with("resume", run)));
            (format!("{} (started {age} ago)", status.word()), command)
        }
    }
}
