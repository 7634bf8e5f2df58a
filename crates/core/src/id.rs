//! Names of things: newtypes, so that a run is never mistaken for a session.
//!
//! Making a random id is left to the runtime; what can be derived is derived here, so that a
//! replay chooses the same ids.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// One durable execution of a workflow.
    RunId
}
text_id! {
    /// One step of a graph.
    NodeId
}
text_id! {
    /// One conversation with an agent CLI (a UUID, as the CLIs want it).
    SessionId
}
text_id! {
    /// One hook call, named by the forwarder that made it; a resend carries the same id.
    HookId
}
text_id! {
    /// One request from another process, in a run's inbox.
    InboxId
}

/// What an effect is about. Together with node, iteration and attempt it names the effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Make tracker and state file.
    Prepare,
    /// One turn of an agent CLI.
    Session,
    /// Kill what runs.
    Kill,
    /// Look at tracker and repository after a turn.
    Inspect,
    /// Run the checks.
    Checks,
    /// Answer a hook.
    Answer,
    /// Wait for a time.
    Wait,
    /// Show the counters to people in the tracker's frontmatter.
    Mark,
    /// Put everything away at the end.
    CleanUp,
}

impl Verb {
    /// The word used in file names.
    pub fn word(self) -> &'static str {
        match self {
            Verb::Prepare => "prepare",
            Verb::Session => "session",
            Verb::Kill => "kill",
            Verb::Inspect => "inspect",
            Verb::Checks => "checks",
            Verb::Answer => "answer",
            Verb::Wait => "wait",
            Verb::Mark => "mark",
            Verb::CleanUp => "cleanup",
        }
    }
}

/// The name of an effect within its run: performing it twice is harmless or detected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EffectId {
    /// The node that wants it.
    pub node: NodeId,
    /// The turn it belongs to, counted from 1.
    pub iteration: u32,
    /// The try within that turn, counted from 1.
    pub attempt: u32,
    /// What it does.
    pub verb: Verb,
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.node, self.iteration, self.attempt, self.verb.word())
    }
}

/// The session a node starts in this turn and try. Derived, so that it is known before the
/// spawn is logged and is the same in a replay.
pub fn derive_session(seed: &str, node: &NodeId, iteration: u32, attempt: u32) -> SessionId {
    let name = format!("{seed}/{node}/{iteration}/{attempt}");
    SessionId(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_the_same_each_time_and_differs_by_attempt() {
        let node = NodeId::new("loop");
        let first = derive_session("seed", &node, 1, 1);
        assert_eq!(first, derive_session("seed", &node, 1, 1));
        assert_ne!(first, derive_session("seed", &node, 1, 2));
        assert_ne!(first, derive_session("other", &node, 1, 1));
        assert_eq!(first.as_str().len(), 36);
    }

    #[test]
    fn an_effect_id_reads_as_a_file_name() {
        let id = EffectId { node: NodeId::new("loop"), iteration: 2, attempt: 1, verb: Verb::Session };
        assert_eq!(id.to_string(), "loop.2.1.session");
    }
}
