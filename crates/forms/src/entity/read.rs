//! Reads one file with the parser of its provider.

use windlass_core::entity::{Entity, EntityKind, Level, PluginSource, Provider, ToolRule};

use super::{atomic, claude, codex, copilot, gemini, opencode, shared, windlass};
use crate::diagnostic::{Diagnostic, Severity};

/// The facts about a text that are known before it is read.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The provider whose format the text has.
    pub provider: Provider,
    /// `None` for a document, which contains several kinds.
    pub kind: Option<EntityKind>,
    pub level: Level,
    /// The number of folders above the working folder at which the file was found.
    pub distance: u16,
    /// The file, as messages name it.
    pub path: &'a str,
    /// The name from the file or folder, joined with those of the folders around it as the provider
    /// does.
    pub name: &'a str,
    /// The plugin that contains it.
    pub plugin: Option<&'a PluginSource>,
}

/// The result of reading a text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadEntities {
    /// The entities that can be used.
    pub entities: Vec<Entity>,
    /// An error means that the entity with the mistake is not in `entities`.
    pub diagnostics: Vec<Diagnostic>,
    /// Limits of agents that are defined elsewhere.
    pub default_limits: Vec<DefaultLimits>,
    /// The agent for commands that name none.
    pub default_agent: Option<String>,
}

/// Limits that a document sets for agents of its provider. The agents' own limits come after them.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultLimits {
    /// `None` means all agents.
    pub agent: Option<String>,
    /// `None` if the limits are unreadable; then the agents cannot be used.
    pub rules: Option<Vec<ToolRule>>,
}

/// Reads a text. Never panics, whatever the text.
pub fn parse(origin: &Origin<'_>, text: &str) -> ReadEntities {
    let Some(kind) = origin.kind else { return parse_document(origin, text) };
    match origin.provider {
        Provider::Windlass => windlass::parse(origin, kind, text),
        Provider::Claude => claude::parse(origin, kind, text),
        Provider::Opencode => opencode::parse(origin, kind, text),
        Provider::Copilot => copilot::parse(origin, kind, text),
        Provider::Codex => codex::parse(origin, kind, text),
        Provider::Gemini => gemini::parse(origin, kind, text),
        Provider::Shared => shared::parse(origin, kind, text),
        Provider::Atomic => atomic::parse(origin, kind, text),
    }
}

fn parse_document(origin: &Origin<'_>, text: &str) -> ReadEntities {
    match origin.provider {
        Provider::Opencode => opencode::parse_document(origin, text),
        Provider::Windlass
        | Provider::Claude
        | Provider::Copilot
        | Provider::Codex
        | Provider::Gemini
        | Provider::Shared
        | Provider::Atomic => {
            let message = format!("{} keeps no entities in a document", origin.provider);
            let diagnostic = Diagnostic::new(Severity::Error, &message).in_file(Some(origin.path));
            ReadEntities { diagnostics: vec![diagnostic], ..ReadEntities::default() }
        }
    }
}
