//! The script of the simulated agent: found and read before a run starts, so that a mistake in it costs no run.

use std::path::Path;

use windlass_core::spec::Spec;
use windlass_runtime::home::Home;
use windlass_runtime::plan::is_simulated;

use super::invocation::Invocation;
use super::report::{Report, note};
use crate::exit::Exit;

/// The variable that names the script.
const SCRIPT: &str = "WINDLASS_SIM_SCRIPT";
/// The variables with paths of the simulated agent.
const PATHS: [&str; 2] = [SCRIPT, "WINDLASS_SIM_LOG"];

/// Refuses a run whose simulated agent could not play its script. Says so if it has none.
pub(super) fn check(invocation: &Invocation, spec: &Spec) -> Result<(), Report> {
    if !is_simulated(&invocation.home, spec) {
        return Ok(());
    }
    let Some(script) = invocation.home.var(SCRIPT).filter(|script| !script.is_empty()) else {
        note(&format!("{SCRIPT} names no script: the simulated agent changes nothing"));
        return Ok(());
    };
    match windlass_pawl::sim::script_error(Path::new(script)) {
        None => Ok(()),
        Some(error) => Err(Report::new(Exit::Configuration, error).hint(format!(
            "fix it (`windlass sim --check FILE` checks it), or unset {SCRIPT} to play a stub"
        ))),
    }
}

/// Makes the paths absolute: a session may work in another folder, such as the worktree of a task.
pub(super) fn make_absolute(home: &mut Home, cwd: &Path) {
    for (_, path) in
        home.env.iter_mut().filter(|(name, path)| PATHS.contains(&name.as_str()) && !path.is_empty())
    {
        if let Some(absolute) = cwd.join(&*path).to_str() {
            *path = absolute.to_owned();
        }
    }
}
