//! Ends the work of an agent, and makes sure that nothing is left running, waiting or armed.

use super::{hooks, session, turn};
use crate::effect::Effect;
use crate::engine::DecisionCx;
use crate::hook::HookAnswer;
use crate::id::{EffectId, Verb};
use crate::looping::LoopMode;
use crate::run::{FinalStatus, Outcome, SessionPhase, SessionWork};

/// Sets the outcome of the work and plans the cleanup.
pub(in crate::engine) fn end(work: &mut SessionWork, cx: &mut DecisionCx<'_>, outcome: Outcome) {
    release_hooks(work, cx, outcome.status);
    if turn::mode(work) == Some(LoopMode::Plugin) {
        // The process is no longer read to its end, so its turns are counted here.
        let stops = work.turn.as_mut().map_or(0, |turn| std::mem::take(&mut turn.stops));
        session::held_turns(work, cx, stops);
    }
    // Drops all other open effects. The end of the turn stays open, because it reports the usage.
    let node = work.node.id.clone();
    let is_begun = |verb: Verb| verb == Verb::Session;
    let held = std::mem::take(&mut cx.bookkeeping.deferred);
    cx.bookkeeping.open.retain(|planned| {
        planned.id.node != node || (is_begun(planned.id.verb) && !held.contains(&planned.id))
    });
    cx.bookkeeping.deferred = held.into_iter().filter(|id| id.node != node).collect();
    let iteration = work.turns;
    // A run may end several times in the same turn, and each cleanup has its own id.
    let attempt = work.attempt.saturating_add(cx.bookkeeping.continued);
    let id = EffectId { node: work.node.id.clone(), iteration: work.turns + 1, attempt, verb: Verb::CleanUp };
    cx.plan(id, Effect::CleanUp { iteration });
    let before = std::mem::replace(&mut work.phase, SessionPhase::Ending { outcome });
    if !matches!(before, SessionPhase::Ending { .. }) {
        work.ended_in = Some(Box::new(before));
    }
}

/// Answers the hooks that wait: a Stop may stop, a tool may not run.
fn release_hooks(work: &mut SessionWork, cx: &mut DecisionCx<'_>, status: FinalStatus) {
    if let SessionPhase::Judging { hook: Some(hook), .. } = work.phase.clone() {
        hooks::answer(work, cx, &hook, "stop", None, HookAnswer::Pass);
    }
    let node = work.node.id.clone();
    let (ours, others) =
        std::mem::take(&mut cx.bookkeeping.asks).into_iter().partition(|ask| ask.node == node);
    cx.bookkeeping.asks = others;
    for ask in Vec::from_iter::<Vec<crate::run::Ask>>(ours) {
        let reason = match status {
            FinalStatus::Interrupted => "this run was interrupted".to_owned(),
            _ => "this run is over".to_owned(),
        };
        hooks::answer(work, cx, &ask.hook, ask.asked(), ask.tool_name(), HookAnswer::Deny { reason });
    }
}

/// Returns the outcome once the cleanup is done.
pub(super) fn cleaned_up(work: &mut SessionWork, cx: &mut DecisionCx<'_>) -> Option<Outcome> {
    let SessionPhase::Ending { outcome } = work.phase.clone() else { return None };
    cx.bookkeeping.open.retain(|planned| planned.id.node != work.node.id);
    cx.bookkeeping.replies.retain(|reply| reply.ask.node != work.node.id);
    cx.bookkeeping.permitted.retain(|ask| ask.node != work.node.id);
    work.turn = None;
    Some(outcome)
}
