//! `windlass sim --as NAME` in the place of every agent CLI: one script, and the driver of that CLI.

use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, Ran, busy_turn, last_turn, say};

/// The drivers whose CLI the sim can play.
const DRIVERS: [&str; 6] = ["claude", "codex", "opencode", "copilot", "gemini", "acp"];

/// Runs a loop with the sim in the place of a driver's CLI.
fn command(place: &Place, driver: &str, flags: &[&str]) -> std::process::Command {
    let bin = format!("'{}' sim --as {driver}", env!("CARGO_BIN_EXE_windlass"));
    let words = ["loop", "do the work", "--json", "--driver", driver, "--agent-bin", &bin];
    place.windlass(&[&words, flags].concat())
}

#[track_caller]
fn go(place: &Place, driver: &str, flags: &[&str]) -> Ran {
    place.spawn(command(place, driver, flags)).end()
}

/// What the agent said and did, in the words that all drivers share.
fn story(ran: &Ran) -> Vec<String> {
    let text = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    let told = |event: &Value| match text(event, "kind").as_str() {
        "text" => Some(text(event, "text")),
        // Some CLIs have one tool for both.
        "tool_use" => Some(format!("[{}]", text(event, "tool").replace("write", "edit"))),
        "tool_result" => Some(if event["is_error"] == true { "failed" } else { "done" }.to_owned()),
        _ => None,
    };
    ran.all("session.event").into_iter().filter_map(told).collect()
}

#[test]
fn one_script_is_the_same_story_on_every_driver() {
    let steps = json!([
        {"think": "hm"}, say("Working."), {"bash": "echo one > a.txt"}, {"write": {"path": "b.txt", "content": "x\n"}},
        say("Now the rest."), {"replace": {"path": "b.txt", "old": "x", "new": "y"}},
        {"tool": {"name": "mcp__db__query", "input": {"q": "1"}, "result": "rows"}},
        {"append": {"path": "b.txt", "content": "z\n"}}, {"tracker": {"append": "<!-- WORKFLOW_COMPLETE -->"}}, say("All done."),
    ]);
    let expected = [
        "Working.",
        "[shell]",
        "done",
        "[edit]",
        "done",
        "Now the rest.",
        "[edit]",
        "done",
        "[mcp]",
        "done",
        "[edit]",
        "done",
        "[edit]",
        "done",
        "All done.",
    ];
    for driver in DRIVERS {
        let place = Place::playing(json!([{"steps": steps}]));
        let ran = go(&place, driver, &["--isolation", "permissive", "--on-permission", "allow"]);
        ran.assert_ended(0, "completed", "marker", 1);
        assert_eq!(story(&ran), expected, "{driver}");
        assert_eq!((place.file("a.txt"), place.file("b.txt")), ("one\n".into(), "y\nz\n".into()), "{driver}");
        let unread = |event: &&Value| event["kind"] == "unknown" || event["kind"] == "warning";
        assert_eq!(ran.all("session.event").into_iter().filter(unread).count(), 0, "{driver}: {ran}");
        place.assert_nothing_is_left();
    }
}

#[test]
fn the_tokens_of_a_script_are_summed_exactly_in_every_mode() {
    let spending = |turn: Value, input: u64| {
        let usage = json!({"input_tokens": input, "output_tokens": 10, "cache_read": 3});
        json!({"steps": turn["steps"], "usage": usage, "cost_usd": 0.5})
    };
    let turns = json!([spending(busy_turn(), 100), spending(busy_turn(), 200), spending(last_turn(), 400)]);
    for driver in DRIVERS {
        for (mode, processes) in [("fresh", 3), ("resume", 3), ("in_session", 1)] {
            let place = Place::playing(turns.clone());
            let ran = go(&place, driver, &["--mode", mode]);
            ran.assert_ended(0, "completed", "marker", 3);
            let usage = &ran.finished()["usage"];
            let seen = ["input_tokens", "output_tokens", "cache_read_tokens"].map(|key| usage[key].clone());
            assert_eq!(seen, [700, 30, 9].map(|count| json!(count)), "{driver} {mode}: {ran}");
            let cost = &ran.finished()["cost_usd"];
            let has_cost = matches!(driver, "claude" | "opencode" | "acp");
            assert_eq!(*cost, if has_cost { json!(1.5) } else { Value::Null }, "{driver} {mode}");
            assert_eq!(ran.all("session.started").len(), processes, "{driver} {mode}");
            let sessions: Vec<Value> =
                place.requests().iter().map(|request| request["session"].clone()).collect();
            let is_one = sessions.iter().all(|session| *session == sessions[0]);
            assert_eq!(is_one, mode != "fresh", "{driver} {mode}: {sessions:?}");
        }
    }
}

#[test]
fn a_refused_tool_is_not_used_and_the_agent_goes_on() {
    for driver in DRIVERS {
        let steps = json!([{"bash": "git push origin main && touch made"}, last_turn()["steps"][0], say("Then not.")]);
        let place = Place::playing(json!([{"steps": steps}]));
        place.sealed.write(
            "config/windlass/config.toml",
            "retry_delay = \"20ms\"\ndurability = \"normal\"\n[permissions]\ndeny = [\"shell(git push *)\"]\n",
        );
        let ran = go(&place, driver, &[]);
        ran.assert_ended(0, "completed", "marker", 1);
        assert!(!place.repo().join("made").exists(), "{driver}");
        let decisions = ran.all("hook.decision");
        let refused = decisions.iter().filter(|decision| decision["decision"] == "deny").count();
        assert_eq!(refused, 1, "{driver}: {ran}");
        let results = story(&ran).into_iter().filter(|told| told == "failed").count();
        // Codex says nothing of a call that was refused.
        assert_eq!(results, usize::from(driver != "codex"), "{driver}: {ran}");
    }
}

