//! The processes of a turn: their start, and the verdict at their end.

use super::{cost, ending, hand_over, hooks, plan_wait, turn};
use crate::engine::DecisionCx;
use crate::event::{SessionEnd, SessionFailure, SessionVerdict};
use crate::id::{EffectId, HookId, SessionId, Verb};
use crate::looping::{LoopMode, prompt};
use crate::run::{EndReason, FinalStatus, News, Outcome, SessionPhase, SessionWork, Turn, Waiting};
use crate::time::Moment;

/// The number of retries after consecutive transient errors or interruptions.
const RETRIES: u32 = 3;
/// The first pause after a rate limit with an unknown end. It doubles up to the setting.
const RATE_LIMIT_FIRST_MS: u64 = 60_000;
/// The description of a turn in which a hook gave up.
const NO_OWNER: &str = "Windlass was not running when the agent needed an answer";
/// The shortest pause after a rate limit with a known end, which may already have passed.
const RATE_LIMIT_MIN_MS: u64 = 1_000;

/// Handles the start of the host.
pub(super) fn started(
    work: &mut SessionWork,
    cx: &mut DecisionCx<'_>,
    effect: &EffectId,
    session: &SessionId,
) {
    let here = |turn: &&mut Turn| turn.effect == *effect && !turn.started;
    let Some(turn) = work.turn.as_mut().filter(here) else { return };
    turn.started = true;
    cx.decision.news.push(News::SessionStarted {
        node: effect.node.clone(),
        session: session.clone(),
        iteration: effect.iteration,
        attempt: effect.attempt,
        resumed: turn.resumed,
    });
}

/// Handles the end of the process, after its stream was read.
pub(super) fn ended(work: &mut SessionWork, cx: &mut DecisionCx<'_>, effect: &EffectId, end: &SessionEnd) {
    if let Some(session) = &end.session {
        // The CLI chose the id, and knows the conversation only by it.
        work.session = Some(session.clone());
    }
    let usage = cost::of_turn(work, cx, end);
    work.usage.add(&usage);
    cx.spend_for(work, &usage, end.took_ms);
    // If the answer is only a value, an earlier message is not the last message.
    if end.last_message.is_some() || end.value.is_some() {
        work.last_message.clone_from(&end.last_message);
    }
    if end.last_message.is_some() {
        cx.bookkeeping.last_message.clone_from(&end.last_message);
    }
    work.value.clone_from(&end.value);
    let Some(turn) = work.turn.take_if(|turn| turn.effect == *effect) else { return };
    // A session that started can be resumed. A process without any answer left no conversation.
    work.is_resumable = turn.resumed || end.spoke || turn.stops > 0;
    cx.bookkeeping.asks.retain(|ask| ask.node != work.node.id);
    let node = &work.node.id;
    cx.bookkeeping
        .replies
        .retain(|reply| reply.ask.node != *node || reply.missed || end.unanswered.contains(&reply.ask.hook));
    hooks::missed(work, cx, &end.unanswered);
    match work.phase.clone() {
        SessionPhase::InTurn => after_turn(work, cx, &turn, end),
        SessionPhase::Closing { outcome } => {
            cx.bookkeeping
                .open
                .retain(|planned| planned.id.node != work.node.id || planned.id.verb != Verb::Wait);
            ending::end(work, cx, outcome);
        }
        // A verdict is pending and will find the process gone, or the outcome is already decided.
        SessionPhase::Judging { .. }
        | SessionPhase::Preparing
        | SessionPhase::Pausing { .. }
        | SessionPhase::Ending { .. } => {}
    }
}

