//! What a run is asked from outside: to end, to pause, to hear something. Its owner takes it from the inbox.

use windlass_core::event::PersonReply;
use windlass_core::id::{EffectId, HookId, InboxId, RunId};
use windlass_core::run::{Standing, Waiting};
use windlass_peers::hook_socket;
use windlass_store::Put;

use super::{Handle, children};
use crate::error::RunError;
use crate::inbox::Message;

impl Handle {
    /// Asks a run to end: its owner, or whoever resumes it.
    pub fn cancel(&self, run: &RunId) -> Result<(), RunError> {
        let view = self.view(run)?;
        if view.state.is_done() {
            return Err(RunError::Over(run.clone()));
        }
        self.ask(run, &InboxId::new(crate::random::token()), &Message::Cancel).map(|_| ())
    }

    /// Asks a run to end because the one that started it does. Asked twice for the same, it is asked once.
    pub(crate) fn end_with_outer(&self, run: &RunId, by: &EffectId, why: &str) -> Result<(), RunError> {
        let message = Message::EndWithOuter { why: why.to_owned() };
        self.ask(run, &InboxId::new(format!("outer/{by}")), &message).map(|_| ())
    }

    /// Lets a run begin nothing new; what is under way is finished. So do the runs it started.
    pub fn pause(&self, run: &RunId) -> Result<(), RunError> {
        self.ask_all(run, &Message::Pause)
    }

    /// Lets a paused run go on, and the runs it started.
    pub fn go_on(&self, run: &RunId) -> Result<(), RunError> {
        self.ask_all(run, &Message::GoOn)
    }

    fn ask_all(&self, run: &RunId, message: &Message) -> Result<(), RunError> {
        let view = self.view(run)?;
        if view.state.is_done() {
            return Err(RunError::Over(run.clone()));
        }
        self.ask(run, &InboxId::new(crate::random::token()), message)?;
        for child in children(&view.state) {
            // One that is over meanwhile needs no pause.
            let _ = self.ask_all(&child, message);
        }
        Ok(())
    }

    /// Tells a run that something happened that it may wait for.
    pub fn tell(&self, run: &RunId, name: &str, text: &str) -> Result<(), RunError> {
        if self.view(run)?.state.is_done() {
            return Err(RunError::Over(run.clone()));
        }
        let message = Message::Tell { name: name.to_owned(), text: text.to_owned() };
        self.ask(run, &InboxId::new(crate::random::token()), &message).map(|_| ())
    }

    /// The run that waits for a person: this one, or one that it started.
    pub fn who_asks(&self, run: &RunId) -> Result<RunId, RunError> {
        let view = self.view(run)?;
        if matches!(view.state.standing(), Standing::Waiting(Waiting::Person(_))) {
            return Ok(run.clone());
        }
        let asking = children(&view.state).into_iter().find_map(|child| self.who_asks(&child).ok());
        asking.ok_or_else(|| RunError::NothingAsked(run.clone()))
    }

    /// Answers what waits for a person, in this run or in one that it started.
    pub fn answer(&self, run: &RunId, hook: Option<HookId>, reply: PersonReply) -> Result<(), RunError> {
        let run = &self.who_asks(run)?;
        // One answer a question: whoever comes second is told so.
        let name = hook.as_ref().map_or("", HookId::as_str);
        let question = match &reply {
            PersonReply::Answers { answers } => answers.first().map_or("", |(question, _)| question.as_str()),
            PersonReply::Approve | PersonReply::Reject { .. } => "",
        };
        let id = InboxId::new(format!("reply/{name}/{question}"));
        match self.ask(run, &id, &Message::Reply { hook, reply })? {
            Put::Fresh => Ok(()),
            Put::Known => Err(RunError::AlreadyAnswered(run.clone())),
        }
    }

    fn ask(&self, run: &RunId, id: &InboxId, message: &Message) -> Result<Put, RunError> {
        let body = serde_json::to_vec(message).map_err(RunError::Encode)?;
        let put = self.store.put(run, id, &body)?;
        if let Ok(path) = hook_socket::path_for(&self.home.state, run, &self.home.temp) {
            // Without an owner nobody listens; the request waits in the inbox.
            hook_socket::poke(&path);
        }
        Ok(put)
    }
}
