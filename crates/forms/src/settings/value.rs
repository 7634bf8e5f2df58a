//! The settings as values.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::entity::Provider;
use windlass_core::graph::workflow::Budget;
use windlass_core::hook::permission::{Isolation, PermissionRules};
use windlass_core::looping::LoopMode;
use windlass_core::spec::{Check, NotifySettings, OnPermission, OnQuestion};

use super::layer::SettingSource;
use super::prices::PriceSetting;

/// All settings. `default.toml` describes each of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The agent CLI that runs a session.
    pub driver: String,
    /// The model; if unset, the CLI chooses.
    pub model: Option<String>,
    /// The drivers that take the work over when the driver of a session cannot continue, in order.
    pub fallback: Vec<String>,
    /// The work returns to its own driver when the limit of that driver has reset.
    pub switch_back: bool,
    /// The preset for an agent's tools; never above `max_isolation`.
    pub isolation: Isolation,
    /// The most permissive isolation that a workflow may ask for.
    pub max_isolation: Isolation,
    /// Plugin folders, with those of lower layers first.
    pub plugins: Vec<PluginDir>,
    /// The most turns of a loop; 0 means no limit.
    pub max_iterations: u32,
    /// The way in which a loop starts its next turn.
    pub mode: LoopMode,
    /// The turns without progress after which a loop ends as blocked; 0 means never.
    pub stuck_after: u32,
    /// The longest time that a run may take.
    pub timeout: Option<Duration>,
    /// The longest time that one check may take.
    pub check_timeout: Duration,
    /// The time between asking a process to end and killing it.
    pub grace: Duration,
    /// The first wait after a transient error.
    pub retry_delay: Duration,
    /// The first wait after a rate limit that does not say when it ends.
    pub rate_limit_wait: Duration,
    /// The answer to a permission request that no rule decides and no person is there to answer.
    pub on_permission: OnPermission,
    /// The answer to an agent's question that no person is there to answer.
    pub on_question: OnQuestion,
    pub durability: DurabilitySetting,
    /// Checks, in the order of the files. A higher layer replaces a check without moving it.
    pub checks: Vec<Check>,
    /// The rules of all layers, within the isolation preset.
    pub permissions: PermissionRules,
    /// The commands that start agent CLIs, by driver.
    pub agents: BTreeMap<String, AgentSettings>,
    pub entities: EntitySettings,
    /// The budgets of the day, by driver; `day` is for all drivers together.
    pub budgets: BTreeMap<String, Budget>,
    /// The prices of models, by the name of a model or the beginning of one.
    pub prices: BTreeMap<String, PriceSetting>,
    /// The ways to tell a person about a run. The program is as written.
    pub notify: NotifySettings,
}

/// The folders that Windlass searches for commands, skills and agents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntitySettings {
    /// The tools whose folders Windlass searches, in the order of the setting.
    pub providers: Vec<Provider>,
    /// The project to search instead of the one around the working directory. The path is as
    /// written, relative to the folder of its file.
    pub project_path: Option<String>,
    /// The folder to search instead of the user's home, as written.
    pub user_path: Option<String>,
}

/// A plugin folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginDir {
    /// The path as written: relative to the folder of its file, or to the working directory if it
    /// comes from a variable or a flag.
    pub path: String,
    pub source: SettingSource,
}

/// The command that starts an agent CLI.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentSettings {
    /// A path, or a name to look up in `PATH`.
    pub program: Option<String>,
    /// Arguments that come before all others.
    pub args: Vec<String>,
    /// The model of this driver, unless the run or the workflow names one.
    pub model: Option<String>,
}

/// The durability of a commit that Windlass makes before it acts on the outside world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilitySetting {
    /// Survives a power cut.
    Full,
    /// Survives a crash of the process.
    Normal,
}

impl Settings {
    /// Returns the state before any layer, even the built-in one. A test checks that `default.toml`
    /// sets every one of these values.
    pub(super) fn blank() -> Settings {
        Settings {
            driver: String::new(),
            model: None,
            fallback: Vec::new(),
            switch_back: true,
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
            budgets: BTreeMap::new(),
            prices: BTreeMap::new(),
            notify: NotifySettings::default(),
        }
    }
}
