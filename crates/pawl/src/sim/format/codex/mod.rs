//! Codex CLI, headless: `codex exec --json`.

mod args;
mod failure;
mod tools;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::hook_table::HookTable;
use super::prompt;
use super::state::SessionState;
use super::{FormatAbilities, LaunchRefusal, SessionChoice, SignalEnd, SimFormat, SimLaunch};
use crate::sim::event::{MessagePart, SimCall, SimEvent, ToolResult};
use crate::sim::hook_call::{HookMeaning, HookMoment, HookOutput};
use crate::sim::ids::new_timed_uuid;
use crate::sim::lines::{EventLines, object};
use crate::sim::play::PlayCut;
use crate::sim::process::Environment;
use crate::sim::signals::StopRequest;
use crate::sim::start::{ProcessInputs, variable};
use args::CodexFlags;
use tools::CodexCall;

/// The time limit of hooks that name none.
const HOOK_LIMIT: Duration = Duration::from_secs(600);
/// The warning that hooks run which no person has reviewed.
const TRUST_WARNING: &str =
    "`--dangerously-bypass-hook-trust` is enabled. Enabled hooks may run without review for this invocation.";
/// The beginning of a refusal that carries the answer to a question.
const ANSWERED: &str = "Continue with this answer: ";

/// A session in Codex's format.
pub(super) struct CodexFormat {
    hooks: HookTable,
    has_hooks: bool,
    state: SessionState,
    home: PathBuf,
    cwd: PathBuf,
    turn_id: String,
    items: u32,
    /// The item of the call that runs.
    running: Option<(String, CodexCall)>,
}

impl Default for CodexFormat {
    fn default() -> CodexFormat {
        CodexFormat {
            hooks: HookTable::with_unit(Duration::from_secs(1)),
            has_hooks: false,
            state: SessionState::default(),
            home: PathBuf::new(),
            cwd: PathBuf::new(),
            turn_id: new_timed_uuid(),
            items: 0,
            running: None,
        }
    }
}

impl SimFormat for CodexFormat {
    fn version(&self) -> &'static str {
        "codex-cli 0.166.0"
    }

    fn launch(&mut self, inputs: &mut ProcessInputs<'_>) -> Result<SimLaunch, LaunchRefusal> {
        let flags = args::parse(&inputs.args);
        if !flags.is_exec {
            let text = "error: the sim plays `codex exec` alone\n  hint: windlass sim --as codex exec --json PROMPT\n";
            return Err(LaunchRefusal { text: text.to_owned(), code: 2 });
        }
        let home = variable(&inputs.env, "HOME").map(PathBuf::from).unwrap_or_default();
        self.home = variable(&inputs.env, "CODEX_HOME").map_or_else(|| home.join(".codex"), PathBuf::from);
        self.cwd = inputs.cwd.clone();
        let settings = self.read_settings(&flags)?;
        let of_settings = |key: &str| settings.get(key).and_then(Value::as_str).map(str::to_owned);
        let session = SessionChoice::made(new_timed_uuid, flags.resumes.clone());
        self.state = SessionState::open(self.home.join(format!("sessions/sim-{}.json", session.id)));
        Ok(SimLaunch {
            session,
            model: flags.model.or_else(|| of_settings("model")),
            role: of_settings("developer_instructions"),
            prompt: match flags.prompt {
                Some(prompt) => prompt,
                None => prompt::whole(&mut inputs.input)?,
            },
            ..SimLaunch::default()
        })
    }

    fn child_env(
        &mut self,
        session: &str,
        _: &Path,
        _: &Environment,
    ) -> Vec<(&'static str, std::ffi::OsString)> {
        vec![("CODEX_THREAD_ID", session.into()), ("CODEX_CI", "1".into())]
    }

    fn abilities(&self) -> FormatAbilities {
        FormatAbilities { questions: true, ..FormatAbilities::default() }
    }

    fn write(&mut self, event: SimEvent<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
        match event {
            SimEvent::Opened(opening) if opening.is_first => self.open(lines),
            SimEvent::Answered(message, part) => {
                self.state.count(message);
                match part {
                    MessagePart::Said(text) => self.message("agent_message", text, lines),
                    MessagePart::Thought(text) => self.message("reasoning", text, lines),
                    // A call that is refused leaves no trace.
                    MessagePart::Called(_) => Ok(()),
                }
            }
            SimEvent::Started(call) => self.start(call, lines),
            SimEvent::Returned(_, result) => self.end(result, lines),
            SimEvent::Failed(failure) => {
                let message = failure::message(failure);
                lines.ordered(&[("type", json!("error")), ("message", json!(message))])?;
                let error = json!({"message": message});
                lines.ordered(&[("type", json!("turn.failed")), ("error", error)])
            }
            SimEvent::Ended(summary) if !summary.is_error() => self.complete(lines),
            SimEvent::Opened(_)
            | SimEvent::Interrupted
            | SimEvent::StopBlocked { .. }
            | SimEvent::CapReached { .. }
            | SimEvent::Aside(_)
            | SimEvent::Ended(_) => Ok(()),
        }
    }

    fn ask(&mut self, call: &HookMoment<'_>, lines: &mut EventLines<'_>) -> Result<HookMeaning, PlayCut> {
        let Some((subject, facts)) = self.facts(call) else { return Ok(HookMeaning::default()) };
        if !self.has_hooks {
            return Ok(HookMeaning::default());
        }
        let mut payload = json!({
            "session_id": lines.session, "turn_id": self.turn_id, "cwd": self.cwd, "hook_event_name": call.event,
            "transcript_path": self.home.join(format!("sessions/rollout-{}.jsonl", lines.session)),
            "model": lines.model, "permission_mode": "bypassPermissions",
        });
        if let (Value::Object(payload), Value::Object(facts)) = (&mut payload, facts) {
            payload.extend(facts);
        }
        let said = self.hooks.call(call.event, &subject, &payload, &call.room, HOOK_LIMIT)?;
        Ok(HookMeaning::together(said.iter().map(|(_, said)| interpret(call, said))))
    }

    fn sample_line(&self) -> String {
        let item = json!({"id": "item_0", "type": "agent_message", "text": "half a line"});
        object(&[("type", json!("item.completed")), ("item", item)])
    }

    fn signalled(&mut self, asked: StopRequest, _: bool, _: &mut EventLines<'_>) -> io::Result<SignalEnd> {
        Ok(match asked {
            StopRequest::Interrupt => SignalEnd::Code(1),
            StopRequest::Terminate(code) => SignalEnd::Code(code),
        })
    }

    fn unknown_session(&self, id: &str) -> Option<LaunchRefusal> {
        let why =
            format!("thread/resume: thread/resume failed: no rollout found for thread id {id} (code -32600)");
        Some(LaunchRefusal::from(why))
    }
}

