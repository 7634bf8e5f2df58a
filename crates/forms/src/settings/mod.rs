//! Settings in layers: built-in, user, project, environment, flags.
//!
//! [`resolve`] lays them over each other and keeps where each value came from, for
//! `windlass config show`. Which files there are, and the environment, are the caller's to
//! read. A project's file may be a stranger's: what would run a program of its choice or
//! loosen safety is not taken from it (`[checks]` are, as a project's tests are its own).
//!
//! Most keys are replaced by a higher layer. Lists (`plugins`, `[permissions]`) grow instead,
//! so that no layer can drop a rule of a lower one, and tables are merged by name. The list of
//! providers is one value.

mod key;
mod layer;
mod pairs;
mod project;
mod reference;
mod resolve;
mod setting_value;
mod table;
mod value;
pub(crate) mod words;

pub use layer::{Layer, LayerKind, SettingSource};
pub use reference::{default_file, page};
pub use resolve::{DEFAULT_SETTINGS, Resolved, ShownSetting, resolve};
pub use setting_value::{DurationError, parse_duration};
pub use value::{AgentSettings, DurabilitySetting, EntitySettings, PluginDir, Settings};

#[cfg(test)]
mod tests;
