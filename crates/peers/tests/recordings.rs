//! The transcript of what the real CLI said, folded to how the turn went.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use windlass_core::event::{SessionEnd, SessionFailure, SessionVerdict};
use windlass_core::hook::{HookKind, ToolName};
use windlass_core::launch::{EndedBy, ExitFile};
use windlass_core::time::Moment;
use windlass_peers::agent::{AgentEvent, Agents, Dialect, ProcessEnd, Transcript, read_stream};

fn exit(code: i32) -> ExitFile {
    ExitFile {
        v: 1,
        code: Some(code),
        signal: None,
        ended_by: None,
        spawn_error: None,
        too_much_output: false,
    }
}

fn killed(signal: i32) -> ExitFile {
    ExitFile {
        v: 1,
        code: None,
        signal: Some(signal),
        ended_by: None,
        spawn_error: None,
        too_much_output: false,
    }
}

fn claude() -> Arc<dyn Dialect> {
    Arc::clone(Agents::default().named("claude").unwrap())
}

fn events(stream: &str) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    read_stream(&*claude(), stream.as_bytes(), &mut events);
    events
}

fn fold(stream: &str) -> Transcript {
    let mut transcript = Transcript::default();
    events(stream).iter().for_each(|event| transcript.add(event));
    transcript
}

fn end(stream: &str, exit: &ExitFile) -> SessionEnd {
    let transcript = fold(stream);
    transcript.end(claude().judge(&transcript, ProcessEnd::Exited(exit), ""), stream.len() as u64)
}

const SIMPLE: &str = include_str!("recordings/01-simple-text.jsonl");
const API_400: &str = include_str!("recordings/06-api-400.jsonl");
const API_429_ONCE: &str = include_str!("recordings/06-api-429.jsonl");
const BLOCKED_TWICE: &str = include_str!("recordings/10-stop-block-twice.jsonl");
const CAP: &str = include_str!("recordings/10j-cap.jsonl");
const DENIED: &str = include_str!("recordings/20-pre-deny.jsonl");
const ASKED: &str = include_str!("recordings/22-ask-pre-allow.jsonl");
const SUBAGENT: &str = include_str!("recordings/27-subagentstop-block.jsonl");
const SIGINT: &str = include_str!("recordings/40-kill-SIGINT.jsonl");

/// A result as the CLI gives it for an API error.
fn api_error(status: &str, word: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"API Error"}}]}},"is_api_error_message":true,"api_error_status":{status},"error":"{word}"}}
{{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":{status},"result":"API Error"}}
"#
    )
}

#[test]
fn no_recorded_line_is_unreadable() {
    for stream in [SIMPLE, API_400, API_429_ONCE, BLOCKED_TWICE, CAP, DENIED, ASKED, SUBAGENT, SIGINT] {
        let warnings: Vec<_> =
            events(stream).into_iter().filter(|e| matches!(e, AgentEvent::Warning { .. })).collect();
        assert_eq!(warnings, []);
    }
}

#[test]
fn a_turn_that_was_blocked_twice_is_one_turn_with_everything_it_spent() {
    let end = end(BLOCKED_TWICE, &exit(0));
    assert_eq!(end.verdict, SessionVerdict::Completed);
    assert_eq!(end.last_message.as_deref(), Some("answer 2"));
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (300, 60));
    assert!((end.usage.cost_usd.unwrap() - 0.0024).abs() < 1e-9);
    assert_eq!(end.tool_calls, 0);
}

#[test]
fn the_clis_own_cap_on_blocks_looks_like_a_plain_end() {
    let end = end(CAP, &exit(0));
    assert_eq!(end.verdict, SessionVerdict::Completed);
    assert_eq!(end.last_message.as_deref(), Some("answer 8"));
}

#[test]
fn success_with_is_error_is_a_failure_and_a_stray_400_is_retried() {
    let what = "api_error: API Error: 400 bad".to_owned();
    assert_eq!(end(API_400, &exit(1)).verdict, SessionVerdict::Transient { what });
}

#[test]
fn the_text_of_an_api_error_is_not_the_agents_last_words() {
    assert_eq!(end(API_400, &exit(1)).last_message, None);
}

#[test]
fn an_error_the_cli_got_over_is_none() {
    assert_eq!(end(API_429_ONCE, &exit(0)).verdict, SessionVerdict::Completed);
    assert!(events(API_429_ONCE).iter().any(|e| matches!(e, AgentEvent::Retry(r) if r.status == Some(429))));
}

#[test]
fn a_denied_tool_counts_as_one_for_which_a_hook_was_asked() {
    let end = end(DENIED, &exit(0));
    assert_eq!((end.verdict, end.tool_calls), (SessionVerdict::Completed, 1));
}

