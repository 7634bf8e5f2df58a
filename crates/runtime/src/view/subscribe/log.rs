//! One followed run: its log and the transcripts of its turns, up to the last reported update.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use windlass_core::agent::AgentEvent;
use windlass_core::event::{Event, Record};
use windlass_core::hook::{HookCall, HookKind};
use windlass_core::id::{EffectId, NodeId, RunId};
use windlass_core::run::{News, Outcome};
use windlass_core::time::Moment;
use windlass_peers::agent::Dialect;
use windlass_store::ReadError;

use super::cursor::{RunPlace, TurnPlace};
use super::order::{LineAhead, ToldLines, find_line};
use super::{AgentWords, RunChange, RunUpdate};
use crate::clock;
use crate::error::RunError;
use crate::handle::Handle;
use crate::transcript::{TranscriptPlace, TranscriptReader};

/// The time that a recorded hook call waits for its line in the transcript, in milliseconds.
const PATIENCE_MS: i64 = 50;

/// One followed run, up to the last reported update.
pub(super) struct FollowedLog {
    pub(super) run: RunId,
    pub(super) path: Arc<[RunId]>,
    /// The last reported record.
    seq: u64,
    /// Records that were read and not reported yet.
    records: VecDeque<(u64, Record)>,
    /// The last read found no more records.
    is_at_end: bool,
    /// The number of agent events to report before the next record.
    ahead: Option<usize>,
    /// The outcome of the run, if it was not reported yet.
    end: Option<Outcome>,
    pub(super) is_over: bool,
    words: AgentWords,
    /// This process owns the run.
    pub(super) is_own: bool,
    /// The dialects of the nodes whose turns were read.
    dialects: HashMap<NodeId, Arc<dyn Dialect>>,
    /// The turns in progress, in the order in which they started.
    turns: Vec<FollowedTurn>,
    told: ToldLines,
}

/// A turn whose end was not reported yet.
struct FollowedTurn {
    effect: EffectId,
    transcript: TranscriptReader,
    /// The turn started then, so no event of it is older.
    since: Moment,
}

/// The next part of a log.
pub(super) enum NextInLog {
    Update(RunChange),
    /// A record that may wait for its line, at most until this moment.
    Wait(Moment),
    Nothing,
}

impl FollowedLog {
    /// Makes a log of which nothing was reported.
    pub(super) fn new(run: RunId, path: Arc<[RunId]>, words: AgentWords) -> FollowedLog {
        FollowedLog {
            run,
            path,
            seq: 0,
            records: VecDeque::new(),
            is_at_end: false,
            ahead: None,
            end: None,
            is_over: false,
            words,
            is_own: false,
            dialects: HashMap::new(),
            turns: Vec::new(),
            told: ToldLines::default(),
        }
    }

    /// Makes a log that was reported up to a cursor.
    pub(super) fn after(
        handle: &Handle,
        place: RunPlace,
        words: AgentWords,
    ) -> Result<FollowedLog, RunError> {
        let mut log = FollowedLog::new(place.run, place.path.into(), words);
        (log.seq, log.is_over) = (place.seq, place.is_over);
        for TurnPlace { effect, place } in place.turns {
            log.open(handle, &effect, place, Moment(0));
        }
        if log.seq > 0 && !log.is_over {
            // The end of the run may be recorded and not reported yet.
            match handle.record_at(&log.run, log.seq) {
                Ok(record) => log.end = record.and_then(|record| outcome(&record)),
                // Somebody removed the run since then.
                Err(RunError::Read(ReadError::UnknownRun { .. })) => log.is_over = true,
                Err(error) => return Err(error),
            }
        }
        Ok(log)
    }

    /// Returns the place after the last reported update.
    pub(super) fn place(&self) -> RunPlace {
        let turn =
            |turn: &FollowedTurn| TurnPlace { effect: turn.effect.clone(), place: turn.transcript.place() };
        RunPlace {
            run: self.run.clone(),
            path: self.path.to_vec(),
            seq: self.seq,
            is_over: self.is_over,
            turns: self.turns.iter().map(turn).collect(),
        }
    }

