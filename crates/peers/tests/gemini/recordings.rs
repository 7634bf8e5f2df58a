//! What the real CLI printed, folded to how the turn went.

use std::sync::Arc;

use windlass_core::event::{SessionEnd, SessionFailure, SessionVerdict};
use windlass_core::hook::{HookKind, ToolName};
use windlass_core::launch::{EndedBy, ExitFile};
use windlass_core::time::Moment;
use windlass_peers::agent::{AgentEvent, Agents, Dialect, ProcessEnd, Transcript, read_stream};

const TOOLS: &str = include_str!("../recordings/gemini/tools.jsonl");
const RESUME: &str = include_str!("../recordings/gemini/resume.jsonl");
const STOP_BLOCK: &str = include_str!("../recordings/gemini/stop-block.jsonl");
const DENIED: &str = include_str!("../recordings/gemini/denied.jsonl");
const API_400: &str = include_str!("../recordings/gemini/api-400.jsonl");
const API_404: &str = include_str!("../recordings/gemini/api-404.jsonl");
const API_429: &str = include_str!("../recordings/gemini/api-429.jsonl");
const API_429_RETRY: &str = include_str!("../recordings/gemini/api-429-retry.jsonl");
const API_500: &str = include_str!("../recordings/gemini/api-500.jsonl");
const API_REFUSED: &str = include_str!("../recordings/gemini/api-refused.jsonl");
const SIGTERM: &str = include_str!("../recordings/gemini/sigterm.jsonl");
const HOOKS: &str = include_str!("../recordings/gemini/hooks.jsonl");

fn gemini() -> Arc<dyn Dialect> {
    Arc::clone(Agents::default().named("gemini").unwrap())
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
    read_stream(&*gemini(), stream.as_bytes(), &mut events);
    events
}

fn end_with(stream: &str, exit: &ExitFile, stderr: &str) -> SessionEnd {
    let mut transcript = Transcript::default();
    events(stream).iter().for_each(|event| transcript.add(event));
    transcript.end(gemini().judge(&transcript, ProcessEnd::Exited(exit), stderr), 0)
}

fn end(stream: &str, code: i32) -> SessionEnd {
    end_with(stream, &exit(code), "")
}

#[track_caller]
fn assert_failed(end: SessionEnd, cause: SessionFailure, said: &str) {
    let SessionVerdict::Failed { cause: judged, what } = end.verdict else { panic!("{:?}", end.verdict) };
    assert_eq!(judged, cause, "{what}");
    assert!(what.contains(said), "{what}");
}

#[test]
fn no_recorded_line_is_unreadable() {
    for stream in [TOOLS, RESUME, STOP_BLOCK, DENIED, API_400, API_429_RETRY, API_REFUSED, SIGTERM] {
        let unread =
            |event: &AgentEvent| matches!(event, AgentEvent::Warning { .. } | AgentEvent::Unknown { .. });
        assert!(!events(stream).iter().any(unread), "{stream}");
    }
}

#[test]
fn a_turn_has_its_texts_tools_and_tokens() {
    let end = end(TOOLS, 0);
    assert_eq!(end.verdict, SessionVerdict::Completed);
    assert_eq!((end.last_message.as_deref(), end.tool_calls), (Some("all good"), 2));
    let session = end.session.map(|session| session.to_string());
    assert_eq!(session.as_deref(), Some("7de7529b-1ac6-4b95-8602-ee92e6685914"));
    // Three requests, each with 1000 new tokens and 200 from the cache, 30 written and 4 thought.
    let usage = end.usage;
    assert_eq!((usage.input_tokens, usage.cache_read_tokens, usage.output_tokens), (3000, 600, 102));
    let tools: Vec<(ToolName, String)> = events(TOOLS)
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::ToolUse { tool, summary, .. } => Some((tool, summary)),
            _ => None,
        })
        .collect();
    let expected = [(ToolName::Shell, "echo hello > a.txt"), (ToolName::Write, "b.txt")];
    assert_eq!(tools, expected.map(|(tool, summary)| (tool, summary.to_owned())));
}

