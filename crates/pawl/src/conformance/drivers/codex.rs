//! Codex.

use serde_json::json;

use super::super::mcp_server::{SERVER, VERB};
use super::claude::CLAUDE;
use super::{McpFile, McpPlace, QUESTION, QuestionCase, ReportedReset, SuiteDriver};
use crate::model::{ModelTurn, tool};

pub(super) const CODEX: SuiteDriver = SuiteDriver {
    title: "codex",
    name: "codex",
    cli: "codex",
    env: &[],
    own_file: None,
    reset: ReportedReset::ToTheMinute,
    mcp_files: &[
        McpFile { path: "repo/.codex/config.toml", text: servers },
        McpFile { path: "home/.codex/config.toml", text: trust },
    ],
    mcp_prefix: None,
    question: QuestionCase::Answered(ask),
    ..CLAUDE
};

fn servers(place: &McpPlace) -> String {
    format!("[mcp_servers.{SERVER}]\ncommand = {}\nargs = [{}]\n", json!(place.program), json!(VERB))
}

/// The CLI loads the settings of a project that the user trusts.
fn trust(place: &McpPlace) -> String {
    format!("\n[projects.{}]\ntrust_level = \"trusted\"\n", json!(place.repo))
}

fn ask() -> ModelTurn {
    let option = |label: &str| json!({"label": label, "description": format!("Use {label}")});
    let options = [option("80"), option("8080")];
    let question = json!({"id": "port", "header": "Port", "question": QUESTION, "options": options});
    tool("request_user_input", json!({"questions": [question]}))
}
