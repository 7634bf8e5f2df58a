//! The neutral wire format, which follows no particular agent CLI.
//!
//! `--plain FILE` names a start file, and `docs/sim.md` describes the format of lines, hook calls and
//! answers. The sim plays as Claude Code would; this module translates only the input and output of the
//! process.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_core::hook::ToolName;
use windlass_core::registry::tools;

use super::args::SimFlags;
use super::hooks::{HookDecision, HookMeaning};

/// The wire format of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Wire {
    /// The format of Claude Code.
    #[default]
    Claude,
    /// The neutral format.
    Plain,
}

/// A start file.
#[derive(Debug, Deserialize)]
struct Start {
    session: String,
    #[serde(default)]
    resume: bool,
    #[serde(default)]
    model: Option<String>,
    /// The file with the agent's role.
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    schema: Option<Value>,
    /// The hook programs with their arguments: `tool` before each tool, `stop` at the end of each turn.
    #[serde(default)]
    hooks: Map<String, Value>,
}

/// Reads a start file into the flags of a session.
pub(super) fn flags(file: &str) -> Result<SimFlags, String> {
    let text = std::fs::read(file).map_err(|cause| format!("cannot read {file}: {cause}"))?;
    let start: Start =
        serde_json::from_slice(&text).map_err(|cause| format!("cannot read {file}: {cause}"))?;
    let hooks: Map<String, Value> = start.hooks.into_iter().filter_map(hook).collect();
    let (session_id, resume) =
        if start.resume { (None, Some(start.session)) } else { (Some(start.session), None) };
    Ok(SimFlags {
        settings: Some(json!({ "hooks": hooks }).to_string()),
        session_id,
        resume,
        model: start.model,
        json_schema: start.schema.map(|schema| schema.to_string()),
        system_file: start.role,
        wire: Wire::Plain,
        ..SimFlags::default()
    })
}

fn hook((name, argv): (String, Value)) -> Option<(String, Value)> {
    let event = match name.as_str() {
        "tool" => "PreToolUse",
        "stop" => "Stop",
        _ => return None,
    };
    let mut argv = argv.as_array()?.iter().cloned();
    let (command, args) = (argv.next()?, argv.collect::<Vec<_>>());
    let entry = json!({ "type": "command", "command": command, "args": args });
    Some((event.to_owned(), json!([{ "hooks": [entry] }])))
}

/// Returns the canonical name of a tool. MCP tools, and tools that only a script knows, keep their names.
fn tool(name: &str) -> &str {
    match name {
        "AskUserQuestion" => "ask",
        server if server.starts_with("mcp__") => server,
        inner if tools::is_always_allowed(inner) => ToolName::Plan.word(),
        other => tools::kind(other).map_or(other, |kind| kind.word()),
    }
}

/// Translates an event of the stream to the neutral format. Drops events that a reader does not need.
pub(super) fn lines(event: &Value) -> Vec<Value> {
    let side = !event.get("parent_tool_use_id").is_none_or(Value::is_null);
    match event.get("type").and_then(Value::as_str).unwrap_or_default() {
        "system" if event.get("subtype") == Some(&json!("init")) => {
            let tools = event.get("tools").and_then(Value::as_array).into_iter().flatten();
            let tools: Vec<&str> = tools.filter_map(Value::as_str).map(tool).collect();
            vec![json!({ "begin": event.get("session_id"), "model": event.get("model"), "tools": tools })]
        }
        "assistant" if event.get("is_api_error_message") == Some(&json!(true)) => {
            let text = event.pointer("/message/content/0/text");
            let word = trouble(event.get("api_error_status").and_then(Value::as_u64));
            vec![json!({ "trouble": word, "text": text })]
        }
        "assistant" => assistant(event, side),
        "user" => user(event, side),
        "rate_limit_event" => {
            let until = event.pointer("/rate_limit_info/resetsAt").and_then(Value::as_i64);
            vec![json!({ "limit": { "until_ms": until.map(|seconds| seconds * 1000) } })]
        }
        "result" => vec![result(event)],
        _ => Vec::new(),
    }
}

fn assistant(event: &Value, side: bool) -> Vec<Value> {
    let message = event.pointer("/message/id");
    let blocks = event.pointer("/message/content").and_then(Value::as_array).into_iter().flatten();
    let mut lines: Vec<Value> = blocks
        .map(|block| {
            let get = |key: &str| block.get(key).cloned().unwrap_or_default();
            match block.get("type").and_then(Value::as_str) {
                Some("tool_use") => {
                    let name = get("name");
                    let name = tool(name.as_str().unwrap_or_default());
                    json!({ "use": get("id"), "tool": name, "with": input(get("input")), "side": side })
                }
                Some("thinking") => json!({ "think": get("thinking"), "side": side }),
                _ => json!({ "say": get("text"), "message": message, "side": side }),
            }
        })
        .collect();
    if let Some(usage) = event.pointer("/message/usage") {
        lines.push(json!({ "spent": tokens(usage), "message": message }));
    }
    lines
}

