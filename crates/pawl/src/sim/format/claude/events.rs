//! Builds the events, key by key as the real CLI writes them.
//!
//! Pure. `stream` adds session, time and ids. Tests compare the events with recorded ones in `testdata`.

use serde_json::{Map, Value, json};

use crate::sim::event::{CallVerdict, Failure, SimMessage, SimResult, ToolResult, UsageTally};
use crate::sim::script::ScriptUsage;

/// The version of the CLI whose format this module writes.
pub(super) const CLI_VERSION: &str = "2.1.325";

const TOOLS: [&str; 13] = [
    "Task",
    "AskUserQuestion",
    "Bash",
    "Edit",
    "Glob",
    "Grep",
    "NotebookEdit",
    "Read",
    "Skill",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// The tool for a structured answer.
const ANSWERING: &str = "StructuredOutput";

/// The fields of the first event of a session.
pub(super) struct ClaudeOpening<'a> {
    pub(super) cwd: &'a str,
    pub(super) model: &'a str,
    pub(super) permission_mode: &'a str,
    pub(super) mcp_servers: Vec<String>,
    pub(super) plugin_dirs: &'a [String],
    /// The session must give a structured answer.
    pub(super) gives_answer: bool,
}

/// Adds a field to an event.
pub(super) fn put(event: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = event {
        fields.insert(key.to_owned(), value);
    }
}

/// Builds `system/init`.
pub(super) fn init(opening: &ClaudeOpening<'_>) -> Value {
    let servers: Vec<Value> =
        opening.mcp_servers.iter().map(|name| json!({"name": name, "status": "connected"})).collect();
    let answering = opening.gives_answer.then_some(&ANSWERING);
    let tools = TOOLS.iter().chain(answering).map(|tool| json!(tool));
    json!({
        "type": "system", "subtype": "init", "cwd": opening.cwd, "tools": tools.collect::<Vec<_>>(),
        "mcp_servers": servers, "model": opening.model, "permissionMode": opening.permission_mode,
        "slash_commands": [], "terminal_slash_commands": [], "apiKeySource": "none",
        "claude_code_version": CLI_VERSION, "output_style": "default", "agents": ["general-purpose"],
        "skills": [], "plugins": opening.plugin_dirs.iter().map(|dir| plugin(dir)).collect::<Vec<_>>(),
        "capabilities": [], "analytics_disabled": true, "product_feedback_disabled": true,
        "memory_paths": {"auto": ""}, "original_cwd": opening.cwd, "additional_directories": [],
        "messaging_socket_path": "", "fast_mode_state": "off",
        "fast_mode_disabled_reason": "sdk_opt_in_required", "per_turn_effort_active": false,
        "ultrathink_available": false, "ultrathink_typed_raises": false, "view_mode": "default",
    })
}

fn plugin(dir: &str) -> Value {
    let name = dir.trim_end_matches('/').rsplit('/').next().unwrap_or(dir);
    json!({"name": name, "path": dir, "source": format!("{name}@inline")})
}

/// Builds one block of an assistant message. The output tokens are those at the start of the message.
pub(super) fn assistant(message: &SimMessage, model: &str, block: Value) -> Value {
    let usage = message.usage;
    json!({
        "type": "assistant",
        "message": {
            "id": message.id, "type": "message", "role": "assistant", "model": model, "stop_sequence": null,
            "content": [block], "stop_reason": null,
            "usage": {
                "input_tokens": usage.input_tokens, "output_tokens": 1,
                "cache_read_input_tokens": usage.cache_read_input_tokens,
                "cache_creation_input_tokens": usage.cache_creation_input_tokens,
            },
            "context_management": null,
        },
        "parent_tool_use_id": null,
    })
}

/// Builds the message that the CLI writes when the service refuses.
pub(super) fn api_error_message(message_id: &str, failure: &Failure) -> Value {
    let usage = json!({
        "output_tokens_details": null, "input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0, "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": null, "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "inference_geo": null, "iterations": null, "speed": null, "fallback_credit": null,
    });
    json!({
        "type": "assistant",
        "message": {
            "diagnostics": null, "id": message_id, "container": null, "model": "<synthetic>", "role": "assistant",
            "stop_details": null, "stop_reason": "stop_sequence", "stop_sequence": "", "type": "message",
            "usage": usage, "content": [{"type": "text", "text": refusal_text(failure)}], "context_management": null,
        },
        "parent_tool_use_id": null, "error": word(failure), "is_api_error_message": true,
        "api_error_status": failure.status, "api_error_type": kind(failure),
    })
}

