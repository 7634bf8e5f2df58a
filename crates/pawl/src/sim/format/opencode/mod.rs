//! OpenCode, headless: `opencode run --format json`, with Windlass's plugin in it.

mod args;
mod plugin;
mod tools;

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::prompt;
use super::{LaunchRefusal, SessionChoice, SignalEnd, SimFormat, SimLaunch};
use crate::sim::event::{Failure, MessagePart, SimCall, SimEvent, SimMessage, ToolResult};
use crate::sim::hook_call::{HookMeaning, HookMoment};
use crate::sim::ids::{now_ms, short_id};
use crate::sim::lines::{EventLines, growing_id, object};
use crate::sim::play::PlayCut;
use crate::sim::signals::StopRequest;
use crate::sim::start::{ProcessInputs, text};
use plugin::PluginTurn;

/// OpenCode waits by itself for a limit that ends sooner. Then the plugin ends the turn.
const LONG_WAIT_MS: i64 = 60_000;

/// A session in OpenCode's format.
#[derive(Default)]
pub(super) struct OpencodeFormat {
    plugin: Option<PluginTurn>,
    /// The settings deny every tool, and no plugin changes that.
    denies_all: bool,
    /// The step that is open: the answer to one model request.
    step: Option<OpenStep>,
    /// The last step ended with a tool call, so the model is asked again.
    is_mid_turn: bool,
    /// The session ended by a limit, which OpenCode does not report as an error.
    has_given_up: bool,
}

/// A step under way.
struct OpenStep {
    message: SimMessage,
    id: String,
    /// Its start is in the stream.
    is_shown: bool,
    called_at: i64,
}

impl SimFormat for OpencodeFormat {
    fn version(&self) -> &'static str {
        "1.18.33"
    }

    fn launch(&mut self, inputs: &mut ProcessInputs<'_>) -> Result<SimLaunch, LaunchRefusal> {
        let flags = args::parse(&inputs.args);
        if !flags.is_run {
            let text = "Error: the sim plays `opencode run` alone; try: windlass sim --as opencode run --format json\n";
            return Err(LaunchRefusal { text: text.to_owned(), code: 1 });
        }
        self.plugin = plugin::find(&inputs.env);
        let rules = text(&inputs.env, "OPENCODE_PERMISSION").unwrap_or_default();
        let rules: Value = serde_json::from_str(&rules).unwrap_or_default();
        self.denies_all =
            self.plugin.is_none() && ["*", "**"].iter().any(|rule| rules.get(*rule) == Some(&json!("deny")));
        let session = SessionChoice::made(|| growing_id("ses"), flags.session);
        Ok(SimLaunch {
            session,
            model: Some(flags.model.unwrap_or_else(|| "sim/sim".to_owned())),
            role: role(&inputs.env),
            prompt: match flags.words.as_slice() {
                [] => prompt::whole(&mut inputs.input)?,
                words => words.join(" "),
            },
            ..SimLaunch::default()
        })
    }

    fn write(&mut self, event: SimEvent<'_>, lines: &mut EventLines<'_>) -> io::Result<()> {
        match event {
            SimEvent::Opened(opening) if opening.is_first => self.open(lines),
            SimEvent::Answered(message, part) => self.answer(message, part, lines),
            SimEvent::Returned(call, result) => self.end_call(call, result, lines),
            SimEvent::Failed(failure) => self.fail(failure, lines),
            // A turn ends with an answer of the model that calls no tool.
            SimEvent::Ended(summary) if !summary.is_error() => self.end_turn(lines),
            SimEvent::Opened(_)
            | SimEvent::Started(_)
            | SimEvent::Interrupted
            | SimEvent::StopBlocked { .. }
            | SimEvent::CapReached { .. }
            | SimEvent::Aside(_)
            | SimEvent::Ended(_) => Ok(()),
        }
    }

    fn ask(&mut self, call: &HookMoment<'_>, lines: &mut EventLines<'_>) -> Result<HookMeaning, PlayCut> {
        match call.event {
            "PreToolUse" if self.denies_all => Ok(HookMeaning::refuse("The user has denied all tools")),
            "PreToolUse" => {
                let Some(plugin) = &self.plugin else { return Ok(HookMeaning::default()) };
                let own = tools::translate(&SimCall {
                    id: String::new(),
                    name: call.subject.to_owned(),
                    input: call.fact("tool_input"),
                });
                let id = call.fact("tool_use_id");
                let more = [
                    ("tool", json!(own.tool)),
                    ("callID", id),
                    ("input", own.input.clone()),
                    ("side", json!(false)),
                ];
                line(lines, "windlass_tool", &more)?;
                plugin.permit(call, &own.tool, own.server.as_deref(), &own.input)
            }
            "Stop" => {
                self.end_turn(lines)?;
                match self.plugin.as_ref().filter(|plugin| plugin.holds) {
                    Some(plugin) => plugin.may_stop(call),
                    None => Ok(HookMeaning::default()),
                }
            }
            _ => Ok(HookMeaning::default()),
        }
    }

    fn sample_line(&self) -> String {
        let part = json!({"type": "text", "text": "half a line"});
        object(&[("type", json!("text")), ("timestamp", json!(now_ms())), ("part", part)])
    }

    fn exit_code(&self, _: Option<&Failure>, is_error: bool) -> u8 {
        let is_held = self.plugin.as_ref().is_some_and(|plugin| plugin.holds);
        u8::from(is_error && (is_held || !self.has_given_up))
    }

    fn signalled(&mut self, _: StopRequest, _: bool, _: &mut EventLines<'_>) -> io::Result<SignalEnd> {
        Ok(SignalEnd::Signal)
    }

    fn unknown_session(&self, id: &str) -> Option<LaunchRefusal> {
        Some(LaunchRefusal { text: format!("Error: Session not found: {id}\n"), code: 1 })
    }
}

