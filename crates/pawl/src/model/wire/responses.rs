//! OpenAI Responses, as Codex uses it.

use serde_json::{Value, json};

use super::{RequestReading, WireFormat, list, text, with};
use crate::model::RequestKind;
use crate::model::answer::{ScriptedAnswer, SpokenPart, pieces};
use crate::model::conversation::{MessageSpeaker, RequestConversation, texts};
use crate::model::fault::{ApiRefusal, ServiceFault, epoch_after, header, seconds};
use crate::model::http::IncomingRequest;
use crate::model::server::fresh_id;
use crate::model::tools::{ModelToolCall, OfferedTool, ToolForm};
use crate::model::turn::TokenCounts;

pub(super) struct ResponsesApi;

impl WireFormat for ResponsesApi {
    fn read(&self, incoming: &IncomingRequest, body: &Value) -> RequestReading {
        let header = |name: &str| incoming.header(name).map(str::to_owned);
        let session = header("session-id").or_else(|| header("x-session-id"));
        // A subagent of Codex is a thread of the session of its parent.
        let thread = header("thread-id").filter(|thread| Some(thread) != session.as_ref());
        let agent = thread.or_else(|| header("x-openai-subagent"));
        let conversation = conversation(body);
        RequestReading {
            kind: kind(incoming, &conversation, agent.is_some()),
            model: text(&body["model"]),
            session,
            agent,
            conversation,
        }
    }

    fn events(&self, answer: &ScriptedAnswer) -> Vec<Value> {
        let items = items(answer);
        let opening = envelope(answer);
        let done = completed(opening.clone(), answer, &items);
        let mut events = vec![
            json!({"type": "response.created", "response": opening}),
            json!({"type": "response.in_progress", "response": opening}),
        ];
        for (index, item) in items.iter().enumerate() {
            events.extend(item_events(index, item));
        }
        events.push(json!({"type": "response.completed", "response": done}));
        let numbered = |(number, event)| with(event, [("sequence_number", json!(number))]);
        events.into_iter().enumerate().map(numbered).collect()
    }

    fn whole(&self, answer: &ScriptedAnswer) -> Value {
        completed(envelope(answer), answer, &items(answer))
    }

    fn refuse(&self, fault: &ServiceFault, message: Option<&str>) -> ApiRefusal {
        let ServiceFault::UsageLimit { resets_in } = fault else {
            return super::openai::refuse(fault, message);
        };
        let (resets_at, left) = (epoch_after(*resets_in), seconds(*resets_in));
        let error = json!({
            "type": "usage_limit_reached", "message": message.unwrap_or("The usage limit has been reached"),
            "plan_type": "plus", "resets_at": resets_at, "resets_in_seconds": left,
        });
        let headers = vec![
            header("x-codex-primary-used-percent", "100.0"),
            header("x-codex-primary-window-minutes", 300),
            header("x-codex-primary-reset-at", resets_at),
        ];
        ApiRefusal { status: 429, headers, body: json!({"error": error}) }
    }
}

/// Decides the kind of a request. Codex says which of its requests are turns.
fn kind(incoming: &IncomingRequest, conversation: &RequestConversation, is_agent: bool) -> RequestKind {
    let told = incoming.header("x-codex-turn-metadata");
    let told: Value = told.and_then(|told| serde_json::from_str(told).ok()).unwrap_or_default();
    let is_turn = told.get("request_kind").and_then(Value::as_str).is_none_or(|kind| kind == "turn");
    match (is_turn && !conversation.tools.is_empty(), is_agent) {
        (false, _) => RequestKind::Side,
        (true, true) => RequestKind::Subagent,
        (true, false) => RequestKind::Main,
    }
}

fn conversation(body: &Value) -> RequestConversation {
    let mut conversation = RequestConversation::default();
    conversation.add(MessageSpeaker::System, texts(&body["instructions"]));
    if let Value::String(prompt) = &body["input"] {
        conversation.add(MessageSpeaker::User, vec![prompt.clone()]);
    }
    for item in list(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        match (kind, item["role"].as_str()) {
            ("message", Some("user")) => conversation.add(MessageSpeaker::User, texts(&item["content"])),
            ("message", Some("system" | "developer")) => {
                conversation.add(MessageSpeaker::System, texts(&item["content"]))
            }
            ("additional_tools", _) => {}
            _ if kind.ends_with("_call_output") => {
                conversation.add(MessageSpeaker::User, texts(&item["output"]))
            }
            _ => conversation.add(MessageSpeaker::Model, texts(&item["content"])),
        }
    }
    // For newer models Codex sends its tools as an item of the conversation.
    let items = list(&body["input"]).filter(|item| item["type"] == "additional_tools");
    let tools = list(&body["tools"]).chain(items.flat_map(|item| list(&item["tools"])));
    conversation.tools = tools.flat_map(offered).collect();
    conversation
}