/// Returns what the CLI says about a refusal.
pub(super) fn refusal_text(failure: &Failure) -> String {
    match failure.limit {
        Some(_) => "You've hit your limit".to_owned(),
        None => format!("API Error: {} {}", failure.status, failure.message).trim_end().to_owned(),
    }
}

/// Returns the error type in the service's answer.
pub(super) fn kind(failure: &Failure) -> &'static str {
    match failure.status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    }
}

/// Decides whether the service refused the request because of its length.
fn is_too_long(failure: &Failure) -> bool {
    failure.status == 400 && failure.message.contains("prompt is too long")
}

/// Returns the reason that the result of the turn gives.
fn reason(failure: &Failure) -> &'static str {
    match failure.status {
        413 => "image_error",
        _ if is_too_long(failure) => "prompt_too_long",
        _ => "api_error",
    }
}

/// Returns the CLI's word for the error.
fn word(failure: &Failure) -> &'static str {
    match failure.status {
        400 if is_too_long(failure) => "invalid_request",
        401 | 403 => "authentication_failed",
        404 => "model_not_found",
        413 => "invalid_request",
        429 => "rate_limit",
        529 => "overloaded",
        500..=599 => "server_error",
        _ => "unknown",
    }
}

/// Builds `system/api_retry`.
pub(super) fn api_retry(failure: &Failure) -> Value {
    json!({
        "type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "retry_delay_ms": 600,
        "error_status": failure.status, "error": word(failure),
    })
}

/// Builds `rate_limit_event`, with the end of the limit in seconds if it is known.
pub(super) fn rate_limit(resets_at: Option<i64>) -> Value {
    let mut info = json!({
        "status": "rejected", "rateLimitType": "five_hour", "overageStatus": "rejected",
        "overageDisabledReason": "org_level_disabled", "isUsingOverage": false,
    });
    if let Some(seconds) = resets_at {
        put(&mut info, "resetsAt", json!(seconds));
    }
    json!({"type": "rate_limit_event", "rate_limit_info": info})
}

/// Builds a `user` event with a tool's result.
pub(super) fn tool_result(id: &str, result: &ToolResult) -> Value {
    let mut event = json!({
        "type": "user",
        "message": {"role": "user", "content": [{
            "tool_use_id": id, "type": "tool_result", "content": result.content, "is_error": result.is_error,
        }]},
        "parent_tool_use_id": null, "tool_use_result": result.structured,
    });
    if let Some(mut meta) = meta(result.verdict) {
        put(&mut meta, "id", json!(id));
        put(&mut event, "tool_result_meta", json!([meta]));
    }
    event
}

/// Describes for programs who decided about a call.
fn meta(verdict: CallVerdict) -> Option<Value> {
    let decided = |decision: &str, source: &str, kind: &str| json!({"decision": decision, "source": source, "reason_type": kind});
    match verdict {
        CallVerdict::Ran => Some(json!({"permission_decision": decided("accept", "config", "mode")})),
        CallVerdict::Refused => {
            let decision = decided("reject", "hook", "hook");
            Some(json!({"non_execution_kind": "permission-rule", "permission_decision": decision}))
        }
        CallVerdict::Interrupted => Some(json!({"non_execution_kind": "user-rejected"})),
        CallVerdict::Missing => None,
    }
}

/// Builds a `user` event with plain text.
pub(super) fn user_text(text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    json!({"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": null})
}

/// Builds the `user` event that tells the agent why it may not stop.
pub(super) fn feedback(reason: &str) -> Value {
    let mut event = user_text(&format!("Stop hook feedback:\n{reason}"));
    put(&mut event, "isSynthetic", json!(true));
    event
}

/// Builds the `system/notification` after the first block.
pub(super) fn stop_blocked() -> Value {
    json!({
        "type": "system", "subtype": "notification", "key": "stop-hook-error",
        "text": "Stop hook error occurred · ctrl+o to see", "priority": "immediate",
    })
}

/// Builds the two warnings that the Stop hook has blocked too often.
pub(super) fn cap_reached(blocks: u32) -> [Value; 2] {
    let text = format!(
        "A hook blocked the turn from ending {blocks} consecutive times — overriding and ending turn. For \
         Stop/SubagentStop hooks, check stop_hook_active in the input and return success while it's true. Set \
         CLAUDE_CODE_STOP_HOOK_BLOCK_CAP to raise this limit."
    );
    let key = "stop-hook-block-cap";
    [
        json!({"type": "system", "subtype": "informational", "content": text, "level": "warning"}),
        json!({
            "type": "system", "subtype": "notification", "key": key, "text": text, "priority": "high",
            "color": "warning",
        }),
    ]
}

