//! Gemini: commands are TOML, skills and agents Markdown.

use windlass_core::entity::Kind;

use super::draft::{Limit, Meaning};
use super::read::{Origin, Read};
use super::{markdown, shared, toml_file};

pub(super) fn parse(origin: &Origin<'_>, kind: Kind, text: &str) -> Read {
    match kind {
        Kind::Command => toml_file::read(origin, kind, command, text),
        Kind::Skill => markdown::read(origin, kind, shared::meaning, text),
        Kind::Agent => markdown::read(origin, kind, agent, text),
    }
}

fn command(_kind: Kind, key: &str) -> Meaning {
    match key {
        "description" => Meaning::Description,
        "prompt" => Meaning::Prompt,
        _ => Meaning::Other,
    }
}

/// `kind`, `temperature`, `max_turns` and the rest are kept as they are.
fn agent(_kind: Kind, key: &str) -> Meaning {
    match key {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "tools" => Meaning::Limit(Limit::ToolsOrSwitches),
        "policy" => Meaning::Limit(Limit::Unread),
        "model" => Meaning::Model,
        _ => Meaning::Other,
    }
}
