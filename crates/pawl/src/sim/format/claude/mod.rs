//! Claude Code, headless: `claude -p --output-format stream-json`.

mod args;
mod events;
mod hooks;
mod payload;
#[cfg(test)]
pub(in crate::sim) mod shape_tests;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::hook_table::HookTable;
use super::prompt;
use super::{FormatAbilities, LaunchRefusal, SessionChoice, SignalEnd, SimFormat, SimLaunch};
use crate::sim::event::{
    Failure, MessagePart, SessionOpening, SessionSummary, SimCall, SimEvent, SimMessage, ToolResult,
};
use crate::sim::hook_call::{HookMeaning, HookMoment, HookOutput};
use crate::sim::ids::{new_uuid, now_iso, short_id};
use crate::sim::lines::EventLines;
use crate::sim::play::PlayCut;
use crate::sim::process::Environment;
use crate::sim::signals::StopRequest;
use crate::sim::start::{ProcessInputs, number};
use args::ClaudeFlags;
use events::{ClaudeOpening, put};
use payload::{payload, transcript_path};

const BLOCK_CAP: &str = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP";
/// The CLI's own limit of consecutive blocks.
const DEFAULT_BLOCK_CAP: u32 = 8;
/// The time limit of hooks that name none.
const HOOK_LIMIT: Duration = Duration::from_secs(600);
/// The time limit of hooks at the end of a session.
const END_LIMIT: Duration = Duration::from_millis(1500);

/// A session in Claude Code's format.
pub(super) struct ClaudeFormat {
    flags: ClaudeFlags,
    hooks: HookTable,
    transcript: String,
}

impl Default for ClaudeFormat {
    fn default() -> ClaudeFormat {
        ClaudeFormat {
            flags: ClaudeFlags::default(),
            hooks: HookTable::with_unit(Duration::from_secs(1)),
            transcript: String::new(),
        }
    }
}

