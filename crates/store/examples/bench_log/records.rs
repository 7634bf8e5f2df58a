//! The bodies that are measured: records as the engine writes them, around text as agents write
//! it (this project's own prose and code), or noise that nothing makes smaller.

use std::sync::Arc;

use serde_json::json;
use windlass_core::effect::{Effect, Planned};
use windlass_core::event::{Event, RECORD_VERSION, Record, SessionEnd, SessionVerdict};
use windlass_core::hook::{HookAnswer, HookCall, HookKind, ToolCall, ToolName};
use windlass_core::id::{EffectId, HookId, NodeId, Verb};
use windlass_core::looping::verdict::CheckResult;
use windlass_core::run::News;
use windlass_core::time::Moment;
use windlass_core::usage::Usage;

const PROSE: &str =
    concat!(include_str!("../../../../ARCHITECTURE.md"), include_str!("../../../../CONTRIBUTING.md"));
const CODE: &str = concat!(
    include_str!("../../src/open.rs"),
    include_str!("../../src/projection.rs"),
    include_str!("../../src/os.rs")
);

/// What the bodies are made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Content {
    /// Records of the engine: mostly tool calls, now and then the end of a turn and its checks.
    Records,
    /// Random bytes.
    Noise,
}

/// Bodies made before anything is measured, no two of them alike.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Vec<Vec<u8>>>);

impl Pool {
    pub(crate) fn new(content: Content, size: usize) -> Pool {
        let mut source = Source { content, dice: 0x9E37_79B9_7F4A_7C15, made: 0 };
        Pool(Arc::new((0..1000).map(|_| source.next(size)).collect()))
    }

    /// The body of a step.
    pub(crate) fn at(&self, step: u64) -> &[u8] {
        &self.0[step as usize % self.0.len()]
    }

    /// So many bodies in one.
    #[allow(dead_code, reason = "not every benchmark needs so many")]
    pub(crate) fn many(&self, count: usize) -> Vec<u8> {
        self.0.iter().cycle().take(count).flatten().copied().collect()
    }
}

struct Source {
    content: Content,
    dice: u64,
    made: u64,
}

impl Source {
    /// The next body, as near to `size` bytes as JSON allows.
    fn next(&mut self, size: usize) -> Vec<u8> {
        self.made += 1;
        if self.content == Content::Noise {
            return (0..size).map(|_| self.roll() as u8).collect();
        }
        // What surrounds the text is found by leaving the text out; what JSON escapes is cut off
        // by a second look.
        let (dice, bare) = (self.dice, self.record(0).len());
        let mut room = size.saturating_sub(bare);
        loop {
            self.dice = dice;
            let body = self.record(room);
            if body.len() <= size || room == 0 {
                return body;
            }
            room = room.saturating_sub(body.len() - size);
        }
    }

    /// One record with `room` bytes for text in it.
    fn record(&mut self, room: usize) -> Vec<u8> {
        let (event, effects, news) = match self.made % 8 {
            5 => self.turn_ended(room / 2),
            6 => self.checks_failed(room / 2),
            _ => self.tool_asked(room),
        };
        let at = Moment(1_794_793_577_000 + self.made as i64 * 713);
        serde_json::to_vec(&Record { v: RECORD_VERSION, at, event, effects, news }).unwrap()
    }

    fn tool_asked(&mut self, room: usize) -> (Event, Vec<Planned>, Vec<News>) {
        let (name, input) = match self.roll() % 3 {
            0 => (
                "Write",
                json!({ "file_path": "/home/ada/shop/src/cart.rs", "content": self.text(CODE, room) }),
            ),
            1 => {
                let (old, new) = (self.text(CODE, room / 3), self.text(CODE, room - room / 3));
                let path = "/home/ada/shop/src/checkout.rs";
                (
                    "Edit",
                    json!({ "file_path": path, "old_string": old, "new_string": new, "replace_all": false }),
                )
            }
            _ => ("Task", json!({ "description": "Look into it", "prompt": self.text(PROSE, room) })),
        };
        let id = HookId::new(format!("0000{:012x}{:016x}", self.roll() >> 16, self.roll()));
        let answer = HookAnswer::Allow;
        let told = Effect::AnswerHook { hook: id.clone(), answer: answer.clone() };
        let (asked, tool) = ("tool".to_owned(), Some(name.to_owned()));
        let news = News::HookDecided { hook: id.clone(), asked, tool, answer };
        let kind = HookKind::Tool(ToolCall { tool: ToolName::Other, name: name.to_owned(), input });
        let event =
            Event::HookAsked { call: HookCall { id, from: None, kind, unanswered: Vec::new(), real: None } };
        (event, vec![self.planned(Verb::Answer, told)], vec![news])
    }

    fn turn_ended(&mut self, room: usize) -> (Event, Vec<Planned>, Vec<News>) {
        let last_message = Some(self.text(PROSE, room));
        let usage = Usage {
            input_tokens: self.roll() % 90_000,
            output_tokens: self.roll() % 9_000,
            ..Usage::default()
        };
        let look = Effect::Inspect { last_message: last_message.clone() };
        let (verdict, offset) = (SessionVerdict::Completed, self.roll() % 900_000);
        let end = SessionEnd {
            verdict,
            last_message,
            value: None,
            usage,
            tool_calls: 9,
            spoke: true,
            offset,
            unanswered: Vec::new(),
            session: None,
            usage_is_cumulative: false,
            models: Vec::new(),
            took_ms: 0,
        };
        let event = Event::SessionEnded { effect: self.effect(Verb::Session), end };
        (event, vec![self.planned(Verb::Inspect, look)], Vec::new())
    }

    fn checks_failed(&mut self, room: usize) -> (Event, Vec<Planned>, Vec<News>) {
        let output = self.text(CODE, room);
        let result = CheckResult {
            name: "test".into(),
            passed: false,
            how: "exit code 101".into(),
            output: output.clone(),
            ..CheckResult::default()
        };
        let event = Event::ChecksFinished { effect: self.effect(Verb::Checks), results: vec![result] };
        let news = News::IterationFinished {
            node: NodeId::new("loop"),
            iteration: self.iteration(),
            checks: vec![("test".into(), false)],
            goes_on: true,
            feedback: Some(output),
        };
        let mark = Effect::MarkTracker { iteration: self.iteration() + 1, active: true };
        (event, vec![self.planned(Verb::Mark, mark)], vec![news])
    }

    fn planned(&self, verb: Verb, effect: Effect) -> Planned {
        Planned { id: self.effect(verb), effect }
    }

    fn effect(&self, verb: Verb) -> EffectId {
        EffectId { node: NodeId::new("loop"), iteration: self.iteration(), attempt: 1, verb }
    }

    fn iteration(&self) -> u32 {
        self.made as u32 / 8 + 1
    }

    /// So many bytes out of the middle of `from`.
    fn text(&mut self, from: &str, length: usize) -> String {
        let start = from.floor_char_boundary(self.roll() as usize % (from.len() - length));
        from[start..from.floor_char_boundary(start + length)].to_owned()
    }

    fn roll(&mut self) -> u64 {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.dice
    }
}
