//! The words that settings and workflows accept as values.

use windlass_core::entity::Provider;
use windlass_core::hook::permission::Isolation;
use windlass_core::looping::LoopMode;
use windlass_core::spec::{OnPermission, OnQuestion};

use super::value::DurabilitySetting;
use crate::words::WordTable;

pub(crate) const ISOLATIONS: WordTable<Isolation> = WordTable(&Isolation::WORDS);

pub(crate) const MODES: WordTable<LoopMode> = WordTable(&LoopMode::WORDS);

pub(super) const ON_PERMISSION: WordTable<OnPermission> = WordTable(&OnPermission::WORDS);

pub(super) const ON_QUESTION: WordTable<OnQuestion> = WordTable(&OnQuestion::WORDS);

pub(super) const DURABILITIES: WordTable<DurabilitySetting> =
    WordTable(&[("full", DurabilitySetting::Full), ("normal", DurabilitySetting::Normal)]);

pub(super) const PROVIDERS: WordTable<Provider> = WordTable(&Provider::WORDS);

/// The names of the drivers.
pub(super) const DRIVERS: WordTable<&str> = WordTable(&[
    ("claude", "claude"),
    ("codex", "codex"),
    ("opencode", "opencode"),
    ("copilot", "copilot"),
    ("gemini", "gemini"),
    ("acp", "acp"),
    ("sim", "sim"),
]);
