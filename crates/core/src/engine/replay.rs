//! Looks back at a log: compares it with the decisions of this build, tries other settings, and
//! finds the places where a run can be forked.
//!
//! Pure: performs nothing and does not change the log. The runtime reads the log and starts the
//! fork.

use std::fmt;

use super::{Decision, apply, start};
use crate::effect::{Effect, Planned};
use crate::event::{Event, Record};
use crate::id::{EffectId, NodeId, RunId};
use crate::looping::LoopMode;
use crate::run::{News, Outcome, RunState};
use crate::spec::Spec;

/// The result of deciding a log again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    pub records: usize,
    /// The records for which this build decides something else.
    pub differences: Vec<Difference>,
    /// The state after the last record. `None` if the log does not start a run.
    pub state: Option<RunState>,
}

/// A record for which the decision differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The number of the record, counted from 1.
    pub seq: u64,
    /// The difference, for people.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}: {}", self.seq, self.what)
    }
}

/// The result of deciding a log with other settings.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    pub records: usize,
    /// The first record for which the decision differs. `None` if all are the same.
    pub differs: Option<Difference>,
    /// The state at that record, or at the end of the log. `None` if the log does not start a run.
    pub state: Option<RunState>,
}

impl WhatIf {
    /// Returns the outcome of the run, if it would have ended by then.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.state.as_ref().and_then(RunState::outcome)
    }
}

/// The reason why a run cannot be forked at a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    #[error("the log does not start with a run")]
    NoRun,
    #[error("`{node}` never ran")]
    NeverRan { node: NodeId },
    /// The node did not run that often.
    #[error("`{node}` ran {}, so there is no {} time", often(*times), ordinal(*wanted))]
    NotSoOften {
        node: NodeId,
        /// The number of times that it ran.
        times: u32,
        /// The requested time, counted from 1.
        wanted: u32,
    },
    /// All turns of the node share one session.
    #[error("all turns of `{node}` are in one agent session, and a fork cannot start in the middle of it")]
    InSession { node: NodeId },
    /// Other work was in progress, and its outcome is not known at that point.
    #[error(
        "other work was in progress when `{node}` started: {}; fork at a node that ran alone",
        names(open)
    )]
    Busy {
        node: NodeId,
        /// The open effects.
        open: Vec<EffectId>,
    },
}

/// Formats a number of times.
fn often(times: u32) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

