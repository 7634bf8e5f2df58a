//! Claude Code: commands and skills name their tools in `allowed-tools`, agents in `tools`, what
//! they may not use in `disallowedTools`.

use windlass_core::entity::Kind;

use super::draft::{Limit, Meaning};
use super::markdown;
use super::read::{Origin, Read};

pub(super) fn parse(origin: &Origin<'_>, kind: Kind, text: &str) -> Read {
    markdown::read(origin, kind, meaning, text)
}

/// Each key for tools is taken in every kind: people mix them up, and a limit is not to be lost.
fn meaning(kind: Kind, key: &str) -> Meaning {
    match key {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "aliases" => Meaning::Aliases,
        "tools" => Meaning::Limit(Limit::ToolsOrSwitches),
        "allowed-tools" => Meaning::Limit(Limit::Tools),
        "disallowedTools" | "disallowed-tools" => Meaning::Limit(Limit::Denied),
        "permissionMode" | "permission-mode" => Meaning::Limit(Limit::Mode),
        "agent" if kind != Kind::Agent => Meaning::Limit(Limit::Agent),
        "model" => Meaning::Model,
        "argument-hint" => Meaning::Hint,
        _ => Meaning::Other,
    }
}
