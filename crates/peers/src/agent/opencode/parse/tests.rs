//! Lines as OpenCode and the plugin write them, and as they might.

use windlass_core::agent::{ApiTrouble, FailureCause, RateLimit};
use windlass_core::hook::ToolName;

use super::*;
use crate::agent::lines::read_stream;
use crate::agent::opencode::Opencode;

fn parse(lines: &[&str]) -> Vec<AgentEvent> {
    let mut out = Vec::new();
    read_stream(&Opencode, lines.join("\n").as_bytes(), &mut out);
    out
}

/// Returns the events after the session was reported.
fn after_start(lines: &[&str]) -> Vec<AgentEvent> {
    let start = r#"{"type":"windlass_start","timestamp":1,"sessionID":"ses_1","model":"a/b"}"#;
    let mut events = parse(&[&[start], lines].concat());
    let init = AgentEvent::SessionInit { session: "ses_1".into(), model: "a/b".into(), tools: Vec::new() };
    assert_eq!(events.remove(0), init);
    events
}

fn step(reason: &str) -> String {
    format!(
        r#"{{"type":"step_finish","timestamp":1,"sessionID":"ses_1","part":{{"id":"prt_{reason}","reason":"{reason}","type":"step-finish","tokens":{{"total":1234,"input":1000,"output":30,"reasoning":4,"cache":{{"write":5,"read":200}}}},"cost":0.25}}}}"#
    )
}

fn spent(times: u64) -> Usage {
    Usage {
        input_tokens: 1000 * times,
        output_tokens: 34 * times,
        cache_read_tokens: 200 * times,
        cache_write_tokens: 5 * times,
        cost_usd: Some(0.25 * times as f64),
        ..Usage::default()
    }
}

const TOOL: &str = r#"{"type":"tool_use","timestamp":1,"sessionID":"ses_1","part":{"type":"tool","tool":"bash","callID":"c1","state":{"status":"completed","input":{"command":"ls \"x\""},"output":"a\nb","metadata":{"output":"a\nb"}}}}"#;
const CALL: &str = r#"{"type":"windlass_tool","timestamp":1,"sessionID":"ses_1","tool":"bash","callID":"c1","input":{"command":"ls \"x\""},"side":false}"#;

fn call() -> AgentEvent {
    AgentEvent::ToolUse {
        id: "c1".into(),
        tool: ToolName::Shell,
        name: "bash".into(),
        asks: false,
        summary: "ls \"x\"".into(),
        side: false,
    }
}

fn result() -> AgentEvent {
    let (id, text) = ("c1".to_owned(), "a\nb".to_owned());
    AgentEvent::ToolResult { id, is_error: false, text, was_decided: true, side: false }
}

