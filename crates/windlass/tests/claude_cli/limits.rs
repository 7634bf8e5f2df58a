//! Must show 2: an agent that may only read changes nothing on the real CLI, by no tool and no subagent.

use serde_json::json;
use windlass_testkit::{Model, require_claude, say, tool};

use crate::stage::{Stage, bash, path};

const FORMS: [&str; 2] =
    ["tools:\n  write: false\n  edit: false\n  bash: false", "permission:\n  edit: deny\n  bash: deny"];

#[test]
fn a_read_only_agent_of_opencode_changes_nothing() {
    for form in FORMS {
        let stage = Stage::new(require_claude!());
        let readme = stage.sealed.write("repo/README.md", "# Hi\n");
        stage
            .sealed
            .write("repo/a.ipynb", r#"{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#);
        let text = format!("---\ndescription: d\n{form}\n---\nYou only look.");
        stage.sealed.write("repo/.opencode/agent/analyst.md", text);
        let made = path(&stage.sealed.root().join("repo/made.txt"));
        let write = || tool("Write", json!({"file_path": made, "content": "x"}));
        let shell = || bash(&format!("echo x > {made}"));
        let task = json!({"description": "write", "prompt": "Write it", "subagent_type": "general-purpose", "run_in_background": false});
        let model = Model::script([
            tool("Read", json!({"file_path": path(&readme)})),
            write(),
            tool("Edit", json!({"file_path": path(&readme), "old_string": "# Hi", "new_string": "# Ho"})),
            tool("NotebookEdit", json!({"notebook_path": path(&stage.sealed.root().join("repo/a.ipynb")), "new_source": "x", "edit_mode": "insert", "cell_type": "code"})),
            shell(),
            tool("Task", task),
            say("looked"),
        ])
        .subagents([write(), shell(), say("could not")])
        .start();
        let flags = ["--agent", "analyst", "--isolation", "permissive", "--on-permission", "allow"];
        let ended = stage.run(&model, &flags);

        ended.assert_ended(0, "completed", "turn_done", 1);
        assert!(!std::path::Path::new(&made).exists(), "{}", ended.story());
        assert_eq!(std::fs::read_to_string(&readme).unwrap(), "# Hi\n");
        assert!(!std::fs::read_to_string(stage.sealed.root().join("repo/a.ipynb")).unwrap().contains('x'));
        let decided: Vec<(&str, &str)> = ended
            .of("hook.decision")
            .into_iter()
            .filter_map(|decision| Some((decision["tool"].as_str()?, decision["decision"].as_str()?)))
            .collect();
        for tool in ["Write", "Edit", "Bash"] {
            assert!(decided.contains(&(tool, "deny")) && !decided.contains(&(tool, "allow")), "{decided:?}");
        }
        assert!(decided.contains(&("Read", "allow")), "{decided:?}");
        // The subagent was held to the same limits.
        let by_subagent = decided.iter().filter(|decision| **decision == ("Write", "deny")).count();
        assert_eq!(by_subagent, 2, "{decided:?}\n{}", ended.story());
    }
}
