//! Decides whether the CLI may load what the project's folder contains: settings, hooks, MCP servers, skills,
//! commands and `GEMINI.md`.
//!
//! The CLI knows only one switch for all of it. The project's settings come after the user's, so they could
//! switch off the hooks through which Windlass decides about each tool.

use std::path::Path;

use serde_json::Value;
use windlass_core::hook::permission::Isolation;

use super::jsonc;
use crate::files;

/// The project's settings.
const SETTINGS: &str = ".gemini/settings.json";
const LARGEST: u64 = 1 << 20;

/// The settings that a project may have. All others could switch off hooks or redefine them.
const HARMLESS: &[&str] = &[
    "$schema",
    "agents",
    "context",
    "general",
    "hooks",
    "mcp",
    "mcpServers",
    "model",
    "modelConfigs",
    "output",
    "privacy",
    "skills",
    "telemetry",
    "tools",
    "ui",
];

/// Returns whether the CLI may load the project's own settings. `strict` loads none, and settings that could
/// switch off hooks are as good as none.
pub(super) fn trusts_project(isolation: Isolation, workspace: &Path) -> bool {
    isolation != Isolation::Strict && is_harmless(&workspace.join(SETTINGS))
}

fn is_harmless(settings: &Path) -> bool {
    if settings.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return true;
    }
    let Ok(bytes) = files::read_bounded(settings, LARGEST) else { return false };
    let settings = jsonc::object(&String::from_utf8_lossy(&bytes));
    settings.is_some_and(|settings| settings.iter().all(|(key, value)| is_allowed(key, value)))
}

fn is_allowed(key: &str, value: &Value) -> bool {
    // With very many attempts, a turn would never end.
    HARMLESS.contains(&key) && (key != "general" || value.get("maxAttempts").is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusted(isolation: Isolation, settings: Option<&str>) -> bool {
        let dir = tempfile::tempdir().unwrap();
        if let Some(settings) = settings {
            std::fs::create_dir(dir.path().join(".gemini")).unwrap();
            std::fs::write(dir.path().join(SETTINGS), settings).unwrap();
        }
        trusts_project(isolation, dir.path())
    }

    #[test]
    fn a_project_is_trusted_unless_it_could_switch_off_the_hooks() {
        let servers =
            r#"{"mcpServers": {"docs": {"command": "docs"}} /* ours */, "general": {"vimMode": true}}"#;
        for (settings, expected) in [
            (None, true),
            (Some(servers), true),
            (Some(r#"{"hooksConfig": {"enabled": false}}"#), false),
            (Some(r#"{"hooks\u0043onfig": {"enabled": false}}"#), false),
            (Some(r#"{"security": {"environmentVariableRedaction": {"enabled": true}}}"#), false),
            (Some(r#"{"admin": {"extensions": {"enabled": false}}}"#), false),
            (Some(r#"{"general": {"maxAttempts": 100000}}"#), false),
            (Some("{"), false),
        ] {
            assert_eq!(trusted(Isolation::Minimal, settings), expected, "{settings:?}");
            assert_eq!(trusted(Isolation::Permissive, settings), expected, "{settings:?}");
        }
        assert!(!trusted(Isolation::Strict, None));
    }
}
