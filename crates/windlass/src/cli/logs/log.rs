//! The log of one run, and what its agents said.
//!
//! The log has the decisions and their times, the transcripts have what the agent said. They
//! are woven together by what they both know: a hook is asked about a tool after the tool call
//! stood in the stream, and a stop after the last words.

use std::collections::VecDeque;

use windlass_core::agent::AgentEvent;
use windlass_core::event::{Event, Record};
use windlass_core::hook::{HookCall, HookKind};
use windlass_core::id::{EffectId, RunId};
use windlass_core::time::Moment;
use windlass_runtime::error::RunError;
use windlass_runtime::handle::Handle;

use super::super::feed::Face;
use super::super::output::Out;
use super::super::weave::is_about;

/// What an agent said or did, and in which turn.
type Said = (EffectId, AgentEvent);

/// One run as far as it was told.
pub(super) struct Log {
    pub(super) run: RunId,
    /// The way to it from the run that is told; empty for that one.
    pub(super) from: Vec<RunId>,
    /// Records that were read and not told.
    pub(super) records: VecDeque<Record>,
    /// The record to read next.
    next: u64,
    /// Those under way, in the order in which they began.
    turns: Vec<Turn>,
}

/// A turn whose end has not been told.
struct Turn {
    effect: EffectId,
    /// How far its stream was read.
    offset: u64,
    /// What was read and not told.
    waiting: VecDeque<AgentEvent>,
}

impl Turn {
    fn read(&mut self, handle: &Handle, run: &RunId) {
        let (events, offset) = handle.transcript(run, &self.effect, self.offset);
        self.offset = offset;
        self.waiting.extend(events);
    }

    /// So many of those that were read.
    fn take(&mut self, many: usize) -> Vec<Said> {
        self.waiting.drain(..many).map(|event| (self.effect.clone(), event)).collect()
    }
}

impl Log {
    /// Nothing of it is told yet.
    pub(super) fn of(run: RunId, from: Vec<RunId>) -> Log {
        Log { run, from, records: VecDeque::new(), next: 1, turns: Vec::new() }
    }

    /// Reads what is there now; nothing where the run was not made yet.
    pub(super) fn read(&mut self, handle: &Handle) -> Result<(), RunError> {
        for (seq, record) in handle.records(&self.run, self.next)? {
            self.next = seq + 1;
            self.records.push_back(record);
        }
        Ok(())
    }

    /// What the agent did before this was decided.
    pub(super) fn before(&mut self, handle: &Handle, record: &Record) -> Vec<Said> {
        match &record.event {
            Event::HookAsked { call } => self.until_asked(handle, call),
            Event::SessionEnded { effect, .. } => {
                self.open(effect);
                let said = self.rest(handle, effect);
                self.turns.retain(|turn| turn.effect != *effect);
                said
            }
            _ => Vec::new(),
        }
    }

    /// What follows from it.
    pub(super) fn after(&mut self, record: &Record) {
        if let Event::SessionStarted { effect, .. } = &record.event {
            self.open(effect);
        }
    }

    fn open(&mut self, effect: &EffectId) {
        if self.turns.iter().all(|turn| turn.effect != *effect) {
            self.turns.push(Turn { effect: effect.clone(), offset: 0, waiting: VecDeque::new() });
        }
    }

    /// Up to and with what a hook asked about; nothing when that is not there.
    fn until_asked(&mut self, handle: &Handle, call: &HookCall) -> Vec<Said> {
        // A forwarder that does not say whose it is belongs to the one turn there is.
        let is_meant = |turn: &&mut Turn| call.from.as_ref().is_none_or(|from| turn.effect == *from);
        let Some(turn) = self.turns.iter_mut().find(is_meant) else { return Vec::new() };
        turn.read(handle, &self.run);
        let kind = &call.kind;
        let found = turn.waiting.iter().position(|event| is_about(kind, event)).map(|place| place + 1);
        // A stop comes after everything but the words of the next iteration.
        let spoken = || turn.waiting.iter().position(|event| matches!(event, AgentEvent::Text { .. }));
        let many = match kind {
            HookKind::Stop { .. } => found.or_else(spoken),
            _ => found,
        };
        turn.take(many.unwrap_or(0))
    }

    fn rest(&mut self, handle: &Handle, effect: &EffectId) -> Vec<Said> {
        let Some(turn) = self.turns.iter_mut().find(|turn| turn.effect == *effect) else { return Vec::new() };
        turn.read(handle, &self.run);
        turn.take(turn.waiting.len())
    }

    /// What the agents of all turns said and did since.
    pub(super) fn rest_of_all(&mut self, handle: &Handle) -> Vec<Said> {
        let effects: Vec<EffectId> = self.turns.iter().map(|turn| turn.effect.clone()).collect();
        effects.iter().flat_map(|effect| self.rest(handle, effect)).collect()
    }

    /// Shows what was said.
    pub(super) fn say(&self, face: &mut Face, out: &mut Out, said: &[Said], at: Moment) {
        for (effect, event) in said {
            face.agent(out, &self.from, effect, event, at);
        }
    }
}
