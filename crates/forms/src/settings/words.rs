//! The words of settings and workflows, and what they mean.

use windlass_core::entity::Provider;
use windlass_core::hook::permission::Isolation;
use windlass_core::looping::Mode;
use windlass_core::spec::{OnPermission, OnQuestion};

use super::value::Durability;
use crate::words::Words;

pub(crate) const ISOLATIONS: Words<Isolation> = Words(&[
    ("strict", Isolation::Strict),
    ("minimal", Isolation::Minimal),
    ("permissive", Isolation::Permissive),
]);

pub(crate) const MODES: Words<Mode> = Words(&[
    ("fresh", Mode::Fresh),
    ("in_session", Mode::InSession),
    ("resume", Mode::Resume),
    ("plugin", Mode::Plugin),
]);

pub(super) const ON_PERMISSION: Words<OnPermission> = Words(&[
    ("deny", OnPermission::Deny),
    ("allow", OnPermission::Allow),
    ("fail", OnPermission::Fail),
    ("ask", OnPermission::Ask),
]);

pub(super) const ON_QUESTION: Words<OnQuestion> =
    Words(&[("fail", OnQuestion::Fail), ("empty", OnQuestion::Empty), ("wait", OnQuestion::Wait)]);

pub(super) const DURABILITIES: Words<Durability> =
    Words(&[("full", Durability::Full), ("normal", Durability::Normal)]);

pub(super) const PROVIDERS: Words<Provider> = Words(&[
    ("windlass", Provider::Windlass),
    ("claude", Provider::Claude),
    ("opencode", Provider::Opencode),
    ("copilot", Provider::Copilot),
    ("codex", Provider::Codex),
    ("gemini", Provider::Gemini),
    ("shared", Provider::Shared),
    ("atomic", Provider::Atomic),
]);

/// The drivers there are, each meaning itself.
pub(super) const DRIVERS: Words<&str> = Words(&[
    ("claude", "claude"),
    ("codex", "codex"),
    ("opencode", "opencode"),
    ("copilot", "copilot"),
    ("gemini", "gemini"),
    ("acp", "acp"),
    ("sim", "sim"),
]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_vocabulary() {
        for (word, isolation) in ISOLATIONS.0 {
            assert_eq!(*word, isolation.word());
        }
        assert_eq!(PROVIDERS.0, Provider::ALL.map(|provider| (provider.word(), provider)));
        for (word, mode) in MODES.0 {
            assert_eq!(*word, mode.word());
        }
        for (word, policy) in ON_PERMISSION.0 {
            assert_eq!(serde_json::to_value(policy).unwrap(), *word);
        }
        for (word, policy) in ON_QUESTION.0 {
            assert_eq!(serde_json::to_value(policy).unwrap(), *word);
        }
    }
}
