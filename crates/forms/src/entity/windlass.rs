//! Windlass's own format: Markdown with frontmatter, with the keys that most other tools use.

use windlass_core::entity::EntityKind;

use super::entity_draft::{LimitKey, Meaning};
use super::markdown;
use super::read::{Origin, ReadEntities};

pub(super) fn parse(origin: &Origin<'_>, kind: EntityKind, text: &str) -> ReadEntities {
    markdown::read(origin, kind, meaning, text)
}

pub(super) fn meaning(kind: EntityKind, key: &str) -> Meaning {
    match key {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "aliases" | "alias" => Meaning::Aliases,
        "tools" => Meaning::Limit(LimitKey::ToolsOrSwitches),
        "allowed-tools" => Meaning::Limit(LimitKey::Tools),
        "disallowed-tools" => Meaning::Limit(LimitKey::Denied),
        "permission" | "permissions" => Meaning::Limit(LimitKey::Permissions),
        "agent" if kind != EntityKind::Agent => Meaning::Limit(LimitKey::Agent),
        "model" => Meaning::Model,
        "argument-hint" => Meaning::Hint,
        _ => Meaning::Other,
    }
}
