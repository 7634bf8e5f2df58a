//! The events and hook payloads have exactly the keys of recorded ones.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::events;
use crate::sim::event::Failure;
use crate::sim::rehearsal::{NOTE, Played, RehearsedScript};

const RECORDED: &str = include_str!("testdata/recorded.jsonl");

fn recorded(name: &str) -> Value {
    let lines = RECORDED.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.into_iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("{name}"))["event"].clone()
}

/// The keys below what is freely chosen: tool inputs and models.
fn keys(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let name = if at.to_lowercase().ends_with("modelusage") || at.ends_with("_since_last_result")
                {
                    "MODEL"
                } else {
                    key
                };
                into.insert(format!("{at}.{name}"));
                if key != "tool_input" && key != "input" {
                    keys(value, &format!("{at}.{name}"), into);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, &format!("{at}[]"), into)),
        _ => {}
    }
}

#[track_caller]
pub(in crate::sim) fn assert_shaped(ours: &Value, name: &str) {
    let (mut got, mut expected) = (BTreeSet::new(), BTreeSet::new());
    keys(ours, "", &mut got);
    keys(&recorded(name), "", &mut expected);
    assert_eq!(got, expected, "{name}");
}

fn first(played: &Played, fits: impl Fn(&Value) -> bool) -> Value {
    played.events().into_iter().find(fits).unwrap()
}

#[test]
fn a_plain_turn_looks_as_recorded() {
    let played = RehearsedScript::of_steps(json!([{"say": "hi!"}])).with(&["--plugin-dir", "x"]).play();
    assert_eq!(played.err, "");
    assert_shaped(&first(&played, |event| event["subtype"] == "init"), "init");
    assert_shaped(&first(&played, |event| event["type"] == "assistant"), "assistant");
    assert_shaped(&played.result(), "result");
    assert_eq!(played.result()["num_turns"], 1);
}

#[test]
fn an_answer_by_schema_looks_as_recorded() {
    let rehearsal = RehearsedScript::of_steps(json!([{"structured": {"verdict": "pass"}}]));
    let played = rehearsal.with(&["--json-schema", r#"{"type":"object"}"#]).play();
    assert_eq!(played.err, "");
    assert_shaped(&played.result(), "result_structured");
    for key in ["result", "structured_output", "stop_reason", "num_turns", "subtype", "terminal_reason"] {
        assert_eq!(played.result()[key], recorded("result_structured")[key], "{key}");
    }
}

#[test]
fn tool_results_look_as_recorded() {
    let rehearsal = RehearsedScript::of_steps(json!([{"bash": "echo out"}]));
    assert_shaped(&first(&rehearsal.play(), |event| event["type"] == "user"), "tool_result");
    let deny = "echo no >&2; exit 2";
    let played =
        RehearsedScript::of_steps(json!([{"bash": "echo out"}])).hooks(&[("PreToolUse", deny)]).play();
    assert_shaped(&first(&played, |event| event["type"] == "user"), "tool_refused");
}

#[test]
fn blocks_and_the_cap_look_as_recorded() {
    let block = r#"echo '{"decision":"block","reason":"more"}'"#;
    let rehearsal = RehearsedScript::of_steps(json!([{"say": "a"}])).hooks(&[("Stop", block)]);
    let played = rehearsal.env("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "1").play();
    assert_shaped(&first(&played, |event| event["type"] == "user"), "feedback");
    assert_shaped(&first(&played, |event| event["key"] == "stop-hook-error"), "stop_blocked");
    assert_shaped(&first(&played, |event| event["subtype"] == "informational"), "cap_informational");
    assert_shaped(&first(&played, |event| event["key"] == "stop-hook-block-cap"), "cap_notification");
}

#[test]
fn refusals_of_the_service_look_as_recorded() {
    let played = RehearsedScript::of_steps(json!([{"api_error": {"status": 400, "message": "bad"}}])).play();
    assert_shaped(&first(&played, |event| event["type"] == "assistant"), "api_error");
    assert_shaped(&played.result(), "result_api_error");
    let played = RehearsedScript::of_steps(json!([{"api_error": {"status": 529}}])).play();
    assert_shaped(&first(&played, |event| event["subtype"] == "api_retry"), "api_retry");
    let failure = Failure { status: 529, message: String::new(), limit: None };
    assert_eq!(events::kind(&failure), "overloaded_error");
    assert_eq!(events::rate_limit(None)["rate_limit_info"].get("resetsAt"), None);
}

#[test]
fn the_result_of_a_background_task_looks_as_recorded() {
    let played = RehearsedScript::of_steps(json!([{"background_stop": true}, {"say": "extra"}])).play();
    assert_shaped(&played.result(), "result_of_task");
}

#[test]
fn reported_hook_calls_look_as_recorded() {
    let rehearsal =
        RehearsedScript::of_steps(json!([])).hooks(&[("Stop", "true")]).with(&["--include-hook-events"]);
    let played = rehearsal.play();
    assert_shaped(&first(&played, |event| event["subtype"] == "hook_started"), "hook_started");
    assert_shaped(&first(&played, |event| event["subtype"] == "hook_response"), "hook_response");
}

#[test]
fn hooks_are_told_what_was_recorded() {
    let names = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "SubagentStart",
        "SubagentStop",
        "Stop",
        "SessionEnd",
    ];
    let steps = json!([
        {"write": {"path": "a", "content": "one\n"}}, {"replace": {"path": "a", "old": "one", "new": "two"}},
        {"bash": "exit 3"}, {"background_stop": true},
    ]);
    let rehearsal = RehearsedScript::of_steps(steps).hooks(&names.map(|name| (name, NOTE)));
    rehearsal.play();
    let told = rehearsal.lines();
    for name in names {
        let payload = told
            .iter()
            .find(|payload| payload["hook_event_name"] == name)
            .unwrap_or_else(|| panic!("{name}"));
        assert_shaped(payload, &format!("hook {name}"));
    }
    let edit =
        |payload: &&Value| payload["hook_event_name"] == "PostToolUse" && payload["tool_name"] == "Edit";
    assert_shaped(told.iter().find(edit).unwrap(), "hook PostToolUse Edit");
}
