//! Sends requests to a run: to end, to pause, or to receive an answer or a signal.
//!
//! A request goes to the owner's socket, and the owner checks who sends it. If the run has no owner, the
//! request goes into the inbox (docs/design/0005).

use std::time::{Duration, Instant};

use windlass_core::event::PersonReply;
use windlass_core::hook::wire::HookReply;
use windlass_core::id::{EffectId, HookId, InboxId, RunId};
use windlass_core::run::{Progress, Waiting};
use windlass_peers::hook_socket::{self, NoReply};
use windlass_store::{InboxRequest, PutResult};

use super::Handle;
use crate::error::RunError;
use crate::inbox::{FRESH, InboxMessage, NOT_ASKED, SocketRequest};
use crate::person::AnswerWay;
use crate::seal::InboxKey;
use crate::view::children;

/// The time an owner may be without its socket. An owner restores a deleted socket within two seconds.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

impl Handle {
    /// Asks a run to end. If it has no owner, it ends when it is resumed.
    pub async fn cancel(&self, run: &RunId) -> Result<(), RunError> {
        self.ask_open(run, InboxMessage::Cancel).await
    }

    /// Asks a run to stop for now. If it has no owner, there is nothing to stop.
    pub async fn interrupt(&self, run: &RunId) -> Result<(), RunError> {
        self.ask_open(run, InboxMessage::Interrupt).await
    }

    /// Sends a request to a run, unless it is over.
    async fn ask_open(&self, run: &RunId, message: InboxMessage) -> Result<(), RunError> {
        let run = run.clone();
        let ask = move |handle: &Handle| {
            let state = handle.view(&run)?.state;
            let status = state.outcome().map(|outcome| outcome.status);
            match (status, &message) {
                (None, _) => {}
                // The run could continue, so it can still be cancelled.
                (Some(status), InboxMessage::Cancel) if !status.is_final() => {
                    return handle.cancel_stopped(&run);
                }
                (Some(_), _) => return Err(RunError::Over(run)),
            }
            handle.ask(&run, &InboxId::new(crate::random::token()), &message).map(drop)
        };
        self.waiting(ask).await
    }

    /// Asks a run to end because its parent ends. Repeated calls for the same effect count as one request.
    pub(crate) fn end_with_outer(
        &self,
        run: &RunId,
        by: &EffectId,
        message: &InboxMessage,
    ) -> Result<(), RunError> {
        self.ask(run, &InboxId::new(format!("outer/{by}")), message).map(|_| ())
    }

    /// Pauses a run and its descendants: they finish the nodes in progress and start no new ones.
    pub async fn pause(&self, run: &RunId) -> Result<(), RunError> {
        let run = run.clone();
        self.waiting(move |handle| handle.ask_all(&run, &InboxMessage::Pause)).await
    }

    /// Continues a paused run and its descendants.
    pub async fn unpause(&self, run: &RunId) -> Result<(), RunError> {
        let run = run.clone();
        self.waiting(move |handle| handle.ask_all(&run, &InboxMessage::GoOn)).await
    }

    /// Lets the turns of a run and its descendants that wait for the end of a usage limit try again now.
    pub async fn retry_now(&self, run: &RunId) -> Result<(), RunError> {
        let run = run.clone();
        self.waiting(move |handle| handle.ask_all(&run, &InboxMessage::RetryNow)).await
    }

    fn ask_all(&self, run: &RunId, message: &InboxMessage) -> Result<(), RunError> {
        let view = self.view(run)?;
        if view.state.is_done() {
            return Err(RunError::Over(run.clone()));
        }
        self.ask(run, &InboxId::new(crate::random::token()), message)?;
        for child in children(&view.state) {
            // A child that ended in the meantime needs no request.
            let _ = self.ask_all(&child, message);
        }
        Ok(())
    }

    /// Sends a signal that a node of the run may wait for.
    pub async fn tell(&self, run: &RunId, name: &str, text: &str) -> Result<(), RunError> {
        self.ask_open(run, InboxMessage::Tell { name: name.to_owned(), text: text.to_owned() }).await
    }

    /// Finds the run that waits for a person: this run or one of its descendants.
    pub fn who_asks(&self, run: &RunId) -> Result<RunId, RunError> {
        let view = self.view(run)?;
        if matches!(view.state.progress(), Progress::Waiting(Waiting::Person(_))) {
            return Ok(run.clone());
        }
        let asking = children(&view.state).into_iter().find_map(|child| self.who_asks(&child).ok());
        asking.ok_or_else(|| RunError::NothingAsked(run.clone()))
    }

    /// Answers the open request in this run or in one of its descendants. The log keeps who answered.
    pub async fn answer(
        &self,
        run: &RunId,
        hook: Option<HookId>,
        reply: PersonReply,
        way: AnswerWay,
    ) -> Result<(), RunError> {
        let run = run.clone();
        self.waiting(move |handle| handle.answer_blocking(&run, hook, reply, way)).await
    }

