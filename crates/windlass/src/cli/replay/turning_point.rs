//! Finds where and how a run would have differed with other settings.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_core::effect::{Effect, Planned};
use windlass_core::engine::{self, Difference};
use windlass_core::event::{Event, Record};
use windlass_core::graph::workflow::Budget;
use windlass_core::id::{EffectId, NodeId, RunId, Verb};
use windlass_core::run::{Lifecycle, Outcome, RunState, SessionPhase, SessionWork, Spent};

use super::super::feed::{envelope, words};
use super::super::invocation::print;
use super::super::report::Report;
use super::super::sanitize::plain_line;
use super::change::{ChangedSetting, SettingChange};
use super::{ReplayedLog, many, of_whom, started_in};
use crate::exit::Exit;

/// The first record at which the run would have differed.
struct TurningPoint {
    /// The number of the record, from 1.
    seq: u64,
    how: How,
    /// The runs that would be in progress there.
    starts: Vec<RunId>,
}

impl TurningPoint {
    /// Returns the point for a run that its parent would have started differently, or not at all.
    fn unborn(how: How) -> TurningPoint {
        TurningPoint { seq: 1, how, starts: Vec::new() }
    }
}

/// The way in which a run would have differed.
enum How {
    /// The run would have ended.
    Ended(Outcome),
    /// The run would have continued.
    GoneOn,
    /// A node of the run would have ended.
    NodeEnded(NodeId, Outcome),
    /// Anything else, in words.
    Otherwise(String),
    /// The run would not have been started.
    NotStarted,
    /// The parent would have differed before it started this run.
    Unknown,
}

impl How {
    fn word(&self) -> &'static str {
        match self {
            How::Ended(_) => "ended",
            How::GoneOn => "gone_on",
            How::NodeEnded(..) => "node_ended",
            How::Otherwise(_) => "otherwise",
            How::NotStarted => "not_started",
            How::Unknown => "unknown",
        }
    }

    fn outcome(&self) -> Option<&Outcome> {
        match self {
            How::Ended(outcome) | How::NodeEnded(_, outcome) => Some(outcome),
            How::GoneOn | How::Otherwise(_) | How::NotStarted | How::Unknown => None,
        }
    }

    fn text(&self) -> String {
        let so = |outcome: &Outcome| format!("{} ({})", outcome.status.word(), outcome.reason.word());
        match self {
            How::Ended(outcome) => format!("it would have ended here: {}", so(outcome)),
            How::GoneOn => "it would have continued here".to_owned(),
            How::NodeEnded(node, outcome) => format!("`{node}` would have ended here: {}", so(outcome)),
            How::Otherwise(what) => format!("it would have differed here: {what}"),
            How::NotStarted => "it would not have been started".to_owned(),
            How::Unknown => "unknown: the run that started it would have differed before that".to_owned(),
        }
    }
}

/// Reports for each run where it would have differed.
pub(super) fn tell(logs: &[ReplayedLog], changes: &[SettingChange], json: bool) -> Result<Exit, Report> {
    let mut lines = Vec::new();
    let mut unborn = BTreeMap::new();
    for log in logs {
        let holds = |change: &&SettingChange| !log.is_started || change.what.is_of_each();
        let here: Vec<&SettingChange> = changes.iter().filter(holds).collect();
        if here.is_empty() {
            continue;
        }
        let turning = match unborn.remove(&log.run) {
            Some(how) => Some(TurningPoint::unborn(how)),
            None => turning(log, &here),
        };
        if let Some(turning) = &turning {
            unborn.extend(after(log, turning));
        }
        lines.push(if json { object(log, &here, turning.as_ref()) } else { line(log, turning.as_ref()) });
    }
    print(&lines)
}

/// Returns the runs that were started after the turning point, and what it means for each.
fn after(log: &ReplayedLog, turning: &TurningPoint) -> Vec<(RunId, How)> {
    let place = usize::try_from(turning.seq).ok().and_then(|seq| seq.checked_sub(1));
    let later = log.records.get(place.unwrap_or_default()..).unwrap_or_default();
    let lost = started_in(later).into_iter().filter(|run| !turning.starts.contains(run));
    let how = || match turning.how {
        How::Ended(_) | How::NotStarted => How::NotStarted,
        How::GoneOn | How::NodeEnded(..) | How::Otherwise(_) | How::Unknown => How::Unknown,
    };
    lost.map(|run| (run, how())).collect()
}

