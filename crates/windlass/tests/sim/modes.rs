//! The four ways a loop goes from one turn to the next: fresh, in_session, resume and plugin.

use std::fs;
use std::path::PathBuf;

use crate::place::{Place, busy_turn, done, last_turn, say};
use serde_json::{Value, json};
use windlass_testkit::plugin;
use windlass_testkit::wait::until;

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

/// A place with the ralph-loop plugin and a workflow that loops by it.
struct Ralph {
    place: Place,
    plugin: String,
}

impl Ralph {
    fn playing(turns: Value) -> Ralph {
        let place = Place::playing(turns);
        let plugin = plugin::ralph_loop().write(place.sealed.root()).display().to_string();
        let looping = json!({"enabled": true, "completionPromise": "E2E COMPLETE", "maxIterations": 4, "mode": "plugin"});
        place.workflow(json!({"name": "w", "promptTemplate": "Use {input}", "loop": looping}));
        Ralph { place, plugin }
    }

    fn arguments<'a>(&'a self, input: &'a str) -> [&'a str; 7] {
        ["run", input, "--workflow", "w", "--plugin", &self.plugin, "--json"]
    }

    fn state(&self) -> PathBuf {
        self.place.repo().join(".claude/ralph-loop.local.md")
    }
}

fn promised() -> Value {
    json!({"steps": [say("<promise>E2E COMPLETE</promise>")]})
}

fn hanging() -> Value {
    json!({"steps": [{"write": {"path": "sign", "content": "x"}}, {"hang": true}]})
}

#[test]
fn plugin_lets_the_plugin_loop_on_a_state_file_that_is_gone_at_the_end() {
    let keep =
        json!({"steps": [{"bash": "cp .claude/ralph-loop.local.md \"state.${ITERATION}\""}, say("More.")]});
    let ralph = Ralph::playing(json!([keep, keep, promised()]));
    let ran = ralph.place.go(&ralph.arguments("the e2e plugin"));
    ran.assert_ended(0, "completed", "promise", 3);
    assert_eq!(ran.all("session.started").len(), 1, "the plugin's own Stop hook loops");
    let first = ralph.place.file("state.1");
    for line in ["active: true", "iteration: 1", "max_iterations: 4", "completion_promise: \"E2E COMPLETE\""]
    {
        assert!(first.lines().any(|found| found == line), "`{line}` is missing:\n{first}");
    }
    assert!(first.ends_with("---\nUse the e2e plugin\n"), "{first}");
    assert!(ralph.place.file("state.2").contains("\niteration: 2\n"));
    assert_eq!(ralph.place.prompts()[1].trim_end(), "Use the e2e plugin", "the prompt once more");
    assert!(!ralph.state().exists());
}

#[test]
fn plugin_means_turns_by_max_iterations() {
    let ralph = Ralph::playing(json!([{"steps": [{"bash": "echo ${ITERATION} >> log"}, say("More.")]}]));
    let ran = ralph.place.go(&ralph.arguments("it"));
    ran.assert_ended(9, "exhausted", "max_iterations", 4);
    assert_eq!(ralph.place.requests().len(), 4);
    assert!(!ralph.state().exists());
}

#[test]
fn plugin_leaves_no_state_file_behind_when_cancelled() {
    let ralph = Ralph::playing(json!([hanging()]));
    let mut going = ralph.place.start(&ralph.arguments("it"));
    let run = going.run();
    ralph.place.file("sign");
    assert!(ralph.state().exists());
    assert_eq!(ralph.place.go(&["cancel", &run]).code, 0);
    going.end().assert_ended(130, "cancelled", "user", 0);
    assert!(!ralph.state().exists());
}

#[test]
fn plugin_leaves_no_state_file_behind_after_a_kill_and_a_resume() {
    let wait = json!({"steps": [{"write": {"path": "sign", "content": "x"}}, {"wait_for": "go"}, promised()["steps"][0]]});
    let ralph = Ralph::playing(json!([wait]));
    let mut going = ralph.place.start(&ralph.arguments("it"));
    let run = going.run();
    ralph.place.file("sign");
    ralph.place.sealed.kill9(going.pid());
    going.end();
    assert!(ralph.state().exists(), "the agent still works");
    fs::write(ralph.place.repo().join("go"), "x").unwrap();
    ralph.place.go(&["resume", &run, "--json"]).assert_ended(0, "completed", "promise", 1);
    assert!(!ralph.place.repo().join(".claude").exists(), "the folder was made for the state file");
}

#[test]
fn plugin_goes_on_after_a_crash_of_the_agent_and_counts_each_turn_once() {
    let more = json!({"steps": [{"bash": "echo ${ITERATION} >> log"}, say("More.")]});
    let crash = json!({"steps": [say("On it."), {"crash": "SIGKILL"}]});
    let ralph = Ralph::playing(json!([more, {"attempts": [crash, more]}, promised()]));
    let ran = ralph.place.go(&ralph.arguments("it"));
    ran.assert_ended(0, "completed", "promise", 3);
    assert_eq!(column(&ralph.place.requests(), "iteration"), [json!(1), json!(2), json!(2), json!(3)]);
    assert!(!ralph.state().exists());
}

#[test]
fn plugin_replaces_the_state_file_of_an_earlier_prompt() {
    let ralph = Ralph::playing(json!([hanging()]));
    let stale =
        "---\nactive: true\niteration: 3\nmax_iterations: 9\ncompletion_promise: null\n---\nAn old prompt\n";
    ralph.place.sealed.write("repo/.claude/ralph-loop.local.md", stale);
    let going = ralph.place.start(&ralph.arguments("something new"));
    ralph.place.file("sign");
    let text = fs::read_to_string(ralph.state()).unwrap();
    assert!(text.contains("Use something new") && text.contains("\niteration: 1\n"), "{text}");
    assert!(!text.contains("An old prompt"));
    going.signal(rustix::process::Signal::INT);
    assert_eq!(going.end().code, 130);
    until(crate::place::LIMIT, || !ralph.state().exists());
    assert!(ralph.place.repo().join(".claude").exists(), "the folder was there before");
}

#[test]
fn plugin_needs_the_plugin() {
    let place = Place::playing(json!([{"steps": [done()]}]));
    let ran = place.go(&["loop", "work", "--mode", "plugin"]);
    ran.assert_refused(3, &["ralph-loop", "--plugin"]);
    assert!(!place.repo().join(".claude").exists());
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