    pub(super) fn update(&self, change: RunChange) -> RunUpdate {
        RunUpdate { run: self.run.clone(), path: Arc::clone(&self.path), change }
    }

    /// Allows the next call to read the log again.
    pub(super) fn look_again(&mut self) {
        self.is_at_end = false;
    }

    /// Returns the time of the next record, if there is one.
    pub(super) fn next_at(&mut self, handle: &Handle) -> Result<Option<Moment>, RunError> {
        if !self.is_at_end && self.records.is_empty() {
            let records = match self.is_own {
                true => handle.some_own_records(&self.run, self.seq + 1),
                false => handle.some_records(&self.run, self.seq + 1),
            };
            match records {
                Ok(records) => self.records = records.into(),
                // A child run may not exist yet.
                Err(RunError::Read(ReadError::UnknownRun { .. })) => {}
                Err(error) => return Err(error),
            }
            self.is_at_end = self.records.is_empty();
            let continues = |(_, record): &(u64, Record)| matches!(record.event, Event::Continued { .. });
            if self.records.iter().any(continues) {
                self.is_over = false;
            }
        }
        Ok(self.records.front().map(|(_, record)| record.at))
    }

    /// Returns the next record, or first an agent event that came before it.
    pub(super) fn next_decided(&mut self, handle: &Handle, now: Moment) -> NextInLog {
        if let Some(outcome) = self.end.take() {
            self.is_over = true;
            return NextInLog::Update(RunChange::Ended { outcome });
        }
        let Some((seq, record)) = self.records.pop_front() else { return NextInLog::Nothing };
        match self.before(handle, &record, now) {
            NextInLog::Nothing => {}
            first => {
                self.records.push_front((seq, record));
                return first;
            }
        }
        self.ahead = None;
        self.seq = seq;
        self.end = outcome(&record);
        if let Event::SessionStarted { effect, .. } = &record.event {
            self.open(handle, effect, TranscriptPlace::default(), record.at);
        }
        NextInLog::Update(RunChange::Record { seq, record: Box::new(record) })
    }

    /// Returns true if the end of the run was not reported yet.
    pub(super) fn has_end(&self) -> bool {
        self.end.is_some()
    }

    fn before(&mut self, handle: &Handle, record: &Record, now: Moment) -> NextInLog {
        match &record.event {
            Event::HookAsked { call } => self.before_hook(call, record.at, now),
            Event::SessionEnded { effect, .. } => {
                // A turn that was adopted after a crash may end without a start.
                self.open(handle, effect, TranscriptPlace::default(), Moment(0));
                let turn = self.turns.iter_mut().find(|turn| turn.effect == *effect);
                if let Some(change) = turn.and_then(|turn| turn.last_words(record.at)) {
                    return NextInLog::Update(change);
                }
                self.turns.retain(|turn| turn.effect != *effect);
                self.told.forget(effect);
                NextInLog::Nothing
            }
            event => self.said_before(event, record.at).map_or(NextInLog::Nothing, NextInLog::Update),
        }
    }

    /// Returns the next agent event that is older than a record. A transcript without times does not say
    /// which events these are: only the end of a run comes after all of them.
    fn said_before(&mut self, event: &Event, at: Moment) -> Option<RunChange> {
        let ends = matches!(
            event,
            Event::CancelAsked { .. }
                | Event::InterruptAsked { .. }
                | Event::ParentEnded { .. }
                | Event::RunTimedOut
        );
        let is_older = |turn: &mut FollowedTurn| match turn.transcript.next_time() {
            Some(Some(said)) => said < at,
            Some(None) => ends,
            None => false,
        };
        let turn = self.turns.iter_mut().find_map(|turn| is_older(turn).then_some(turn))?;
        let change = turn.words(at)?;
        self.remember(&change);
        Some(change)
    }

    /// Remembers an agent event that a hook may still ask about.
    fn remember(&mut self, change: &RunChange) {
        if let RunChange::Agent { effect, event, .. } = change {
            self.told.add(effect, event);
        }
    }

