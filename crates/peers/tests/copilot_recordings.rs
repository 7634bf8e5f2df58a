//! The output of the real Copilot CLI, folded to how the turn went.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use windlass_core::event::{SessionEnd, SessionFailure, SessionVerdict};
use windlass_core::hook::ToolName;
use windlass_core::launch::{EndedBy, ExitFile};
use windlass_peers::agent::{AgentEvent, Agents, Dialect, ProcessEnd, Transcript, read_stream};

const TOOL_CALL: &str = include_str!("recordings/copilot/tool-call.jsonl");
const DENIED: &str = include_str!("recordings/copilot/denied.jsonl");
const MCP: &str = include_str!("recordings/copilot/mcp.jsonl");
const SUBAGENT: &str = include_str!("recordings/copilot/subagent.jsonl");
const STOP_BLOCKED: &str = include_str!("recordings/copilot/stop-blocked.jsonl");
const REDACTED: &str = include_str!("recordings/copilot/redacted.jsonl");
const HTTP_400: &str = include_str!("recordings/copilot/http-400.jsonl");
const HTTP_401: &str = include_str!("recordings/copilot/http-401.jsonl");
const HTTP_429: &str = include_str!("recordings/copilot/http-429.jsonl");
const SIGINT: &str = include_str!("recordings/copilot/sigint.jsonl");
const SIGTERM: &str = include_str!("recordings/copilot/sigterm.jsonl");

fn copilot() -> Arc<dyn Dialect> {
    Arc::clone(Agents::default().named("copilot").unwrap())
}

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

fn events(stream: &str) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    read_stream(&*copilot(), stream.as_bytes(), &mut events);
    events
}

fn judged(stream: &str, exit: &ExitFile, stderr: &str) -> SessionEnd {
    let mut transcript = Transcript::default();
    events(stream).iter().for_each(|event| transcript.add(event));
    transcript.end(copilot().judge(&transcript, ProcessEnd::Exited(exit), stderr), stream.len() as u64)
}

fn end(stream: &str, code: i32) -> SessionEnd {
    judged(stream, &exit(code), "")
}

fn interrupted(what: &str) -> SessionVerdict {
    SessionVerdict::Interrupted { what: what.to_owned() }
}

#[test]
fn every_line_of_every_recording_is_known() {
    let all = [
        TOOL_CALL,
        DENIED,
        MCP,
        SUBAGENT,
        STOP_BLOCKED,
        REDACTED,
        HTTP_400,
        HTTP_401,
        HTTP_429,
        SIGINT,
        SIGTERM,
    ];
    for event in all.into_iter().flat_map(events) {
        assert!(!matches!(event, AgentEvent::Unknown { .. } | AgentEvent::Warning { .. }), "{event:?}");
    }
}

#[test]
fn a_turn_with_tools_ends_with_its_last_message() {
    let end = end(TOOL_CALL, 0);
    assert_eq!(end.verdict, SessionVerdict::Completed);
    assert_eq!(end.last_message.as_deref(), Some("all good"));
    assert_eq!((end.tool_calls, end.spoke), (2, true));
    // The tokens are in a file that is not part of the recording.
    assert!(end.usage.is_partial);
    let used: Vec<_> = events(TOOL_CALL)
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::ToolUse { tool, summary, .. } => Some((tool, summary)),
            _ => None,
        })
        .collect();
    let expected = [(ToolName::Shell, "echo hello > a.txt"), (ToolName::Write, "/repo/b.txt")];
    assert_eq!(used, expected.map(|(tool, summary)| (tool, summary.to_owned())));
}

#[test]
fn a_refused_tool_is_an_error_of_the_tool_and_not_of_the_turn() {
    assert_eq!(end(DENIED, 0).verdict, SessionVerdict::Completed);
    let refused = events(DENIED).into_iter().find_map(|event| match event {
        AgentEvent::ToolResult { is_error: true, was_decided: true, text, .. } => Some(text),
        _ => None,
    });
    assert!(refused.unwrap().starts_with("Permission denied because no interactive user"));
}

#[test]
fn a_tool_of_a_server_has_the_spelling_of_rules() {
    let is_it = |event: &AgentEvent| matches!(event, AgentEvent::ToolUse { tool: ToolName::Mcp, name, .. } if name == "mcp__echo__say_it");
    assert!(events(MCP).iter().any(is_it));
}

#[test]
fn the_words_of_a_subagent_are_beside_the_main_conversation() {
    let texts: Vec<_> = events(SUBAGENT)
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::Text { text, side, .. } => Some((text, side)),
            _ => None,
        })
        .collect();
    assert_eq!(texts, [("FAKE-DONE".to_owned(), true), ("ok".to_owned(), false)]);
    assert_eq!(end(SUBAGENT, 0).last_message.as_deref(), Some("ok"));
}

#[test]
fn a_turn_that_a_hook_keeps_from_stopping_is_one_turn() {
    let end = end(STOP_BLOCKED, 0);
    assert_eq!(end.verdict, SessionVerdict::Completed);
    assert_eq!((end.last_message.as_deref(), end.tool_calls), (Some("continued"), 2));
}

#[test]
fn a_signal_interrupts_the_turn_although_the_cli_exits_with_0() {
    for stream in [SIGINT, SIGTERM] {
        assert_eq!(end(stream, 0).verdict, interrupted("aborted"));
        let requested = ExitFile { ended_by: Some(EndedBy::Request), ..exit(0) };
        assert_eq!(judged(stream, &requested, "").verdict, interrupted("ended on request"));
        let late = ExitFile { ended_by: Some(EndedBy::Deadline), ..exit(0) };
        assert_eq!(judged(stream, &late, "").verdict, SessionVerdict::TimedOut);
    }
}

#[test]
fn a_stream_without_its_end_is_no_success() {
    let lines: Vec<&str> = TOOL_CALL.lines().collect();
    for count in 0..lines.len() - 1 {
        let cut = lines[..count].join("\n");
        let end = end(&cut, 0);
        assert!(matches!(end.verdict, SessionVerdict::NothingSaid { .. }), "{count}: {:?}", end.verdict);
    }
}

#[test]
fn errors_of_the_model_end_the_turn_with_their_kind() {
    let refused = end(HTTP_400, 1).verdict;
    assert!(
        matches!(&refused, SessionVerdict::Failed { cause: SessionFailure::Refused, what } if what == "query: 400 fake scripted HTTP 400"),
        "{refused:?}"
    );
    let login = end(HTTP_401, 1).verdict;
    assert!(matches!(&login, SessionVerdict::Failed { cause: SessionFailure::Login, .. }), "{login:?}");
    assert_eq!(end(HTTP_429, 1).verdict, SessionVerdict::RateLimited { resets_at: None });
}

#[test]
fn a_key_that_is_a_word_blanks_it_out_of_the_agents_text() {
    assert_eq!(end(REDACTED, 0).last_message.as_deref(), Some("the ****** end"));
}

#[test]
fn a_missing_login_is_told_from_other_failures() {
    let stderr = "Error: No authentication information found.\n\nCopilot can be authenticated…";
    let verdict = judged("", &exit(1), stderr).verdict;
    assert!(matches!(verdict, SessionVerdict::Failed { cause: SessionFailure::Login, .. }));
    let missing = "Error: No session, task, or name matched 'x'.";
    let verdict = judged("", &exit(1), missing).verdict;
    assert!(matches!(verdict, SessionVerdict::Failed { cause: SessionFailure::Process, .. }));
}
