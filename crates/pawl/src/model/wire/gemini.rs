//! Google's Gemini API, as Gemini CLI uses it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{RequestReading, WireFormat, list, text, with};
use crate::model::answer::{ScriptedAnswer, SpokenPart, pieces};
use crate::model::conversation::{MessageSpeaker, RequestConversation};
use crate::model::fault::{ApiRefusal, ServiceFault, seconds};
use crate::model::http::IncomingRequest;
use crate::model::server::fresh_id;
use crate::model::tools::OfferedTool;
use crate::model::turn::{ModelTurn, TokenCounts, say};
use crate::model::{RequestKind, WireRequest};

pub(super) struct GeminiApi;

/// The tool with which a subagent of Gemini CLI ends. No other request offers it.
const SUBAGENT_TOOL: &str = "complete_task";

impl WireFormat for GeminiApi {
    fn read(&self, incoming: &IncomingRequest, body: &Value) -> RequestReading {
        let conversation = conversation(body);
        let file = incoming.path.rsplit('/').next().unwrap_or_default();
        RequestReading {
            kind: kind(&conversation, body),
            model: file.split(':').next().unwrap_or_default().to_owned(),
            session: None,
            agent: None,
            conversation,
        }
    }

    fn streams(&self, request: &WireRequest) -> bool {
        request.path.contains(":streamGenerateContent")
    }

    fn events(&self, answer: &ScriptedAnswer) -> Vec<Value> {
        let id = fresh_id("response");
        let mut events: Vec<Value> = Vec::new();
        for part in parts(answer) {
            let said = part.get("text").and_then(Value::as_str).map(pieces).filter(|said| !said.is_empty());
            let split = match said {
                None => vec![part],
                Some(said) => said.iter().map(|piece| with(part.clone(), [("text", json!(piece))])).collect(),
            };
            events.extend(split.into_iter().map(|part| response(answer, &id, vec![part])));
        }
        events.push(finish(response(answer, &id, vec![json!({"text": ""})]), answer));
        events
    }

    fn whole(&self, answer: &ScriptedAnswer) -> Value {
        finish(response(answer, &fresh_id("response"), parts(answer)), answer)
    }

    fn refuse(&self, fault: &ServiceFault, message: Option<&str>) -> ApiRefusal {
        let quota = "You exceeded your current quota, please check your plan and billing details.";
        let (code, status, words, details) = match fault {
            ServiceFault::Status { status, kind } => (*status, kind.as_str(), "", json!([])),
            ServiceFault::ServerError => (500, "INTERNAL", "An internal error has occurred.", json!([])),
            ServiceFault::Unauthorized => {
                let reason = json!({
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
                    "domain": "googleapis.com", "metadata": {"service": "generativelanguage.googleapis.com"},
                });
                let words = "Request had invalid authentication credentials.";
                (401, "UNAUTHENTICATED", words, json!([reason]))
            }
            ServiceFault::RateLimit { retry_after } => {
                let details = limits("PerMinute", *retry_after);
                (429, "RESOURCE_EXHAUSTED", quota, details)
            }
            ServiceFault::UsageLimit { resets_in } => {
                (429, "RESOURCE_EXHAUSTED", quota, limits("PerDay", *resets_in))
            }
        };
        let message = message.unwrap_or(words);
        let error = json!({"code": code, "message": message, "status": status, "details": details});
        ApiRefusal { status: code, headers: Vec::new(), body: json!({"error": error}) }
    }

    /// Requests for JSON (the router, the check who speaks next) get what their schema wants.
    fn aside(&self, request: &WireRequest) -> ModelTurn {
        let config = request.body.get("generationConfig");
        let schema = |name: &str| config?.get(name);
        let schema = schema("responseJsonSchema").or_else(|| schema("responseSchema"));
        match schema {
            Some(schema) => say(example(schema).to_string()),
            None if wants_json(&request.body) => say("{}"),
            None => say("ok"),
        }
    }

    fn frame(&self, event: &Value) -> String {
        format!("data: {event}\r\n\r\n")
    }
}

/// Builds the details of a limit: the quota, and the time to wait for.
fn limits(period: &str, wait: Duration) -> Value {
    let metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests";
    let id = format!("GenerateRequests{period}PerProjectPerModel-FreeTier");
    json!([
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaMetric": metric, "quotaId": id, "quotaValue": "20"}],
        },
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{}s", seconds(wait))},
    ])
}

/// Decides the kind of a request. One without tools of the CLI, or for JSON, is not part of the conversation.
fn kind(conversation: &RequestConversation, body: &Value) -> RequestKind {
    if conversation.tools.is_empty() || wants_json(body) {
        return RequestKind::Side;
    }
    let is_subagent = conversation.tools.iter().any(|tool| tool.name == SUBAGENT_TOOL);
    if is_subagent { RequestKind::Subagent } else { RequestKind::Main }
}

fn wants_json(body: &Value) -> bool {
    let wanted = body.pointer("/generationConfig/responseMimeType");
    wanted.and_then(Value::as_str) == Some("application/json")
}

fn conversation(body: &Value) -> RequestConversation {
    let mut conversation = RequestConversation::default();
    conversation.add(MessageSpeaker::System, heard(&body["systemInstruction"]));
    for content in list(&body["contents"]) {
        let speaker = if content["role"] == "model" { MessageSpeaker::Model } else { MessageSpeaker::User };
        conversation.add(speaker, heard(content));
    }
    let declared = list(&body["tools"]).flat_map(|tool| list(&tool["functionDeclarations"]));
    let tool = |tool: &Value| OfferedTool::new(&text(&tool["name"]), &tool["parametersJsonSchema"]);
    conversation.tools = declared.map(tool).collect();
    conversation
}

