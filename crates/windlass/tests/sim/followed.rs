//! A run is easy to follow: who answered, which branch was taken and why, which task a line belongs to, what
//! happened before a resume, and what is left at the end.

use std::fs;

use crate::place::{LIMIT, Place, done, say};
use crate::tasks::{place as tasks_place, task, tasks, turn};
use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::env::untimed;
use windlass_testkit::wait::until;

const GATE: &str = r#"
name: gate
description: Ships it, or not.
nodes:
  - { id: ship, ask: "Ship it?", choices: ["yes", "no"] }
  - id: way
    if: outputs.ship.text == "yes"
    then: [{ id: deploy, shell: "echo deployed; exit 3", on_failure: continue }]
    else: [{ id: drop, shell: echo dropped }]
  - { id: thanks, when: outputs.ship.text == "yes", shell: echo thanks }
  - id: count
    loop: { max: 4, until: outputs.one.text == "2" }
    do: [{ id: one, shell: "echo x >> n; wc -l < n | tr -d ' '" }]
"#;

fn gate() -> Place {
    let place = Place::playing(json!([]));
    place.sealed.write("repo/.windlass/workflows/gate.yaml", GATE);
    place
}

/// Waits until the newest run waits for a person, and returns it.
fn waiting(place: &Place) -> String {
    until(LIMIT, || place.ps().first().is_some_and(|run| run["data"]["status"] == "waiting"));
    place.ps()[0]["run"].as_str().unwrap().to_owned()
}

#[test]
fn an_answer_is_told_with_its_time_and_who_gave_it_wherever_a_run_is_looked_at() {
    let place = gate();
    let going = place.start(&["run", "--workflow", "gate", "--on-question", "wait"]);
    let run = waiting(&place);
    assert_eq!(place.go(&["answer", &run, "1"]).code, 0, "the number of an option stands for it");
    let ran = going.end();
    assert_eq!(ran.code, 0, "{ran}");
    let logs = untimed(&place.go(&["logs", &run]).stdout);
    let shown = place.go(&["show", &run]).stdout;
    let explained = place.go(&["show", &run, "--explain", "ship"]).stdout;
    for told in [&ran.stdout, &logs, &shown, &explained] {
        assert!(told.contains("answered by ") && told.contains(" (windlass answer, "), "{told}");
        assert!(told.lines().any(|line| line.contains("answered by ") && line.ends_with(": yes")), "{told}");
    }
    let line = place.go(&["logs", &run, "--json"]);
    let answered = line.all("run.answered");
    assert_eq!(answered.len(), 1, "{line}");
    assert_eq!(
        (&answered[0]["answer"], &answered[0]["node"], &answered[0]["by"]["way"]),
        (&json!("yes"), &json!("ship"), &json!("windlass answer"))
    );
    assert!(answered[0]["by"]["user"].is_string() && answered[0]["by"]["pid"].is_number(), "{line}");
    let shown = place.go(&["show", &run, "--json"]);
    assert_eq!(shown.lines[0]["data"]["answers"], json!([answered[0]]));
    let explained = place.go(&["show", &run, "--explain", "ship", "--json"]);
    assert_eq!(explained.lines[0]["data"]["answers"], json!([answered[0]]));
}

