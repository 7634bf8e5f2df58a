//! The formats of the simulated agent: the cases that hold in Claude Code's format hold in the others, too.

use std::process::Command;

/// The cases that are run once more in the neutral format. They are about what a run does, whatever its agent speaks.
const CASES: &[&str] = &["people::", "modes::", "faults::", "order::", "marker::", "stub::"];

/// The cases that are run once more in the format of every agent CLI: its driver reads, asks and answers.
const CASES_OF_CLIS: &[&str] = &["modes::", "faults::"];

/// Cases that have nothing to do with the format, or that take long.
const LEFT_OUT: &[&str] = &["git_faults::", "five_megabytes"];

#[track_caller]
fn holds_in(format: &str, cases: &[&str], left_out: &[&str], least: u32) {
    let passed = passed_in(format, cases, left_out);
    assert!(passed > least, "only {passed} cases in the format {format}");
}

#[track_caller]
#[expect(
    clippy::disallowed_methods,
    reason = "the tests themselves are started, and they start in sealed places"
)]
fn passed_in(format: &str, cases: &[&str], left_out: &[&str]) -> u32 {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(cases).env("WINDLASS_SIM_FORMAT", format).arg("--test-threads=2");
    again.args(left_out.iter().flat_map(|case| ["--skip", case]));
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let result = said.lines().rfind(|line| line.starts_with("test result:")).unwrap_or_default();
    assert!(output.status.success(), "{format}: {said}\n{}", String::from_utf8_lossy(&output.stderr));
    result.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or_default()
}

#[test]
fn every_case_also_holds_in_the_neutral_format() {
    holds_in("plain", CASES, &[], 50);
}

#[test]
fn loops_and_faults_are_the_same_in_the_format_of_codex() {
    holds_in("codex", CASES_OF_CLIS, LEFT_OUT, 20);
}

#[test]
fn loops_and_faults_are_the_same_in_the_format_of_opencode() {
    holds_in("opencode", CASES_OF_CLIS, LEFT_OUT, 20);
}

#[test]
fn loops_and_faults_are_the_same_in_the_format_of_copilot() {
    holds_in("copilot", CASES_OF_CLIS, LEFT_OUT, 20);
}

#[test]
fn loops_and_faults_are_the_same_in_the_format_of_gemini() {
    holds_in("gemini", CASES_OF_CLIS, LEFT_OUT, 20);
}

#[test]
fn loops_and_faults_are_the_same_in_the_protocol_of_agents() {
    holds_in("acp", CASES_OF_CLIS, LEFT_OUT, 20);
}
