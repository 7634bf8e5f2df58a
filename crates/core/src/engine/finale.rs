//! The end of a run: its value, its `finally` block, and its final outcome.
//!
//! `finally` runs once for each end, after everything else has ended. While it runs, the lane of the body
//! is set aside, so that a continued run goes on from there. An interrupted run has not ended. `finally` has a time
//! of its own, and the budget of the run does not apply to it.

use super::frame::scope;
use super::{Decision, cancel, deliver, end_kept, go_on, lane, root_node, settle, with};
use crate::effect::{Effect, Planned};
use crate::event::Event;
use crate::graph::template;
use crate::id::{EffectId, Verb};
use crate::run::{Activity, EndReason, FinalStatus, Lane, Lifecycle, News, Outcome, RunState};
use crate::time::Moment;

/// Continues after everything in progress has ended: with `finally` if it is due, and otherwise with the end.
pub(super) fn finish(state: &mut RunState, step: &mut Decision, at: Moment, outcome: Outcome) {
    if let Lifecycle::Finally { outcome: decided } = &state.lifecycle {
        let decided = decided.clone();
        if let Some(lane) = state.aside.take() {
            state.root = *lane;
        }
        if let Some(before) = state.bookkeeping.before_finally.take() {
            state.bookkeeping.spent_in_finally.add(&state.spent.since(&before));
        }
        let outcome = combined(step, decided, &outcome);
        return done(state, step, at, outcome);
    }
    let outcome = given(state, end_kept(state, outcome));
    if outcome.status != FinalStatus::Interrupted && state.spec.finally().is_some() {
        return begin(state, step, at, outcome);
    }
    done(state, step, at, outcome);
}

/// Cancels a run that had ended and could have continued. It had its `finally`, unless it was interrupted.
pub(super) fn cancel_done(state: &mut RunState, step: &mut Decision, at: Moment, outcome: Outcome) {
    let was_interrupted = state.outcome().is_some_and(|before| before.status == FinalStatus::Interrupted);
    state.lifecycle = Lifecycle::Ending { outcome: outcome.clone() };
    match was_interrupted {
        true => finish(state, step, at, outcome),
        false => done(state, step, at, outcome),
    }
}

/// Handles a request to stop while `finally` runs. A cancelled run still cleans up: only who cancels it again, or
/// interrupts it, ends `finally` early.
pub(super) fn stop(state: &mut RunState, step: &mut Decision, at: Moment, outcome: Outcome) {
    let is_deferred =
        matches!(&state.root.now, Some(now) if matches!(now.activity, Activity::Deferred { .. }));
    let Lifecycle::Finally { outcome: decided } = &mut state.lifecycle else { return };
    let is_cancel = outcome.status == FinalStatus::Cancelled;
    if is_cancel && decided.status != FinalStatus::Cancelled {
        decided.clone_from(&outcome);
        let what = "the run is being cancelled, and completes its `finally` first; cancel it again to stop that as well";
        step.news.push(News::Odd { node: root_node(), what: what.to_owned() });
        let waits = |planned: &&Planned| is_deferred && planned.id.verb == Verb::Defer;
        let deferred = state.bookkeeping.open.iter().find(waits).map(|planned| planned.id.clone());
        if let Some(effect) = deferred.filter(|effect| settle(&mut state.bookkeeping, effect)) {
            go_on(state, step, at);
            let node = effect.node.clone();
            deliver(state, step, at, &node, &Event::WaitOver { effect });
            return;
        }
        return go_on(state, step, at);
    }
    // An interruption does not change an outcome, unless `finally` has not begun, or the run could otherwise
    // count as complete.
    if is_deferred || decided.status == FinalStatus::Completed {
        decided.clone_from(&outcome);
    }
    if state.root.cut.is_some() {
        let id = EffectId { node: root_node(), iteration: 1, attempt: 1, verb: Verb::Kill };
        step.effects.push(Planned { id, effect: Effect::KillChildren });
        return;
    }
    step.news.extend(cut_short(state));
    with(state, step, at, |cx, steps, root, frame| cancel::lane(cx, steps, root, frame, &outcome).into());
}

