//! Lines as the CLI writes them, and as it might.

use windlass_core::agent::{ApiRetry, ApiTrouble, FailureCause, TurnResult};

use windlass_core::hook::ToolName;

use super::*;
use crate::agent::copilot::Copilot;
use crate::agent::lines::{TEXT_MAX, read_stream};

fn parse(stream: &str) -> Vec<AgentEvent> {
    let mut out = Vec::new();
    read_stream(&Copilot, stream.as_bytes(), &mut out);
    out
}

fn line(kind: &str, data: &str) -> String {
    format!(r#"{{"type":"{kind}","data":{data},"id":"i","timestamp":"2026-11-19T04:16:26.985Z"}}"#)
}

/// The events of an error, and the failure in the result after it.
fn failure(error: &str) -> (Vec<AgentEvent>, TurnFailure) {
    let stream = format!("{}\n{}", line("session.error", error), r#"{"type":"result","exitCode":1}"#);
    let mut events = parse(&stream);
    match events.pop() {
        Some(AgentEvent::Result(result)) => (events, result.failure.unwrap()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn kinds_are_found_by_halving() {
    assert!(PROGRESS.is_sorted());
}

#[test]
fn an_unknown_kind_is_kept_and_garbage_is_a_warning() {
    assert_eq!(parse(&line("brand.new", "{}")), [AgentEvent::Unknown { what: "brand.new".into() }]);
    let garbage = [
        r#"{"type":"#,
        "hello",
        "[1]",
        "{}",
        "\u{0}",
        r#"{"type":"result"}"#,
        r#"{"type":"session.error"}"#,
        r#"{"type":"assistant.message","type":"result","data":{}}"#,
    ];
    for garbage in garbage {
        assert!(matches!(&parse(garbage)[..], [AgentEvent::Warning { .. }]), "{garbage}");
    }
}

#[test]
fn progress_says_nothing() {
    for kind in ["tool.execution_partial_result", "assistant.message_delta", "user.message"] {
        assert_eq!(parse(&line(kind, r#"{"partialOutput":"x"}"#)), [], "{kind}");
    }
}

#[test]
fn a_message_is_read_wherever_its_kind_is_written() {
    let data = r#"{"messageId":"m","content":"é \"so\"\n","reasoningText":"hm","toolRequests":[{"toolCallId":"t","name":"bash","arguments":{"command":"ls"}},{"toolCallId":"u","name":"apply_patch","arguments":"*** Begin Patch"},{"toolCallId":"v","name":"a-b-c_d","mcpServerName":"a","mcpToolName":"b-c_d","arguments":{}}]}"#;
    let first = parse(&line("assistant.message", data));
    let last = format!(r#"{{"data":{data},"agentId":null,"type":"assistant.message"}}"#);
    assert_eq!(parse(&last), first);
    let called: Vec<_> = first
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolUse { tool, name, summary, side: false, .. } => {
                Some((*tool, name.as_str(), summary.as_str()))
            }
            _ => None,
        })
        .collect();
    let expected = [
        (ToolName::Shell, "bash", "ls"),
        (ToolName::Edit, "apply_patch", "*** Begin Patch"),
        (ToolName::Mcp, "mcp__a__b-c_d", "{}"),
    ];
    assert_eq!(called, expected);
    assert_eq!(first[0], AgentEvent::Thinking { text: "hm".into(), side: false });
    let text = AgentEvent::Text { text: "é \"so\"\n".into(), message_id: "m".into(), side: false };
    assert_eq!(first[1], text);
    assert!(matches!(&first[5..], [AgentEvent::Spent { usage, .. }] if usage.is_partial));
}

#[test]
fn a_huge_text_is_cut() {
    let text = "x".repeat(2 * TEXT_MAX);
    let events = parse(&line("assistant.message", &format!(r#"{{"content":"{text}"}}"#)));
    assert!(matches!(&events[0], AgentEvent::Text { text, .. } if text.len() < TEXT_MAX + 100));
}

#[test]
fn the_model_is_told_once() {
    let updated = line("session.tools_updated", r#"{"model":"gpt-6"}"#);
    let events = parse(&format!("{updated}\n{updated}"));
    assert!(matches!(&events[..], [AgentEvent::SessionInit { model, .. }] if model == "gpt-6"));
}

#[test]
fn a_repeated_request_says_why() {
    let failed = line("model.call_failure", r#"{"statusCode":429,"retryAttempt":1}"#);
    let events = parse(&format!("{failed}\n{}", line("assistant.turn_retry", r#"{"reason":"rate_limit"}"#)));
    let error = "rate_limit".to_owned();
    let retry = ApiRetry { attempt: 2, max_retries: 0, delay_ms: 0, status: Some(429), error };
    assert_eq!(events, [AgentEvent::Retry(retry)]);
}

#[test]
fn an_error_is_classified_by_its_typed_fields_alone() {
    let rows = [
        (r#"{"errorType":"rate_limit","statusCode":429,"message":"m"}"#, ApiTrouble::RateLimit),
        (r#"{"errorType":"quota","statusCode":402,"message":"m"}"#, ApiTrouble::RateLimit),
        (r#"{"errorType":"quota","message":"m"}"#, ApiTrouble::RateLimit),
        (r#"{"errorType":"query","statusCode":402,"message":"m"}"#, ApiTrouble::Lasting),
        (r#"{"errorType":"authentication","statusCode":403,"message":"m"}"#, ApiTrouble::Login),
        (r#"{"errorType":"authorization","message":"m"}"#, ApiTrouble::Login),
        (r#"{"errorType":"query","statusCode":404,"message":"m"}"#, ApiTrouble::Model),
        (r#"{"errorType":"query","statusCode":503,"message":"m"}"#, ApiTrouble::Transient),
        (r#"{"errorType":"query","message":"429 rate limit quota"}"#, ApiTrouble::Transient),
        (r#"{"errorType":"query","statusCode":400,"message":"m"}"#, ApiTrouble::Lasting),
        (r#"{"errorType":"context_limit","message":"m"}"#, ApiTrouble::Lasting),
        (r#"{"errorType":"policy","statusCode":429,"message":"m"}"#, ApiTrouble::RateLimit),
    ];
    for (error, expected) in rows {
        let (events, failure) = failure(error);
        assert_eq!(failure.cause, FailureCause::Api(expected), "{error}");
        assert!(matches!(&events[..], [AgentEvent::ApiError { trouble, .. }] if *trouble == expected));
    }
}

#[test]
fn a_bad_request_without_an_answer_is_the_proxys() {
    let failed = line("model.call_failure", r#"{"statusCode":400,"badRequestKind":"bodyless"}"#);
    let error = line("session.error", r#"{"errorType":"query","statusCode":400,"message":"m"}"#);
    let events = parse(&format!("{failed}\n{error}"));
    assert!(matches!(&events[..], [AgentEvent::ApiError { trouble: ApiTrouble::Transient, .. }]));
}

#[test]
fn a_used_up_quota_says_when_it_resets() {
    let quotas = r#"{"premium_interactions":{"remainingPercentage":0,"hasQuota":false,"resetDate":"2026-12-01T00:00:00.000Z"}}"#;
    let failed = line("model.call_failure", &format!(r#"{{"statusCode":402,"quotaSnapshots":{quotas}}}"#));
    let error = line("session.error", r#"{"errorType":"quota","errorCode":"quota_exceeded","message":"m"}"#);
    let events = parse(&format!("{failed}\n{error}"));
    let [AgentEvent::RateLimit(limit), AgentEvent::ApiError { error, .. }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!((limit.rejected, limit.limit.as_deref()), (true, Some("premium_interactions")));
    assert_eq!(limit.resets_at, stamp::moment("2026-12-01T00:00:00Z"));
    assert_eq!(error, "quota_exceeded");
}

#[test]
fn an_error_of_a_subagent_does_not_end_the_turn() {
    let error = r#"{"type":"session.error","data":{"errorType":"query","message":"m"},"agentId":"a"}"#;
    let events = parse(&format!("{error}\n{}", r#"{"type":"result","exitCode":0}"#));
    let result = TurnResult { usage: message::NO_TOKENS, num_turns: 1, ..TurnResult::default() };
    let notice = AgentEvent::Notice { about: "query".into(), text: "m".into() };
    assert_eq!(events, [notice, AgentEvent::Result(Box::new(result))]);
}

#[test]
fn the_end_of_the_credits_is_a_limit_of_the_cli() {
    let exhausted = line("session_limits_exhausted.requested", r#"{"requestId":"r","usedAiCredits":30}"#);
    let events = parse(&format!("{exhausted}\n{}", r#"{"type":"result","exitCode":1}"#));
    let [AgentEvent::Result(result)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(result.failure.as_ref().unwrap().cause, FailureCause::OwnLimit);
}

#[test]
fn people_see_warnings_and_news_but_not_the_flags_of_a_turn() {
    let warning = line("session.warning", r#"{"warningType":"mcp","message":"no server"}"#);
    assert_eq!(parse(&warning), [AgentEvent::Notice { about: "mcp".into(), text: "no server".into() }]);
    let known = line("session.info", r#"{"infoType":"configuration","message":"Disabled tools: task"}"#);
    assert_eq!(parse(&known), []);
}

#[test]
fn a_line_has_a_time() {
    let reader = CopilotReader::default();
    assert_eq!(reader.time(&line("abort", "{}")), stamp::moment("2026-11-19T04:16:26.985Z"));
}
