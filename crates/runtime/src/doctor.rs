//! Finds git and the installed agent CLIs, and reports their capabilities.

#[cfg(test)]
mod page;

use std::path::{Path, PathBuf};

use windlass_core::graph::check::nearest;
use windlass_peers::agent::{self, Dialect, Enforcement, Hold, LoginPlaces};
use windlass_peers::git;

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
    pub login: LoginReport,
    pub capabilities: Vec<Capability>,
    pub limits: Vec<DriverLimit>,
    /// The reason why it cannot be used.
    pub problem: Option<String>,
    /// A hint for a driver that cannot be used.
    pub advice: Option<String>,
}

/// A feature that a driver has or lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    pub name: &'static str,
    /// The feature in plain words, about the agent CLI.
    pub about: &'static str,
    pub able: bool,
}

/// The user's login of an agent CLI, as far as Windlass can see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginReport {
    /// Windlass does not know where the CLI keeps it.
    Unknown,
    /// A variable or a file with a login. Nothing shows that the service accepts it.
    Found(String),
    NotFound,
}

/// A limit of a session, and the strength with which it holds on a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriverLimit {
    pub name: &'static str,
    /// The limit in plain words.
    pub about: &'static str,
    pub hold: Hold,
}

impl DriverLimit {
    /// Returns the strength in a word.
    pub fn word(&self) -> &'static str {
        match self.hold {
            Hold::Enforced | Hold::ByKernel => "enforced",
            Hold::Asked => "asked",
            Hold::Impossible => "no",
        }
    }
}

/// Git as installed on this machine.
#[derive(Debug, Clone)]
pub struct GitReport {
    pub program: Option<PathBuf>,
    /// The output of `--version`.
    pub version: Option<String>,
    /// The reason why it cannot be used.
    pub problem: Option<String>,
    /// True if the folder is in a repository.
    pub is_repository: bool,
}

/// Checks git, and whether a folder is in a repository.
pub fn git_report(home: &Home, folder: &Path) -> GitReport {
    let path = home.var("PATH").unwrap_or_default();
    let program = agent::doctor::find_program("git", path, &home.user);
    let version = program.as_deref().map(|program| agent::doctor::probe(program, &[]));
    let problem = match &version {
        None => Some("`git` is not on the PATH".to_owned()),
        Some(Err(error)) => Some(error.to_string()),
        Some(Ok(_)) => None,
    };
    let version = version.and_then(Result::ok);
    GitReport { is_repository: version.is_some() && git::is_repository(folder), program, version, problem }
}

/// Checks every driver.
pub fn doctor(home: &Home) -> Vec<DriverReport> {
    home.agents.iter().map(|dialect| report(home, &**dialect)).collect()
}

fn report(home: &Home, driver: &dyn Dialect) -> DriverReport {
    let found = find_agent(home, driver.name(), None);
    let version = found.as_deref().map(|program| agent::doctor::probe(program, driver.version_env()));
    let (problem, advice) = match (&found, &version) {
        (Err(missing), _) => (Some(missing.text()), missing.hint.clone()),
        (_, Ok(Err(error))) => {
            let again = driver.install_hint().map(|hint| format!("repair it: {hint}"));
            (Some(error.to_string()), again)
        }
        _ => (None, None),
    };
    let version = version.ok().and_then(Result::ok);
    DriverReport {
        name: driver.name(),
        ok: version.is_some(),
        login: login(home, driver),
        capabilities: rows(driver.capabilities()),
        limits: limits(driver.capabilities().enforcement.on_this_machine()),
        problem,
        advice,
        program: found.ok(),
        version,
    }
}

fn login(home: &Home, driver: &dyn Dialect) -> LoginReport {
    let places = driver.login_places(&home.user, &home.env);
    if places == LoginPlaces::default() {
        return LoginReport::Unknown;
    }
    let is_set = |name: &&&str| home.var(name).is_some_and(|value| !value.is_empty());
    if let Some(name) = places.variables.iter().find(is_set) {
        return LoginReport::Found((*name).to_owned());
    }
    let file = places.files.iter().find(|file| file.is_file());
    file.map_or(LoginReport::NotFound, |file| LoginReport::Found(file.display().to_string()))
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
    if driver.needs_command() && given.is_none() {
        let text = format!("driver `{name}` runs any agent that speaks its protocol, and nothing names one");
        let hint = r#"give its command: --agent-bin "opencode acp", or `program` under `agents.acp` in the settings"#;
        return Err(UserError::new(UserErrorKind::Agent, text).hint(hint));
    }
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
        UserError { hint: install_hint(home, name), ..UserError::new(UserErrorKind::Agent, text) }
    })
}

/// Says how to install the agent CLI of a driver.
pub(crate) fn install_hint(home: &Home, driver: &str) -> Option<String> {
    let hint = home.agents.named(driver)?.install_hint()?;
    Some(format!("{hint}; or give its path with --agent-bin PATH"))
}

/// Lists the capabilities of a driver as rows of a table.
fn rows(can: agent::Capabilities) -> Vec<Capability> {
    let row = |name, able, about| Capability { name, about, able };
    vec![
        row("stream", can.stream, "reports what it does while it works"),
        row("resume", can.resume, "continues an earlier session"),
        row("fork", can.fork, "continues a copy of a session"),
        row("hooks", !can.hooks.is_empty(), "tells Windlass before it uses a tool"),
        row("stop-block", can.stop_block, "keeps working if Windlass does not let it stop"),
        row("permissions", can.permissions, "asks before it uses a tool"),
        row("questions", can.questions, "asks a person questions"),
        row("mcp", can.mcp, "uses MCP servers"),
        row("budget", can.budget, "stops at a cost that you set"),
        row("models", can.models, "lets you choose the model"),
        row("effort", can.effort, "lets you choose the effort"),
        row("usage", can.usage, "reports its tokens"),
        row("cost", can.cost, "reports what it cost"),
        row("adoptable", can.adoptable, "keeps working if Windlass crashes"),
    ]
}

/// Lists the limits of a session on a driver as rows of a table.
fn limits(enforcement: Enforcement) -> Vec<DriverLimit> {
    let row = |name, hold, about| DriverLimit { name, about, hold };
    vec![
        row("tools", enforcement.tools, "uses only tools that the isolation and the rules allow"),
        row("settings", enforcement.settings, "loads only the settings that the isolation allows"),
        row(
            "shell-writes",
            enforcement.shell_writes,
            "shell commands write only in the workspace, in `strict`",
        ),
        row("shell-network", enforcement.shell_network, "shell commands have no network, in `strict`"),
    ]
}
