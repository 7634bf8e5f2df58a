//! Runs that stop and continue: interrupted, exhausted, blocked and failed ones, also with runs inside them and
//! with tasks in worktrees.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{Place, last_turn, say};

/// A turn that writes a sign, waits for a file and adds a line.
fn waits_for(file: &str, line: &str) -> Value {
    let add = json!({"append": {"path": "work.txt", "content": format!("{line}\n")}});
    json!({"steps": [say("here"), {"bash": "touch sign"}, {"wait_for": file}, add]})
}

fn idle() -> Value {
    json!({"steps": [{"append": {"path": "work.txt", "content": "more\n"}}, say("not yet")]})
}

#[test]
fn an_interrupted_run_goes_on_in_its_session_and_completes() {
    for mode in ["fresh", "in_session", "resume"] {
        let place = Place::playing(json!([waits_for("go", "one"), last_turn()]));
        let mut going = place.start(&["loop", "work", "--json", "--mode", mode]);
        let run = going.run();
        place.file_exists("sign");
        going.signal(Signal::INT);
        going.end().assert_ended(130, "interrupted", "user", 0);
        place.assert_nothing_is_left();
        std::fs::write(place.repo().join("go"), "").unwrap();
        let again = place.go(&["resume", &run, "--json"]);
        assert_eq!((again.code, &again.finished()["status"]), (0, &json!("completed")), "{mode}: {again}");
        let sessions = again.all("session.started");
        assert_eq!(sessions[0]["resumed"], true, "{mode}: {again}");
        assert_eq!((&sessions[0]["iteration"], &sessions[0]["attempt"]), (&json!(1), &json!(2)), "{again}");
        assert_eq!(place.file("work.txt"), "one\n", "{mode}");
        assert_eq!(place.go(&["replay", &run]).code, 0);
        place.go(&["resume", &run]).assert_refused(2, &["already over", "completed"]);
    }
}

#[test]
fn resume_without_a_name_takes_the_interrupted_run_of_the_folder() {
    let place = Place::playing(json!([waits_for("go", "one"), last_turn()]));
    let going = place.start(&["loop", "work", "--json"]);
    place.file_exists("sign");
    going.signal(Signal::INT);
    going.end();
    std::fs::write(place.repo().join("go"), "").unwrap();
    let again = place.go(&["resume", "--json"]);
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(again.all("run.resumed")[0]["after"], "end", "{again}");
}

#[test]
fn only_cancel_ends_a_run_for_good() {
    let place = Place::playing(json!([waits_for("go", "one"), last_turn()]));
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file_exists("sign");
    going.signal(Signal::INT);
    going.end();
    let cancelled = place.go(&["cancel", &run]);
    assert_eq!(cancelled.code, 0, "{cancelled}");
    assert_eq!(place.ps()[0]["data"]["status"], "cancelled");
    place.go(&["resume", &run]).assert_refused(2, &["already over", "cancelled"]);
    place.go(&["cancel", &run]).assert_refused(2, &["already over"]);
}

#[test]
fn an_exhausted_run_goes_on_with_more_iterations_a_check_and_a_message() {
    let place = Place::playing(json!([idle(), idle(), idle(), last_turn()]));
    let first = place.go(&["loop", "work", "--json", "--max-iterations", "2"]);
    first.assert_ended(9, "exhausted", "max_iterations", 2);
    let run = first.run();
    let hint = format!("windlass resume {run} --max-iterations +10");
    place.go(&["resume", run]).assert_refused(2, &["would end again at once", &hint]);
    assert_eq!(place.ps()[0]["data"]["status"], "exhausted", "a refusal changes nothing");
    let more = ["--max-iterations", "+2", "--check", "size=test -s work.txt", "--message", "use the v2 API"];
    let again = place.go(&[&["resume", run, "--json"], &more[..]].concat());
    again.assert_ended(0, "completed", "marker", 4);
    let resumed = again.all("run.resumed")[0];
    assert_eq!(resumed["after"], "end", "{again}");
    assert!(resumed["by"].is_string(), "{again}");
    let with = json!(["2 more iterations", "check size: test -s work.txt", "message: use the v2 API"]);
    assert_eq!(resumed["with"], with);
    let prompts = place.prompts();
    assert!(prompts[2].contains("use the v2 API") && !prompts[3].contains("use the v2 API"), "{prompts:?}");
    assert!(
        again.all("iteration.finished").iter().all(|turn| turn["checks"][0]["name"] == "size"),
        "{again}"
    );
    // Everything that was given is in the log.
    let logs = place.go(&["logs", run]).stdout;
    for words in ["continued by", "2 more iterations", "use the v2 API"] {
        assert!(logs.contains(words), "`{words}` is missing: {logs}");
    }
    let replayed = place.go(&["replay", run]);
    assert!(replayed.code == 0 && replayed.stdout.contains("every decision is the same"), "{replayed}");
}

#[test]
fn a_spent_budget_can_be_raised() {
    let cost = |mut turn: Value| {
        turn["cost_usd"] = json!(1.0);
        turn
    };
    let place = Place::playing(json!([cost(idle()), cost(idle()), cost(last_turn())]));
    let first = place.go(&["loop", "work", "--json", "--budget", "cost=1.50"]);
    first.assert_ended(9, "exhausted", "budget", 2);
    let run = first.run();
    place.go(&["resume", run, "--budget", "turns=+3"]).assert_refused(2, &["would end again", "cost=+5"]);
    place.go(&["resume", run, "--json", "--budget", "cost=+2"]).assert_ended(0, "completed", "marker", 3);
}

