//! Permission requests: the questions that an agent asks before it uses a tool.
//!
//! A request about several files is a question for each of them, and one refusal refuses it. Windlass chooses the
//! option that is valid once, because its own rules decide about the next call.

use serde_json::{Value, json};
use windlass_core::agent::{AgentEvent, AgentRequest};

use super::hook::{Answer, PERMISSION};
use super::tools::KnownCall;
use super::wire::{self, PermissionOption};

/// The number of files in a request above which it is refused at once.
const FILES_MAX: usize = 100;

/// The permission requests of a turn.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    /// The number of questions so far.
    asked: u32,
    open: Vec<OpenPermission>,
}

/// A request without a response.
#[derive(Debug)]
struct OpenPermission {
    /// The agent's id for it, as JSON.
    id: String,
    options: Vec<PermissionOption>,
    /// The questions without an answer.
    questions: Vec<String>,
}

impl Permissions {
    /// Asks whether a tool may run. Returns a line if the request is refused at once.
    pub(super) fn ask(
        &mut self,
        turn: &str,
        id: &str,
        call: &KnownCall,
        options: Vec<PermissionOption>,
        out: &mut Vec<AgentEvent>,
    ) -> Option<Vec<u8>> {
        let calls = call.calls();
        let mut request = OpenPermission { id: id.to_owned(), options, questions: Vec::new() };
        if calls.len() > FILES_MAX {
            return Some(request.answered(&Answer::Refuse));
        }
        for call in calls {
            self.asked += 1;
            let id = format!("{turn}.ask-{}", self.asked);
            request.questions.push(id.clone());
            let payload = serde_json::to_value(&call).unwrap_or_default();
            out.push(AgentEvent::Asks(AgentRequest { id, event: PERMISSION.to_owned(), payload }));
        }
        self.open.push(request);
        None
    }

    /// Takes the answer to a question. Returns the response, once it is certain.
    pub(super) fn answer(&mut self, question: &str, answer: &Answer) -> Option<Vec<u8>> {
        let at = self.open.iter().position(|open| open.questions.iter().any(|own| own == question))?;
        let request = self.open.get_mut(at)?;
        request.questions.retain(|own| own != question);
        if *answer == Answer::Allow && !request.questions.is_empty() {
            return None;
        }
        Some(self.open.remove(at).answered(answer))
    }

    /// Decides whether the input of the agent has the response to the request of a question.
    pub(super) fn has_response(&self, question: &str, input: &[u8]) -> bool {
        let request = self.open.iter().find(|open| open.questions.iter().any(|own| own == question));
        request.is_some_and(|request| wire::has_line(input, &wire::beginning(&request.id)))
    }

    /// Forgets a request that the agent no longer waits for. Adds its questions.
    pub(super) fn withdraw(&mut self, id: &str, out: &mut Vec<AgentEvent>) -> Option<Vec<u8>> {
        let at = self.open.iter().position(|open| open.id == id)?;
        let request = self.open.remove(at);
        out.extend(request.questions.into_iter().map(|id| AgentEvent::AskWithdrawn { id }));
        Some(wire::cancelled(id))
    }
}

impl OpenPermission {
    fn answered(&self, answer: &Answer) -> Vec<u8> {
        wire::result(&self.id, &json!({ "outcome": self.outcome(answer) }))
    }

    fn outcome(&self, answer: &Answer) -> Value {
        let of_kind = |kind: &str| self.options.iter().find(|option| option.kind == kind);
        let chosen = match answer {
            Answer::Allow => of_kind("allow_once"),
            Answer::Refuse | Answer::GoOn(_) => None,
        };
        // `allow_always` would allow what the rules of Windlass do not.
        let chosen = chosen.or_else(|| of_kind("reject_once")).or_else(|| of_kind("reject_always"));
        match chosen {
            Some(option) => json!({ "outcome": "selected", "optionId": option.option_id }),
            None => json!({ "outcome": "cancelled" }),
        }
    }
}
