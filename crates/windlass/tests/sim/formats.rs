//! The simulated agent's own format: the cases that hold in Claude Code's format hold in it, too.

use std::process::Command;

/// The cases that are run once more. They are about what a run does, whatever its agent speaks.
const CASES: &[&str] = &["people::", "modes::", "faults::", "order::", "marker::", "stub::"];

/// Cases about the words of Claude Code's format.
const OF_CLAUDE: &[&str] = &[];

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the tests themselves are started, and they start in sealed places"
)]
fn every_case_also_holds_in_the_neutral_format() {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(CASES).env("WINDLASS_SIM_FORMAT", "plain").arg("--test-threads=2");
    again.args(OF_CLAUDE.iter().flat_map(|case| ["--skip", case]));
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let result = said.lines().rfind(|line| line.starts_with("test result:")).unwrap_or_default();
    let passed = result.split_whitespace().find_map(|word| word.parse::<u32>().ok()).unwrap_or_default();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(passed > 50, "only {passed} cases: {result}");
}