#[test]
fn a_limit_with_a_known_end_is_waited_for_and_is_no_turn() {
    for driver in ["claude", "codex", "opencode", "copilot", "gemini"] {
        let limited = json!({"steps": [{"rate_limit": {"resets_in_ms": 5_400_000}}]});
        let place = Place::playing(json!([{"attempts": [limited, last_turn()]}]));
        let mut going = place.spawn(command(&place, driver, &[]));
        let waiting = going.wait_for("run.waiting");
        assert_eq!(waiting["on"], "rate_limit", "{driver}");
        let until: jiff::Timestamp = waiting["until"].as_str().unwrap().parse().unwrap();
        let left = SystemTime::from(until).duration_since(SystemTime::now()).unwrap();
        // Codex says the time to the minute.
        let around = Duration::from_secs(5_280)..=Duration::from_secs(5_460);
        assert!(around.contains(&left), "{driver}: {left:?}");
        let run = going.run();
        place.go(&["resume", &run, "--now"]);
        going.end().assert_ended(0, "completed", "marker", 1);
        assert_eq!(place.requests().len(), 2, "{driver}");
    }
}

#[test]
fn a_limit_without_an_end_and_an_overloaded_service_are_no_turns() {
    for driver in DRIVERS {
        let limited = json!({"steps": [{"rate_limit": {}}]});
        let overloaded = json!({"steps": [{"api_error": {"status": 503, "message": "overloaded"}}]});
        let place = Place::playing(json!([{"attempts": [limited, overloaded, last_turn()]}]));
        let ran = go(&place, driver, &[]);
        ran.assert_ended(0, "completed", "marker", 1);
        assert_eq!(place.requests().len(), 3, "{driver}");
        let waited: Vec<&Value> = ran.all("run.waiting").into_iter().map(|waiting| &waiting["on"]).collect();
        assert!(waited.contains(&&json!("rate_limit")), "{driver}: {ran}");
    }
}

#[test]
fn a_refused_key_ends_the_run_at_once_and_an_unknown_model_too() {
    for driver in DRIVERS {
        for status in [401, 404] {
            let place = Place::playing(
                json!([{"steps": [{"api_error": {"status": status, "message": "not yours"}}]}]),
            );
            let ran = go(&place, driver, &[]);
            ran.assert_ended(4, "failed", "agent_failed", 0);
            assert!(
                ran.finished()["detail"].as_str().unwrap().contains("not yours"),
                "{driver} {status}: {ran}"
            );
            assert_eq!(place.requests().len(), 1, "{driver} {status}");
        }
    }
}

#[test]
fn a_question_reaches_a_person_where_the_cli_asks_and_is_a_text_elsewhere() {
    let steps = json!([
        {"ask": {"question": "Which colour?", "options": ["Red", "Blue"]}},
        {"write": {"path": "answer", "content": "<${ANSWER}>"}}, last_turn()["steps"][0],
    ]);
    for driver in DRIVERS {
        let place = Place::playing(json!([{"steps": steps}]));
        let mut going = place.spawn(command(&place, driver, &["--on-question", "wait"]));
        let can_ask = matches!(driver, "claude" | "codex");
        if can_ask {
            going.wait_for("run.waiting");
            let run = going.run();
            place.go(&["answer", &run, "Blue"]);
        }
        let ran = going.end();
        ran.assert_ended(0, "completed", "marker", 1);
        assert_eq!(place.file("answer"), if can_ask { "<Blue>" } else { "<>" }, "{driver}");
        assert_eq!(story(&ran).contains(&"Which colour?".to_owned()), !can_ask, "{driver}: {ran}");
    }
}

#[test]
fn an_interrupted_run_leaves_no_process() {
    for driver in DRIVERS {
        let place = Place::playing(json!([{"steps": [{"bash": "touch ready; exec sleep 600"}]}]));
        let going = place.spawn(command(&place, driver, &[]));
        place.file_exists("ready");
        going.signal(Signal::INT);
        going.end().assert_ended(130, "interrupted", "user", 0);
        place.assert_nothing_is_left();
    }
}

#[test]
fn a_script_with_a_mistake_costs_no_run_and_a_format_that_nobody_knows_is_said() {
    let place = Place::playing(json!([{"steps": [{"sya": "x"}]}]));
    let ran = go(&place, "codex", &[]);
    assert_eq!(ran.code, 3, "{ran}");
    assert!(ran.stderr.contains("unknown variant `sya`") && ran.all("run.started").is_empty(), "{ran}");
    for (arguments, what) in [
        (&["sim", "--as"][..], "`windlass sim --as` needs the name of a format"),
        (&["sim", "--as", "cdoex"], "`windlass sim` does not know the format `cdoex`"),
    ] {
        let ran = place.go(arguments);
        assert_eq!(ran.code, 2, "{ran}");
        assert!(ran.stderr.contains(what), "{ran}");
        assert!(ran.stderr.contains("claude, codex, opencode, copilot, gemini, acp, plain"), "{ran}");
    }
    let version = place.go(&["sim", "--as", "codex", "--version"]);
    assert_eq!((version.code, version.stdout.as_str()), (0, "codex-cli 0.166.0 (Windlass sim)\n"));
}