    /// Returns the next agent event up to and including the one that a hook asked about.
    fn before_hook(&mut self, call: &HookCall, at: Moment, now: Moment) -> NextInLog {
        // A call without a session belongs to the only turn.
        let is_meant = |turn: &&mut FollowedTurn| call.from.as_ref().is_none_or(|from| turn.effect == *from);
        let Some(turn) = self.turns.iter_mut().find(is_meant) else { return NextInLog::Nothing };
        let ahead = match self.ahead {
            Some(ahead) => ahead,
            None if matches!(call.kind, HookKind::Other { .. }) || self.told.claim(call) => 0,
            None => match find_line(&turn.transcript, &call.kind) {
                LineAhead::Found(ahead) => ahead,
                LineAhead::Missing(_) if now.0 < at.0.saturating_add(PATIENCE_MS) => {
                    return NextInLog::Wait(Moment(at.0.saturating_add(PATIENCE_MS)));
                }
                LineAhead::Missing(ahead) => ahead,
            },
        };
        self.ahead = Some(ahead.saturating_sub(1));
        match ahead {
            0 => NextInLog::Nothing,
            _ => turn.words(at).map_or(NextInLog::Nothing, NextInLog::Update),
        }
    }

    /// Returns the next agent event, regardless of the log.
    pub(super) fn next_said(&mut self) -> Option<RunChange> {
        let now = clock::now();
        let change = self.turns.iter_mut().find_map(|turn| turn.words(now))?;
        self.remember(&change);
        Some(change)
    }

    /// Skips the current agent output of a turn with more than `most` unreported bytes.
    pub(super) fn skip_said(&mut self, most: u64) -> Option<RunChange> {
        self.ahead = None;
        self.turns.iter_mut().filter(|turn| turn.transcript.behind() > most).find_map(FollowedTurn::skip)
    }

    fn open(&mut self, handle: &Handle, effect: &EffectId, place: TranscriptPlace, since: Moment) {
        let is_open = self.turns.iter().any(|turn| turn.effect == *effect);
        if !is_open && self.words == AgentWords::Included {
            let dialect = match self.dialects.get(&effect.node) {
                Some(known) => Arc::clone(known),
                None => self.find_dialect(handle, effect),
            };
            let transcript = handle.transcript(&self.run, effect, place, dialect);
            self.turns.push(FollowedTurn { effect: effect.clone(), transcript, since });
        }
    }
}

impl FollowedLog {
    fn find_dialect(&mut self, handle: &Handle, effect: &EffectId) -> Arc<dyn Dialect> {
        let (dialect, may_change) = handle.dialect_of(&self.run, effect);
        if !may_change {
            self.dialects.insert(effect.node.clone(), Arc::clone(&dialect));
        }
        dialect
    }
}

impl FollowedTurn {
    /// Returns the next event, which happened before `until`.
    fn words(&mut self, until: Moment) -> Option<RunChange> {
        let event = self.transcript.next_event()?;
        Some(self.agent(event, until))
    }

    /// Returns the next event of a turn that finished at `until`.
    fn last_words(&mut self, until: Moment) -> Option<RunChange> {
        let event = self.transcript.next_or_end()?;
        Some(self.agent(event, until))
    }

    /// Counts the current agent events instead of reporting them.
    fn skip(&mut self) -> Option<RunChange> {
        let end = self.transcript.place().offset + self.transcript.behind();
        let mut count = 0;
        while self.transcript.place().offset < end && self.transcript.next_event().is_some() {
            count += 1;
        }
        (count > 0).then(|| RunChange::LeftOut { effect: self.effect.clone(), count })
    }

    fn agent(&self, event: AgentEvent, until: Moment) -> RunChange {
        let (effect, offset) = (self.effect.clone(), self.transcript.place().offset);
        // An agent's file may say anything.
        let at = self.transcript.time().map(|at| at.min(until).max(self.since));
        RunChange::Agent { effect, offset, event, at }
    }
}

/// Returns the outcome of the run, if the record ended it.
fn outcome(record: &Record) -> Option<Outcome> {
    record.news.iter().find_map(|news| match news {
        News::Finished { outcome, .. } => Some(outcome.clone()),
        _ => None,
    })
}
