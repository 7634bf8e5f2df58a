//! The settings as values.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::entity::Provider;
use windlass_core::hook::permission::{Isolation, PermissionRules};
use windlass_core::looping::LoopMode;
use windlass_core::spec::{Check, OnPermission, OnQuestion};

use super::layer::SettingSource;

/// Everything that can be set. `default.toml` says what each one is for.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Which agent CLI.
    pub driver: String,
    /// Its model; none leaves it to the CLI.
    pub model: Option<String>,
    /// What an agent may use; never above `max_isolation`.
    pub isolation: Isolation,
    /// What a workflow may raise that to.
    pub max_isolation: Isolation,
    /// Plugin folders, those of lower layers first.
    pub plugins: Vec<PluginDir>,
    /// Turns in total; 0 is unlimited.
    pub max_iterations: u32,
    /// How a loop goes on.
    pub mode: LoopMode,
    /// Turns without progress after which a loop is blocked; 0 is never.
    pub stuck_after: u32,
    /// The longest a run may take.
    pub timeout: Option<Duration>,
    /// The longest one check may take.
    pub check_timeout: Duration,
    /// Between terminate and kill.
    pub grace: Duration,
    /// The first wait after a transient error.
    pub retry_delay: Duration,
    /// The first wait after a rate limit without a time.
    pub rate_limit_wait: Duration,
    /// What is answered for a tool nobody can be asked about.
    pub on_permission: OnPermission,
    /// What is answered to a question nobody can be asked.
    pub on_question: OnQuestion,
    /// How hard a commit is.
    pub durability: DurabilitySetting,
    /// Gates, in the order they were written; a higher layer replaces one in its place.
    pub checks: Vec<Check>,
    /// Rules within the preset, of all layers.
    pub permissions: PermissionRules,
    /// How agent CLIs are started, by driver.
    pub agents: BTreeMap<String, AgentSettings>,
    /// Where entities are looked for.
    pub entities: EntitySettings,
}

/// Where commands, skills and agents are looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntitySettings {
    /// Whose folders are read, as it was written.
    pub providers: Vec<Provider>,
    /// The project, instead of the one around the working directory; as written, relative to
    /// the folder of its file.
    pub project_path: Option<String>,
    /// The user's home, for entities alone; as written.
    pub user_path: Option<String>,
}

/// A plugin folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginDir {
    /// As written: relative to the folder of its file, or to the working directory where it
    /// came from the environment or a flag.
    pub path: String,
    /// Where it was written.
    pub source: SettingSource,
}

/// How one agent CLI is started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentSettings {
    /// The program, a path or a name to look up.
    pub program: Option<String>,
    /// Arguments before all others.
    pub args: Vec<String>,
}

/// How hard a commit that carries outside effects is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilitySetting {
    /// It survives a power cut.
    Full,
    /// It survives a crash of the process.
    Normal,
}

impl Settings {
    /// Before any layer, the built-in one included. A test sees that `default.toml` gives every
    /// one of these values.
    pub(super) fn blank() -> Settings {
        Settings {
            driver: String::new(),
            model: None,
            isolation: Isolation::Strict,
            max_isolation: Isolation::Permissive,
            plugins: Vec::new(),
            max_iterations: 1,
            mode: LoopMode::Fresh,
            stuck_after: 1,
            timeout: None,
            check_timeout: Duration::ZERO,
            grace: Duration::ZERO,
            retry_delay: Duration::ZERO,
            rate_limit_wait: Duration::ZERO,
            on_permission: OnPermission::Deny,
            on_question: OnQuestion::Fail,
            durability: DurabilitySetting::Full,
            checks: Vec::new(),
            permissions: PermissionRules::default(),
            agents: BTreeMap::new(),
            entities: EntitySettings::default(),
        }
    }
}
