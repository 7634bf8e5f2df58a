//! Google's Gemini API, as Gemini CLI uses it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Reading, WireFormat, list, text};
use crate::model::answer::{Answer, Spoken, pieces};
use crate::model::conversation::{Conversation, Speaker};
use crate::model::fault::{Fault, Refusal, seconds};
use crate::model::http::Incoming;
use crate::model::server::fresh_id;
use crate::model::tools::OfferedTool;
use crate::model::turn::{TokenCounts, Turn, say};
use crate::model::{Kind, Request};

pub(super) struct Gemini;

/// The tool with which a subagent of Gemini CLI ends. No other request offers it.
const SUBAGENT_TOOL: &str = "complete_task";

impl WireFormat for Gemini {
    fn read(&self, incoming: &Incoming, body: &Value) -> Reading {
        let conversation = conversation(body);
        let file = incoming.path.rsplit('/').next().unwrap_or_default();
        Reading {
            kind: kind(&conversation, body),
            model: file.split(':').next().unwrap_or_default().to_owned(),
            session: None,
            agent: None,
            conversation,
        }
    }

    fn streams(&self, request: &Request) -> bool {
        request.path.contains(":streamGenerateContent")
    }

    fn events(&self, answer: &Answer) -> Vec<Value> {
        let id = fresh_id("response");
        let mut events: Vec<Value> = Vec::new();
        for part in parts(answer) {
            let said = text(&part["text"]);
            let split = if said.is_empty() { vec![said] } else { pieces(&said) };
            events.extend(split.into_iter().map(|piece| {
                let mut part = part.clone();
                if part.get("text").is_some() {
                    part["text"] = json!(piece);
                }
                response(answer, &id, vec![part])
            }));
        }
        let mut last = response(answer, &id, vec![json!({"text": ""})]);
        finish(&mut last, answer);
        events.push(last);
        events
    }

    fn whole(&self, answer: &Answer) -> Value {
        let mut whole = response(answer, &fresh_id("response"), parts(answer));
        finish(&mut whole, answer);
        whole
    }

    fn refuse(&self, fault: &Fault, message: Option<&str>) -> Refusal {
        let quota = "You exceeded your current quota, please check your plan and billing details.";
        let (code, status, words, details) = match fault {
            Fault::Status { status, kind } => (*status, kind.as_str(), "", json!([])),
            Fault::ServerError => (500, "INTERNAL", "An internal error has occurred.", json!([])),
            Fault::Unauthorized => {
                let reason = json!({
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID",
                    "domain": "googleapis.com", "metadata": {"service": "generativelanguage.googleapis.com"},
                });
                let words = "Request had invalid authentication credentials.";
                (401, "UNAUTHENTICATED", words, json!([reason]))
            }
            Fault::RateLimit { retry_after } => {
                let details = limits("PerMinute", *retry_after);
                (429, "RESOURCE_EXHAUSTED", quota, details)
            }
            Fault::UsageLimit { resets_in } => {
                (429, "RESOURCE_EXHAUSTED", quota, limits("PerDay", *resets_in))
            }
        };
        let message = message.unwrap_or(words);
        let error = json!({"code": code, "message": message, "status": status, "details": details});
        Refusal { status: code, headers: Vec::new(), body: json!({"error": error}) }
    }

    /// Requests for JSON (the router, the check who speaks next) get what their schema wants.
    fn aside(&self, request: &Request) -> Turn {
        let config = &request.body["generationConfig"];
        let schema = ["responseJsonSchema", "responseSchema"].into_iter().find_map(|name| config.get(name));
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
fn kind(conversation: &Conversation, body: &Value) -> Kind {
    if conversation.tools.is_empty() || wants_json(body) {
        return Kind::Side;
    }
    let is_subagent = conversation.tools.iter().any(|tool| tool.name == SUBAGENT_TOOL);
    if is_subagent { Kind::Subagent } else { Kind::Main }
}

fn wants_json(body: &Value) -> bool {
    body["generationConfig"]["responseMimeType"] == "application/json"
}

fn conversation(body: &Value) -> Conversation {
    let mut conversation = Conversation::default();
    conversation.add(Speaker::System, heard(&body["systemInstruction"]));
    for content in list(&body["contents"]) {
        let speaker = if content["role"] == "model" { Speaker::Model } else { Speaker::User };
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

fn parts(answer: &Answer) -> Vec<Value> {
    let thinking = answer.thinking.iter().map(|text| json!({"text": text, "thought": true}));
    let spoken = answer.parts.iter().map(|part| match part {
        Spoken::Text(text) => json!({"text": text}),
        Spoken::Call(call) => {
            json!({"functionCall": {"id": call.id, "name": call.name, "args": call.input}})
        }
    });
    thinking.chain(spoken).collect()
}

fn response(answer: &Answer, id: &str, parts: Vec<Value>) -> Value {
    json!({
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}],
        "modelVersion": answer.model, "responseId": id,
    })
}

fn finish(response: &mut Value, answer: &Answer) {
    response["candidates"][0]["finishReason"] = json!(answer.reason("STOP", "STOP"));
    response["usageMetadata"] = usage(&answer.usage);
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
    use crate::model::wire::{Wire, fault_of_tests, request_for_tests};
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
        let request = request_for_tests(Wire::Gemini, body());
        assert_eq!((request.kind, request.model.as_str()), (Kind::Main, "m"));
        assert_eq!(request.first_user_text(), "where we are\ngo");
        assert_eq!(request.last_user_text(), "42");
        assert_eq!(request.system_text(), "be kind");
        assert_eq!(request.tool_names(), ["run_shell_command"]);
    }

    #[test]
    fn the_last_event_has_the_usage_and_the_reason() {
        let turn = say("hi").and(shell("ls")).tokens(1000, 34).cached(200).reasoning(4);
        let answer = Answer::new(&turn, &request_for_tests(Wire::Gemini, body())).unwrap();
        let events = Gemini.events(&answer);
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
        let request = request_for_tests(Wire::Gemini, json!({"generationConfig": config}));
        assert_eq!(request.kind, Kind::Side);
        let answer = Answer::new(&Gemini.aside(&request), &request).unwrap();
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
            let refusal = Gemini.refuse(&fault_of_tests(turn), None);
            let details = &refusal.body["error"]["details"];
            assert_eq!((refusal.status, &details[1]["retryDelay"]), (429, &json!(delay)));
            assert!(details[0]["violations"][0]["quotaId"].as_str().unwrap().contains(period));
        }
    }
}
