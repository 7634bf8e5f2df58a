//! `windlass doctor`: what it says about agent CLIs and git.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use windlass_testkit::env::{story, text};
use windlass_testkit::{eventually, procs, soon};

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

/// Returns the command of the suite, with only these programs and those of the system on the `PATH`.
fn conformance(stage: &Stage, flags: &[&str]) -> Command {
    let temp = stage.place.root().join("t");
    std::fs::create_dir_all(&temp).unwrap();
    let path = format!("{}:/usr/bin:/bin", stage.place.root().join("bin").display());
    let mut command = stage.command(&[&["doctor", "--conformance"], flags].concat());
    command.env("PATH", &path).env("TMPDIR", temp).stdin(Stdio::null());
    command
}

/// Returns the files and the processes that the suite left in its temporary folder.
fn left_behind(stage: &Stage) -> Vec<String> {
    let temp = stage.place.root().join("t");
    let files = std::fs::read_dir(&temp).unwrap().map(|entry| entry.unwrap().path().display().to_string());
    let name = temp.display().to_string();
    let processes = procs::all().into_iter().filter(|process| process.command.contains(&name));
    files.chain(processes.map(|process| process.command)).collect()
}

#[test]
fn the_suite_needs_an_agent_that_it_knows_and_finds() {
    let stage = Stage::new();
    let unknown = conformance(&stage, &["--driver", "sim"]).output().unwrap();
    assert_exit(&unknown, 2);
    let hint = "hint: there are: claude, codex, opencode, copilot, gemini, acp\n";
    assert!(text(&unknown.stderr).contains(hint), "{}", story(&unknown));
    assert_exit(&stage.run(&["doctor", "--driver", "codex"]), 2);
    let missing = conformance(&stage, &["--driver", "codex"]).output().unwrap();
    assert_exit(&missing, 4);
    let said = "error: no agent CLI to test is installed: codex\n";
    assert!(text(&missing.stderr).contains(said), "{}", story(&missing));
}

#[test]
fn an_agent_that_fails_at_once_fails_every_behaviour_and_leaves_nothing() {
    let stage = Stage::new();
    let broken = "case $* in --version) echo '2.1.325 (Claude Code)';; *) echo broken >&2; exit 1;; esac";
    program(&stage, "bin/claude", broken);
    let output = conformance(&stage, &["--json", "--driver", "claude"]).output().unwrap();
    assert_exit(&output, 4);
    let lines = lines(&output);
    let (last, cells) = lines.split_last().unwrap();
    assert!(cells.iter().all(|line| line["type"] == "conformance.cell"), "{}", story(&output));
    let passed: Vec<_> = cells.iter().filter(|cell| cell["data"]["outcome"] != "failed").collect();
    // It does start, and no conversation of it is left to resume.
    assert!(passed.len() < 3, "{passed:?}");
    assert_eq!(last["data"]["failed"], cells.len() - passed.len());
    assert_eq!(last["data"]["drivers"][0]["version"], "2.1.325 (Claude Code)");
    assert_eq!(left_behind(&stage), Vec::<String>::new());
}

#[test]
fn ctrl_c_ends_the_suite_with_its_agents_and_files() {
    let stage = Stage::new();
    let endless = "case $* in --version) echo '2.1.325 (Claude Code)';; *) sleep 600;; esac";
    program(&stage, "bin/claude", endless);
    let mut command = conformance(&stage, &["--driver", "claude"]);
    let mut suite = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let is_host = |line: &String| line.contains("windlass host ");
    eventually(soon(), || left_behind(&stage).iter().any(is_host).then_some(()));
    let pid = rustix::process::Pid::from_child(&suite);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(suite.wait().unwrap().code(), Some(130));
    assert_eq!(left_behind(&stage), Vec::<String>::new());
}
