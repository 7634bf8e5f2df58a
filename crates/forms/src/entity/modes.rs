//! Reads limits that are one word for many tools, and the limits in Codex's settings.
//!
//! A limit that Windlass cannot enforce is an error that names the key.

use windlass_core::entity::{ToolEffect, ToolRule};

use super::entity_draft::is_telling;
use super::tools::{LimitReader, harmless, shown, whole, without_quotes};
use crate::json::{JsonMember, JsonNode, JsonValue, kind};
use crate::words::{WordTable, did_you_mean, quoted};

#[derive(Clone, Copy, PartialEq)]
enum Sandbox {
    ReadOnly,
    Workspace,
    None,
}

const SANDBOXES: WordTable<Sandbox> = WordTable(&[
    ("read-only", Sandbox::ReadOnly),
    ("workspace-write", Sandbox::Workspace),
    ("danger-full-access", Sandbox::None),
]);

/// The permission profiles that come with Codex.
const PROFILES: WordTable<Sandbox> = WordTable(&[
    (":read-only", Sandbox::ReadOnly),
    (":workspace", Sandbox::Workspace),
    (":danger-full-access", Sandbox::None),
]);

/// Codex's approval policies, and whether each asks a person before every command.
const APPROVALS: WordTable<bool> =
    WordTable(&[("untrusted", true), ("on-failure", false), ("on-request", false), ("never", false)]);

/// Codex's modes of web search, and whether each allows searching.
const SEARCHES: WordTable<bool> =
    WordTable(&[("disabled", false), ("cached", true), ("indexed", true), ("live", true)]);

/// Claude Code's permission modes, and whether each is a limit.
const MODES: WordTable<bool> = WordTable(&[
    ("plan", true),
    ("default", false),
    ("acceptEdits", false),
    ("bypassPermissions", false),
    ("dontAsk", false),
    ("auto", false),
    ("manual", false),
    ("delegate", false),
]);

