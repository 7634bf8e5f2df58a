//! Codex's names for its tools.

use windlass_core::hook::ToolName;

/// The shell, as hooks name it.
pub(super) const SHELL: &str = "Bash";
/// The tool that changes files.
pub(super) const PATCH: &str = "apply_patch";
/// The tools that ask a person.
const QUESTIONS: [&str; 2] = ["request_user_input", "request_user_input_async"];
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

/// The groups of tools. Hooks get the name of the group and of the tool as one word.
const GROUPS: [&str; 4] = ["collaboration", "multi_agent_v1", "functions", "clock"];

/// Returns the name of a tool without its group, as rules write it.
pub(super) fn own_name(name: &str) -> &str {
    let own = GROUPS.iter().find_map(|group| name.strip_prefix(group));
    own.filter(|own| !own.is_empty()).unwrap_or(name)
}

/// Returns the canonical name of a tool. A tool that the presets do not list is `Other`.
pub(super) fn name(name: &str) -> ToolName {
    if name.starts_with("mcp__") {
        return ToolName::Mcp;
    }
    match own_name(name) {
        SHELL | "shell" | "local_shell" | "exec_command" | "write_stdin" => ToolName::Shell,
        PATCH => ToolName::Edit,
        "view_image" => ToolName::Read,
        WEB_SEARCH => ToolName::WebSearch,
        SUBAGENT | "followup_task" | "send_message" | "send_input" | "interrupt_agent" | "list_agents"
        | "resume_agent" | "wait" | "wait_agent" | "close_agent" => ToolName::Task,
        "update_plan" | "get_goal" | "create_goal" | "update_goal" | "tool_search" | "sleep"
        | "curr_time" | "__curr_time" => ToolName::Plan,
        asks if is_question(asks) => ToolName::Plan,
        "list_mcp_resources" | "list_mcp_resource_templates" | "read_mcp_resource" => ToolName::Mcp,
        _ => ToolName::Other,
    }
}

/// Decides whether a tool asks a person.
pub(super) fn is_question(name: &str) -> bool {
    QUESTIONS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_known_with_and_without_its_group() {
        for (written, expected) in [
            ("Bash", ToolName::Shell),
            ("collaborationspawn_agent", ToolName::Task),
            ("spawn_agent", ToolName::Task),
            ("functionsview_image", ToolName::Read),
            ("clocksleep", ToolName::Plan),
            ("clock", ToolName::Other),
            ("mcp__collaboration__spawn_agent", ToolName::Mcp),
            ("request_user_input_async", ToolName::Plan),
            ("collaboration", ToolName::Other),
            ("", ToolName::Other),
        ] {
            assert_eq!(name(written), expected, "{written}");
        }
        assert_eq!(own_name("collaborationspawn_agent"), "spawn_agent");
        assert_eq!(own_name("mcp__x__y"), "mcp__x__y");
    }
}
