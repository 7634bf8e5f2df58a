//! `.agents`, which several CLIs read: skills in the Agent Skills format.

use windlass_core::entity::EntityKind;

use super::entity_draft::{LimitKey, Meaning};
use super::markdown;
use super::read::{Origin, ReadEntities};

pub(super) fn parse(origin: &Origin<'_>, kind: EntityKind, text: &str) -> ReadEntities {
    markdown::read(origin, kind, meaning, text)
}

/// Keeps `license`, `compatibility` and `metadata` as they are.
pub(super) fn meaning(kind: EntityKind, key: &str) -> Meaning {
    match key {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "allowed-tools" => Meaning::Limit(LimitKey::Tools),
        "agent" if kind != EntityKind::Agent => Meaning::Limit(LimitKey::Agent),
        "model" => Meaning::Model,
        "argument-hint" => Meaning::Hint,
        _ => Meaning::Other,
    }
}