impl SimFormat for ClaudeFormat {
    fn version(&self) -> &'static str {
        events::CLI_VERSION
    }

    fn launch(&mut self, inputs: &mut ProcessInputs<'_>) -> Result<SimLaunch, LaunchRefusal> {
        self.flags = args::parse(&inputs.args);
        let flags = &self.flags;
        let prompt = match (&flags.prompt, flags.reads_lines) {
            (Some(prompt), _) => prompt.clone(),
            (None, true) => prompt_of_line(&prompt::line(&mut inputs.input)?)
                .ok_or_else(|| "the first line is not a message of a user".to_owned())?,
            (None, false) => prompt::whole(&mut inputs.input)?,
        };
        if let Some(settings) = &flags.settings {
            add_settings(&mut self.hooks, settings, &inputs.cwd)?;
        }
        for dir in &flags.plugin_dirs {
            add_plugin(&mut self.hooks, &inputs.cwd.join(dir))?;
        }
        let session = match (&flags.session_id, &flags.resume) {
            (None, Some(id)) if flags.fork => {
                SessionChoice { id: new_uuid(), resumes: Some(id.clone()), is_chosen: false }
            }
            (chosen, resumes) => SessionChoice::given(chosen.clone(), resumes.clone(), new_uuid),
        };
        Ok(SimLaunch {
            session,
            model: flags.model.clone(),
            schema: flags.json_schema.as_deref().map(read_schema).transpose()?,
            role: flags.system_file.as_ref().and_then(|file| std::fs::read_to_string(file).ok()),
            prompt,
            has_no_hooks: flags.bare,
            waits_for_input: flags.reads_lines,
            block_cap: number(&inputs.env, BLOCK_CAP).unwrap_or(DEFAULT_BLOCK_CAP),
        })
    }

    fn child_env(&mut self, session: &str, cwd: &Path, env: &Environment) -> Vec<(&'static str, OsString)> {
        self.transcript = transcript_path(env, cwd, session);
        vec![
            ("CLAUDECODE", "1".into()),
            ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli".into()),
            ("CLAUDE_CODE_SESSION_ID", session.into()),
            ("CLAUDE_PID", std::process::id().to_string().into()),
            ("CLAUDE_PROJECT_DIR", cwd.into()),
        ]
    }

    fn abilities(&self) -> FormatAbilities {
        FormatAbilities { questions: true, answers: true, background: true, tells_stops: false }
    }

    fn write(&mut self, event: SimEvent<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
        match event {
            SimEvent::Opened(opening) => self.open(opening, lines),
            SimEvent::Answered(message, part) => answer(message, part, lines),
            SimEvent::Started(_) => Ok(()),
            SimEvent::Returned(call, result) => returned(call, result, lines),
            SimEvent::Interrupted => {
                stamped(events::user_text("[Request interrupted by user for tool use]"), lines)
            }
            SimEvent::StopBlocked { reason, blocks } => {
                stamped(events::feedback(reason), lines)?;
                // The CLI shows the notice once.
                if blocks == 1 { event_of(events::stop_blocked(), lines) } else { Ok(()) }
            }
            SimEvent::CapReached { blocks } => {
                events::cap_reached(blocks).into_iter().try_for_each(|event| event_of(event, lines))
            }
            SimEvent::Failed(failure) => failed(failure, lines),
            SimEvent::Aside(event) => event_of(event.clone(), lines),
            SimEvent::Ended(summary) => ended(summary, lines),
        }
    }

    fn ask(&mut self, call: &HookMoment<'_>, lines: &mut EventLines<'_>) -> Result<HookMeaning, PlayCut> {
        let payload = payload(call, &lines.session, &self.transcript, self.permission_mode());
        let limit = if call.event == "SessionEnd" { END_LIMIT } else { HOOK_LIMIT };
        let said = self.hooks.call(call.event, call.subject, &payload, &call.room, limit)?;
        if self.flags.hook_events {
            let name = match call.subject {
                "" => call.event.to_owned(),
                subject => format!("{}:{subject}", call.event),
            };
            for (_, one) in &said {
                report_hook(call.event, &name, one, lines)?;
            }
        }
        let answers = said.iter().map(|(command, said)| hooks::interpret(call.event, said, command));
        Ok(HookMeaning::together(answers))
    }

    fn permits(&self, tool: &str) -> bool {
        permitted(self.permission_mode(), tool)
    }

    fn refusal(&self, tool: &str, reason: Option<&str>) -> String {
        match reason {
            Some(reason) => format!("PreToolUse:{tool} hook error: {reason}"),
            None => format!("Claude requested permissions to use {tool}, but you haven't granted it yet."),
        }
    }

    fn sample_line(&self) -> String {
        let message = SimMessage {
            id: "msg_half".to_owned(),
            request: String::new(),
            usage: Default::default(),
            cost_usd: 0.0,
        };
        events::assistant(&message, "sim", json!({"type": "text"})).to_string()
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

impl ClaudeFormat {
    /// Returns the permission mode. Without the flag every tool may run, because the author of the script
    /// chose them.
    fn permission_mode(&self) -> &str {
        self.flags.permission_mode.as_deref().unwrap_or("bypassPermissions")
    }

    fn open(&self, opening: &SessionOpening<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
        let event = events::init(&ClaudeOpening {
            cwd: &opening.cwd.display().to_string(),
            model: &lines.model,
            permission_mode: self.permission_mode(),
            mcp_servers: mcp_servers(&self.flags, opening.cwd),
            plugin_dirs: &self.flags.plugin_dirs,
            gives_answer: opening.gives_answer,
        });
        event_of(event, lines)
    }
}

/// Reads `--settings`: a file, or JSON itself.
fn add_settings(hooks: &mut HookTable, settings: &str, cwd: &Path) -> Result<(), String> {
    let text = if settings.trim_start().starts_with('{') {
        settings.as_bytes().to_vec()
    } else {
        std::fs::read(cwd.join(settings))
            .map_err(|cause| format!("Settings file not found: {settings}: {cause}"))?
    };
    hooks.add(&text, None).map_err(|cause| format!("Invalid settings {settings}: {cause}"))
}

/// Adds a plugin's `hooks/hooks.json`, if it has one.
fn add_plugin(hooks: &mut HookTable, dir: &Path) -> Result<(), String> {
    let Ok(text) = std::fs::read(dir.join("hooks/hooks.json")) else { return Ok(()) };
    hooks.add(&text, Some(dir)).map_err(|cause| format!("Invalid hooks of plugin {}: {cause}", dir.display()))
}

/// Parses the schema, with the errors of the real CLI.
fn read_schema(text: &str) -> Result<Value, String> {
    let schema: Value =
        serde_json::from_str(text).map_err(|cause| format!("--json-schema is not valid JSON: {cause}"))?;
    match schema.is_object() {
        true => Ok(schema),
        false => Err("--json-schema must be a JSON object".to_owned()),
    }
}

/// Returns the text of `{"type":"user","message":{"role":"user","content":"TEXT"}}`.
fn prompt_of_line(line: &[u8]) -> Option<String> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let text = line.get("message")?.get("content")?.as_str()?;
    (line.get("type")? == "user").then(|| text.to_owned())
}

