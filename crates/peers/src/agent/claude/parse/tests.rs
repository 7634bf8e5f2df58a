//! Lines as the CLI writes them, and as it might.

use windlass_core::agent::RateLimit;
use windlass_core::time::Moment;
use windlass_core::usage::Usage;

use windlass_core::hook::ToolName;

use super::*;
use crate::agent::claude::Claude;
use crate::agent::lines::{AgentLines, TEXT_MAX, read_stream, shorten};

fn parse(line: &str) -> Vec<AgentEvent> {
    let mut out = Vec::new();
    read_stream(&Claude, line.as_bytes(), &mut out);
    out
}

#[test]
fn an_unknown_kind_is_kept_and_garbage_is_a_warning() {
    assert_eq!(parse(r#"{"type":"brand_new","x":1}"#), [AgentEvent::Unknown { what: "brand_new".into() }]);
    for garbage in ["{\"type\":", "hello", "[1]", "{}", "\u{0}"] {
        assert!(matches!(&parse(garbage)[..], [AgentEvent::Warning { .. }]), "{garbage}");
    }
    let mut out = Vec::new();
    read_stream(&Claude, b"\xff\xfe{\"type\":1}", &mut out);
    assert!(matches!(&out[..], [AgentEvent::Warning { .. }]));
    assert_eq!(parse("  "), []);
}

#[test]
fn a_rate_limit_says_when_it_ends() {
    let line = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794794541,"rateLimitType":"five_hour"}}"#;
    let expected = RateLimit {
        rejected: true,
        resets_at: Some(Moment(1_794_794_541_000)),
        limit: Some("five_hour".into()),
    };
    assert_eq!(parse(line), [AgentEvent::RateLimit(expected)]);
}

#[test]
fn a_call_that_never_reached_a_decision_is_told_from_one_that_was_refused() {
    let refused = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"no"}]},"tool_result_meta":[{"id":"a","permission_decision":{"decision":"reject"}}]}"#;
    let wrong = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"no such tool"}]}]}}"#;
    assert!(matches!(&parse(refused)[..], [AgentEvent::ToolResult { was_decided: true, .. }]));
    assert!(
        matches!(&parse(wrong)[..], [AgentEvent::ToolResult { was_decided: false, text, .. }] if text == "no such tool")
    );
}

#[test]
fn text_is_cut_at_a_character() {
    assert_eq!(shorten("aé", 2), "a…");
    assert_eq!(shorten("aé", 3), "aé");
}

const PLAIN: &str = r#"{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"é \"so\"\n"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":3,"output_tokens":4}},"parent_tool_use_id":"t0"}"#;

fn said() -> Vec<AgentEvent> {
    let usage = Usage { input_tokens: 3, output_tokens: 4, ..Usage::default() };
    vec![
        AgentEvent::Thinking { text: "hm".into(), side: true },
        AgentEvent::Text { text: "é \"so\"\n".into(), message_id: "m1".into(), side: true },
        AgentEvent::ToolUse {
            id: "t1".into(),
            tool: ToolName::Shell,
            name: "Bash".into(),
            asks: false,
            summary: "ls".into(),
            side: true,
        },
        AgentEvent::Spent { message_id: "m1".into(), usage },
    ]
}

