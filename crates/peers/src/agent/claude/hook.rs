//! Claude Code's hooks: what it writes to them, and what they print back.
//!
//! Only the dialect. Whether a tool may run and whether the agent may stop is the engine's.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_core::hook::{Answer, HookKind};

use super::super::dialect::Printed;
use super::super::lines::shorten;

/// How much of a text in a tool's input is kept, where it is only shown.
const SHOWN: usize = 2 * 1024;
/// How many entries of a list are kept.
const SHOWN_ENTRIES: usize = 100;
/// Rules speak of these, so they are kept whole: padding must not get past a rule.
const RULED: &[&str] = &[
    "command",
    "file_path",
    "notebook_path",
    "path",
    "absolute_path",
    "url",
    "query",
    "skill",
    "subagent_type",
    "pattern",
];

#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload {
    tool_name: String,
    tool_input: Value,
    last_assistant_message: Option<String>,
    background_tasks: Vec<Value>,
    stop_hook_active: bool,
}

/// Reads what the CLI wrote to a hook. `event` is the forwarder's argument. A payload that
/// cannot be read is a tool nobody knows, or a plain Stop.
pub(super) fn read_hook(event: &str, payload: &[u8]) -> HookKind {
    let payload: Option<Payload> = serde_json::from_slice(payload).ok();
    match event {
        "PreToolUse" => read_tool(payload.unwrap_or_default()),
        "PermissionRequest" => {
            let Payload { tool_name: name, tool_input, .. } = payload.unwrap_or_default();
            HookKind::Permission { name, input: shown_input(tool_input) }
        }
        "Stop" => read_stop(payload.unwrap_or_default()),
        other => HookKind::Other { name: other.to_owned() },
    }
}

/// The folder that the CLI is in, which relative paths begin at.
pub(super) fn read_cwd(payload: &[u8]) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Folder {
        cwd: PathBuf,
    }
    serde_json::from_slice::<Folder>(payload).ok().map(|folder| folder.cwd)
}

fn read_tool(payload: Payload) -> HookKind {
    if payload.tool_name == "AskUserQuestion" {
        return HookKind::Question { input: payload.tool_input };
    }
    HookKind::Tool { name: payload.tool_name, input: shown_input(payload.tool_input) }
}

fn shown_input(input: Value) -> Value {
    match input {
        Value::Object(map) => Value::Object(map.into_iter().map(shown_field).collect()),
        other => shown(other),
    }
}

fn shown_field((key, value): (String, Value)) -> (String, Value) {
    if RULED.contains(&key.as_str()) && value.is_string() {
        return (key, value);
    }
    (key, shown(value))
}

fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(shorten(&text, SHOWN)),
        Value::Array(list) => Value::Array(list.into_iter().take(SHOWN_ENTRIES).map(shown).collect()),
        Value::Object(map) => {
            let kept: Map<_, _> = map.into_iter().take(SHOWN_ENTRIES).map(|(k, v)| (k, shown(v))).collect();
            Value::Object(kept)
        }
        other => other,
    }
}

fn read_stop(payload: Payload) -> HookKind {
    HookKind::Stop {
        last_message: payload.last_assistant_message,
        background: !payload.background_tasks.is_empty(),
        stop_hook_active: payload.stop_hook_active,
    }
}

/// Puts an answer into the CLI's words. A tool is never let through by an answer that does not
/// fit; a Stop always is.
pub(super) fn write_answer(event: &str, answer: &Answer) -> Printed {
    let said = match event {
        "PreToolUse" => tool_answer(answer),
        "PermissionRequest" => Some(prompt_answer(answer)),
        "Stop" | "SubagentStop" => stop_answer(answer),
        _ => None,
    };
    Printed { stdout: said.map(|value| value.to_string()).unwrap_or_default(), ..Printed::default() }
}

fn tool_answer(answer: &Answer) -> Option<Value> {
    let mut decision = json!({ "hookEventName": "PreToolUse" });
    let map = decision.as_object_mut()?;
    match answer {
        Answer::Pass => return None,
        Answer::Allow { input } => {
            map.insert("permissionDecision".into(), "allow".into());
            if let Some(input) = input {
                map.insert("updatedInput".into(), input.clone());
            }
        }
        Answer::Deny { reason } | Answer::Block { reason } => {
            map.insert("permissionDecision".into(), "deny".into());
            map.insert("permissionDecisionReason".into(), reason.clone().into());
        }
    }
    Some(json!({ "hookSpecificOutput": decision }))
}

