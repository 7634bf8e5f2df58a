//! The differences between the drivers, as data. A file for each agent CLI, and one for those that speak the Agent Client
//! Protocol.

mod acp;
mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;

use std::time::Duration;

use crate::model::ModelTurn;

/// A column of the table: a driver with the agent CLI that it runs.
pub struct SuiteDriver {
    /// The head of its column.
    pub title: &'static str,
    /// The value of `--driver`.
    pub name: &'static str,
    /// The agent CLI, by the name of its own driver.
    pub cli: &'static str,
    /// The arguments that are part of the agent's command.
    pub(super) words: &'static str,
    /// More variables of the CLI, each with a path below the place of a scene.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// The variable for the folder in which the CLI unpacks itself once.
    pub(super) unpacks_to: Option<&'static str>,
    /// A file of the user's own settings, with its text, beside those of the recipe.
    pub(super) own_file: Option<(&'static str, &'static str)>,
    pub(super) role: RolePlace,
    /// An answer that refuses a request because of a limit that resets after this time.
    pub(super) limit: fn(Duration) -> ModelTurn,
    pub(super) reset: ReportedReset,
    pub(super) usage: ReportedUsage,
    /// The reason why the CLI cannot continue a conversation in a new process.
    pub(super) no_resume: Option<&'static str>,
    /// The files with which a project adds an MCP server.
    pub(super) mcp_files: &'static [McpFile],
    /// The reason why the model does not learn which rule denied a tool.
    pub(super) untold_rule: Option<&'static str>,
    pub(super) mcp: McpNames,
    /// The beginning of the name of a tool that the CLI offers only after a search for tools.
    pub(super) mcp_prefix: Option<&'static str>,
    pub(super) question: QuestionCase,
}

/// The place at which the model reads an entity's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RolePlace {
    System,
    /// At the beginning of the prompt, because the CLI has no flag for a system prompt.
    Prompt,
}

/// The precision with which a CLI reports when a limit resets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportedReset {
    ToTheSecond,
    ToTheMinute,
    /// Not at all, so the run waits a minute, then longer. With the reason.
    Unknown(&'static str),
    /// The CLI waits itself, and Windlass learns nothing of the limit. With the words for it.
    Hidden(&'static str),
}

/// The completeness with which a CLI reports its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportedUsage {
    Exact,
    /// The figure is marked as partial.
    Partial,
}

/// A settings file that adds an MCP server.
pub(super) struct McpFile {
    /// The path below the place of a scene.
    pub(super) path: &'static str,
    pub(super) text: fn(&McpPlace) -> String,
}

/// The server and the repository of a scene, for a settings file.
pub(super) struct McpPlace {
    /// The program of the server. Its argument is [`VERB`](super::mcp_server::VERB).
    pub(super) program: String,
    pub(super) repo: String,
}

/// The name under which the rules see a tool of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum McpNames {
    /// `mcp__SERVER__TOOL`.
    Canonical,
    /// They do not see it, because the CLI does not ask. With the words for it.
    Unasked(&'static str),
}

/// The way of a question to a person.
#[derive(Clone, Copy)]
pub(super) enum QuestionCase {
    /// The model asks [`QUESTION`] with this turn, and a person answers.
    Answered(fn() -> ModelTurn),
    /// The CLI does not offer this tool to the model. With the reason.
    NotOffered { tool: &'static str, why: &'static str },
}

/// The question of a scene.
pub(super) const QUESTION: &str = "Which port?";

/// Every driver of an agent CLI.
pub const SUITE_DRIVERS: &[&SuiteDriver] = &[
    &claude::CLAUDE,
    &codex::CODEX,
    &opencode::OPENCODE,
    &copilot::COPILOT,
    &gemini::GEMINI,
    &acp::OPENCODE,
    &acp::GEMINI,
];
