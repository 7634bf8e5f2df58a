//! Anthropic Messages, as Claude Code uses it.

use serde_json::{Value, json};

use super::{RequestReading, WireFormat, list, text, with};
use crate::model::RequestKind;
use crate::model::answer::{ScriptedAnswer, SpokenPart, pieces};
use crate::model::conversation::{MessageSpeaker, RequestConversation, texts};
use crate::model::fault::{ApiRefusal, ServiceFault, epoch_after, header, seconds};
use crate::model::http::IncomingRequest;
use crate::model::server::fresh_id;
use crate::model::tools::OfferedTool;
use crate::model::turn::TokenCounts;

pub(super) struct MessagesApi;

impl WireFormat for MessagesApi {
    fn read(&self, incoming: &IncomingRequest, body: &Value) -> RequestReading {
        let header = |name: &str| incoming.header(name).map(str::to_owned);
        let agent = header("x-claude-code-agent-id");
        RequestReading {
            kind: kind(body, agent.is_some()),
            model: text(&body["model"]),
            // The second is OpenCode's.
            session: header("x-claude-code-session-id").or_else(|| header("x-session-id")),
            agent,
            conversation: conversation(body),
        }
    }

    fn events(&self, answer: &ScriptedAnswer) -> Vec<Value> {
        let opening = with(envelope(answer), [("usage", usage(&answer.usage, 1))]);
        let mut events = vec![json!({"type": "message_start", "message": opening}), json!({"type": "ping"})];
        for (index, block) in blocks(answer).iter().enumerate() {
            events.extend(block_events(index, block));
        }
        let usage = usage(&answer.usage, answer.usage.output);
        let delta = json!({"stop_reason": answer.reason("tool_use", "end_turn"), "stop_sequence": null});
        events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
        events.push(json!({"type": "message_stop"}));
        events
    }

    fn whole(&self, answer: &ScriptedAnswer) -> Value {
        let fields = [
            ("content", Value::Array(blocks(answer))),
            ("stop_reason", json!(answer.reason("tool_use", "end_turn"))),
            ("usage", usage(&answer.usage, answer.usage.output)),
        ];
        with(envelope(answer), fields)
    }

    fn refuse(&self, fault: &ServiceFault, message: Option<&str>) -> ApiRefusal {
        let limited = "This request would exceed your account's rate limit. Please try again later.";
        let (status, kind, words, headers) = match fault {
            ServiceFault::Status { status, kind } => (*status, kind.as_str(), "", Vec::new()),
            ServiceFault::ServerError => (500, "api_error", "Internal server error", Vec::new()),
            ServiceFault::Unauthorized => (401, "authentication_error", "invalid x-api-key", Vec::new()),
            ServiceFault::RateLimit { retry_after } => {
                (429, "rate_limit_error", limited, vec![header("retry-after", seconds(*retry_after))])
            }
            ServiceFault::UsageLimit { resets_in } => {
                let resets_at = epoch_after(*resets_in);
                let headers = vec![
                    header("retry-after", seconds(*resets_in)),
                    header("x-should-retry", false),
                    header("anthropic-ratelimit-unified-status", "rejected"),
                    header("anthropic-ratelimit-unified-representative-claim", "five_hour"),
                    header("anthropic-ratelimit-unified-reset", resets_at),
                    header("anthropic-ratelimit-unified-5h-status", "rejected"),
                    header("anthropic-ratelimit-unified-5h-utilization", 1),
                    header("anthropic-ratelimit-unified-5h-reset", resets_at),
                ];
                (429, "rate_limit_error", limited, headers)
            }
        };
        let error = json!({"type": kind, "message": message.unwrap_or(words)});
        ApiRefusal { status, headers, body: json!({"type": "error", "error": error}) }
    }

    fn call_prefix(&self) -> &'static str {
        "toolu"
    }
}

/// Decides the kind of a request. One without tools, or for a single token, is not part of the conversation.
fn kind(body: &Value, is_agent: bool) -> RequestKind {
    let has_tools = list(&body["tools"]).next().is_some();
    if !has_tools || body["max_tokens"].as_u64().is_some_and(|limit| limit <= 1) {
        return RequestKind::Side;
    }
    if is_agent { RequestKind::Subagent } else { RequestKind::Main }
}

