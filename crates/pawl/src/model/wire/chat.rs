//! OpenAI Chat Completions, as OpenCode and Copilot use it.

use std::time::Duration;

use serde_json::{Value, json};

use super::{RequestReading, WireFormat, list, openai, text, with};
use crate::model::RequestKind;
use crate::model::answer::{ScriptedAnswer, SpokenPart, pieces};
use crate::model::conversation::{MessageSpeaker, RequestConversation, texts};
use crate::model::fault::{ApiRefusal, ServiceFault, epoch_after};
use crate::model::http::IncomingRequest;
use crate::model::server::fresh_id;
use crate::model::tools::{ModelToolCall, OfferedTool};
use crate::model::turn::TokenCounts;

pub(super) struct ChatCompletionsApi;

/// The folder in Copilot's system prompt that is named after the session.
const COPILOT_SESSIONS: &str = "/session-state/";

impl WireFormat for ChatCompletionsApi {
    fn read(&self, incoming: &IncomingRequest, body: &Value) -> RequestReading {
        let header = |name: &str| incoming.header(name).map(str::to_owned);
        let conversation = conversation(body);
        // A subagent of OpenCode is a session with a parent.
        let (own, parent) = (header("x-session-id"), header("x-parent-session-id"));
        let agent = parent.as_ref().and(own.clone());
        let session = parent.or(own).or_else(|| copilot_session(&conversation));
        RequestReading {
            kind: kind(incoming, &conversation, agent.is_some()),
            model: text(&body["model"]),
            session,
            agent,
            conversation,
        }
    }

    fn events(&self, answer: &ScriptedAnswer) -> Vec<Value> {
        let head = head(answer, "chat.completion.chunk");
        let chunk =
            |choices: Value, usage: Value| with(head.clone(), [("choices", choices), ("usage", usage)]);
        let delta = |delta: Value, reason: Value| {
            chunk(json!([{"index": 0, "delta": delta, "finish_reason": reason}]), Value::Null)
        };
        let mut events = vec![delta(json!({"role": "assistant", "content": ""}), Value::Null)];
        events.extend(deltas(answer).into_iter().map(|part| delta(part, Value::Null)));
        events.push(delta(json!({}), json!(answer.reason("tool_calls", "stop"))));
        events.push(chunk(json!([]), usage(&answer.usage)));
        events
    }

    fn whole(&self, answer: &ScriptedAnswer) -> Value {
        let mut message = json!({"role": "assistant", "content": said(answer)});
        let calls: Vec<Value> = calls(answer).map(|call| call_entry(call, &call.input.to_string())).collect();
        if !calls.is_empty() {
            message = with(message, [("tool_calls", json!(calls))]);
        }
        let reason = answer.reason("tool_calls", "stop");
        let choices = json!([{"index": 0, "message": message, "finish_reason": reason}]);
        with(head(answer, "chat.completion"), [("choices", choices), ("usage", usage(&answer.usage))])
    }

    fn refuse(&self, fault: &ServiceFault, message: Option<&str>) -> ApiRefusal {
        openai::refuse(fault, message)
    }

    fn frame(&self, event: &Value) -> String {
        format!("data: {event}\n\n")
    }

    fn closing(&self) -> &'static str {
        "data: [DONE]\n\n"
    }
}

/// Decides the kind of a request. One without tools (titles, summaries) is not part of the conversation.
/// Copilot names the type of its requests, except of those that continue with a tool result.
fn kind(incoming: &IncomingRequest, conversation: &RequestConversation, is_agent: bool) -> RequestKind {
    if conversation.tools.is_empty() {
        return RequestKind::Side;
    }
    match incoming.header("x-interaction-type") {
        Some("conversation-subagent") => RequestKind::Subagent,
        None | Some("conversation-user" | "conversation-agent") if is_agent => RequestKind::Subagent,
        None | Some("conversation-user" | "conversation-agent") => RequestKind::Main,
        // A summary of the conversation, for example.
        Some(_) => RequestKind::Side,
    }
}

/// Finds the session of Copilot, which sends it in its system prompt only.
fn copilot_session(conversation: &RequestConversation) -> Option<String> {
    let told = conversation.of(MessageSpeaker::System).next()?.text();
    let rest = told.split(COPILOT_SESSIONS).nth(1)?;
    let id: String = rest.chars().take_while(|letter| letter.is_ascii_hexdigit() || *letter == '-').collect();
    (!id.is_empty()).then_some(id)
}

fn conversation(body: &Value) -> RequestConversation {
    let mut conversation = RequestConversation::default();
    for message in list(&body["messages"]) {
        let speaker = match message["role"].as_str() {
            Some("user" | "tool") => MessageSpeaker::User,
            Some("system" | "developer") => MessageSpeaker::System,
            _ => MessageSpeaker::Model,
        };
        conversation.add(speaker, texts(&message["content"]));
    }
    let tool = |function: &Value| OfferedTool::new(&text(&function["name"]), &function["parameters"]);
    let functions = list(&body["tools"]).filter(|tool| tool["type"] == "function");
    let functions = functions.filter_map(|tool| tool.get("function"));
    conversation.tools = functions.map(tool).collect();
    conversation
}

