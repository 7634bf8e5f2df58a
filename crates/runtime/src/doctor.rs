//! Which agent CLIs there are, and what they can do.

use std::path::{Path, PathBuf};

use windlass_peers::agent::{self, Dialect};

use crate::home::Home;
use crate::user_error::{UserError, UserErrorKind};

/// One driver, as it is on this machine.
#[derive(Debug, Clone)]
pub struct DriverReport {
    /// Its name.
    pub name: &'static str,
    /// The program, where it was found.
    pub program: Option<PathBuf>,
    /// What it says of its version.
    pub version: Option<String>,
    /// Whether it can be used.
    pub ok: bool,
    /// What it can do.
    pub capabilities: Vec<(&'static str, bool)>,
    /// What to do when it cannot be used.
    pub advice: Option<String>,
}

/// Looks at every driver.
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
            (Ok(program), None) => Some(format!("{} --version gives no answer", program.display())),
            (Ok(_), Some(_)) => None,
        },
        program: found.ok(),
        version,
    }
}

/// The program of a driver: the one given, or the one on the PATH. `sim` is Windlass itself.
pub(crate) fn find_agent(home: &Home, name: &str, given: Option<&Path>) -> Result<PathBuf, UserError> {
    let Some(driver) = home.agents.named(name) else {
        let names: Vec<&str> = home.agents.iter().map(|driver| driver.name()).collect();
        return Err(UserError::new(UserErrorKind::Configuration, format!("no driver `{name}`"))
            .hint(format!("there are: {}", names.join(", "))));
    };
    if driver.program().is_none() && given.is_none() {
        return crate::os::own_program().map_err(|error| {
            UserError::new(UserErrorKind::Agent, format!("Windlass cannot find itself: {error}"))
        });
    }
    let wanted = given.and_then(Path::to_str).or(driver.program()).unwrap_or(name);
    let path = home.var("PATH").unwrap_or_default();
    agent::doctor::find_program(wanted, path, &home.user).ok_or_else(|| {
        let text =
            format!("the agent CLI `{wanted}` of driver `{name}` is not installed or cannot be executed");
        let problem = UserError::new(UserErrorKind::Agent, text);
        match driver.install_hint() {
            Some(hint) => problem.hint(format!("{hint}; or say where it is with --agent-bin PATH")),
            None => problem,
        }
    })
}

/// What a driver can do, as rows of a table.
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
