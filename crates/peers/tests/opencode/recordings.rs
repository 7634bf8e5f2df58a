//! The output of the real CLI with the plugin, folded to how the turn went.

use windlass_core::event::{SessionEnd, SessionFailure, SessionVerdict};
use windlass_core::launch::{EndedBy, ExitFile};
use windlass_core::time::Moment;
use windlass_peers::agent::{AgentEvent, ProcessEnd, Transcript, read_stream};

use crate::opencode;

const TOOL: &str = include_str!("../recordings/opencode/tool.jsonl");
const DENIED: &str = include_str!("../recordings/opencode/denied.jsonl");
const IN_SESSION: &str = include_str!("../recordings/opencode/in-session.jsonl");
const SUBAGENT: &str = include_str!("../recordings/opencode/subagent.jsonl");
const UNAUTHORIZED: &str = include_str!("../recordings/opencode/unauthorized.jsonl");
const NO_MODEL: &str = include_str!("../recordings/opencode/no-model.jsonl");
const LIMIT: &str = include_str!("../recordings/opencode/limit.jsonl");

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
    read_stream(&*opencode(), stream.as_bytes(), &mut events);
    events
}

fn end(stream: &str, exit: &ExitFile) -> SessionEnd {
    let mut transcript = Transcript::default();
    events(stream).iter().for_each(|event| transcript.add(event));
    transcript.end(opencode().judge(&transcript, ProcessEnd::Exited(exit), ""), stream.len() as u64)
}

fn tokens(end: &SessionEnd) -> (u64, u64, u64) {
    (end.usage.input_tokens, end.usage.output_tokens, end.usage.cache_read_tokens)
}

/// Returns the first lines of a recording, up to the first one with this text.
fn until(stream: &str, text: &str) -> String {
    let lines = stream.lines().take_while(|line| !line.contains(text));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn no_recorded_line_is_unreadable_or_unknown() {
    for stream in [TOOL, DENIED, IN_SESSION, SUBAGENT, UNAUTHORIZED, NO_MODEL, LIMIT] {
        let strange =
            |event: &AgentEvent| matches!(event, AgentEvent::Warning { .. } | AgentEvent::Unknown { .. });
        assert_eq!(events(stream).into_iter().filter(strange).collect::<Vec<_>>(), []);
    }
}

#[test]
fn a_turn_with_a_tool_counts_every_step_and_knows_its_session() {
    let end = end(TOOL, &exit(0));
    assert_eq!(end.verdict, SessionVerdict::Completed);
    assert_eq!((end.last_message.as_deref(), end.tool_calls), (Some("working\nall done"), 1));
    assert_eq!((tokens(&end), end.usage.cost_usd), ((2000, 68, 400), Some(0.00714)));
    assert!(end.session.unwrap().as_str().starts_with("ses_"));
}

#[test]
fn a_denied_tool_is_one_for_which_somebody_was_asked() {
    let end = end(DENIED, &exit(0));
    assert_eq!((end.verdict, end.tool_calls), (SessionVerdict::Completed, 1));
}

#[test]
fn a_session_that_was_kept_from_stopping_is_one_turn_with_everything_it_spent() {
    let end = end(IN_SESSION, &exit(0));
    assert_eq!((end.verdict.clone(), tokens(&end)), (SessionVerdict::Completed, (3000, 102, 600)));
}

#[test]
fn a_subagent_is_paid_for_and_has_not_the_last_word() {
    let end = end(SUBAGENT, &exit(0));
    assert_eq!((end.last_message.as_deref(), tokens(&end)), (Some("done"), (4000, 136, 800)));
    assert_eq!(end.tool_calls, 2);
}

#[test]
fn errors_are_told_apart() {
    let failed = |stream| match end(stream, &exit(1)).verdict {
        SessionVerdict::Failed { cause, what } => (cause, what),
        other => panic!("{other:?}"),
    };
    assert_eq!(failed(UNAUTHORIZED), (SessionFailure::Login, "APIError: fake scripted HTTP 401".to_owned()));
    let missing = "UnknownError: Model not found: fake/nope.".to_owned();
    assert_eq!(failed(NO_MODEL), (SessionFailure::Model, missing));
}

#[test]
fn a_limit_is_one_although_opencode_ended_well_and_says_when_it_ends() {
    let resets_at = Some(Moment(1_795_068_268_486));
    assert_eq!(end(LIMIT, &exit(0)).verdict, SessionVerdict::RateLimited { resets_at });
}

#[test]
fn a_turn_without_its_last_step_is_not_complete_whatever_the_code() {
    let half = until(TOOL, "all done");
    let killed = ExitFile { code: None, signal: Some(9), ..exit(0) };
    let asked = ExitFile { ended_by: Some(EndedBy::Request), ..exit(0) };
    for exit in [&killed, &exit(143), &asked] {
        let end = end(&half, exit);
        assert!(matches!(end.verdict, SessionVerdict::Interrupted { .. }), "{:?}", end.verdict);
        assert_eq!(tokens(&end), (1000, 34, 200), "what it spent counts");
    }
    assert!(matches!(end(&half, &exit(0)).verdict, SessionVerdict::NothingSaid { .. }));
    assert_eq!(end(TOOL, &killed).verdict, SessionVerdict::Completed, "it was over before");
}

#[test]
fn words_about_limits_in_a_tools_output_are_only_words() {
    let stream = TOOL.replace("(no output)", "429 Too Many Requests, rate limit exceeded");
    assert_ne!(stream, TOOL);
    assert_eq!(end(&stream, &exit(0)).verdict, SessionVerdict::Completed);
}
