//! Atomic: Markdown with frontmatter. Its older files write keys in camel case.

use windlass_core::entity::EntityKind;

use super::entity_draft::{LimitKey, Meaning};
use super::read::{Origin, ReadEntities};
use super::{markdown, windlass};

pub(super) fn parse(origin: &Origin<'_>, kind: EntityKind, text: &str) -> ReadEntities {
    markdown::read(origin, kind, meaning, text)
}

fn meaning(kind: EntityKind, key: &str) -> Meaning {
    match key {
        "argumentHint" | "argument_hint" => Meaning::Hint,
        "allowedTools" | "allowed_tools" => Meaning::Limit(LimitKey::Tools),
        key => windlass::meaning(kind, key),
    }
}
