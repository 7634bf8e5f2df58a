//! The conversation with an agent: it reads each line, and sends the next one.
//!
//! `initialize`, then `session/new` or the request that continues a conversation, the choices of mode and model, and the
//! prompt. What is sent depends only on the notes of the turn and on the lines read, so that a new owner of the run
//! comes to the same point by reading the output again. The id of a response tells what it answers.

use std::collections::VecDeque;

use serde_json::{Value, json};
use windlass_core::agent::{AgentEvent, AgentRequest, ApiTrouble, FailureCause, TurnFailure, TurnResult};
use windlass_core::launch::END_OF_INPUT;

use super::super::dialect::ReadLine;
use super::failure;
use super::hook::{self, Answer, STOP, Stopped};
use super::launch::Notes;
use super::options::{NotOffered, OpenedSession, OptionChoice};
use super::permission::Permissions;
use super::updates::Updates;
use super::usage::PromptUsage;
use super::wire::{
    self, INITIALIZE, Initialized, PermissionParams, PromptResult, RpcError, RpcMessage, UpdateParams,
};
use super::wire::{LAST, SESSION, SET_EFFORT, SET_MODE, SET_MODEL};

/// The longest id of a request of the agent that gets an answer.
const ID_MAX: usize = 256;

/// The conversation of one turn.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// Without notes, the conversation is only read.
    notes: Option<Notes>,
    agent: String,
    session: String,
    /// The agent may be repeating an old conversation until it is open.
    is_open: bool,
    choices: VecDeque<OptionChoice>,
    updates: Updates,
    permissions: Permissions,
    usage: PromptUsage,
    /// The money that the conversation had cost when it was opened, or after the last prompt.
    cost_before: Option<f64>,
    due: Vec<Vec<u8>>,
    /// The number of the last prompt that has a response.
    answered: u32,
}

impl Conversation {
    pub(super) fn with(notes: Option<Notes>) -> Conversation {
        Conversation { notes, ..Conversation::default() }
    }

    fn response(
        &mut self,
        message: &RpcMessage<'_>,
        id: &str,
        out: &mut Vec<AgentEvent>,
    ) -> serde_json::Result<()> {
        let answer = match (&message.error, message.result) {
            (Some(error), _) => Err(error),
            (None, result) => Ok(result.map_or("null", |raw| raw.get())),
        };
        match (id, wire::prompt_number(id)) {
            (INITIALIZE, _) => self.initialized(answer, out)?,
            (SESSION, _) => self.opened(answer, out)?,
            (SET_MODE | SET_MODEL | SET_EFFORT, _) => self.chosen(id, answer, out),
            (_, Some(number)) => self.prompted(id, number, answer, out)?,
            (other, None) => out.push(AgentEvent::Unknown { what: format!("response to {other}") }),
        }
        Ok(())
    }

    fn initialized(
        &mut self,
        answer: Result<&str, &RpcError>,
        out: &mut Vec<AgentEvent>,
    ) -> serde_json::Result<()> {
        let agent: Initialized = match answer {
            Ok(result) => serde_json::from_str(result)?,
            Err(error) => {
                self.fail(failure::of_error("initialize", error), out);
                return Ok(());
            }
        };
        self.agent = agent.agent_info.unwrap_or_default().name;
        if agent.protocol_version != wire::VERSION {
            let said =
                format!("version {}, and Windlass speaks version {}", agent.protocol_version, wire::VERSION);
            self.fail(other("the agent speaks another protocol", &said), out);
            return Ok(());
        }
        let Some(notes) = &self.notes else { return Ok(()) };
        let can = agent.agent_capabilities;
        let method = match &notes.session {
            None => "session/new",
            Some(_) if can.session_capabilities.resume.is_some() => "session/resume",
            Some(_) if can.load_session => "session/load",
            Some(_) => {
                self.fail(other("session/load", "this agent cannot continue a conversation"), out);
                return Ok(());
            }
        };
        let mut params = json!({ "cwd": notes.cwd, "mcpServers": [] });
        if let (Some(session), Value::Object(params)) = (&notes.session, &mut params) {
            params.insert("sessionId".to_owned(), session.as_str().into());
        }
        self.due.push(wire::request(SESSION, method, &params));
        Ok(())
    }

