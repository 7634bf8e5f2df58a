//! OpenCode: Markdown files, and commands and agents in `opencode.json` or `.jsonc` itself.
//!
//! Tools are a map of switches, or the newer `permission`.

use windlass_core::entity::Kind;

use super::draft::{Limit, Meaning};
use super::read::{Origin, Read};
use super::{document, markdown, shared};

pub(super) fn parse(origin: &Origin<'_>, kind: Kind, text: &str) -> Read {
    markdown::read(origin, kind, in_file, text)
}

/// Reads `opencode.json`, which holds commands and agents among other settings.
pub(super) fn parse_document(origin: &Origin<'_>, text: &str) -> Read {
    // `mode` is how agents were called before.
    let sections = [("command", Kind::Command), ("agent", Kind::Agent), ("mode", Kind::Agent)];
    document::read(origin, &sections, in_document, text)
}

/// `mode`, `temperature` and the rest are kept as they are.
fn in_file(kind: Kind, key: &str) -> Meaning {
    match (kind, key) {
        (Kind::Skill, key) => shared::meaning(kind, key),
        (Kind::Command | Kind::Agent, "name") => Meaning::Name,
        (Kind::Command | Kind::Agent, "description") => Meaning::Description,
        (Kind::Command | Kind::Agent, "model") => Meaning::Model,
        (Kind::Command | Kind::Agent, "tools") => Meaning::Limit(Limit::ToolsOrSwitches),
        (Kind::Command | Kind::Agent, "permission" | "permissions") => Meaning::Limit(Limit::Permissions),
        (Kind::Command, "agent") => Meaning::Limit(Limit::Agent),
        (Kind::Command, "subtask") => Meaning::Limit(Limit::Subtask),
        (Kind::Agent, "disable") => Meaning::Disabled,
        (Kind::Command | Kind::Agent, _) => Meaning::Other,
    }
}

/// In the document the key is the name, and the text a value like others.
fn in_document(kind: Kind, key: &str) -> Meaning {
    match (kind, key) {
        (Kind::Command, "template") | (Kind::Agent, "prompt") => Meaning::Prompt,
        (_, "name") => Meaning::Other,
        (kind, key) => in_file(kind, key),
    }
}
