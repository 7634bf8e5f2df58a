//! Time-outs, cancels and crashes at odd moments: while a check runs, while a limit lasts,
//! while a person is asked, inside one long session.

use std::fs;

use crate::place::{Going, LIMIT, Place, busy_turn, done, last_turn, say};
use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::eventually;

fn usage(place: &Place, run: &str) -> Value {
    let shown = place.go(&["show", run, "--json"]);
    shown.lines[0]["data"]["usage"].clone()
}

fn release(place: &Place) {
    fs::write(place.repo().join("go"), "x").unwrap();
}

/// Kills the owner alone, or with everything it started.
fn kill(place: &Place, going: Going, everything: bool) {
    if everything {
        return place.kill_everything(going);
    }
    place.sealed.kill9(going.pid());
    going.end();
}

/// A check that waits for the file `go`, and leaves a sign.
const SLOW: &str = "slow=echo x > sign; while ! test -e go; do sleep 0.01; done";

#[test]
fn a_check_is_ended_when_the_run_is_interrupted_or_its_time_is_up() {
    let place = Place::playing(json!([last_turn()]));
    let ran = place.go(&["loop", "work", "--json", "--check", "sleep 1000", "--timeout", "500ms"]);
    assert_eq!((ran.code, &ran.finished()["reason"]), (6, &json!("timeout")), "{ran}");
    for signal in [Signal::INT, Signal::TERM] {
        let _ = fs::remove_file(place.repo().join("sign"));
        let going = place.start(&["loop", "work", "--json", "--check", SLOW]);
        place.file("sign");
        going.signal(signal);
        let ran = going.end();
        assert_eq!((ran.code, &ran.finished()["status"]), (130, &json!("interrupted")), "{ran}");
    }
    place.assert_nothing_is_left();
}

#[test]
fn a_crash_during_a_check_counts_the_turn_once() {
    for everything in [false, true] {
        let place = Place::playing(json!([busy_turn(), last_turn()]));
        let mut going = place.start(&["loop", "work", "--json", "--check", SLOW]);
        let run = going.run();
        place.file("sign");
        kill(&place, going, everything);
        release(&place);
        place.go(&["resume", &run, "--json"]).assert_ended(0, "completed", "marker", 2);
        assert_eq!(place.requests().len(), 2, "no turn is repeated for a check");
        place.assert_nothing_is_left();
    }
}

#[test]
fn a_wait_for_a_limit_ends_when_the_run_is_interrupted_or_its_time_is_up() {
    let place = Place::playing(json!([{"steps": [{"rate_limit": {"resets_in_ms": 3_600_000}}]}]));
    place.go(&["loop", "work", "--json", "--timeout", "500ms"]).assert_ended(6, "failed", "timeout", 0);
    let mut going = place.start(&["loop", "work", "--json"]);
    going.wait_for("run.waiting");
    going.signal(Signal::INT);
    going.end().assert_ended(130, "interrupted", "user", 0);
    place.assert_nothing_is_left();
}

#[test]
fn a_crash_during_a_wait_for_a_limit_waits_on_and_counts_no_turn() {
    let place = Place::with_settings("");
    let settings = "driver = \"sim\"\nrate_limit_wait = \"1s\"\ndurability = \"normal\"\n";
    place.sealed.write("config/windlass/config.toml", settings);
    place
        .script(json!({"turns": [{"attempts": [{"steps": [say("Hm."), {"rate_limit": {}}]}, last_turn()]}]}));
    let mut going = place.start(&["loop", "work", "--json"]);
    going.wait_for("run.waiting");
    kill(&place, going, true);
    place.go(&["resume", "--json"]).assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.requests().len(), 2);
}