/// The effect of switching a Codex feature off.
#[derive(Clone, Copy)]
enum DisabledFeature {
    /// Denies this tool.
    Denies(&'static str),
    /// No effect: no tool of Windlass's agents does this.
    Nothing,
    /// An error: Windlass cannot keep it off.
    Open,
}

/// Codex features that correspond to a tool, with the effect of switching each off.
const FEATURES: [(&str, DisabledFeature); 13] = [
    ("shell_tool", DisabledFeature::Denies("bash")),
    ("web_search", DisabledFeature::Denies("websearch")),
    ("web_search_request", DisabledFeature::Denies("websearch")),
    ("web_search_cached", DisabledFeature::Denies("websearch")),
    ("standalone_web_search", DisabledFeature::Denies("websearch")),
    ("multi_agent", DisabledFeature::Denies("task")),
    ("multi_agent_v2", DisabledFeature::Denies("task")),
    ("collab", DisabledFeature::Denies("task")),
    ("enable_fanout", DisabledFeature::Denies("task")),
    ("view_image", DisabledFeature::Open),
    ("view_image_tool", DisabledFeature::Open),
    ("apply_patch_freeform", DisabledFeature::Nothing),
    ("unified_exec", DisabledFeature::Nothing),
];

/// Features that limit Codex when they are on.
const LIMITING: [&str; 4] = ["network_proxy", "credential_masking", "code_mode_only", "js_repl_tools_only"];

/// The other features of Codex 0.166. None of them is a tool or a limit in Windlass.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "agent_message_board", "analytics_plan_history", "api_key_cyber_access_programs", "api_key_model_discovery",
    "app_server_websocket_compression", "apply_patch_preserve_line_endings", "apply_patch_streaming_events", "apps",
    "apps_mcp_path_override", "artifact", "async_compaction", "auth_elicitation",
    "background_paginated_rollout_migration", "bedrock_setup_wizard", "browser_annotation_api", "browser_use",
    "browser_use_external", "browser_use_full_cdp_access", "chronicle", "cli_daybreak", "code_mode",
    "code_mode_buffered_exec", "code_mode_host", "code_mode_host_grpc", "code_mode_interrupt",
    "code_mode_only_strict_3p_tools", "code_mode_prewarm", "code_mode_tool_description_first", "code_mode_tool_search",
    "codex_apps_mcp_2026_07_28", "codex_git_commit", "collaboration_modes", "compaction_image_budget", "computer_use",
    "concurrent_reasoning_summaries", "content_item_kinds", "context_management", "critical_path_timing",
    "current_time_reminder", "cwd_relative_turn_diffs", "daemon_auto_start", "default_mode_request_user_input",
    "defer_mailbox_preemption", "deferred_executor", "deferred_tool_world_state", "elevated_windows_sandbox",
    "enable_mcp_apps", "enable_request_compression", "exec_permission_approvals", "executed_tool_call_metadata",
    "executor_capability_discovery", "executor_capability_discovery_v2", "experimental_windows_sandbox",
    "external_agent_memory_import", "external_migration", "fast_mode", "goals", "guardian_approval",
    "guardian_conversation_history_tools", "guardian_enhanced_node_repl_transcripts", "guardian_ext",
    "guardian_native_multi_agent_history", "guardian_node_repl_transcript_images", "guardian_recorded_items",
    "guardian_reuse_parent_compaction", "guardian_root_handoff_context", "guardian_trust_orchestrator_connectors",
    "guardianv2", "guardianv2.thread_context", "guardianv2_decisions_comparison", "guardianv3", "hooks",
    "image_detail_original", "image_generation", "image_resize_notice", "in_app_browser", "in_app_chat",
    "in_app_dictation", "in_app_local_automation", "in_app_updates", "in_app_voice", "incremental_tools",
    "instant_interrupt", "item_ids", "js_repl", "local_thread_store_compression",
    "local_thread_store_shared_compression", "login_shell_package_path", "mcp_2026_07_28", "mcp_connection_sharing",
    "mcp_oauth_refresh_coordination", "mcp_tool_list_changed", "memories", "mentions_v2", "model_catalog_in_context",
    "multi_agent_mode", "multi_agent_v2_dynamic_tools", "multi_env_copy_file", "non_prefixed_mcp_tool_names",
    "nonfatal_clock_read_errors", "omit_app_server_notification_media", "omit_skill_descriptions",
    "output_token_replay", "personality", "plugin_discovery_prefetch", "plugin_hooks", "plugin_sharing", "plugins",
    "powershell_shell_version", "prediction_preserve_parent_tools", "prefer_mxc", "prevent_idle_sleep", "psp",
    "realtime_conversation", "reasoning_effort_override", "recommended_plugins", "remote_compaction_v2",
    "remote_control", "remote_models", "remote_plugin", "request_permissions_tool", "request_rule", "resize_all_images",
    "respect_system_proxy", "responses_websockets", "responses_websockets_v2", "retain_client_developer_messages",
    "retain_client_tool_outputs", "rollout_budget", "runtime_agent_instances", "runtime_metrics", "search_tool",
    "secret_auth_storage", "send_async_message", "send_message_to_user_async", "shell_snapshot", "shell_snapshot_v2",
    "shell_zsh_fork", "simplified_selection_hints", "skill_catalog_deltas", "skill_env_var_dependency_prompt",
    "skill_mcp_dependency_install", "skill_search", "skip_host_skill_discovery", "sleep_tool", "sqlite",
    "stable_environment_tools", "steer", "step_model_switching", "subagent_default_context_limits",
    "subagent_thread_environments", "system_proxy_fallback", "terminal_resize_reflow",
    "terminal_visualization_instructions", "token_budget", "tool_call_mcp_elicitation", "tool_search",
    "tool_search_always_defer_mcp_tools", "tool_suggest", "transcript_v2", "tui_app_server", "tui_multi_backend",
    "ultrafast_mode", "unavailable_dummy_tools", "unbounded_connection_retries", "undo", "unified_exec_tty",
    "unified_exec_zsh_fork", "unified_image_budget", "untrusted_as_tool_output", "use_agent_identity",
    "use_legacy_landlock", "use_linux_sandbox_bwrap", "use_xaa", "wake_on_agent_messages", "windows_sandbox_service",
    "workspace_dependencies", "workspace_owner_usage_nudge", "worktrees", "write_stdin_approval",
];