impl CodexFormat {
    /// Reads the settings of the home and of the layer, and their hooks. Codex runs no hooks that nobody reviewed.
    fn read_settings(&mut self, flags: &CodexFlags) -> Result<Value, String> {
        let layer = flags.profile.as_ref().map(|name| format!("{name}.config.toml"));
        let mut all = json!({});
        for name in std::iter::once("config.toml".to_owned()).chain(layer) {
            let path = self.home.join(name);
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let settings: toml::Table =
                text.parse().map_err(|cause| format!("Error loading config {}: {cause}", path.display()))?;
            let settings = serde_json::to_value(settings).unwrap_or_default();
            let unread = |cause| format!("Error loading the hooks of {}: {cause}", path.display());
            self.hooks.add(settings.to_string().as_bytes(), None).map_err(unread)?;
            if let (Value::Object(all), Value::Object(settings)) = (&mut all, settings) {
                all.extend(settings);
            }
        }
        let is_on = !flags.settings.iter().any(|setting| setting == "features.hooks=false");
        self.has_hooks = flags.trusts_hooks && is_on;
        Ok(all)
    }

    fn open(&mut self, lines: &mut EventLines<'_>) -> io::Result<()> {
        lines.ordered(&[("type", json!("thread.started")), ("thread_id", json!(lines.session))])?;
        if self.has_hooks {
            let id = self.next_item();
            item(
                lines,
                "item.completed",
                &id,
                vec![("type", json!("error")), ("message", json!(TRUST_WARNING))],
            )?;
        }
        lines.ordered(&[("type", json!("turn.started"))])
    }

    fn next_item(&mut self) -> String {
        let id = format!("item_{}", self.items);
        self.items += 1;
        id
    }

    fn message(&mut self, kind: &str, text: &str, lines: &mut EventLines<'_>) -> io::Result<()> {
        let id = self.next_item();
        item(lines, "item.completed", &id, vec![("type", json!(kind)), ("text", json!(text))])
    }

    fn start(&mut self, call: &SimCall, lines: &mut EventLines<'_>) -> io::Result<()> {
        let call = tools::translate(call, &self.cwd);
        let Some(fields) = call.item(None, &lines.session) else { return Ok(()) };
        let id = self.next_item();
        item(lines, "item.started", &id, fields)?;
        self.running = Some((id, call));
        Ok(())
    }