#[test]
fn a_run_that_ended_by_an_error_of_the_agent_goes_on() {
    let broken = json!({"steps": [say("x")], "result": {"is_error": true, "subtype": "error_during_execution"}, "exit_code": 1});
    let place = Place::playing(json!([{"attempts": [broken, last_turn()]}]));
    let first = place.go(&["loop", "work", "--json"]);
    assert_eq!((first.code, &first.finished()["status"]), (4, &json!("failed")), "{first}");
    place.go(&["resume", first.run(), "--json"]).assert_ended(0, "completed", "marker", 1);
}

#[test]
fn a_blocked_run_goes_on_with_a_message() {
    let blocked =
        json!({"steps": [{"tracker": {"append": "<!-- WORKFLOW_BLOCKED: no key -->"}}, say("help")]});
    let clear = json!({"steps": [
        {"tracker": {"write": "fine\n"}},
        {"tracker": {"append": "<!-- WORKFLOW_COMPLETE -->"}},
        say("done"),
    ]});
    let place = Place::playing(json!([blocked, clear]));
    let first = place.go(&["loop", "work", "--json"]);
    first.assert_ended(8, "blocked", "blocked_marker", 1);
    let again = place.go(&["resume", first.run(), "--json", "--message", "the key is in .env"]);
    again.assert_ended(0, "completed", "marker", 2);
    let told = &place.prompts()[1];
    assert!(told.contains("no key") && told.contains("the key is in .env"), "{told}");
}

#[test]
fn a_failed_node_of_a_workflow_starts_again_and_nothing_that_is_done_is_repeated() {
    let place = Place::playing(json!([last_turn()]));
    place.workflow(json!({"name": "w", "nodes": [
        {"id": "one", "shell": "echo one >> done.txt"},
        {"id": "two", "shell": "test -f fixed && echo two >> done.txt"},
        {"id": "three", "shell": "echo three >> done.txt"},
    ]}));
    let first = place.go(&["run", "--workflow", "w", "--json"]);
    assert_eq!(first.code, 4, "{first}");
    std::fs::write(place.repo().join("fixed"), "").unwrap();
    let again = place.go(&["resume", first.run(), "--json"]);
    assert_eq!((again.code, &again.finished()["status"]), (0, &json!("completed")), "{again}");
    assert_eq!(place.file("done.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_run_inside_a_run_is_interrupted_and_continued_with_it() {
    let place = Place::playing(json!([waits_for("go", "one"), last_turn()]));
    place.workflow(json!({"name": "inner", "nodes": [{"id": "work", "prompt": "work"}]}));
    place.workflow(json!({"name": "outer", "nodes": [
        {"id": "before", "shell": "echo before >> done.txt"},
        {"id": "call", "workflow": "inner"},
        {"id": "after", "shell": "echo after >> done.txt"},
    ]}));
    let mut going = place.start(&["run", "--workflow", "outer", "--json"]);
    let run = going.run();
    place.file_exists("sign");
    going.signal(Signal::INT);
    let first = going.end();
    assert_eq!((first.code, &first.finished()["status"]), (130, &json!("interrupted")), "{first}");
    place.assert_nothing_is_left();
    std::fs::write(place.repo().join("go"), "").unwrap();
    let again = place.go(&["resume", &run, "--json"]);
    assert_eq!((again.code, &again.finished()["status"]), (0, &json!("completed")), "{again}");
    assert_eq!(place.file("done.txt"), "before\nafter\n");
    assert_eq!(place.file("work.txt"), "one\n");
    let all = place.go(&["ps", "--all", "--json"]);
    assert_eq!(all.stdout.matches("\"status\":\"completed\"").count(), 2, "{all}");
}

#[test]
fn the_limits_of_a_run_in_progress_cannot_change() {
    let place = Place::playing(json!([waits_for("go", "one"), last_turn()]));
    let mut going = place.start(&["loop", "work", "--json"]);
    let run = going.run();
    place.file_exists("sign");
    place
        .go(&["resume", &run, "--max-iterations", "+2"])
        .assert_refused(2, &["in progress", "interrupt it first"]);
    std::fs::write(place.repo().join("go"), "").unwrap();
    assert_eq!(going.end().code, 0);
}

#[test]
fn a_crashed_run_continues_with_other_limits() {
    let place = Place::playing(json!([waits_for("go", "one"), idle(), last_turn()]));
    let mut going = place.start(&["loop", "work", "--json", "--max-iterations", "2"]);
    let run = going.run();
    place.file_exists("sign");
    place.kill_everything(going);
    std::fs::write(place.repo().join("go"), "").unwrap();
    place.go(&["resume", &run, "--json", "--max-iterations", "+1"]).assert_ended(0, "completed", "marker", 3);
}

#[test]
fn bad_additions_say_what_is_wrong() {
    let place = Place::playing(json!([idle()]));
    let first = place.go(&["loop", "work", "--json", "--max-iterations", "1"]);
    let run = first.run();
    for (flags, words) in [
        (&["--max-iterations", "+0"][..], "more than 0"),
        (&["--max-iterations", "ten"], "not a whole number"),
        (&["--budget", "cost"], "write it like"),
        (&["--budget", "euros=5"], "there is no limit `euros`"),
        (&["--message", "  "], "--message is empty"),
        (&["--check", "  "], "--check needs a command"),
    ] {
        let refused = place.go(&[&["resume", run], flags].concat());
        assert!(refused.code == 2 && refused.stderr.contains(words), "`{words}` is missing: {refused}");
    }
    let refused = place.go(&["loop", "x", "--budget", "cost=+5"]);
    assert!(refused.code == 2 && refused.stderr.contains("leave out the `+`"), "{refused}");
}