impl LimitReader<'_, '_> {
    /// Reads Codex's `sandbox_mode`. Windlass cannot keep a shell from writing, so a read-only
    /// sandbox has no shell.
    pub(super) fn sandbox(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        self.word(key, node, &SANDBOXES).map_or_else(Vec::new, sandbox_rules)
    }

    /// Reads Codex's `default_permissions`. Accepts only the profiles that come with Codex.
    pub(super) fn profile(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        self.word(key, node, &PROFILES).map_or_else(Vec::new, sandbox_rules)
    }

    /// Reads Claude Code's `permissionMode`. Only `plan` is a limit; modes that would allow more
    /// allow nothing here.
    pub(super) fn mode(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        match self.word(key, node, &MODES) {
            Some(true) => {
                let denied = ["edit", "write"].map(|tool| whole(tool, ToolEffect::Deny));
                denied.into_iter().chain([whole("bash", ToolEffect::Ask)]).collect()
            }
            Some(false) | None => Vec::new(),
        }
    }

    /// Reads the name of an agent.
    pub(super) fn agent(&mut self, key: &str, node: &JsonNode) -> Option<String> {
        match &node.value {
            JsonValue::Text(name) if !name.trim().is_empty() => Some(name.trim().to_owned()),
            other => {
                let message = format!("`{key}` must name an agent, found {}", shown(other));
                self.findings.error(
                    node.at,
                    &message,
                    Some("write its name, so that its limits apply".to_owned()),
                );
                None
            }
        }
    }

    /// Reads OpenCode's `subtask`. A subagent of OpenCode cannot start others.
    pub(super) fn subtask(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        match self.switch(key, node.at, node) {
            Some(true) => vec![whole("task", ToolEffect::Deny)],
            Some(false) | None => Vec::new(),
        }
    }

    /// Reads Codex's `approval_policy`. Only `untrusted` adds a question.
    pub(super) fn approval(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        match self.word(key, node, &APPROVALS) {
            Some(true) => vec![whole("bash", ToolEffect::Ask)],
            Some(false) | None => Vec::new(),
        }
    }

    /// Reads Codex's `web_search`.
    pub(super) fn web_search(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        match self.word(key, node, &SEARCHES) {
            Some(false) => vec![whole("websearch", ToolEffect::Deny)],
            Some(true) | None => Vec::new(),
        }
    }

    /// Reads Codex's `[sandbox_workspace_write]`. Additional writable folders are ignored, because
    /// file tools stay in the workspace. Limits on a shell cannot be enforced and are errors.
    pub(super) fn writable(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        for JsonMember { key: name, key_at, node } in self.table(key, node) {
            let path = format!("{key}.{}", harmless(name));
            match (name.as_str(), &node.value) {
                ("writable_roots", JsonValue::List(items))
                    if items.iter().all(|item| matches!(item.value, JsonValue::Text(_))) => {}
                ("exclude_tmpdir_env_var" | "exclude_slash_tmp", JsonValue::Boolean(_))
                | ("network_access", JsonValue::Boolean(true)) => {}
                ("network_access", JsonValue::Boolean(false)) => {
                    let message = format!("Windlass cannot enforce `{path}`: a shell can reach the network");
                    let hint =
                        "turn the shell off with `shell_tool = false` under `[features]`, or remove the line";
                    self.findings.error(*key_at, &message, Some(hint.to_owned()));
                }
                (
                    "writable_roots" | "exclude_tmpdir_env_var" | "exclude_slash_tmp" | "network_access",
                    other,
                ) => {
                    let message = format!("`{path}` cannot be {}", shown(other));
                    self.findings.error(node.at, &message, without_quotes(name, other));
                }
                _ => self.not_known(&path, *key_at, ""),
            }
        }
        Vec::new()
    }

