//! Copilot CLI, headless: `copilot --output-format json`.

mod args;
mod hooks;
mod stream;
mod tools;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::prompt;
use super::state::SessionState;
use super::{LaunchRefusal, SessionChoice, SignalEnd, SimFormat, SimLaunch};
use crate::sim::event::{Failure, MessagePart, SimCall, SimEvent, SimMessage, ToolResult};
use crate::sim::hook_call::{HookMeaning, HookMoment};
use crate::sim::ids::{iso, new_uuid, now_ms};
use crate::sim::lines::{EventLines, object};
use crate::sim::play::PlayCut;
use crate::sim::process::Environment;
use crate::sim::signals::StopRequest;
use crate::sim::start::{ProcessInputs, variable};
use args::CopilotFlags;
use hooks::CopilotHooks;
use stream::CopilotLines;
use tools::CopilotCall;

/// The result of a tool that nobody permitted.
const NOT_GRANTED: &str = "Permission denied because no interactive user response was available. Retry in an \
    interactive session so the user can approve it, or try an alternative that does not require this permission.";

/// A session in Copilot CLI's format.
#[derive(Default)]
pub(super) struct CopilotFormat {
    flags: CopilotFlags,
    hooks: CopilotHooks,
    state: SessionState,
    stream: CopilotLines,
    /// The message whose turn is open.
    message: Option<String>,
    call: CopilotCall,
    /// The files that tools changed.
    changed: Vec<Value>,
}