/// For the permission prompt tool, which adds the input it was given.
fn prompt_answer(answer: &Answer) -> Value {
    match answer {
        Answer::Allow { .. } => json!({ "behavior": "allow" }),
        Answer::Deny { reason } | Answer::Block { reason } => {
            json!({ "behavior": "deny", "message": reason })
        }
        Answer::Pass => json!({ "behavior": "deny", "message": "the run has not decided this" }),
    }
}

fn stop_answer(answer: &Answer) -> Option<Value> {
    match answer {
        Answer::Block { reason } => Some(json!({ "decision": "block", "reason": reason })),
        Answer::Pass | Answer::Allow { .. } | Answer::Deny { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_call_is_shortened_where_it_is_only_shown() {
        let command = format!("echo {} && rm -rf /", "x".repeat(5000));
        let payload = json!({ "tool_name": "Bash", "tool_input": { "command": command, "description": "d".repeat(5000) } });
        let HookKind::Tool { name, input } = read_hook("PreToolUse", payload.to_string().as_bytes()) else {
            panic!()
        };
        assert_eq!(name, "Bash");
        assert_eq!(input["command"], command);
        assert!(input["description"].as_str().unwrap().len() < 2100);
    }

    #[test]
    fn a_question_keeps_its_whole_input() {
        let input = json!({ "questions": [{ "question": "q".repeat(4000) }] });
        let payload = json!({ "tool_name": "AskUserQuestion", "tool_input": input });
        assert_eq!(read_hook("PreToolUse", payload.to_string().as_bytes()), HookKind::Question { input });
    }

    #[test]
    fn a_stop_with_background_tasks_says_so() {
        let stop = |background, active| HookKind::Stop {
            last_message: Some("bye".into()),
            background,
            stop_hook_active: active,
        };
        let read = |text: &str| read_hook("Stop", text.as_bytes());
        assert_eq!(read(r#"{"last_assistant_message":"bye","background_tasks":[]}"#), stop(false, false));
        assert_eq!(
            read(
                r#"{"last_assistant_message":"bye","background_tasks":[{"id":"x"}],"stop_hook_active":true}"#
            ),
            stop(true, true)
        );
        assert_eq!(read_hook("SubagentStop", b"{}"), HookKind::Other { name: "SubagentStop".into() });
    }

    #[test]
    fn an_unreadable_payload_is_a_tool_nobody_knows() {
        assert_eq!(read_hook("PreToolUse", b"{"), HookKind::Tool { name: String::new(), input: Value::Null });
    }

    #[test]
    fn answers_are_in_the_clis_words() {
        let allow = write_answer("PreToolUse", &Answer::Allow { input: Some(json!({"a": 1})) });
        assert_eq!(
            serde_json::from_str::<Value>(&allow.stdout).unwrap(),
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"a": 1}}})
        );
        let deny = write_answer("PreToolUse", &Answer::Deny { reason: "no".into() });
        assert_eq!(
            serde_json::from_str::<Value>(&deny.stdout).unwrap(),
            json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}})
        );
        let block = write_answer("Stop", &Answer::Block { reason: "go on".into() });
        assert_eq!(
            serde_json::from_str::<Value>(&block.stdout).unwrap(),
            json!({"decision": "block", "reason": "go on"})
        );
        let prompted = |answer| {
            serde_json::from_str::<Value>(&write_answer("PermissionRequest", &answer).stdout).unwrap()
        };
        assert_eq!(prompted(Answer::Allow { input: None }), json!({"behavior": "allow"}));
        assert_eq!(
            prompted(Answer::Deny { reason: "no".into() }),
            json!({"behavior": "deny", "message": "no"})
        );
        assert_eq!(prompted(Answer::Pass)["behavior"], "deny");
        assert_eq!(write_answer("Stop", &Answer::Pass), Printed::default());
        assert_eq!(write_answer("Stop", &Answer::Deny { reason: "x".into() }), Printed::default());
    }
}
