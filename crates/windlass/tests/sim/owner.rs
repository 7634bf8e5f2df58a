//! The process that runs a run, and the others: crashes, resuming, the background, logs.

use std::collections::HashMap;
use std::fs;

use crate::place::{Place, busy_turn, done, last_turn, say};
use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::wait::until;

/// Two turns; the second waits for the file `go` before it completes.
fn waiting_turns() -> Value {
    json!([
        busy_turn(),
        {"steps": [
            say("Waiting."),
            {"write": {"path": "sign", "content": "x"}},
            {"wait_for": "go"},
            {"bash": "echo ${ITERATION}.${ATTEMPT} >> worked"},
            done(),
            say("The last words."),
        ]},
    ])
}

fn release(place: &Place) {
    fs::write(place.repo().join("go"), "x").unwrap();
}

fn status(place: &Place) -> String {
    place.ps()[0]["data"]["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_killed_windlass_leaves_a_crashed_run_that_resumes_in_the_same_turn_and_session() {
    let place = Place::playing(waiting_turns());
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    assert_eq!(status(&place), "running");
    place.sealed.kill9(going.pid());
    going.end();
    assert_eq!(status(&place), "crashed");
    assert_eq!(place.ps()[0]["data"]["resumable"], true);
    release(&place);
    let ran = place.go(&["resume", &run, "--json"]);
    ran.assert_ended(0, "completed", "marker", 2);
    assert_eq!(place.requests().len(), 2, "no session was started again");
    assert_eq!(place.file("worked"), "2.1\n");
    assert_eq!(status(&place), "completed");
    place.assert_nothing_is_left();
}

/// Runs `windlass` above the repository, which may be away.
fn above(place: &Place, arguments: &[&str]) -> crate::place::Ran {
    let mut command = place.windlass(arguments);
    command.current_dir(place.sealed.root());
    place.spawn(command).end()
}

#[test]
fn a_run_whose_folder_is_away_is_not_resumed_and_goes_on_when_it_is_back() {
    let place = Place::playing(waiting_turns());
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    place.kill_everything(going);
    let (repo, away) = (place.repo(), place.sealed.root().join("away"));
    fs::rename(&repo, &away).unwrap();
    let before = above(&place, &["logs", &run, "--json"]).stdout;
    let words = ["the folder", "is missing", "put the folder back", "windlass resume"];
    above(&place, &["resume", &run]).assert_refused(3, &words);
    assert_eq!(above(&place, &["logs", &run, "--json"]).stdout, before, "nothing was recorded");
    fs::rename(&away, &repo).unwrap();
    assert_eq!(status(&place), "crashed");
    release(&place);
    place.go(&["resume", &run, "--json"]).assert_ended(0, "completed", "marker", 2);
}

#[test]
fn a_run_whose_folder_is_gone_can_be_cancelled() {
    let place = Place::playing(waiting_turns());
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    place.kill_everything(going);
    let away = place.sealed.root().join("away");
    fs::rename(place.repo(), &away).unwrap();
    assert_eq!(above(&place, &["cancel", &run]).code, 0);
    let listed = above(&place, &["ps", "--json"]);
    fs::rename(&away, place.repo()).unwrap();
    assert_eq!(listed.lines[0]["data"]["status"], "cancelled", "{listed}");
}

#[test]
fn a_turn_that_ended_while_nobody_owned_the_run_is_counted_and_not_repeated() {
    let place = Place::playing(json!([
        busy_turn(),
        // Without a hook on the way it can end by itself.
        {"steps": [done(), {"write": {"path": "sign", "content": "x"}}, {"skip_hooks": true}, {"wait_for": "go"}, say("Bye.")]},
    ]));
    let going = place.start(&["loop", "work", "--json"]);
    place.file("sign");
    place.sealed.kill9(going.pid());
    going.end();
    release(&place);
    place.assert_nothing_is_left();
    assert_eq!(status(&place), "crashed");
    place.go(&["resume", "--json"]).assert_ended(0, "completed", "marker", 2);
    assert_eq!(place.requests().len(), 2);
}

#[test]
fn a_run_of_which_everything_was_killed_repeats_only_the_turn_under_way() {
    let place = Place::playing(waiting_turns());
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    place.kill_everything(going);
    assert_eq!(status(&place), "crashed");
    release(&place);
    let ran = place.go(&["resume", &run[..4], "--json"]);
    ran.assert_ended(0, "completed", "marker", 2);
    let iterations: Vec<Value> =
        place.requests().iter().map(|request| request["iteration"].clone()).collect();
    assert_eq!(iterations, [json!(1), json!(2), json!(2)]);
    assert_eq!(place.requests()[2]["resumed"], true);
    place.assert_nothing_is_left();
}

#[test]
fn a_crashed_run_can_be_cancelled_and_leaves_nothing_behind() {
    let place = Place::playing(waiting_turns());
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    place.sealed.kill9(going.pid());
    going.end();
    assert_eq!(place.go(&["cancel", &run]).code, 0);
    assert_eq!(status(&place), "cancelled");
    assert!(place.tracker_text(&run).contains("active: false"));
    place.assert_nothing_is_left();
}

#[test]
fn a_run_is_resumed_in_the_very_moment_its_owner_was_killed() {
    let place = Place::playing(waiting_turns());
    let mut going = place.start(&["loop", "work", "--json"]);
    going.run();
    place.file("sign");
    // Not waited for: the dying owner may still hold its lock.
    place.sealed.kill9(going.pid());
    let resumed = place.start(&["resume", "--json"]);
    release(&place);
    resumed.end().assert_ended(0, "completed", "marker", 2);
}

#[test]
fn a_run_has_one_owner() {
    let place = Place::playing(waiting_turns());
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    place.go(&["resume", &run]).assert_refused(2, &[&run, "windlass logs"]);
    release(&place);
    going.end().assert_ended(0, "completed", "marker", 2);
    place.go(&["resume", &run]).assert_refused(2, &[&run, "already over"]);
    place.go(&["cancel", &run]).assert_refused(2, &[&run, "already over"]);
    place.go(&["resume"]).assert_refused(2, &["no run"]);
}

#[test]
fn a_closed_terminal_loses_no_work() {
    let place = Place::playing(waiting_turns());
    let going = place.start(&["loop", "work", "--json"]);
    place.file("sign");
    going.signal(Signal::HUP);
    assert_ne!(going.end().code, 0);
    assert_eq!(status(&place), "crashed");
    release(&place);
    place.go(&["resume", "--json"]).assert_ended(0, "completed", "marker", 2);
    assert_eq!(place.requests().len(), 2);
}

#[test]
fn a_detached_run_goes_on_by_itself() {
    let place = Place::playing(waiting_turns());
    let left = place.go(&["loop", "work", "--detach"]);
    assert_eq!(left.code, 0, "{left}");
    let run = left.stdout.trim().to_owned();
    place.file("sign");
    assert_eq!((place.ps()[0]["run"].as_str(), status(&place)), (Some(run.as_str()), "running".to_owned()));
    release(&place);
    until(crate::place::LIMIT, || status(&place) == "completed");
    place.assert_nothing_is_left();
}

#[test]
fn a_detached_run_is_cancelled_from_outside() {
    let place =
        Place::playing(json!([{"steps": [{"write": {"path": "sign", "content": "x"}}, {"hang": true}]}]));
    let left = place.go(&["loop", "work", "--detach", "--json"]);
    let run = left.run();
    place.file("sign");
    assert_eq!(place.go(&["cancel", run]).code, 0);
    assert_eq!(status(&place), "cancelled");
    place.assert_nothing_is_left();
}

#[test]
fn a_run_is_named_by_a_unique_prefix_and_an_ambiguous_one_lists_the_candidates() {
    let place = Place::playing(json!([{"steps": [{"crash": 3}]}]));
    let mut seen: HashMap<char, String> = HashMap::new();
    let (one, other) = loop {
        let run = place.go(&["loop", "work", "--json"]).run().to_owned();
        if let Some(former) = seen.insert(run.chars().next().unwrap(), run.clone()) {
            break (former, run);
        }
    };
    let shared = &one[..1];
    place.go(&["show", shared]).assert_refused(2, &[&one, &other]);
    let unique = (2..=8).map(|length| &one[..length]).find(|prefix| !other.starts_with(prefix)).unwrap();
    let shown = place.go(&["show", unique, "--json"]);
    assert_eq!((shown.code, shown.run()), (0, one.as_str()), "{shown}");
    for verb in ["show", "logs", "cancel", "resume"] {
        place.go(&[verb, "nosuchrun"]).assert_refused(2, &["nosuchrun", "windlass ps"]);
    }
}

#[test]
fn logs_follow_a_run_to_its_end_and_tell_what_was_shown_live() {
    let place = Place::playing(waiting_turns());
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    let follower = place.start(&["logs", "-f", &run, "--json"]);
    until(crate::place::LIMIT, || follower.output().contains("Waiting."));
    release(&place);
    let (live, followed) = (going.end(), follower.end());
    assert_eq!(followed.code, 0, "{followed}");
    followed.finished();
    let afterwards = place.go(&["logs", &run, "--json"]);
    let kinds = |ran: &crate::place::Ran| {
        let mut kinds: Vec<String> =
            ran.lines.iter().map(|line| format!("{} {}", line["type"], line["data"]["kind"])).collect();
        kinds.sort();
        kinds
    };
    assert_eq!(kinds(&afterwards), kinds(&live));
    assert_eq!(kinds(&followed), kinds(&live));
}

#[test]
fn the_last_message_is_written_to_a_file() {
    let place =
        Place::playing(json!([busy_turn(), {"steps": [say("Not these."), done(), say("The last\nwords.")]}]));
    let file = place.sealed.root().join("last.txt");
    let ran = place.go(&["loop", "work", "--json", "--output-last-message", file.to_str().unwrap()]);
    ran.assert_ended(0, "completed", "marker", 2);
    assert_eq!(fs::read_to_string(&file).unwrap(), "The last\nwords.");
}

#[test]
fn a_last_message_without_a_place_is_found_out_before_the_run() {
    let place = Place::playing(json!([last_turn()]));
    let ran = place.go(&["loop", "work", "--json", "--output-last-message", "/proc/nowhere/last.txt"]);
    assert_eq!(ran.code, 7, "{ran}");
    assert!(place.requests().is_empty());
}

#[test]
fn a_reader_that_goes_away_ends_no_run() {
    let place = Place::playing(json!([busy_turn(), last_turn()]));
    let mut command = place.sealed.command("sh");
    command.args(["-c", "\"$0\" loop work --json | head -n 1", env!("CARGO_BIN_EXE_windlass")]);
    command.env("WINDLASS_SIM_SCRIPT", place.sealed.root().join("script.json"));
    let ran = place.spawn(command).end();
    assert_eq!((ran.code, ran.lines.len()), (0, 1), "{ran}");
    until(crate::place::LIMIT, || status(&place) == "completed");
}

#[test]
fn a_dry_run_starts_nothing() {
    let place = Place::playing(json!([last_turn()]));
    let ran = place.go(&["loop", "paint the fence", "--dry-run", "--check", "touch checked"]);
    assert_eq!(ran.code, 0, "{ran}");
    for words in ["paint the fence", "sim", "touch checked", "fresh"] {
        assert!(ran.stdout.contains(words), "`{words}` is missing: {ran}");
    }
    let planned = place.go(&["loop", "paint the fence", "--dry-run", "--json"]);
    assert_eq!(planned.lines[0]["type"], "run.planned", "{planned}");
    assert!(place.requests().is_empty());
    assert!(!place.repo().join(".windlass").exists() && !place.repo().join("checked").exists());
    assert!(place.ps().is_empty());
}

#[test]
fn every_line_of_json_has_version_type_time_run_and_data() {
    let place = Place::playing(json!([busy_turn(), last_turn()]));
    let ran = place.go(&["loop", "work", "--json"]);
    assert_eq!(ran.lines.len(), ran.stdout.lines().count(), "{ran}");
    for line in &ran.lines {
        let mut keys: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["data", "run", "ts", "type", "v"]);
        assert_eq!((&line["v"], line["run"].as_str()), (&json!(1), Some(ran.run())));
    }
    for kind in [
        "run.started",
        "session.started",
        "session.event",
        "hook.decision",
        "iteration.finished",
        "run.finished",
    ] {
        assert!(!ran.all(kind).is_empty(), "`{kind}` is missing: {ran}");
    }
    let usage = &ran.finished()["usage"];
    assert!(
        usage["input_tokens"].as_u64().unwrap() > 0 && ran.finished()["cost_usd"].as_f64().unwrap() > 0.0,
        "{ran}"
    );
}

