//! Writes plugin folders: two example workflows, and a ralph-loop plugin.
//!
//! Only files on disk: `forms` reads them, and the CLI loads them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A plugin to write.
pub struct Plugin {
    name: String,
    files: Vec<(String, String)>,
}

impl Plugin {
    /// Makes a plugin with only its `plugin.json`.
    pub fn named(name: &str) -> Plugin {
        let manifest = json!({"name": name, "version": "1.0.0", "description": "For tests"});
        Plugin { name: name.to_owned(), files: Vec::new() }.json(".claude-plugin/plugin.json", &manifest)
    }

    /// Adds a command with this Markdown.
    pub fn command(self, name: &str, markdown: &str) -> Plugin {
        self.file(&format!("commands/{name}.md"), markdown)
    }

    /// Adds a `workflow.json`.
    pub fn workflow(self, workflow: &Value) -> Plugin {
        self.json("workflow.json", workflow)
    }

    /// Adds MCP servers in `.mcp.json`.
    pub fn mcp(self, servers: &Value) -> Plugin {
        self.json(".mcp.json", &json!({"mcpServers": servers}))
    }

    /// Adds any other file.
    pub fn file(mut self, path: &str, text: &str) -> Plugin {
        self.files.push((path.to_owned(), text.to_owned()));
        self
    }

    fn json(self, path: &str, value: &Value) -> Plugin {
        let text = serde_json::to_string_pretty(value).expect("JSON is text");
        self.file(path, &(text + "\n"))
    }

    /// Writes the plugin to `parent/NAME` and returns that path. Makes scripts executable.
    pub fn write(&self, parent: &Path) -> PathBuf {
        let folder = parent.join(&self.name);
        for (path, text) in &self.files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the plugin's folders");
            fs::write(&path, text).expect("a file of the plugin");
            if text.starts_with("#!") {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a runnable script");
            }
        }
        folder
    }
}

const ADD_TESTS: &str = "---\ndescription: Adds end-to-end tests\nargument-hint: WHAT\n---\n\
    Add end-to-end tests for $ARGUMENTS, one flow at a time.\n";

/// Returns a `workflow.json` with a completion promise, a required ralph-loop plugin and an isolation.
pub fn promise_workflow() -> Value {
    json!({
        "name": "e2e-test-builder",
        "description": "Iterative E2E test coverage builder",
        "promptTemplate": "Use /add-e2e-tests {input}",
        "loop": {"enabled": true, "completionPromise": "E2E COMPLETE", "maxIterations": 15},
        "isolation": "minimal",
        "requiredPlugins": ["ralph-loop"],
    })
}

/// Returns a `workflow.json` with a completion marker and a template for the tracker.
pub fn tracker_workflow() -> Value {
    json!({
        "name": "e2e-testing",
        "plugins": ["e2e-test-builder@owner/repo"],
        "promptTemplate": "Use /add-e2e-tests {input}",
        "loop": {
            "enabled": true,
            "completionMarker": "E2E_COMPLETE",
            "maxIterations": 15,
            "trackerTemplate": "# E2E Test Progress\n\n## Criteria\n- [ ] All tests passing\n\
                - [ ] Coverage threshold met\n\n## Status\n_pending_",
        },
    })
}

/// Makes the plugin `e2e-test-builder`, with this workflow and the command that its template uses.
pub fn e2e_test_builder(workflow: &Value) -> Plugin {
    Plugin::named("e2e-test-builder").command("add-e2e-tests", ADD_TESTS).workflow(workflow)
}

/// Makes the plugin `ralph-loop`: a Stop hook that reads `.claude/ralph-loop.local.md`.
pub fn ralph_loop() -> Plugin {
    let command = "sh \"${CLAUDE_PLUGIN_ROOT}/hooks/stop.sh\"";
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
    Plugin::named("ralph-loop")
        .json("hooks/hooks.json", &hooks)
        .file("hooks/stop.sh", include_str!("ralph-stop.sh"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sealed;
    use crate::env::text;
    use std::process::Stdio;

    const STATE: &str = ".claude/ralph-loop.local.md";

    fn armed(sealed: &Sealed, iteration: u32, max: u32) {
        let text = format!(
            "---\nactive: true\niteration: {iteration}\nmax_iterations: {max}\n\
             completion_promise: \"E2E COMPLETE\"\nstarted_at: \"2026-02-22T10:30:00Z\"\n---\n\
             Say \"hi\" \\ twice\n---\nand go on\n"
        );
        sealed.write(format!("repo/{STATE}"), text);
    }

    fn stop(sealed: &Sealed, last_words: &str) -> String {
        let hook = ralph_loop().write(sealed.root()).join("hooks/stop.sh");
        let input = json!({"hook_event_name": "Stop", "last_assistant_message": last_words, "x": "<promise>E2E COMPLETE</promise>"});
        let input = sealed.write("stop.json", input.to_string());
        let stdin = Stdio::from(fs::File::open(input).unwrap());
        let output = sealed.command(hook).stdin(stdin).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    #[test]
    fn an_armed_loop_blocks_with_its_prompt_and_counts() {
        let sealed = Sealed::new();
        armed(&sealed, 1, 3);
        let answer: Value = serde_json::from_str(&stop(&sealed, "not yet")).unwrap();
        assert_eq!(answer["decision"], "block");
        assert_eq!(answer["reason"], "Say \"hi\" \\ twice\n---\nand go on");
        let state = fs::read_to_string(sealed.repo().join(STATE)).unwrap();
        assert!(state.contains("\niteration: 2\nmax_iterations: 3\n"), "{state}");
    }

    #[test]
    fn spent_iterations_or_a_kept_promise_end_it_and_remove_the_file() {
        let sealed = Sealed::new();
        for (iteration, max, words) in [(3, 3, "no"), (1, 3, "so: <promise>E2E COMPLETE</promise> \"ok\"")] {
            armed(&sealed, iteration, max);
            assert_eq!(stop(&sealed, words), "");
            assert!(!sealed.repo().join(STATE).exists());
        }
        assert_eq!(stop(&sealed, "no state file"), "");
    }

    #[test]
    fn without_a_maximum_it_goes_on() {
        let sealed = Sealed::new();
        armed(&sealed, 99, 0);
        assert!(stop(&sealed, "not yet").contains("block"));
    }
}