/// Builds the usage. Cached tokens are a part of those read.
fn usage(tokens: &TokenCounts) -> Value {
    let input = tokens.whole_input();
    json!({
        "prompt_tokens": input,
        "completion_tokens": tokens.output,
        "total_tokens": input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    })
}

fn head(answer: &ScriptedAnswer, object: &str) -> Value {
    json!({
        "id": fresh_id("chatcmpl"), "object": object, "created": epoch_after(Duration::ZERO),
        "model": answer.model, "choices": [],
    })
}

fn said(answer: &ScriptedAnswer) -> Option<String> {
    let texts: Vec<&str> = answer.parts.iter().filter_map(SpokenPart::text).collect();
    (!texts.is_empty()).then(|| texts.concat())
}

fn calls(answer: &ScriptedAnswer) -> impl Iterator<Item = &ModelToolCall> {
    answer.parts.iter().filter_map(SpokenPart::call)
}

fn call_entry(call: &ModelToolCall, arguments: &str) -> Value {
    let function = json!({"name": call.name, "arguments": arguments});
    json!({"id": call.id, "type": "function", "function": function})
}

fn deltas(answer: &ScriptedAnswer) -> Vec<Value> {
    // OpenAI's own models keep their thoughts; the others send them like this.
    let thoughts = answer.thinking.iter().flat_map(|text| pieces(text));
    let mut deltas: Vec<Value> = thoughts.map(|piece| json!({"reasoning_content": piece})).collect();
    for text in answer.parts.iter().filter_map(SpokenPart::text) {
        deltas.extend(pieces(text).into_iter().map(|piece| json!({"content": piece})));
    }
    for (index, call) in calls(answer).enumerate() {
        let arguments = call.input.to_string();
        let opening = with(call_entry(call, ""), [("index", json!(index))]);
        deltas.push(json!({"tool_calls": [opening]}));
        let piece = |piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]});
        deltas.extend(pieces(&arguments).into_iter().map(piece));
    }
    deltas
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::wire::{WireApi, request_for_tests};
    use crate::model::{say, shell};

    fn body() -> Value {
        let told = "Session folder: /h/.copilot/session-state/f88e8d26-0d4a\n";
        json!({"model": "m", "stream": true, "messages": [
            {"role": "system", "content": told},
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": null, "tool_calls": []},
            {"role": "tool", "tool_call_id": "c", "content": "42"},
        ], "tools": [
            {"type": "function", "function": {"name": "bash", "parameters": {"required": ["description"]}}},
        ]})
    }

    #[test]
    fn a_request_tells_its_conversation_tools_and_session() {
        let request = request_for_tests(WireApi::ChatCompletions, body());
        assert_eq!((request.kind, request.session.as_deref()), (RequestKind::Main, Some("f88e8d26-0d4a")));
        assert_eq!((request.first_user_text(), request.last_user_text()), ("go".into(), "42".into()));
        assert!(request.system_text().contains("Session folder"));
    }

    #[test]
    fn a_request_without_tools_is_no_turn() {
        let mut body = body();
        body["tools"] = json!([]);
        assert_eq!(request_for_tests(WireApi::ChatCompletions, body).kind, RequestKind::Side);
    }

    #[test]
    fn a_stream_has_the_text_the_call_and_the_usage() {
        let turn = say("hi there").and(shell("ls")).tokens(1000, 34).cached(200).reasoning(4);
        let answer =
            ScriptedAnswer::new(&turn, &request_for_tests(WireApi::ChatCompletions, body())).unwrap();
        let events = ChatCompletionsApi.events(&answer);
        let deltas: Vec<&Value> = events.iter().map(|event| &event["choices"][0]["delta"]).collect();
        let said: String = deltas.iter().filter_map(|delta| delta["content"].as_str()).collect();
        let function =
            |delta: &&Value| delta["tool_calls"][0]["function"]["arguments"].as_str().map(str::to_owned);
        let arguments: String = deltas.iter().filter_map(function).collect();
        assert_eq!(said, "hi there");
        assert_eq!(arguments, r#"{"command":"ls","description":"a scripted command"}"#);
        assert!(events.iter().any(|event| event["choices"][0]["finish_reason"] == "tool_calls"));
        let expected = json!({
            "prompt_tokens": 1200, "completion_tokens": 34, "total_tokens": 1234,
            "prompt_tokens_details": {"cached_tokens": 200},
            "completion_tokens_details": {"reasoning_tokens": 4},
        });
        assert_eq!(events.last().unwrap()["usage"], expected);
    }
}
