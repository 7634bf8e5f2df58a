//! Decides whether a plugin loops: its Stop hook reads the state file that Windlass writes in `plugin` mode.
//!
//! It reads the programs that the hooks run, within size limits and inside the plugin's folder. If one cannot
//! be read, the names of the two public plugins decide.

use std::path::{Path, PathBuf};

use windlass_forms::plugin::{StopHooks, stop_hooks};
use windlass_peers::files;

/// The name of the state file in a hook.
const STATE: &str = "ralph-loop.local.md";
/// The public plugins that loop on it.
const PUBLIC: [&str; 2] = ["ralph-loop", "ralph-wiggum"];
/// The maximum size of a hook's program.
const LARGEST: u64 = 1 << 20;
/// The maximum number of hook files of a plugin.
const MOST: usize = 64;

/// Decides whether a name is that of a public plugin that loops.
pub(crate) fn is_public_name(name: &str) -> bool {
    PUBLIC.contains(&name)
}

/// Decides whether the plugin in a folder loops.
pub(super) fn loops(dir: &Path, name: &str, manifest: &str) -> bool {
    let StopHooks { mut commands, files } = stop_hooks(manifest);
    let listed = files.iter().map(String::as_str).chain(["hooks/hooks.json"]);
    for file in listed {
        let bytes = read(dir, Path::new(file)).unwrap_or_default();
        commands.extend(stop_hooks(&String::from_utf8_lossy(&bytes)).commands);
    }
    if commands.is_empty() {
        return false;
    }
    if commands.iter().any(|command| command.contains(STATE)) {
        return true;
    }
    let mut is_unread = false;
    for file in programs(dir, &commands) {
        match read(dir, &file) {
            Some(bytes) if names_the_state(&bytes) => return true,
            Some(_) => {}
            None => is_unread = true,
        }
    }
    is_unread && is_public_name(name)
}

fn names_the_state(bytes: &[u8]) -> bool {
    bytes.windows(STATE.len()).any(|part| part == STATE.as_bytes())
}

/// Reads a file of the plugin. Returns nothing if it is missing, too large or outside.
fn read(dir: &Path, file: &Path) -> Option<Vec<u8>> {
    let path = files::inside(dir, file.strip_prefix("./").unwrap_or(file)).ok()?;
    files::read_bounded(&path, LARGEST).ok()
}

/// Returns the plugin's files that the commands name, and the files beside them, which they may use.
fn programs(dir: &Path, commands: &[String]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = commands.iter().flat_map(|command| named(command)).collect();
    let folders: Vec<PathBuf> = found.iter().filter_map(|file| file.parent().map(Path::to_owned)).collect();
    for folder in folders {
        let entries = std::fs::read_dir(dir.join(&folder)).into_iter().flatten().flatten();
        let is_plain = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
        let mut beside: Vec<PathBuf> =
            entries.take(MOST).filter(is_plain).map(|entry| folder.join(entry.file_name())).collect();
        beside.sort();
        found.extend(beside);
    }
    found.dedup();
    found.truncate(MOST);
    found
}

/// Returns the paths below the plugin's folder in a command line.
fn named(command: &str) -> Vec<PathBuf> {
    let root = |text: &str| {
        ["${CLAUDE_PLUGIN_ROOT}", "$CLAUDE_PLUGIN_ROOT"]
            .iter()
            .find_map(|word| text.find(word).map(|at| at + word.len()))
    };
    let mut found = Vec::new();
    let mut rest = command;
    while let Some(at) = root(rest) {
        rest = rest.get(at..).unwrap_or_default();
        // The quote may end right after the variable.
        let path = rest.trim_start_matches(['"', '\'']);
        let end = path.find(|c: char| c.is_whitespace() || "\"\';|&)".contains(c)).unwrap_or(path.len());
        let path = path.get(..end).unwrap_or_default().trim_start_matches('/');
        if !path.is_empty() {
            found.push(PathBuf::from(path));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const READS: &str = "#!/bin/sh\ncat .claude/ralph-loop.local.md\n";

    /// A plugin whose Stop hook is this command, with these files.
    fn judged(name: &str, command: &str, files: &[(&str, &str)]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("outside.sh"), READS).unwrap();
        let plugin = dir.path().join("plugin");
        let hook = serde_json::json!({"hooks": {"Stop": [{"hooks": [{"command": command}]}]}}).to_string();
        for (path, text) in files.iter().copied().chain([("hooks/hooks.json", hook.as_str())]) {
            fs::create_dir_all(plugin.join(path).parent().unwrap()).unwrap();
            fs::write(plugin.join(path), text).unwrap();
        }
        symlink(dir.path(), plugin.join("up")).unwrap();
        symlink(dir.path().join("outside.sh"), plugin.join("link.sh")).unwrap();
        loops(&plugin, name, "{}")
    }

    #[test]
    fn a_plugin_loops_whose_stop_hook_reads_the_state_file() {
        for command in [
            "${CLAUDE_PLUGIN_ROOT}/hooks/stop.sh",
            "bash \"${CLAUDE_PLUGIN_ROOT}/hooks/stop.sh\" now",
            "sh \"$CLAUDE_PLUGIN_ROOT\"/hooks/stop.sh; true",
        ] {
            assert!(judged("any", command, &[("hooks/stop.sh", READS)]), "{command}");
        }
        let uses = [("bin/stop.sh", ". \"$(dirname \"$0\")/lib.sh\""), ("bin/lib.sh", READS)];
        assert!(judged("any", "${CLAUDE_PLUGIN_ROOT}/bin/stop.sh", &uses));
        assert!(judged("any", "grep -q x .claude/ralph-loop.local.md", &[]));
    }

    #[test]
    fn a_plugin_whose_stop_hook_does_something_else_does_not_whatever_it_is_called() {
        assert!(!judged("ralph-loop", "${CLAUDE_PLUGIN_ROOT}/hooks/stop.sh", &[("hooks/stop.sh", "exit 0")]));
        assert!(!judged("ralph-loop", "true", &[]));
        let dir = tempfile::tempdir().unwrap();
        assert!(!loops(dir.path(), "ralph-loop", "{\"name\": \"ralph-loop\"}"));
    }

    #[test]
    fn where_a_hook_cannot_be_read_the_public_names_count_and_nothing_outside_is_read() {
        let large = "x".repeat(usize::try_from(LARGEST).unwrap() + 1) + READS;
        let commands = ["hooks/large", "../outside.sh", "up/outside.sh", "link.sh", "none.sh"];
        for command in commands.map(|file| format!("${{CLAUDE_PLUGIN_ROOT}}/{file}")) {
            let files = [("hooks/large", large.as_str())];
            assert!(!judged("other", &command, &files), "{command}");
            for name in PUBLIC {
                assert!(judged(name, &command, &files), "{command}");
            }
        }
    }

    #[test]
    fn a_manifest_may_hold_the_hooks_or_name_their_file() {
        let dir = tempfile::tempdir().unwrap();
        let hook = r#"{"Stop": [{"hooks": [{"command": "cat .claude/ralph-loop.local.md"}]}]}"#;
        assert!(loops(dir.path(), "any", &format!("{{\"name\": \"any\", \"hooks\": {hook}}}")));
        fs::write(dir.path().join("more.json"), format!("{{\"hooks\": {hook}}}")).unwrap();
        assert!(loops(dir.path(), "any", r#"{"name": "any", "hooks": "./more.json"}"#));
        assert!(!loops(dir.path(), "any", r#"{"name": "any", "hooks": "/etc/passwd"}"#));
    }
}
