//! Atomic: Markdown with frontmatter; its older files write keys in camel case.

use windlass_core::entity::Kind;

use super::draft::{Limit, Meaning};
use super::read::{Origin, Read};
use super::{markdown, windlass};

pub(super) fn parse(origin: &Origin<'_>, kind: Kind, text: &str) -> Read {
    markdown::read(origin, kind, meaning, text)
}

fn meaning(kind: Kind, key: &str) -> Meaning {
    match key {
        "argumentHint" | "argument_hint" => Meaning::Hint,
        "allowedTools" | "allowed_tools" => Meaning::Limit(Limit::Tools),
        key => windlass::meaning(kind, key),
    }
}