/// Builds `result`.
pub(super) fn result(result: &SimResult) -> Value {
    let verdict = &result.verdict;
    let terminal_reason = verdict.failure.as_ref().map_or(verdict.terminal_reason, reason);
    let mut event = json!({
        "type": "result", "duration_ms": result.elapsed_ms, "duration_api_ms": result.elapsed_ms,
        "stop_reason": verdict.stop_reason, "usage": usage(result.since.usage),
        "permission_denials": result.denials, "terminal_reason": terminal_reason, "fast_mode_state": "off",
        "fast_mode_disabled_reason": "sdk_opt_in_required", "subagent_stats": subagent_stats(result.subagents),
        "safety_stops": 0, "num_turns": result.since.requests, "queued_turn_count": 0,
        "result_index": result.index,
    });
    match &verdict.outcome {
        Ok(text) => {
            let text = verdict.failure.as_ref().map_or_else(|| text.clone(), refusal_text);
            put(&mut event, "subtype", json!("success"));
            put(&mut event, "result", json!(text));
            put(&mut event, "is_error", json!(verdict.failure.is_some()));
            put(
                &mut event,
                "api_error_status",
                json!(verdict.failure.as_ref().map(|failure| failure.status)),
            );
        }
        Err(errors) => {
            put(&mut event, "subtype", json!("error_during_execution"));
            put(&mut event, "errors", json!(errors));
            put(&mut event, "is_error", json!(true));
        }
    }
    match &verdict.failure {
        Some(failure) => put(&mut event, "api_error_type", json!(kind(failure))),
        None if verdict.outcome.is_ok() => {
            for key in ["ttft_ms", "ttft_stream_ms", "time_to_request_ms", "first_content_frame_ms"] {
                put(&mut event, key, json!(1));
            }
        }
        None => {}
    }
    for (key, value) in [("structured_output", &result.structured), ("origin", &result.origin)] {
        if let Some(value) = value {
            put(&mut event, key, value.clone());
        }
    }
    event
}

fn usage(usage: ScriptUsage) -> Value {
    json!({
        "input_tokens": usage.input_tokens, "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens, "output_tokens": usage.output_tokens,
        "output_tokens_details": {"thinking_tokens": 0},
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0}, "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0}, "inference_geo": "",
        "iterations": [], "speed": "standard", "fallback_credit": null,
    })
}

fn model_usage(model: &str, tally: UsageTally) -> Value {
    if tally.usage == ScriptUsage::default() && tally.cost_usd == 0.0 {
        return json!({});
    }
    let entry = json!({
        "inputTokens": tally.usage.input_tokens, "outputTokens": tally.usage.output_tokens,
        "cacheReadInputTokens": tally.usage.cache_read_input_tokens,
        "cacheCreationInputTokens": tally.usage.cache_creation_input_tokens, "webSearchRequests": 0,
        "costUSD": tally.cost_usd, "contextWindow": 1_000_000, "maxOutputTokens": 128_000, "thinkingTokens": 0,
        "cacheCreationEphemeral5mInputTokens": 0, "cacheCreationEphemeral1hInputTokens": 0,
        "canonicalModel": model, "provider": "firstParty", "costBasis": "list",
    });
    Value::Object(Map::from_iter([(model.to_owned(), entry)]))
}

/// Adds the usage of the whole session, which is known only at its end.
pub(super) fn put_totals(result: &mut Value, model: &str, total: UsageTally) {
    put(result, "total_cost_usd", json!(total.cost_usd));
    put(result, "modelUsage", model_usage(model, total));
    let is_first = result.get("result_index") == Some(&json!(0));
    put(
        result,
        "model_usage_since_last_result",
        if is_first { model_usage(model, total) } else { json!({}) },
    );
}

fn subagent_stats(count: u32) -> Value {
    let by_type = if count > 0 { json!({"general-purpose": count}) } else { json!({}) };
    json!({
        "spawned": count, "requested": {"background": 0, "foreground": 0, "unset": 0}, "started_in_background": 0,
        "max_depth": 0, "spawned_by_subagents": 0, "completed": count, "failed": 0,
        "killed": {"parent": 0, "user": 0, "system": 0},
        "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0}, "by_type": by_type,
    })
}
