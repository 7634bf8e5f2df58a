//! The simulated agent without a script: loops, workflows and tasks complete with it. And the script that it
//! has: found before the run, and chosen by task and round.

use std::fs;

use crate::place::{DONE, Place, Ran, say};
use crate::tasks::{in_file, task, tasks};
use serde_json::{Value, json};

const CONFIGURATION: i32 = 3;
const NOTE: &str = "WINDLASS_SIM_SCRIPT names no script: the simulated agent changes nothing";

/// Runs `windlass` whose agent has no script.
#[track_caller]
fn go(place: &Place, arguments: &[&str]) -> Ran {
    let mut command = place.windlass(arguments);
    command.env_remove("WINDLASS_SIM_SCRIPT");
    place.spawn(command).end()
}

/// The texts of the agent.
fn said(ran: &Ran) -> Vec<String> {
    let texts = ran.all("session.event").into_iter().filter(|data| data["kind"] == "text");
    texts.map(|data| data["text"].as_str().unwrap().to_owned()).collect()
}

fn document(place: &Place, text: &str) {
    place.sealed.write("repo/.windlass/workflows/own.yaml", text);
}

fn tasks_file(place: &Place, tasks: Value) {
    place.sealed.write("repo/tasks.json", json!({"version": "1.0", "tasks": tasks}).to_string());
}

#[test]
fn a_loop_completes_in_every_mode_and_the_stub_is_announced_once() {
    let place = Place::with_settings("");
    for mode in ["fresh", "resume", "in_session"] {
        let ran = go(&place, &["loop", "Fix the parser", "--mode", mode, "--json"]);
        ran.assert_ended(0, "completed", "marker", 1);
        assert_eq!(ran.stderr.matches(NOTE).count(), 1, "{ran}");
        let said = said(&ran);
        assert_eq!(said, ["I am the simulated agent and change nothing. I was asked: Fix the parser"]);
    }
    go(&place, &["loop", "x", "--until-signal", "OVER", "--json"]).assert_ended(0, "completed", "signal", 1);
    place.workflow(json!({
        "name": "e2e", "promptTemplate": "Test {input}",
        "loop": {"enabled": true, "completionPromise": "E2E DONE"},
    }));
    let ran = go(&place, &["run", "--workflow", "e2e", "x", "--json"]);
    ran.assert_ended(0, "completed", "promise", 1);
    assert_eq!(place.sealed.git(["status", "--short", "--", ":!.windlass"]), "", "no file has changed");
}

#[test]
fn a_stub_whose_checks_fail_is_found_stuck() {
    let place = Place::with_settings("stuck_after = 2\n");
    let ran = go(&place, &["loop", "x", "--check", "false", "--json"]);
    ran.assert_ended(8, "blocked", "stuck", 3);
    assert_eq!(place.tracker_text(ran.run()).matches(DONE).count(), 2, "frontmatter and one marker");
}

#[test]
fn tasks_pass_one_by_one_and_at_once() {
    for jobs in ["1", "2"] {
        let place = Place::with_settings("");
        tasks_file(&place, tasks(3));
        let ran = go(&place, &["tasks", "run", "--jobs", jobs, "--json"]);
        ran.assert_ended(0, "completed", "all_done", 3);
        assert_eq!(in_file(&place), ["1 passing", "2 passing", "3 passing"]);
    }
}

