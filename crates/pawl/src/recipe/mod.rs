//! Recipes: the files and variables with which an agent CLI uses only a scripted model, without a login.
//!
//! A file per CLI. A recipe touches nothing: who uses it writes its files and sets its variables.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;

pub use claude::claude;
pub use codex::codex;
pub use copilot::copilot;
pub use gemini::gemini;
pub use opencode::opencode;

/// The name of the model in every recipe that has to name one.
pub const MODEL: &str = "scripted-model";

/// A key that unlocks nothing. It is no word, because some CLIs remove their key from all they print.
pub const KEY: &str = "sk-scripted-0123456789";

/// The files and variables of an agent CLI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recipe {
    /// Files below `HOME`, with their texts.
    pub home: Vec<(&'static str, String)>,
    /// Files below `XDG_CONFIG_HOME`, with their texts.
    pub config: Vec<(&'static str, String)>,
    pub env: Vec<(&'static str, String)>,
}

/// Returns the recipe of a CLI for the base URL of a model, if there is one.
pub fn for_agent(name: &str, url: &str) -> Option<Recipe> {
    match name {
        "claude" => Some(claude(url)),
        "codex" => Some(codex(url)),
        "opencode" => Some(opencode(url)),
        "copilot" => Some(copilot(url)),
        "gemini" => Some(gemini(url)),
        _ => None,
    }
}