#[test]
fn of_two_that_resume_one_run_at_once_one_does() {
    let place = Place::playing(waiting_turns());
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    place.sealed.kill9(going.pid());
    going.end();
    let both = [(); 2].map(|()| place.start(&["resume", &run, "--json"]));
    release(&place);
    let mut codes = both.map(|going| going.end().code);
    codes.sort_unstable();
    assert_eq!(codes, [0, 2]);
    assert_eq!(place.requests().len(), 2);
}

#[test]
fn an_interrupt_that_was_cut_off_is_finished_before_a_resume_continues() {
    let hangs =
        json!({"steps": [{"write": {"path": "sign", "content": "x"}}, {"hang": {"ignore_sigterm": true}}]});
    let place = Place::playing(json!([{"attempts": [hangs, last_turn()]}]));
    place
        .sealed
        .write("config/windlass/config.toml", "driver = \"sim\"\ngrace = \"2s\"\ndurability = \"normal\"\n");
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file("sign");
    going.signal(Signal::INT);
    until(crate::place::LIMIT, || place.go(&["logs", &run]).stdout.contains("interrupting"));
    place.sealed.kill9(going.pid());
    going.end();
    assert_eq!(status(&place), "crashed");
    place.go(&["resume", &run, "--json"]).assert_ended(0, "completed", "marker", 1);
    assert!(place.tracker_text(&run).contains("active: false"));
    place.assert_nothing_is_left();
}

#[test]
fn a_run_that_crashed_with_its_first_record_alone_is_said_to_be_taken_over() {
    let place = Place::playing(json!([last_turn()]));
    let mut command = place.windlass(&["loop", "work", "--json"]);
    command.env("WINDLASS_CRASH_AT", "windlass:2");
    place.spawn(command).end();
    assert_eq!(place.ps()[0]["data"]["status"], "crashed");
    let ran = place.go(&["resume", "--json"]);
    ran.assert_ended(0, "completed", "marker", 1);
    assert_eq!(ran.all("run.resumed"), [&json!({"after": "crash"})]);
}
