//! Gemini CLI, headless: `gemini --output-format stream-json`.

mod args;
mod failure;
mod tools;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::hook_table::HookTable;
use super::prompt;
use super::{LaunchRefusal, SessionChoice, SignalEnd, SimFormat, SimLaunch};
use crate::sim::event::{
    CallVerdict, Failure, MessagePart, SessionSummary, SimCall, SimEvent, ToolResult, UsageTally,
};
use crate::sim::hook_call::{HookMeaning, HookMoment, HookOutput};
use crate::sim::ids::{new_uuid, now_iso, short_id};
use crate::sim::lines::{EventLines, object};
use crate::sim::play::PlayCut;
use crate::sim::process::Environment;
use crate::sim::signals::StopRequest;
use crate::sim::start::{ProcessInputs, variable};

/// The time limit of hooks that name none.
const HOOK_LIMIT: Duration = Duration::from_secs(60);
/// The exit code for wrong input.
const BAD_INPUT: u8 = 42;

/// A session in Gemini CLI's format.
pub(super) struct GeminiFormat {
    hooks: HookTable,
    /// The CLI's folder.
    folder: PathBuf,
    /// The CLI's own record of the conversation.
    record: PathBuf,
    /// All messages of the turn.
    said: Vec<String>,
    /// The prompt of the turn, also after a hook kept the agent from stopping.
    prompt: String,
    calls: u32,
    /// The tool that runs, with the CLI's id for the call.
    running: (String, tools::GeminiCall),
}

impl Default for GeminiFormat {
    fn default() -> GeminiFormat {
        GeminiFormat {
            hooks: HookTable::with_unit(Duration::from_millis(1)),
            folder: PathBuf::new(),
            record: PathBuf::new(),
            said: Vec::new(),
            prompt: String::new(),
            calls: 0,
            running: (String::new(), tools::translate("", &Value::Null)),
        }
    }
}

