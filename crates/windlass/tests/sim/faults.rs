//! Tests for failing agents: no process is left behind and no turn is counted twice.

use std::time::{Duration, Instant};

use crate::place::{Going, Place, assert_gone, busy_turn, done, last_turn, say};
use rustix::process::Signal;
use serde_json::{Value, json};

fn column(requests: &[Value], key: &str) -> Vec<Value> {
    requests.iter().map(|request| request[key].clone()).collect()
}

#[test]
fn a_run_whose_agent_hangs_ends_when_its_time_is_up() {
    for step in
        [json!({"hang": true}), json!({"hang": {"ignore_sigterm": true}}), json!({"bash": "sleep 1000"})]
    {
        let place = Place::playing(json!([{"steps": [say("Hm."), step]}]));
        let ran = place.go(&["loop", "work", "--json", "--timeout", "600ms"]);
        ran.assert_ended(6, "failed", "timeout", 0);
        assert!(place.tracker_text(ran.run()).contains("active: false"));
        place.assert_nothing_is_left();
    }
}

#[test]
fn a_check_that_hangs_fails_when_its_time_is_up() {
    let place = Place::with_settings("check_timeout = \"300ms\"\n");
    place.script(json!({"turns": [last_turn()]}));
    let ran = place.go(&[
        "loop",
        "work",
        "--json",
        "--max-iterations",
        "1",
        "--check",
        "slow=echo begun; sleep 1000",
    ]);
    ran.assert_ended(9, "exhausted", "max_iterations", 1);
    place.assert_nothing_is_left();
}

#[test]
fn an_agent_that_ignores_sigterm_is_killed_when_its_run_is_cancelled() {
    let hang = json!({"hang": {"ignore_sigterm": true}});
    let place = Place::playing(json!([{"steps": [{"write": {"path": "sign", "content": "x"}}, hang]}]));
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    let cancelled = place.go(&["cancel", &run, "--json"]);
    assert_eq!(
        (cancelled.code, &cancelled.lines[0]["data"]["status"]),
        (0, &json!("cancelled")),
        "{cancelled}"
    );
    going.end().assert_ended(130, "cancelled", "user", 0);
    place.assert_nothing_is_left();
}

#[test]
fn what_an_agent_leaves_behind_is_ended_with_its_turn() {
    let place = Place::playing(json!([{"steps": [{"grandchild": {"pid_file": "pid"}}, done()]}]));
    place.go(&["loop", "work", "--json"]).assert_ended(0, "completed", "marker", 1);
    assert_gone(place.file("pid").trim().parse().unwrap());
    place.assert_nothing_is_left();
}

#[test]
fn what_a_check_leaves_behind_is_ended_with_it() {
    let place = Place::playing(json!([last_turn()]));
    let check = "setsid sleep 1000 & echo $! > pid";
    place.go(&["loop", "work", "--json", "--check", check]).assert_ended(0, "completed", "marker", 1);
    assert_gone(place.file("pid").trim().parse().unwrap());
    place.assert_nothing_is_left();
}

#[test]
fn an_agent_that_dies_in_the_middle_of_a_line_fails_the_run_with_a_reason() {
    let place = Place::playing(json!([{"steps": [say("I begin."), {"half_line": true}]}]));
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(4, "failed", "agent_failed", 0);
    assert!(ran.finished()["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{ran}");
}

#[test]
fn a_line_of_five_megabytes_is_read() {
    let place = Place::playing(json!([{"steps": [{"big_line": 5_000_000}, done(), say("That was long.")]}]));
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(ran.all("session.event").iter().any(|event| event["text"] == "That was long."));
}

#[test]
fn a_tool_call_of_five_megabytes_is_decided() {
    let content = "x".repeat(5_000_000);
    let place = Place::playing(json!([{"steps": [{"write": {"path": "big", "content": content}}, done()]}]));
    place.go(&["loop", "work", "--json"]).assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.file("big").len(), 5_000_000);
    let db = std::fs::metadata(place.sealed.state().join("windlass/windlass.db")).unwrap().len();
    assert!(db < 2_000_000, "the log keeps decisions, not payloads: {db} bytes");
}