fn conversation(body: &Value) -> RequestConversation {
    let mut conversation = RequestConversation::default();
    conversation.add(MessageSpeaker::System, texts(&body["system"]));
    for message in list(&body["messages"]) {
        let speaker = match message["role"].as_str() {
            Some("user") => MessageSpeaker::User,
            Some("system") => MessageSpeaker::System,
            _ => MessageSpeaker::Model,
        };
        conversation.add(speaker, texts(&message["content"]));
    }
    let tool = |tool: &Value| OfferedTool::new(&text(&tool["name"]), &tool["input_schema"]);
    conversation.tools = list(&body["tools"]).map(tool).collect();
    conversation
}

fn usage(tokens: &TokenCounts, output: u64) -> Value {
    json!({
        "input_tokens": tokens.input,
        "output_tokens": output,
        "cache_read_input_tokens": tokens.cached,
        "cache_creation_input_tokens": 0,
    })
}

fn envelope(answer: &ScriptedAnswer) -> Value {
    json!({
        "id": fresh_id("msg"), "type": "message", "role": "assistant",
        "model": answer.model, "content": [], "stop_reason": null, "stop_sequence": null,
    })
}

fn blocks(answer: &ScriptedAnswer) -> Vec<Value> {
    let thinking = answer.thinking.iter();
    let thinking =
        thinking.map(|text| json!({"type": "thinking", "thinking": text, "signature": "c2NyaXB0ZWQ="}));
    let spoken = answer.parts.iter().map(|part| match part {
        SpokenPart::Text(text) => json!({"type": "text", "text": text}),
        SpokenPart::Call(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input})
        }
    });
    thinking.chain(spoken).collect()
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
    let empty = with(block.clone(), [("input", json!({}))]);
    let input = Value::String(block["input"].to_string());
    (empty, deltas("input_json_delta", "partial_json", &input))
}

fn deltas(kind: &str, field: &str, text: &Value) -> Vec<Value> {
    let text = text.as_str().unwrap_or_default();
    pieces(text).into_iter().map(|piece| json!({"type": kind, field: piece})).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::wire::{WireApi, fault_of_tests, request_for_tests};
    use crate::model::{ModelTurn, rate_limit, say, tool};

    fn answer(turn: &ModelTurn) -> ScriptedAnswer {
        ScriptedAnswer::new(turn, &request_for_tests(WireApi::Messages, json!({"model": "m"}))).unwrap()
    }

    fn names(turn: &ModelTurn) -> Vec<String> {
        let events = MessagesApi.events(&answer(turn));
        let mut names: Vec<String> = events.iter().map(|event| text(&event["type"])).collect();
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
        let all = MessagesApi.events(&answer(&tool("Bash", input.clone())));
        let parts = all.iter().filter_map(|event| event["delta"]["partial_json"].as_str());
        assert_eq!(parts.collect::<String>(), input.to_string());
        assert_eq!(all[all.len() - 2]["delta"]["stop_reason"], "tool_use");
    }

    #[test]
    fn usage_counts_cached_tokens_apart() {
        let message = MessagesApi.whole(&answer(&say("hi").tokens(7, 3).cached(5)));
        let expected = json!({
            "input_tokens": 7, "output_tokens": 3,
            "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0,
        });
        assert_eq!(message["usage"], expected);
    }

    #[test]
    fn a_limit_says_when_to_try_again() {
        let fault = fault_of_tests(rate_limit(std::time::Duration::from_secs(3)));
        let refusal = MessagesApi.refuse(&fault, None);
        assert_eq!((refusal.status, refusal.headers), (429, vec![header("retry-after", 3)]));
        assert_eq!(refusal.body["error"]["type"], "rate_limit_error");
    }

    #[test]
    fn the_last_user_text_looks_past_the_system_and_into_tool_results() {
        let body = json!({"system": "be kind", "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": []},
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "42"}]},
                                          {"type": "text", "text": "and on"}]},
            {"role": "system", "content": "by the way"},
        ]});
        let request = request_for_tests(WireApi::Messages, body);
        assert_eq!(request.last_user_text(), "42\nand on");
        assert_eq!(request.first_user_text(), "go");
        assert_eq!(request.system_text(), "be kind\nby the way");
        assert!(request.mentions("by the way"));
    }
}