#[test]
fn an_unknown_kind_is_kept_and_garbage_is_a_warning() {
    assert_eq!(
        after_start(&[r#"{"type":"new","timestamp":1}"#]),
        [AgentEvent::Unknown { what: "new".into() }]
    );
    for garbage in ["! permission requested: bash (ls); auto-rejecting", "{\"type\":", "[1]", "{}", "\u{0}"] {
        assert!(matches!(&after_start(&[garbage])[..], [AgentEvent::Warning { .. }]), "{garbage}");
    }
}

#[test]
fn the_first_line_reports_the_session_even_if_it_is_an_error() {
    let line = r#"{"type":"error","timestamp":1,"sessionID":"ses_9","error":{"name":"UnknownError"}}"#;
    let events = parse(&[line]);
    assert!(
        matches!(&events[0], AgentEvent::SessionInit { session, .. } if session == "ses_9"),
        "{events:?}"
    );
    assert_eq!(events.len(), 2);
}

#[test]
fn a_call_is_reported_once_before_it_runs_or_else_with_its_result() {
    assert_eq!(after_start(&[CALL, TOOL, TOOL]), [call(), result()]);
    assert_eq!(after_start(&[TOOL]), [call(), result()]);
}

#[test]
fn a_call_that_failed_before_anybody_was_asked_was_not_decided() {
    let failed =
        TOOL.replace(r#""completed""#, r#""error""#).replace(r#""output":"a\nb","#, r#""error":"no","#);
    let decided = |lines: &[&str]| match after_start(lines).pop() {
        Some(AgentEvent::ToolResult { is_error: true, was_decided, text, .. }) if text == "no" => was_decided,
        other => panic!("{other:?}"),
    };
    assert!(decided(&[CALL, &failed]));
    assert!(!decided(&[&failed]));
}

#[test]
fn a_step_that_calls_no_tool_ends_the_turn_with_the_usage_of_all_steps() {
    let events = after_start(&[&step("tool-calls"), &step("stop"), &step("stop")]);
    let [AgentEvent::Spent { usage, .. }, AgentEvent::Result(first), AgentEvent::Result(second)] =
        &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((*usage, first.usage, second.usage), (spent(1), spent(2), spent(1)));
    assert!(first.failure.is_none());
}

#[test]
fn an_unknown_price_is_no_cost() {
    let free = step("stop").replace("0.25", "0");
    assert!(matches!(&after_start(&[&free])[..], [AgentEvent::Result(end)] if end.usage.cost_usd.is_none()));
}

#[test]
fn a_subagent_is_paid_for_and_its_words_are_not_the_agents() {
    let part = |line: &str, part: &str| {
        format!(
            r#"{{"type":"windlass_side","timestamp":1,"sessionID":"ses_1","line":"{line}","part":{part}}}"#
        )
    };
    let whole: serde_json::Value = serde_json::from_str(&step("stop")).unwrap();
    let lines = [
        part("text", r#"{"text":"sub","messageID":"m"}"#),
        part("step_finish", &whole["part"].to_string()),
        step("stop"),
    ];
    let events = after_start(&lines.each_ref().map(String::as_str));
    let [AgentEvent::Text { side: true, .. }, AgentEvent::Spent { .. }, AgentEvent::Result(end)] =
        &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!(end.usage, spent(2));
}

fn failure(name: &str, data: &str) -> (FailureCause, Vec<AgentEvent>) {
    let line = format!(
        r#"{{"type":"error","timestamp":1000,"sessionID":"ses_1","error":{{"name":"{name}","data":{data}}}}}"#
    );
    let mut events = after_start(&[&line]);
    let Some(AgentEvent::Result(end)) = events.pop() else { panic!("{events:?}") };
    (end.failure.unwrap().cause, events)
}

#[test]
fn errors_are_told_apart_by_name_and_status() {
    use ApiTrouble::{Lasting, Login, Model, RateLimit, Transient};
    for (name, data, trouble) in [
        ("APIError", r#"{"message":"429 rate limit","statusCode":400,"isRetryable":false}"#, Lasting),
        ("APIError", r#"{"message":"m","statusCode":401}"#, Login),
        ("APIError", r#"{"message":"m","statusCode":403}"#, Login),
        ("APIError", r#"{"message":"m","statusCode":404}"#, Model),
        ("APIError", r#"{"message":"m","statusCode":429}"#, RateLimit),
        ("APIError", r#"{"message":"m","statusCode":529}"#, Transient),
        ("APIError", r#"{"message":"m","isRetryable":true}"#, Transient),
        ("ProviderAuthError", r#"{"providerID":"p","message":"m"}"#, Login),
        ("UnknownError", r#"{"message":"Model not found: a/b."}"#, Model),
        ("ContextOverflowError", r#"{"message":"m"}"#, Lasting),
    ] {
        assert_eq!(failure(name, data).0, FailureCause::Api(trouble), "{name} {data}");
    }
    assert_eq!(failure("MessageAbortedError", "{}").0, FailureCause::CutOff);
    assert_eq!(failure("UnknownError", r#"{"message":"429"}"#).0, FailureCause::Other);
}

#[test]
fn a_limit_says_when_it_ends() {
    let limit = |headers: &str| failure("APIError", &format!(r#"{{"statusCode":429{headers}}}"#)).1;
    let at = |moment: Option<i64>| {
        [AgentEvent::RateLimit(RateLimit { rejected: true, resets_at: moment.map(Moment), limit: None })]
    };
    assert_eq!(limit(""), at(None));
    assert_eq!(limit(r#","responseHeaders":{"retry-after":"30"}"#), at(Some(31_000)));
    assert_eq!(limit(r#","responseHeaders":{"retry-after":"30","retry-after-ms":"500"}"#), at(Some(1_500)));
    assert_eq!(limit(r#","responseHeaders":{"retry-after":"soon"}"#), at(None));
}

#[test]
fn a_wait_that_the_turn_does_not_outlast_is_a_limit() {
    let retry = |gives_up: bool| {
        format!(
            r#"{{"type":"windlass_retry","timestamp":1000,"sessionID":"ses_1","attempt":2,"message":"slow down","next":3601000,"gives_up":{gives_up}}}"#
        )
    };
    let events = after_start(&[&retry(true)]);
    let [AgentEvent::Retry(retried), AgentEvent::RateLimit(limit), AgentEvent::Result(end)] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert_eq!((retried.attempt, retried.delay_ms), (2, 3_600_000));
    assert_eq!(limit.resets_at, Some(Moment(3_601_000)));
    assert_eq!(end.failure.as_ref().unwrap().cause, FailureCause::Api(ApiTrouble::RateLimit));
    assert!(matches!(&after_start(&[&retry(false)])[..], [AgentEvent::Retry(_)]));
}

#[test]
fn the_error_that_the_plugin_reports_counts_and_is_over_with_the_next_step() {
    let error = |kind: &str, message: &str| {
        format!(
            r#"{{"type":"{kind}","timestamp":1,"sessionID":"ses_1","error":{{"name":"UnknownError","data":{{"message":"{message}"}}}}}}"#
        )
    };
    let (precise, vague) =
        (error("windlass_error", "Model not found: x."), error("error", "Unexpected server error"));
    let events = after_start(&[&precise, &vague]);
    assert!(
        matches!(&events[..], [AgentEvent::Result(end)] if end.failure.as_ref().unwrap().cause == FailureCause::Api(ApiTrouble::Model))
    );
    let begin =
        r#"{"type":"step_start","timestamp":1,"sessionID":"ses_1","part":{"id":"p","type":"step-start"}}"#;
    assert_eq!(after_start(&[&precise, begin, &vague]).len(), 2);
}

#[test]
fn a_line_says_the_same_however_it_is_written() {
    let plain = r#"{"type":"text","timestamp":1,"sessionID":"ses_1","part":{"id":"p","messageID":"m1","type":"text","text":"é \"so\"\n","time":{"end":1}}}"#;
    let moved = r#"{ "part" : {"time":{"end":1},"text":"\u00e9 \"so\"\n","new":[{}],"messageID":"\u006d1"}, "sessionID":"ses_1","type":"te\u0078t"}"#;
    let text = AgentEvent::Text { text: "é \"so\"\n".into(), message_id: "m1".into(), side: false };
    for line in [plain, moved] {
        assert_eq!(after_start(&[line]), std::slice::from_ref(&text), "{line}");
    }
    assert_eq!(OpencodeReader::default().time(plain), Some(Moment(1)));
}