/// Handles the end of the outer run while `finally` runs: only an interruption stops it. The outer run may say
/// it twice.
pub(super) fn stop_with_outer(state: &mut RunState, step: &mut Decision, at: Moment, outcome: Outcome) {
    let Lifecycle::Finally { outcome: decided } = &state.lifecycle else { return };
    let is_new = match outcome.status {
        FinalStatus::Interrupted => state.root.cut.is_none(),
        FinalStatus::Cancelled => decided.status != FinalStatus::Cancelled,
        FinalStatus::Completed | FinalStatus::Failed | FinalStatus::Blocked | FinalStatus::Exhausted => false,
    };
    if is_new {
        stop(state, step, at, outcome);
    }
}

/// Names the nodes of `finally` that do not complete.
fn cut_short(state: &RunState) -> Option<News> {
    let Lifecycle::Finally { outcome } = &state.lifecycle else { return None };
    let active = state.root.now.as_ref()?;
    let Activity::Finally(finally) = &active.activity else { return None };
    let body = state.spec.finally()?.kind.blocks().into_iter().next()?.body;
    let left: Vec<String> = body.iter().skip(finally.lane.at).map(|node| format!("`{}`", node.id)).collect();
    let again = if outcome.status.is_final() { "" } else { "; `resume` runs `finally` again" };
    let what = format!("`finally` was stopped before it completed {}{again}", left.join(", "));
    Some(News::Odd { node: active.instance.clone(), what })
}

fn begin(state: &mut RunState, step: &mut Decision, at: Moment, outcome: Outcome) {
    clear(state);
    // A person who cancels a paused run does not want to resume it first.
    if outcome.status == FinalStatus::Cancelled && std::mem::take(&mut state.bookkeeping.paused) {
        let stood_still = state.bookkeeping.paused_at.take().map_or(0, |paused| at.since(paused));
        state.bookkeeping.paused_ms = state.bookkeeping.paused_ms.saturating_add(stood_still);
    }
    state.bookkeeping.ends = state.bookkeeping.ends.saturating_add(1);
    state.bookkeeping.before_finally = Some(state.spent);
    state.aside = Some(Box::new(std::mem::take(&mut state.root)));
    state.lifecycle = Lifecycle::Finally { outcome };
    with(state, step, at, |cx, steps, root: &mut Lane, frame| lane::proceed(cx, steps, root, frame).into());
}

/// Returns the outcome of a run after its `finally` block. A failure in it fails a run that was complete.
fn combined(step: &mut Decision, decided: Outcome, last: &Outcome) -> Outcome {
    let is_asked = matches!(last.status, FinalStatus::Cancelled | FinalStatus::Interrupted);
    if last.status == FinalStatus::Completed || is_asked {
        return decided;
    }
    let detail = last.why();
    let why = format!("`finally` failed: {detail}");
    if decided.status == FinalStatus::Completed {
        return Outcome::new(FinalStatus::Failed, EndReason::FinallyFailed).because(why);
    }
    step.news.push(News::Odd { node: root_node(), what: why });
    decided
}

/// Evaluates the value that the workflow gives. If that fails, the run fails.
fn given(state: &mut RunState, outcome: Outcome) -> Outcome {
    let Some(gives) = state.spec.gives.clone().filter(|_| outcome.status == FinalStatus::Completed) else {
        return outcome;
    };
    match template::evaluate(&gives, &scope(state)) {
        Ok(value) => {
            state.bookkeeping.given = Some(value);
            outcome
        }
        Err(error) => Outcome::new(FinalStatus::Failed, EndReason::Template)
            .because(format!("`gives` could not be evaluated: {error}")),
    }
}

/// Forgets everything that the run waited for.
fn clear(state: &mut RunState) {
    let book = &mut state.bookkeeping;
    book.open.clear();
    book.deferred.clear();
    book.asks.clear();
    book.replies.clear();
    book.unheard.clear();
}

fn done(state: &mut RunState, step: &mut Decision, at: Moment, outcome: Outcome) {
    clear(state);
    state.bookkeeping.ended_at = Some(at);
    step.news.push(News::Finished {
        outcome: outcome.clone(),
        iterations: state.turns(),
        usage: state.own_spent().usage,
    });
    state.lifecycle = Lifecycle::Done { outcome };
}