#[test]
fn a_line_says_the_same_however_it_is_written() {
    let kind_last = PLAIN.replacen(r#""type":"assistant","#, "", 1).replacen(
        r#""parent_tool_use_id":"t0""#,
        r#""parent_tool_use_id":"t0","type":"assistant""#,
        1,
    );
    let message_last = r#"{"type":"assistant","parent_tool_use_id":"t0","message":{"usage":{"output_tokens":4,"input_tokens":3},"content":[{"thinking":"hm","type":"thinking"},{"text":"é \"so\"\n","type":"text"},{"input":{"command":"ls"},"name":"Bash","id":"t1","type":"tool_use"}],"id":"m1"}}"#;
    let escaped = PLAIN
        .replacen("assistant", r"assist\u0061nt", 1)
        .replacen(r#""id":"m1""#, r#""id":"\u006d1""#, 1)
        .replacen(r#""type":"text""#, r#""t\u0079pe":"te\u0078t""#, 1)
        .replacen('é', r"\u00e9", 1);
    let more = PLAIN
        .replacen(r#""message":{"#, r#""new":[{"type":"x"},null],"message":{"new":{"id":"no"},"#, 1)
        .replacen(r#"{"type":"text","#, r#"{"citations":null,"type":"text","#, 1)
        .replacen(r#""usage":{"#, r#""usage":{"cache_creation":{"input_tokens":9},"#, 1);
    let spaced = format!(" {} ", PLAIN.replace(r#"":"#, r#"" : "#));
    for line in [PLAIN, &kind_last, message_last, &escaped, &more, &spaced] {
        assert_eq!(parse(line), said(), "{line}");
    }
}

#[test]
fn an_answer_is_shown_whole_and_other_tools_by_the_field_that_tells_most() {
    let summary = |tool: &str, input: &str| {
        let block = format!(r#"{{"type":"tool_use","id":"t","name":"{tool}","input":{input}}}"#);
        let events = parse(&format!(r#"{{"type":"assistant","message":{{"content":[{block}]}}}}"#));
        let AgentEvent::ToolUse { summary, .. } = &events[0] else { panic!("{events:?}") };
        summary.clone()
    };
    let answer = r#"{"url":"http://x","count":2}"#;
    assert_eq!(summary("StructuredOutput", answer), answer);
    assert_eq!(summary("StructuredOutput", r#"{"url":""}"#), r#"{"url":""}"#);
    assert_eq!(summary("WebFetch", r#"{"url":"http://x","prompt":"p"}"#), "http://x");
    assert_eq!(summary("Grep", r#"{"path":"","pattern":"p"}"#), "p");
}

#[test]
fn a_result_says_the_same_however_it_is_written() {
    let plain = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"a\tb"}]}}"#;
    let kind_last = r#"{"message":{"role":"user","content":[{"content":[{"text":"a\tb","type":"text"},{"type":"image","source":{}}],"tool_use_id":"\u0061","new":1,"type":"tool_result"}]},"tool_use_result":{"type":"x"},"type":"user"}"#;
    let given = AgentEvent::ToolResult {
        id: "a".into(),
        is_error: false,
        text: "a\tb".into(),
        was_decided: true,
        side: false,
    };
    for line in [plain, kind_last] {
        assert_eq!(parse(line), std::slice::from_ref(&given), "{line}");
    }
}

#[test]
fn a_content_that_is_no_list_has_no_blocks() {
    for content in [r#""te\nxt""#, "null", "{\"type\":\"text\"}", "1", "-1.5", "true"] {
        for kind in ["assistant", "user"] {
            let line = format!(r#"{{"type":"{kind}","message":{{"content":{content}}}}}"#);
            assert_eq!(parse(&line), [], "{line}");
        }
    }
}

#[test]
fn a_line_with_two_kinds_is_a_warning_and_says_nothing() {
    let twice = PLAIN.replacen("{", r#"{"type":"assistant","#, 1);
    assert!(matches!(&parse(&twice)[..], [AgentEvent::Warning { .. }]));
    let half = &PLAIN[..PLAIN.len() - 1];
    assert!(matches!(&parse(half)[..], [AgentEvent::Warning { .. }]));
}

#[test]
fn a_broken_character_does_not_cost_the_line() {
    let mut line = PLAIN.as_bytes().to_vec();
    let at = line.iter().position(|byte| *byte == 0xc3).unwrap();
    line[at + 1] = b'!';
    let mut out = Vec::new();
    read_stream(&Claude, &line, &mut out);
    assert!(matches!(&out[1], AgentEvent::Text { text, .. } if text.starts_with("\u{fffd}! ")));
    assert_eq!(out.len(), 4);
}

#[test]
fn a_few_unreadable_lines_are_told_and_the_rest_are_counted_once() {
    let (mut lines, mut out) = (AgentLines::of(&Claude), Vec::new());
    lines.read("no event\n".repeat(1000).as_bytes(), 0, &mut out);
    lines.read(b"{\"type\":\n", 0, &mut out);
    assert!(
        matches!(&out[..], [AgentEvent::Warning { what }, _, _] if what.ends_with("no event")),
        "{out:?}"
    );
    out.clear();
    lines.read(br#"{"type":"brand_new"}"#, 70, &mut out);
    assert_eq!(out, [AgentEvent::Unknown { what: "brand_new".into() }]);
    lines.end(&mut out);
    assert_eq!(out.pop(), Some(AgentEvent::Warning { what: "999 more unreadable lines".into() }));
    lines.end(&mut out);
    assert_eq!(out.len(), 1);
}

#[test]
fn what_is_kept_of_a_line_is_bounded() {
    let much = "x".repeat(3 << 20);
    let said = format!(
        r#"{{"type":"assistant","message":{{"id":"{much}","content":[{{"type":"text","text":"{much}"}}]}}}}"#
    );
    let [AgentEvent::Text { text, message_id, .. }] = &parse(&said)[..] else { panic!("one text") };
    assert!(
        text.len() <= TEXT_MAX + 60 && text.contains("(Windlass left out 2097152 bytes here)"),
        "{}",
        text.len()
    );
    let end = said.replace(&format!("{much}\"}}]"), &format!("{much}\\n\\nALL DONE\"}}]"));
    let [AgentEvent::Text { text, .. }] = &parse(&end)[..] else { panic!("one text") };
    assert!(text.ends_with("x\n\nALL DONE"), "the end of a long text is kept");
    assert!(message_id.len() < 2_000);
    let lists = [
        format!(
            r#"{{"type":"assistant","message":{{"content":[{}0]}}}}"#,
            r#"{"type":"text"},"#.repeat(20_000)
        ),
        format!(r#"{{"type":"system","subtype":"init","tools":[{}""]}}"#, r#""","#.repeat(20_000)),
        format!(r#"{{"type":"result","errors":[{}""]}}"#, r#""","#.repeat(20_000)),
    ];
    for line in lists {
        assert!(matches!(&parse(&line)[..], [AgentEvent::Warning { .. }]), "{}", &line[..60]);
    }
    let value = format!(r#"{{"type":"result","structured_output":[{}0]}}"#, "0,".repeat(1 << 20));
    assert!(
        matches!(&parse(&value)[..], [AgentEvent::Warning { .. }, AgentEvent::Result(end)] if end.structured.is_none())
    );
}
