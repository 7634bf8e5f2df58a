//! Claude Code: commands and skills list their tools in `allowed-tools`, agents in `tools`. All
//! list forbidden tools in `disallowedTools`.

use windlass_core::entity::EntityKind;

use super::entity_draft::{LimitKey, Meaning};
use super::markdown;
use super::read::{Origin, ReadEntities};

pub(super) fn parse(origin: &Origin<'_>, kind: EntityKind, text: &str) -> ReadEntities {
    markdown::read(origin, kind, meaning, text)
}

/// Accepts each key for tools in every kind: people mix them up, and no limit may be lost.
fn meaning(kind: EntityKind, key: &str) -> Meaning {
    match key {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "aliases" => Meaning::Aliases,
        "tools" => Meaning::Limit(LimitKey::ToolsOrSwitches),
        "allowed-tools" => Meaning::Limit(LimitKey::Tools),
        "disallowedTools" | "disallowed-tools" => Meaning::Limit(LimitKey::Denied),
        "permissionMode" | "permission-mode" => Meaning::Limit(LimitKey::Mode),
        "agent" if kind != EntityKind::Agent => Meaning::Limit(LimitKey::Agent),
        "model" => Meaning::Model,
        "argument-hint" => Meaning::Hint,
        _ => Meaning::Other,
    }
}
