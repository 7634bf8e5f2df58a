//! Windlass's own format: Markdown with frontmatter, in the keys that most others know.

use windlass_core::entity::Kind;

use super::draft::{Limit, Meaning};
use super::markdown;
use super::read::{Origin, Read};

pub(super) fn parse(origin: &Origin<'_>, kind: Kind, text: &str) -> Read {
    markdown::read(origin, kind, meaning, text)
}

/// What a key means, whatever the kind.
pub(super) fn meaning(kind: Kind, key: &str) -> Meaning {
    match key {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "aliases" | "alias" => Meaning::Aliases,
        "tools" => Meaning::Limit(Limit::ToolsOrSwitches),
        "allowed-tools" => Meaning::Limit(Limit::Tools),
        "disallowed-tools" => Meaning::Limit(Limit::Denied),
        "permission" | "permissions" => Meaning::Limit(Limit::Permissions),
        "agent" if kind != Kind::Agent => Meaning::Limit(Limit::Agent),
        "model" => Meaning::Model,
        "argument-hint" => Meaning::Hint,
        _ => Meaning::Other,
    }
}
