//! What agents said over the Agent Client Protocol, folded to how the turn went, and the conversation with one
//! that a new owner of the run continues.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::event::{SessionEnd, SessionFailure, SessionVerdict};
use windlass_core::hook::{HookAnswer, HookKind, ToolName};
use windlass_core::launch::{EndedBy, ExitFile};
use windlass_peers::agent::{
    AgentEvent, Agents, Channel, ChannelItem, Dialect, ProcessEnd, Transcript, read_stream,
};
use windlass_peers::tail::Watcher;

const OPENCODE: &str = include_str!("recordings/acp/opencode.jsonl");
const OPENCODE_REJECTED: &str = include_str!("recordings/acp/opencode-reject.jsonl");
const OPENCODE_ASKS: &str = include_str!("recordings/acp/opencode-asks.jsonl");
const OPENCODE_401: &str = include_str!("recordings/acp/opencode-http401.jsonl");
const GEMINI: &str = include_str!("recordings/acp/gemini.jsonl");
const GEMINI_401: &str = include_str!("recordings/acp/gemini-http401.jsonl");
const COPILOT: &str = include_str!("recordings/acp/copilot.jsonl");
const COPILOT_401: &str = include_str!("recordings/acp/copilot-http401.jsonl");
const COPILOT_LOADED: &str = include_str!("recordings/acp/copilot-load.jsonl");
const COPILOT_HELD: &str = include_str!("recordings/acp/copilot-in-session.jsonl");
const CODEX: &str = include_str!("recordings/acp/codex.jsonl");
const CLAUDE: &str = include_str!("recordings/acp/claude.jsonl");

fn acp() -> Arc<dyn Dialect> {
    Arc::clone(Agents::default().named("acp").unwrap())
}

fn events(stream: &str) -> Vec<AgentEvent> {
    let mut events = Vec::new();
    read_stream(&*acp(), stream.as_bytes(), &mut events);
    events
}

fn exit() -> ExitFile {
    ExitFile { v: 1, code: Some(0), signal: None, ended_by: None, spawn_error: None, too_much_output: false }
}

fn end_with(stream: &str, exit: &ExitFile) -> SessionEnd {
    let mut transcript = Transcript::default();
    events(stream).iter().for_each(|event| transcript.add(event));
    transcript.end(acp().judge(&transcript, ProcessEnd::Exited(exit), ""), stream.len() as u64)
}

fn end(stream: &str) -> SessionEnd {
    end_with(stream, &exit())
}

/// The tokens of a turn: input, output, from a cache; and whether there may be more.
fn tokens(end: &SessionEnd) -> (u64, u64, u64, bool) {
    let usage = end.usage;
    (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.is_partial)
}

#[test]
fn no_recorded_line_is_unreadable() {
    let all = [
        OPENCODE,
        OPENCODE_REJECTED,
        OPENCODE_ASKS,
        OPENCODE_401,
        GEMINI,
        GEMINI_401,
        COPILOT,
        COPILOT_401,
        COPILOT_LOADED,
        COPILOT_HELD,
        CODEX,
        CLAUDE,
    ];
    for stream in all {
        let warnings: Vec<_> =
            events(stream).into_iter().filter(|e| matches!(e, AgentEvent::Warning { .. })).collect();
        assert_eq!(warnings, []);
    }
}

#[test]
fn every_agent_counts_in_its_own_way_and_the_numbers_are_the_same() {
    for (name, stream, expected) in [
        ("codex", CODEX, (2000, 68, 400, false)),
        ("claude", CLAUDE, (2000, 68, 400, false)),
        ("copilot", COPILOT, (2000, 68, 400, false)),
        // It reports its last step only.
        ("opencode", OPENCODE, (1000, 34, 200, true)),
        // It does not say what came from a cache, and leaves out thoughts.
        ("gemini", GEMINI, (2400, 60, 0, true)),
    ] {
        let end = end(stream);
        assert_eq!(end.verdict, SessionVerdict::Completed, "{name}");
        assert_eq!(tokens(&end), expected, "{name}");
        assert_eq!(end.last_message.as_deref(), Some("acp-done"), "{name}");
    }
    assert_eq!(end(OPENCODE).usage.cost_usd, Some(0.00714));
    assert_eq!(end(CLAUDE).usage.cost_usd, Some(0.0119));
}