#[test]
fn a_resumed_turn_counts_its_own_tokens_only() {
    let end = end(RESUME, 0);
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (2000, 68));
    assert!(!end.usage_is_cumulative);
}

#[test]
fn a_turn_that_was_kept_from_stopping_ends_well_and_once() {
    let end = end(STOP_BLOCK, 0);
    assert_eq!((end.verdict, end.last_message.as_deref()), (SessionVerdict::Completed, Some("continued")));
    // The warning repeats what the hook said.
    assert!(!events(STOP_BLOCK).iter().any(|event| matches!(event, AgentEvent::Notice { .. })));
}

#[test]
fn a_message_in_parts_is_one_text() {
    let part =
        |text: &str| format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#);
    let whole = r#"{"type":"result","status":"success","stats":{}}"#;
    let said = end(&[part("<pro"), part("mise>DONE</pro"), part("mise>"), whole.to_owned()].join("\n"), 0);
    assert_eq!(said.last_message.as_deref(), Some("<promise>DONE</promise>"));
}

#[test]
fn a_message_that_an_error_cut_off_is_not_in_the_conversation() {
    let part = r#"{"type":"message","role":"assistant","content":"half","delta":true}"#;
    let failed = r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: terminated]"}}"#;
    let end = end(&format!("{part}\n{failed}\n"), 1);
    assert!(matches!(end.verdict, SessionVerdict::Transient { .. }), "{:?}", end.verdict);
    assert_eq!((end.last_message, end.spoke), (None, false));
}

#[test]
fn a_denied_tool_counts_as_one_for_which_a_hook_was_asked() {
    let said = end(DENIED, 0);
    assert_eq!((said.verdict, said.tool_calls), (SessionVerdict::Completed, 1));
    let wrong = r#"{"type":"tool_result","tool_id":"x","status":"error","output":"no","error":{"type":"invalid_tool_params","message":"no"}}"#;
    assert_eq!(end(wrong, 0).tool_calls, 0, "a wrong input does not get as far as the hook");
}

#[test]
fn the_exit_code_is_the_status_of_the_service() {
    let limited = |resets_at| SessionVerdict::RateLimited { resets_at };
    assert_eq!(end(API_429, 429 - 256).verdict, limited(None));
    let SessionVerdict::RateLimited { resets_at: Some(Moment(at)) } = end(API_429_RETRY, 429 - 256).verdict
    else {
        panic!()
    };
    let line = API_429_RETRY.lines().last().unwrap();
    let printed = gemini().reader().time(line).unwrap();
    assert_eq!(at - printed.0, 3_600_000);
    for (stream, code) in [(API_500, 500 - 256), (API_REFUSED, 1), (API_500, 529 - 512), (API_500, 503 - 256)]
    {
        let verdict = end(stream, code).verdict;
        assert!(matches!(verdict, SessionVerdict::Transient { .. }), "{code}: {verdict:?}");
    }
    assert_failed(end(API_400, 400 - 256), SessionFailure::Refused, "fake scripted HTTP 400");
    assert_failed(end(API_400, 401 - 256), SessionFailure::Login, "fake scripted");
}

#[test]
fn an_unknown_model_has_no_status_but_a_class() {
    let report =
        "Error when talking to Gemini API Full report available at: /tmp/x.json ModelNotFoundError: no\n";
    let end = end_with(API_404, &exit(1), report);
    assert_failed(end, SessionFailure::Model, "models/foo is not found");
    let said = format!("Error executing tool x: {report}");
    let end = end_with(API_404, &exit(1), &said);
    assert!(matches!(end.verdict, SessionVerdict::Transient { .. }), "a tool said it: {:?}", end.verdict);
}

