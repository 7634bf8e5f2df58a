//! Codex: agents are TOML, prompts and skills Markdown.

use windlass_core::entity::Kind;

use super::draft::{Limit, Meaning};
use super::read::{Origin, Read};
use super::{markdown, shared, toml_file};
use crate::words::slips;

pub(super) fn parse(origin: &Origin<'_>, kind: Kind, text: &str) -> Read {
    match kind {
        Kind::Agent => toml_file::read(origin, kind, agent, text),
        Kind::Command | Kind::Skill => markdown::read(origin, kind, shared::meaning, text),
    }
}

/// The keys that limit something.
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

/// `model_reasoning_effort` and the rest are kept as they are.
fn agent(_kind: Kind, key: &str) -> Meaning {
    // Codex writes its keys with `_`; a limit with `-` was meant to hold, too.
    let known = KEYS.into_iter().find(|known| slips(key, known) == 0);
    match known.unwrap_or(key) {
        "name" => Meaning::Name,
        "description" => Meaning::Description,
        "developer_instructions" => Meaning::Prompt,
        "model" => Meaning::Model,
        "sandbox_mode" => Meaning::Limit(Limit::Sandbox),
        "sandbox_workspace_write" => Meaning::Limit(Limit::Writable),
        "approval_policy" => Meaning::Limit(Limit::Approval),
        "default_permissions" => Meaning::Limit(Limit::Profile),
        "web_search" => Meaning::Limit(Limit::WebSearch),
        "tools" => Meaning::Limit(Limit::CodexTools),
        "features" => Meaning::Limit(Limit::Features),
        "mcp_servers" => Meaning::Limit(Limit::Servers),
        // What these set is a file of settings again.
        "permissions" | "profile" | "profiles" | "apps" | "agents" | "rules" => Meaning::Limit(Limit::Unread),
        "nickname_candidates" => Meaning::Aliases,
        _ => Meaning::Other,
    }
}
