//! Codex: agents are TOML, prompts and skills are Markdown.

use windlass_core::entity::EntityKind;

use super::entity_draft::{LimitKey, Meaning};
use super::read::{Origin, ReadEntities};
use super::{markdown, shared, toml_file};
use crate::words::typos;

pub(super) fn parse(origin: &Origin<'_>, kind: EntityKind, text: &str) -> ReadEntities {
    match kind {
        EntityKind::Agent => toml_file::read(origin, kind, agent, text),
        EntityKind::Command | EntityKind::Skill => markdown::read(origin, kind, shared::meaning, text),
    }
}

/// The keys that set a limit.
const KEYS: [&str; 14] = [
    "sandbox_mode",
    "sandbox_workspace_write",
    "approval_policy",
    "default_permissions",
    "web_search",
    "tools",
    "features",
    "permissions",
    "profile",
    "profiles",
    "mcp_servers",
    "apps",
    "agents",
    "rules",
];

/// Keeps `model_reasoning_effort` and other keys as they are.
fn agent(_kind: EntityKind, key: &str) -> Meaning {
    // Codex writes its keys with `_`, but a limit written with `-` must apply too.
    let known = KEYS.into_iter().find(|known| typos(key, known) == 0);
    match known.unwrap_or(key) {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "developer_instructions" => Meaning::Prompt,
        "model" => Meaning::Model,
        "sandbox_mode" => Meaning::Limit(LimitKey::Sandbox),
        "sandbox_workspace_write" => Meaning::Limit(LimitKey::Writable),
        "approval_policy" => Meaning::Limit(LimitKey::Approval),
        "default_permissions" => Meaning::Limit(LimitKey::Profile),
        "web_search" => Meaning::Limit(LimitKey::WebSearch),
        "tools" => Meaning::Limit(LimitKey::CodexTools),
        "features" => Meaning::Limit(LimitKey::Features),
        "mcp_servers" => Meaning::Limit(LimitKey::Servers),
        // These refer to other settings, which Windlass does not read.
        "permissions" | "profile" | "profiles" | "apps" | "agents" | "rules" => {
            Meaning::Limit(LimitKey::Unread)
        }
        "nickname_candidates" => Meaning::Aliases,
        _ => Meaning::Other,
    }
}
