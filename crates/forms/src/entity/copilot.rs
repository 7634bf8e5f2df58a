//! GitHub Copilot: editor prompts (`.prompt.md`), agents and skills. Tools are a list or a string.
//! A model may be a list, of which the first is used.

use windlass_core::entity::EntityKind;

use super::entity_draft::{LimitKey, Meaning};
use super::read::{Origin, ReadEntities};
use super::{markdown, shared};

pub(super) fn parse(origin: &Origin<'_>, kind: EntityKind, text: &str) -> ReadEntities {
    markdown::read(origin, kind, meaning, text)
}

/// Keeps `target`, `handoffs` and `mcp-servers` as they are.
fn meaning(kind: EntityKind, key: &str) -> Meaning {
    match (kind, key) {
        (EntityKind::Skill, key) => shared::meaning(kind, key),
        (EntityKind::Command | EntityKind::Agent, "tools") => Meaning::Limit(LimitKey::ToolsOrSwitches),
        (EntityKind::Command, "agent") => Meaning::Limit(LimitKey::Agent),
        (EntityKind::Command, "mode") => Meaning::Limit(LimitKey::Chat),
        (EntityKind::Command | EntityKind::Agent, "model") => Meaning::Model,
        (EntityKind::Command | EntityKind::Agent, "name") => Meaning::Name,
        (EntityKind::Command | EntityKind::Agent, "description") => Meaning::Description,
        (EntityKind::Command | EntityKind::Agent, "argument-hint") => Meaning::Hint,
        (EntityKind::Command | EntityKind::Agent, _) => Meaning::Other,
    }
}