impl OpencodeFormat {
    fn open(&mut self, lines: &mut EventLines<'_>) -> io::Result<()> {
        let Some(plugin) = &self.plugin else { return Ok(()) };
        plugin.name_database(&lines.session);
        let model = json!(lines.model);
        line(lines, "windlass_start", &[("model", model)])
    }

    fn answer(
        &mut self,
        message: &SimMessage,
        part: MessagePart<'_>,
        lines: &mut EventLines<'_>,
    ) -> io::Result<()> {
        if self.step.as_ref().is_none_or(|step| step.message.id != message.id) {
            self.end_step("stop", lines)?;
            let id = growing_id("msg");
            self.step = Some(OpenStep { message: message.clone(), id, is_shown: false, called_at: now_ms() });
        }
        match part {
            MessagePart::Said(said) => self.text("text", said, lines),
            MessagePart::Thought(thought) => self.text("reasoning", thought, lines),
            // The stream has a call when it is over.
            MessagePart::Called(_) => {
                if let Some(step) = &mut self.step {
                    step.called_at = now_ms();
                }
                Ok(())
            }
        }
    }

    fn text(&mut self, kind: &str, text: &str, lines: &mut EventLines<'_>) -> io::Result<()> {
        self.show_step(lines)?;
        let now = now_ms();
        let more = [("text", json!(text)), ("time", json!({"start": now, "end": now}))];
        self.part(kind, kind, &more, lines)
    }

    /// Writes the start of the open step, once.
    fn show_step(&mut self, lines: &mut EventLines<'_>) -> io::Result<()> {
        match &mut self.step {
            Some(step) if !step.is_shown => step.is_shown = true,
            _ => return Ok(()),
        }
        self.part("step_start", "step-start", &[], lines)
    }

    fn end_call(
        &mut self,
        call: &SimCall,
        result: &ToolResult,
        lines: &mut EventLines<'_>,
    ) -> io::Result<()> {
        self.show_step(lines)?;
        let own = tools::translate(call);
        let start = self.step.as_ref().map_or_else(now_ms, |step| step.called_at);
        let state = tools::state(&own, result, start, now_ms());
        let more = [("tool", json!(own.tool)), ("callID", json!(call.id)), ("state", state)];
        self.part("tool_use", "tool", &more, lines)?;
        self.end_step("tool-calls", lines)
    }

