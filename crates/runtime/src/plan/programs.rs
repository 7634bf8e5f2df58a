//! Refuses a check whose program is a typo, before any agent runs.
//!
//! Only a mistake that is certain counts: one simple command whose program is not on the `PATH`, while a program
//! with a similar name is. An agent may still install any other program. If it does not, the first execution
//! of the check ends the run.

use std::collections::BTreeSet;
use std::path::Path;

use windlass_core::graph::check::nearest;
use windlass_core::graph::workflow::ShellProgram;
use windlass_core::hook::first_program;
use windlass_core::spec::{Check, Spec};
use windlass_peers::agent::doctor::find_program;

use crate::home::Home;
use crate::user_error::{UserError, UserErrorKind};

/// Refuses checks that certainly cannot start.
pub(super) fn refuse_typos(home: &Home, spec: &Spec) -> Result<(), UserError> {
    let Some(path) = home.var("PATH") else { return Ok(()) };
    for spec in std::iter::once(spec).chain(spec.others.values()) {
        for check in &spec.checks {
            if let Some((program, meant)) = typo(check, path, Path::new(&spec.workspace)) {
                let text = format!("check `{}` cannot start: there is no program `{program}`", check.name);
                let hint = format!("did you mean `{meant}`?");
                return Err(UserError::new(UserErrorKind::Configuration, text).hint(hint));
            }
        }
    }
    Ok(())
}

/// Refuses a workflow that needs bash where there is none.
pub(super) fn need_bash(home: &Home, spec: &Spec) -> Result<(), UserError> {
    let needs = |spec: &Spec| spec.shell == ShellProgram::Bash;
    let path = home.var("PATH").unwrap_or_default();
    let needed = std::iter::once(spec).chain(spec.others.values()).any(needs);
    if !needed || find_program("bash", path, Path::new(&spec.workspace)).is_some() {
        return Ok(());
    }
    let text = "the workflow runs commands with bash, and there is no bash on the PATH";
    Err(UserError::new(UserErrorKind::Configuration, text).hint("install bash, or use `shell: sh`"))
}

/// Returns the program of a check that does not exist, and the one that was probably meant.
fn typo<'c>(check: &'c Check, path: &str, workspace: &Path) -> Option<(&'c str, String)> {
    let program = program(&check.command)?;
    let is_fixed = path.split(':').all(|folder| folder.starts_with('/'));
    if !is_fixed || find_program(program, path, workspace).is_some() {
        return None;
    }
    let is_like = |name: &String| name.len().abs_diff(program.len()) <= 1;
    let folders = path.split(':').filter_map(|folder| std::fs::read_dir(folder).ok());
    let entries = folders.flat_map(|entries| entries.filter_map(Result::ok));
    let names: BTreeSet<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_like).collect();
    let meant = nearest(program, names.iter().map(String::as_str))?;
    find_program(meant, path, workspace).map(|_| (program, meant.to_owned()))
}

/// Returns the program of a simple command. A list, a pipe or an expansion may succeed without it.
fn program(command: &str) -> Option<&str> {
    let first = command.split_whitespace().next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
    let is_simple = !command.trim().contains(['|', '&', ';', '\n', '`', '$']);
    let is_first = || first_program(command).is_some_and(|program| program == first);
    (is_simple && first.chars().all(is_plain) && is_first()).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_simple_command_names_its_program() {
        assert_eq!(program("  crago test --all"), Some("crago"));
        for command in
            ["crago test || true", "./crago", "A=1 crago", "cd x", "$CARGO test", "x; y", "", "(x)"]
        {
            assert_eq!(program(command), None, "{command}");
        }
    }
}
