//! A run as one file: JSON Lines, Markdown and an OpenTelemetry trace.

use std::collections::BTreeSet;
use std::fs;

use crate::place::{Place, last_turn, say};
use serde_json::{Value, json};

fn played() -> (Place, String) {
    let place = Place::playing(json!([
        {"steps": [
            say("I look `first`."),
            {"bash": "echo one > made.txt"},
        ], "usage": {"input": 7, "output": 5, "cache_read": 3}},
        last_turn(),
    ]));
    let ran = place.go(&["loop", "Do the work", "--json", "--check", "test -f made.txt"]);
    ran.assert_ended(0, "completed", "marker", 2);
    let run = ran.run().to_owned();
    (place, run)
}

fn written(place: &Place, arguments: &[&str], file: &str) -> String {
    let ran = place.go(&[arguments, &["-o", file]].concat());
    assert_eq!(ran.code, 0, "{ran}");
    fs::read_to_string(place.repo().join(file)).unwrap()
}

#[test]
fn a_run_is_one_file_and_no_file_is_overwritten() {
    let (place, run) = played();
    let lines = written(&place, &["export", &run], "run.jsonl");
    let types: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].clone()).collect();
    assert_eq!((types.first(), types.last()), (Some(&json!("run.started")), Some(&json!("run.finished"))));

    let page = written(&place, &["export", &run], "run.md");
    for part in ["# Run ", "> Do the work", "### Turn 2 of `loop`", "I look `first`.", "- [x] check "] {
        assert!(page.contains(part), "{part} in {page}");
    }
    let again = place.go(&["export", &run, "-o", "run.md"]);
    again.assert_refused(2, &["run.md exists already"]);
    assert_eq!(fs::read_to_string(place.repo().join("run.md")).unwrap(), page);
}

#[test]
fn a_trace_has_a_span_for_the_run_its_turns_and_its_tools() {
    let (place, run) = played();
    let trace = written(&place, &["export", &run, "--format", "otel"], "trace");
    assert_eq!(trace, written(&place, &["export", &run], "trace.json"), "two exports are the same trace");
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let spans = trace["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let ids: BTreeSet<&str> = spans.iter().map(|span| span["spanId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), spans.len(), "each span has its own id");
    let roots = spans.iter().filter(|span| span["parentSpanId"] == "").count();
    assert_eq!(roots, 1);
    for span in spans {
        let parent = span["parentSpanId"].as_str().unwrap();
        assert!(parent.is_empty() || ids.contains(parent), "{span}");
        let time = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span}");
    }
    let of = |operation: &str| -> Vec<&Value> {
        let value = json!({"key": "gen_ai.operation.name", "value": {"stringValue": operation}});
        spans.iter().filter(|span| span["attributes"].as_array().unwrap().contains(&value)).collect()
    };
    assert_eq!((of("invoke_workflow").len(), of("invoke_agent").len()), (1, 2));
    assert!(!of("execute_tool").is_empty());
    let spent = json!({"key": "gen_ai.usage.input_tokens", "value": {"intValue": "10"}});
    assert!(
        of("invoke_agent")[0]["attributes"].as_array().unwrap().contains(&spent),
        "{:?}",
        of("invoke_agent")
    );
}