    /// Reads Codex's `[tools]`: switches of its own tools.
    pub(super) fn codex_tools(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        let mut rules = Vec::new();
        for JsonMember { key: name, key_at, node } in self.table(key, node) {
            let path = format!("{key}.{}", harmless(name));
            let off = match name.as_str() {
                "web_search" => DisabledFeature::Denies("websearch"),
                "view_image" => DisabledFeature::Open,
                "update_plan" | "experimental_request_user_input" => DisabledFeature::Nothing,
                _ => {
                    self.not_known(&path, *key_at, "");
                    continue;
                }
            };
            rules.extend(self.switch(&path, *key_at, node).and_then(|on| self.off(&path, *key_at, on, off)));
        }
        rules
    }

    /// Reads Codex's `[features]`. A feature that is off there must be off here.
    pub(super) fn features(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        let mut rules = Vec::new();
        for JsonMember { key: name, key_at, node } in self.table(key, node) {
            let path = format!("{key}.{}", harmless(name));
            let known = FEATURES.iter().find(|(known, _)| known == name).map(|(_, off)| *off);
            let off = match known {
                Some(off) => off,
                None if OTHERS.contains(&name.as_str()) || LIMITING.contains(&name.as_str()) => {
                    DisabledFeature::Nothing
                }
                None => {
                    let names = FEATURES.iter().map(|(name, _)| *name).chain(OTHERS.iter().copied());
                    let near = did_you_mean(name, names).unwrap_or_default();
                    self.not_known(&path, *key_at, &near);
                    continue;
                }
            };
            let Some(on) = self.switch(&path, *key_at, node) else { continue };
            if on && LIMITING.contains(&name.as_str()) {
                self.cannot_hold(&path, *key_at);
            }
            rules.extend(self.off(&path, *key_at, on, off));
        }
        rules
    }

    /// Reads Codex's `[mcp_servers.NAME]`: servers that are off, and the tools of each server that
    /// may be used.
    pub(super) fn servers(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        let mut rules = Vec::new();
        for JsonMember { key: server, key_at, node } in self.table(key, node) {
            let path = format!("{key}.{}", harmless(server));
            let is_plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
            if server.is_empty() || !server.chars().all(is_plain) {
                let hint = "use letters, digits, `-` and `_`";
                let message = format!("{} is not a valid name for an MCP server", quoted(&harmless(server)));
                self.findings.error(*key_at, &message, Some(hint.to_owned()));
                continue;
            }
            let named = |tool: &str| format!("mcp__{server}__{tool}");
            let (mut listed, mut denied) = (Vec::new(), Vec::new());
            for member in self.table(&path, node) {
                let path = format!("{path}.{}", harmless(&member.key));
                match member.key.as_str() {
                    "enabled" => {
                        let is_off = self.switch(&path, member.key_at, &member.node) == Some(false);
                        denied.extend(is_off.then(|| whole(&named("*"), ToolEffect::Deny)));
                    }
                    "disabled_tools" => {
                        let tools = self.server_tools(&path, &member.node);
                        denied.extend(tools.iter().map(|tool| whole(&named(tool), ToolEffect::Deny)));
                    }
                    "enabled_tools" => {
                        listed.push(whole(&named("*"), ToolEffect::Deny));
                        let tools = self.server_tools(&path, &member.node);
                        listed.extend(tools.iter().map(|tool| whole(&named(tool), ToolEffect::Allow)));
                    }
                    other
                        if other.starts_with("enable")
                            || other.starts_with("disable")
                            || is_telling(other) =>
                    {
                        self.not_known(&path, member.key_at, "");
                    }
                    _ => {}
                }
            }
            // Denials come last, so that they win wherever they are written.
            rules.extend(listed.into_iter().chain(denied));
        }
        rules
    }