impl SimFormat for CopilotFormat {
    fn version(&self) -> &'static str {
        "1.0.102"
    }

    fn launch(&mut self, inputs: &mut ProcessInputs<'_>) -> Result<SimLaunch, LaunchRefusal> {
        self.flags = args::parse(&inputs.args);
        let flags = &self.flags;
        let home = variable(&inputs.env, "HOME").map(PathBuf::from).unwrap_or_default();
        let home = variable(&inputs.env, "COPILOT_HOME").map_or_else(|| home.join(".copilot"), PathBuf::from);
        let mut own: Vec<PathBuf> = std::fs::read_dir(home.join("hooks"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        own.sort();
        own.iter().try_for_each(|file| self.hooks.add(file))?;
        let plugins: Vec<PathBuf> = flags.plugin_dirs.iter().map(|dir| inputs.cwd.join(dir)).collect();
        plugins.iter().try_for_each(|folder| self.hooks.add_plugin(folder))?;
        let session = SessionChoice::given(flags.session_id.clone(), flags.resumes.clone(), new_uuid);
        self.state = SessionState::open(home.join(format!("session-state/{}/sim.json", session.id)));
        Ok(SimLaunch {
            session,
            model: flags.model.clone(),
            role: flags.agent.as_ref().and_then(|_| plugins.iter().find_map(|folder| role(folder))),
            prompt: match &flags.prompt {
                Some(prompt) => prompt.clone(),
                None => prompt::whole(&mut inputs.input)?,
            },
            ..SimLaunch::default()
        })
    }

    fn child_env(&mut self, _: &str, _: &Path, _: &Environment) -> Vec<(&'static str, OsString)> {
        vec![("COPILOT_CLI", "1".into())]
    }

    fn write(&mut self, event: SimEvent<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
        match event {
            SimEvent::Opened(opening) if opening.is_first => {
                self.stream.prompt(opening.prompt, "idle", lines)
            }
            SimEvent::Answered(message, part) => self.answer(message, part, lines),
            SimEvent::Started(_) => {
                let data = json!({"model": lines.model, "isByok": true, "result": "success"});
                self.stream.passing("model.call_final_result", data, lines)
            }
            SimEvent::Returned(_, result) => self.end_call(result, lines),
            // The next prompt is the reason of the hook.
            SimEvent::StopBlocked { reason, .. } => self.stream.prompt(reason, "queued", lines),
            SimEvent::Failed(failure) => self.fail(failure, lines),
            SimEvent::Ended(summary) => {
                self.end_turn(lines)?;
                self.stream.passing("assistant.idle", json!({}), lines)?;
                self.write_usage(&lines.model);
                self.stream.result(summary.exit_code, &self.changed, lines)
            }
            SimEvent::Opened(_)
            | SimEvent::Interrupted
            | SimEvent::CapReached { .. }
            | SimEvent::Aside(_) => Ok(()),
        }
    }

    fn ask(&mut self, call: &HookMoment<'_>, lines: &mut EventLines<'_>) -> Result<HookMeaning, PlayCut> {
        let (event, facts) = match call.event {
            "PreToolUse" | "PermissionRequest" | "PostToolUse" | "PostToolUseFailure" => {
                let own = tools::translate(call.subject, &call.fact("tool_input"));
                let event = match call.event {
                    "PreToolUse" => "preToolUse",
                    "PermissionRequest" => "permissionRequest",
                    _ => "postToolUse",
                };
                (event, json!({"toolName": own.tool, "toolArgs": own.input}))
            }
            "Stop" => {
                self.end_turn(lines)?;
                let facts = json!({"stopReason": "end_turn", "stop_hook_active": call.has_been_blocked});
                ("agentStop", facts)
            }
            "SessionStart" => ("sessionStart", json!({"source": "new"})),
            "UserPromptSubmit" => ("userPromptSubmitted", json!({"prompt": call.prompt})),
            "SessionEnd" => ("sessionEnd", json!({"reason": "complete"})),
            _ => return Ok(HookMeaning::default()),
        };
        let mut payload = json!({"sessionId": lines.session, "timestamp": now_ms(), "cwd": call.room.cwd});
        if let (Value::Object(payload), Value::Object(facts)) = (&mut payload, facts) {
            payload.extend(facts);
        }
        Ok(self.hooks.call(event, &payload, &call.room)?)
    }

    fn permits(&self, _: &str) -> bool {
        let call = &self.call;
        call.is_free()
            || self.flags.allows_all
            || self.flags.allowed.iter().any(|allowed| allowed == call.permission() || *allowed == call.tool)
    }

    fn refusal(&self, _: &str, reason: Option<&str>) -> String {
        reason.map_or_else(|| NOT_GRANTED.to_owned(), |reason| format!("Denied by preToolUse hook: {reason}"))
    }

    fn sample_line(&self) -> String {
        object(&[("type", json!("assistant.message")), ("data", json!({"content": "half a line"}))])
    }

    /// Both signals end the CLI with code 0 and without a result.
    fn signalled(
        &mut self,
        asked: StopRequest,
        is_in_tool: bool,
        lines: &mut EventLines<'_>,
    ) -> io::Result<SignalEnd> {
        self.stream.interrupted(asked == StopRequest::Interrupt, is_in_tool, lines)?;
        self.write_usage(&lines.model);
        Ok(SignalEnd::Code(0))
    }

    fn unknown_session(&self, id: &str) -> Option<LaunchRefusal> {
        Some(LaunchRefusal { text: format!("Error: No session or task matched '{id}'\n"), code: 1 })
    }
}

impl CopilotFormat {
    fn answer(
        &mut self,
        message: &SimMessage,
        part: MessagePart<'_>,
        lines: &mut EventLines<'_>,
    ) -> io::Result<()> {
        self.state.count(message);
        if self.message.as_ref() != Some(&message.id) {
            self.end_turn(lines)?;
            self.stream.start_turn(lines)?;
            self.message = Some(message.id.clone());
        }
        match part {
            MessagePart::Said(text) => self.stream.say(text, lines),
            MessagePart::Thought(text) => {
                self.stream.message(json!({"content": "", "reasoningText": text, "toolRequests": []}), lines)
            }
            MessagePart::Called(call) => self.call(call, lines),
        }
    }

    fn call(&mut self, call: &SimCall, lines: &mut EventLines<'_>) -> io::Result<()> {
        self.call = tools::translate(&call.name, &call.input);
        // The CLI's ids begin with `call_`.
        let id = call.id.replace("toolu_", "call_");
        let delta = json!({
            "toolCallId": id, "toolName": self.call.tool, "toolType": "function",
            "inputDelta": self.call.input.to_string(),
        });
        self.stream.passing("assistant.tool_call_delta", delta, lines)?;
        self.stream.message(json!({"content": "", "toolRequests": [self.call.request(&id)]}), lines)?;
        self.stream.start_tool(&id, &self.call, lines)
    }

    fn end_call(&mut self, result: &ToolResult, lines: &mut EventLines<'_>) -> io::Result<()> {
        if let ("create" | "edit", false) = (self.call.tool.as_str(), result.is_error) {
            let path = self.call.input.get("path").cloned().unwrap_or_default();
            if !self.changed.contains(&path) {
                self.changed.push(path);
            }
        }
        self.stream.end_tool(&self.call, result, lines)?;
        self.end_turn(lines)
    }

    /// Ends the turn of the open message.
    fn end_turn(&mut self, lines: &mut EventLines<'_>) -> io::Result<()> {
        match self.message.take() {
            Some(_) => self.stream.end_turn(lines),
            None => Ok(()),
        }
    }

    fn fail(&mut self, failure: &Failure, lines: &mut EventLines<'_>) -> io::Result<()> {
        self.end_turn(lines)?;
        self.stream.start_turn(lines)?;
        let status = failure.status;
        let error = json!({"type": "api_error", "code": status.to_string(), "message": failure.words()});
        let mut data = json!({
            "model": lines.model, "statusCode": status, "durationMs": 1, "apiEndpoint": "/chat/completions",
            "transport": "http", "retryAttempt": 0, "failureKind": "api", "isByok": true,
            "source": "top_level", "errorMessage": error.to_string(), "errorType": "api_error",
        });
        if let Some(data) = data.as_object_mut() {
            if status == 400 {
                data.insert("badRequestKind".to_owned(), json!("structured_error"));
            }
            if failure.limit.is_some() {
                data.insert("quotaSnapshots".to_owned(), quota(failure));
            }
        }
        self.stream.passing("model.call_failure", data, lines)?;
        let data = json!({"model": lines.model, "isByok": true, "result": format!("http_{status}")});
        self.stream.passing("model.call_final_result", data, lines)?;
        self.stream.end_turn(lines)?;
        let kind = match (failure.limit, status) {
            (Some(_), _) => "quota",
            (None, 429) => "rate_limit",
            (None, 401 | 403) => "authentication",
            (None, _) => "query",
        };
        let message = format!("{status} {}", failure.words());
        self.stream.kept(
            "session.error",
            json!({"errorType": kind, "message": message, "statusCode": status}),
            lines,
        )
    }

    /// Writes the file that sums up the usage of the conversation.
    fn write_usage(&self, model: &str) {
        let Some(file) = &self.flags.usage_file else { return };
        let tally = self.state.tally();
        let usage = json!({
            "inputTokens": tally.usage.whole_input(), "outputTokens": tally.usage.output_tokens,
            "cacheReadTokens": tally.usage.cache_read_input_tokens,
            "cacheWriteTokens": tally.usage.cache_creation_input_tokens, "reasoningTokens": 0,
        });
        let metrics = json!({ model: {"requests": {"count": tally.requests, "cost": 0}, "usage": usage} });
        let all = json!({"totalPremiumRequestCost": 0, "modelMetrics": metrics});
        // Without the file, whoever reads it knows that the usage is unknown.
        let _ = std::fs::write(file, all.to_string());
    }
}

/// Describes the limit of the account that is used up.
fn quota(failure: &Failure) -> Value {
    let reset = failure.resets_at().map(|seconds| iso(seconds.saturating_mul(1000)));
    json!({"premium_interactions": {
        "isUnlimitedEntitlement": false, "entitlementRequests": 300, "usedRequests": 300, "hasQuota": false,
        "usageAllowedWithExhaustedQuota": false, "overage": 0, "remainingPercentage": 0, "resetDate": reset,
    }})
}

/// Returns the text of a plugin's role, without its head.
fn role(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join("agents/role.agent.md")).ok()?;
    let (_, body) = text.strip_prefix("---\n")?.split_once("\n---\n")?;
    Some(body.trim_end().to_owned())
}
