//! Plays steps that talk or use a tool: event, hook, action, hook, result, in the real CLI's order.
//!
//! `perform` carries out the tools. This module decides from hooks and the format whether they may run.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use windlass_core::graph::schema::validate;

use super::event::{CallVerdict, PlayVerdict, SimCall, SimEvent, ToolResult};
use super::hook_call::{HookDecision, HookMeaning};
use super::ids::short_id;
use super::perform::{self, StepResult};
use super::play::{PlayCut, Player};
use super::script::{AskStep, Choice, ScriptStep, ToolStep, TrackerEdit};
use super::signals::StopRequest;

/// The result of a tool that the user interrupted.
const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it \
    was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to \
    tell you how to proceed.";

/// The tool for a structured answer.
const ANSWERING: &str = "StructuredOutput";

/// The decision about a tool call.
enum Permit {
    /// With the input that a hook changed.
    Run(Option<Value>),
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
                let text = self.words.fill(text);
                Ok(self.stream.thought(&text)?)
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
                self.skip_hooks = *skip || self.launch.has_no_hooks;
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
        self.stream.said(&text)?;
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

    /// Gives the structured answer that the session's schema requires. Without a tool for it, the answer is a
    /// message.
    pub(super) fn give(&mut self, answer: &Value) -> Result<(), PlayCut> {
        let input = self.fill_all(answer);
        if !self.stream.format.abilities().answers {
            return self.speak(input.to_string());
        }
        let Some(schema) = self.launch.schema.clone() else {
            let call = self.wish(ANSWERING, input)?;
            let text = format!("<tool_use_error>Error: No such tool available: {ANSWERING}</tool_use_error>");
            return self.tell_failure(&call, &text, text.clone(), CallVerdict::Missing);
        };
        self.use_tool(ANSWERING, input, |player, input| {
            if let Some(fault) = validate(&schema, input).first() {
                return Ok(StepResult::failed(&format!("Output does not match required schema: {fault}")));
            }
            player.structured = Some(input.clone());
            Ok(StepResult::text("Structured output provided successfully"))
        })
    }

    /// Writes a tool call of the model to the stream.
    fn wish(&mut self, name: &str, input: Value) -> Result<SimCall, PlayCut> {
        let call = SimCall { id: format!("toolu_{}", short_id()), name: name.to_owned(), input };
        self.stream.called(&call)?;
        Ok(call)
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
        if !self.stream.format.abilities().questions {
            // Without a tool for questions, an agent can only say them.
            return self.speak(question);
        }
        self.use_tool("AskUserQuestion", input, |player, input| {
            let (done, answer) = perform::answered(input, &question);
            player.words.answer = answer;
            Ok(done)
        })
    }

