//! Gemini CLI.

use serde_json::json;

use super::super::mcp_server::{SERVER, VERB};
use super::claude::CLAUDE;
use super::{McpFile, McpPlace, QuestionCase, ReportedReset, RolePlace, SuiteDriver};
use crate::model::rate_limit;

pub(super) const GEMINI: SuiteDriver = SuiteDriver {
    title: "gemini",
    name: "gemini",
    cli: "gemini",
    env: &[],
    own_file: None,
    role: RolePlace::Prompt,
    limit: rate_limit,
    reset: ReportedReset::ToTheSecond,
    mcp_files: &[McpFile { path: "repo/.gemini/settings.json", text: servers }],
    mcp_prefix: None,
    question: QuestionCase::NotOffered {
        tool: "ask_user",
        why: "without a terminal, the CLI does not offer its question tool to the model",
    },
    ..CLAUDE
};

pub(super) fn servers(place: &McpPlace) -> String {
    json!({"mcpServers": {SERVER: {"command": place.program, "args": [VERB]}}}).to_string()
}
