//! Claude Code.

use serde_json::json;

use super::super::mcp_server::{SERVER, VERB};
use super::{
    McpFile, McpNames, McpPlace, QUESTION, QuestionCase, ReportedReset, ReportedUsage, RolePlace, SuiteDriver,
};
use crate::model::{ModelTurn, tool, usage_limit};

pub(super) const CLAUDE: SuiteDriver = SuiteDriver {
    title: "claude",
    name: "claude",
    cli: "claude",
    words: "",
    env: &[("CLAUDE_CONFIG_DIR", "home/.claude")],
    unpacks_to: None,
    own_file: Some(("home/.claude/settings.json", "{\"cleanupPeriodDays\": 77}\n")),
    role: RolePlace::System,
    limit: usage_limit,
    reset: ReportedReset::Unknown(
        "with an API key, the CLI does not report when a limit resets, so the run tries again",
    ),
    usage: ReportedUsage::Exact,
    no_resume: None,
    mcp_files: &[McpFile { path: "repo/.mcp.json", text: servers }],
    untold_rule: None,
    mcp: McpNames::Canonical,
    mcp_prefix: Some("mcp__harbour__"),
    question: QuestionCase::Answered(ask),
};

fn servers(place: &McpPlace) -> String {
    json!({"mcpServers": {SERVER: {"command": place.program, "args": [VERB]}}}).to_string()
}

fn ask() -> ModelTurn {
    let option = |label: &str| json!({"label": label, "description": format!("Use {label}")});
    let options = [option("80"), option("8080")];
    let question = json!({"question": QUESTION, "header": "Port", "options": options, "multiSelect": false});
    tool("AskUserQuestion", json!({"questions": [question]}))
}
