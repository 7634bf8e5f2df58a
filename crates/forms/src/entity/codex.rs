//! Codex: agents are TOML, prompts and skills Markdown.

use windlass_core::entity::Kind;

use super::draft::Meaning;
use super::read::{Origin, Read};
use super::{markdown, shared, toml_file};

pub(super) fn parse(origin: &Origin<'_>, kind: Kind, text: &str) -> Read {
    match kind {
        Kind::Agent => toml_file::read(origin, kind, agent, text),
        Kind::Command | Kind::Skill => markdown::read(origin, kind, shared::meaning, text),
    }
}

/// `model_reasoning_effort`, `mcp_servers` and the rest are kept as they are.
fn agent(_kind: Kind, key: &str) -> Meaning {
    match key {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "developer_instructions" => Meaning::Prompt,
        "model" => Meaning::Model,
        "sandbox_mode" => Meaning::Sandbox,
        "nickname_candidates" => Meaning::Aliases,
        _ => Meaning::Other,
    }
}
