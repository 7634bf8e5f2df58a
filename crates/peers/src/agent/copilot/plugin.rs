//! The plugin with which a turn brings its hooks and its role.
//!
//! Hooks of a plugin run after those of the project, so they see what the project's hooks made of a call, and
//! settings of the user cannot disable them. A project can, with settings that disable all hooks: then the CLI
//! itself refuses every tool that needs a permission.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use windlass_core::hook::permission::Isolation;

use super::super::turn::{TurnPaths, TurnRequest};
use super::hook::{STOP, TOOL};

/// The folder of the plugin in the turn's folder.
const FOLDER: &str = "plugin";
/// The role's name in `--agent`: the plugin, and its file.
pub(super) const ROLE: &str = "windlass:role";
/// A person may take longer to answer than any limit. When a hook exceeds its limit, the CLI continues as if
/// there were no hook.
const TOOL_HOOK_SECONDS: u64 = 10 * 365 * 24 * 3600;
/// Time for a stop beyond the checks it waits for.
const STOP_MARGIN_SECONDS: u64 = 300;
/// The hook before the CLI checks a permission itself. Without one, a call that the tool hook allows passes
/// unchecked.
const CHECK: &str = "permissionRequest";

/// Returns the folder of the plugin.
pub(super) fn folder(paths: &TurnPaths<'_>) -> PathBuf {
    paths.dir.join(FOLDER)
}

/// Returns the files of the plugin.
pub(super) fn files(turn: &TurnRequest<'_>, paths: &TurnPaths<'_>) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = folder(paths);
    let manifest = json!({
        "name": "windlass", "description": "Hooks of Windlass", "version": "1.0.0",
        "hooks": "hooks.json", "agents": "agents",
    });
    let mut files = vec![
        (folder.join("plugin.json"), manifest.to_string().into_bytes()),
        (folder.join("hooks.json"), hooks(turn, paths).to_string().into_bytes()),
    ];
    files.extend(turn.system.map(|role| (folder.join("agents/role.agent.md"), role_file(role))));
    files
}

/// Builds the file of the role. The model may not start it as a subagent.
fn role_file(role: &str) -> Vec<u8> {
    let head =
        "---\nname: role\ndescription: The role in this session\ndisable-model-invocation: true\n---\n";
    format!("{head}{role}\n").into_bytes()
}

fn hooks(turn: &TurnRequest<'_>, paths: &TurnPaths<'_>) -> Value {
    let spec = turn.spec;
    let checks = spec.checks.len() as u64 * spec.limits.check_ms.div_ceil(1000);
    let forwarder = |event: &str, unanswered: &str, seconds: u64| {
        let command = format!("exec {} hook {event} {unanswered}", quoted(paths.windlass_exe));
        command_hook(&command, seconds)
    };
    let mut hooks = Map::new();
    hooks.insert(TOOL.to_owned(), forwarder(TOOL, "--closed", TOOL_HOOK_SECONDS));
    hooks.insert(STOP.to_owned(), forwarder(STOP, "--open", checks + STOP_MARGIN_SECONDS));
    // A silent hook leaves the decision to the CLI, which keeps the tools for files inside the workspace.
    if turn.settings.isolation == Isolation::Strict {
        hooks.insert(CHECK.to_owned(), command_hook(":", 30));
    }
    json!({ "version": 1, "hooks": hooks })
}

/// Builds the entry of a hook. The CLI has no other form than a line for a shell.
fn command_hook(command: &str, seconds: u64) -> Value {
    json!([{ "type": "command", "bash": command, "timeoutSec": seconds }])
}

/// Quotes a path for a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_shell_reads_anything_into_a_path() {
        assert_eq!(quoted(Path::new("/b in/$(x)/it's")), r"'/b in/$(x)/it'\''s'");
    }

    #[test]
    fn a_role_cannot_change_its_own_head() {
        let file = String::from_utf8(role_file("---\ntools: []\n---\nYou test.")).unwrap();
        let (_, after) = file.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        assert_eq!(after, "---\ntools: []\n---\nYou test.\n");
    }
}