fn after_turn(work: &mut SessionWork, cx: &mut DecisionCx<'_>, turn: &Turn, end: &SessionEnd) {
    let resume = work.is_resumable;
    let was_heard = !turn.has_missed(&end.unanswered) && !has_stopped_unheard(work, turn);
    let is_done = end.verdict == SessionVerdict::Completed && was_heard;
    if turn::mode(work) == Some(LoopMode::Plugin) && !is_done {
        // Each stop that the plugin held ended a turn. Only the interrupted turn is open.
        held_turns(work, cx, turn.stops);
    }
    match &end.verdict {
        // The agent worked with tools that no one allowed or refused, so its verdict does not
        // count. But if the owner was there all the time, the hooks do not reach it and never will.
        SessionVerdict::Completed | SessionVerdict::Failed { .. }
            if !was_heard && broken_transport(work, turn, end).is_none() =>
        {
            interrupted(work, cx, NO_OWNER, resume);
        }
        SessionVerdict::Completed => done(work, cx, turn, end),
        SessionVerdict::RateLimited { resets_at } => rate_limited(work, cx, *resets_at, resume),
        SessionVerdict::Transient { what } => transient(work, cx, what, resume),
        SessionVerdict::Interrupted { what } | SessionVerdict::NothingSaid { what } => {
            interrupted(work, cx, what, resume)
        }
        SessionVerdict::TimedOut => {
            let outcome =
                Outcome::new(FinalStatus::Failed, EndReason::Timeout).because("the agent ran out of time");
            ending::end(work, cx, outcome);
        }
        SessionVerdict::Failed { what, cause: SessionFailure::Model } if has_other_model(work) => {
            try_other_model(work, cx, what, resume);
        }
        SessionVerdict::Failed { what, cause: SessionFailure::Model }
            if hand_over::give_after_error(work, cx, what) => {}
        SessionVerdict::Failed { what, cause: SessionFailure::NoConversation }
            if was_opened_now(work, turn) =>
        {
            interrupted(work, cx, what, false);
        }
        SessionVerdict::Failed { what, cause: _ } => {
            let outcome = Outcome::new(FinalStatus::Failed, EndReason::AgentFailed).because(what.clone());
            ending::end(work, cx, outcome);
        }
    }
}

/// Decides whether an earlier attempt at this turn opened the conversation, so that nothing else is lost with it. An
/// agent CLI that is killed may not have saved its conversation yet.
fn was_opened_now(work: &SessionWork, turn: &Turn) -> bool {
    let is_own = work.resumes.is_none() && !work.is_continuing && !work.is_forked;
    let is_first = work.turns == 0 || turn::mode(work) == Some(LoopMode::Fresh);
    turn.resumed && is_own && is_first
}

/// Decides whether the agent stopped while the run had no owner, so that its Stop hook got no
/// answer.
fn has_stopped_unheard(work: &SessionWork, turn: &Turn) -> bool {
    turn.owner_changed && turn::mode(work) == Some(LoopMode::InSession)
}

fn done(work: &mut SessionWork, cx: &mut DecisionCx<'_>, turn: &Turn, end: &SessionEnd) {
    if let Some(why) = broken_transport(work, turn, end) {
        let outcome = Outcome::new(FinalStatus::Failed, EndReason::HookTransport).because(why);
        return ending::end(work, cx, outcome);
    }
    if turn::mode(work) == Some(LoopMode::Plugin) {
        // The plugin held the stops. The last one is counted when the turn is judged.
        held_turns(work, cx, turn.stops.saturating_sub(1));
    }
    turn::look(work, cx, None, end.last_message.clone());
}

/// Counts turns that ended while the process kept running.
pub(super) fn held_turns(work: &mut SessionWork, cx: &mut DecisionCx<'_>, turns: u32) {
    work.turns = work.turns.saturating_add(turns);
    cx.bookkeeping.turns = cx.bookkeeping.turns.saturating_add(turns);
    cx.count_turns_of(work, turns);
}

/// Describes missing hooks. While the run had no owner, hooks may have given up.
fn broken_transport(work: &SessionWork, turn: &Turn, end: &SessionEnd) -> Option<String> {
    if turn.owner_changed {
        return None;
    }
    if end.tool_calls > 0 && turn.tool_hooks == 0 {
        let calls = end.tool_calls;
        return Some(format!("the agent made {calls} tool calls, but none of their hooks arrived"));
    }
    if turn::mode(work) == Some(LoopMode::InSession) && turn.stops == 0 {
        return Some("the agent stopped, but its Stop hook did not arrive".to_owned());
    }
    None
}

