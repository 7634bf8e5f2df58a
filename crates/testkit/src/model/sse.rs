//! Sends a turn as a stream of events, in the order of the real API, or as one message.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::http;
use super::turn::Turn;

/// The number of pieces of a streamed block.
const PIECES: usize = 4;

/// The result of sending a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Whole,
    Cut,
}

/// Streams a turn, and cuts it if the script says so.
pub(super) fn stream(out: &mut impl Write, turn: &Turn, model: &Value) -> io::Result<Sent> {
    http::write_stream_head(out)?;
    for (sent, event) in events(turn, model).iter().enumerate() {
        if turn.drop_after.is_some_and(|limit| sent >= limit) {
            return Ok(Sent::Cut);
        }
        let name = event["type"].as_str().unwrap_or_default();
        http::write_chunk(out, format!("event: {name}\ndata: {event}\n\n").as_bytes())?;
    }
    http::write_chunk(out, b"")?;
    Ok(Sent::Whole)
}

/// Builds the message for a request that does not stream.
pub(super) fn message(turn: &Turn, model: &Value) -> Value {
    let mut message = envelope(model);
    message["content"] = Value::Array(turn.blocks());
    message["stop_reason"] = json!(turn.reason());
    message["usage"] = turn.usage(turn.output_tokens);
    message
}

fn envelope(model: &Value) -> Value {
    json!({
        "id": super::server::fresh_id("msg"), "type": "message", "role": "assistant",
        "model": model, "content": [], "stop_reason": null, "stop_sequence": null,
    })
}

fn events(turn: &Turn, model: &Value) -> Vec<Value> {
    let mut opening = envelope(model);
    opening["usage"] = turn.usage(1);
    let mut events = vec![json!({"type": "message_start", "message": opening}), json!({"type": "ping"})];
    for (index, block) in turn.blocks().iter().enumerate() {
        events.extend(block_events(index, block));
    }
    let usage = turn.usage(turn.output_tokens);
    let delta = json!({"stop_reason": turn.reason(), "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn block_events(index: usize, block: &Value) -> Vec<Value> {
    let (empty, deltas) = match block["type"].as_str() {
        Some("text") => (json!({"type": "text", "text": ""}), deltas("text_delta", "text", &block["text"])),
        Some("thinking") => thinking(block),
        _ => tool_use(block),
    };
    let start = json!({"type": "content_block_start", "index": index, "content_block": empty});
    let stop = json!({"type": "content_block_stop", "index": index});
    let middle = deltas
        .into_iter()
        .map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta}));
    std::iter::once(start).chain(middle).chain([stop]).collect()
}

fn thinking(block: &Value) -> (Value, Vec<Value>) {
    let mut deltas = deltas("thinking_delta", "thinking", &block["thinking"]);
    deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
    (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
}

fn tool_use(block: &Value) -> (Value, Vec<Value>) {
    let mut empty = block.clone();
    empty["input"] = json!({});
    let input = Value::String(block["input"].to_string());
    (empty, deltas("input_json_delta", "partial_json", &input))
}

fn deltas(kind: &str, field: &str, text: &Value) -> Vec<Value> {
    let text = text.as_str().unwrap_or_default();
    pieces(text).into_iter().map(|piece| json!({"type": kind, field: piece})).collect()
}

fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let size = letters.len().div_ceil(PIECES).max(1);
    letters.chunks(size).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{say, tool};

    fn names(turn: &Turn) -> Vec<String> {
        let mut names: Vec<String> = events(turn, &json!("m"))
            .iter()
            .map(|event| event["type"].as_str().unwrap().to_owned())
            .collect();
        names.dedup();
        names
    }

    #[test]
    fn a_turn_is_streamed_in_the_order_of_the_api() {
        let expected = [
            "message_start",
            "ping",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ];
        assert_eq!(names(&say("hello there")), expected);
        assert_eq!(names(&tool("Bash", json!({"command": "ls"}))), expected);
    }

    #[test]
    fn the_pieces_of_a_tool_call_are_its_input() {
        let input = json!({"command": "echo ä€"});
        let all = events(&tool("Bash", input.clone()), &json!("m"));
        let parts = all.iter().filter_map(|event| event["delta"]["partial_json"].as_str());
        assert_eq!(parts.collect::<String>(), input.to_string());
        assert_eq!(all[all.len() - 2]["delta"]["stop_reason"], "tool_use");
    }

    #[test]
    fn a_cut_turn_ends_after_so_many_events() {
        let mut wire = Vec::new();
        assert_eq!(stream(&mut wire, &crate::model::cut(3), &json!("m")).unwrap(), Sent::Cut);
        assert_eq!(String::from_utf8(wire).unwrap().matches("event: ").count(), 3);
    }
}