#[test]
fn a_run_says_which_branch_it_took_and_each_condition_is_explained() {
    let place = gate();
    let going = place.start(&["run", "--workflow", "gate", "--on-question", "wait"]);
    let run = waiting(&place);
    assert_eq!(place.go(&["answer", &run, "yes"]).code, 0);
    let ran = going.end();
    for line in
        ["  Ships it, or not.", "  if: outputs.ship.text == \"yes\" → then", "completed: 4 of 5 steps ran"]
    {
        assert!(ran.stdout.lines().any(|told| told == line), "{line}: {ran}");
    }
    assert!(ran.stdout.contains(": `outputs.one.text == \"2\"` is true\n"), "{ran}");
    let explained = |node: &str| place.go(&["show", &run, "--explain", node]).stdout;
    for (node, line) in [
        ("way", "  its condition was true, so it took `then`: outputs.ship.text == \"yes\""),
        ("thanks", "  its `when` was true: outputs.ship.text == \"yes\""),
        ("count", "  its `until` was true: outputs.one.text == \"2\""),
        (
            "drop",
            "  not reached: `way` took `then`, because its condition was true: outputs.ship.text == \"yes\"",
        ),
    ] {
        let told = explained(node);
        assert!(told.lines().any(|told| told == line), "{node}: {told}");
    }
    let json = place.go(&["show", &run, "--explain", "thanks", "--json"]);
    let when = json!({"field": "when", "condition": "outputs.ship.text == \"yes\"", "held": true});
    assert_eq!(json.lines[0]["data"]["conditions"], json!([when]));
    assert!(place.go(&["show", &run]).stdout.contains("\n  about       Ships it, or not.\n"));
}

#[test]
fn a_finished_node_carries_its_text_value_and_exit_code() {
    let place = gate();
    let mut going = place.start(&["run", "--workflow", "gate", "--on-question", "wait", "--json"]);
    going.wait_for("run.waiting");
    let run = going.run();
    assert_eq!(place.go(&["answer", &run, "yes"]).code, 0);
    let ran = going.end();
    let of = |node: &str| -> Value {
        let found = ran.all("node.finished").into_iter().find(|data| data["node"] == node);
        let data = found.unwrap_or_else(|| panic!("no {node}: {ran}"));
        json!([data["text"], data["value"], data["exit_code"]])
    };
    assert_eq!(of("deploy"), json!(["deployed", null, 3]));
    assert_eq!(of("one@2"), json!(["2", null, 0]));
    assert_eq!(of("ship"), json!(["yes", null, null]));
    assert_eq!(of("count"), json!(["", {"iteration": 2}, null]));
    let shown = place.go(&["show", &run, "--json"]);
    let nodes = shown.lines[0]["data"]["nodes"].as_array().unwrap();
    let deploy = nodes.iter().find(|node| node["id"] == "deploy").unwrap();
    assert_eq!((&deploy["text"], &deploy["exit_code"]), (&json!("deployed"), &json!(3)), "{shown}");
}

#[test]
fn a_no_keeps_its_reason() {
    let place = gate();
    let going = place.start(&["run", "--workflow", "gate", "--on-question", "wait"]);
    let run = waiting(&place);
    assert_eq!(place.go(&["approve", &run, "--deny", "not today"]).code, 0);
    let ran = going.end();
    assert!(ran.stdout.contains(" (windlass approve, "), "{ran}");
    assert!(ran.stdout.contains("): no (not today)\n"), "{ran}");
    assert!(ran.stdout.contains("  if: outputs.ship.text == \"yes\" → else\n"), "{ran}");
    let explained = place.go(&["show", &run, "--explain", "ship"]).stdout;
    assert!(explained.contains("  ended: completed: the answer is no: not today"), "{explained}");
}

#[test]
fn a_number_stands_for_an_option_of_an_agents_question_unless_it_is_one_itself() {
    for (options, answer, expected) in
        [(json!(["Red", "Blue"]), "2", "Blue"), (json!(["2", "1"]), "2", "2"), (json!(["Red"]), "7", "7")]
    {
        let asks = json!({"ask": {"question": "Which?", "options": options}});
        let place = Place::playing(json!([{"steps": [asks, say("so ${ANSWER} it is"), done()]}]));
        let going = place.start(&["loop", "x", "--on-question", "wait"]);
        let run = waiting(&place);
        assert_eq!(place.go(&["answer", &run, answer]).code, 0);
        let ran = going.end();
        assert!(ran.stdout.contains(&format!("so {expected} it is\n")), "{ran}");
        assert!(!ran.stdout.contains("AskUserQuestion"), "the question is shown, not the tool: {ran}");
    }
}

