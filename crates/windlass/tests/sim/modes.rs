//! The ways a loop goes from one turn to the next: fresh, in_session and resume;
//! what a plugin loops is in `plugin_mode`.

use crate::place::{Place, busy_turn, last_turn, say};
use serde_json::{Value, json};

fn turns(busy: usize) -> Value {
    let mut turns = vec![busy_turn(); busy];
    turns.push(last_turn());
    json!(turns)
}

fn column(requests: &[Value], key: &str) -> Vec<Value> {
    requests.iter().map(|request| request[key].clone()).collect()
}

#[test]
fn fresh_begins_every_turn_in_a_new_session_with_the_whole_prompt() {
    let place = Place::playing(turns(2));
    let ran = place.go(&["loop", "paint the fence", "--json"]);
    ran.assert_ended(0, "completed", "marker", 3);
    let requests = place.requests();
    assert_eq!(column(&requests, "resumed"), [json!(false), json!(false), json!(false)]);
    let mut sessions = column(&requests, "session");
    sessions.dedup();
    assert_eq!(sessions.len(), 3);
    let tracker = place.tracker(ran.run()).display().to_string();
    let prompts = place.prompts();
    assert!(!prompts[0].contains("Continue the task"), "{}", prompts[0]);
    for prompt in &prompts {
        assert!(prompt.starts_with("paint the fence\n\n"), "{prompt}");
        for words in [&tracker, "WORKFLOW_COMPLETE", "WORKFLOW_BLOCKED"] {
            assert!(prompt.contains(words), "`{words}` is missing:\n{prompt}");
        }
    }
    assert!(
        prompts[1].contains(&format!("Continue the task. Read the tracker at {tracker} for")),
        "{}",
        prompts[1]
    );
}

#[test]
fn in_session_blocks_the_stop_more_often_than_the_cli_alone_would() {
    let place = Place::playing(turns(10));
    let ran = place.go(&["loop", "work", "--json", "--mode", "in_session"]);
    ran.assert_ended(0, "completed", "marker", 11);
    assert_eq!(ran.all("session.started").len(), 1, "one process");
    let stops: Vec<&Value> =
        ran.all("hook.decision").into_iter().filter(|decision| decision["asked"] == "stop").collect();
    assert_eq!(stops.iter().filter(|stop| stop["decision"] == "block").count(), 10);
    assert_eq!(stops.last().unwrap()["decision"], "pass");
    let requests = place.requests();
    assert_eq!(column(&requests, "turn"), (1..=11).map(|turn| json!(turn)).collect::<Vec<_>>());
    let prompts = place.prompts();
    assert!(prompts[0].starts_with("work\n\n"));
    assert!(prompts[1].starts_with("Continue the task."), "{}", prompts[1]);
}

#[test]
fn in_session_is_exhausted_after_exactly_so_many_turns() {
    let place = Place::playing(json!([busy_turn()]));
    let ran = place.go(&["loop", "work", "--json", "--mode", "in_session", "--max-iterations", "12"]);
    ran.assert_ended(9, "exhausted", "max_iterations", 12);
    assert_eq!((place.requests().len(), ran.all("session.started").len()), (12, 1));
    let fork = |turn: u32| place.go(&["fork", ran.run(), "--at", &format!("loop:{turn}"), "--json"]);
    let first = format!("`windlass fork {} --at loop:1`", ran.run());
    fork(2).assert_refused(2, &["all turns of `loop` are in one agent session", &first]);
    fork(13).assert_refused(2, &["`loop` ran 12 times"]);
    fork(1).assert_ended(9, "exhausted", "max_iterations", 12);
}

#[test]
fn in_session_tells_the_agent_what_the_checks_said() {
    let place = Place::playing(
        json!([last_turn(), {"steps": [{"write": {"path": "ok", "content": "x"}}, say("Now.")]}]),
    );
    let check = "proof=test -f ok || { echo boom-42; exit 1; }";
    let ran = place.go(&["loop", "work", "--json", "--mode", "in_session", "--check", check]);
    ran.assert_ended(0, "completed", "marker", 2);
    assert!(place.prompts()[1].contains("boom-42"), "{}", place.prompts()[1]);
    assert_eq!(ran.all("session.started").len(), 1);
}

#[test]
fn in_session_ends_as_blocked_or_failed_by_its_record_whatever_the_exit_code() {
    let blocked =
        json!([busy_turn(), {"steps": [{"tracker": {"append": "<!-- WORKFLOW_BLOCKED: key -->"}}]}]);
    let ran = Place::playing(blocked).go(&["loop", "work", "--json", "--mode", "in_session"]);
    ran.assert_ended(8, "blocked", "blocked_marker", 2);
    let gone = json!([busy_turn(), {"steps": [{"bash": "rm \"${TRACKER}\""}]}]);
    let ran = Place::playing(gone).go(&["loop", "work", "--json", "--mode", "in_session"]);
    ran.assert_ended(4, "failed", "missing_tracker", 2);
}

#[test]
fn in_session_neither_counts_nor_blocks_the_stop_of_a_subagent_or_beside_one() {
    let place = Place::playing(json!([
        {"steps": [{"subagent_stop": true}, {"subagent_stop": true}, {"tracker": {"append": "- one"}}]},
        {"steps": [{"background_stop": true}, {"tracker": {"append": "- two"}}, say("Two.")]},
        last_turn(),
    ]));
    let ran = place.go(&["loop", "work", "--json", "--mode", "in_session", "--max-iterations", "3"]);
    ran.assert_ended(0, "completed", "marker", 3);
    assert_eq!(ran.all("session.started").len(), 1);
}

