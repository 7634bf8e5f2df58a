//! Codex's names for its tools.

use windlass_core::hook::ToolName;

/// The shell, as hooks name it.
pub(super) const SHELL: &str = "Bash";
/// The tool that changes files.
pub(super) const PATCH: &str = "apply_patch";
/// The tool that asks a person.
pub(super) const QUESTION: &str = "request_user_input";
/// The search that runs at the model's service, so that no hook is asked about it.
pub(super) const WEB_SEARCH: &str = "web_search";
/// The tool that starts a subagent.
pub(super) const SUBAGENT: &str = "spawn_agent";

/// The tools that a session can have. Codex reads and searches with its shell, so the tools that only read
/// are there where its sandbox is read-only.
pub(super) const HAS: &[ToolName] = &[
    ToolName::Read,
    ToolName::Search,
    ToolName::Edit,
    ToolName::Write,
    ToolName::Shell,
    ToolName::WebSearch,
    ToolName::Task,
    ToolName::Mcp,
    ToolName::Plan,
];

/// Returns the canonical name of a tool. A tool that the presets do not list is `Other`.
pub(super) fn name(name: &str) -> ToolName {
    match name {
        SHELL | "shell" | "local_shell" | "exec_command" | "write_stdin" => ToolName::Shell,
        PATCH => ToolName::Edit,
        "view_image" => ToolName::Read,
        WEB_SEARCH => ToolName::WebSearch,
        SUBAGENT | "send_input" | "resume_agent" | "wait" | "wait_agent" | "close_agent" => ToolName::Task,
        QUESTION | "update_plan" | "get_goal" | "create_goal" | "update_goal" | "tool_search" => {
            ToolName::Plan
        }
        "list_mcp_resources" | "list_mcp_resource_templates" | "read_mcp_resource" => ToolName::Mcp,
        server if server.starts_with("mcp__") => ToolName::Mcp,
        _ => ToolName::Other,
    }
}
