//! The log of one run, and what its agents said.
//!
//! The log has the decisions and their times, the transcripts have what the agent said. They
//! are woven together by what they both know: a hook is asked about a tool after the tool call
//! stood in the stream, and a stop after the last words.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use windlass_core::agent::AgentEvent;
use windlass_core::event::{Event, Record};
use windlass_core::hook::{HookCall, HookKind};
use windlass_core::id::{EffectId, RunId};
use windlass_core::time::Moment;
use windlass_runtime::error::RunError;
use windlass_runtime::handle::Handle;
use windlass_runtime::transcript::Transcript;

use super::super::feed::Face;
use super::super::output::Out;
use super::super::weave::is_about;

/// How far ahead in a transcript the line is looked for that a hook asked about, in bytes.
const LOOK_AHEAD: u64 = 16 << 20;

/// Where what was said goes to.
pub(super) struct Voice<'a> {
    pub(super) face: &'a mut Face,
    pub(super) out: &'a mut Out,
    /// When the last record was made.
    pub(super) at: Moment,
}

/// One run as far as it was told.
pub(super) struct Log {
    pub(super) run: RunId,
    /// The way to it from the run that is told; empty for that one.
    pub(super) from: Vec<RunId>,
    /// Records that were read and not told.
    pub(super) records: VecDeque<Record>,
    /// The record to read next.
    next: u64,
    /// The last look found nothing more.
    is_at_end: bool,
    /// Those under way, in the order in which they began.
    turns: Vec<Turn>,
}

/// A turn whose end has not been told.
struct Turn {
    effect: EffectId,
    transcript: Transcript,
}

impl Turn {
    /// Tells the next event, if there is one.
    fn tell(&mut self, from: &[RunId], voice: &mut Voice<'_>) -> bool {
        let event = self.transcript.next_event();
        self.say(from, voice, event)
    }

    /// The same of a turn that is over.
    fn tell_to_end(&mut self, from: &[RunId], voice: &mut Voice<'_>) -> bool {
        let event = self.transcript.next_or_end();
        self.say(from, voice, event)
    }

    fn say(&self, from: &[RunId], voice: &mut Voice<'_>, event: Option<AgentEvent>) -> bool {
        let Some(event) = event.filter(|_| voice.out.is_read()) else { return false };
        voice.out.wait_for_room();
        voice.face.agent(voice.out, from, &self.effect, &event, voice.at);
        true
    }
}

impl Log {
    /// Nothing of it is told yet.
    pub(super) fn of(run: RunId, from: Vec<RunId>) -> Log {
        Log { run, from, records: VecDeque::new(), next: 1, is_at_end: false, turns: Vec::new() }
    }

    /// There may be more since.
    pub(super) fn look_again(&mut self) {
        self.is_at_end = false;
    }

    /// Reads on when what was read is told; nothing where the run was not made yet.
    pub(super) fn read(&mut self, handle: &Handle) -> Result<(), RunError> {
        if self.is_at_end || !self.records.is_empty() {
            return Ok(());
        }
        for (seq, record) in handle.some_records(&self.run, self.next)? {
            self.next = seq + 1;
            self.records.push_back(record);
        }
        self.is_at_end = self.records.is_empty();
        Ok(())
    }

    /// Tells what the agent did before this was decided.
    pub(super) fn before(&mut self, handle: &Handle, record: &Record, voice: &mut Voice<'_>) {
        match &record.event {
            Event::HookAsked { call } => self.until_asked(call, voice),
            Event::SessionEnded { effect, .. } => {
                self.open(handle, effect);
                if let Some(turn) = self.turns.iter_mut().find(|turn| turn.effect == *effect) {
                    while turn.tell_to_end(&self.from, voice) {}
                }
                self.turns.retain(|turn| turn.effect != *effect);
            }
            _ => {}
        }
    }

    /// What follows from it.
    pub(super) fn after(&mut self, handle: &Handle, record: &Record) {
        if let Event::SessionStarted { effect, .. } = &record.event {
            self.open(handle, effect);
        }
    }

    fn open(&mut self, handle: &Handle, effect: &EffectId) {
        if self.turns.iter().all(|turn| turn.effect != *effect) {
            let transcript = handle.transcript(&self.run, effect);
            self.turns.push(Turn { effect: effect.clone(), transcript });
        }
    }

    /// Up to and with what a hook asked about; nothing when that is not there.
    fn until_asked(&mut self, call: &HookCall, voice: &mut Voice<'_>) {
        // A forwarder that does not say whose it is belongs to the one turn there is.
        let is_meant = |turn: &&mut Turn| call.from.as_ref().is_none_or(|from| turn.effect == *from);
        let Some(turn) = self.turns.iter_mut().find(is_meant) else { return };
        for _ in 0..place(&turn.transcript, &call.kind).unwrap_or(0) {
            if !turn.tell(&self.from, voice) {
                return;
            }
        }
    }

    /// What the agents of all turns said and did since.
    pub(super) fn rest_of_all(&mut self, voice: &mut Voice<'_>) {
        for turn in &mut self.turns {
            while turn.tell(&self.from, voice) {}
        }
    }
}

/// How many events come up to and with the one that a hook asked about.
fn place(transcript: &Transcript, kind: &HookKind) -> Option<usize> {
    let (mut count, mut found, mut spoken) = (0, None, None);
    transcript.look_ahead(LOOK_AHEAD, |event| {
        if matches!(event, AgentEvent::Text { .. }) {
            spoken = spoken.or(Some(count));
        }
        count += 1;
        if is_about(kind, event) {
            found = Some(count);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    match kind {
        // A stop comes after everything but the words of the next iteration.
        HookKind::Stop { .. } => found.or(spoken),
        _ => found,
    }
}