#[test]
fn in_session_goes_on_after_a_crash_of_the_agent_without_counting_it() {
    let crash = json!({"steps": [say("On it."), {"crash": "SIGKILL"}]});
    let place = Place::playing(json!([busy_turn(), {"attempts": [crash, busy_turn()]}, last_turn()]));
    let ran = place.go(&["loop", "work", "--json", "--mode", "in_session", "--max-iterations", "3"]);
    ran.assert_ended(0, "completed", "marker", 3);
    let requests = place.requests();
    assert_eq!(column(&requests, "iteration"), [json!(1), json!(2), json!(2), json!(3)]);
    let mut sessions = column(&requests, "session");
    sessions.dedup();
    assert_eq!(sessions.len(), 1, "the same conversation");
}

#[test]
fn in_session_waits_for_a_limit_and_goes_on_in_the_same_session() {
    let limited = json!({"steps": [say("On it."), {"rate_limit": {}}]});
    let place =
        Place::playing(json!([busy_turn(), {"attempts": [limited, limited, busy_turn()]}, last_turn()]));
    let ran = place.go(&["loop", "work", "--json", "--mode", "in_session", "--max-iterations", "3"]);
    ran.assert_ended(0, "completed", "marker", 3);
    let requests = place.requests();
    assert_eq!(column(&requests, "iteration"), [json!(1), json!(2), json!(2), json!(2), json!(3)]);
    assert!(requests.iter().all(|request| request["session"] == requests[0]["session"]));
}

#[test]
fn resume_goes_on_in_the_same_session_with_the_continue_message() {
    let place = Place::playing(turns(2));
    let ran = place.go(&["loop", "work", "--json", "--mode", "resume"]);
    ran.assert_ended(0, "completed", "marker", 3);
    let requests = place.requests();
    assert_eq!(column(&requests, "resumed"), [json!(false), json!(true), json!(true)]);
    assert_eq!(column(&requests, "turn"), [json!(1), json!(1), json!(1)], "a process each");
    let mut sessions = column(&requests, "session");
    sessions.dedup();
    assert_eq!(sessions.len(), 1);
    let prompts = place.prompts();
    assert!(prompts[1].starts_with("Continue the task."), "{}", prompts[1]);
}

#[test]
fn a_workflow_says_its_own_continue_message() {
    let looping = json!({"enabled": true, "mode": "resume", "continueMessage": "Go on, see {tracker_path}!"});
    let place = Place::playing(turns(1));
    place.workflow(json!({"name": "w", "promptTemplate": "{input}", "loop": looping}));
    let ran = place.go(&["run", "it", "--workflow", "w", "--json"]);
    let message = format!("Go on, see {}!", place.tracker(ran.run()).display());
    assert!(place.prompts()[1].starts_with(&message), "{}", place.prompts()[1]);
}

#[test]
fn a_loop_without_a_tracker_ends_by_its_signal() {
    let work = |words: &str| json!({"steps": [{"bash": "echo x >> log"}, say(words)]});
    let place = Place::playing(json!([
        work("Not COMPLETE yet."),
        work("```\nCOMPLETE\n```\nThat would be it."),
        work("All is done.\n\nCOMPLETE\n"),
    ]));
    let ran = place.go(&["loop", "tidy up", "--until-signal", "COMPLETE", "--json"]);
    ran.assert_ended(0, "completed", "signal", 3);
    assert!(!place.repo().join(".windlass").exists(), "it needs no file");
    let prompts = place.prompts();
    assert!(
        prompts[0].starts_with("tidy up\n\n---\n") && prompts[0].contains("\nCOMPLETE\n"),
        "{}",
        prompts[0]
    );
    assert!(prompts[1].starts_with("tidy up\n\nGo on with the task"), "{}", prompts[1]);
}

#[test]
fn a_signal_does_not_hold_against_a_red_check_and_a_blocked_mark_ends_it() {
    let place = Place::playing(
        json!([{"steps": [say("COMPLETE")]}, {"steps": [{"bash": "touch ok"}, say("COMPLETE")]}]),
    );
    let flags = ["loop", "x", "--until-signal", "COMPLETE", "--check", "test -e ok", "--json"];
    place.go(&flags).assert_ended(0, "completed", "signal", 2);
    let place = Place::playing(json!([{"steps": [say("No key.\n<!-- WORKFLOW_BLOCKED: needs a key -->")]}]));
    place.go(&["loop", "x", "--until-signal", "COMPLETE", "--json"]).assert_ended(
        8,
        "blocked",
        "blocked_marker",
        1,
    );
    assert_eq!(place.go(&["loop", "x", "--until-signal", " "]).code, 2);
}

#[test]
fn a_signal_in_bold_ends_a_loop_as_it_ends_a_criteria_loop() {
    for words in ["**COMPLETE**", "__COMPLETE__", "*COMPLETE*"] {
        let place = Place::playing(json!([{"steps": [say(words)]}]));
        place.go(&["loop", "x", "--until-signal", "COMPLETE", "--json"]).assert_ended(
            0,
            "completed",
            "signal",
            1,
        );
    }
    let place = Place::playing(json!([]));
    let ran = place.go(&["loop", "x", "--until-signal", "> COMPLETE"]);
    assert_eq!(ran.code, 2, "no agent can say it");
}