fn mcp_servers(flags: &ClaudeFlags, cwd: &Path) -> Vec<String> {
    let read = |config: &String| -> Option<Value> {
        if config.trim_start().starts_with('{') {
            return serde_json::from_str(config).ok();
        }
        serde_json::from_slice(&std::fs::read(cwd.join(config)).ok()?).ok()
    };
    let configs = flags.mcp_config.iter().filter_map(read);
    let names =
        configs.filter_map(|config| Some(config.get("mcpServers")?.as_object()?.keys().cloned().collect()));
    names.collect::<Vec<Vec<String>>>().concat()
}

/// Writes an event of this session.
fn event_of(mut event: Value, lines: &mut EventLines<'_>) -> io::Result<()> {
    put(&mut event, "session_id", json!(lines.session));
    put(&mut event, "uuid", json!(new_uuid()));
    lines.line(&event)
}

/// Writes an event with its time.
fn stamped(mut event: Value, lines: &mut EventLines<'_>) -> io::Result<()> {
    put(&mut event, "timestamp", json!(now_iso()));
    event_of(event, lines)
}

/// Writes a part of a message. Each is an event of its own.
fn answer(message: &SimMessage, part: MessagePart<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
    let block = match part {
        MessagePart::Said(text) => json!({"type": "text", "text": text}),
        MessagePart::Thought(text) => json!({"type": "thinking", "thinking": text, "signature": ""}),
        MessagePart::Called(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.input})
        }
    };
    let mut event = events::assistant(message, &lines.model, block);
    put(&mut event, "request_id", json!(message.request));
    stamped(event, lines)
}

fn returned(call: &SimCall, result: &ToolResult, lines: &mut EventLines<'_>) -> io::Result<()> {
    stamped(events::tool_result(&call.id, result), lines)
}

/// Writes the message that the CLI makes up after a failed request.
fn failed(failure: &Failure, lines: &mut EventLines<'_>) -> io::Result<()> {
    if failure.limit.is_some() {
        event_of(events::rate_limit(failure.resets_at()), lines)?;
    } else if matches!(failure.status, 401 | 408 | 409 | 429 | 500..) {
        event_of(events::api_retry(failure), lines)?;
    }
    let mut event = events::api_error_message(&new_uuid(), failure);
    put(&mut event, "request_id", json!(format!("req_{}", short_id())));
    stamped(event, lines)
}

/// Writes the results, always at the end of the stream. The script may change the last one.
fn ended(summary: &SessionSummary<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
    let last = summary.results.len().saturating_sub(1);
    for (index, result) in summary.results.iter().enumerate() {
        let mut event = events::result(result);
        events::put_totals(&mut event, &lines.model, summary.total);
        if index == last {
            for (key, value) in summary.overrides.iter().filter(|(key, _)| *key != "exit_code") {
                put(&mut event, key, value.clone());
            }
        }
        event_of(event, lines)?;
    }
    Ok(())
}

fn report_hook(event: &str, name: &str, said: &HookOutput, lines: &mut EventLines<'_>) -> io::Result<()> {
    let common = json!({"type": "system", "hook_id": new_uuid(), "hook_name": name, "hook_event": event});
    let mut started = common.clone();
    put(&mut started, "subtype", json!("hook_started"));
    event_of(started, lines)?;
    let mut response = common;
    put(&mut response, "subtype", json!("hook_response"));
    put(&mut response, "output", json!(format!("{}{}", said.stdout, said.stderr)));
    put(&mut response, "stdout", json!(said.stdout));
    put(&mut response, "stderr", json!(said.stderr));
    put(&mut response, "exit_code", json!(said.exit_code));
    put(&mut response, "outcome", json!(hooks::outcome(said)));
    event_of(response, lines)
}

/// Decides whether a mode allows a tool that no hook decided about. No person can be asked.
fn permitted(mode: &str, name: &str) -> bool {
    let edits = matches!(name, "Write" | "Edit" | "NotebookEdit");
    let reaches_out = edits || matches!(name, "Bash" | "WebFetch" | "WebSearch") || name.starts_with("mcp__");
    match mode {
        "bypassPermissions" | "auto" => true,
        "acceptEdits" => edits || name == "Bash" || !reaches_out,
        _ => !reaches_out,
    }
}