#[test]
fn lines_that_are_no_events_are_warnings_and_no_more() {
    let place = Place::playing(json!([{"steps": [
        {"garbage": "not json at all"},
        {"garbage": "{\"type\":\"from_the_future\",\"x\":[1,{}]}"},
        {"garbage": "{\"type\":\"assistant\",\"message\":17}"},
        {"garbage": "[[[[["},
        {"garbage": ""},
        {"garbage": {"bytes": [255, 254, 0, 13]}},
        done(),
    ]}]));
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(ran.all("session.event").iter().any(|event| event["kind"] == "warning"), "{ran}");
}

#[test]
fn an_agent_that_is_killed_goes_on_in_its_session_and_the_turn_is_counted_once() {
    let crash = json!({"steps": [say("On it."), {"bash": "echo x >> tries"}, {"crash": "SIGKILL"}]});
    let place = Place::playing(json!([{"attempts": [crash, busy_turn()]}, last_turn()]));
    let ran = place.go(&["loop", "work", "--json", "--max-iterations", "2"]);
    ran.assert_ended(0, "completed", "marker", 2);
    let requests = place.requests();
    assert_eq!(column(&requests, "iteration"), [json!(1), json!(1), json!(2)]);
    assert_eq!(column(&requests, "attempt"), [json!(1), json!(2), json!(1)]);
    assert_eq!(column(&requests, "resumed"), [json!(false), json!(true), json!(false)]);
    assert_eq!(requests[0]["session"], requests[1]["session"]);
    assert!(place.prompts()[1].contains("interrupted"), "{}", place.prompts()[1]);
}

#[test]
fn an_agent_that_is_killed_before_it_said_a_word_begins_anew() {
    let place = Place::playing(json!([{"attempts": [{"steps": [{"crash": "SIGKILL"}]}, last_turn()]}]));
    place.go(&["loop", "work", "--json"]).assert_ended(0, "completed", "marker", 1);
    let requests = place.requests();
    assert_eq!(column(&requests, "resumed"), [json!(false), json!(false)]);
    assert_ne!(requests[0]["session"], requests[1]["session"], "an id is used once");
    assert_eq!(place.prompts()[0], place.prompts()[1]);
}

#[test]
fn an_agent_that_is_killed_again_and_again_fails_the_run() {
    let place = Place::playing(json!([{"steps": [say("On it."), {"crash": "SIGKILL"}]}]));
    place.go(&["loop", "work", "--json"]).assert_ended(4, "failed", "interrupted", 0);
    assert_eq!(place.requests().len(), 4);
}

#[test]
fn a_tool_whose_agent_is_killed_is_ended_and_the_run_goes_on() {
    let kill = "setsid sleep 1000 & echo $! > pid; kill -9 $PPID; sleep 1000";
    let place =
        Place::playing(json!([{"attempts": [{"steps": [say("On it."), {"bash": kill}]}, last_turn()]}]));
    place.go(&["loop", "work", "--json"]).assert_ended(0, "completed", "marker", 1);
    assert_gone(place.file("pid").trim().parse().unwrap());
    place.assert_nothing_is_left();
}

#[test]
fn ctrl_c_once_interrupts_cleanly() {
    let place = Place::playing(
        json!([busy_turn(), {"steps": [{"write": {"path": "sign", "content": "x"}}, {"hang": true}]}]),
    );
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    going.signal(Signal::INT);
    going.end().assert_ended(130, "interrupted", "user", 1);
    assert!(place.tracker_text(&run).contains("\nactive: false\n"));
    place.assert_nothing_is_left();
    assert_eq!(place.ps()[0]["data"]["status"], "interrupted");
}