/// Returns the tools of an entry, which may be a group of several. A tool of the service itself has no name:
/// the model calls it by itself.
fn offered(entry: &Value) -> Vec<OfferedTool> {
    let Some(name) = entry["name"].as_str() else { return Vec::new() };
    match entry["type"].as_str() {
        Some("namespace") => {
            let group = Some(name.to_owned());
            let inside = list(&entry["tools"]).flat_map(offered);
            inside.map(|tool| OfferedTool { namespace: group.clone(), ..tool }).collect()
        }
        Some("custom") => {
            vec![OfferedTool { form: ToolForm::Text, ..OfferedTool::new(name, &entry["format"]) }]
        }
        _ => vec![OfferedTool::new(name, &entry["parameters"])],
    }
}

/// Builds the usage. Cached tokens are a part of those read.
fn usage(tokens: &TokenCounts) -> Value {
    let input = tokens.whole_input();
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": input + tokens.output,
    })
}

fn envelope(answer: &ScriptedAnswer) -> Value {
    json!({
        "id": fresh_id("resp"), "object": "response", "created_at": epoch_after(std::time::Duration::ZERO),
        "status": "in_progress", "model": answer.model, "output": [], "tools": [], "usage": null,
        "parallel_tool_calls": true, "error": null, "incomplete_details": null,
    })
}

fn completed(envelope: Value, answer: &ScriptedAnswer, items: &[Value]) -> Value {
    let usage = usage(&answer.usage);
    with(envelope, [("status", json!("completed")), ("usage", usage), ("output", json!(items))])
}

