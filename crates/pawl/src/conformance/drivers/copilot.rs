//! GitHub Copilot CLI.

use serde_json::json;

use super::super::mcp_server::{SERVER, VERB};
use super::claude::CLAUDE;
use super::{McpFile, McpPlace, QuestionCase, ReportedReset, SuiteDriver};

pub(super) const COPILOT: SuiteDriver = SuiteDriver {
    title: "copilot",
    name: "copilot",
    cli: "copilot",
    env: &[],
    unpacks_to: Some("COPILOT_CACHE_HOME"),
    own_file: Some(("home/.copilot/settings.json", "{\"banner\": \"never\"}\n")),
    reset: ReportedReset::Unknown(
        "the provider of the tests does not report when a limit resets, so the run tries again",
    ),
    mcp_files: &[
        McpFile { path: "repo/.mcp.json", text: servers },
        McpFile { path: "home/.copilot/config.json", text: trust },
    ],
    mcp_prefix: None,
    question: QuestionCase::NotOffered {
        tool: "ask_user",
        why: "without a terminal, the CLI does not offer its question tool to the model",
    },
    ..CLAUDE
};

fn servers(place: &McpPlace) -> String {
    let server = json!({"command": place.program, "args": [VERB], "tools": ["*"]});
    json!({"mcpServers": {SERVER: server}}).to_string()
}

/// The CLI loads the settings of a folder that the user trusts.
fn trust(place: &McpPlace) -> String {
    json!({"firstLaunchAt": "2026-01-01T00:00:00.000Z", "trustedFolders": [place.repo]}).to_string()
}
