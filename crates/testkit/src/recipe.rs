//! The recipes with which the agent CLIs use only a scripted model. [`Sealed::prepare`](crate::Sealed::prepare)
//! writes their files.

pub use windlass_pawl::recipe::{KEY, MODEL, Recipe, claude, codex, copilot, gemini, opencode};

/// Returns the recipe of a CLI for the base URL of a model. Panics for an unknown name.
#[track_caller]
pub fn for_agent(name: &str, url: &str) -> Recipe {
    windlass_pawl::recipe::for_agent(name, url).unwrap_or_else(|| panic!("no recipe for `{name}`"))
}