#[test]
fn a_question_that_the_policy_leaves_to_the_agent_is_told() {
    let asks = json!({"ask": {"question": "Which?", "options": ["Red", "Blue"]}});
    let place = Place::playing(json!([{"steps": [asks, done()]}]));
    let ran = place.go(&["loop", "x", "--on-question", "empty"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("  nobody was asked (--on-question empty): the agent decides by itself\n"));
}

#[test]
fn a_default_that_was_taken_is_told_as_the_answer_of_nobody() {
    let place = Place::playing(json!([]));
    place.sealed.write(
        "repo/.windlass/workflows/soon.yaml",
        "name: soon\nnodes:\n  - { id: q, ask: 'Go?', choices: [yes, no], default: no, timeout: 200ms }\n",
    );
    let ran = place.go(&["run", "--workflow", "soon", "--on-question", "wait"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("    - no (default)\n"), "{ran}");
    assert!(ran.stdout.contains(": no one answered within 200ms: used the default `no`\n"), "{ran}");
    let run = place.ps()[0]["run"].as_str().unwrap().to_owned();
    let shown = place.go(&["show", &run, "--json"]);
    let answer = &shown.lines[0]["data"]["answers"][0];
    assert_eq!((&answer["answer"], &answer["by"]["way"]), (&json!("no"), &json!("default")), "{shown}");
}

#[test]
fn the_words_of_an_agent_come_before_its_cancellation_with_their_own_time() {
    let place = Place::playing(json!([{"steps": [say("Working."), {"hang": true}]}]));
    let mut going = place.start(&["loop", "x", "--json"]);
    let run = going.run();
    until(LIMIT, || going.output().contains("Working."));
    // The time of the words must differ from that of the cancellation.
    let spoken = std::time::Instant::now();
    until(LIMIT, || spoken.elapsed() > std::time::Duration::from_millis(50));
    assert_eq!(place.go(&["cancel", &run]).code, 0);
    going.end();
    let logs = untimed(&place.go(&["logs", &run]).stdout);
    let place_of = |text: &str| logs.find(text).unwrap_or_else(|| panic!("no {text}: {logs}"));
    assert!(place_of("  Working.\n") < place_of("cancelling (`windlass cancel`): "), "{logs}");
    let lines = place.go(&["logs", &run, "--json"]).lines;
    let time = |is_it: &dyn Fn(&&Value) -> bool| lines.iter().find(is_it).unwrap()["ts"].clone();
    let said = time(&|line| line["data"]["text"] == "Working.");
    let ended = time(&|line| line["type"] == "run.finished");
    assert_ne!(said, ended, "{lines:?}");
}

#[test]
fn the_words_of_an_agent_come_before_its_interruption() {
    let place = Place::playing(json!([{"steps": [say("Working."), {"hang": true}]}]));
    let mut going = place.start(&["loop", "x", "--json"]);
    let run = going.run();
    until(LIMIT, || going.output().contains("Working."));
    going.signal(Signal::INT);
    assert_eq!(going.end().code, 130);
    let logs = untimed(&place.go(&["logs", &run]).stdout);
    let place_of = |text: &str| logs.find(text).unwrap_or_else(|| panic!("no {text}: {logs}"));
    assert!(place_of("  Working.\n") < place_of("interrupting: "), "{logs}");
}

#[test]
fn a_resumed_run_says_what_happened_before() {
    let place = Place::playing(json!([
        {"steps": [say("first")], "cost_usd": 0.25},
        {"steps": [say("second"), {"wait_for": "go"}, done()]},
    ]));
    let mut going = place.start(&["loop", "x", "--json", "--max-iterations", "7"]);
    let run = going.run();
    until(LIMIT, || going.output().contains("second"));
    going.signal(Signal::KILL);
    going.end();
    fs::write(place.repo().join("go"), "").unwrap();
    let ran = place.go(&["resume", &run]);
    assert_eq!(ran.code, 0, "{ran}");
    let line = "  resuming where it left off: iteration 2 of 7, $0.25 so far\n";
    assert!(ran.stdout.contains(line), "{ran}");
}

#[test]
fn parallel_tasks_are_labelled_by_name_and_the_end_lists_what_is_left_behind() {
    let docs = json!({"id": "4", "name": "Docs", "status": "pending", "dependencies": ["2"]});
    let place = tasks_place(json!([task("1", &[]), task("2", &[]), docs]), json!([]));
    let steps =
        |text: &str| vec![json!({"write": {"path": "README.md", "content": text}}), json!({"commit": text})];
    let given_up = [steps("two"), vec![say("<status>failing</status>")]].concat();
    let gives_up = json!({"steps": given_up});
    let turns = json!([turn(&steps("one")), gives_up]);
    place.script(json!({"nodes": {"implement": turns}, "default": {"steps": [say("no")]}}));
    let document = "name: own\nnodes:\n  - task_loop: { max: 9, jobs: 2, attempts: 1 }\n    before_each: [ { clear_context: true } ]\n    do:\n      - { id: implement, prompt: x }\n";
    place.sealed.write("repo/.windlass/workflows/own.yaml", document);
    let ran = place.go(&["run", "--workflow", "own"]);
    assert_ne!(ran.code, 0, "{ran}");
    let run = place.ps()[0]["run"].as_str().unwrap().to_owned();
    let told = &ran.stdout;
    assert!(told.contains("\n[1 Task 1] Write  README.md\n"), "as seen from the worktree: {ran}");
    assert!(told.contains("\n[2 Task 2] ▸ implement (prompt)\n"), "{ran}");
    assert!(!told.contains("clear_context") && !told.contains("implement@"), "{ran}");
    let branch = format!("windlass/{run}/task-2-1");
    let folder = format!("{run}/worktrees/task-2-1");
    let logs = place.go(&["logs", &run]).stdout;
    for line in [
        format!("    {branch} (task 2)"),
        format!("      look:   git log -p main..{branch}"),
        format!("      remove: git worktree remove --force {folder}"),
        format!("              git branch -D {branch}"),
    ] {
        assert!(told.lines().any(|told| told == line), "{line}: {ran}");
        assert!(logs.lines().any(|told| told == line), "{line}: {logs}");
    }
    for line in ["  tasks left open: 2 of 3", "    2 Task 2 (failing)", "    4 Docs (pending)"] {
        assert!(told.lines().any(|told| told == line), "{line}: {ran}");
    }
    // The commands do what they say.
    place.sealed.git(["worktree", "remove", "--force", &folder]);
    place.sealed.git(["branch", "-D", &branch]);
    assert!(!place.go(&["logs", &run]).stdout.contains("left behind"));
}

#[test]
fn the_lines_of_branches_keep_their_labels_when_only_one_is_left() {
    let place = Place::with_settings("");
    let late = json!({"steps": [say("early"), {"wait_for": "go"}, say("late")]});
    place.script(json!({"nodes": {"sec": [late], "style": [{"steps": [say("fine")]}]}}));
    let document = "name: both\nnodes:\n  - id: both\n    parallel: {}\n    branches:\n      a: [ { id: sec, prompt: x } ]\n      b: [ { id: style, prompt: y } ]\n";
    place.sealed.write("repo/.windlass/workflows/both.yaml", document);
    let going = place.start(&["run", "--workflow", "both"]);
    until(LIMIT, || going.output().contains("style completed"));
    fs::write(place.repo().join("go"), "").unwrap();
    let ran = going.end();
    for begin in ["[a] ▸ sec (prompt)", "[a] early", "[b] fine", "[b] ✓ style completed", "[a] late"] {
        assert!(ran.stdout.lines().any(|told| told.starts_with(begin)), "{begin}: {ran}");
    }
}

#[test]
fn warnings_about_a_start_are_lines_of_json_too() {
    let place = tasks_place(tasks(1), json!([]));
    place.sealed.write("repo/tasks.json", r#"{"tasks": [{"id": "1", "name": "One"}]}"#);
    let ran = place.go(&["tasks", "run", "--json"]);
    let warnings = ran.all("warning");
    let has = |words: &str| warnings.iter().any(|data| data["text"].as_str().unwrap().contains(words));
    assert!(has("`version` is missing") && has("there are no checks"), "{ran}");
}