fn line(log: &ReplayedLog, turning: Option<&TurningPoint>) -> String {
    let whole = many(log.records.len());
    let found = match turning {
        None => format!("{}: nothing changes", words::count(whole, "record")),
        Some(TurningPoint { how: how @ (How::NotStarted | How::Unknown), .. }) => how.text(),
        Some(turning) => format!("record {} of {whole}: {}", turning.seq, turning.how.text()),
    };
    format!("{}{}", of_whom(log), plain_line(&found))
}

fn object(log: &ReplayedLog, changes: &[&SettingChange], turning: Option<&TurningPoint>) -> String {
    let differs = turning.map(|turning| {
        json!({"record": turning.seq, "how": turning.how.word(), "outcome": turning.how.outcome(),
            "what": turning.how.text()})
    });
    let typed: Vec<Value> = changes.iter().map(|change| change.typed.as_str().into()).collect();
    let data =
        json!({"workflow": log.workflow, "what_if": typed, "records": log.records.len(), "differs": differs});
    envelope("run.what_if", words::now(), Some(&log.run), data)
}

/// Returns the first record at which the run would have differed.
fn turning(log: &ReplayedLog, changes: &[&SettingChange]) -> Option<TurningPoint> {
    let timeout = changes.iter().rev().find_map(|change| match change.what {
        ChangedSetting::Timeout(ms) => Some(ms),
        _ => None,
    });
    let in_time = timeout.and_then(|ms| timed(&log.run, &log.records, ms));
    let mut records = log.records.clone();
    let ordered = loop {
        let ordered = engine::what_if(log.run.clone(), &records, |spec| {
            changes.iter().for_each(|change| change.what.order(spec));
        });
        let (Some(difference), Some(now)) = (&ordered.differs, &ordered.state) else { break ordered };
        if !budgets_suffice(&mut records, difference.seq, now) {
            break ordered;
        }
    };
    let ordered =
        ordered.differs.zip(ordered.state).map(|(difference, now)| of_orders(log, difference, &now));
    ordered.into_iter().chain(in_time).min_by_key(|turning| turning.seq)
}

/// Ignores a difference that is only in the budget of a started run, if that run would have had enough:
/// copies the new budget into the record. Returns whether it changed a record.
fn budgets_suffice(records: &mut [Record], seq: u64, now: &RunState) -> bool {
    let place = usize::try_from(seq).ok().and_then(|seq| seq.checked_sub(1));
    let Some((place, record)) = place.and_then(|place| Some((place, records.get(place)?))) else {
        return false;
    };
    let mut ordered = record.effects.clone();
    for planned in &mut ordered {
        let Effect::StartRun { spec, .. } = &mut planned.effect else { continue };
        let other = now.bookkeeping.open.iter().find(|open| open.id == planned.id).map(|open| &open.effect);
        let Some(Effect::StartRun { spec: other, .. }) = other else { return false };
        if is_enough(&other.budget, spent_by(records, &planned.id)) {
            spec.budget = other.budget;
        }
    }
    match records.get_mut(place) {
        Some(record) if record.effects != ordered => {
            record.effects = ordered;
            true
        }
        _ => false,
    }
}

/// Returns what a started run spent, as far as the records say.
fn spent_by(records: &[Record], effect: &EffectId) -> Spent {
    let spent = records.iter().rev().find_map(|record| match &record.event {
        Event::RunEnded { effect: of, end } if of == effect => Some(end.spent),
        Event::RunSpent { effect: of, spent } if of == effect => Some(*spent),
        _ => None,
    });
    spent.unwrap_or_default()
}

fn is_enough(budget: &Budget, spent: Spent) -> bool {
    let Spent { turns, usage, .. } = spent;
    let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
    budget.turns.is_none_or(|most| turns <= most)
        && budget.tokens.is_none_or(|most| tokens < most)
        && budget.cost_usd.is_none_or(|most| usage.cost_usd.unwrap_or(0.0) < most)
}

/// Describes the first difference that other settings make.
fn of_orders(log: &ReplayedLog, difference: Difference, now: &RunState) -> TurningPoint {
    let Difference { seq, what } = difference;
    let taken = usize::try_from(seq).unwrap_or(usize::MAX);
    let was = engine::fold(log.run.clone(), log.records.iter().take(taken));
    let before = was.as_ref().and_then(decided);
    let how = match (decided(now), before) {
        (Some(outcome), before) if before != Some(outcome) => How::Ended(outcome.clone()),
        (None, Some(_)) => How::GoneOn,
        _ => node_ended(now, was.as_ref())
            .unwrap_or_else(|| How::Otherwise(was.and_then(|was| other_work(&was, now)).unwrap_or(what))),
    };
    let starts = now.bookkeeping.open.iter().filter_map(|planned| match &planned.effect {
        Effect::StartRun { run, .. } => Some(run.clone()),
        _ => None,
    });
    TurningPoint { seq, how, starts: starts.collect() }
}

