//! Ends the work of an agent, and makes sure that nothing is left running, waiting or armed.

use super::{hooks, plan, session, turn};
use crate::effect::Effect;
use crate::engine::DecisionCx;
use crate::hook::HookAnswer;
use crate::id::Verb;
use crate::looping::LoopMode;
use crate::run::{Outcome, SessionPhase, SessionWork};

/// Sets the outcome of the work and plans the cleanup.
pub(in crate::engine) fn end(work: &mut SessionWork, cx: &mut DecisionCx<'_>, outcome: Outcome) {
    release_hooks(work, cx);
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
    plan(work, cx, Verb::CleanUp, Effect::CleanUp { iteration });
    work.phase = SessionPhase::Ending { outcome };
}

/// Answers the hooks that wait: a Stop may stop, a tool may not run.
fn release_hooks(work: &mut SessionWork, cx: &mut DecisionCx<'_>) {
    if let SessionPhase::Judging { hook: Some(hook), .. } = work.phase.clone() {
        hooks::answer(work, cx, &hook, "stop", None, HookAnswer::Pass);
    }
    let node = work.node.id.clone();
    let (ours, others) =
        std::mem::take(&mut cx.bookkeeping.asks).into_iter().partition(|ask| ask.node == node);
    cx.bookkeeping.asks = others;
    for ask in Vec::from_iter::<Vec<crate::run::Ask>>(ours) {
        let reason = "this run is over".to_owned();
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
