//! Shows a run until it ends, then its summary. Holds the flags for that, which `run`, `loop`, `resume` and
//! `fork` share.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use serde_json::json;
use windlass_core::id::RunId;
use windlass_core::run::{FinalStatus, RunState};
use windlass_core::time::Moment;
use windlass_runtime::handle::{Handle, OwnedRun};
use windlass_runtime::view::{AgentWords, Family, FeedScope, FeedStart, Subscription};

use super::alert::Alert;
use super::drive::{FollowEnd, KEYS, RunKeeping, Viewer, drive};
use super::feed::{
    Changes, Face, RunEnding, Style, TurnCount, envelope, kept_branches, left_branches, open_tasks, summary,
    words,
};
use super::invocation::Invocation;
use super::next_command;
use super::output::OutputWriter;
use super::own_worktree;
use super::report::{Report, note};
use super::run_flags::OUTPUT;
use super::task_watch::TaskWatch;
use super::terminal_prompt::TerminalPrompt;
use crate::exit::Exit;

/// The flags for watching a run.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct WatchFlags {
    /// Print JSON, one object per line, instead of the feed
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,

    /// Also show what the agent thinks
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) show_thinking: bool,

    /// Write the agent's last message to FILE when the run ends
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output_last_message: Option<PathBuf>,

    /// The run is kept and can be shown later.
    #[arg(skip = true)]
    pub(crate) stays: bool,
}

impl WatchFlags {
    /// Returns the display for a run.
    pub(crate) fn face(&self, invocation: &Invocation, run: &RunId) -> Face {
        let style = Style { thinking: self.show_thinking, whole: false };
        if self.json { Face::json(run, style) } else { Face::human(invocation.screen, style, run) }
    }

    /// Checks before an hour of work, and not after it, that the last message can be written.
    pub(crate) fn check(&self) -> Result<(), Report> {
        let Some(file) = &self.output_last_message else { return Ok(()) };
        match OpenOptions::new().create(true).append(true).open(file) {
            Ok(_) => Ok(()),
            Err(error) => Err(unwritable(file, &error)),
        }
    }

    /// Shows a run until it ends.
    pub(crate) async fn follow(
        &self,
        invocation: &Invocation,
        handle: &Handle,
        running: OwnedRun,
    ) -> Result<Exit, Report> {
        self.follow_warned(invocation, handle, running, &[]).await
    }

    /// Shows a run until it ends, after the warnings about its start.
    pub(crate) async fn follow_warned(
        &self,
        invocation: &Invocation,
        handle: &Handle,
        running: OwnedRun,
        warnings: &[String],
    ) -> Result<Exit, Report> {
        let mut face = self.face(invocation, &running.run);
        self.show(&mut face, invocation, handle, running, warnings).await
    }

    /// Shows a run until it ends on the given display.
    pub(crate) async fn follow_as(
        &self,
        face: &mut Face,
        invocation: &Invocation,
        handle: &Handle,
        running: OwnedRun,
    ) -> Result<Exit, Report> {
        self.show(face, invocation, handle, running, &[]).await
    }

    async fn show(
        &self,
        face: &mut Face,
        invocation: &Invocation,
        handle: &Handle,
        running: OwnedRun,
        warnings: &[String],
    ) -> Result<Exit, Report> {
        let run = running.run.clone();
        let mut out = OutputWriter::stdout();
        let family = running.family.clone();
        let begun = family.root();
        let feed = self.feed(face, handle, &family)?.map(Subscription::to_own_run);
        let inline = self.inline(face, invocation, handle, family.clone());
        face.record(&mut out, &[], &running.first);
        let mut alert = Alert::of(begun, face, invocation);
        if let Some(alert) = &mut alert {
            alert.see(&mut out, &run, &running.first);
            alert.skip(&family);
        }
        if let Face::Json(_) = face {
            // A person has already seen them.
            face.write(&mut out, &warning_lines(warnings, begun.started, &run));
        }
        face.see(begun);
        for state in family.below() {
            face.see_below(state);
        }
        let mut tasks = TaskWatch::new(handle, begun);
        tasks.count(face);
        let keeping = if self.stays { RunKeeping::Kept } else { RunKeeping::Temporary };
        if inline.is_some() && self.stays {
            face.show_keys(KEYS);
        }
        let viewer = Viewer { face, out: &mut out, inline, alert, tasks: Some(&mut tasks) };
        let state = match drive(running, feed, viewer, keeping).await? {
            FollowEnd::Over(state) => state,
            FollowEnd::Background => {
                // The background process starts these commands again.
                windlass_runtime::plan::give_up();
                handle.leave_in_background(begun)?;
                // The feed has left the screen before the note comes.
                let ended = out.end(Exit::Completed);
                left_running(&run);
                return ended;
            }
            FollowEnd::Left => {
                // The process that resumes the run starts these commands again.
                windlass_runtime::plan::give_up();
                let ended = out.end(Exit::Interrupted);
                note(&format!(
                    "the agent of run {run} keeps working: `windlass resume {run}` continues the run"
                ));
                return ended;
            }
        };
        if let Face::Human(_) = face {
            let mut lines = ending_lines(invocation, handle, &state, words::now(), keeping);
            lines.extend(tasks.tally().iter().flat_map(open_tasks));
            let worktree = handle.worktree_of(&state.spec).map(|report| own_worktree::lines(&report));
            lines.extend(worktree.unwrap_or_default().into_iter().map(|line| format!("  {line}")));
            if self.stays {
                lines.extend(next_command::lines(&state));
            }
            face.write(&mut out, &lines);
        } else if let (Face::Json(_), Some(report)) = (&*face, handle.worktree_of(&state.spec)) {
            let line = envelope("run.worktree", words::now(), Some(&run), own_worktree::object(&report));
            face.write(&mut out, &[line]);
        }
        let exit = exit_of(&state);
        let kept = self.keep_last_message(&state);
        let ended = out
            .end(exit)
            .map_err(|report| report.hint(format!("the run has ended: `windlass show {run}` shows how")));
        kept.and(ended)
    }