#[test]
fn a_loop_that_waits_for_an_answer_gets_it_in_a_later_round() {
    let place = Place::with_settings("");
    let text = r#"
name: own
nodes:
  - loop: { until: outputs.review.value.verdict == "approve" and outputs.review.value.issues | length == 0, max: 4 }
    do:
      - { id: fix, prompt: "fix it {{ feedback }}" }
      - id: review
        prompt: review it
        schema:
          type: object
          required: [verdict, issues]
          properties:
            verdict: { enum: [reject, approve] }
            issues: { type: array, items: { type: string } }
  - id: list
    prompt: list them
    schema: { type: array, minItems: 1, items: { type: string } }
  - prompt: "{{ outputs.list.value | first }}"
"#;
    document(&place, text);
    let ran = go(&place, &["run", "--workflow", "own", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 6);
}

#[test]
fn a_script_with_a_mistake_is_found_before_the_run() {
    let place = Place::with_settings("");
    place.sealed.write("script.json", "{\"turns\": [{\"steps\": [\n  {\"sya\": \"x\"}]}]}");
    for arguments in [&["loop", "x", "--json"][..], &["loop", "x", "--detach"]] {
        let ran = place.go(arguments);
        ran.assert_refused(
            CONFIGURATION,
            &["script.json:2:", "unknown variant `sya`", "windlass sim --check"],
        );
    }
    fs::remove_file(place.sealed.root().join("script.json")).unwrap();
    place.go(&["loop", "x"]).assert_refused(CONFIGURATION, &["cannot read the script", "script.json"]);
    assert_eq!(place.ps(), Vec::<Value>::new());
    // Another program of that driver may play anything.
    let program = place.sealed.write("agent.sh", "#!/bin/sh\nexit 1\n");
    let ran = place.go(&["loop", "x", "--agent-bin", program.to_str().unwrap(), "--dry-run"]);
    assert_eq!(ran.code, 0, "{ran}");
}

#[test]
fn a_script_chooses_by_task_and_attempt_and_its_path_may_be_relative() {
    let place = Place::with_settings("");
    tasks_file(&place, json!([task("login", &[]), task("search", &[]), task("other", &[])]));
    let file = |name: &str| {
        json!({"steps": [
            {"write": {"path": name, "content": "${TASK}\n"}}, {"commit": name}, {"finish": "Done with ${TASK}."},
        ]})
    };
    place.sealed.write(
        "repo/rehearsal.json",
        json!({
            "tasks": {
                "login": [{"steps": [say("Not yet.\n<status>failing</status>")]}, file("login.txt")],
                "search": {"implement": [file("search.txt")]},
            },
            "nodes": {"implement": [file("node.txt")]},
        })
        .to_string(),
    );
    let text = r#"
name: own
nodes:
  - task_loop: { max: 9, jobs: 2, attempts: 2 }
    do:
      - { id: implement, prompt: "do {{ task.id }}" }
"#;
    document(&place, text);
    let mut command = place.windlass(&["run", "--workflow", "own", "--json"]);
    command.env("WINDLASS_SIM_SCRIPT", "rehearsal.json");
    let ran = place.spawn(command).end();
    ran.assert_ended(0, "completed", "all_done", 4);
    assert_eq!(in_file(&place), ["login passing", "search passing", "other passing"]);
    for (name, task) in [("login.txt", "login\n"), ("search.txt", "search\n"), ("node.txt", "other\n")] {
        assert_eq!(fs::read_to_string(place.repo().join(name)).unwrap_or_default(), task, "{name}: {ran}");
    }
    let mut worked: Vec<String> =
        place.requests().iter().map(|request| request["task"].as_str().unwrap().to_owned()).collect();
    worked.sort();
    assert_eq!(worked, ["login", "login", "other", "search"]);
}

#[test]
fn a_round_of_a_node_with_turns_has_its_own_script() {
    let place = Place::with_settings("");
    let text = r#"
name: own
nodes:
  - loop: { until: iteration == 2, max: 3 }
    do:
      - { id: fix, prompt: "fix it", turns: { max: 5 } }
"#;
    document(&place, text);
    let busy = |text: &str| json!({"steps": [{"tracker": {"append": text}}, say(text)]});
    let done = |text: &str| json!({"steps": [{"finish": text}]});
    place.script(json!({"nodes": {
        "fix@1": [busy("1.1"), done("1.2")],
        "fix@2": [busy("2.1"), busy("2.2"), done("2.3")],
    }}));
    let ran = place.go(&["run", "--workflow", "own", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 5);
    assert_eq!(said(&ran), ["1.1", "1.2", "2.1", "2.2", "2.3"]);
}
