//! Processes of a turn: that one began, and what is made of its end.

use super::{Step, ending, plan, turn};
use crate::effect::Effect;
use crate::event::{SessionEnd, SessionVerdict};
use crate::id::{EffectId, SessionId, Verb};
use crate::looping::Mode;
use crate::run::{News, Outcome, Phase, Reason, State, Status, Turn, Waiting};
use crate::time::Moment;

/// How often a transient error or an interruption in a row is tried again.
const RETRIES: u32 = 3;
/// The longest pause after a rate limit that does not say when it ends.
const RATE_LIMIT_MAX_MS: u64 = 3_600_000;
/// The shortest pause after one that says so: its end may be a moment ago.
const RATE_LIMIT_MIN_MS: u64 = 1_000;

/// The host was started.
pub(super) fn started(state: &mut State, step: &mut Step, effect: &EffectId, session: &SessionId) {
    let here = |turn: &&mut Turn| turn.effect == *effect && !turn.started;
    let Some(turn) = state.turn.as_mut().filter(here) else { return };
    turn.started = true;
    step.news.push(News::SessionStarted {
        session: session.clone(),
        iteration: effect.iteration,
        attempt: effect.attempt,
        resumed: turn.resumed,
    });
}

/// The process is over and its stream read.
pub(super) fn ended(state: &mut State, step: &mut Step, at: Moment, effect: &EffectId, end: &SessionEnd) {
    state.usage.add(&end.usage);
    if end.last_message.is_some() {
        state.last_message.clone_from(&end.last_message);
    }
    let Some(turn) = state.turn.take_if(|turn| turn.effect == *effect) else { return };
    state.asks.clear();
    match state.phase.clone() {
        Phase::InTurn => after_turn(state, step, at, &turn, end),
        Phase::Closing { outcome } => {
            state.open.retain(|planned| planned.id.verb != Verb::Wait);
            ending::end(state, step, outcome);
        }
        // A verdict is on its way and finds the process gone, or it is already decided.
        Phase::Judging { .. }
        | Phase::Preparing
        | Phase::Pausing { .. }
        | Phase::Ending { .. }
        | Phase::Done { .. } => {}
    }
}

fn after_turn(state: &mut State, step: &mut Step, at: Moment, turn: &Turn, end: &SessionEnd) {
    // What began can be gone on with; a process that never spoke left no conversation.
    let resume = turn.resumed || end.spoke || turn.stops > 0;
    if turn::mode(state) == Some(Mode::Plugin) && end.verdict != SessionVerdict::Done {
        // Each stop the plugin held was the end of a turn; only the one cut off is open.
        state.turns += turn.stops;
    }
    match &end.verdict {
        SessionVerdict::Done => done(state, step, turn, end),
        SessionVerdict::RateLimited { resets_at } => rate_limited(state, step, at, *resets_at, resume),
        SessionVerdict::Transient { what } => transient(state, step, at, what, resume),
        SessionVerdict::Interrupted { what } => interrupted(state, step, what, resume),
        SessionVerdict::TimedOut => {
            let outcome = Outcome::new(Status::Failed, Reason::Timeout).because("the agent's time was spent");
            ending::end(state, step, outcome);
        }
        SessionVerdict::Failed { what } => {
            let outcome = Outcome::new(Status::Failed, Reason::AgentFailed).because(what.clone());
            ending::end(state, step, outcome);
        }
    }
}

fn done(state: &mut State, step: &mut Step, turn: &Turn, end: &SessionEnd) {
    if let Some(why) = broken_transport(state, turn, end) {
        let outcome = Outcome::new(Status::Failed, Reason::HookTransport).because(why);
        return ending::end(state, step, outcome);
    }
    if turn::mode(state) == Some(Mode::Plugin) {
        // The plugin held the stops; the last one is counted when the turn is judged.
        state.turns += turn.stops.saturating_sub(1);
    }
    turn::look(state, step, None, end.last_message.clone());
}

/// Whether hooks that had to come did not. While nobody owned the run they may have given up.
fn broken_transport(state: &State, turn: &Turn, end: &SessionEnd) -> Option<String> {
    if turn.owner_changed {
        return None;
    }
    if end.tool_calls > 0 && turn.tool_hooks == 0 {
        let calls = end.tool_calls;
        return Some(format!("the agent made {calls} tool calls and none of their hooks arrived"));
    }
    if turn::mode(state) == Some(Mode::InSession) && turn.stops == 0 {
        return Some("the agent stopped and its Stop hook did not arrive".to_owned());
    }
    None
}

fn rate_limited(state: &mut State, step: &mut Step, at: Moment, resets_at: Option<Moment>, resume: bool) {
    let doubled = state.spec.limits.rate_limit_ms.saturating_mul(1 << state.rate_limits.min(8));
    state.rate_limits += 1;
    let until = match resets_at {
        Some(moment) => moment.max(at.plus_ms(RATE_LIMIT_MIN_MS.min(state.spec.limits.rate_limit_ms))),
        None => at.plus_ms(doubled.min(RATE_LIMIT_MAX_MS.max(state.spec.limits.rate_limit_ms))),
    };
    pause(state, step, Waiting::RateLimit { until }, until, resume);
}

fn transient(state: &mut State, step: &mut Step, at: Moment, what: &str, resume: bool) {
    state.transient += 1;
    if state.transient > RETRIES {
        let outcome = Outcome::new(Status::Failed, Reason::TransientErrors)
            .because(format!("{what}; tried again {RETRIES} times"));
        return ending::end(state, step, outcome);
    }
    let until = at.plus_ms(state.spec.limits.retry_ms.saturating_mul(1 << (state.transient - 1)));
    pause(state, step, Waiting::Retry { until, what: what.to_owned() }, until, resume);
}

fn interrupted(state: &mut State, step: &mut Step, what: &str, resume: bool) {
    state.interrupted += 1;
    if state.interrupted > RETRIES {
        let outcome = Outcome::new(Status::Failed, Reason::Interrupted)
            .because(format!("{what}; tried again {RETRIES} times"));
        return ending::end(state, step, outcome);
    }
    step.news.push(News::Retrying { what: what.to_owned(), attempt: state.attempt + 1 });
    turn::begin_again(state, step, resume);
}

fn pause(state: &mut State, step: &mut Step, waiting: Waiting, until: Moment, resume: bool) {
    step.news.push(News::Waiting(waiting.clone()));
    plan(state, step, Verb::Wait, Effect::WaitUntil { until });
    state.phase = Phase::Pausing { waiting, resume };
}