    fn end(&mut self, result: &ToolResult, lines: &mut EventLines<'_>) -> io::Result<()> {
        let Some((id, call)) = self.running.take().filter(|_| !result.is_refused()) else { return Ok(()) };
        match call.item(Some(result), &lines.session) {
            Some(fields) => item(lines, "item.completed", &id, fields),
            None => Ok(()),
        }
    }

    /// Writes the end of the turn. Its usage covers the whole thread, also earlier processes.
    fn complete(&mut self, lines: &mut EventLines<'_>) -> io::Result<()> {
        let usage = self.state.tally().usage;
        let usage = json!({
            "input_tokens": usage.whole_input(), "cached_input_tokens": usage.cache_read_input_tokens,
            "cache_write_input_tokens": usage.cache_creation_input_tokens, "output_tokens": usage.output_tokens,
            "reasoning_output_tokens": 0,
        });
        lines.ordered(&[("type", json!("turn.completed")), ("usage", usage)])
    }

    /// Returns the subject and the facts of a moment, if Codex has a hook for it.
    fn facts(&self, call: &HookMoment<'_>) -> Option<(String, Value)> {
        match call.event {
            "PreToolUse" | "PostToolUse" => {
                let input = call.fact("tool_input");
                let name = call.subject.to_owned();
                let sim = SimCall { id: String::new(), name, input };
                let (name, input) = tools::translate(&sim, &self.cwd).for_hook()?;
                let mut facts = json!({
                    "tool_name": name, "tool_input": input, "tool_use_id": call.fact("tool_use_id"),
                });
                if let (Value::Object(facts), "PostToolUse") = (&mut facts, call.event) {
                    facts.insert("tool_response".to_owned(), call.fact("tool_response"));
                }
                Some((name, facts))
            }
            "Stop" => {
                let said = call.fact("last_assistant_message");
                let facts =
                    json!({"stop_hook_active": call.has_been_blocked, "last_assistant_message": said});
                Some((String::new(), facts))
            }
            "SessionStart" => Some((String::new(), json!({"source": call.fact("source")}))),
            "UserPromptSubmit" => Some((String::new(), json!({"prompt": call.prompt}))),
            "SessionEnd" => Some((String::new(), json!({"reason": call.fact("reason")}))),
            _ => None,
        }
    }
}

/// Writes an item.
fn item(
    lines: &mut EventLines<'_>,
    kind: &str,
    id: &str,
    mut fields: Vec<(&'static str, Value)>,
) -> io::Result<()> {
    fields.insert(0, ("id", json!(id)));
    lines.text(&format!(r#"{{"type":"{kind}","item":{}}}"#, object(&fields)))
}

/// Reads the answer of a hook: exit code 2 with a reason on standard error refuses, and so does JSON. Anything else
/// permits.
fn interpret(call: &HookMoment<'_>, said: &HookOutput) -> HookMeaning {
    let answer = said.json();
    let special = answer.get("hookSpecificOutput").cloned().unwrap_or_default();
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let reason = match said.exit_code {
        Some(2) => said.stderr.trim().to_owned(),
        Some(0) if text(&answer, "decision") == "block" => text(&answer, "reason"),
        Some(0) if text(&special, "permissionDecision") == "deny" => {
            text(&special, "permissionDecisionReason")
        }
        _ => return HookMeaning::default(),
    };
    match answers(call, &reason) {
        // A hook cannot fill in a result, so the refusal carries the answer of a person.
        Some(input) => HookMeaning { updated_input: Some(input), ..HookMeaning::allow() },
        // Without a reason, Codex goes on.
        None if reason.is_empty() => HookMeaning::default(),
        None => HookMeaning::refuse(reason),
    }
}

/// Returns the input of a question with its answers, if the reason of a refusal has them.
fn answers(call: &HookMoment<'_>, reason: &str) -> Option<Value> {
    if call.subject != "AskUserQuestion" {
        return None;
    }
    let (_, list) = reason.split_once(ANSWERED)?;
    let list: Vec<Value> = serde_json::from_str(list).ok()?;
    let pairs = list
        .iter()
        .filter_map(|one| Some((one.get("question")?.as_str()?.to_owned(), one.get("answer")?.clone())));
    let mut input = call.fact("tool_input");
    input.as_object_mut()?.insert("answers".to_owned(), Value::Object(pairs.collect()));
    Some(input)
}
