//! Lines as the CLI writes them, and as it might.

use windlass_core::agent::{AgentEvent, ApiTrouble, FailureCause, TurnResult};
use windlass_core::hook::ToolName;
use windlass_core::usage::Usage;

use super::super::Codex;
use super::failure::{self, ServiceError};
use crate::agent::lines::read_stream;

fn parse(stream: &str) -> Vec<AgentEvent> {
    let mut out = Vec::new();
    read_stream(&Codex, stream.as_bytes(), &mut out);
    out
}

fn item(kind: &str, fields: &str) -> String {
    format!(r#"{{"type":"{kind}","item":{{"id":"item_1",{fields}}}}}"#)
}

fn used(tool: ToolName, name: &str, summary: &str) -> AgentEvent {
    let (id, name, summary) = ("item_1".to_owned(), name.to_owned(), summary.to_owned());
    AgentEvent::ToolUse { id, tool, name, asks: false, summary, side: false }
}

fn gave(text: &str, is_error: bool, was_decided: bool) -> AgentEvent {
    let (id, text) = ("item_1".to_owned(), text.to_owned());
    AgentEvent::ToolResult { id, is_error, text, was_decided, side: false }
}

#[test]
fn a_command_starts_and_ends_once() {
    let fields = |output: &str, status: &str| {
        format!(
            r#""type":"command_execution","command":"/bin/bash -lc 'ls a'","aggregated_output":"{output}","exit_code":null,"status":"{status}""#
        )
    };
    let started = item("item.started", &fields("", "in_progress"));
    let completed = item("item.completed", &fields(r"a\n\u00e9", "completed"));
    let both = [used(ToolName::Shell, "Bash", "ls a"), gave("a\né", false, true)];
    assert_eq!(parse(&format!("{started}\n{completed}\n")), both);
    assert_eq!(parse(&completed), both, "an item that only completes has both events");
    let failed = item("item.completed", &fields("no", "failed"));
    assert_eq!(parse(&failed)[1], gave("no", true, true));
}

#[test]
fn each_kind_of_item_is_a_tool_of_its_name() {
    let change = r#""type":"file_change","changes":[{"path":"a.rs","kind":"update"},{"path":"b.rs"}],"status":"completed""#;
    let expected = [used(ToolName::Edit, "apply_patch", "a.rs, b.rs"), gave("", false, true)];
    assert_eq!(parse(&item("item.completed", change)), expected);
    let server = r#""type":"mcp_tool_call","server":"probe","tool":"ping","arguments":{"x":"1"},"result":null,"error":{"message":"no"},"status":"failed""#;
    let expected = [used(ToolName::Mcp, "mcp__probe__ping", r#"{"x":"1"}"#), gave("no", true, true)];
    assert_eq!(parse(&item("item.completed", server)), expected);
    let answer = r#""type":"mcp_tool_call","server":"probe","tool":"ping","arguments":{},"result":{"content":[{"type":"text","text":"pong"}]},"error":null,"status":"completed""#;
    assert_eq!(parse(&item("item.completed", answer))[1], gave("pong", false, true));
    let search =
        r#""type":"web_search","id":"ws_1","query":"what","action":{"type":"search","query":"what"}"#;
    let expected = [used(ToolName::WebSearch, "web_search", "what"), gave("", false, false)];
    assert_eq!(parse(&item("item.completed", search)), expected, "no hook is asked about a search");
    let plan = r#""type":"todo_list","items":[{"text":"one","completed":false}]"#;
    assert_eq!(parse(&item("item.started", plan)), [used(ToolName::Plan, "update_plan", "one")]);
    let thought = item("item.completed", r#""type":"reasoning","text":"hm""#);
    assert_eq!(parse(&thought), [AgentEvent::Thinking { text: "hm".into(), side: false }]);
}

#[test]
fn the_usage_is_that_of_the_conversation_and_its_input_is_without_the_cache() {
    let line = r#"{"type":"turn.completed","usage":{"input_tokens":4800,"cached_input_tokens":800,"cache_write_input_tokens":100,"output_tokens":136,"reasoning_output_tokens":16}}"#;
    let usage = Usage {
        input_tokens: 3900,
        output_tokens: 136,
        cache_read_tokens: 800,
        cache_write_tokens: 100,
        ..Usage::default()
    };
    let result = TurnResult { usage, usage_is_cumulative: true, num_turns: 1, ..TurnResult::default() };
    assert_eq!(parse(line), [AgentEvent::Result(Box::new(result))]);
}

#[test]
fn the_usage_of_subagents_is_missing_and_marked_so() {
    let call = item(
        "item.completed",
        r#""type":"collab_tool_call","tool":"spawn_agent","prompt":"do it","agents_states":{},"status":"completed""#,
    );
    let events = parse(&format!("{call}\n{}", r#"{"type":"turn.completed","usage":{"input_tokens":1}}"#));
    assert_eq!(events[0], used(ToolName::Task, "spawn_agent", "do it"));
    assert!(matches!(&events[2], AgentEvent::Result(end) if end.usage.is_partial));
}

#[test]
fn errors_of_the_service_are_told_apart_by_codexs_own_sentences() {
    let api = |message: &str| match failure::of(message) {
        ServiceError::Api(trouble) => Some(trouble),
        ServiceError::Retried { .. } | ServiceError::Other => None,
    };
    for (message, expected) in [
        ("unexpected status 401 Unauthorized: no, url: http://127.0.0.1/v1/responses", ApiTrouble::Login),
        ("unexpected status 404 Not Found: model x", ApiTrouble::Model),
        ("unexpected status 503 Service Unavailable: x", ApiTrouble::Transient),
        ("unexpected status 413 Payload Too Large: x", ApiTrouble::Lasting),
        ("exceeded retry limit, last status: 429 Too Many Requests", ApiTrouble::RateLimit),
        ("You've hit your usage limit. Try again later.", ApiTrouble::RateLimit),
        (
            "We’re currently experiencing high demand, which may cause temporary errors.",
            ApiTrouble::Transient,
        ),
        ("stream disconnected before completion: stream closed", ApiTrouble::Transient),
        ("Missing environment variable: `X`.", ApiTrouble::Login),
    ] {
        assert_eq!(api(message), Some(expected), "{message}");
    }
    assert_eq!(api("{\"message\": \"unexpected status 429 Too Many Requests\"}"), None);
    assert_eq!(
        failure::of("Reconnecting... 2/5 (stream closed)"),
        ServiceError::Retried { attempt: 2, of: 5 }
    );
    assert_eq!(failure::of("Reconnecting... x"), ServiceError::Other);
}

#[test]
fn a_retry_is_no_error_and_a_limit_says_so() {
    let retry = r#"{"type":"error","message":"Reconnecting... 2/5 (unexpected status 502 Bad Gateway: x)"}"#;
    let [AgentEvent::Retry(retry)] = &parse(retry)[..] else { panic!() };
    assert_eq!((retry.attempt, retry.max_retries, retry.status), (2, 5, Some(502)));
    let limit = r#"{"type":"error","message":"You've hit your usage limit. Try again at 3:45 PM."}"#;
    let [AgentEvent::RateLimit(limit), AgentEvent::ApiError { .. }] = &parse(limit)[..] else { panic!() };
    assert!(limit.rejected && limit.resets_at.is_some());
    let failed = r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: no"}}"#;
    let [AgentEvent::Result(end)] = &parse(failed)[..] else { panic!() };
    assert_eq!(end.failure.as_ref().unwrap().cause, FailureCause::Api(ApiTrouble::Login));
    assert!(!end.usage_is_cumulative, "a failed turn has no usage and resets none");
}

#[test]
fn an_unknown_kind_is_kept_and_garbage_is_a_warning() {
    let unknown = |what: &str| [AgentEvent::Unknown { what: what.to_owned() }];
    assert_eq!(parse(r#"{"type":"brand.new","x":1}"#), unknown("brand.new"));
    assert_eq!(parse(&item("item.completed", r#""type":"brand_new""#)), unknown("item/brand_new"));
    assert_eq!(parse(&item("item.started", r#""type":"agent_message","text":"x""#)), []);
    assert_eq!(parse(r#"{"type":"turn.started"}"#), []);
    for garbage in ["{\"type\":", "hello", "{}", r#"{"type":"item.completed","item":7}"#] {
        assert!(matches!(&parse(garbage)[..], [AgentEvent::Warning { .. }]), "{garbage}");
    }
}

#[test]
fn a_line_says_the_same_wherever_its_kind_is() {
    let line =
        r#"{"item":{"text":"\u0061","type":"agent_message","new":{},"id":"item_1"},"type":"item.completed"}"#;
    let text = AgentEvent::Text { text: "a".into(), message_id: "item_1".into(), side: false };
    assert_eq!(parse(line), [text]);
}

#[test]
fn only_the_shell_of_codex_is_taken_off_a_command() {
    let summary = |command: &str| {
        let command = serde_json::to_string(command).unwrap();
        let fields = format!(r#""type":"command_execution","command":{command}"#);
        let AgentEvent::ToolUse { summary, .. } = parse(&item("item.started", &fields)).remove(0) else {
            panic!()
        };
        summary
    };
    assert_eq!(summary("/bin/bash -lc 'a b'"), "a b");
    assert_eq!(summary("/usr/bin/zsh -lc ls"), "ls");
    assert_eq!(summary(r#"/bin/bash -lc 'a'"'"'b'"#), r#"'a'"'"'b'"#);
    assert_eq!(summary("git -c x=y log"), "git -c x=y log");
}
