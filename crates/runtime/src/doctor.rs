//! Finds the installed agent CLIs and reports their capabilities.

use std::path::{Path, PathBuf};

use windlass_core::graph::check::nearest;
use windlass_peers::agent::{self, Dialect};

use crate::home::Home;
use crate::user_error::{UserError, UserErrorKind};

/// A driver as installed on this machine.
#[derive(Debug, Clone)]
pub struct DriverReport {
    pub name: &'static str,
    /// The program, if it was found.
    pub program: Option<PathBuf>,
    /// The output of `--version`.
    pub version: Option<String>,
    pub ok: bool,
    pub capabilities: Vec<(&'static str, bool)>,
    /// A hint for a driver that cannot be used.
    pub advice: Option<String>,
}

/// Checks every driver.
pub fn doctor(home: &Home) -> Vec<DriverReport> {
    home.agents.iter().map(|dialect| report(home, &**dialect)).collect()
}

fn report(home: &Home, driver: &dyn Dialect) -> DriverReport {
    let found = find_agent(home, driver.name(), None);
    let version = match &found {
        Ok(program) => agent::doctor::probe(program).ok(),
        Err(_) => None,
    };
    DriverReport {
        name: driver.name(),
        ok: version.is_some(),
        capabilities: rows(driver.capabilities()),
        advice: match (&found, &version) {
            (Err(problem), _) => problem.hint.clone(),
            (Ok(program), None) => Some(format!("`{} --version` gave no answer", program.display())),
            (Ok(_), Some(_)) => None,
        },
        program: found.ok(),
        version,
    }
}

/// Finds the program of a driver: the given one, or the one on the PATH. `sim` is Windlass itself.
pub(crate) fn find_agent(home: &Home, name: &str, given: Option<&Path>) -> Result<PathBuf, UserError> {
    let Some(driver) = home.agents.named(name) else {
        let names: Vec<&str> = home.agents.iter().map(|driver| driver.name()).collect();
        return Err(UserError::new(UserErrorKind::Configuration, format!("no driver `{name}`")).hint(
            match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`? there are: {}", names.join(", ")),
                None => format!("there are: {}", names.join(", ")),
            },
        ));
    };
    if driver.program().is_none() && given.is_none() {
        return crate::os::own_program().map_err(|error| {
            UserError::new(UserErrorKind::Agent, format!("cannot find the windlass program: {error}"))
        });
    }
    let wanted = given.and_then(Path::to_str).or(driver.program()).unwrap_or(name);
    let path = home.var("PATH").unwrap_or_default();
    agent::doctor::find_program(wanted, path, &home.user).ok_or_else(|| {
        let text =
            format!("the agent CLI `{wanted}` of driver `{name}` is not installed or cannot be executed");
        let problem = UserError::new(UserErrorKind::Agent, text);
        match driver.install_hint() {
            Some(hint) => problem.hint(format!("{hint}; or give its path with --agent-bin PATH")),
            None => problem,
        }
    })
}

/// Lists the capabilities of a driver as rows of a table.
fn rows(can: agent::Capabilities) -> Vec<(&'static str, bool)> {
    vec![
        ("stream", can.stream),
        ("resume", can.resume),
        ("fork", can.fork),
        ("hooks", !can.hooks.is_empty()),
        ("stop-block", can.stop_block),
        ("permissions", can.permissions),
        ("questions", can.questions),
        ("mcp", can.mcp),
        ("budget", can.budget),
        ("models", can.models),
        ("usage", can.usage),
        ("adoptable", can.adoptable),
    ]
}
