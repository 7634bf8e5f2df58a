//! Handles an effect that failed because Windlass itself panicked.
//!
//! This is a bug in Windlass, so no node continues, whatever its `retry` or `on_failure` says. The
//! run ends, and Windlass ends everything in progress. The node that waits for the effect gets a
//! failure, so nothing waits forever.

use super::{Decision, deliver, end, root_node, settle};
use crate::effect::{Effect, Planned};
use crate::event::{
    Event, LandingEnd, PrepareEnd, RunEnd, SessionEnd, SessionFailure, SessionVerdict, ShellEnd, WorktreeEnd,
};
use crate::id::{EffectId, Verb};
use crate::looping::verdict::{CheckResult, Inspection, TrackerInspection};
use crate::run::{EndReason, FinalStatus, Lifecycle, Outcome, RunState, Spent};
use crate::tasks::{Claim, TaskStatus};
use crate::time::Moment;
use crate::usage::Usage;

/// Ends the run because of a failed effect, if the effect is still open.
pub(super) fn apply(state: &mut RunState, step: &mut Decision, at: Moment, id: &EffectId, what: &str) {
    let Some(planned) = state.bookkeeping.open.iter().find(|planned| planned.id == *id).cloned() else {
        return;
    };
    if matches!(state.lifecycle, Lifecycle::Running) {
        end(state, step, at, outcome(id, what));
    }
    if matches!(planned.effect, Effect::CleanUp { .. }) {
        // The processes that it should have ended may still run.
        let id = EffectId { node: root_node(), iteration: 1, attempt: 1, verb: Verb::Kill };
        step.effects.push(Planned { id, effect: Effect::KillChildren });
    }
    let Some(failure) = failure(&planned, what) else { return };
    if settle(&mut state.bookkeeping, id) {
        deliver(state, step, at, &id.node, &failure);
    }
}

fn outcome(id: &EffectId, what: &str) -> Outcome {
    let why = format!("performing `{id}` failed: {what}");
    Outcome::new(FinalStatus::Failed, EndReason::InternalError).because(why)
}

/// Returns the event that settles the effect with a failure. `None` if nothing settles the effect.
fn failure(planned: &Planned, what: &str) -> Option<Event> {
    let effect = planned.id.clone();
    let what = what.to_owned();
    Some(match &planned.effect {
        Effect::Prepare { .. } => {
            Event::Prepared { effect, end: PrepareEnd::Failed { why: what }, base: None, odd: Vec::new() }
        }
        Effect::StartSession(_) => Event::SessionEnded { effect, end: session_end(what) },
        Effect::Inspect { .. } => {
            let tracker = TrackerInspection::Unreadable { why: what };
            let sight = Inspection { tracker, promised: false, signalled: false, fingerprint: String::new() };
            Event::Inspected { effect, sight }
        }
        Effect::RunChecks { .. } => {
            let name = effect.to_string();
            let results = vec![CheckResult { name, passed: false, how: what, ..CheckResult::default() }];
            Event::ChecksFinished { effect, results }
        }
        Effect::RunShell(_) => Event::ShellEnded { effect, end: ShellEnd::exited(false, what, "") },
        Effect::StartRun { .. } => {
            let outcome = Outcome::new(FinalStatus::Failed, EndReason::ChildFailed).because(what);
            let end = RunEnd { outcome, spent: Spent::default(), text: String::new(), value: None };
            Event::RunEnded { effect, end: Box::new(end) }
        }
        Effect::ClaimTask { .. } => {
            Event::TaskClaimed { effect, claim: Claim::Unreadable { why: what }, odd: Vec::new() }
        }
        Effect::SettleTask { .. } | Effect::ReleaseTask { .. } => {
            Event::TaskSettled { effect, status: TaskStatus::InProgress, why: None, error: Some(what) }
        }
        Effect::LeaveWorktree { .. } => Event::WorktreeMade { effect, end: WorktreeEnd::Left { kept: true } },
        Effect::MakeWorktree { .. } | Effect::RenewWorktree { .. } => {
            Event::WorktreeMade { effect, end: WorktreeEnd::Failed { why: what } }
        }
        Effect::Land { .. } => Event::Landed { effect, end: LandingEnd::Hindered { why: what } },
        Effect::WaitUntil { .. } => Event::WaitOver { effect },
        Effect::CleanUp { .. } => Event::CleanedUp { effect },
        Effect::KillChildren | Effect::AnswerHook { .. } | Effect::MarkTracker { .. } => return None,
    })
}

fn session_end(what: String) -> SessionEnd {
    SessionEnd {
        verdict: SessionVerdict::Failed { cause: SessionFailure::default(), what },
        last_message: None,
        value: None,
        usage: Usage::default(),
        tool_calls: 0,
        spoke: false,
        offset: 0,
        unanswered: Vec::new(),
        session: None,
        usage_is_cumulative: false,
        models: Vec::new(),
        took_ms: 0,
    }
}
