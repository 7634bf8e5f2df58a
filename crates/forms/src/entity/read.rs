//! One file of a provider, and who reads it.

use windlass_core::entity::{Entity, EntityKind, Level, PluginSource, Provider, ToolRule};

use super::{atomic, claude, codex, copilot, gemini, opencode, shared, windlass};
use crate::diagnostic::{Diagnostic, Severity};

/// What is known of a text before it is read.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// Whose format it is.
    pub provider: Provider,
    /// What it holds; `None` for a document that says so itself.
    pub kind: Option<EntityKind>,
    /// How near it is.
    pub level: Level,
    /// How many folders above the work it was found.
    pub distance: u16,
    /// Its file, as messages name it.
    pub path: &'a str,
    /// The name that the file or folder gives it, nested folders joined as their place says.
    pub name: &'a str,
    /// The plugin that brings it.
    pub plugin: Option<&'a PluginSource>,
}

/// What a text says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadEntities {
    /// What can be used.
    pub entities: Vec<Entity>,
    /// What is wrong; an error means that the entity it is in is not among those above.
    pub diagnostics: Vec<Diagnostic>,
    /// Limits of agents that are defined elsewhere.
    pub grounds: Vec<DefaultLimits>,
    /// The agent that does what names none.
    pub default_agent: Option<String>,
}

/// Limits that a document sets for agents of its provider, before those of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct DefaultLimits {
    /// Which agent; `None` for all of them.
    pub agent: Option<String>,
    /// What is said of single tools; `None` where it is not understood, and the agents cannot be used.
    pub rules: Option<Vec<ToolRule>>,
}

/// Reads a text. Never panics, whatever it is given.
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