#[test]
fn a_tool_is_shown_once_with_its_input_and_its_output() {
    for (name, stream, output, was_decided) in [
        ("opencode", OPENCODE, "(no output)", true),
        ("gemini", GEMINI, "", true),
        ("copilot", COPILOT, "\n<shellId: 0 completed with exit code 0>", true),
        ("codex", CODEX, "", false),
        ("claude", CLAUDE, "```console\n(Bash completed with no output)\n```", true),
    ] {
        let shown: Vec<_> = events(stream)
            .into_iter()
            .filter_map(|event| match event {
                AgentEvent::ToolUse { tool, summary, .. } => Some((tool, summary)),
                _ => None,
            })
            .collect();
        assert_eq!(shown, [(ToolName::Shell, "echo acp > acp.txt".to_owned())], "{name}");
        let results: Vec<_> = events(stream)
            .into_iter()
            .filter_map(|event| match event {
                AgentEvent::ToolResult { text, was_decided, is_error: false, .. } => {
                    Some((text, was_decided))
                }
                _ => None,
            })
            .collect();
        assert_eq!(results, [(output.to_owned(), was_decided)], "{name}");
    }
}

/// The questions of a stream, as the run gets them.
fn asked(stream: &str) -> Vec<HookKind> {
    let asked = events(stream).into_iter().filter_map(|event| match event {
        AgentEvent::Asks(request) => {
            Some(acp().read_hook(&request.event, request.payload.to_string().as_bytes()))
        }
        _ => None,
    });
    asked.collect()
}

#[test]
fn a_permission_request_is_a_tool_call_with_the_keys_that_rules_read() {
    for (name, stream) in
        [("opencode", OPENCODE), ("gemini", GEMINI), ("copilot", COPILOT), ("claude", CLAUDE)]
    {
        let asked = asked(stream);
        let [HookKind::Tool(call)] = asked.as_slice() else { panic!("{name}: {asked:?}") };
        assert_eq!(call.tool, ToolName::Shell, "{name}");
        assert_eq!(call.input["command"], "echo acp > acp.txt", "{name}");
    }
    // The last request is about a file outside and about its folder: a question for each.
    let calls = asked(OPENCODE_ASKS).into_iter().map(|kind| match kind {
        HookKind::Tool(call) => {
            (call.tool, call.input.get("path").and_then(Value::as_str).unwrap_or_default().to_owned())
        }
        other => panic!("{other:?}"),
    });
    let expected = [
        (ToolName::Shell, ""),
        (ToolName::Edit, "/home/dev/repo/f.txt"),
        (ToolName::Read, "/home/dev/repo/f.txt"),
        (ToolName::Read, "/etc"),
        (ToolName::Read, "/etc/hostname"),
    ];
    assert_eq!(calls.collect::<Vec<_>>(), expected.map(|(tool, path)| (tool, path.to_owned())));
}

#[test]
fn a_refused_tool_is_an_error_of_the_tool_and_not_of_the_turn() {
    let end = end(OPENCODE_REJECTED);
    assert_eq!((end.verdict, end.tool_calls), (SessionVerdict::Completed, 1));
}

#[test]
fn an_error_of_the_model_is_known_by_its_code() {
    let failure = |stream: &str| match end(stream).verdict {
        SessionVerdict::Failed { cause, .. } => cause,
        other => panic!("{other:?}"),
    };
    assert_eq!(failure(GEMINI_401), SessionFailure::Login);
    let what = "session/prompt: Internal error: fake scripted HTTP 401".to_owned();
    assert_eq!(end(OPENCODE_401).verdict, SessionVerdict::Transient { what });
    // Copilot calls it a success.
    assert!(matches!(end(COPILOT_401).verdict, SessionVerdict::Transient { .. }));
}

/// A turn whose prompt ends with this response.
fn prompted(response: &str) -> SessionEnd {
    end(&format!(
        r#"{{"jsonrpc":"2.0","id":"windlass-initialize","result":{{"protocolVersion":1}}}}
{{"jsonrpc":"2.0","id":"windlass-session","result":{{"sessionId":"s-1"}}}}
{{"jsonrpc":"2.0","id":"windlass-last",{response}}}
"#
    ))
}

#[test]
fn a_conversation_that_the_agent_does_not_find_is_its_own_failure() {
    let stream = r#"{"jsonrpc":"2.0","id":"windlass-initialize","result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}
{"jsonrpc":"2.0","id":"windlass-session","error":{"code":-32603,"message":"Internal error","data":{"details":"No previous sessions found for this project."}}}
"#;
    let SessionVerdict::Failed { cause, what } = end(stream).verdict else { panic!() };
    assert_eq!(what, "session: Internal error: No previous sessions found for this project.");
    assert_eq!(cause, SessionFailure::NoConversation);
}