/// Returns the texts of a message. The result of a tool is an object, of which the text is `output` or `error`.
fn heard(content: &Value) -> Vec<String> {
    let part = |part: &Value| match part.get("functionResponse") {
        Some(result) => {
            let response = &result["response"];
            let said = ["output", "error"].into_iter().find_map(|name| response[name].as_str());
            said.map_or_else(|| response.to_string(), str::to_owned)
        }
        None => text(&part["text"]),
    };
    list(&content["parts"]).map(part).collect()
}

fn parts(answer: &ScriptedAnswer) -> Vec<Value> {
    let thinking = answer.thinking.iter().map(|text| json!({"text": text, "thought": true}));
    let spoken = answer.parts.iter().map(|part| match part {
        SpokenPart::Text(text) => json!({"text": text}),
        SpokenPart::Call(call) => {
            json!({"functionCall": {"id": call.id, "name": call.name, "args": call.input}})
        }
    });
    thinking.chain(spoken).collect()
}

fn response(answer: &ScriptedAnswer, id: &str, parts: Vec<Value>) -> Value {
    json!({
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}],
        "modelVersion": answer.model, "responseId": id,
    })
}

fn finish(mut response: Value, answer: &ScriptedAnswer) -> Value {
    if let Some(Value::Object(candidate)) = response.pointer_mut("/candidates/0") {
        candidate.insert("finishReason".to_owned(), json!(answer.reason("STOP", "STOP")));
    }
    with(response, [("usageMetadata", usage(&answer.usage))])
}

/// Builds the usage. Cached tokens are a part of those read, and reasoning is counted apart.
fn usage(tokens: &TokenCounts) -> Value {
    let input = tokens.whole_input();
    json!({
        "promptTokenCount": input,
        "cachedContentTokenCount": tokens.cached,
        "candidatesTokenCount": tokens.output.saturating_sub(tokens.reasoning),
        "thoughtsTokenCount": tokens.reasoning,
        "totalTokenCount": input + tokens.output,
    })
}

/// Returns a value that fits a schema: the first of each choice, and else the smallest.
fn example(schema: &Value) -> Value {
    if let Some(first) = list(&schema["enum"]).next() {
        return first.clone();
    }
    match schema["type"].as_str().unwrap_or_default().to_lowercase().as_str() {
        "object" => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            Value::Object(fields.map(|(name, field)| (name.clone(), example(field))).collect::<Map<_, _>>())
        }
        "array" => json!([]),
        "boolean" => json!(false),
        "number" | "integer" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        _ => json!("scripted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::wire::{WireApi, fault_of_tests, request_for_tests};
    use crate::model::{rate_limit, shell, usage_limit};

    fn body() -> Value {
        json!({
            "systemInstruction": {"parts": [{"text": "be kind"}]},
            "contents": [
                {"role": "user", "parts": [{"text": "where we are"}, {"text": "go"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "run_shell_command", "args": {}}}]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "run_shell_command", "response": {"output": "42"}}},
                ]},
            ],
            "tools": [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": {}}]}],
        })
    }

    #[test]
    fn a_request_tells_its_conversation_tools_and_model() {
        let request = request_for_tests(WireApi::Gemini, body());
        assert_eq!((request.kind, request.model.as_str()), (RequestKind::Main, "m"));
        assert_eq!(request.first_user_text(), "where we are\ngo");
        assert_eq!(request.last_user_text(), "42");
        assert_eq!(request.system_text(), "be kind");
        assert_eq!(request.tool_names(), ["run_shell_command"]);
    }

    #[test]
    fn the_last_event_has_the_usage_and_the_reason() {
        let turn = say("hi").and(shell("ls")).tokens(1000, 34).cached(200).reasoning(4);
        let answer = ScriptedAnswer::new(&turn, &request_for_tests(WireApi::Gemini, body())).unwrap();
        let events = GeminiApi.events(&answer);
        assert!(events.iter().any(|event| {
            event["candidates"][0]["content"]["parts"][0]["functionCall"]["args"] == json!({"command": "ls"})
        }));
        let last = events.last().unwrap();
        assert_eq!(last["candidates"][0]["finishReason"], "STOP");
        let expected = json!({
            "promptTokenCount": 1200, "cachedContentTokenCount": 200, "candidatesTokenCount": 30,
            "thoughtsTokenCount": 4, "totalTokenCount": 1234,
        });
        assert_eq!(last["usageMetadata"], expected);
    }

    #[test]
    fn a_request_for_json_is_no_turn_and_gets_what_its_schema_wants() {
        let schema = json!({"type": "object", "properties": {
            "reasoning": {"type": "string"},
            "next_speaker": {"type": "string", "enum": ["user", "model"]},
            "score": {"type": "integer", "minimum": 1},
        }});
        let config = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
        let request = request_for_tests(WireApi::Gemini, json!({"generationConfig": config}));
        assert_eq!(request.kind, RequestKind::Side);
        let answer = ScriptedAnswer::new(&GeminiApi.aside(&request), &request).unwrap();
        let said = text(&parts(&answer)[0]["text"]);
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said, json!({"reasoning": "scripted", "next_speaker": "user", "score": 1}));
    }

    #[test]
    fn a_limit_says_when_to_try_again_and_for_which_period() {
        for (turn, delay, period) in [
            (rate_limit(Duration::from_secs(7)), "7s", "PerMinute"),
            (usage_limit(Duration::from_secs(3600)), "3600s", "PerDay"),
        ] {
            let refusal = GeminiApi.refuse(&fault_of_tests(turn), None);
            let details = &refusal.body["error"]["details"];
            assert_eq!((refusal.status, &details[1]["retryDelay"]), (429, &json!(delay)));
            assert!(details[0]["violations"][0]["quotaId"].as_str().unwrap().contains(period));
        }
    }
}