impl SimFormat for GeminiFormat {
    fn version(&self) -> &'static str {
        "0.61.0"
    }

    fn launch(&mut self, inputs: &mut ProcessInputs<'_>) -> Result<SimLaunch, LaunchRefusal> {
        let flags = args::parse(&inputs.args);
        let home = variable(&inputs.env, "GEMINI_CLI_HOME").or_else(|| variable(&inputs.env, "HOME"));
        self.folder = home.map(PathBuf::from).unwrap_or_default().join(".gemini");
        self.read_hooks()?;
        let session = SessionChoice::given(flags.session_id, flags.resumes, new_uuid);
        let short: String = session.id.chars().take(8).collect();
        self.record = self.folder.join(format!("tmp/sim/chats/session-{short}.jsonl"));
        let prompt = match flags.prompt {
            Some(prompt) => prompt,
            None => prompt::whole(&mut inputs.input).map_err(|_| LaunchRefusal {
                text: "No input provided via stdin. Input can be provided by piping data into gemini or using the \
                       --prompt option.\n"
                    .to_owned(),
                code: BAD_INPUT,
            })?,
        };
        self.prompt.clone_from(&prompt);
        let role = std::fs::read_to_string(self.folder.join("extensions/windlass/ROLE.md")).ok();
        Ok(SimLaunch { session, model: flags.model, role, prompt, ..SimLaunch::default() })
    }

    fn child_env(&mut self, _: &str, _: &Path, _: &Environment) -> Vec<(&'static str, OsString)> {
        vec![("GEMINI_CLI", "1".into())]
    }

    fn write(&mut self, event: SimEvent<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
        match event {
            SimEvent::Opened(opening) if opening.is_first => {
                self.record("user", opening.prompt);
                stamped(
                    lines,
                    "init",
                    &[("session_id", json!(lines.session)), ("model", json!(lines.model))],
                )?;
                stamped(lines, "message", &[("role", json!("user")), ("content", json!(opening.prompt))])
            }
            SimEvent::Answered(_, MessagePart::Said(text)) => self.say(text, lines),
            SimEvent::Answered(_, MessagePart::Called(call)) => self.call(call, lines),
            SimEvent::Returned(_, result) => self.end_call(result, lines),
            SimEvent::StopBlocked { reason, .. } => {
                let message = json!(format!("Agent execution blocked: {reason}"));
                stamped(lines, "error", &[("severity", json!("warning")), ("message", message)])
            }
            SimEvent::Ended(summary) => self.end(summary, lines),
            // The CLI prints no thoughts, and a failure with its result.
            SimEvent::Answered(_, MessagePart::Thought(_))
            | SimEvent::Opened(_)
            | SimEvent::Started(_)
            | SimEvent::Interrupted
            | SimEvent::CapReached { .. }
            | SimEvent::Aside(_)
            | SimEvent::Failed(_) => Ok(()),
        }
    }

    fn ask(&mut self, call: &HookMoment<'_>, lines: &mut EventLines<'_>) -> Result<HookMeaning, PlayCut> {
        let (event, subject, facts) = match call.event {
            "PreToolUse" | "PostToolUse" | "PostToolUseFailure" => {
                let own = tools::translate(call.subject, &call.fact("tool_input"));
                let event = if call.event == "PreToolUse" { "BeforeTool" } else { "AfterTool" };
                (event, own.tool.clone(), own.facts())
            }
            "Stop" => {
                let facts = json!({
                    "prompt": self.prompt, "prompt_response": self.said.join("\n"),
                    "stop_hook_active": call.has_been_blocked,
                });
                ("AfterAgent", String::new(), facts)
            }
            "UserPromptSubmit" => ("BeforeAgent", String::new(), json!({"prompt": call.prompt})),
            "SessionStart" => ("SessionStart", String::new(), json!({"source": call.fact("source")})),
            "SessionEnd" => ("SessionEnd", String::new(), json!({"reason": "exit"})),
            _ => return Ok(HookMeaning::default()),
        };
        let mut payload = json!({
            "session_id": lines.session, "transcript_path": self.record, "cwd": call.room.cwd,
            "hook_event_name": event, "timestamp": now_iso(),
        });
        if let (Value::Object(payload), Value::Object(facts)) = (&mut payload, facts) {
            payload.extend(facts);
        }
        let said = self.hooks.call(event, &subject, &payload, &call.room, HOOK_LIMIT)?;
        Ok(HookMeaning::together(said.iter().map(|(_, said)| interpret(said))))
    }

    fn refusal(&self, _: &str, reason: Option<&str>) -> String {
        format!("Tool execution blocked: {}", reason.unwrap_or("not permitted"))
    }

    fn sample_line(&self) -> String {
        let content = json!("half a line");
        object(&[("type", json!("message")), ("role", json!("assistant")), ("content", content)])
    }

    fn exit_code(&self, failure: Option<&Failure>, is_error: bool) -> u8 {
        failure.map_or(u8::from(is_error), failure::exit_code)
    }

    /// After a signal the CLI ends with code 0 and without a result.
    fn signalled(&mut self, _: StopRequest, _: bool, _: &mut EventLines<'_>) -> io::Result<SignalEnd> {
        Ok(SignalEnd::Code(0))
    }

    fn unknown_session(&self, id: &str) -> Option<LaunchRefusal> {
        let text = format!("Error resuming session: Invalid session identifier \"{id}\".\n");
        Some(LaunchRefusal { text, code: BAD_INPUT })
    }
}

impl GeminiFormat {
    /// Reads the hooks of the settings and of extensions. A hook that both name is called once.
    fn read_hooks(&mut self) -> Result<(), String> {
        let extensions = std::fs::read_dir(self.folder.join("extensions")).into_iter().flatten().flatten();
        let of_extensions = extensions.map(|entry| entry.path().join("hooks/hooks.json"));
        for path in std::iter::once(self.folder.join("settings.json")).chain(of_extensions) {
            let Ok(text) = std::fs::read(&path) else { continue };
            self.hooks
                .add(&text, None)
                .map_err(|cause| format!("cannot read {}: {cause}", path.display()))?;
        }
        Ok(())
    }