#[test]
fn the_reason_to_stop_is_the_verdict() {
    let stopped = |reason: &str| prompted(&format!(r#""result":{{"stopReason":"{reason}"}}"#)).verdict;
    assert_eq!(stopped("end_turn"), SessionVerdict::Completed);
    let failed = |verdict| match verdict {
        SessionVerdict::Failed { cause, .. } => cause,
        other => panic!("{other:?}"),
    };
    assert_eq!(failed(stopped("max_tokens")), SessionFailure::OwnLimit);
    assert_eq!(failed(stopped("max_turn_requests")), SessionFailure::OwnLimit);
    assert_eq!(failed(stopped("refusal")), SessionFailure::Refused);
    assert!(matches!(stopped("cancelled"), SessionVerdict::Interrupted { .. }));
    let error = |code: i64| prompted(&format!(r#""error":{{"code":{code},"message":"no"}}"#)).verdict;
    assert_eq!(failed(error(-32000)), SessionFailure::Login);
    assert_eq!(error(429), SessionVerdict::RateLimited { resets_at: None });
    assert!(matches!(error(503), SessionVerdict::Transient { .. }));
    assert_eq!(failed(error(404)), SessionFailure::Model);
    assert_eq!(failed(error(-32602)), SessionFailure::Other);
    assert_eq!(end("").verdict, SessionVerdict::NothingSaid { what: "ended without a result".to_owned() });
}

#[test]
fn an_agent_that_must_be_ended_after_its_conversation_is_judged_by_its_result() {
    let lingered = ExitFile { code: None, signal: Some(9), ended_by: Some(EndedBy::Linger), ..exit() };
    assert_eq!(end_with(GEMINI, &lingered).verdict, SessionVerdict::Completed);
    assert_eq!(end_with(GEMINI_401, &lingered).verdict, end(GEMINI_401).verdict);
}

#[test]
fn what_a_loaded_conversation_repeats_is_not_said_again() {
    let texts: Vec<_> = events(COPILOT_LOADED)
        .into_iter()
        .filter(|event| matches!(event, AgentEvent::Text { .. } | AgentEvent::ToolUse { .. }))
        .collect();
    let text = AgentEvent::Text { text: "acp-done".to_owned(), message_id: String::new(), side: false };
    assert_eq!(texts, [text]);
    assert_eq!(tokens(&end(COPILOT_LOADED)), (1000, 34, 200, false));
}

#[test]
fn prompts_in_one_conversation_are_one_turn_with_everything_they_spent() {
    let end = end(COPILOT_HELD);
    assert_eq!(end.verdict, SessionVerdict::Completed);
    // It counts all prompts of its process: 2000, 3000 and 4000.
    assert_eq!(tokens(&end), (4000, 136, 800, false));
}

#[test]
fn pieces_of_a_message_are_one_text() {
    let chunk = |kind: &str, text: &str| {
        let update = json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s-1", "update": update } })
            .to_string()
    };
    let call = json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s-1", "update": {
        "sessionUpdate": "tool_call", "toolCallId": "1", "kind": "read", "status": "completed" } } });
    let lines = [
        r#"{"jsonrpc":"2.0","id":"windlass-session","result":{"sessionId":"s-1"}}"#.to_owned(),
        chunk("agent_thought_chunk", "hm"),
        chunk("agent_thought_chunk", "m"),
        chunk("agent_message_chunk", "I re"),
        chunk("agent_message_chunk", "ad."),
        call.to_string(),
        chunk("agent_message_chunk", "Do"),
        chunk("agent_message_chunk", "ne."),
        r#"{"jsonrpc":"2.0","id":"windlass-last","result":{"stopReason":"end_turn"}}"#.to_owned(),
    ];
    let texts: Vec<_> = events(&lines.join("\n"))
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::Text { text, .. } | AgentEvent::Thinking { text, .. } => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["hmm", "I read.", "Done."]);
}

#[test]
fn a_flood_of_tool_calls_forgets_the_oldest() {
    let line = |id: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{{"sessionUpdate":"tool_call","toolCallId":"{id}","rawInput":{{"command":"x"}}}}}}}}"#
        )
    };
    let opened = r#"{"jsonrpc":"2.0","id":"windlass-session","result":{"sessionId":"s"}}"#.to_owned();
    let lines: Vec<String> = std::iter::once(opened).chain((0..2000).map(line)).collect();
    let shown = events(&lines.join("\n"));
    assert_eq!(shown.iter().filter(|event| matches!(event, AgentEvent::ToolUse { .. })).count(), 2000);
}

