//! Looks back at a log: is it what would be decided today, what if its orders had been others, and where can
//! a run be forked from it.
//!
//! Pure: nothing is performed, and the log is not changed. Reading it, and beginning the fork, are
//! the runtime's.

use std::fmt;

use super::{Decision, apply, start};
use crate::effect::{Effect, Planned};
use crate::event::{Event, Record};
use crate::id::{EffectId, NodeId, RunId};
use crate::looping::LoopMode;
use crate::run::{News, Outcome, RunState};
use crate::spec::Spec;

/// A log, decided again.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// How many records it has.
    pub records: usize,
    /// Where something else is decided today.
    pub differences: Vec<Difference>,
    /// Where the run stands by its facts; nothing where the log has no beginning.
    pub state: Option<RunState>,
}

/// A record of which something else would come today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which, from 1.
    pub seq: u64,
    /// What is different.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}: {}", self.seq, self.what)
    }
}

/// A log with other orders.
#[derive(Debug, Clone, PartialEq)]
pub struct WhatIf {
    /// How many records it has.
    pub records: usize,
    /// The first record from which something else comes; nothing where all is the same.
    pub differs: Option<Difference>,
    /// Where the run would stand there, or at the end of the log; nothing where it has no beginning.
    pub state: Option<RunState>,
}

impl WhatIf {
    /// How the run would have ended by then, if it would.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.state.as_ref().and_then(RunState::outcome)
    }
}

/// Why a run cannot be forked at a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    /// The log is not one of a run.
    #[error("the log does not begin with a run")]
    NoRun,
    /// The node never began.
    #[error("`{node}` never ran")]
    NeverRan {
        /// The node.
        node: NodeId,
    },
    /// It did not run that often.
    #[error("`{node}` ran {}, so there is no {} time", often(*times), ordinal(*wanted))]
    NotSoOften {
        /// The node.
        node: NodeId,
        /// How often it ran.
        times: u32,
        /// Which time was meant.
        wanted: u32,
    },
    /// Its turns are in one session.
    #[error("all turns of `{node}` are in one agent session, which cannot be begun in its middle")]
    InSession {
        /// The node.
        node: NodeId,
    },
    /// Something else was under way, whose outcome is not known there.
    #[error("when `{node}` began, other work was under way: {}; fork at a node that ran alone", names(open))]
    Busy {
        /// The node.
        node: NodeId,
        /// What was open.
        open: Vec<EffectId>,
    },
}

/// A count of times, in words.
fn often(times: u32) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

/// A place in a row: `1st`, `2nd`, `3rd`, `11th`.
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

/// Decides a whole log again, and compares.
pub fn replay(run: RunId, records: &[Record]) -> Replayed {
    let mut differences = Vec::new();
    let mut state = None;
    for (seq, record) in (1..).zip(records) {
        let what = match again(&mut state, &run, record) {
            Some(step) => compare(record, &step),
            None => Some("there is no run before it".to_owned()),
        };
        differences.extend(what.map(|what| Difference { seq, what }));
    }
    Replayed { records: records.len(), differences, state }
}

/// Decides a log with other orders, up to the first record from which something else comes: what
/// happened after it would not have happened so.
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

/// Where in a log a node began: the place of the record that made it begin. A fork takes the
/// records before that one, and then the fact in it once more.
///
/// `iteration` is which of its times is meant, from 1; the first where nothing is said. In a run of one session
/// it is the turn.
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
            // Its turns are the plugin's own, and leave no trace in the log.
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

/// One record decided again; nothing where no run was begun yet.
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

/// What is recorded and would not be decided, or the other way round.
fn compare(record: &Record, step: &Decision) -> Option<String> {
    let effects = lists("does", &record.effects, &step.effects, |planned| planned.id.to_string());
    effects.or_else(|| lists("tells", &record.news, &step.news, told))
}

fn lists<T: PartialEq>(verb: &str, recorded: &[T], now: &[T], name: impl Fn(&T) -> String) -> Option<String> {
    if recorded == now {
        return None;
    }
    let same = recorded.iter().zip(now).take_while(|(recorded, now)| recorded == now).count();
    let (was, is) = (recorded.get(same).map(&name), now.get(same).map(&name));
    Some(match (was, is) {
        (Some(was), Some(is)) if was == is => format!("it {verb} `{was}` in another way"),
        (Some(was), Some(is)) => format!("it {verb} `{is}` instead of `{was}`"),
        (Some(was), None) => format!("it no longer {verb} `{was}`"),
        (None, Some(is)) => format!("it {verb} `{is}` besides"),
        (None, None) => format!("what it {verb} is different"),
    })
}

/// News in a word and a name.
fn told(news: &News) -> String {
    match news {
        News::SessionStarted { node, .. } => format!("session started: {node}"),
        News::HookDecided { hook, .. } => format!("hook decided: {hook}"),
        News::IterationFinished { node, iteration, .. } => format!("turn {iteration} finished: {node}"),
        News::Waiting(_) => "waiting".to_owned(),
        News::WaitOver => "wait over".to_owned(),
        News::TakenOver => "taken over".to_owned(),
        News::Paused => "paused".to_owned(),
        News::GoesOn => "goes on".to_owned(),
        News::Odd { node, .. } => format!("odd: {node}"),
        News::NodeStarted { node, .. } => format!("node started: {node}"),
        News::NodeFinished { node, outcome, .. } => format!("node {}: {node}", outcome.status.word()),
        News::NodeHeld { node } => format!("node held: {node}"),
        News::NodeSkipped { node, .. } => format!("node skipped: {node}"),
        News::Round { node, round, .. } => format!("round {round}: {node}"),
        News::Task { task, .. } => format!("task: {task}"),
        News::Retrying { node, attempt, .. } => format!("try {attempt}: {node}"),
        News::Finished { outcome, .. } => format!("finished: {}", outcome.status.word()),
    }
}

/// The records at which the turns of the only session began, whatever process they are in.
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

/// The records at which the node began, in each round and try.
fn times(records: &[Record], node: &NodeId) -> Vec<usize> {
    let mut begins = Vec::new();
    for (place, record) in records.iter().enumerate() {
        let starts = |news: &&News| matches!(news, News::NodeStarted { node: name, .. } if is_of(name, node));
        begins.extend(record.news.iter().filter(starts).map(|_| place));
    }
    begins
}

/// Whether that is the node's name in some round and try.
fn is_of(instance: &NodeId, node: &NodeId) -> bool {
    let rest = instance.as_str().strip_prefix(node.as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '~']))
}

/// What was under way when the record came, but for what it settles. A wait is no work: it can be
/// waited for twice.
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