    fn answer_blocking(
        &self,
        run: &RunId,
        hook: Option<HookId>,
        reply: PersonReply,
        way: AnswerWay,
    ) -> Result<(), RunError> {
        let run = &self.who_asks(run)?;
        // The id is the same for every answer to one question, so that the second answer is refused.
        let name = hook.as_ref().map_or("", HookId::as_str);
        let question = match &reply {
            PersonReply::Answers { answers } => answers.first().map_or("", |(question, _)| question.as_str()),
            PersonReply::Approve | PersonReply::Reject { .. } => "",
        };
        let id = InboxId::new(format!("reply/{name}/{question}"));
        match self.ask(run, &id, &InboxMessage::Reply { hook, reply, origin: Some(way.origin()) })? {
            PutResult::Fresh => Ok(()),
            PutResult::Known => Err(RunError::AlreadyAnswered(run.clone())),
        }
    }

    /// Sends a request to the owner of a run. Without an owner, the sealed request waits in the inbox.
    pub(super) fn ask(
        &self,
        run: &RunId,
        id: &InboxId,
        message: &InboxMessage,
    ) -> Result<PutResult, RunError> {
        let unheard = || RunError::Unheard { run: run.clone(), owner: self.owner(run) };
        if self.owner(run).is_some_and(|owner| owner.is_stopped) {
            return Err(unheard());
        }
        let asked = SocketRequest { id: id.clone(), message: message.clone() };
        let payload = serde_json::to_string(&asked).map_err(RunError::Encode)?;
        let path = hook_socket::path_for(&self.home.state, run, &self.home.temp)?;
        let until = Instant::now() + PATIENCE;
        let mut kept = None;
        loop {
            match hook_socket::request(&path, &payload) {
                Ok(reply) => return heard(run, &reply, kept),
                // The owner hangs or is ending. If it is ending, it releases the run in a moment.
                Err(NoReply::Silence | NoReply::Nobody) => {}
            }
            if !self.store.is_owned(run) {
                match kept {
                    Some(put) => return Ok(put),
                    // Try the socket once more: an owner that started meanwhile may have missed the inbox.
                    None => kept = Some(self.keep(run, id, message)?),
                }
            } else if Instant::now() >= until {
                return Err(unheard());
            } else {
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Puts a request into the inbox for the next owner. It replaces an unsealed request with the same id;
    /// the owner refuses any other unsealed request, with a warning.
    pub(crate) fn keep(
        &self,
        run: &RunId,
        id: &InboxId,
        message: &InboxMessage,
    ) -> Result<PutResult, RunError> {
        let key = self.key()?;
        let pending = self.pending(run, key)?;
        let unverified = pending.unverified.iter().map(|(id, _)| id);
        if pending.planted.iter().chain(unverified).any(|other| other == id) {
            self.store.discard(run, id)?;
        }
        let row = key.seal(run, id, message).map_err(RunError::Encode)?;
        Ok(self.store.put(run, id, &row)?)
    }

    /// Returns the requests in the inbox of a run, sorted by whether Windlass sealed them.
    pub(crate) fn pending(&self, run: &RunId, key: InboxKey) -> Result<Pending, RunError> {
        let mut pending = Pending::default();
        for InboxRequest { id, body } in self.store.pending(run)? {
            match key.open(run, &id, &body) {
                Some(message) => pending.sealed.push((id, message)),
                None => match InboxKey::read_unverified(&body) {
                    Some(message) => pending.unverified.push((id, message)),
                    None => pending.planted.push(id),
                },
            }
        }
        Ok(pending)
    }

    pub(crate) fn key(&self) -> Result<InboxKey, RunError> {
        let state = &self.home.state;
        InboxKey::of(state).map_err(|source| RunError::Place { path: state.clone(), source })
    }
}

/// The requests in the inbox of a run.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Sealed requests, in order of arrival.
    pub(crate) sealed: Vec<(InboxId, InboxMessage)>,
    /// Requests whose seal does not match the key. Either the key was deleted or replaced, or somebody wrote
    /// the request by hand.
    pub(crate) unverified: Vec<(InboxId, InboxMessage)>,
    /// Rows that Windlass did not write.
    pub(crate) planted: Vec<InboxId>,
}

/// Reads the owner's reply to a request that may also be in the inbox.
fn heard(run: &RunId, reply: &HookReply, kept: Option<PutResult>) -> Result<PutResult, RunError> {
    match (reply.exit, reply.stdout.as_str(), kept) {
        (0, FRESH, _) => Ok(PutResult::Fresh),
        (0, NOT_ASKED, _) => Err(RunError::NothingAsked(run.clone())),
        // The owner knows this request because it is the one we just put into the inbox.
        (0, _, Some(put)) => Ok(put),
        (0, _, None) => Ok(PutResult::Known),
        _ => Err(RunError::Refused(reply.stderr.clone())),
    }
}