/// An agent that asks for two files, gets another prompt and is refused something that nobody offered.
const OUTPUT: &str = r#"{"jsonrpc":"2.0","id":"windlass-initialize","result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}
{"jsonrpc":"2.0","id":"windlass-session","result":{"sessionId":"s-1","modes":{"currentModeId":"yolo","availableModes":[{"id":"default"}]},"models":{"currentModelId":"other"}}}
{"jsonrpc":"2.0","id":"windlass-set-mode","result":{}}
{"jsonrpc":"2.0","id":"windlass-set-model","result":{}}
{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"1","kind":"edit","locations":[{"path":"/w/a"},{"path":"/w/b"}]},"options":[{"optionId":"always","kind":"allow_always"},{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}]}}
{"jsonrpc":"2.0","id":"x y","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}
{"jsonrpc":"2.0","id":"windlass-prompt-1","result":{"stopReason":"end_turn"}}
{"jsonrpc":"2.0","id":"windlass-prompt-2","result":{"stopReason":"end_turn"}}
"#;

fn notes() -> Value {
    json!({
        "turn": "loop.1.1.session", "cwd": "/w", "session": null, "role": "You are kind.",
        "prompt": "-x \"odd\"\u{4}\n", "model": "m-1", "effort": null, "holds_stop": true, "asks": true,
    })
}

/// Lets an owner follow a conversation whose output is already there, and answers each question in its way.
/// Returns the questions.
async fn follow(dir: &Path, answers: &BTreeMap<&str, HookAnswer>) -> Vec<String> {
    let dialect = acp();
    let watcher = Watcher::start().unwrap();
    let mut channel = Channel::of_lines(&*dialect, &watcher, dir, None);
    let mut asked = Vec::new();
    loop {
        match channel.next().await {
            ChannelItem::Asked(request) => {
                let name = request.id.rsplit('.').next().unwrap();
                let answer = answers.get(name).unwrap_or_else(|| panic!("{name}"));
                let payload = request.payload.to_string();
                let written = dialect.write_answer(&request.event, payload.as_bytes(), answer);
                channel.reply(&request.id, &written.stdout).unwrap();
                asked.push(name.to_owned());
            }
            ChannelItem::Said(_) => {}
            ChannelItem::Over(_) => return asked,
        }
    }
}

/// Makes the folder of a turn in which a former owner has written `input`.
fn folder(input: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("input"), input).unwrap();
    std::fs::write(dir.path().join("stdout"), OUTPUT).unwrap();
    std::fs::write(dir.path().join("conversation.json"), notes().to_string()).unwrap();
    std::fs::write(dir.path().join("started"), "").unwrap();
    std::fs::write(dir.path().join("exit.json"), serde_json::to_vec(&exit()).unwrap()).unwrap();
    dir
}

fn input(dir: &Path) -> String {
    String::from_utf8(std::fs::read(dir.join("input")).unwrap()).unwrap()
}

#[tokio::test]
async fn a_conversation_goes_on_wherever_its_owner_died_and_no_line_is_sent_twice() {
    let allow = |name| (name, HookAnswer::Allow);
    let answers = BTreeMap::from([
        allow("ask-1"),
        allow("ask-2"),
        ("stop-1", HookAnswer::Block { reason: "go on".to_owned() }),
        ("stop-2", HookAnswer::Pass),
    ]);
    let whole = folder(b"");
    assert_eq!(follow(whole.path(), &answers).await, ["ask-1", "ask-2", "stop-1", "stop-2"]);
    let written = input(whole.path());
    let said: Vec<Value> = written
        .trim_end_matches('\u{4}')
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let mut sorted: Vec<String> = said.iter().map(|line| line["id"].to_string()).collect();
    sorted.sort();
    let ids = [
        r#""windlass-prompt-1""#,
        r#""windlass-prompt-2""#,
        r#""windlass-session""#,
        r#""windlass-set-mode""#,
        r#""windlass-set-model""#,
        r#""x y""#,
        "7",
    ];
    assert_eq!(sorted, ids);
    let of = |id: Value| said.iter().find(|line| line["id"] == id).unwrap();
    assert_eq!(of(json!("windlass-session"))["params"], json!({ "cwd": "/w", "mcpServers": [] }));
    assert_eq!(of(json!("windlass-set-mode"))["params"]["modeId"], "default");
    assert_eq!(of(json!("windlass-set-model"))["params"]["modelId"], "m-1");
    assert_eq!(of(json!(7))["result"]["outcome"], json!({ "outcome": "selected", "optionId": "yes" }));
    assert_eq!(of(json!("x y"))["error"]["code"], -32601);
    let prompt = &of(json!("windlass-prompt-1"))["params"]["prompt"];
    assert_eq!(
        (&prompt[0]["text"], &prompt[1]["text"]),
        (&json!("You are kind."), &json!("-x \"odd\"\u{4}\n"))
    );
    assert_eq!(of(json!("windlass-prompt-2"))["params"]["prompt"][0]["text"], "go on");

    // The former owner was killed somewhere in a line, or just before or after its end.
    let is_near_an_end =
        |at: &usize| written.get(at.saturating_sub(1)..*at + 1).is_some_and(|near| near.contains('\n'));
    for end in (0..written.len()).filter(|at| at % 17 == 0 || is_near_an_end(at)) {
        let left = written.get(..end).unwrap();
        let dir = folder(left.as_bytes());
        follow(dir.path(), &answers).await;
        let mut lines: Vec<String> = input(dir.path()).split('\n').map(str::to_owned).collect();
        // A torn line is no line for the agent.
        lines.retain(|line| {
            !line.is_empty() && (line == "\u{4}" || serde_json::from_str::<Value>(line).is_ok())
        });
        let mut expected: Vec<&str> = written.split('\n').filter(|line| !line.is_empty()).collect();
        lines.sort();
        expected.sort_unstable();
        assert_eq!(lines, expected, "killed after {left}");
    }
}

