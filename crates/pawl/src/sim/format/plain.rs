//! The neutral format, which follows no particular agent CLI.
//!
//! `--plain FILE` names a start file, and `docs/sim.md` describes the format of lines, hook calls and
//! answers.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_core::hook::ToolName;
use windlass_core::registry::tools;

use super::hook_table::HookTable;
use super::prompt;
use super::{FormatAbilities, LaunchRefusal, SessionChoice, SignalEnd, SimFormat, SimLaunch};
use crate::sim::event::{
    CallVerdict, Failure, MessagePart, SimCall, SimEvent, SimMessage, SimResult, ToolResult,
};
use crate::sim::hook_call::{HookMeaning, HookMoment, HookOutput};
use crate::sim::ids::new_uuid;
use crate::sim::lines::EventLines;
use crate::sim::play::PlayCut;
use crate::sim::script::ScriptUsage;
use crate::sim::signals::StopRequest;
use crate::sim::start::ProcessInputs;

/// The tools of a session.
const TOOLS: [&str; 13] = [
    "Task",
    "AskUserQuestion",
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "NotebookEdit",
    "Read",
    "Skill",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];
const HOOK_LIMIT: Duration = Duration::from_secs(600);

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

/// A session in the neutral format.
pub(super) struct PlainFormat {
    hooks: HookTable,
}

impl Default for PlainFormat {
    fn default() -> PlainFormat {
        PlainFormat { hooks: HookTable::with_unit(Duration::from_secs(1)) }
    }
}

impl SimFormat for PlainFormat {
    fn version(&self) -> &'static str {
        "neutral 1"
    }

    fn launch(&mut self, inputs: &mut ProcessInputs<'_>) -> Result<SimLaunch, LaunchRefusal> {
        let file = match inputs.args.as_slice() {
            [flag, file, ..] if flag == "--plain" => file,
            _ => return Err("the neutral format needs --plain FILE".to_owned().into()),
        };
        let start = read(file)?;
        let hooks: Map<String, Value> = start.hooks.into_iter().filter_map(hook).collect();
        let hooks = json!({ "hooks": hooks }).to_string();
        self.hooks
            .add(hooks.as_bytes(), None)
            .map_err(|cause| format!("cannot read the hooks of {file}: {cause}"))?;
        let (chosen, resumes) =
            if start.resume { (None, Some(start.session)) } else { (Some(start.session), None) };
        Ok(SimLaunch {
            session: SessionChoice::given(chosen, resumes, new_uuid),
            model: start.model,
            schema: start.schema,
            role: start.role.and_then(|file| std::fs::read_to_string(file).ok()),
            prompt: prompt::whole(&mut inputs.input)?,
            ..SimLaunch::default()
        })
    }

    fn abilities(&self) -> FormatAbilities {
        FormatAbilities { questions: true, answers: true, background: true, tells_stops: false }
    }

    fn write(&mut self, event: SimEvent<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
        match event {
            SimEvent::Opened(opening) => {
                let answering = opening.gives_answer.then_some("StructuredOutput");
                let tools: Vec<&str> = TOOLS.into_iter().chain(answering).map(tool).collect();
                lines.line(&json!({ "begin": lines.session, "model": lines.model, "tools": tools }))
            }
            SimEvent::Answered(message, part) => answer(message, part, lines),
            SimEvent::Returned(call, result) => lines.line(&returned(call, result)),
            SimEvent::Failed(failure) => {
                if failure.limit.is_some() {
                    let until_ms = failure.resets_at().map(|seconds| seconds * 1000);
                    lines.line(&json!({ "limit": { "until_ms": until_ms } }))?;
                }
                lines.line(&json!({ "trouble": trouble(failure.status), "text": failure.words() }))
            }
            SimEvent::Ended(summary) => {
                let last = summary.results.len().saturating_sub(1);
                summary.results.iter().enumerate().try_for_each(|(at, result)| {
                    let overrides = (at == last).then_some(summary.overrides);
                    lines.line(&end(result, summary.total.cost_usd, overrides))
                })
            }
            SimEvent::Started(_)
            | SimEvent::Interrupted
            | SimEvent::StopBlocked { .. }
            | SimEvent::CapReached { .. }
            | SimEvent::Aside(_) => Ok(()),
        }
    }

    fn ask(&mut self, call: &HookMoment<'_>, _: &mut EventLines<'_>) -> Result<HookMeaning, PlayCut> {
        let told = payload(call.event, &call.facts, call.room.cwd);
        let said = self.hooks.call(call.event, call.subject, &told, &call.room, HOOK_LIMIT)?;
        let read =
            |(_, said): &(_, HookOutput)| answer_of(call.event, said.exit_code, &said.stdout, &call.facts);
        Ok(HookMeaning::together(said.iter().map(read)))
    }

    fn refusal(&self, tool: &str, reason: Option<&str>) -> String {
        reason.map_or_else(|| format!("{tool} was not permitted"), str::to_owned)
    }

    fn sample_line(&self) -> String {
        json!({ "say": "half a line", "message": "msg_half", "side": false }).to_string()
    }

    fn signalled(&mut self, asked: StopRequest, _: bool, _: &mut EventLines<'_>) -> io::Result<SignalEnd> {
        Ok(match asked {
            StopRequest::Interrupt => SignalEnd::Result(0),
            StopRequest::Terminate(code) => SignalEnd::Code(code),
        })
    }

    fn unknown_session(&self, _: &str) -> Option<LaunchRefusal> {
        None
    }
}