    /// Adds a message to the CLI's own record.
    fn record(&self, kind: &str, content: &str) {
        let line = object(&[("type", json!(kind)), ("content", json!(content))]);
        let _ = self.record.parent().map(std::fs::create_dir_all);
        let file = std::fs::OpenOptions::new().append(true).create(true).open(&self.record);
        // Without a record, a hook gets the messages of the whole turn.
        let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }

    fn say(&mut self, text: &str, lines: &mut EventLines<'_>) -> io::Result<()> {
        self.said.push(text.to_owned());
        self.record("gemini", text);
        let delta = json!(true);
        stamped(lines, "message", &[("role", json!("assistant")), ("content", json!(text)), ("delta", delta)])
    }

    fn call(&mut self, call: &SimCall, lines: &mut EventLines<'_>) -> io::Result<()> {
        let own = tools::translate(&call.name, &call.input);
        let id = format!("{}__fc-{}", own.tool, short_id());
        self.calls += 1;
        let fields =
            [("tool_name", json!(own.tool)), ("tool_id", json!(id)), ("parameters", own.input.clone())];
        self.running = (id, own);
        stamped(lines, "tool_use", &fields)
    }

    fn end_call(&mut self, result: &ToolResult, lines: &mut EventLines<'_>) -> io::Result<()> {
        let text = result.shell.as_ref().map_or_else(|| result.text(), |shell| shell.output.clone());
        // A command that fails is a call that succeeds.
        let is_error = result.is_error && result.shell.is_none();
        let status = if is_error { "error" } else { "success" };
        let mut fields = vec![("tool_id", json!(self.running.0)), ("status", json!(status))];
        fields.push(("output", json!(text)));
        if is_error {
            let kind = match result.verdict {
                CallVerdict::Refused => "policy_violation",
                CallVerdict::Missing => "tool_not_registered",
                CallVerdict::Ran | CallVerdict::Interrupted => "execution_failed",
            };
            fields.push(("error", json!({"type": kind, "message": text})));
        }
        stamped(lines, "tool_result", &fields)
    }

    fn end(&self, summary: &SessionSummary<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
        let stats = self.stats(summary.total, lines);
        let Some(failure) = summary.failure() else {
            let status = if summary.is_error() { "error" } else { "success" };
            return stamped(lines, "result", &[("status", json!(status)), ("stats", stats)]);
        };
        if let Some(report) = failure::report(failure) {
            lines.complain(&report);
        }
        let error = json!({"type": "unknown", "message": failure::message(failure)});
        stamped(lines, "result", &[("status", json!("error")), ("error", error), ("stats", stats)])
    }

    /// Counts the tokens of this process. The CLI does not say what went into a cache.
    fn stats(&self, total: UsageTally, lines: &EventLines<'_>) -> Value {
        let usage = total.usage;
        let (input, cached) = (usage.whole_input(), usage.cache_read_input_tokens);
        let tokens = json!({
            "total_tokens": input + usage.output_tokens, "input_tokens": input,
            "output_tokens": usage.output_tokens, "cached": cached, "input": input - cached,
        });
        let mut stats = tokens.clone();
        if let Some(stats) = stats.as_object_mut() {
            stats.insert("duration_ms".to_owned(), json!(lines.elapsed_ms()));
            stats.insert("tool_calls".to_owned(), json!(self.calls));
            stats.insert("models".to_owned(), json!({ lines.model.as_str(): tokens }));
        }
        stats
    }
}

/// Writes a line with its time.
fn stamped(lines: &mut EventLines<'_>, kind: &str, more: &[(&str, Value)]) -> io::Result<()> {
    let mut fields = vec![("type", json!(kind)), ("timestamp", json!(now_iso()))];
    fields.extend(more.iter().cloned());
    lines.ordered(&fields)
}

/// Reads the answer of a hook. Exit code 2 refuses with a reason on standard error.
fn interpret(said: &HookOutput) -> HookMeaning {
    let answer = said.json();
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    match (said.exit_code, text("decision")) {
        (Some(2), _) => HookMeaning::refuse(said.stderr.trim()),
        (Some(0), "deny" | "block") => HookMeaning::refuse(text("reason")),
        (Some(0), "allow" | "approve") => HookMeaning::allow(),
        _ => HookMeaning::default(),
    }
}