    fn opened(
        &mut self,
        answer: Result<&str, &RpcError>,
        out: &mut Vec<AgentEvent>,
    ) -> serde_json::Result<()> {
        let opened: OpenedSession = match answer {
            // `session/load` may have no result.
            Ok("null") => OpenedSession::default(),
            Ok(result) => serde_json::from_str(result)?,
            Err(error) => {
                self.fail(failure::of_opening(error), out);
                return Ok(());
            }
        };
        self.is_open = true;
        self.cost_before = self.updates.cost();
        let continued = self.notes.as_ref().and_then(|notes| notes.session.clone());
        self.session = match opened.session_id.is_empty() {
            true => continued.unwrap_or_default(),
            false => opened.session_id.clone(),
        };
        let (session, model) = (self.session.clone(), opened.model());
        if !session.is_empty() {
            out.push(AgentEvent::SessionInit { session, model, tools: Vec::new() });
        }
        let Some(notes) = &self.notes else { return Ok(()) };
        let (choices, missing) = opened.choices(&self.session, notes);
        self.choices = choices.into();
        if missing.contains(&NotOffered::Models) {
            let model = notes.model.clone().unwrap_or_default();
            let said = format!("the agent offers no choice of models, and the run wants `{model}`");
            self.fail(failed(FailureCause::Api(ApiTrouble::Model), "model", &said), out);
            return Ok(());
        }
        if missing.contains(&NotOffered::Effort) {
            let effort = notes.effort.as_deref().unwrap_or_default();
            let text = format!("the agent does not offer the effort `{effort}`, so it works with its own");
            out.push(AgentEvent::Notice { about: "effort".to_owned(), text });
        }
        self.choose_or_prompt();
        Ok(())
    }

    fn chosen(&mut self, id: &str, answer: Result<&str, &RpcError>, out: &mut Vec<AgentEvent>) {
        match answer {
            Err(error) if id == SET_MODEL => {
                let said = failure::of_error("model", error).said.unwrap_or_default();
                return self.fail(failed(FailureCause::Api(ApiTrouble::Model), "model", &said), out);
            }
            Err(error) => {
                let about = if id == SET_MODE { "mode" } else { "effort" };
                let text = format!("the agent keeps its {about}: {}", error.message);
                out.push(AgentEvent::Notice { about: about.to_owned(), text });
            }
            Ok(_) => {}
        }
        self.choose_or_prompt();
    }

    /// Sends the next choice, or the prompt after the last one.
    fn choose_or_prompt(&mut self) {
        if let Some(choice) = self.choices.pop_front() {
            return self.due.push(choice.line);
        }
        let Some(notes) = &self.notes else { return };
        let id = if notes.holds_stop { wire::prompt_id(1) } else { LAST.to_owned() };
        let texts = notes.role.iter().chain([&notes.prompt]);
        let line = prompt(&id, &self.session, texts.map(String::as_str));
        self.due.push(line);
    }

    fn prompted(
        &mut self,
        id: &str,
        number: u32,
        answer: Result<&str, &RpcError>,
        out: &mut Vec<AgentEvent>,
    ) -> serde_json::Result<()> {
        self.answered = self.answered.max(number);
        self.updates.end_message(out);
        let text = self.updates.take_last_message();
        let result = match answer {
            Ok(result) => {
                let result: PromptResult = serde_json::from_str(result)?;
                let spent = self.spent();
                let usage = self.usage.of(&result, &self.agent, spent);
                let failure = failure::of_result(&result, &self.agent, text.as_deref());
                TurnResult { failure, text: text.clone(), usage, num_turns: 1, ..TurnResult::default() }
            }
            Err(error) => {
                let failure = Some(failure::of_error("session/prompt", error));
                TurnResult { failure, text: text.clone(), num_turns: 1, ..TurnResult::default() }
            }
        };
        let has_failed = result.failure.is_some();
        out.push(AgentEvent::Result(Box::new(result)));
        // The host ends the input after the last prompt.
        let Some(notes) = self.notes.as_ref().filter(|_| id != LAST) else { return Ok(()) };
        if has_failed {
            self.due.push(vec![END_OF_INPUT]);
            return Ok(());
        }
        let payload = serde_json::to_value(Stopped { last_message: text })?;
        let id = format!("{}.{STOPPED}{number}", notes.turn);
        out.push(AgentEvent::Asks(AgentRequest { id, event: STOP.to_owned(), payload }));
        Ok(())
    }

    /// Returns the money spent since the last look.
    fn spent(&mut self) -> Option<f64> {
        let now = self.updates.cost()?;
        let before = self.cost_before.replace(now);
        let is_new = self.notes.as_ref().is_none_or(|notes| notes.session.is_none());
        // A continued conversation whose earlier cost is unknown has no cost of its own.
        let before = before.or(is_new.then_some(0.0))?;
        Some((now - before).max(0.0))
    }

    /// Ends the conversation before its prompt.
    fn fail(&mut self, failure: TurnFailure, out: &mut Vec<AgentEvent>) {
        out.push(AgentEvent::Result(Box::new(TurnResult {
            failure: Some(failure),
            ..TurnResult::default()
        })));
        self.due.push(vec![END_OF_INPUT]);
    }

