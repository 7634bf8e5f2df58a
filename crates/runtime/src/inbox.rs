//! What other processes may ask of a run, as it stands in its inbox.

use serde::{Deserialize, Serialize};
use windlass_core::event::{Event, PersonReply};
use windlass_core::id::{HookId, InboxId};

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub(crate) enum InboxMessage {
    /// End the run.
    Cancel,
    /// End the run, for the one that started it ends it.
    EndWithOuter {
        /// Why.
        why: String,
    },
    /// Begin nothing new.
    Pause,
    /// Go on after a pause.
    GoOn,
    /// Something happened.
    Tell {
        /// What it is called.
        name: String,
        /// What is said of it.
        text: String,
    },
    /// Answer what waits for a person.
    Reply {
        /// Which call; the oldest when none is named.
        hook: Option<HookId>,
        /// What they say.
        reply: PersonReply,
    },
}

/// An owner's word for a request that it had not heard before.
pub(crate) const FRESH: &str = "fresh";

/// A request as it comes over the socket of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SocketRequest {
    /// Named by whoever sent it.
    pub(crate) id: InboxId,
    /// What they ask.
    pub(crate) message: InboxMessage,
}

impl InboxMessage {
    /// What it asks for, in words.
    pub(crate) fn verb(&self) -> &'static str {
        match self {
            InboxMessage::Cancel => "cancel the run",
            InboxMessage::EndWithOuter { .. } => "end the run",
            InboxMessage::Pause => "pause the run",
            InboxMessage::GoOn => "let the run go on",
            InboxMessage::Tell { .. } => "tell the run what happened",
            InboxMessage::Reply { .. } => "answer",
        }
    }
}

/// The fact a request becomes.
pub(crate) fn event_of(inbox: InboxId, message: InboxMessage) -> Event {
    match message {
        InboxMessage::Cancel => Event::CancelAsked { inbox: Some(inbox) },
        InboxMessage::EndWithOuter { why } => Event::OuterEnded { inbox: Some(inbox), why },
        InboxMessage::Pause => Event::PauseAsked { inbox: Some(inbox) },
        InboxMessage::GoOn => Event::GoOnAsked { inbox: Some(inbox) },
        InboxMessage::Tell { name, text } => Event::Told { inbox, name, text },
        InboxMessage::Reply { hook, reply } => Event::PersonAnswered { inbox, hook, reply },
    }
}
