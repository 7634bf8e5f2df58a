//! `.agents`, which several CLIs read: skills as the Agent Skills format has them.

use windlass_core::entity::Kind;

use super::draft::{Limit, Meaning};
use super::markdown;
use super::read::{Origin, Read};

pub(super) fn parse(origin: &Origin<'_>, kind: Kind, text: &str) -> Read {
    markdown::read(origin, kind, meaning, text)
}

/// `license`, `compatibility` and `metadata` are kept as they are.
pub(super) fn meaning(kind: Kind, key: &str) -> Meaning {
    match key {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "allowed-tools" => Meaning::Limit(Limit::Tools),
        "agent" if kind != Kind::Agent => Meaning::Limit(Limit::Agent),
        "model" => Meaning::Model,
        "argument-hint" => Meaning::Hint,
        _ => Meaning::Other,
    }
}
