//! GitHub Copilot: prompts of its editor (`.prompt.md`), agents and skills. Tools are a list or a
//! string, a model may be a list of which the first is wanted.

use windlass_core::entity::Kind;

use super::draft::{Limit, Meaning};
use super::read::{Origin, Read};
use super::{markdown, shared};

pub(super) fn parse(origin: &Origin<'_>, kind: Kind, text: &str) -> Read {
    markdown::read(origin, kind, meaning, text)
}

/// `target`, `handoffs` and `mcp-servers` are kept as they are.
fn meaning(kind: Kind, key: &str) -> Meaning {
    match (kind, key) {
        (Kind::Skill, key) => shared::meaning(kind, key),
        (Kind::Command | Kind::Agent, "tools") => Meaning::Limit(Limit::ToolsOrSwitches),
        (Kind::Command, "agent") => Meaning::Limit(Limit::Agent),
        (Kind::Command, "mode") => Meaning::Limit(Limit::Chat),
        (Kind::Command | Kind::Agent, "model") => Meaning::Model,
        (Kind::Command | Kind::Agent, "name") => Meaning::Name,
        (Kind::Command | Kind::Agent, "description") => Meaning::Description,
        (Kind::Command | Kind::Agent, "argument-hint") => Meaning::Hint,
        (Kind::Command | Kind::Agent, _) => Meaning::Other,
    }
}