fn rate_limited(work: &mut SessionWork, cx: &mut DecisionCx<'_>, resets_at: Option<Moment>, resume: bool) {
    let (at, longest) = (cx.at, cx.spec.limits.rate_limit_ms);
    let doubled = RATE_LIMIT_FIRST_MS.saturating_mul(1 << work.rate_limits.min(16));
    work.rate_limits = work.rate_limits.saturating_add(1);
    let until = match resets_at {
        Some(moment) => moment.max(at.plus_ms(RATE_LIMIT_MIN_MS.min(longest))),
        None => at.plus_ms(doubled.min(longest)),
    };
    let is_waited_for = hand_over::is_waited_for(work, cx, until, resets_at.is_some());
    if !is_waited_for && hand_over::give(work, cx, "it is at its usage limit") {
        return;
    }
    let until = hand_over::first_reset(work, cx, until);
    pause(work, cx, Waiting::RateLimit { until }, until, resume);
}

fn transient(work: &mut SessionWork, cx: &mut DecisionCx<'_>, what: &str, resume: bool) {
    work.transient += 1;
    if work.transient > RETRIES && has_other_model(work) {
        return try_other_model(work, cx, what, resume);
    }
    if work.transient > RETRIES {
        if hand_over::give_after_error(work, cx, what) {
            return;
        }
        let outcome = Outcome::new(FinalStatus::Failed, EndReason::TransientErrors)
            .because(format!("{what} (after {RETRIES} retries)"));
        return ending::end(work, cx, outcome);
    }
    let until = cx.at.plus_ms(cx.spec.limits.retry_ms.saturating_mul(1 << (work.transient - 1)));
    pause(work, cx, Waiting::Retry { until, what: what.to_owned() }, until, resume);
}

fn has_other_model(work: &SessionWork) -> bool {
    work.driver.is_none() && work.models_failed + 1 < work.models.len()
}

/// Repeats the turn with the next model. It stays the model of the node.
fn try_other_model(work: &mut SessionWork, cx: &mut DecisionCx<'_>, what: &str, resume: bool) {
    let failed = work.model().cloned().unwrap_or_default();
    work.models_failed += 1;
    work.transient = 0;
    let next = work.model().cloned().unwrap_or_default();
    cx.decision.news.push(News::Retrying {
        node: work.node.id.clone(),
        what: format!("model `{failed}` is not available, so `{next}` is next: {what}"),
        attempt: work.attempt + 1,
        of: None,
        until: None,
    });
    turn::begin_again(work, cx, resume);
}

fn interrupted(work: &mut SessionWork, cx: &mut DecisionCx<'_>, what: &str, resume: bool) {
    if let Some(outcome) = count_interruption(work, what) {
        return ending::end(work, cx, outcome);
    }
    cx.decision.news.push(News::Retrying {
        node: work.node.id.clone(),
        what: what.to_owned(),
        attempt: work.attempt + 1,
        of: None,
        until: None,
    });
    turn::begin_again(work, cx, resume);
}

/// Counts another interruption of the turn. Returns the outcome if there were too many.
fn count_interruption(work: &mut SessionWork, what: &str) -> Option<Outcome> {
    work.interrupted += 1;
    let is_one_too_many = work.interrupted > RETRIES;
    is_one_too_many.then(|| {
        Outcome::new(FinalStatus::Failed, EndReason::Interrupted)
            .because(format!("{what} (after {RETRIES} retries)"))
    })
}

/// Tells the agent, which wants to stop a turn without answers, to try the refused calls again.
/// Returns the outcome if that happened too often.
pub(super) fn cut_off_in_session(work: &mut SessionWork, unanswered: &[HookId]) -> Result<String, Outcome> {
    if let Some(turn) = &mut work.turn {
        turn.unanswered.extend(unanswered.iter().cloned());
    }
    match count_interruption(work, NO_OWNER) {
        Some(outcome) => Err(outcome),
        None => Ok(prompt::after_interruption(work.node.rules(), work.node.prompt())),
    }
}

fn pause(work: &mut SessionWork, cx: &mut DecisionCx<'_>, waiting: Waiting, until: Moment, resume: bool) {
    cx.decision.news.push(News::Waiting(waiting.clone()));
    plan_wait(work, cx, until);
    work.phase = SessionPhase::Pausing { waiting, resume };
}
