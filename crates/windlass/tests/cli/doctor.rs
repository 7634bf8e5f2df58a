//! `windlass doctor`: what it says about agent CLIs and git.

use std::os::unix::fs::PermissionsExt;

use windlass_testkit::env::{story, text};

use crate::stage::{Stage, assert_exit, lines};

/// Writes a program, which is a line of shell.
fn program(stage: &Stage, path: &str, line: &str) {
    let path = stage.place.write(path, format!("#!/bin/sh\n{line}\n"));
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_agent_that_cannot_be_used_says_why_and_is_not_in_the_table() {
    let stage = Stage::new();
    let path = format!("{}:/usr/bin:/bin", stage.place.root().join("bin").display());
    let doctor = |args: &[&str]| stage.command(args).env("PATH", &path).output().unwrap();
    let shown = text(&doctor(&["doctor"]).stdout);
    let missing = "claude: cannot be used: the agent CLI `claude` of driver `claude` is not installed or cannot be executed\n    hint: npm install";
    assert!(shown.contains(missing), "{shown}");
    assert!(shown.contains("\n             sim     the agent CLI\n"), "no column for it: {shown}");
    assert!(shown.contains("adoptable    yes     keeps working if Windlass crashes\n"), "{shown}");

    program(&stage, "bin/claude", "echo 'needs node 22' >&2; exit 1");
    let output = doctor(&["doctor"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("claude --version` ended with code 1: needs node 22\n"), "{}", story(&output));
    let reports = lines(&doctor(&["doctor", "--json"]));
    let claude = reports.iter().find(|line| line["data"]["name"] == "claude").unwrap();
    assert_eq!(claude["data"]["ok"], false);
    assert!(claude["data"]["problem"].as_str().unwrap().contains("needs node 22"), "{claude}");

    program(&stage, "bin/claude", "echo '2.1.325 (Claude Code)'");
    let shown = text(&doctor(&["doctor"]).stdout);
    assert!(shown.contains("    login: none found in its files and variables\n"), "{shown}");
    assert!(shown.contains("\nsettings       enforced  enforced"), "{shown}");
    assert!(shown.contains("\n             claude  sim     the agent CLI\n"), "{shown}");
}

#[test]
fn git_is_looked_at_too() {
    let stage = Stage::new();
    let shown = text(&stage.run(&["doctor"]).stdout);
    assert!(shown.contains(" git: 2.") && shown.contains("    this folder is in a repository\n"), "{shown}");
    let outside = stage.command(&["doctor"]).current_dir(stage.place.home()).output().unwrap();
    assert!(text(&outside.stdout).contains("this folder is in no repository"), "{}", story(&outside));
    let without = stage.command(&["doctor"]).env("PATH", "/nowhere").output().unwrap();
    assert_exit(&without, 0);
    assert!(
        text(&without.stdout)
            .contains("git: cannot be used: `git` is not on the PATH\n    hint: install git")
    );
    let reports = lines(&stage.run(&["doctor", "--json"]));
    let git = reports.iter().find(|line| line["type"] == "git").unwrap();
    assert_eq!((&git["data"]["ok"], &git["data"]["repository"]), (&true.into(), &true.into()));
}

#[test]
fn a_login_is_found_by_its_variable_or_its_file() {
    let stage = Stage::new();
    program(&stage, "bin/claude", "echo '2.1.325 (Claude Code)'");
    let path = format!("{}:/usr/bin:/bin", stage.place.root().join("bin").display());
    let login = |variable: &str, value: &str| {
        let output =
            stage.command(&["doctor", "--json"]).env("PATH", &path).env(variable, value).output().unwrap();
        let reports = lines(&output);
        reports.iter().find(|line| line["data"]["name"] == "claude").unwrap()["data"]["login"].clone()
    };
    assert_eq!(login("OTHER", "x"), serde_json::json!({"found": false}));
    let found = login("ANTHROPIC_API_KEY", "secret");
    assert_eq!(found, serde_json::json!({"found": true, "place": "ANTHROPIC_API_KEY"}));
    let file = stage.place.write("home/.claude/.credentials.json", "{}");
    assert_eq!(login("OTHER", "x"), serde_json::json!({"found": true, "place": file}));
}