    pub(super) fn edit_tracker(&mut self, edit: &TrackerEdit) -> Result<(), PlayCut> {
        let Some(path) = &self.words.tracker else {
            return Err(PlayCut::fatal("no prompt of this session names a tracker".to_owned()));
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
        let mut call = self.wish(name, input)?;
        // Hooks and the stream use different names for the subagent tool.
        let hook_name = if name == "Task" { "Agent" } else { name };
        let facts = json!({"tool_name": hook_name, "tool_input": call.input, "tool_use_id": call.id});
        self.in_tool = true;
        let answer = self.fire("PreToolUse", hook_name, facts.clone());
        let answer = answer.or_else(|cut| self.abort(&call, cut))?;
        let halt = answer.halt;
        match self.permit(hook_name, facts, answer)? {
            Permit::Run(changed) => call.input = changed.unwrap_or(call.input),
            Permit::Refused(text) => return self.refuse(&call, &text),
            Permit::Deferred => {
                return Err(PlayCut::Over(PlayVerdict::said("tool_deferred", self.said.clone())));
            }
        }
        self.stream.tell(SimEvent::Started(&call))?;
        let start = Instant::now();
        let done = deed(self, &call.input).or_else(|cut| self.abort(&call, cut))?;
        self.tell_hooks(hook_name, &call, &done, start.elapsed())?;
        let StepResult { content, is_error, structured, shell } = done;
        let result = ToolResult { content, is_error, structured, shell, verdict: CallVerdict::Ran };
        self.stream.tell(SimEvent::Returned(&call, &result))?;
        self.in_tool = false;
        if halt {
            // The tool has run anyway, as in the real CLI.
            return Err(PlayCut::Over(PlayVerdict::said("hook_stopped", self.said.clone())));
        }
        Ok(())
    }

    fn tell_hooks(
        &mut self,
        name: &str,
        call: &SimCall,
        done: &StepResult,
        took: Duration,
    ) -> Result<(), PlayCut> {
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let mut facts = Map::from_iter([
            ("tool_name".to_owned(), json!(name)),
            ("tool_input".to_owned(), call.input.clone()),
            ("tool_use_id".to_owned(), json!(call.id)),
            ("duration_ms".to_owned(), json!(duration_ms)),
        ]);
        let event = if done.is_error {
            facts.insert("error".to_owned(), done.content.clone());
            facts.insert("is_interrupt".to_owned(), json!(false));
            "PostToolUseFailure"
        } else {
            facts.insert("tool_response".to_owned(), done.structured.clone());
            "PostToolUse"
        };
        self.fire(event, name, Value::Object(facts)).map(drop)
    }

    fn permit(&mut self, name: &str, facts: Value, answer: HookMeaning) -> Result<Permit, PlayCut> {
        let refusal = |player: &Self, reason| Permit::Refused(player.stream.format.refusal(name, reason));
        Ok(match answer.decision {
            Some(HookDecision::Refuse) => refusal(self, Some(answer.reason.as_str())),
            Some(HookDecision::Ask) => refusal(self, None),
            Some(HookDecision::Defer) => Permit::Deferred,
            Some(HookDecision::Allow) => Permit::Run(answer.updated_input),
            None if self.skip_hooks || self.stream.format.permits(name) => Permit::Run(answer.updated_input),
            None => {
                let asked = self.fire("PermissionRequest", name, facts)?;
                match asked.decision {
                    Some(HookDecision::Allow) => Permit::Run(asked.updated_input),
                    _ if asked.reason.is_empty() => refusal(self, None),
                    _ => Permit::Refused(asked.reason),
                }
            }
        })
    }

    fn refuse(&mut self, call: &SimCall, text: &str) -> Result<(), PlayCut> {
        self.denials.push(json!({"tool_name": call.name, "tool_use_id": call.id, "tool_input": call.input}));
        self.in_tool = false;
        self.tell_failure(call, text, format!("Error: {text}"), CallVerdict::Refused)
    }

    /// Handles an interrupt during a tool: the model gets a result before the session ends.
    fn abort<T>(&mut self, call: &SimCall, cut: PlayCut) -> Result<T, PlayCut> {
        if matches!(cut, PlayCut::Asked(StopRequest::Interrupt)) {
            let short = "User rejected tool use".to_owned();
            self.tell_failure(call, REJECTED, short, CallVerdict::Interrupted)?;
            self.stream.tell(SimEvent::Interrupted)?;
        }
        Err(cut)
    }

    fn tell_failure(
        &mut self,
        call: &SimCall,
        text: &str,
        short: String,
        verdict: CallVerdict,
    ) -> Result<(), PlayCut> {
        let (content, structured) = (json!(text), json!(short));
        let result = ToolResult { content, is_error: true, structured, verdict, shell: None };
        Ok(self.stream.tell(SimEvent::Returned(call, &result))?)
    }
}

fn option(choice: &Choice) -> Value {
    match choice {
        Choice::Label(label) => json!({"label": label, "description": label}),
        Choice::Whole { label, description } => json!({"label": label, "description": description}),
    }
}