#[test]
fn exit_codes_without_a_result_have_their_own_meaning() {
    let end = |code| end_with("", &exit(code), "Please set an Auth method\n");
    assert_failed(end(41), SessionFailure::Login, "Please set an Auth method");
    for code in [42, 44, 52, 54, 55] {
        assert_failed(end(code), SessionFailure::Process, &format!("ended with code {code}"));
    }
    for code in [130, 143] {
        assert!(matches!(end(code).verdict, SessionVerdict::Interrupted { .. }), "{code}");
    }
}

#[test]
fn named_errors_of_the_result_are_told_apart() {
    let failed = |kind: &str| {
        format!(
            r#"{{"type":"result","status":"error","error":{{"type":"{kind}","message":"said"}},"stats":{{}}}}"#
        )
    };
    assert_failed(end(&failed("FatalTurnLimitedError"), 53), SessionFailure::OwnLimit, "said");
    assert_failed(end(&failed("FatalToolExecutionError"), 54), SessionFailure::Other, "said");
    assert_failed(end(&failed("FatalAuthenticationError"), 41), SessionFailure::Login, "said");
    let cut_off = end(&failed("FatalCancellationError"), 130).verdict;
    assert!(matches!(cut_off, SessionVerdict::Interrupted { .. }), "{cut_off:?}");
    assert_eq!(
        end(&failed("TerminalQuotaError"), 1).verdict,
        SessionVerdict::RateLimited { resets_at: None }
    );
}

#[test]
fn an_empty_answer_of_the_model_is_an_error_although_the_cli_ends_well() {
    let stream = r#"{"type":"error","severity":"error","message":"The model returned an empty response."}
{"type":"result","status":"error","stats":{}}"#;
    let SessionVerdict::Transient { what } = end(stream, 0).verdict else { panic!() };
    assert_eq!(what, "invalid_stream: The model returned an empty response.");
}

#[test]
fn a_signal_ends_the_cli_with_success_and_without_a_result() {
    assert!(matches!(end(SIGTERM, 0).verdict, SessionVerdict::Interrupted { .. }));
    let asked = ExitFile { ended_by: Some(EndedBy::Deadline), ..exit(0) };
    assert_eq!(end_with(SIGTERM, &asked, "").verdict, SessionVerdict::TimedOut);
    assert_eq!(end(TOOLS, 0).verdict, SessionVerdict::Completed);
}

#[test]
fn words_about_limits_in_the_conversation_are_only_words() {
    let said = r#"{"type":"message","role":"assistant","content":"429 RESOURCE_EXHAUSTED, Please retry in 5s","delta":true}
{"type":"tool_result","tool_id":"x","status":"error","output":"429","error":{"type":"shell_execute_error","message":"Please retry in 5s"}}"#;
    let done = TOOLS.lines().last().unwrap();
    assert_eq!(end(&format!("{said}\n{done}"), 0).verdict, SessionVerdict::Completed);
    assert!(!events(said).iter().any(|event| matches!(event, AgentEvent::RateLimit(_))));
}

#[test]
fn an_unknown_kind_is_kept_by_its_name() {
    let stream = r#"{"type":"telepathy","x":1}"#;
    assert_eq!(events(stream), [AgentEvent::Unknown { what: "telepathy".to_owned() }]);
}

#[test]
fn recorded_hooks_are_read() {
    let kinds: Vec<HookKind> = HOOKS
        .lines()
        .map(|line| {
            let event = if line.contains("BeforeTool") { "BeforeTool" } else { "AfterAgent" };
            gemini().read_hook(event, line.as_bytes())
        })
        .collect();
    assert!(
        matches!(&kinds[0], HookKind::Tool(call) if call.tool == ToolName::Shell && call.input["command"] == "echo n > t.txt")
    );
    let HookKind::Stop { last_message: Some(last), .. } = &kinds[3] else { panic!() };
    assert!(last.ends_with("answer 2"), "{last}");
    assert_eq!(
        gemini().hook_folder(HOOKS.lines().next().unwrap().as_bytes()).unwrap(),
        std::path::Path::new("/home/dev/repo")
    );
}