fn read(file: &str) -> Result<Start, String> {
    let text = std::fs::read(file).map_err(|cause| format!("cannot read {file}: {cause}"))?;
    serde_json::from_slice(&text).map_err(|cause| format!("cannot read {file}: {cause}"))
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

fn answer(message: &SimMessage, part: MessagePart<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
    let line = match part {
        MessagePart::Said(text) => json!({ "say": text, "message": message.id, "side": false }),
        MessagePart::Thought(text) => json!({ "think": text, "side": false }),
        MessagePart::Called(call) => {
            json!({ "use": call.id, "tool": tool(&call.name), "with": input(call.input.clone()), "side": false })
        }
    };
    lines.line(&line)?;
    // The output tokens are those at the start of the message, as Claude Code reports them.
    let spent = tokens(ScriptUsage { output_tokens: 1, ..message.usage });
    lines.line(&json!({ "spent": spent, "message": message.id }))
}

fn returned(call: &SimCall, result: &ToolResult) -> Value {
    let was_asked = matches!(result.verdict, CallVerdict::Ran | CallVerdict::Refused);
    json!({
        "used": call.id, "ok": !result.is_error, "text": result.content, "asked": was_asked, "side": false,
    })
}

/// Writes a result. Of the fields with which a script overrides it, the format carries the failure and its word.
fn end(result: &SimResult, cost_usd: f64, overrides: Option<&Map<String, Value>>) -> Value {
    let verdict = &result.verdict;
    let overridden = |key: &str| overrides.and_then(|fields| fields.get(key));
    let is_error = overridden("is_error").and_then(Value::as_bool).unwrap_or(verdict.is_error());
    let word = overridden("terminal_reason").and_then(Value::as_str).unwrap_or(verdict.terminal_reason);
    let mut end = json!({
        "said": verdict.outcome.as_ref().ok(), "value": result.structured, "turns": result.since.requests,
        "spent": tokens(result.since.usage), "cost_usd": cost_usd,
    });
    if is_error && let Some(fields) = end.as_object_mut() {
        let cause = match (&verdict.failure, word) {
            (Some(failure), _) if is_beyond_repair(failure) => "other",
            (Some(failure), _) => trouble(failure.status),
            (None, "aborted_tools" | "aborted_streaming") => "cut_off",
            (None, _) => "other",
        };
        let text = match &verdict.outcome {
            Ok(said) => said.clone(),
            Err(errors) => errors.first().cloned().unwrap_or_default(),
        };
        let failed = json!({ "cause": cause, "word": word, "text": text });
        fields.insert("failed".to_owned(), failed);
    }
    json!({ "end": end })
}

fn trouble(status: u16) -> &'static str {
    match status {
        429 => "rate_limit",
        401 | 403 => "login",
        400 | 408 | 409 | 425 | 500.. => "transient",
        404 => "model",
        _ => "lasting",
    }
}

/// Decides whether the same request would be refused again.
fn is_beyond_repair(failure: &Failure) -> bool {
    failure.status == 413 || failure.status == 400 && failure.message.contains("prompt is too long")
}

fn tokens(usage: ScriptUsage) -> Value {
    json!({
        "input": usage.input_tokens, "output": usage.output_tokens,
        "cache_read": usage.cache_read_input_tokens, "cache_write": usage.cache_creation_input_tokens,
    })
}

/// Builds the payload of a hook.
fn payload(event: &str, payload: &Value, cwd: &Path) -> Value {
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
            json!({ "tool": name, "with": input(get("tool_input")), "cwd": cwd })
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
fn answer_of(event: &str, code: Option<i32>, stdout: &str, payload: &Value) -> HookMeaning {
    let said: Value = serde_json::from_str(stdout).unwrap_or_default();
    let text = |key: &str| said.get(key).and_then(Value::as_str).map(str::to_owned);
    let refuse = |reason: String| HookMeaning::refuse(reason);
    let allow = |updated_input| HookMeaning { updated_input, ..HookMeaning::allow() };
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
