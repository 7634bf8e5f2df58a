//! OpenCode: Markdown files, and commands and agents in `opencode.json` or `.jsonc` itself.
//!
//! Tools are a map of switches, or the newer `permission`.

use windlass_core::entity::EntityKind;

use super::entity_draft::{LimitKey, Meaning};
use super::read::{Origin, ReadEntities};
use super::{document, markdown, shared};

pub(super) fn parse(origin: &Origin<'_>, kind: EntityKind, text: &str) -> ReadEntities {
    markdown::read(origin, kind, in_file, text)
}

/// Reads `opencode.json`, which has commands and agents among other settings.
pub(super) fn parse_document(origin: &Origin<'_>, text: &str) -> ReadEntities {
    // `mode` is the former name of agents.
    let sections =
        [("command", EntityKind::Command), ("agent", EntityKind::Agent), ("mode", EntityKind::Agent)];
    document::read(origin, &sections, in_document, text)
}

/// Keeps `mode`, `temperature` and other keys as they are.
fn in_file(kind: EntityKind, key: &str) -> Meaning {
    match (kind, key) {
        (EntityKind::Skill, key) => shared::meaning(kind, key),
        (EntityKind::Command | EntityKind::Agent, "name") => Meaning::Name,
        (EntityKind::Command | EntityKind::Agent, "description") => Meaning::Description,
        (EntityKind::Command | EntityKind::Agent, "model") => Meaning::Model,
        (EntityKind::Command | EntityKind::Agent, "tools") => Meaning::Limit(LimitKey::ToolsOrSwitches),
        (EntityKind::Command | EntityKind::Agent, "permission" | "permissions") => {
            Meaning::Limit(LimitKey::Permissions)
        }
        (EntityKind::Command, "agent") => Meaning::Limit(LimitKey::Agent),
        (EntityKind::Command, "subtask") => Meaning::Limit(LimitKey::Subtask),
        (EntityKind::Agent, "disable") => Meaning::Disabled,
        (EntityKind::Command | EntityKind::Agent, _) => Meaning::Other,
    }
}

/// In the document, an entity's key is its name and its text is an ordinary value.
fn in_document(kind: EntityKind, key: &str) -> Meaning {
    match (kind, key) {
        (EntityKind::Command, "template") | (EntityKind::Agent, "prompt") => Meaning::Prompt,
        (_, "name") => Meaning::Other,
        (kind, key) => in_file(kind, key),
    }
}