fn items(answer: &ScriptedAnswer) -> Vec<Value> {
    let thinking = answer.thinking.iter().map(|text| {
        let summary = json!([{"type": "summary_text", "text": text}]);
        json!({"type": "reasoning", "id": fresh_id("rs"), "summary": summary, "encrypted_content": "c2NyaXB0ZWQ="})
    });
    let spoken = answer.parts.iter().map(|part| match part {
        SpokenPart::Text(text) => json!({
            "type": "message", "id": fresh_id("msg"), "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        SpokenPart::Call(call) => call_item(call),
    });
    thinking.chain(spoken).collect()
}

fn call_item(call: &ModelToolCall) -> Value {
    let (kind, prefix, field, input) = match call.form {
        ToolForm::Object => ("function_call", "fc", "arguments", json!(call.input.to_string())),
        ToolForm::Text => ("custom_tool_call", "ctc", "input", call.input.clone()),
    };
    let item = json!({
        "type": kind, "id": fresh_id(prefix), "status": "completed",
        "call_id": call.id, "name": call.name, field: input,
    });
    match &call.namespace {
        Some(group) => with(item, [("namespace", json!(group))]),
        None => item,
    }
}

fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let (empty, inside) = match item["type"].as_str() {
        Some("message") => message_events(item),
        Some("reasoning") => reasoning_events(item),
        Some("function_call") => call_events(item, "arguments", "response.function_call_arguments"),
        _ => call_events(item, "input", "response.custom_tool_call_input"),
    };
    let place = |event: Value| with(event, [("output_index", json!(index)), ("item_id", item["id"].clone())]);
    let added = json!({"type": "response.output_item.added", "output_index": index, "item": empty});
    let done = json!({"type": "response.output_item.done", "output_index": index, "item": item});
    std::iter::once(added).chain(inside.into_iter().map(place)).chain([done]).collect()
}

fn message_events(item: &Value) -> (Value, Vec<Value>) {
    let empty = with(item.clone(), [("status", json!("in_progress")), ("content", json!([]))]);
    let part = item.pointer("/content/0").unwrap_or(&Value::Null);
    let said = text(&part["text"]);
    let mut events = vec![json!({
        "type": "response.content_part.added", "content_index": 0,
        "part": {"type": "output_text", "text": "", "annotations": []},
    })];
    let delta = |piece| json!({"type": "response.output_text.delta", "content_index": 0, "delta": piece});
    events.extend(pieces(&said).into_iter().map(delta));
    events.push(json!({"type": "response.output_text.done", "content_index": 0, "text": said}));
    events.push(json!({"type": "response.content_part.done", "content_index": 0, "part": part}));
    (empty, events)
}

fn reasoning_events(item: &Value) -> (Value, Vec<Value>) {
    let empty = with(item.clone(), [("summary", json!([]))]);
    let part = item.pointer("/summary/0").unwrap_or(&Value::Null);
    let thought = text(&part["text"]);
    let mut events = vec![json!({
        "type": "response.reasoning_summary_part.added", "summary_index": 0,
        "part": {"type": "summary_text", "text": ""},
    })];
    let delta =
        |piece| json!({"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": piece});
    events.extend(pieces(&thought).into_iter().map(delta));
    events.push(json!({"type": "response.reasoning_summary_text.done", "summary_index": 0, "text": thought}));
    events.push(json!({"type": "response.reasoning_summary_part.done", "summary_index": 0, "part": part}));
    (empty, events)
}

fn call_events(item: &Value, field: &str, name: &str) -> (Value, Vec<Value>) {
    let empty = with(item.clone(), [("status", json!("in_progress")), (field, json!(""))]);
    let input = text(&item[field]);
    let delta = |piece| json!({"type": format!("{name}.delta"), "delta": piece});
    let mut events: Vec<Value> = pieces(&input).into_iter().map(delta).collect();
    events.push(json!({"type": format!("{name}.done"), field: input}));
    (empty, events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::wire::{WireApi, fault_of_tests, request_for_tests};
    use crate::model::{ModelTurn, say, shell, usage_limit, write};
    use std::time::Duration;

    fn body() -> Value {
        json!({"model": "m", "stream": true, "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "be kind"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "where we are"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
            {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "42"},
        ], "tools": [
            {"type": "function", "name": "exec_command", "parameters": {}},
            {"type": "custom", "name": "apply_patch", "format": {}},
            {"type": "namespace", "name": "agents", "tools": [{"type": "function", "name": "wait_agent"}]},
            {"type": "web_search"},
        ]})
    }

    fn events(turn: &ModelTurn) -> Vec<Value> {
        ResponsesApi
            .events(&ScriptedAnswer::new(turn, &request_for_tests(WireApi::Responses, body())).unwrap())
    }

    #[test]
    fn a_request_tells_its_conversation_and_tools() {
        let request = request_for_tests(WireApi::Responses, body());
        assert_eq!(request.kind, RequestKind::Main);
        assert_eq!(request.first_user_text(), "where we are\ngo");
        assert_eq!(request.last_user_text(), "42");
        assert!(request.system_text().contains("be kind"));
        assert_eq!(request.tool_names(), ["exec_command", "apply_patch", "wait_agent"]);
        assert!(!request.opens_conversation());
    }

    #[test]
    fn tools_in_the_conversation_are_offered_too() {
        let exec = json!({"type": "custom", "name": "exec"});
        let group = json!({"type": "namespace", "name": "functions", "tools": [exec]});
        let request = request_for_tests(
            WireApi::Responses,
            json!({"input": [{"type": "additional_tools", "role": "developer", "tools": [group]}]}),
        );
        assert_eq!((request.kind, request.tool_names()), (RequestKind::Main, vec!["exec".to_owned()]));
        let answer = ScriptedAnswer::new(&shell("ls"), &request).unwrap();
        let item = &items(&answer)[0];
        assert_eq!((&item["type"], &item["namespace"]), (&json!("custom_tool_call"), &json!("functions")));
    }

    #[test]
    fn a_call_and_a_patch_have_their_own_items() {
        let all = events(&shell("ls").and(write("a", "b")));
        let items = &all.last().unwrap()["response"]["output"];
        assert_eq!(items[0]["arguments"], r#"{"cmd":"ls"}"#);
        assert_eq!(
            (&items[1]["type"], &items[1]["name"]),
            (&json!("custom_tool_call"), &json!("apply_patch"))
        );
        let deltas = all.iter().filter(|event| event["type"] == "response.custom_tool_call_input.delta");
        let patch: String = deltas.map(|event| text(&event["delta"])).collect();
        assert_eq!(items[1]["input"], patch);
    }

    #[test]
    fn usage_counts_cached_tokens_among_those_read() {
        let all = events(&say("hi").tokens(1000, 34).cached(200).reasoning(4));
        let expected = json!({
            "input_tokens": 1200, "input_tokens_details": {"cached_tokens": 200},
            "output_tokens": 34, "output_tokens_details": {"reasoning_tokens": 4}, "total_tokens": 1234,
        });
        assert_eq!(all.last().unwrap()["response"]["usage"], expected);
    }

    #[test]
    fn a_usage_limit_says_when_it_resets() {
        let refusal = ResponsesApi.refuse(&fault_of_tests(usage_limit(Duration::from_secs(3600))), None);
        let error = &refusal.body["error"];
        assert_eq!((refusal.status, &error["type"]), (429, &json!("usage_limit_reached")));
        assert_eq!(error["resets_in_seconds"], 3600);
        assert!(error["resets_at"].as_u64().unwrap() >= epoch_after(Duration::from_secs(3590)));
    }
}
