//! The one place where a run moves on: `apply(state, event) -> Step`.
//!
//! Pure: the same events give the same state, effects and news, which is what recovery and
//! replay rest on. A family of events has a file each; committing a step before acting on it
//! is the runtime's duty.

mod ending;
mod hooks;
mod session;
#[cfg(test)]
mod tests;
mod turn;

use crate::effect::{Effect, Planned};
use crate::event::{Event, RECORD_VERSION, Record};
use crate::hook::Answer;
use crate::id::{EffectId, RunId, Verb};
use crate::run::{News, Phase, State};
use crate::spec::Spec;
use crate::time::Moment;
use crate::usage::Usage;

/// Hook answers remembered for resends.
const ANSWERS_KEPT: usize = 64;

/// What follows from a fact.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// What is to be done.
    pub effects: Vec<Planned>,
    /// What people are told.
    pub news: Vec<News>,
}

impl Step {
    /// Whether its commit must be on disk before it is acted on: it starts, ends or holds
    /// something outside. A tool's permission can be decided again alike.
    pub fn needs_disk(&self) -> bool {
        self.effects.iter().any(|planned| match &planned.effect {
            Effect::AnswerHook { answer, .. } => matches!(answer, Answer::Block { .. }),
            Effect::MarkTracker { .. } | Effect::Inspect { .. } => false,
            Effect::Prepare
            | Effect::StartSession(_)
            | Effect::KillChildren
            | Effect::RunChecks
            | Effect::WaitUntil { .. }
            | Effect::CleanUp { .. } => true,
        })
    }

    /// The record that is committed for it.
    pub fn record(&self, at: Moment, event: Event) -> Record {
        Record { v: RECORD_VERSION, at, event, effects: self.effects.clone(), news: self.news.clone() }
    }
}

/// Begins a run.
pub fn start(run: RunId, spec: Spec, at: Moment) -> (State, Step) {
    let mut state = State {
        run,
        started: at,
        spec,
        phase: Phase::Preparing,
        turns: 0,
        attempt: 1,
        transient: 0,
        interrupted: 0,
        rate_limits: 0,
        session: None,
        turn: None,
        feedback: None,
        fingerprint: String::new(),
        base: None,
        idle_turns: 0,
        usage: Usage::default(),
        asks: Vec::new(),
        answered: Default::default(),
        open: Vec::new(),
        last_message: None,
    };
    let mut step = Step::default();
    plan(&mut state, &mut step, Verb::Prepare, Effect::Prepare);
    (state, step)
}

/// Applies a fact to a run. A run that is over no longer changes; a fact that settles nothing
/// open is ignored.
pub fn apply(state: &mut State, at: Moment, event: &Event) -> Step {
    let mut step = Step::default();
    if state.is_done() && !matches!(event, Event::HookAsked { .. }) {
        return step;
    }
    match event {
        Event::RunStarted { .. } => {}
        Event::OwnerChanged => take_over(state, &mut step),
        Event::Prepared { fingerprint, base, error } => {
            state.base.clone_from(base);
            turn::prepared(state, &mut step, fingerprint, error.as_deref())
        }
        Event::SessionStarted { effect, session } => session::started(state, &mut step, effect, session),
        Event::SessionEnded { effect, end } => {
            if settle(state, effect) {
                session::ended(state, &mut step, at, effect, end);
            }
        }
        Event::HookAsked { call } => hooks::asked(state, &mut step, call),
        Event::Inspected { effect, sight } => {
            if settle(state, effect) {
                turn::inspected(state, &mut step, at, sight);
            }
        }
        Event::ChecksFinished { effect, results } => {
            if settle(state, effect) {
                turn::checked(state, &mut step, at, results);
            }
        }
        Event::WaitOver { effect } => {
            if settle(state, effect) {
                turn::wait_over(state, &mut step);
            }
        }
        Event::RunTimedOut => ending::timed_out(state, &mut step),
        Event::CancelAsked { .. } => ending::cancelled(state, &mut step),
        Event::PersonAnswered { hook, reply, .. } => {
            hooks::person_answered(state, &mut step, hook.as_ref(), reply)
        }
        Event::CleanedUp => ending::cleaned_up(state, &mut step),
    }
    step
}

/// Folds a whole log: the state a crash left behind.
pub fn fold<'a>(run: RunId, records: impl IntoIterator<Item = &'a Record>) -> Option<State> {
    let mut state: Option<State> = None;
    for record in records {
        match (&mut state, &record.event) {
            (None, Event::RunStarted { spec }) => {
                state = Some(start(run.clone(), (**spec).clone(), record.at).0);
            }
            (None, _) => return None,
            (Some(state), event) => {
                apply(state, record.at, event);
            }
        }
    }
    state
}

fn take_over(state: &mut State, step: &mut Step) {
    if let Some(turn) = &mut state.turn {
        turn.owner_changed = true;
    }
    step.news.push(News::TakenOver);
}

/// Plans an effect of the turn under way.
fn plan(state: &mut State, step: &mut Step, verb: Verb, effect: Effect) -> EffectId {
    let id = EffectId {
        node: state.spec.node.id.clone(),
        iteration: state.turns + 1,
        attempt: state.attempt,
        verb,
    };
    let planned = Planned { id: id.clone(), effect };
    if planned.effect.is_settled_by_an_event() {
        state.open.push(planned.clone());
    }
    step.effects.push(planned);
    id
}

/// Closes an open effect; false when it was not open, so that a late outcome changes nothing.
fn settle(state: &mut State, effect: &EffectId) -> bool {
    let before = state.open.len();
    state.open.retain(|planned| planned.id != *effect);
    state.open.len() < before
}