    fn request(
        &mut self,
        message: &RpcMessage<'_>,
        id: &str,
        out: &mut Vec<AgentEvent>,
    ) -> serde_json::Result<()> {
        let params = message.params.map_or("{}", |raw| raw.get());
        if id.len() > ID_MAX {
            out.push(AgentEvent::Warning { what: "a request with an id that is too long".to_owned() });
            return Ok(());
        }
        if message.method != "session/request_permission" {
            out.push(AgentEvent::Unknown { what: message.method.chars().take(ID_MAX).collect() });
            self.due.push(wire::no_method(id));
            return Ok(());
        }
        let params: PermissionParams<'_> = serde_json::from_str(params)?;
        let side = self.is_side(&params.session_id);
        let call = self.updates.ask(&params.tool_call, side, out);
        let turn = self.notes.as_ref().map_or("", |notes| &notes.turn);
        let refusal = self.permissions.ask(turn, id, &call, params.options, out);
        self.due.extend(refusal);
        Ok(())
    }

    /// Decides whether an update is from another conversation, that of a subagent.
    fn is_side(&self, session: &str) -> bool {
        !self.session.is_empty() && session != self.session
    }

    fn notice(&mut self, message: &RpcMessage<'_>, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let params = message.params.map_or("{}", |raw| raw.get());
        match message.method.as_ref() {
            "session/update" => {
                let UpdateParams { session_id, update } = serde_json::from_str(params)?;
                let side = self.is_side(&session_id);
                if self.is_open {
                    self.updates.read(&update, side, out);
                } else if update.session_update == "usage_update" {
                    // The cost so far of a conversation that is being continued.
                    self.updates.read(&update, side, &mut Vec::new());
                }
            }
            "$/cancel_request" => {
                let params: Value = serde_json::from_str(params)?;
                let id = params.get("requestId").map(Value::to_string).unwrap_or_default();
                self.due.extend(self.permissions.withdraw(&id, out));
            }
            other => out.push(AgentEvent::Unknown { what: other.chars().take(ID_MAX).collect() }),
        }
        Ok(())
    }

    fn read(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> serde_json::Result<()> {
        let message: RpcMessage<'_> = serde_json::from_str(line)?;
        match message.id {
            None => self.notice(&message, out),
            Some(id) if message.method.is_empty() => {
                let id: String = serde_json::from_str(id.get()).unwrap_or_else(|_| id.get().to_owned());
                self.response(&message, &id, out)
            }
            Some(id) => self.request(&message, id.get(), out),
        }
    }
}

/// The part of a question's id that says that a prompt ended. The number of the prompt follows.
const STOPPED: &str = "stop-";

/// Returns the number of the prompt whose end a question is about.
fn stopped(question: &str) -> Option<u32> {
    question.rsplit_once('.')?.1.strip_prefix(STOPPED)?.parse().ok()
}

fn prompt<'a>(id: &str, session: &str, texts: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let blocks: Vec<Value> = texts.map(|text| json!({ "type": "text", "text": text })).collect();
    wire::request(id, "session/prompt", &json!({ "sessionId": session, "prompt": blocks }))
}

fn other(word: &str, said: &str) -> TurnFailure {
    failed(FailureCause::Other, word, said)
}

fn failed(cause: FailureCause, word: &str, said: &str) -> TurnFailure {
    TurnFailure { cause, word: word.to_owned(), said: Some(said.to_owned()) }
}

impl ReadLine for Conversation {
    fn read_line(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), String> {
        self.read(line, out).map_err(|error| error.to_string())
    }

    fn take_lines(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.due)
    }

    fn write_reply(&mut self, request: &str, answer: &str) -> Vec<u8> {
        let answer = hook::read_answer(answer);
        match (stopped(request), answer) {
            (Some(number), Answer::GoOn(message)) => {
                let id = wire::prompt_id(number.saturating_add(1));
                prompt(&id, &self.session, std::iter::once(message.as_str()))
            }
            (Some(_), Answer::Allow | Answer::Refuse) => vec![END_OF_INPUT],
            (None, answer) => self.permissions.answer(request, &answer).unwrap_or_default(),
        }
    }

    /// A prompt without a response: the agent may have died before it said a word about it.
    fn is_at_work(&self, input: &[u8]) -> bool {
        self.answered > 0 && wire::last_prompt(input).is_some_and(|sent| sent > self.answered)
    }

    fn has_reply(&self, request: &str, input: &[u8]) -> bool {
        let Some(number) = stopped(request) else { return self.permissions.has_response(request, input) };
        let next = Value::from(wire::prompt_id(number.saturating_add(1))).to_string();
        input.contains(&END_OF_INPUT) || wire::has_line(input, &wire::beginning(&next))
    }
}