fn user(event: &Value, side: bool) -> Vec<Value> {
    let blocks = event.pointer("/message/content").and_then(Value::as_array).into_iter().flatten();
    let results = blocks.filter(|block| block.get("type") == Some(&json!("tool_result")));
    let was_decided = event.pointer("/tool_result_meta/0/permission_decision").is_some();
    results
        .map(|block| {
            let ok = block.get("is_error") != Some(&json!(true));
            json!({ "used": block.get("tool_use_id"), "ok": ok, "text": block.get("content"), "asked": was_decided, "side": side })
        })
        .collect()
}

fn result(event: &Value) -> Value {
    let mut end = json!({
        "said": event.get("result"), "value": event.get("structured_output"), "turns": event.get("num_turns"),
        "spent": event.get("usage").map(tokens), "cost_usd": event.get("total_cost_usd"),
    });
    if event.get("is_error") == Some(&json!(true))
        && let Some(fields) = end.as_object_mut()
    {
        let reason = event.get("terminal_reason").and_then(Value::as_str).unwrap_or_default();
        let cause = match reason {
            "api_error" => trouble(event.get("api_error_status").and_then(Value::as_u64)),
            "aborted_tools" | "aborted_streaming" => "cut_off",
            _ => "other",
        };
        let text = event.pointer("/errors/0").or(event.get("result"));
        fields.insert("failed".to_owned(), json!({ "cause": cause, "word": reason, "text": text }));
    }
    json!({ "end": end })
}

fn trouble(status: Option<u64>) -> &'static str {
    match status {
        Some(429) => "rate_limit",
        Some(401 | 403) => "login",
        Some(400 | 408 | 409 | 425 | 500..) => "transient",
        Some(404) => "model",
        _ => "lasting",
    }
}

fn tokens(usage: &Value) -> Value {
    let get = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
    json!({
        "input": get("input_tokens"), "output": get("output_tokens"),
        "cache_read": get("cache_read_input_tokens"), "cache_write": get("cache_creation_input_tokens"),
    })
}

/// Builds the payload of a hook.
pub(super) fn payload(event: &str, payload: &Value) -> Value {
    let get = |key: &str| payload.get(key).cloned().unwrap_or_default();
    match event {
        "PreToolUse" if get("tool_name") == json!("AskUserQuestion") => {
            let asked =
                payload.pointer("/tool_input/questions").and_then(Value::as_array).into_iter().flatten();
            json!({ "ask": asked.map(question).collect::<Vec<_>>() })
        }
        "PreToolUse" => {
            let name = get("tool_name");
            let name = tool(name.as_str().unwrap_or_default());
            json!({ "tool": name, "with": input(get("tool_input")), "cwd": get("cwd") })
        }
        _ => {
            let busy = get("background_tasks").as_array().is_some_and(|tasks| !tasks.is_empty());
            json!({ "said": get("last_assistant_message"), "busy": busy })
        }
    }
}

fn question(asked: &Value) -> Value {
    let several = asked.get("multiSelect").cloned().unwrap_or_default();
    json!({ "text": asked.get("question"), "options": asked.get("options"), "several": several })
}

/// Renames the fields of a tool's input.
fn input(input: Value) -> Value {
    let rename = |(key, value): (String, Value)| match key.as_str() {
        "file_path" => ("path".to_owned(), value),
        _ => (key, value),
    };
    match input {
        Value::Object(fields) => Value::Object(fields.into_iter().map(rename).collect()),
        other => other,
    }
}

/// Reads a hook's answer: `{"may": true}`, `{"may": false, "why": …}`, `{"answers": {…}}` to a question, and
/// `{"go_on": …}` to a stop. For a tool, anything else denies, because the hook is closed.
pub(super) fn answer(event: &str, code: Option<i32>, stdout: &str, payload: &Value) -> HookMeaning {
    let said: Value = serde_json::from_str(stdout).unwrap_or_default();
    let text = |key: &str| said.get(key).and_then(Value::as_str).map(str::to_owned);
    let refuse = |reason: String| HookMeaning {
        decision: Some(HookDecision::Refuse),
        reason,
        ..HookMeaning::default()
    };
    let allow = |updated_input| HookMeaning {
        decision: Some(HookDecision::Allow),
        updated_input,
        ..HookMeaning::default()
    };
    if event != "PreToolUse" {
        return text("go_on").map(refuse).unwrap_or_default();
    }
    if let Some(answers) = said.get("answers") {
        let mut input = payload.get("tool_input").cloned().unwrap_or_default();
        if let Some(fields) = input.as_object_mut() {
            fields.insert("answers".to_owned(), answers.clone());
        }
        return allow(Some(input));
    }
    match (code, said.get("may").and_then(Value::as_bool)) {
        (Some(0), Some(true)) => allow(None),
        _ => refuse(text("why").unwrap_or_else(|| "nobody answered".to_owned())),
    }
}
