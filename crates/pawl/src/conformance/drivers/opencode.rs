//! OpenCode.

use serde_json::json;

use super::super::mcp_server::{SERVER, VERB};
use super::claude::CLAUDE;
use super::{McpFile, McpPlace, QuestionCase, ReportedReset, SuiteDriver};
use crate::model::rate_limit;

pub(super) const OPENCODE: SuiteDriver = SuiteDriver {
    title: "opencode",
    name: "opencode",
    cli: "opencode",
    env: &[],
    own_file: None,
    limit: rate_limit,
    reset: ReportedReset::ToTheSecond,
    mcp_files: &[McpFile { path: "repo/opencode.json", text: servers }],
    mcp_prefix: None,
    question: QuestionCase::NotOffered {
        tool: "question",
        why: "without a terminal, the CLI does not offer its question tool to the model",
    },
    ..CLAUDE
};

pub(super) fn servers(place: &McpPlace) -> String {
    let server = json!({"type": "local", "command": [place.program, VERB], "enabled": true});
    json!({"mcp": {SERVER: server}}).to_string()
}