#[test]
fn what_a_subagent_says_is_not_the_last_word() {
    let side = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"sub done"}]},"parent_tool_use_id":"toolu_1"}"#;
    let before_the_result = SIMPLE.trim_end().rfind('\n').unwrap() + 1;
    let stream = format!("{}{side}\n{}", &SIMPLE[..before_the_result], &SIMPLE[before_the_result..]);
    assert_eq!(end(&stream, &exit(0)).last_message, end(SIMPLE, &exit(0)).last_message);
}

#[test]
fn what_a_subagent_spends_is_paid_for() {
    let result: serde_json::Value = serde_json::from_str(SUBAGENT.lines().last().unwrap()).unwrap();
    let main_alone = result["usage"]["input_tokens"].as_u64().unwrap();
    assert!(end(SUBAGENT, &exit(0)).usage.input_tokens > main_alone);
}

#[test]
fn a_turn_that_ends_without_its_result_is_interrupted_even_after_a_former_result() {
    let said = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"more"}]}}"#;
    let stream = format!("{SIMPLE}\n{said}\n");
    assert!(matches!(end(&stream, &exit(0)).verdict, SessionVerdict::Interrupted { .. }));
    assert_eq!(end(SIMPLE, &exit(143)).verdict, SessionVerdict::Completed);
}

#[test]
fn an_interrupt_is_one_although_the_exit_code_is_zero() {
    assert!(matches!(end(SIGINT, &exit(0)).verdict, SessionVerdict::Interrupted { .. }));
}

#[test]
fn a_process_that_was_killed_is_interrupted() {
    let half: String = BLOCKED_TWICE.lines().take(2).map(|line| format!("{line}\n")).collect();
    for exit in [killed(9), killed(15), exit(143), exit(129), exit(137)] {
        let end = end(&half, &exit);
        assert!(matches!(end.verdict, SessionVerdict::Interrupted { .. }), "{exit:?}: {:?}", end.verdict);
        assert_eq!(end.usage.input_tokens, 100, "counted from the message itself");
    }
    let lost = fold(&half).judge(ProcessEnd::Lost, "");
    assert!(matches!(lost, SessionVerdict::Interrupted { .. }));
}

#[test]
fn a_turn_that_was_over_when_its_process_was_killed_is_done() {
    assert_eq!(end(SIMPLE, &killed(9)).verdict, SessionVerdict::Completed);
    assert_eq!(fold(SIMPLE).judge(ProcessEnd::Lost, ""), SessionVerdict::Completed);
}

#[test]
fn the_deadline_is_told_from_a_request() {
    let by = |ended_by| ExitFile { ended_by: Some(ended_by), ..killed(15) };
    assert_eq!(end("", &by(EndedBy::Deadline)).verdict, SessionVerdict::TimedOut);
    assert!(matches!(end("", &by(EndedBy::Request)).verdict, SessionVerdict::Interrupted { .. }));
}

#[test]
fn api_errors_are_told_apart_by_status_and_word() {
    for (status, word) in [
        ("500", "server_error"),
        ("529", "overloaded"),
        ("503", "x"),
        ("null", "server_error"),
        ("400", "unknown"),
    ] {
        let verdict = end(&api_error(status, word), &exit(1)).verdict;
        assert!(matches!(verdict, SessionVerdict::Transient { .. }), "{status} {word}: {verdict:?}");
    }
    for (status, word) in
        [("400", "billing_error"), ("401", "authentication_failed"), ("403", "x"), ("404", "model_not_found")]
    {
        let verdict = end(&api_error(status, word), &exit(1)).verdict;
        assert!(matches!(verdict, SessionVerdict::Failed { .. }), "{status} {word}: {verdict:?}");
    }
    let verdict = end(&api_error("429", "rate_limit"), &exit(1)).verdict;
    assert_eq!(verdict, SessionVerdict::RateLimited { resets_at: None });
}

#[test]
fn recorded_errors_of_the_service_and_of_the_network_are_retried() {
    for stream in [
        include_str!("recordings/06-api-500.jsonl"),
        include_str!("recordings/06-api-502.jsonl"),
        include_str!("recordings/06-api-503.jsonl"),
        include_str!("recordings/06-api-529.jsonl"),
        include_str!("recordings/06-api-refused.jsonl"),
        include_str!("recordings/06-api-timeout.jsonl"),
    ] {
        let verdict = end(stream, &exit(1)).verdict;
        assert!(matches!(verdict, SessionVerdict::Transient { .. }), "{verdict:?}");
    }
}

#[test]
fn recorded_errors_that_the_request_causes_fail_at_once() {
    for (stream, cause, what) in [
        (include_str!("recordings/06-api-400-too-long.jsonl"), SessionFailure::Other, "Prompt is too long"),
        (
            include_str!("recordings/06-api-400-billing.jsonl"),
            SessionFailure::Refused,
            "Credit balance is too low",
        ),
        (include_str!("recordings/06-api-401.jsonl"), SessionFailure::Login, "Invalid API key"),
        (include_str!("recordings/06-api-403.jsonl"), SessionFailure::Login, "403 no permission"),
        (include_str!("recordings/06-api-404.jsonl"), SessionFailure::Model, "the selected model"),
        (include_str!("recordings/06-api-413.jsonl"), SessionFailure::Other, "Request too large"),
    ] {
        let SessionVerdict::Failed { cause: judged, what: said } = end(stream, &exit(1)).verdict else {
            panic!()
        };
        assert_eq!(judged, cause, "{said}");
        assert!(said.contains(what), "{said}");
    }
}

