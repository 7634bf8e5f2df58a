//! The stream of a session: hands what happens to the format, and counts tokens.
//!
//! Keeps the open message and the counts. The format decides what is written, `play` when.

use std::io;

use super::event::{Failure, MessagePart, SimCall, SimEvent, SimMessage, UsageTally};
use super::format::SimFormat;
use super::hook_call::{HookMeaning, HookMoment};
use super::ids::short_id;
use super::lines::EventLines;
use super::play::PlayCut;
use super::script::ScriptUsage;

/// The tokens of one model request, if the script does not set them.
const REQUEST: ScriptUsage = ScriptUsage {
    input_tokens: 100,
    output_tokens: 20,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
};
const REQUEST_USD: f64 = 0.0008;

/// The usage and cost of the current turn.
#[derive(Default)]
struct Price {
    usage: Option<ScriptUsage>,
    cost_usd: Option<f64>,
}

/// The stream of one process.
pub(super) struct Stream<'a> {
    pub(super) lines: EventLines<'a>,
    pub(super) format: Box<dyn SimFormat>,
    /// The open message: the answer to one model request. It may have several parts.
    message: Option<SimMessage>,
    price: Price,
    /// Since the process started.
    pub(super) total: UsageTally,
    /// Since the last result.
    pub(super) since: UsageTally,
}

impl<'a> Stream<'a> {
    pub(super) fn new(lines: EventLines<'a>, format: Box<dyn SimFormat>) -> Self {
        Stream {
            lines,
            format,
            message: None,
            price: Price::default(),
            total: UsageTally::default(),
            since: UsageTally::default(),
        }
    }

    /// Starts a turn. The usage in the script counts for its first request.
    pub(super) fn begin_turn(&mut self, usage: Option<ScriptUsage>, cost_usd: Option<f64>) {
        self.message = None;
        self.price = Price { usage, cost_usd };
    }

    /// Writes an event.
    pub(super) fn tell(&mut self, event: SimEvent<'_>) -> io::Result<()> {
        // The model answers each of these with a new message.
        if matches!(
            event,
            SimEvent::Returned(..)
                | SimEvent::Interrupted
                | SimEvent::StopBlocked { .. }
                | SimEvent::Failed(_)
        ) {
            self.message = None;
        }
        self.format.write(event, &mut self.lines)
    }

    /// Calls the hooks of a moment.
    pub(super) fn ask(&mut self, call: &HookMoment<'_>) -> Result<HookMeaning, PlayCut> {
        self.format.ask(call, &mut self.lines)
    }

    pub(super) fn said(&mut self, text: &str) -> io::Result<()> {
        self.answered(MessagePart::Said(text))
    }

    pub(super) fn thought(&mut self, text: &str) -> io::Result<()> {
        self.answered(MessagePart::Thought(text))
    }

    pub(super) fn called(&mut self, call: &SimCall) -> io::Result<()> {
        self.answered(MessagePart::Called(call))
    }

    /// Writes a part of the open message. A new message counts as a new model request.
    fn answered(&mut self, part: MessagePart<'_>) -> io::Result<()> {
        let message = match self.message.take() {
            Some(message) => message,
            None => self.request(),
        };
        let written = self.format.write(SimEvent::Answered(&message, part), &mut self.lines);
        self.message = Some(message);
        written
    }

    /// Writes the refusal of a request, which counts as one.
    pub(super) fn failed(&mut self, failure: &Failure) -> io::Result<()> {
        self.total.requests += 1;
        self.since.requests += 1;
        self.tell(SimEvent::Failed(failure))
    }

    /// Closes the open message without writing.
    pub(super) fn close_message(&mut self) {
        self.message = None;
    }

    fn request(&mut self) -> SimMessage {
        let usage = self.price.usage.as_mut().map_or(REQUEST, std::mem::take);
        let cost_usd = self.price.cost_usd.as_mut().map_or(REQUEST_USD, std::mem::take);
        self.total.add(usage, cost_usd);
        self.since.add(usage, cost_usd);
        SimMessage {
            id: format!("msg_{}", short_id()),
            request: format!("req_{}", short_id()),
            usage,
            cost_usd,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::format;
    use super::*;

    fn stream<'a>(out: &'a mut Vec<u8>, err: &'a mut Vec<u8>) -> Stream<'a> {
        Stream::new(EventLines::new(out, err, "s".into(), "m".into()), format::named("claude").unwrap())
    }

    #[test]
    fn blocks_share_a_message_until_the_user_speaks() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut stream = stream(&mut out, &mut err);
        stream.said("a").unwrap();
        stream.said("b").unwrap();
        stream.tell(SimEvent::StopBlocked { reason: "c", blocks: 2 }).unwrap();
        stream.said("d").unwrap();
        assert_eq!(stream.total.requests, 2);
        assert_eq!(stream.total.usage.input_tokens, 200);
        let lines: Vec<Value> =
            out.split(|b| *b == b'\n').filter_map(|l| serde_json::from_slice(l).ok()).collect();
        assert_eq!(lines[0]["message"]["id"], lines[1]["message"]["id"]);
        assert_ne!(lines[1]["message"]["id"], lines[3]["message"]["id"]);
    }

    #[test]
    fn scripted_tokens_are_counted_once_a_turn() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut stream = stream(&mut out, &mut err);
        let usage = ScriptUsage { input_tokens: 7, output_tokens: 3, ..ScriptUsage::default() };
        stream.begin_turn(Some(usage), Some(0.5));
        for _ in 0..3 {
            stream.said("a").unwrap();
            stream.close_message();
        }
        assert_eq!(stream.since, UsageTally { usage, cost_usd: 0.5, requests: 3 });
    }
}