/// Describes the work that would be in progress and was not. Returns `None` if it is the same.
fn other_work(was: &RunState, now: &RunState) -> Option<String> {
    let lacks = |state: &RunState, id: &EffectId| state.bookkeeping.open.iter().all(|open| open.id != *id);
    let old =
        was.bookkeeping.open.iter().find(|planned| lacks(now, &planned.id)).map(|planned| work(&planned.id));
    let new =
        now.bookkeeping.open.iter().find(|planned| lacks(was, &planned.id)).map(|planned| work(&planned.id));
    Some(match (old, new) {
        (Some(old), Some(new)) => format!("{new} instead of {old}"),
        (Some(old), None) => format!("without {old}"),
        (None, Some(new)) => format!("{new} in addition"),
        (None, None) => {
            let differs = |planned: &&Planned| {
                was.bookkeeping.open.iter().any(|open| open.id == planned.id && open.effect != planned.effect)
            };
            format!("{} in another way", work(&now.bookkeeping.open.iter().find(differs)?.id))
        }
    })
}

/// Describes an effect: what it does, and for which node.
fn work(id: &EffectId) -> String {
    let what = match id.verb {
        Verb::Prepare => "the preparation",
        Verb::Session => "a turn",
        Verb::Kill => "the kill",
        Verb::Inspect => "the inspection of the folder",
        Verb::Checks => "the checks",
        Verb::Shell => "the command",
        Verb::Run => "the run",
        Verb::Claim => "the choice of a task",
        Verb::Settle => "the result of a task",
        Verb::Worktree => "the worktree",
        Verb::Land => "the landing",
        Verb::Timeout => "the time limit",
        Verb::Retry => "the wait for another try",
        Verb::Defer => "the pause",
        Verb::Answer => "the answer to a hook",
        Verb::Wait => "the wait",
        Verb::Mark => "the change of the tracker",
        Verb::CleanUp => "the cleanup",
    };
    format!("{what} of `{}`", id.node)
}

/// Returns how the run will end, once that is decided.
fn decided(state: &RunState) -> Option<&Outcome> {
    match &state.lifecycle {
        Lifecycle::Ending { outcome } | Lifecycle::Finally { outcome } | Lifecycle::Done { outcome } => {
            Some(outcome)
        }
        Lifecycle::Running => {
            state.spec.only_session()?;
            state.works().first().and_then(|work| ending(work))
        }
    }
}

fn ending(work: &SessionWork) -> Option<&Outcome> {
    match &work.phase {
        SessionPhase::Closing { outcome } | SessionPhase::Ending { outcome } => Some(outcome),
        _ => None,
    }
}

/// Returns the session that would have ended here and did not.
fn node_ended(now: &RunState, was: Option<&RunState>) -> Option<How> {
    let went_on = |work: &SessionWork| was.and_then(|was| was.work(&work.node.id)).and_then(ending).is_none();
    let ended = now.works().into_iter().find(|work| ending(work).is_some() && went_on(work))?;
    Some(How::NodeEnded(ended.node.id.clone(), ending(ended)?.clone()))
}

/// Finds where another timeout would have ended the run, or would not have. The owner of a run compares
/// the clock with the deadline, so this function compares the times of the records.
fn timed(run: &RunId, records: &[Record], ms: u64) -> Option<TurningPoint> {
    let mut log = (1..).zip(records);
    let (_, first) = log.next()?;
    let mut state = engine::fold(run.clone(), [first])?;
    let ms = state.spec.budget.time_ms.map_or(ms, |other| other.min(ms));
    let deadline = state.started.plus_ms(ms);
    for (seq, record) in log {
        let is_timeout = matches!(record.event, Event::RunTimedOut);
        if is_timeout && record.at < deadline {
            return Some(TurningPoint { seq, how: How::GoneOn, starts: Vec::new() });
        }
        if !is_timeout && record.at >= deadline && matches!(state.lifecycle, Lifecycle::Running) {
            let mut ended = state.clone();
            engine::apply(&mut ended, deadline, &Event::RunTimedOut);
            if let Some(outcome) = decided(&ended).filter(|outcome| decided(&state) != Some(*outcome)) {
                return Some(TurningPoint { seq, how: How::Ended(outcome.clone()), starts: Vec::new() });
            }
        }
        engine::apply(&mut state, record.at, &record.event);
    }
    None
}
