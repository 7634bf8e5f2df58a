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
        FinalStatus::Exhausted | FinalStatus::Blocked | FinalStatus::Failed => addition(outcome),
    };
    match how {
        Some(how) => Some(format!("continue: windlass resume {run}{how}")),
        None => Some(format!("fix the workflow, then: windlass run, or windlass fork {run} --at NODE")),
    }
}

/// Returns the flags with which a run that has ended continues, or `None` if it cannot.
pub(crate) fn flags(outcome: &Outcome) -> Option<&'static str> {
    match outcome.status {
        FinalStatus::Completed | FinalStatus::Cancelled => None,
        FinalStatus::Interrupted => Some(""),
        FinalStatus::Exhausted | FinalStatus::Blocked | FinalStatus::Failed => addition(outcome),
    }
}

/// Returns the flags that a run needs to continue, or `None` if it would end in the same way again.
fn addition(outcome: &Outcome) -> Option<&'static str> {
    // Another command corrects it, although nothing else would.
    if outcome.root.unwrap_or(outcome.reason) == EndReason::CheckCannotStart {
        return Some(" --check COMMAND");
    }
    if outcome.fixed().is_some() {
        return None;
    }
    Some(match outcome.reason {
        EndReason::MaxIterations => " --max-iterations +10",
        EndReason::Budget => match outcome.detail.as_deref().unwrap_or_default() {
            detail if detail.contains("token") => " --budget tokens=+100000",
            detail if detail.contains("turn") => " --budget turns=+10",
            _ => " --budget cost=+5",
        },
        EndReason::Timeout => " --budget time=+1h",
        EndReason::Question => " --on-question wait",
        EndReason::Permission => " --on-permission ask",
        EndReason::BlockedMarker | EndReason::Stuck => " --message \"what to do\"",
        _ => "",
    })
}

/// Returns the hint for a run that would end again at once if it continued as asked.
pub(crate) fn more_of(run: &RunId, outcome: &Outcome) -> String {
    match addition(outcome) {
        Some("") => format!("`windlass show {run}` shows how it ended"),
        Some(how) => format!("give it more: `windlass resume {run}{how}`"),
        None => format!("fix the workflow, then start again, or `windlass fork {run} --at NODE`"),
    }
}
