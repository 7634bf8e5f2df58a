//! Windlass's own format: Markdown with frontmatter, in the keys that most others know.

use windlass_core::entity::Kind;

use super::draft::Meaning;
use super::markdown;
use super::read::{Origin, Read};

pub(super) fn parse(origin: &Origin<'_>, kind: Kind, text: &str) -> Read {
    markdown::read(origin, kind, meaning, text)
}

/// What a key means, whatever the kind.
pub(super) fn meaning(_kind: Kind, key: &str) -> Meaning {
    match key {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "aliases" | "alias" => Meaning::Aliases,
        "tools" | "allowed-tools" => Meaning::Tools,
        "disallowed-tools" => Meaning::Denied,
        "permission" | "permissions" => Meaning::Permissions,
        "model" => Meaning::Model,
        "argument-hint" => Meaning::Hint,
        _ => Meaning::Other,
    }
}
