//! Claude Code's hooks: the payloads it sends to them and the answers they print.
//!
//! Translation only. The engine decides whether a tool may run and whether the agent may stop.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_core::hook::{HookAnswer, HookKind, Question, QuestionOption};

use super::super::dialect::Printed;
use super::tools;

/// The event name of requests from the permission prompt.
pub(super) const PROMPT: &str = "PermissionRequest";

#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload {
    tool_name: String,
    // The permission prompt uses the key `input`.
    #[serde(alias = "input")]
    tool_input: Value,
    last_assistant_message: Option<String>,
    background_tasks: Vec<Value>,
}

/// Parses the payload that the CLI sent to a hook. `event` is the forwarder's argument. An unreadable
/// payload becomes an unknown tool or a plain Stop.
pub(super) fn read_hook(event: &str, payload: &[u8]) -> HookKind {
    let payload: Option<Payload> = serde_json::from_slice(payload).ok();
    match event {
        "PreToolUse" => read_tool(payload.unwrap_or_default()),
        PROMPT => read_prompt(payload.unwrap_or_default()),
        "Stop" => read_stop(payload.unwrap_or_default()),
        other => HookKind::Other { name: other.to_owned() },
    }
}

/// Returns the working folder of the CLI, to which relative paths refer.
pub(super) fn read_cwd(payload: &[u8]) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct PayloadFolder {
        cwd: PathBuf,
    }
    serde_json::from_slice::<PayloadFolder>(payload).ok().map(|folder| folder.cwd)
}

fn read_tool(payload: Payload) -> HookKind {
    if payload.tool_name == tools::QUESTION {
        return HookKind::Question { questions: read_questions(&payload.tool_input) };
    }
    HookKind::Tool(tools::call(payload.tool_name, payload.tool_input))
}

/// Reads a permission request that comes from the CLI's own rules. A question was already answered by
/// its hook.
fn read_prompt(payload: Payload) -> HookKind {
    if payload.tool_name == tools::QUESTION {
        return HookKind::Other { name: payload.tool_name };
    }
    HookKind::Permission(tools::call(payload.tool_name, payload.tool_input))
}

/// Reads the questions to a person. An input in another form becomes a single question with the raw
/// text.
fn read_questions(input: &Value) -> Vec<Question> {
    let list = input.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match list.iter().filter_map(read_question).collect::<Vec<_>>() {
        none if none.is_empty() => vec![Question::open(input.to_string())],
        questions => questions,
    }
}

fn read_question(question: &Value) -> Option<Question> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let options = question.get("options").and_then(Value::as_array).into_iter().flatten();
    let option = |option| {
        let description = text(option, "description").filter(|description| !description.is_empty());
        Some(QuestionOption { label: text(option, "label")?, description })
    };
    Some(Question {
        text: text(question, "question")?,
        options: options.filter_map(option).collect(),
        several: question.get("multiSelect").and_then(Value::as_bool).unwrap_or(false),
        // The CLI's own dialogue accepts free text, too.
        free_text: true,
    })
}

fn read_stop(payload: Payload) -> HookKind {
    HookKind::Stop {
        last_message: payload.last_assistant_message,
        background: !payload.background_tasks.is_empty(),
    }
}

/// Translates an answer into the CLI's format. An unsuitable answer never allows a tool and always
/// allows a Stop.
pub(super) fn write_answer(event: &str, payload: &[u8], answer: &HookAnswer) -> Printed {
    let said = match event {
        "PreToolUse" => tool_answer(payload, answer),
        PROMPT => Some(prompt_answer(payload, answer)),
        "Stop" | "SubagentStop" => stop_answer(answer),
        _ => None,
    };
    Printed { stdout: said.map(|value| value.to_string()).unwrap_or_default(), ..Printed::default() }
}

fn tool_answer(payload: &[u8], answer: &HookAnswer) -> Option<Value> {
    let mut decision = json!({ "hookEventName": "PreToolUse" });
    let map = decision.as_object_mut()?;
    match answer {
        HookAnswer::Pass => return None,
        HookAnswer::Allow => {
            map.insert("permissionDecision".into(), "allow".into());
        }
        HookAnswer::Reply { answers } => {
            map.insert("permissionDecision".into(), "allow".into());
            map.insert("updatedInput".into(), answered(input_of(payload), answers));
        }
        HookAnswer::Deny { reason } | HookAnswer::Block { reason } => {
            map.insert("permissionDecision".into(), "deny".into());
            map.insert("permissionDecisionReason".into(), reason.clone().into());
        }
    }
    Some(json!({ "hookSpecificOutput": decision }))
}

/// Returns the complete input from the payload.
fn input_of(payload: &[u8]) -> Value {
    serde_json::from_slice::<Payload>(payload).unwrap_or_default().tool_input
}