#[test]
fn a_person_does_not_have_to_wait_for_the_end_of_a_limit() {
    let limited = json!([{"attempts": [
        {"steps": [say("Hm."), {"rate_limit": {"resets_in_ms": 3_600_000}}]},
        {"steps": [say("Hm."), {"rate_limit": {"resets_in_ms": 3_600_000}}]},
        last_turn(),
    ]}]);
    let place = Place::playing(limited);
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    going.wait_for("run.waiting");
    let refused = place.go(&["resume", &run, "--message", "x", "--now"]);
    refused.assert_refused(2, &["its limits can change only after it has stopped"]);
    assert_eq!(place.go(&["resume", &run, "--now", "--json"]).all("run.retried").len(), 1);
    let waits = || going.lines().iter().filter(|line| line["type"] == "run.waiting").count() == 2;
    eventually(LIMIT, || waits().then_some(()));
    kill(&place, going, true);
    place.go(&["resume", &run, "--now", "--json"]).assert_ended(0, "completed", "marker", 1);
    assert_eq!(place.requests().len(), 3);
    place.assert_nothing_is_left();
    let mut busy = place.start(&["loop", "work", "--json", "--check", "sleep 20"]);
    let run = busy.run();
    place.go(&["resume", &run, "--now"]).assert_refused(2, &["does not wait for the end of a usage limit"]);
    busy.signal(Signal::INT);
    busy.end();
}

#[test]
fn a_wait_for_a_person_ends_when_the_run_is_interrupted_or_its_time_is_up() {
    let place =
        Place::playing(json!([{"steps": [{"ask": {"question": "Which?", "options": ["A", "B"]}}, done()]}]));
    let wait = ["loop", "work", "--json", "--on-question", "wait"];
    place.go(&[&wait[..], &["--timeout", "500ms"]].concat()).assert_ended(6, "failed", "timeout", 0);
    let mut going = place.start(&wait);
    going.wait_for("run.waiting");
    going.signal(Signal::INT);
    going.end().assert_ended(130, "interrupted", "user", 0);
    place.assert_nothing_is_left();
}

#[test]
fn a_run_that_crashed_spends_what_it_would_have_spent() {
    let turns = json!([
        busy_turn(),
        {"steps": [say("Hm."), {"write": {"path": "sign", "content": "x"}}, {"wait_for": "go"}, done(), say("Done.")]},
    ]);
    let spent = [false, true].map(|crashes| {
        let place = Place::playing(turns.clone());
        let mut going = place.start(&["loop", "work", "--json"]);
        let run = going.run();
        place.file("sign");
        release(&place);
        match crashes {
            false => going.end().assert_ended(0, "completed", "marker", 2),
            true => {
                kill(&place, going, false);
                place.go(&["resume", &run, "--json"]).assert_ended(0, "completed", "marker", 2);
            }
        }
        usage(&place, &run)
    });
    assert_eq!(spent[0], spent[1]);
    assert!(spent[0]["input_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn a_crash_inside_one_long_session_goes_on_in_it_and_counts_the_same() {
    let turns = json!([
        busy_turn(),
        {"steps": [{"write": {"path": "sign", "content": "x"}}, {"wait_for": "go"}, {"tracker": {"append": "- two"}}, say("Two.")]},
        busy_turn(),
        last_turn(),
    ]);
    for everything in [false, true] {
        let place = Place::playing(turns.clone());
        let mut going = place.start(&["loop", "work", "--json", "--mode", "in_session"]);
        let run = going.run();
        place.file("sign");
        kill(&place, going, everything);
        release(&place);
        place.go(&["resume", &run, "--json"]).assert_ended(0, "completed", "marker", 4);
        let requests = place.requests();
        assert_eq!(requests.len(), if everything { 5 } else { 4 }, "{requests:?}");
        assert!(requests.iter().all(|request| request["session"] == requests[0]["session"]), "{requests:?}");
        place.assert_nothing_is_left();
    }
}

#[test]
fn a_run_survives_its_owner_being_killed_again_and_again() {
    let turn = |n: u32| json!({"steps": [{"bash": format!("echo x > sign.{n}")}, {"wait_for": format!("go.{n}")}, {"tracker": {"append": "- more"}}]});
    let place = Place::playing(json!([turn(1), turn(2), turn(3), last_turn()]));
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    for n in 1..=3 {
        place.file(&format!("sign.{n}"));
        kill(&place, going, false);
        assert_eq!(place.ps()[0]["data"]["status"], "crashed");
        fs::write(place.repo().join(format!("go.{n}")), "x").unwrap();
        going = place.start(&["resume", &run, "--json"]);
    }
    going.end().assert_ended(0, "completed", "marker", 4);
    assert_eq!(place.requests().len(), 4);
}
