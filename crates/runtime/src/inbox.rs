//! Requests that other processes may send to a run, as stored in its inbox.

use serde::{Deserialize, Serialize};
use windlass_core::event::{AnswerOrigin, Event, PersonReply};
use windlass_core::id::{HookId, InboxId};

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub(crate) enum InboxMessage {
    Cancel,
    /// Stops the run. It can continue later.
    Interrupt,
    /// Ends the run because its parent ends.
    EndWithOuter {
        why: String,
        /// The parent was interrupted, and may continue this run later.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
        /// The node of the parent failed, and may continue this run later.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
    },
    /// Starts no new nodes.
    Pause,
    /// Continues after a pause.
    GoOn,
    /// Tries turns that wait for the end of a usage limit again now.
    RetryNow,
    /// A signal that a node may wait for.
    Tell {
        name: String,
        text: String,
    },
    /// An answer to an open request.
    Reply {
        /// The call to answer, or the oldest if `None`.
        hook: Option<HookId>,
        reply: PersonReply,
        /// The person who answers, and the place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<AnswerOrigin>,
    },
}

/// The owner's reply to a request that it had not received before.
pub(crate) const FRESH: &str = "fresh";

/// The owner's reply to an answer for which no question is open.
pub(crate) const NOT_ASKED: &str = "not_asked";

/// A request as it arrives at the socket of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SocketRequest {
    /// Chosen by the sender. Requests with the same id count once.
    pub(crate) id: InboxId,
    pub(crate) message: InboxMessage,
}

impl InboxMessage {
    /// Describes the request, to follow "only a person may".
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            InboxMessage::Cancel => "cancel the run",
            InboxMessage::Interrupt => "interrupt the run",
            InboxMessage::EndWithOuter { .. } => "end the run",
            InboxMessage::Pause => "pause the run",
            InboxMessage::GoOn | InboxMessage::RetryNow => "continue the run",
            InboxMessage::Tell { .. } => "send a signal to the run",
            InboxMessage::Reply { .. } => "answer",
        }
    }
}

/// Converts a request to an event.
pub(crate) fn event_of(inbox: InboxId, message: InboxMessage) -> Event {
    match message {
        InboxMessage::Cancel => Event::CancelAsked { inbox: Some(inbox) },
        InboxMessage::Interrupt => Event::InterruptAsked { inbox: Some(inbox) },
        InboxMessage::EndWithOuter { why, interrupted, failed } => {
            Event::ParentEnded { inbox: Some(inbox), why, interrupted, failed }
        }
        InboxMessage::Pause => Event::PauseAsked { inbox: Some(inbox) },
        InboxMessage::GoOn => Event::UnpauseAsked { inbox: Some(inbox) },
        InboxMessage::RetryNow => Event::RetryAsked { inbox: Some(inbox) },
        InboxMessage::Tell { name, text } => Event::EventReceived { inbox, name, text },
        InboxMessage::Reply { hook, reply, origin } => Event::PersonAnswered { inbox, hook, reply, origin },
    }
}
