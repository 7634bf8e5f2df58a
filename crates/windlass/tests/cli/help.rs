//! Help, version and completions.

use windlass_testkit::env::text;

use crate::stage::{Stage, assert_exit};

const VERBS: &[&str] = &[
    "run",
    "loop",
    "resume",
    "ps",
    "show",
    "logs",
    "answer",
    "approve",
    "cancel",
    "replay",
    "fork",
    "workflow",
    "tasks",
    "entities",
    "hint",
    "plugin",
    "config",
    "doctor",
    "gc",
    "demo",
    "completions",
    "sim",
];

#[test]
fn help_and_version_go_to_standard_output() {
    let stage = Stage::new();
    for flag in ["--help", "-h", "--version", "-V", "help", "version"] {
        let output = stage.run(&[flag]);
        assert_exit(&output, 0);
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{flag}");
    }
    assert!(!stage.place.state().join("windlass").exists(), "help opened the store");
    let said = |args: &[&str]| text(&stage.run(args).stdout);
    assert_eq!(said(&["version"]), said(&["--version"]));
    assert!(said(&["help"]).contains("\nExit codes:\n") && said(&["help"]).contains("\nExamples:\n"));
}

#[test]
fn help_of_a_command_is_its_help_page() {
    let stage = Stage::new();
    for words in [&["run"][..], &["tasks", "run"], &["workflow", "eject"], &["sim"], &["help"]] {
        let output = stage.run(&[&["help"], words].concat());
        assert_exit(&output, 0);
        let page = stage.run(&[words, &["--help"]].concat());
        assert_exit(&page, 0);
        assert_eq!(text(&output.stdout), text(&page.stdout));
        assert!(text(&page.stdout).contains(&format!("Usage: windlass {}", words.join(" "))), "{words:?}");
    }
    assert_exit(&stage.run(&["help", "nothing"]), 2);
}

#[test]
fn help_names_every_verb_and_hides_those_nobody_types() {
    let help = text(&Stage::new().run(&["help"]).stdout);
    let named: Vec<&str> =
        help.lines().filter_map(|line| line.strip_prefix("  ")?.split("  ").next()).collect();
    for verb in VERBS {
        assert!(named.contains(verb), "{verb} is not in {help}");
    }
    for hidden in ["hook", "host"] {
        assert!(!named.contains(&hidden), "{hidden} is in {help}");
    }
}

#[test]
fn every_verb_explains_itself_with_examples() {
    let stage = Stage::new();
    for verb in VERBS {
        let output = stage.run(&[verb, "--help"]);
        assert_exit(&output, 0);
        assert!(text(&output.stdout).contains(&format!("Examples:\n  windlass {verb}")), "{verb}");
    }
}

#[test]
fn without_a_verb_the_help_is_a_mistake() {
    let output = Stage::new().run(&[]);
    assert_exit(&output, 2);
    assert!(output.stdout.is_empty());
    assert_eq!(text(&output.stderr), text(&Stage::new().run(&["--help"]).stdout));
}

/// Returns what `windlass` alone shows on a terminal, and its exit code.
fn on_a_terminal(stage: &Stage, script: &std::path::Path) -> (String, Option<i32>) {
    let mut command = stage.place.command(script);
    let windlass = windlass_testkit::windlass_bin().display().to_string();
    command.args(["-qec", &windlass, "/dev/null"]).stdin(std::process::Stdio::null());
    let output = command.output().unwrap();
    (text(&output.stdout).replace('\r', ""), output.status.code())
}

#[test]
fn on_a_terminal_windlass_alone_is_one_screen_with_the_state_of_the_folder() {
    let script = windlass_testkit::require_program!("script");
    let stage =
        Stage::playing(serde_json::json!([{ "ask": { "question": "Which?" } }, crate::stage::done()]));
    let short = text(&stage.run(&["--help"]).stdout);
    assert_eq!(on_a_terminal(&stage, &script), (short.clone(), Some(0)), "no runs, and no error");
    let line = |stage: &Stage| {
        let (screen, code) = on_a_terminal(stage, &script);
        assert_eq!(code, Some(0));
        assert!(
            screen.lines().count() <= 23 && screen.lines().all(|line| line.chars().count() <= 80),
            "{screen}"
        );
        screen.strip_prefix(&short).unwrap_or_else(|| panic!("{screen}")).to_owned()
    };
    let child = stage.spawn(&["loop", "x", "--driver", "sim", "--on-question", "wait"]);
    let run = stage.newest("waiting");
    assert_eq!(
        line(&stage),
        format!("Here: run {run} (loop) waits for you: windlass answer {run} \"TEXT\"\n")
    );
    assert_exit(&stage.run(&["answer", "that"]), 0);
    assert_exit(&child.wait_with_output().unwrap(), 0);
    let said = line(&stage);
    let start = format!("Here: run {run} (loop) completed (started ");
    assert!(said.starts_with(&start) && said.ends_with(&format!(" ago): windlass show {run}\n")), "{said}");
}

#[test]
fn shells_get_completions() {
    let stage = Stage::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = stage.run(&["completions", shell]);
        assert_exit(&output, 0);
        // The script asks the binary, which answers by this variable.
        assert!(text(&output.stdout).contains("COMPLETE"), "{shell}");
    }
    assert_exit(&stage.run(&["completions", "tcsh"]), 2);
}
