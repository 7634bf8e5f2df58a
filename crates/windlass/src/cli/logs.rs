//! `windlass logs`: a run told again, through the same rendering as live.
//!
//! The log has the decisions and their times, the transcripts have what the agent said. They
//! are woven together by what they both know: a hook is asked about a tool after the tool call
//! stood in the stream, and a stop after the last words.

use std::collections::VecDeque;
use std::time::Duration;

use windlass_core::agent::AgentEvent;
use windlass_core::event::{Event, Record};
use windlass_core::hook::{HookCall, HookKind};
use windlass_core::id::{EffectId, RunId};
use windlass_core::time::Moment;
use windlass_runtime::handle::Handle;

use super::feed::{Face, Style};
use super::here::Here;
use super::output::Out;
use super::report::{Report, note};
use super::watch::ending_lines;
use super::weave::is_about;
use crate::exit::Exit;

/// How often a run that goes on is looked at.
const POLL: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
Examples:
  windlass logs k3f9
  windlass logs -f k3f9                 follow it until it ends
  windlass logs k3f9 --json | jq .type";

/// Show what happened in a run
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run, or the beginning of its id
    #[arg(value_name = "RUN")]
    run: String,

    /// Go on until the run ends
    #[arg(short, long)]
    follow: bool,

    /// Show what the agent thinks, too
    #[arg(long)]
    show_thinking: bool,

    /// Print JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Tells it.
pub(crate) fn perform(args: &Args) -> Result<Exit, Report> {
    let here = Here::look()?;
    let handle = here.open_to_ask()?;
    let run = handle.find(&args.run)?;
    let style = Style { thinking: args.show_thinking, whole: true };
    let face = if args.json { Face::json(&run, style) } else { Face::human(here.screen, style, &run) };
    let mut telling = Telling {
        handle: &handle,
        run: &run,
        face,
        out: Out::stdout(),
        next: 1,
        at: Moment(0),
        turns: Vec::new(),
    };
    telling.tell()?;
    if args.follow {
        telling.follow()?;
    }
    telling.end(&here)
}

/// A run being told.
struct Telling<'a> {
    handle: &'a Handle,
    run: &'a RunId,
    face: Face,
    out: Out,
    /// The record to read next.
    next: u64,
    /// When the last one was made.
    at: Moment,
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
}

impl Telling<'_> {
    /// Tells what is there now.
    fn tell(&mut self) -> Result<(), Report> {
        for (seq, record) in self.handle.records(self.run, self.next)? {
            self.next = seq + 1;
            self.before(&record);
            self.at = record.at;
            self.face.record(&mut self.out, &[], &record);
            self.after(&record);
        }
        Ok(())
    }

    /// What the agent did before this was decided.
    fn before(&mut self, record: &Record) {
        match &record.event {
            Event::HookAsked { call } => self.tell_until_asked(call),
            Event::SessionEnded { effect, .. } => {
                self.open(effect);
                self.tell_rest(effect);
                self.turns.retain(|turn| turn.effect != *effect);
            }
            _ => {}
        }
    }

    fn after(&mut self, record: &Record) {
        if let Event::SessionStarted { effect, .. } = &record.event {
            self.open(effect);
        }
    }

    fn open(&mut self, effect: &EffectId) {
        if self.turns.iter().all(|turn| turn.effect != *effect) {
            self.turns.push(Turn { effect: effect.clone(), offset: 0, waiting: VecDeque::new() });
        }
    }

    /// Tells up to and with what a hook asked about; nothing when that is not there.
    fn tell_until_asked(&mut self, call: &HookCall) {
        // A forwarder that does not say whose it is belongs to the one turn there is.
        let is_meant = |turn: &&mut Turn| call.from.as_ref().is_none_or(|from| turn.effect == *from);
        let Some(turn) = self.turns.iter_mut().find(is_meant) else { return };
        turn.read(self.handle, self.run);
        let kind = &call.kind;
        let found = turn.waiting.iter().position(|event| is_about(kind, event)).map(|place| place + 1);
        // A stop comes after everything but the words of the next iteration.
        let spoken = || turn.waiting.iter().position(|event| matches!(event, AgentEvent::Text { .. }));
        let many = match kind {
            HookKind::Stop { .. } => found.or_else(spoken),
            _ => found,
        };
        let told: Vec<AgentEvent> = turn.waiting.drain(..many.unwrap_or(0)).collect();
        let effect = turn.effect.clone();
        self.say(&effect, &told);
    }

    fn tell_rest(&mut self, effect: &EffectId) {
        let Some(turn) = self.turns.iter_mut().find(|turn| turn.effect == *effect) else { return };
        turn.read(self.handle, self.run);
        let told: Vec<AgentEvent> = turn.waiting.drain(..).collect();
        self.say(effect, &told);
    }

    fn tell_all(&mut self) {
        let effects: Vec<EffectId> = self.turns.iter().map(|turn| turn.effect.clone()).collect();
        for effect in &effects {
            self.tell_rest(effect);
        }
    }

    fn say(&mut self, effect: &EffectId, events: &[AgentEvent]) {
        for event in events {
            self.face.agent(&mut self.out, &[], effect, event, self.at);
        }
    }

    /// Goes on until the run ends, nobody runs it, or nobody reads.
    fn follow(&mut self) -> Result<(), Report> {
        let mut seen = None;
        loop {
            let version = self.handle.data_version()?;
            if seen != Some(version) {
                seen = Some(version);
                self.tell()?;
            }
            self.tell_all();
            let view = self.handle.view(self.run)?;
            if view.state.is_done() {
                return self.tell();
            }
            if view.status == "crashed" || !self.out.is_read() {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
    }

    /// The summary of a run that is over, or what to do with one that is not.
    fn end(mut self, here: &Here) -> Result<Exit, Report> {
        self.tell_all();
        let view = self.handle.view(self.run)?;
        if let Face::Human(_) = self.face {
            let lines = ending_lines(here, self.handle, &view.state, self.at.since(view.state.started));
            self.face.write(&mut self.out, &lines);
        }
        if view.status == "crashed" {
            note(&format!("nobody runs it: `windlass resume {}` goes on with it", self.run));
        }
        self.out.end(Exit::Completed)
    }
}