/// Formats an ordinal: `1st`, `2nd`, `3rd`, `11th`.
fn ordinal(place: u32) -> String {
    let end = match (place % 10, place % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{place}{end}")
}

fn names(ids: &[EffectId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Decides a whole log again and compares the decisions with the recorded ones.
pub fn replay(run: RunId, records: &[Record]) -> Replayed {
    let mut differences = Vec::new();
    let mut state = None;
    for (seq, record) in (1..).zip(records) {
        let what = match again(&mut state, &run, record) {
            Some(step) => compare(record, &step),
            None => Some("no run started before it".to_owned()),
        };
        differences.extend(what.map(|what| Difference { seq, what }));
    }
    Replayed { records: records.len(), differences, state }
}

/// Decides a log with other settings, up to the first record for which the decision differs. The
/// events after it would not have happened.
pub fn what_if(run: RunId, records: &[Record], change: impl Fn(&mut Spec)) -> WhatIf {
    let mut state = None;
    for (seq, record) in (1..).zip(records) {
        let step = match &record.event {
            Event::RunStarted { spec } if state.is_none() => {
                let mut spec = spec.clone();
                change(&mut spec);
                let event = Event::RunStarted { spec };
                again(&mut state, &run, &Record { event, ..record.clone() })
            }
            _ => again(&mut state, &run, record),
        };
        let what = step.and_then(|step| compare(record, &step));
        if let Some(what) = what {
            return WhatIf { records: records.len(), differs: Some(Difference { seq, what }), state };
        }
    }
    WhatIf { records: records.len(), differs: None, state }
}

/// Finds the record that made a node start. A fork copies the records before it and then applies
/// its event again.
///
/// `iteration` selects one of the node's starts, counted from 1; the default is the first. In a run
/// of one session it selects a turn.
pub fn fork_point(records: &[Record], node: &NodeId, iteration: Option<u32>) -> Result<usize, ForkError> {
    let Some(Event::RunStarted { spec }) = records.first().map(|record| &record.event) else {
        return Err(ForkError::NoRun);
    };
    let only = spec.only_session();
    let begins = match only {
        Some(_) => turns(records, node),
        None => times(records, node),
    };
    let rules = only.and_then(|(_, session_settings)| session_settings.rules.as_ref());
    let is_in_one_session =
        rules.is_some_and(|rules| matches!(rules.mode, LoopMode::InSession | LoopMode::Plugin));
    let times = u32::try_from(begins.len()).unwrap_or(u32::MAX);
    let wanted = iteration.unwrap_or(1);
    let place = usize::try_from(wanted).ok().and_then(|wanted| wanted.checked_sub(1));
    let found = place.and_then(|place| begins.get(place)).copied();
    let found = found.ok_or_else(|| match times {
        1.. if rules.is_some_and(|rules| rules.mode == LoopMode::Plugin) => {
            // The plugin makes its own turns, and they leave no trace in the log.
            ForkError::InSession { node: node.clone() }
        }
        0 => ForkError::NeverRan { node: node.clone() },
        times => ForkError::NotSoOften { node: node.clone(), times, wanted },
    })?;
    let open = other_work(records, found);
    let node = node.clone();
    match open.is_empty() {
        true => Ok(found),
        false if is_in_one_session => Err(ForkError::InSession { node }),
        false => Err(ForkError::Busy { node, open }),
    }
}

/// Decides one record again. Returns `None` if no run has started yet.
pub(super) fn again(state: &mut Option<RunState>, run: &RunId, record: &Record) -> Option<Decision> {
    match (state.as_mut(), &record.event) {
        (None, Event::RunStarted { spec }) => {
            let (begun, step) = start(run.clone(), (**spec).clone(), record.at);
            *state = Some(begun);
            Some(step)
        }
        (None, _) => None,
        (Some(state), event) => Some(apply(state, record.at, event)),
    }
}

/// Describes the first difference between a record and a decision.
fn compare(record: &Record, step: &Decision) -> Option<String> {
    let effects = lists("does", &record.effects, &step.effects, |planned| planned.id.to_string());
    effects.or_else(|| lists("reports", &record.news, &step.news, describe))
}

fn lists<T: PartialEq>(verb: &str, recorded: &[T], now: &[T], name: impl Fn(&T) -> String) -> Option<String> {
    if recorded == now {
        return None;
    }
    let same = recorded.iter().zip(now).take_while(|(recorded, now)| recorded == now).count();
    let (was, is) = (recorded.get(same).map(&name), now.get(same).map(&name));
    Some(match (was, is) {
        (Some(was), Some(is)) if was == is => format!("it {verb} `{was}` differently"),
        (Some(was), Some(is)) => format!("it {verb} `{is}` instead of `{was}`"),
        (Some(was), None) => format!("it no longer {verb} `{was}`"),
        (None, Some(is)) => format!("it also {verb} `{is}`"),
        (None, None) => format!("what it {verb} is different"),
    })
}

/// Describes a piece of news in a few words.
fn describe(news: &News) -> String {
    match news {
        News::SessionStarted { node, .. } => format!("session started: {node}"),
        News::HookDecided { hook, .. } => format!("hook decided: {hook}"),
        News::IterationFinished { node, iteration, .. } => format!("turn {iteration} finished: {node}"),
        News::Waiting(_) => "waiting".to_owned(),
        News::WaitOver => "wait over".to_owned(),
        News::TakenOver => "taken over".to_owned(),
        News::Continued { .. } => "continued".to_owned(),
        News::Paused => "paused".to_owned(),
        News::GoesOn => "resumed".to_owned(),
        News::Odd { node, .. } => format!("warning: {node}"),
        News::NodeStarted { node, .. } => format!("node started: {node}"),
        News::NodeFinished { node, outcome, .. } => format!("node {}: {node}", outcome.status.word()),
        News::NodeHeld { node } => format!("node deferred: {node}"),
        News::NodeSkipped { node, .. } => format!("node skipped: {node}"),
        News::Round { node, round, .. } => format!("round {round}: {node}"),
        News::Task { task, .. } => format!("task: {task}"),
        News::Conflict { task, .. } => format!("conflict: {task}"),
        News::Retrying { node, attempt, .. } => format!("try {attempt}: {node}"),
        News::HandedOver { node, to, .. } => format!("handed over to {to}: {node}"),
        News::Finished { outcome, .. } => format!("finished: {}", outcome.status.word()),
    }
}

/// Returns the records at which the turns of the only session started, in whatever process.
fn turns(records: &[Record], node: &NodeId) -> Vec<usize> {
    let mut begins = Vec::new();
    for (place, record) in records.iter().enumerate() {
        for planned in record.effects.iter().filter(|planned| is_of(&planned.id.node, node)) {
            let turn = usize::try_from(planned.id.iteration).unwrap_or(usize::MAX);
            let begins_turn = match &planned.effect {
                Effect::Prepare { .. } => begins.is_empty(),
                Effect::StartSession(_) | Effect::MarkTracker { .. } => turn == begins.len() + 1,
                Effect::AnswerHook { answer: crate::hook::HookAnswer::Block { .. }, .. } => {
                    turn == begins.len() + 1
                }
                _ => false,
            };
            if begins_turn {
                begins.push(place);
            }
        }
    }
    begins
}

/// Returns the records at which the node started, in each iteration and attempt.
fn times(records: &[Record], node: &NodeId) -> Vec<usize> {
    let mut begins = Vec::new();
    for (place, record) in records.iter().enumerate() {
        let starts = |news: &&News| matches!(news, News::NodeStarted { node: name, .. } if is_of(name, node));
        begins.extend(record.news.iter().filter(starts).map(|_| place));
    }
    begins
}

/// Decides whether an id is an instance of the node.
fn is_of(instance: &NodeId, node: &NodeId) -> bool {
    let rest = instance.as_str().strip_prefix(node.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '~']))
}

/// Returns the effects that were in progress at a record, except those that the record settles. A
/// wait does not count, because it can be repeated.
fn other_work(records: &[Record], place: usize) -> Vec<EffectId> {
    let before = records.iter().take(place);
    let Some(state) = super::fold(RunId::new("fork"), before) else { return Vec::new() };
    let mut after = state.clone();
    if let Some(record) = records.get(place) {
        apply(&mut after, record.at, &record.event);
    }
    let is_work = |planned: &&Planned| !matches!(planned.effect, Effect::WaitUntil { .. });
    let is_open_still = |planned: &&Planned| after.bookkeeping.open.iter().any(|open| open.id == planned.id);
    let open = state.bookkeeping.open.iter().filter(is_work).filter(is_open_still);
    open.map(|planned| planned.id.clone()).collect()
}