/// A place where an agent has all the time to end.
fn patient(turns: Value) -> Place {
    let place = Place::playing(turns);
    let settings = "driver = \"sim\"\ngrace = \"10m\"\ndurability = \"normal\"\n";
    place.sealed.write("config/windlass/config.toml", settings);
    place
}

fn interrupt_twice(place: &Place, going: Going) {
    let begun = Instant::now();
    going.signal(Signal::INT);
    // Two of them at once are one to the kernel: the second comes when the first was seen.
    windlass_testkit::wait::until(crate::place::LIMIT, || going.errors().contains("press Ctrl-C again"));
    going.signal(Signal::INT);
    let ran = going.end();
    assert_eq!((ran.code, &ran.finished()["status"]), (130, &json!("interrupted")), "{ran}");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    place.assert_nothing_is_left();
}

#[test]
fn ctrl_c_twice_kills_at_once_even_an_agent_that_ignores_sigterm() {
    let hang = json!({"hang": {"ignore_sigterm": true}});
    let place = patient(json!([{"steps": [{"write": {"path": "sign", "content": "x"}}, hang]}]));
    let going = place.start(&["loop", "work", "--json"]);
    place.file("sign");
    interrupt_twice(&place, going);
}

#[test]
fn a_host_that_is_killed_takes_its_agent_along_and_the_run_goes_on() {
    let hang = json!({"steps": [say("On it."), {"write": {"path": "sign", "content": "x"}}, {"hang": {"ignore_sigterm": true}}]});
    let place = Place::playing(json!([busy_turn(), {"attempts": [hang, last_turn()]}]));
    let going = place.start(&["loop", "work", "--json"]);
    place.file("sign");
    assert_eq!(place.hosts().len(), 1);
    place.kill_hosts();
    going.end().assert_ended(0, "completed", "marker", 2);
    assert_eq!(place.requests().len(), 3);
    place.assert_nothing_is_left();
}

#[test]
fn ctrl_c_twice_kills_at_once_even_a_check_that_ignores_sigterm() {
    let place = patient(json!([last_turn()]));
    let going = place.start(&[
        "loop",
        "work",
        "--json",
        "--check",
        "trap '' TERM; echo x > sign; sleep 1000; sleep 1000",
    ]);
    place.file("sign");
    interrupt_twice(&place, going);
}

#[test]
fn a_second_cancel_from_outside_kills_at_once() {
    let place = patient(
        json!([{"steps": [{"write": {"path": "sign", "content": "x"}}, {"hang": {"ignore_sigterm": true}}]}]),
    );
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    let first = place.start(&["cancel", &run]);
    // With grace, the agent is asked to end and does not: the tracker says so first.
    windlass_testkit::wait::until(crate::place::LIMIT, || {
        place.go(&["logs", &run]).stdout.contains("cancelling")
    });
    let begun = Instant::now();
    assert_eq!(place.go(&["cancel", &run]).code, 0);
    going.end().assert_ended(130, "cancelled", "user", 0);
    assert_eq!(first.end().code, 0);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

#[test]
fn a_socket_that_is_deleted_is_mended_and_no_hook_is_lost() {
    let delete = json!({"bash": "rm -r \"$(dirname \"$WINDLASS_SOCKET\")\""});
    let place = Place::playing(json!([{"steps": [delete, {"bash": "touch later"}, done()]}]));
    let ran = place.go(&["loop", "work", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert!(place.repo().join("later").exists());
}

#[test]
fn a_check_that_is_cancelled_is_followed_by_no_other() {
    let place = Place::playing(json!([last_turn()]));
    let checks = ["--check", "one=touch one; sleep 300", "--check", "two=touch two; sleep 300"];
    let mut going = place.start(&[&["loop", "work", "--json"][..], &checks].concat());
    going.run();
    place.file_exists("one");
    going.signal(Signal::INT);
    assert_eq!(going.end().code, 130);
    place.assert_nothing_is_left();
    assert!(!place.repo().join("two").exists(), "the other check was begun");
}
