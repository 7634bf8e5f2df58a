//! Settings in layers: built-in, user, project, environment, flags.
//!
//! [`resolve`] merges the layers and records the source of each value for `windlass config show`.
//! The caller finds and reads the files and the environment. A project's file may come from a
//! stranger, so it cannot choose the programs that Windlass runs or widen what an agent may do, until
//! a person trusts it. It may set `[checks]`, because running a project's tests means running its
//! code anyway.
//!
//! A higher layer replaces most values. `plugins` and the lists in `[permissions]` grow instead, so
//! that no layer can drop a rule of a lower one. Tables merge by name. `entities.providers` is
//! replaced as a whole.

mod budgets;
mod key;
mod layer;
mod pairs;
mod prices;
mod project;
mod reference;
mod resolve;
mod setting_value;
mod table;
mod value;
pub(crate) mod words;

pub use layer::{Layer, LayerKind, ProjectTrust, SettingSource};
pub use prices::PriceSetting;
pub use project::TrustRequest;
pub use reference::{default_file, page};
pub use resolve::{DEFAULT_SETTINGS, Resolved, ShownSetting, resolve};
pub use setting_value::{DurationError, parse_duration};
pub use value::{AgentSettings, DurabilitySetting, EntitySettings, PluginDir, Settings};

#[cfg(test)]
mod tests;