    /// Writes the end of the open step, with its usage.
    fn end_step(&mut self, reason: &str, lines: &mut EventLines<'_>) -> io::Result<()> {
        let Some(step) = &self.step else { return Ok(()) };
        let usage = step.message.usage;
        let total = usage.whole_input() + usage.output_tokens;
        let cache =
            json!({"write": usage.cache_creation_input_tokens, "read": usage.cache_read_input_tokens});
        let tokens = json!({
            "total": total, "input": usage.input_tokens, "output": usage.output_tokens, "reasoning": 0,
            "cache": cache,
        });
        let more = [("reason", json!(reason)), ("tokens", tokens), ("cost", json!(step.message.cost_usd))];
        self.part("step_finish", "step-finish", &more, lines)?;
        self.is_mid_turn = reason == "tool-calls";
        self.step = None;
        Ok(())
    }

    /// Ends the turn. After a tool call the model answers once more, if only with nothing.
    fn end_turn(&mut self, lines: &mut EventLines<'_>) -> io::Result<()> {
        if self.step.is_none() && self.is_mid_turn {
            let message = SimMessage {
                id: short_id(),
                request: String::new(),
                usage: Default::default(),
                cost_usd: 0.0,
            };
            self.step = Some(OpenStep { message, id: growing_id("msg"), is_shown: false, called_at: 0 });
            self.show_step(lines)?;
        }
        self.end_step("stop", lines)
    }

    /// Writes a part of the open step.
    fn part(
        &self,
        kind: &str,
        part: &str,
        more: &[(&str, Value)],
        lines: &mut EventLines<'_>,
    ) -> io::Result<()> {
        let message = self.step.as_ref().map(|step| step.id.clone());
        let mut fields = vec![
            ("id", json!(growing_id("prt"))),
            ("messageID", json!(message)),
            ("sessionID", json!(lines.session)),
            ("type", json!(part)),
        ];
        fields.extend(more.iter().cloned());
        let head = head(lines, kind);
        lines.text(&format!(r#"{},"part":{}}}"#, head.trim_end_matches('}'), object(&fields)))
    }

    /// Reports that the service refused. Windlass's plugin does so first.
    fn fail(&mut self, failure: &Failure, lines: &mut EventLines<'_>) -> io::Result<()> {
        self.step = None;
        let resets_in = failure.resets_at().map(|at| at.saturating_mul(1000) - now_ms());
        if let (Some(wait), true) = (resets_in.filter(|wait| *wait > LONG_WAIT_MS), self.plugin.is_some()) {
            self.has_given_up = true;
            let more = [
                ("attempt", json!(1)),
                ("message", json!(failure.words())),
                ("next", json!(now_ms().saturating_add(wait))),
                ("gives_up", json!(true)),
            ];
            return line(lines, "windlass_retry", &more);
        }
        let mut headers = json!({"content-type": "application/json"});
        if let (Some(headers), Some(wait)) = (headers.as_object_mut(), resets_in) {
            headers.insert("retry-after-ms".to_owned(), json!(wait.max(0).to_string()));
        }
        let is_retryable = matches!(failure.status, 408 | 409 | 425 | 429 | 500..);
        let error = json!({"name": "APIError", "data": {
            "message": failure.words(), "statusCode": failure.status, "isRetryable": is_retryable,
            "responseHeaders": headers,
        }});
        if self.plugin.is_some() {
            line(lines, "windlass_error", &[("error", error.clone())])?;
        }
        line(lines, "error", &[("error", error)])
    }
}

/// Returns the object that every line begins with.
fn head(lines: &EventLines<'_>, kind: &str) -> String {
    object(&[("type", json!(kind)), ("timestamp", json!(now_ms())), ("sessionID", json!(lines.session))])
}

/// Writes a line that is not about a part of a message.
fn line(lines: &mut EventLines<'_>, kind: &str, more: &[(&str, Value)]) -> io::Result<()> {
    let head = head(lines, kind);
    let more = object(more);
    lines.text(&format!("{},{}", head.trim_end_matches('}'), more.trim_start_matches('{')))
}

/// Returns the instructions that the settings of the environment name.
fn role(env: &crate::sim::process::Environment) -> Option<String> {
    let content: Value = serde_json::from_str(&text(env, "OPENCODE_CONFIG_CONTENT")?).ok()?;
    let files = content.get("instructions")?.as_array()?.iter().filter_map(Value::as_str);
    let texts: Vec<String> = files.filter_map(|file| std::fs::read_to_string(Path::new(file)).ok()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
