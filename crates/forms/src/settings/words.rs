//! The words of settings and workflows, and what they mean.

use windlass_core::entity::Provider;
use windlass_core::hook::permission::Isolation;
use windlass_core::looping::Mode;
use windlass_core::spec::{OnPermission, OnQuestion};

use super::value::Durability;
use crate::words::Words;

pub(crate) const ISOLATIONS: Words<Isolation> = Words(&Isolation::WORDS);

pub(crate) const MODES: Words<Mode> = Words(&Mode::WORDS);

pub(super) const ON_PERMISSION: Words<OnPermission> = Words(&OnPermission::WORDS);

pub(super) const ON_QUESTION: Words<OnQuestion> = Words(&OnQuestion::WORDS);

pub(super) const DURABILITIES: Words<Durability> =
    Words(&[("full", Durability::Full), ("normal", Durability::Normal)]);

pub(super) const PROVIDERS: Words<Provider> = Words(&Provider::WORDS);

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
