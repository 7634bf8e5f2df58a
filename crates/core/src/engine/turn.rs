//! Turns: how one begins, and what is made of it when it is over.

use super::{Step, ending, plan};
use crate::effect::{Effect, SessionPlan};
use crate::graph::NodeKind;
use crate::hook::Answer;
use crate::id::{HookId, SessionId, Verb, derive_session};
use crate::looping::verdict::{CheckResult, Sight, Verdict, ends_before_checks, judge};
use crate::looping::{Mode, prompt};
use crate::run::{News, Outcome, Phase, Reason, State, Status, Turn};
use crate::time::Moment;

/// Milliseconds an agent that may stop has for doing so by itself.
const CLOSING_MS: u64 = 60_000;

/// Everything is in place: the first turn begins.
pub(super) fn prepared(state: &mut State, step: &mut Step, fingerprint: &str, error: Option<&str>) {
    if state.phase != Phase::Preparing {
        return;
    }
    state.open.clear();
    if let Some(why) = error {
        return ending::end(state, step, Outcome::new(Status::Failed, Reason::PrepareFailed).because(why));
    }
    state.fingerprint = fingerprint.to_owned();
    begin(state, step);
}

/// Begins the next turn, in a new session or, where the mode says so, in the one there is.
fn begin(state: &mut State, step: &mut Step) {
    let feedback = state.feedback.take();
    let goes_on = state.turns > 0 && mode(state) != Some(Mode::Fresh);
    let (session, text) = match (&state.session, state.spec.node.rules()) {
        (Some(session), Some(rules)) if goes_on => {
            (session.clone(), prompt::continuing(rules, feedback.as_deref()))
        }
        (_, Some(rules)) => {
            (new_session(state), prompt::opening(rules, state.turns + 1, feedback.as_deref()))
        }
        (_, None) => (new_session(state), state.spec.node.prompt().to_owned()),
    };
    start_session(state, step, session, goes_on, text);
}

/// Tries the same turn again, in the conversation there is or in a new one.
pub(super) fn begin_again(state: &mut State, step: &mut Step, resume: bool) {
    state.attempt += 1;
    match state.session.clone().filter(|_| resume) {
        Some(session) => {
            let text = prompt::after_interruption(state.spec.node.rules());
            start_session(state, step, session, true, text);
        }
        None => begin(state, step),
    }
}

fn new_session(state: &State) -> SessionId {
    derive_session(&state.spec.seed, &state.spec.node.id, state.turns + 1, state.attempt)
}

fn start_session(state: &mut State, step: &mut Step, session: SessionId, resume: bool, text: String) {
    mark(state, step);
    state.session = Some(session.clone());
    let deadline = state.deadline();
    let holds_stop = mode(state) == Some(Mode::InSession) || mode(state) == Some(Mode::Plugin);
    let session_plan = SessionPlan { session, resume, prompt: text, holds_stop, deadline };
    let effect = plan(state, step, Verb::Session, Effect::StartSession(session_plan));
    state.turn =
        Some(Turn { effect, resumed: resume, started: false, tool_hooks: 0, stops: 0, owner_changed: false });
    state.phase = Phase::InTurn;
}

/// Shows people which turn is under way.
fn mark(state: &mut State, step: &mut Step) {
    if state.spec.node.rules().is_some_and(|rules| rules.tracker_path.is_some()) {
        let iteration = state.turns + 1;
        plan(state, step, Verb::Mark, Effect::MarkTracker { iteration, active: true });
    }
}

/// A turn is over, by its Stop hook or by its process: look at what it left.
pub(super) fn look(state: &mut State, step: &mut Step, hook: Option<HookId>, last_message: Option<String>) {
    state.phase = Phase::Judging { hook, sight: None };
    plan(state, step, Verb::Inspect, Effect::Inspect { last_message });
}

/// Tracker and repository were looked at: run the checks where they can still change anything.
pub(super) fn inspected(state: &mut State, step: &mut Step, at: Moment, seen: &Sight) {
    let Phase::Judging { sight, .. } = &mut state.phase else { return };
    *sight = Some(seen.clone());
    if state.spec.checks.is_empty() || ends_before_checks(seen).is_some() {
        return conclude(state, step, at, &[]);
    }
    plan(state, step, Verb::Checks, Effect::RunChecks);
}

