//! Continues the work of an agent after the run had ended.
//!
//! A turn that was cut off is repeated in its session. A turn that was not judged yet is judged.
//! After a judged turn the next one starts, in the way of its loop.

use super::{hand_over, plan, turn};
use crate::effect::Effect;
use crate::engine::DecisionCx;
use crate::engine::node::pair::NodeSite;
use crate::graph::SessionPromptKind;
use crate::id::Verb;
use crate::looping::prompt;
use crate::looping::same_error::CheckStreak;
use crate::looping::verdict::used_up;
use crate::run::{EndReason, FinalStatus, Outcome, SessionPhase, SessionWork};

/// Decides whether the work can continue. Work that was never prepared starts again.
pub(in crate::engine) fn can_continue(work: &SessionWork) -> bool {
    // A hand-over in the middle of the work also prepares.
    let is_handed_over = work.hand_over.is_some() && (work.turns > 0 || work.attempt > 1);
    work.ended_in.as_ref().is_some_and(|phase| **phase != SessionPhase::Preparing || is_handed_over)
}

/// Continues the work. Returns its outcome if it has ended again.
pub(in crate::engine) fn reopen(
    cx: &mut DecisionCx<'_>,
    site: &NodeSite<'_>,
    work: &mut SessionWork,
    before: Option<&Outcome>,
) -> Option<Outcome> {
    let ended_in = *work.ended_in.take()?;
    if let SessionPhase::Closing { outcome } = &ended_in
        && outcome.status == FinalStatus::Completed
    {
        return Some(outcome.clone());
    }
    refresh(cx, site, work);
    if let SessionPromptKind::Loop(rules) = &mut work.node.kind {
        rules.max_iterations = cx.raised(rules.max_iterations, before).unwrap_or(rules.max_iterations);
    }
    let is_judged = work.is_judged;
    let reason = before.map(|outcome| outcome.reason);
    if is_judged && let Some(outcome) = work.node.rules().and_then(|rules| used_up(rules, work.turns, &[])) {
        return Some(outcome);
    }
    let dry = if is_judged { cx.cannot_afford_turn(work) } else { cx.cannot_afford_repeat(work) };
    if dry.is_some() {
        return dry;
    }
    match ended_in {
        _ if is_judged && reason == Some(EndReason::MissingTracker) => {
            work.phase = SessionPhase::Preparing;
            plan(work, cx, Verb::Prepare, Effect::Prepare { args: None, hand_over: false });
        }
        SessionPhase::Preparing => hand_over::look(work, cx),
        _ if is_judged => {
            unblock(work, before);
            turn::begin(work, cx);
        }
        SessionPhase::Judging { .. } => {
            // The effects of an attempt have ids of their own.
            work.attempt += 1;
            let last_message = work.last_message.clone();
            turn::look(work, cx, None, last_message);
        }
        SessionPhase::InTurn
        | SessionPhase::Pausing { .. }
        | SessionPhase::Closing { .. }
        | SessionPhase::Ending { .. } => {
            let resume = work.is_resumable;
            turn::begin_again(work, cx, resume);
        }
    }
    None
}

/// Gives the work a new start: its counters of trouble, its checks and its time.
fn refresh(cx: &DecisionCx<'_>, site: &NodeSite<'_>, work: &mut SessionWork) {
    work.transient = 0;
    work.interrupted = 0;
    work.rate_limits = 0;
    work.drivers_failed.clear();
    work.unfit = 0;
    work.idle_turns = 0;
    work.streaks.values_mut().for_each(CheckStreak::restart);
    work.deadline = site.deadline;
    let is_checked = work.node.rules().is_some() || cx.spec.only_session().is_some();
    work.checked = is_checked && !cx.spec.checks.is_empty();
    work.message = cx.more.as_ref().and_then(|more| more.asked.message.clone());
}

/// Tells the agent that a person has dealt with its blocked marker.
fn unblock(work: &mut SessionWork, before: Option<&Outcome>) {
    let Some(outcome) = before.filter(|outcome| outcome.reason == EndReason::BlockedMarker) else { return };
    let reason = outcome.detail.clone().unwrap_or_default();
    work.feedback = Some(prompt::unblocked(&reason));
    work.unblocked = Some(reason);
}