#[test]
fn a_usage_limit_says_when_it_ends() {
    let limit =
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794794541}}"#;
    let stream = format!("{limit}\n{}", api_error("429", "rate_limit"));
    let expected = SessionVerdict::RateLimited { resets_at: Some(Moment(1_794_794_541_000)) };
    assert_eq!(end(&stream, &exit(1)).verdict, expected);
}

#[test]
fn words_about_limits_in_the_conversation_are_only_words() {
    let said = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"429 rate limit, usage limit reached, error 529"}]}}"#;
    let stream = format!("{said}\n{}", SIMPLE.lines().last().unwrap());
    assert_eq!(end(&stream, &exit(0)).verdict, SessionVerdict::Completed);
}

#[test]
fn a_failure_without_a_result_carries_what_the_cli_said() {
    let said = "Error: Session ID 1 is already in use.\n";
    let verdict = fold("").judge(ProcessEnd::Exited(&exit(1)), said);
    let what = "ended with code 1: Error: Session ID 1 is already in use.".to_owned();
    assert_eq!(verdict, SessionVerdict::Failed { cause: SessionFailure::Process, what });
}

#[test]
fn limits_of_the_cli_itself_are_failures_with_their_names() {
    let stream = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","errors":["Reached maximum number of turns (2)"]}"#;
    let SessionVerdict::Failed { what, cause } = end(stream, &exit(1)).verdict else { panic!() };
    assert_eq!(what, "error_max_turns: Reached maximum number of turns (2)");
    assert_eq!(cause, SessionFailure::OwnLimit);
}

#[test]
fn a_conversation_that_the_cli_does_not_find_is_its_own_failure() {
    let stream = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":["No conversation found with session ID: 1"]}"#;
    let SessionVerdict::Failed { what, cause } = end(stream, &exit(1)).verdict else { panic!() };
    assert_eq!(what, "error_during_execution: No conversation found with session ID: 1");
    assert_eq!(cause, SessionFailure::NoConversation);
}

#[test]
fn several_results_add_up_and_the_cost_so_far_is_taken_once() {
    let result = |cost: &str| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"usage":{{"input_tokens":10,"output_tokens":2}},"total_cost_usd":{cost}}}"#
        )
    };
    let usage = end(&format!("{}\n{}\n", result("0.5"), result("0.75")), &exit(0)).usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cost_usd), (20, 4, Some(0.75)));
}

#[test]
fn recorded_hooks_are_read() {
    let stdin = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["stdin"].to_string();
    let stops: Vec<HookKind> = include_str!("recordings/10-stop-block-twice.hooks.jsonl")
        .lines()
        .map(|line| claude().read_hook("Stop", stdin(line).as_bytes()))
        .collect();
    let stop = |text: &str| HookKind::Stop { last_message: Some(text.into()), background: false };
    assert_eq!(stops, ["answer 0", "answer 1", "answer 2"].map(stop));
    let tool = include_str!("recordings/20-pre-deny.hooks.jsonl").lines().next().unwrap();
    assert!(
        matches!(claude().read_hook("PreToolUse", stdin(tool).as_bytes()), HookKind::Tool(call) if call.name == "Bash" && call.tool == ToolName::Shell)
    );
}

#[test]
fn the_value_of_the_last_result_is_the_turns() {
    let result = |value: &str| {
        format!(r#"{{"type":"result","subtype":"success","is_error":false,"result":"x"{value}}}"#)
    };
    let with = result(r#","structured_output":{"verdict":"pass"}"#);
    let value = |stream: String| end(&stream, &exit(0)).value;
    assert_eq!(value(format!("{with}\n")), Some(serde_json::json!({"verdict": "pass"})));
    assert_eq!(value(format!("{with}\n{}\n", result(""))), None);
    assert_eq!(value(format!("{}\n", result(r#","structured_output":null"#))), None);
}

#[test]
fn a_result_that_may_be_in_a_line_too_long_to_be_read_is_no_reason_to_repeat_the_turn() {
    let mut transcript = fold("");
    assert!(matches!(transcript.judge(ProcessEnd::Exited(&exit(0)), ""), SessionVerdict::NothingSaid { .. }));
    transcript.skip(9_000_000);
    let SessionVerdict::Failed { what, .. } = transcript.judge(ProcessEnd::Exited(&exit(0)), "") else {
        panic!()
    };
    assert!(what.contains("a line of more than 8 MB"), "{what}");
}
