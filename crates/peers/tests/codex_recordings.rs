//! The transcript of what the real Codex said, folded to how the turn went.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use windlass_core::agent::AgentEvent;
use windlass_core::event::{SessionEnd, SessionFailure, SessionVerdict};
use windlass_core::launch::ExitFile;
use windlass_core::usage::Usage;
use windlass_peers::agent::{Agents, Dialect, ProcessEnd, Transcript, read_stream};

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("recordings/codex/", $name, ".jsonl"))
    };
}

const SHELL: &str = recording!("shell");
const FIRST: &str = recording!("first");
const RESUMED: &str = recording!("resumed");
const BLOCKED: &str = recording!("stop-blocked-once");
const REFUSED: &str = recording!("refused-write");
const RETRIED: &str = recording!("retried");
const SUBAGENT: &str = recording!("subagent");

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

fn codex() -> Arc<dyn Dialect> {
    Arc::clone(Agents::default().named("codex").unwrap())
}

fn events(stream: &str) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    read_stream(&*codex(), stream.as_bytes(), &mut events);
    events
}

fn end(stream: &str, exit: &ExitFile) -> SessionEnd {
    let mut transcript = Transcript::default();
    events(stream).iter().for_each(|event| transcript.add(event));
    let verdict = codex().judge(&transcript, ProcessEnd::Exited(exit), "noise of the CLI\n");
    transcript.end(verdict, stream.len() as u64)
}

#[test]
fn no_recorded_line_is_unreadable_or_unknown() {
    for stream in [SHELL, FIRST, RESUMED, BLOCKED, REFUSED, RETRIED, SUBAGENT] {
        let odd = |event: &AgentEvent| {
            matches!(
                event,
                AgentEvent::Warning { .. } | AgentEvent::Unknown { .. } | AgentEvent::ApiError { .. }
            )
        };
        let odd: Vec<_> = events(stream).into_iter().filter(odd).collect();
        assert_eq!(odd, []);
    }
}

#[test]
fn a_turn_reports_its_conversation_its_words_and_its_usage() {
    let end = end(SHELL, &exit(0));
    assert_eq!(end.verdict, SessionVerdict::Completed);
    assert_eq!(end.session.unwrap().as_str(), "01a1e18f-899e-7163-8c6c-bc3ee2853f46");
    assert_eq!((end.last_message.as_deref(), end.tool_calls), (Some("all good"), 1));
    let usage = Usage { input_tokens: 2000, output_tokens: 68, cache_read_tokens: 400, ..Usage::default() };
    assert_eq!((end.usage, end.usage_is_cumulative), (usage, true));
}

#[test]
fn the_usage_of_a_resumed_turn_includes_the_turn_before() {
    let (first, resumed) = (end(FIRST, &exit(0)), end(RESUMED, &exit(0)));
    assert_eq!(first.session, resumed.session);
    assert_eq!(resumed.usage.since(&first.usage), first.usage, "each turn made two calls of the same size");
}

#[test]
fn harmless_errors_are_notices_and_the_warnings_that_windlass_causes_are_left_out() {
    let notices: Vec<String> = events(BLOCKED)
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::Notice { text, .. } => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(notices.len(), 3, "{notices:?}");
    assert!(notices.iter().all(|text| !text.contains("hook-trust")));
    let end = end(BLOCKED, &exit(0));
    assert_eq!((end.verdict, end.tool_calls), (SessionVerdict::Completed, 2));
}

#[test]
fn a_refused_command_leaves_no_trace_and_the_turn_is_complete() {
    let end = end(REFUSED, &exit(0));
    assert_eq!((end.verdict, end.tool_calls), (SessionVerdict::Completed, 0));
}

#[test]
fn an_error_that_codex_got_over_is_none() {
    assert_eq!(end(RETRIED, &exit(0)).verdict, SessionVerdict::Completed);
    let retries = events(RETRIED).into_iter().filter(|event| matches!(event, AgentEvent::Retry(_))).count();
    assert_eq!(retries, 1);
}

#[test]
fn subagents_make_the_usage_a_lower_bound() {
    let end = end(SUBAGENT, &exit(0));
    assert!(end.usage.is_partial);
    assert_eq!(end.last_message.as_deref(), Some("over 7"));
    assert_eq!(end.tool_calls, 0, "no hook is asked about a search, nor counted for a subagent");
}

#[test]
fn errors_of_the_service_are_told_apart() {
    for stream in [recording!("http-500"), recording!("http-503"), recording!("unreachable")] {
        let verdict = end(stream, &exit(1)).verdict;
        assert!(matches!(verdict, SessionVerdict::Transient { .. }), "{verdict:?}");
    }
    let limited = SessionVerdict::RateLimited { resets_at: None };
    assert_eq!(end(recording!("http-429"), &exit(1)).verdict, limited);
    for (stream, expected) in [
        (recording!("http-401"), SessionFailure::Login),
        (recording!("http-404"), SessionFailure::Model),
        (recording!("http-400"), SessionFailure::Other),
    ] {
        let SessionVerdict::Failed { cause, what } = end(stream, &exit(1)).verdict else { panic!() };
        assert_eq!(cause, expected, "{what}");
        assert!(what.contains("fake scripted HTTP"), "{what}");
    }
}

#[test]
fn a_turn_without_its_end_was_interrupted() {
    let half: String = SHELL.lines().take(5).map(|line| format!("{line}\n")).collect();
    let killed = ExitFile { code: None, signal: Some(15), ..exit(0) };
    for exit in [exit(143), killed] {
        let end = end(&half, &exit);
        assert!(matches!(end.verdict, SessionVerdict::Interrupted { .. }), "{:?}", end.verdict);
        assert!(!end.usage_is_cumulative, "the next turn reports what this one spent");
    }
    assert_eq!(end(SHELL, &exit(143)).verdict, SessionVerdict::Completed);
}

#[test]
fn a_turn_that_says_nothing_carries_what_codex_wrote_elsewhere() {
    let SessionVerdict::Failed { cause, what } = end("", &exit(1)).verdict else { panic!() };
    assert_eq!((cause, what.as_str()), (SessionFailure::Process, "ended with code 1: noise of the CLI"));
    assert!(matches!(end("", &exit(0)).verdict, SessionVerdict::NothingSaid { .. }));
}

#[test]
fn words_about_limits_in_the_conversation_are_only_words() {
    let said = r#"{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"You've hit your usage limit. unexpected status 429"}}"#;
    let tool = r#"{"type":"item.completed","item":{"id":"j","type":"command_execution","command":"x","aggregated_output":"{\"type\":\"error\",\"message\":\"unexpected status 429\"}\n","exit_code":0,"status":"completed"}}"#;
    let done = r#"{"type":"turn.completed","usage":{}}"#;
    assert_eq!(end(&format!("{said}\n{tool}\n{done}\n"), &exit(0)).verdict, SessionVerdict::Completed);
}