    /// Subscribes to the updates from here on, if there is a display.
    pub(super) fn feed(
        &self,
        face: &Face,
        handle: &Handle,
        family: &Family,
    ) -> Result<Option<Subscription>, Report> {
        if matches!(face, Face::Quiet) {
            return Ok(None);
        }
        let (run, cursor) = (family.root().run.clone(), family.cursor(handle));
        let (scope, start) = (FeedScope::Family(run), FeedStart::After(cursor));
        Ok(Some(handle.subscribe(scope, start, AgentWords::Included)?))
    }

    /// Returns the prompt for a person at the terminal, if there is one.
    pub(super) fn inline(
        &self,
        face: &mut Face,
        invocation: &Invocation,
        handle: &Handle,
        family: Family,
    ) -> Option<TerminalPrompt> {
        if !matches!(face, Face::Human(_)) || !invocation.has_person() {
            return None;
        }
        if invocation.screen.redraws {
            face.answer_here();
        }
        Some(TerminalPrompt::new(handle, family, invocation.screen))
    }

    fn keep_last_message(&self, state: &RunState) -> Result<(), Report> {
        let Some(file) = &self.output_last_message else { return Ok(()) };
        let text = state.bookkeeping.last_message.as_deref().unwrap_or_default();
        std::fs::write(file, text).map_err(|error| unwritable(file, &error))
    }
}

/// Formats the warnings about a start as JSON.
fn warning_lines(warnings: &[String], at: Moment, run: &RunId) -> Vec<String> {
    warnings.iter().map(|text| envelope("warning", at, Some(run), json!({"text": text}))).collect()
}

/// Returns the summary of a run that ended, or nothing.
pub(crate) fn ending_lines(
    invocation: &Invocation,
    handle: &Handle,
    state: &RunState,
    at: Moment,
    keeping: RunKeeping,
) -> Vec<String> {
    let Some(outcome) = state.outcome() else { return Vec::new() };
    // A repository that cannot be read does not change how the run ended.
    let changes = handle.changes(&state.run).unwrap_or_default();
    let (is_one, spent) = (state.spec.only_session().is_some(), state.own_spent());
    let ending = RunEnding {
        outcome: &words::with_done(state, outcome),
        turns: if is_one { TurnCount::Iterations(state.turns()) } else { TurnCount::OfNodes(spent.turns) },
        elapsed_ms: at.since(state.working_since()),
        usage: &spent.usage,
        changes: match &changes {
            Some(changes) => Changes::These(changes),
            // Only a session records the state of the repository when it starts.
            None if !is_one && spent.turns == 0 => Changes::NotLookedAt,
            None if handle.is_in_repository(&state.run) => Changes::NotLookedAt,
            None => Changes::NoRepository,
        },
    };
    let mut lines = summary(invocation.screen, &ending);
    if keeping == RunKeeping::Kept && changes.as_ref().is_some_and(|changes| !changes.is_empty()) {
        lines.push(format!("  take the changes back: windlass undo {}", state.run));
    }
    // A repository that cannot be read does not change how the run ended.
    let left = handle.left_branches(&state.run).unwrap_or_default();
    lines.extend(match outcome.status {
        FinalStatus::Interrupted => kept_branches(&left),
        _ => left_branches(&left),
    });
    lines
}

/// Says how to return to a run that stays in the background.
pub(super) fn left_running(run: &RunId) {
    note(&format!("run {run} stays in the background; to return: windlass attach {run}"));
}

/// Returns the exit code of a run. If the owner stopped before the run ended, that is an error.
pub(super) fn exit_of(state: &RunState) -> Exit {
    state.outcome().map_or(Exit::Unexpected, Exit::of_outcome)
}

fn unwritable(file: &Path, error: &std::io::Error) -> Report {
    Report::new(Exit::Output, format!("cannot write the last message to {}", file.display())).caused_by(error)
}