#[tokio::test]
async fn an_agent_that_dies_with_an_open_prompt_did_not_complete_its_turn() {
    let response =
        |id: &str, result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let said = [
        response("windlass-initialize", json!({ "protocolVersion": 1 })),
        response("windlass-session", json!({ "sessionId": "s" })),
        response("windlass-prompt-1", json!({ "stopReason": "end_turn" })),
    ];
    let sent = |id: &str| json!({ "jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": { "sessionId": "s", "prompt": [] } });
    let verdict_of = |sent: &[Value]| {
        let input: Vec<String> = sent.iter().map(|line| format!("{line}\n")).collect();
        let dir = folder(input.concat().as_bytes());
        std::fs::write(dir.path().join("stdout"), said.join("\n") + "\n").unwrap();
        let killed = ExitFile { code: None, signal: Some(9), ..exit() };
        let watcher = Watcher::start().unwrap();
        let mut channel = Channel::of_lines(&*acp(), &watcher, dir.path(), None);
        channel.read_rest();
        channel.sum_up(&*acp(), ProcessEnd::Exited(&killed)).verdict
    };
    let first = sent("windlass-prompt-1");
    assert_eq!(verdict_of(std::slice::from_ref(&first)), SessionVerdict::Completed);
    let open = verdict_of(&[first, sent("windlass-prompt-2")]);
    assert!(matches!(open, SessionVerdict::Interrupted { .. }), "{open:?}");
}

#[tokio::test]
async fn one_refused_file_refuses_the_request_and_always_is_never_chosen() {
    let refuse = || HookAnswer::Deny { reason: "no".to_owned() };
    let answers = BTreeMap::from([
        ("ask-1", HookAnswer::Allow),
        ("ask-2", refuse()),
        ("stop-1", HookAnswer::Pass),
        ("stop-2", HookAnswer::Pass),
    ]);
    let dir = folder(b"");
    follow(dir.path(), &answers).await;
    let written = input(dir.path());
    assert!(
        written.contains(r#""id":7,"result":{"outcome":{"optionId":"no","outcome":"selected"}}}"#),
        "{written}"
    );
    assert_eq!(written.matches(r#""id":7,"#).count(), 1);
}

#[tokio::test]
async fn an_agent_that_needs_a_login_or_another_protocol_gets_no_prompt() {
    for output in [
        r#"{"jsonrpc":"2.0","id":"windlass-initialize","result":{"protocolVersion":2}}"#,
        r#"{"jsonrpc":"2.0","id":"windlass-initialize","error":{"code":-32000,"message":"Authentication required"}}"#,
    ] {
        let dir = folder(b"");
        std::fs::write(dir.path().join("stdout"), format!("{output}\n")).unwrap();
        follow(dir.path(), &BTreeMap::new()).await;
        assert_eq!(input(dir.path()), "\u{4}", "{output}");
    }
}

#[test]
fn a_cancelled_prompt_is_named_by_its_conversation() {
    let sent =
        |id: &str| format!(r#"{{"id":"{id}","method":"session/prompt","params":{{"sessionId":"s-1"}}}}"#);
    let cancelled = |input: &str| String::from_utf8(acp().cancel(input.as_bytes())).unwrap();
    let line =
        "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"s-1\"}}\n\u{4}";
    assert_eq!(cancelled(&format!("{}\n", sent("windlass-last"))), line);
    assert_eq!(cancelled(&format!("{}\n{}\n{{", sent("windlass-prompt-1"), r#"{"id":7}"#)), line);
    assert_eq!(cancelled("{}\n"), "\u{4}");
}
