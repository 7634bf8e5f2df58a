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
    "demo",
    "completions",
];

#[test]
fn help_and_version_go_to_standard_output() {
    let stage = Stage::new();
    for flag in ["--help", "-h", "--version", "-V"] {
        let output = stage.run(&[flag]);
        assert_exit(&output, 0);
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{flag}");
    }
    assert!(!stage.place.state().join("windlass").exists(), "help opened the store");
}

#[test]
fn help_names_every_verb_and_hides_those_nobody_types() {
    let help = text(&Stage::new().run(&["--help"]).stdout);
    let named: Vec<&str> =
        help.lines().filter_map(|line| line.strip_prefix("  ")?.split("  ").next()).collect();
    for verb in VERBS {
        assert!(named.contains(verb), "{verb} is not in {help}");
    }
    for hidden in ["hook", "host", "sim", "mcp"] {
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
    assert!(text(&output.stderr).contains("Usage: windlass <COMMAND>"));
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