    /// Reads a list of a server's tools.
    fn server_tools<'n>(&mut self, path: &str, node: &'n JsonNode) -> Vec<&'n str> {
        let hint = Some("write it as `[\"tool\", \"other_tool\"]`".to_owned());
        let JsonValue::List(items) = &node.value else {
            let message = format!("`{path}` must be a list of tools, found {}", shown(&node.value));
            self.findings.error(node.at, &message, hint);
            return Vec::new();
        };
        let mut tools = Vec::new();
        for item in items {
            match &item.value {
                JsonValue::Text(tool)
                    if !tool.is_empty() && tool.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) =>
                {
                    tools.push(tool.as_str());
                }
                other => {
                    let message = format!("an entry of `{path}` is not the name of a tool: {}", shown(other));
                    self.findings.error(item.at, &message, hint.clone());
                }
            }
        }
        tools
    }

    fn off(&mut self, path: &str, at: usize, on: bool, off: DisabledFeature) -> Option<ToolRule> {
        match off {
            _ if on => None,
            DisabledFeature::Denies(tool) => Some(whole(tool, ToolEffect::Deny)),
            DisabledFeature::Nothing => None,
            DisabledFeature::Open => {
                self.cannot_hold(path, at);
                None
            }
        }
    }

    fn cannot_hold(&mut self, path: &str, at: usize) {
        let hint = "remove the line, or use `sandbox_mode` or `[features] shell_tool`";
        self.findings.error(
            at,
            &format!("Windlass cannot enforce the limit `{path}`"),
            Some(hint.to_owned()),
        );
    }

    fn not_known(&mut self, path: &str, at: usize, near: &str) {
        let hint = if near.is_empty() { "remove the line" } else { near };
        let message = format!("Windlass does not know `{path}`: a limit would not apply");
        self.findings.error(at, &message, Some(hint.to_owned()));
    }

    /// Reads `true`, `false`, or a table with the key `enabled`.
    fn switch(&mut self, path: &str, at: usize, node: &JsonNode) -> Option<bool> {
        match &node.value {
            JsonValue::Boolean(on) => Some(*on),
            JsonValue::Object(members) => {
                let mut on = None;
                for member in members {
                    match (member.key.as_str(), &member.node.value) {
                        ("enabled", JsonValue::Boolean(enabled)) => on = Some(*enabled),
                        (name, _) => {
                            self.cannot_hold(&format!("{path}.{}", harmless(name)), member.key_at);
                            return None;
                        }
                    }
                }
                if on.is_none() {
                    self.not_known(path, at, "write `true` or `false`");
                }
                on
            }
            other => {
                let message = format!("`{path}` must be true or false, found {}", shown(other));
                self.findings.error(node.at, &message, without_quotes(path, other));
                None
            }
        }
    }

    fn table<'n>(&mut self, key: &str, node: &'n JsonNode) -> &'n [JsonMember] {
        match &node.value {
            JsonValue::Object(members) => members,
            other => {
                let message = format!("`{}` must be a table, found {}", harmless(key), kind(other));
                self.findings.error(node.at, &message, None);
                &[]
            }
        }
    }

    fn word<T: Copy + PartialEq>(&mut self, key: &str, node: &JsonNode, words: &WordTable<T>) -> Option<T> {
        let JsonValue::Text(word) = &node.value else {
            let message = format!("`{key}` must be a word, found {}", kind(&node.value));
            self.findings.error(node.at, &message, None);
            return None;
        };
        let meaning = words.meaning(word.trim());
        if meaning.is_none() {
            let (message, hint) = words.unknown(&harmless(word));
            self.findings.error(node.at, &format!("{} {message}", quoted(&harmless(key))), hint);
        }
        meaning
    }
}

fn sandbox_rules(sandbox: Sandbox) -> Vec<ToolRule> {
    match sandbox {
        Sandbox::ReadOnly => ["edit", "write", "bash"].map(|tool| whole(tool, ToolEffect::Deny)).into(),
        Sandbox::Workspace => {
            let inside = |tool: &str| ToolRule {
                tool: tool.to_owned(),
                pattern: Some("./**".to_owned()),
                effect: ToolEffect::Allow,
            };
            let rules = |tool| [whole(tool, ToolEffect::Deny), inside(tool)];
            ["edit", "write"].into_iter().flat_map(rules).collect()
        }
        Sandbox::None => Vec::new(),
    }
}
