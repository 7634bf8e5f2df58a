//! The commands that make sense after a run has ended.

use windlass_core::id::RunId;
use windlass_core::run::{EndReason, FinalStatus, Outcome, RunState};

/// Returns the lines that end the summary of a run: how to continue it, and where to see more.
pub(crate) fn lines(state: &RunState) -> Vec<String> {
    let run = &state.run;
    let mut lines: Vec<String> =
        state.outcome().and_then(|outcome| command(run, outcome)).into_iter().collect();
    lines.push(format!("more: windlass show {run}, windlass logs {run}, windlass diff {run}"));
    lines.into_iter().map(|line| format!("  {line}")).collect()
}

/// Returns the line with the command that continues a run, if the run is not over for good.
pub(crate) fn command(run: &RunId, outcome: &Outcome) -> Option<String> {
    let how = match outcome.status {
        FinalStatus::Completed | FinalStatus::Cancelled => return None,
        FinalStatus::Interrupted => {
            return Some(format!("continue: windlass resume {run}   end it for good: windlass cancel {run}"));
        }
        FinalStatus::Exhausted | FinalStatus::Blocked | FinalStatus::Failed => outcome.resume_flags(),
    };
    match how {
        Some(how) => Some(format!("continue: windlass resume {run}{how}")),
        None if outcome.reason == EndReason::FailNode => {
            Some(format!("repeat it from an earlier node: windlass fork {run} --at NODE"))
        }
        None => Some(format!("fix the workflow, then: windlass run, or windlass fork {run} --at NODE")),
    }
}

/// Returns the hint for a run that would end again at once if it continued as asked.
pub(crate) fn more_of(run: &RunId, outcome: &Outcome) -> String {
    match outcome.resume_flags() {
        Some("") => format!("`windlass show {run}` shows how it ended"),
        Some(how) => format!("give it more: `windlass resume {run}{how}`"),
        None if outcome.reason == EndReason::FailNode => {
            format!("`windlass fork {run} --at NODE` repeats it from an earlier node, with new results")
        }
        None => format!("fix the workflow, then start again, or `windlass fork {run} --at NODE`"),
    }
}
