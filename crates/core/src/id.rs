//! Ids as newtypes, so that code cannot mistake a run for a session.
//!
//! The runtime makes random ids. All other ids are derived here, so that a replay chooses the same
//! ones.

use std::fmt;
use std::str::FromStr;

use crate::words;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

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
    /// One node of a workflow, or one instance of it in an iteration (`fix@2`) and attempt
    /// (`fix@2~3`).
    NodeId
}
text_id! {
    /// One conversation with an agent CLI: a UUID, because the CLIs require one.
    SessionId
}
text_id! {
    /// One hook call, named by the forwarder that sends it. A repeated call has the same id.
    HookId
}
text_id! {
    /// One request from another process, in a run's inbox.
    InboxId
}

words! {
    /// The action of an effect. Together with node, iteration and attempt it names the effect.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Verb {
        /// Make the tracker and the state file.
        Prepare = "prepare",
        /// One turn of an agent CLI.
        Session = "session",
        /// Kill the child processes.
        Kill = "kill",
        /// Inspect the tracker and the repository after a turn.
        Inspect = "inspect",
        /// Run the checks.
        Checks = "checks",
        /// Run a command line.
        Shell = "shell",
        /// Start a child run.
        Run = "run",
        /// Choose a task.
        Claim = "claim",
        /// Write down the result of a task.
        Settle = "settle",
        /// Make a worktree.
        Worktree = "worktree",
        /// Land the commits of a worktree.
        Land = "land",
        /// Wait for the timeout of a node.
        Timeout = "timeout",
        /// Wait before the next attempt of a node.
        Retry = "retry",
        /// Wait for the end of a pause.
        Defer = "hold",
        /// Answer a hook.
        Answer = "answer",
        /// Wait until a time.
        Wait = "wait",
        /// Show the counters in the tracker's frontmatter.
        Mark = "mark",
        /// Clean up at the end.
        #[serde(alias = "clean_up")]
        CleanUp = "cleanup",
    }
}

/// The name of an effect within its run. Performing the same effect twice is harmless or detected.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EffectId {
    pub node: NodeId,
    /// The turn, counted from 1.
    pub iteration: u32,
    /// The attempt within that turn, counted from 1.
    pub attempt: u32,
    pub verb: Verb,
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.node, self.iteration, self.attempt, self.verb.word())
    }
}

/// An error: the text is not the name of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of an effect, which is NODE.ITERATION.ATTEMPT.VERB")]
pub struct NotAnEffect;

/// Accepts only the text that `Display` writes. A node id contains no dot.
impl FromStr for EffectId {
    type Err = NotAnEffect;

    fn from_str(text: &str) -> Result<EffectId, NotAnEffect> {
        let mut parts = text.split('.');
        let mut next = || parts.next().filter(|part| !part.is_empty()).ok_or(NotAnEffect);
        let (node, iteration, attempt, word) = (next()?, next()?, next()?, next()?);
        if parts.next().is_some() {
            return Err(NotAnEffect);
        }
        Ok(EffectId {
            node: NodeId::new(node),
            iteration: count(iteration)?,
            attempt: count(attempt)?,
            verb: Verb::ALL.into_iter().find(|verb| verb.word() == word).ok_or(NotAnEffect)?,
        })
    }
}

/// Reads a number without a sign or leading zeros, as `Display` writes it.
fn count(text: &str) -> Result<u32, NotAnEffect> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain).ok_or(NotAnEffect)
}

impl EffectId {
    /// Returns the effect of this run that a child's cookie names. A cookie is `RUN.EFFECT`.
    pub fn of_cookie(run: &RunId, cookie: &str) -> Option<EffectId> {
        cookie.strip_prefix(run.as_str())?.strip_prefix('.')?.parse().ok()
    }
}

/// Returns the session that a node starts in this turn and attempt. Derived, so that it is known
/// before Windlass logs the start and is the same in a replay.
pub fn derive_session(seed: &str, node: &NodeId, iteration: u32, attempt: u32) -> SessionId {
    let name = format!("{seed}/{node}/{iteration}/{attempt}");
    SessionId(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string())
}

/// The letters and digits of a run id. Letters that look like digits are left out.
pub const RUN_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Returns the child run that a node starts. Derived, so that Windlass never starts it twice.
pub fn derive_run(seed: &str, node: &NodeId) -> RunId {
    let bytes = Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{seed}/{node}/run").as_bytes());
    let letter = |byte: &u8| char::from(RUN_ALPHABET.get(usize::from(byte & 31)).copied().unwrap_or(b'0'));
    RunId(bytes.as_bytes().iter().take(8).map(letter).collect())
}

impl NodeId {
    /// Returns the node's id in the workflow, without iteration and attempt.
    #[must_use]
    pub fn in_workflow(&self) -> NodeId {
        NodeId(self.0.split(['@', '~']).next().unwrap_or_default().to_owned())
    }
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
    fn an_older_log_has_another_word_for_cleaning_up() {
        assert_eq!(serde_json::to_value(Verb::CleanUp).unwrap(), "cleanup");
        assert_eq!(serde_json::from_str::<Verb>("\"clean_up\"").unwrap(), Verb::CleanUp);
    }

    #[test]
    fn an_effect_id_reads_as_a_file_name() {
        let id = EffectId { node: NodeId::new("loop"), iteration: 2, attempt: 1, verb: Verb::Session };
        assert_eq!(id.to_string(), "loop.2.1.session");
    }

    #[test]
    fn an_effect_id_is_read_as_it_is_written() {
        for node in ["loop", "fix@2", "fix@2~3", "a-b_c", "7", "ä"] {
            for (verb, iteration) in Verb::ALL.into_iter().zip([0, 1, 10, u32::MAX].into_iter().cycle()) {
                let id = EffectId { node: NodeId::new(node), iteration, attempt: iteration / 2, verb };
                assert_eq!(id.to_string().parse(), Ok(id));
            }
        }
        let words: std::collections::BTreeSet<&str> = Verb::ALL.iter().map(|verb| verb.word()).collect();
        assert_eq!(words.len(), Verb::ALL.len());
    }

    #[test]
    fn what_no_effect_is_called_is_refused() {
        let wrong = [
            "",
            "loop",
            "loop.1.1",
            "loop.1.1.",
            "loop.1.1.session.",
            ".1.1.session",
            "a.b.1.1.session",
            "loop.01.1.session",
            "loop.+1.1.session",
            "loop.-1.1.session",
            "loop.1.4294967296.session",
            "loop.1..session",
            "loop.1.1.Session",
            "loop.1.1.clean_up",
            "loop.1.1.session ",
            "loop.٣.1.session",
        ];
        for text in wrong {
            assert_eq!(text.parse::<EffectId>(), Err(NotAnEffect), "{text}");
        }
    }

    #[test]
    fn a_cookie_belongs_to_one_run() {
        let run = RunId::new("k3f9");
        let id = EffectId { node: NodeId::new("fix@2"), iteration: 1, attempt: 1, verb: Verb::Session };
        assert_eq!(EffectId::of_cookie(&run, &format!("{run}.{id}")), Some(id));
        for other in [
            "",
            "k3f9",
            "k3f9.",
            "k3f.fix@2.1.1.session",
            "k3f9x.fix@2.1.1.session",
            "k3f9.k3f9.fix@2.1.1.session",
        ] {
            assert_eq!(EffectId::of_cookie(&run, other), None, "{other}");
        }
    }
}
