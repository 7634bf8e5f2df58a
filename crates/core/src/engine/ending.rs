//! Endings: whatever happens, nothing is left running, waiting or armed.

use super::{Step, hooks, plan};
use crate::effect::Effect;
use crate::hook::Answer;
use crate::id::Verb;
use crate::run::{News, Outcome, Phase, Reason, State, Status};

/// Decides how the run ends, and has everything put away.
pub(super) fn end(state: &mut State, step: &mut Step, outcome: Outcome) {
    release_hooks(state, step);
    // Nothing else may still be begun; a turn's own end is still read for what it spent.
    state.open.retain(|planned| planned.id.verb == Verb::Session);
    let iteration = state.turns;
    plan(state, step, Verb::CleanUp, Effect::CleanUp { iteration });
    state.phase = Phase::Ending { outcome };
}

/// Hooks that wait for an answer get one: a Stop may stop, a tool may not run.
fn release_hooks(state: &mut State, step: &mut Step) {
    if let Phase::Judging { hook: Some(hook), .. } = state.phase.clone() {
        hooks::answer(state, step, &hook, "stop", None, Answer::Pass);
    }
    for ask in std::mem::take(&mut state.asks) {
        let reason = "this run is over".to_owned();
        let asked = if ask.tool.is_some() { "tool" } else { "question" };
        hooks::answer(state, step, &ask.hook, asked, ask.tool.as_deref(), Answer::Deny { reason });
    }
}

/// Somebody cancelled: the first time with grace, again without.
pub(super) fn cancelled(state: &mut State, step: &mut Step) {
    if matches!(state.phase, Phase::Ending { .. }) {
        plan(state, step, Verb::Kill, Effect::KillChildren);
        return;
    }
    end(state, step, Outcome::new(Status::Cancelled, Reason::User));
}

/// The whole run's time is spent.
pub(super) fn timed_out(state: &mut State, step: &mut Step) {
    if matches!(state.phase, Phase::Ending { .. } | Phase::Closing { .. }) {
        return;
    }
    let detail = "the time given to the whole run is spent";
    end(state, step, Outcome::new(Status::Failed, Reason::Timeout).because(detail));
}

/// Everything was put away: the run is over.
pub(super) fn cleaned_up(state: &mut State, step: &mut Step) {
    let Phase::Ending { outcome } = state.phase.clone() else { return };
    state.open.clear();
    state.turn = None;
    step.news.push(News::Finished { outcome: outcome.clone(), iterations: state.turns, usage: state.usage });
    state.phase = Phase::Done { outcome };
}