/// The checks have run.
pub(super) fn checked(state: &mut State, step: &mut Step, at: Moment, results: &[CheckResult]) {
    if matches!(state.phase, Phase::Judging { .. }) {
        conclude(state, step, at, results);
    }
}

/// Counts the turn and judges it.
fn conclude(state: &mut State, step: &mut Step, at: Moment, results: &[CheckResult]) {
    let Phase::Judging { hook, sight: Some(sight) } = state.phase.clone() else { return };
    let iteration = count_turn(state, &sight);
    let verdict = verdict(state, &sight, results);
    step.news.push(News::IterationFinished {
        iteration,
        checks: results.iter().map(|check| (check.name.clone(), check.passed)).collect(),
        goes_on: matches!(verdict, Verdict::Next { .. }),
        feedback: match &verdict {
            Verdict::Next { feedback } => feedback.clone(),
            Verdict::End(_) => None,
        },
    });
    match verdict {
        Verdict::End(outcome) => close(state, step, at, hook, outcome),
        Verdict::Next { feedback } => go_on(state, step, hook, feedback),
    }
}

fn count_turn(state: &mut State, sight: &Sight) -> u32 {
    state.turns += 1;
    state.attempt = 1;
    state.transient = 0;
    state.interrupted = 0;
    state.rate_limits = 0;
    state.idle_turns = if sight.fingerprint == state.fingerprint { state.idle_turns + 1 } else { 0 };
    state.fingerprint.clone_from(&sight.fingerprint);
    state.turns
}

fn verdict(state: &State, sight: &Sight, results: &[CheckResult]) -> Verdict {
    let rules = match &state.spec.node.kind {
        NodeKind::Loop(rules) => rules,
        NodeKind::Prompt { .. } => return Verdict::End(single_turn(results)),
    };
    match judge(rules, state.turns, state.idle_turns, sight, results) {
        Verdict::Next { .. } if rules.mode == Mode::Plugin => Verdict::End(
            Outcome::new(Status::Failed, Reason::PluginStopped)
                .because("the ralph-loop plugin let the agent stop before it was done"),
        ),
        verdict => verdict,
    }
}

fn single_turn(results: &[CheckResult]) -> Outcome {
    let failed: Vec<&str> = results.iter().filter(|c| !c.passed).map(|c| c.name.as_str()).collect();
    if failed.is_empty() {
        return Outcome::new(Status::Completed, Reason::TurnDone);
    }
    Outcome::new(Status::Failed, Reason::ChecksFailed).because(format!("failed: {}", failed.join(", ")))
}

/// It is decided how the run ends. A waiting Stop hook may stop, and the agent gets the time
/// to do so by itself, so that its last words and its spending are in the stream.
fn close(state: &mut State, step: &mut Step, at: Moment, hook: Option<HookId>, outcome: Outcome) {
    if let Some(hook) = hook {
        super::hooks::answer(state, step, &hook, "stop", None, Answer::Pass);
    }
    if state.turn.is_none() {
        return ending::end(state, step, outcome);
    }
    state.phase = Phase::Closing { outcome };
    plan(state, step, Verb::Wait, Effect::WaitUntil { until: at.plus_ms(CLOSING_MS) });
}

/// Another turn: in the living session by its Stop hook, or in a process of its own.
fn go_on(state: &mut State, step: &mut Step, hook: Option<HookId>, feedback: Option<String>) {
    match (hook, state.spec.node.rules()) {
        (Some(hook), Some(rules)) if state.turn.is_some() => {
            let reason = prompt::continuing(rules, feedback.as_deref());
            mark(state, step);
            super::hooks::answer(state, step, &hook, "stop", None, Answer::Block { reason });
            state.phase = Phase::InTurn;
        }
        _ => {
            state.feedback = feedback;
            begin(state, step);
        }
    }
}

/// A wait is over: the turn is tried again, or an agent that should have stopped is stopped.
pub(super) fn wait_over(state: &mut State, step: &mut Step) {
    match state.phase.clone() {
        Phase::Pausing { resume, .. } => {
            step.news.push(News::WaitOver);
            begin_again(state, step, resume);
        }
        Phase::Closing { outcome } => ending::end(state, step, outcome),
        _ => {}
    }
}

/// How the loop goes on, when it is one.
pub(super) fn mode(state: &State) -> Option<Mode> {
    state.spec.node.rules().map(|rules| rules.mode)
}