/// Puts answers into the input of a question, keyed by the question's text, where the CLI looks for
/// them.
fn answered(input: Value, answers: &[(String, String)]) -> Value {
    let mut map = match input {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    let pairs = answers.iter().map(|(question, answer)| (question.clone(), Value::String(answer.clone())));
    map.insert("answers".to_owned(), Value::Object(pairs.collect()));
    Value::Object(map)
}

/// Answers the permission prompt. The CLI expects the input back together with a yes.
fn prompt_answer(payload: &[u8], answer: &HookAnswer) -> Value {
    let deny = |message: &str| json!({ "behavior": "deny", "message": message });
    match answer {
        HookAnswer::Allow => json!({ "behavior": "allow", "updatedInput": input_of(payload) }),
        HookAnswer::Deny { reason } | HookAnswer::Block { reason } => deny(reason),
        HookAnswer::Pass | HookAnswer::Reply { .. } => deny(UNDECIDED),
    }
}

/// The reply to a prompt that no rule and no person decides: a question that its hook has not answered.
const UNDECIDED: &str =
    "Nobody is here to answer. Decide by yourself, or say in the tracker what blocks you.";

/// Writes the reply to a permission request, as a line for the CLI's standard input. An answer that cannot be
/// read refuses.
pub(super) fn write_reply(request: &str, answer: &str) -> Vec<u8> {
    let refusal = || json!({ "behavior": "deny", "message": "Windlass did not permit this." });
    let answer = serde_json::from_str::<Value>(answer).unwrap_or_else(|_| refusal());
    let response = json!({ "subtype": "success", "request_id": request, "response": answer });
    let mut line = json!({ "type": "control_response", "response": response }).to_string().into_bytes();
    line.push(b'\n');
    line
}

fn stop_answer(answer: &HookAnswer) -> Option<Value> {
    match answer {
        HookAnswer::Block { reason } => Some(json!({ "decision": "block", "reason": reason })),
        HookAnswer::Pass | HookAnswer::Allow | HookAnswer::Reply { .. } | HookAnswer::Deny { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::hook::{ToolCall, ToolName};

    use super::*;

    #[test]
    fn a_question_is_read_into_our_own_form_and_answered_inside_its_input() {
        let long = "q".repeat(4000);
        let input = json!({ "questions": [{ "question": long, "header": "Q", "multiSelect": true, "options": [
            { "label": "80", "description": "the usual" }, { "label": "8080", "description": "" }, 7] }] });
        let payload = json!({ "tool_name": "AskUserQuestion", "tool_input": input }).to_string();
        let HookKind::Question { questions } = read_hook("PreToolUse", payload.as_bytes()) else { panic!() };
        let option = |label: &str, description: Option<&str>| QuestionOption {
            label: label.to_owned(),
            description: description.map(str::to_owned),
        };
        let options = vec![option("80", Some("the usual")), option("8080", None)];
        assert_eq!(questions, [Question { text: long.clone(), options, several: true, free_text: true }]);
        let reply = HookAnswer::Reply { answers: vec![(long.clone(), "80".to_owned())] };
        let said = write_answer("PreToolUse", payload.as_bytes(), &reply).stdout;
        let said: Value = serde_json::from_str(&said).unwrap();
        let updated = &said["hookSpecificOutput"]["updatedInput"];
        assert_eq!(updated["questions"], input["questions"]);
        assert_eq!(updated["answers"], json!({ long: "80" }));
    }

    #[test]
    fn a_question_in_another_form_can_still_be_answered() {
        let payload = json!({ "tool_name": "AskUserQuestion", "tool_input": { "what": 1 } }).to_string();
        let questions = vec![Question::open(r#"{"what":1}"#)];
        assert_eq!(read_hook("PreToolUse", payload.as_bytes()), HookKind::Question { questions });
    }

    #[test]
    fn a_stop_with_background_tasks_says_so() {
        let stop = |background| HookKind::Stop { last_message: Some("bye".into()), background };
        let read = |text: &str| read_hook("Stop", text.as_bytes());
        assert_eq!(read(r#"{"last_assistant_message":"bye","background_tasks":[]}"#), stop(false));
        let busy =
            r#"{"last_assistant_message":"bye","background_tasks":[{"id":"x"}],"stop_hook_active":true}"#;
        assert_eq!(read(busy), stop(true));
        assert_eq!(read_hook("SubagentStop", b"{}"), HookKind::Other { name: "SubagentStop".into() });
    }

    #[test]
    fn an_unreadable_payload_is_a_tool_nobody_knows() {
        let call = ToolCall { tool: ToolName::Other, name: String::new(), input: Value::Null };
        assert_eq!(read_hook("PreToolUse", b"{"), HookKind::Tool(call));
    }

    #[test]
    fn answers_are_in_the_clis_words() {
        let allow = write_answer("PreToolUse", b"", &HookAnswer::Allow);
        assert_eq!(
            serde_json::from_str::<Value>(&allow.stdout).unwrap(),
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}})
        );
        let deny = write_answer("PreToolUse", b"", &HookAnswer::Deny { reason: "no".into() });
        assert_eq!(
            serde_json::from_str::<Value>(&deny.stdout).unwrap(),
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}})
        );
        let block = write_answer("Stop", b"", &HookAnswer::Block { reason: "go on".into() });
        assert_eq!(
            serde_json::from_str::<Value>(&block.stdout).unwrap(),
            json!({"decision": "block", "reason": "go on"})
        );
        let prompted = |answer| {
            let payload = br#"{"tool_name": "Write", "input": {"a": 1}}"#;
            serde_json::from_str::<Value>(&write_answer("PermissionRequest", payload, &answer).stdout)
                .unwrap()
        };
        assert_eq!(prompted(HookAnswer::Allow), json!({"behavior": "allow", "updatedInput": {"a": 1}}));
        assert_eq!(
            prompted(HookAnswer::Deny { reason: "no".into() }),
            json!({"behavior": "deny", "message": "no"})
        );
        assert_eq!(prompted(HookAnswer::Pass)["behavior"], "deny");
        assert_eq!(write_answer("Stop", b"", &HookAnswer::Pass), Printed::default());
        assert_eq!(write_answer("Stop", b"", &HookAnswer::Deny { reason: "x".into() }), Printed::default());
    }
}
