//! Gemini: commands are TOML, skills and agents are Markdown.

use windlass_core::entity::EntityKind;

use super::entity_draft::{LimitKey, Meaning};
use super::read::{Origin, ReadEntities};
use super::{markdown, shared, toml_file};

pub(super) fn parse(origin: &Origin<'_>, kind: EntityKind, text: &str) -> ReadEntities {
    match kind {
        EntityKind::Command => toml_file::read(origin, kind, command, text),
        EntityKind::Skill => markdown::read(origin, kind, shared::meaning, text),
        EntityKind::Agent => markdown::read(origin, kind, agent, text),
    }
}

fn command(_kind: EntityKind, key: &str) -> Meaning {
    match key {
        "description" => Meaning::Description,
        "prompt" => Meaning::Prompt,
        _ => Meaning::Other,
    }
}

/// Keeps `kind`, `temperature`, `max_turns` and other keys as they are.
fn agent(_kind: EntityKind, key: &str) -> Meaning {
    match key {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "tools" => Meaning::Limit(LimitKey::ToolsOrSwitches),
        "policy" => Meaning::Limit(LimitKey::Unread),
        "model" => Meaning::Model,
        _ => Meaning::Other,
    }
}
