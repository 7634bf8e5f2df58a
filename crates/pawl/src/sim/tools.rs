//! Plays steps that talk or use a tool: event, hook, action, hook, result, in the real CLI's order.
//!
//! `perform` carries out the tools. This module decides from hooks and permission mode whether they may run.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_core::graph::schema::validate;

use super::events::{self, ResultVerdict, ToolResult, put};
use super::hooks::{HookDecision, HookMeaning};
use super::perform::{self, StepResult};
use super::play::{PlayCut, Player};
use super::script::{AskStep, Choice, ScriptStep, ToolStep, TrackerEdit};
use super::signals::StopRequest;
use super::stream::short_id;

/// The result of a tool that the user interrupted.
const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it \
    was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to \
    tell you how to proceed.";

/// The decision about a tool call.
enum Permit {
    Run(Value),
    Refused(String),
    Deferred,
}

impl Player<'_> {
    /// Plays one step.
    pub(super) fn step(&mut self, step: &ScriptStep) -> Result<(), PlayCut> {
        match step {
            ScriptStep::Say(text) => self.say(text),
            ScriptStep::Finish(text) => self.finish_work(text),
            ScriptStep::Think(text) => {
                let block = json!({"type": "thinking", "thinking": self.words.fill(text), "signature": ""});
                Ok(self.stream.block(block)?)
            }
            ScriptStep::Write { path, content } => {
                self.write(&self.words.fill(path), &self.words.fill(content))
            }
            ScriptStep::Append { path, content } => {
                self.append(&self.words.fill(path), &self.words.fill(content))
            }
            ScriptStep::Replace { path, old, new } => {
                let input = json!({
                    "file_path": self.words.cwd.join(self.words.fill(path)), "old_string": self.words.fill(old),
                    "new_string": self.words.fill(new), "replace_all": false,
                });
                self.use_tool("Edit", input, |_, input| Ok(perform::replace(input)))
            }
            ScriptStep::Bash(command) => self.bash(command, "Run a command"),
            ScriptStep::Commit(message) => self.commit(message),
            ScriptStep::Tool(tool) => self.other_tool(tool),
            ScriptStep::Structured(answer) => self.give(answer),
            ScriptStep::Ask(ask) => self.ask(ask),
            ScriptStep::Tracker(edit) => self.edit_tracker(edit),
            ScriptStep::BackgroundStop(on) => self.only_if(*on, Self::stop_in_background),
            ScriptStep::SubagentStop(on) => self.only_if(*on, Self::run_subagent),
            ScriptStep::SkipHooks(skip) => {
                self.skip_hooks = *skip || self.flags.bare;
                Ok(())
            }
            ScriptStep::Hang(_)
            | ScriptStep::SleepMs(_)
            | ScriptStep::WaitFor(_)
            | ScriptStep::Crash(_)
            | ScriptStep::HalfLine(_)
            | ScriptStep::BigLine(_)
            | ScriptStep::Garbage(_)
            | ScriptStep::Grandchild(_)
            | ScriptStep::RateLimit(_)
            | ScriptStep::ApiError(_) => self.go_wrong(step),
        }
    }

    pub(super) fn only_if(
        &mut self,
        on: bool,
        play: fn(&mut Self) -> Result<(), PlayCut>,
    ) -> Result<(), PlayCut> {
        if on { play(self) } else { Ok(()) }
    }

    pub(super) fn say(&mut self, text: &str) -> Result<(), PlayCut> {
        self.speak(self.words.fill(text))
    }

    /// Says a text whose variables are already filled in.
    pub(super) fn speak(&mut self, text: String) -> Result<(), PlayCut> {
        self.stream.block(json!({"type": "text", "text": text}))?;
        self.said = text;
        Ok(())
    }

    fn write(&mut self, path: &str, content: &str) -> Result<(), PlayCut> {
        let input = json!({"file_path": self.words.cwd.join(path), "content": content});
        self.use_tool("Write", input, |_, input| Ok(perform::write(input)))
    }

    fn append(&mut self, path: &str, content: &str) -> Result<(), PlayCut> {
        let input = perform::append_input(&self.words.cwd.join(path), content);
        self.use_tool("Edit", input, |_, input| Ok(perform::append(input, content)))
    }

    fn bash(&mut self, command: &str, description: &str) -> Result<(), PlayCut> {
        let input = json!({"command": command, "description": description});
        self.use_tool("Bash", input, |player, input| player.run_shell(input))
    }

    fn commit(&mut self, message: &str) -> Result<(), PlayCut> {
        let message = self.words.fill(message).replace('\'', r"'\''");
        self.bash(&format!("git add -A && git commit -m '{message}'"), "Commit the work")
    }

    fn other_tool(&mut self, tool: &ToolStep) -> Result<(), PlayCut> {
        let input = if tool.input.is_null() { json!({}) } else { self.fill_all(&tool.input) };
        let text = self.words.fill(tool.result.as_deref().unwrap_or("ok"));
        self.use_tool(&self.words.fill(&tool.name), input, |_, _| Ok(StepResult::text(&text)))
    }

    /// Gives the structured answer that the session's schema requires.
    pub(super) fn give(&mut self, answer: &Value) -> Result<(), PlayCut> {
        let input = self.fill_all(answer);
        let Some(schema) = self.schema.clone() else {
            let id = self.wish(events::ANSWERING, &input)?;
            let text = format!(
                "<tool_use_error>Error: No such tool available: {}</tool_use_error>",
                events::ANSWERING
            );
            return self.tell_failure(&id, &text, text.clone(), None);
        };
        self.use_tool(events::ANSWERING, input, |player, input| {
            if let Some(fault) = validate(&schema, input).first() {
                return Ok(StepResult::failed(&format!("Output does not match required schema: {fault}")));
            }
            player.structured = Some(input.clone());
            Ok(StepResult::text("Structured output provided successfully"))
        })
    }

    /// Writes a tool call of the model to the stream.
    fn wish(&mut self, name: &str, input: &Value) -> Result<String, PlayCut> {
        let id = format!("toolu_{}", short_id());
        self.stream.block(json!({"type": "tool_use", "id": id, "name": name, "input": input}))?;
        Ok(id)
    }

    /// Fills the variables in every string of a tool's input.
    fn fill_all(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.words.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_all(item)).collect(),
            Value::Object(map) => {
                Value::Object(map.iter().map(|(key, value)| (key.clone(), self.fill_all(value))).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn ask(&mut self, ask: &AskStep) -> Result<(), PlayCut> {
        let question = self.words.fill(&ask.question);
        let options: Vec<Value> = ask.options.iter().map(option).collect();
        let header = ask.header.as_deref().unwrap_or("Question");
        let input = json!({"questions": [
            {"question": question, "header": header, "multiSelect": false, "options": options},
        ]});
        self.words.answer.clear();
        self.use_tool("AskUserQuestion", input, |player, input| {
            let (done, answer) = perform::answered(input, &question);
            player.words.answer = answer;
            Ok(done)
        })
    }

    pub(super) fn edit_tracker(&mut self, edit: &TrackerEdit) -> Result<(), PlayCut> {
        let Some(path) = &self.words.tracker else {
            return Err(PlayCut::Fatal("no prompt of this session names a tracker".to_owned()));
        };
        let path = path.display().to_string();
        match edit {
            TrackerEdit::Write(text) => self.write(&path, &self.words.fill(text)),
            TrackerEdit::Append(text) => {
                let text = perform::on_own_line(path.as_ref(), &self.words.fill(text));
                self.append(&path, &text)
            }
        }
    }

    /// Plays one tool call, from the model's call to the result.
    pub(super) fn use_tool(
        &mut self,
        name: &str,
        input: Value,
        deed: impl FnOnce(&mut Self, &Value) -> Result<StepResult, PlayCut>,
    ) -> Result<(), PlayCut> {
        let id = self.wish(name, &input)?;
        // Hooks and the stream use different names for the subagent tool.
        let hook_name = if name == "Task" { "Agent" } else { name };
        let call = json!({"tool_name": hook_name, "tool_input": input, "tool_use_id": id});
        self.in_tool = true;
        let answer = self.fire("PreToolUse", hook_name, call.clone());
        let answer = answer.or_else(|cut| self.abort(&id, cut))?;
        let halt = answer.halt;
        let input = match self.permit(hook_name, call, answer)? {
            Permit::Run(input) => input,
            Permit::Refused(text) => return self.refuse(&id, name, input, &text),
            Permit::Deferred => {
                return Err(PlayCut::Over(ResultVerdict::said("tool_deferred", self.said.clone())));
            }
        };
        let start = Instant::now();
        let done = deed(self, &input).or_else(|cut| self.abort(&id, cut))?;
        self.tell_hooks(hook_name, &id, &input, &done, start.elapsed())?;
        let result = ToolResult {
            content: done.content,
            is_error: done.is_error,
            structured: done.structured,
            meta: accepted(),
        };
        self.stream.user(events::tool_result(&id, &result))?;
        self.in_tool = false;
        if halt {
            // The tool has run anyway, as in the real CLI.
            return Err(PlayCut::Over(ResultVerdict::said("hook_stopped", self.said.clone())));
        }
        Ok(())
    }

    fn tell_hooks(
        &mut self,
        name: &str,
        id: &str,
        input: &Value,
        done: &StepResult,
        took: Duration,
    ) -> Result<(), PlayCut> {
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let mut extra = json!({
            "tool_name": name, "tool_input": input, "tool_use_id": id, "duration_ms": duration_ms,
        });
        let event = if done.is_error {
            put(&mut extra, "error", done.content.clone());
            put(&mut extra, "is_interrupt", json!(false));
            "PostToolUseFailure"
        } else {
            put(&mut extra, "tool_response", done.structured.clone());
            "PostToolUse"
        };
        self.fire(event, name, extra).map(drop)
    }

    fn permit(&mut self, name: &str, call: Value, answer: HookMeaning) -> Result<Permit, PlayCut> {
        let input = call.get("tool_input").cloned().unwrap_or_default();
        let run = |changed: Option<Value>| Permit::Run(changed.unwrap_or(input));
        Ok(match answer.decision {
            Some(HookDecision::Refuse) => {
                Permit::Refused(format!("PreToolUse:{name} hook error: {}", answer.reason))
            }
            Some(HookDecision::Ask) => Permit::Refused(not_granted(name)),
            Some(HookDecision::Defer) => Permit::Deferred,
            Some(HookDecision::Allow) => run(answer.updated_input),
            None if self.skip_hooks || permitted(self.permission_mode(), name) => run(answer.updated_input),
            None => {
                let asked = self.fire("PermissionRequest", name, call)?;
                match asked.decision {
                    Some(HookDecision::Allow) => run(asked.updated_input),
                    _ if asked.reason.is_empty() => Permit::Refused(not_granted(name)),
                    _ => Permit::Refused(asked.reason),
                }
            }
        })
    }

    fn refuse(&mut self, id: &str, name: &str, input: Value, text: &str) -> Result<(), PlayCut> {
        self.denials.push(json!({"tool_name": name, "tool_use_id": id, "tool_input": input}));
        let decision = json!({"decision": "reject", "source": "hook", "reason_type": "hook"});
        let meta = json!({"non_execution_kind": "permission-rule", "permission_decision": decision});
        self.in_tool = false;
        self.tell_failure(id, text, format!("Error: {text}"), Some(meta))
    }

    /// Handles an interrupt during a tool: the model gets a result before the session ends.
    fn abort<T>(&mut self, id: &str, cut: PlayCut) -> Result<T, PlayCut> {
        if matches!(cut, PlayCut::Asked(StopRequest::Interrupt)) {
            let meta = json!({"non_execution_kind": "user-rejected"});
            self.tell_failure(id, REJECTED, "User rejected tool use".to_owned(), Some(meta))?;
            self.stream.user(events::user_text("[Request interrupted by user for tool use]"))?;
        }
        Err(cut)
    }

    fn tell_failure(
        &mut self,
        id: &str,
        text: &str,
        short: String,
        meta: Option<Value>,
    ) -> Result<(), PlayCut> {
        let result = ToolResult { content: json!(text), is_error: true, structured: json!(short), meta };
        Ok(self.stream.user(events::tool_result(id, &result))?)
    }
}

fn option(choice: &Choice) -> Value {
    match choice {
        Choice::Label(label) => json!({"label": label, "description": label}),
        Choice::Whole { label, description } => json!({"label": label, "description": description}),
    }
}

fn accepted() -> Option<Value> {
    let decision = json!({"decision": "accept", "source": "config", "reason_type": "mode"});
    Some(json!({"permission_decision": decision}))
}

fn not_granted(name: &str) -> String {
    format!("Claude requested permissions to use {name}, but you haven't granted it yet.")
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
