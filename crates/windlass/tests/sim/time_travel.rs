//! Looking back at runs, on the `sim` driver: a log decided again, with other orders, and a run
//! forked from it; and a look ahead without any agent.

use std::fs;

use crate::place::{LIMIT, Place, Ran, busy_turn, last_turn, say};
use serde_json::{Value, json};
use windlass_testkit::wait::until;

/// A place with documents and turns by node.
fn place(nodes: Value, documents: &[&str]) -> Place {
    let place = Place::with_settings("");
    let default = json!({"steps": [say("Fine.")]});
    place.script(json!({"nodes": nodes, "default": default}));
    for text in documents {
        let name = text.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
        place.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), text);
    }
    place
}

/// The nodes whose agents were asked, in that order.
fn asked(place: &Place) -> Vec<String> {
    let requests = place.requests();
    requests.iter().map(|request| request["node"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The run that a loop of one session left behind, and its place.
fn looped(turns: Value) -> (Place, String) {
    let place = Place::playing(turns);
    let ran = place.go(&["loop", "paint the fence", "--json"]);
    ran.assert_ended(0, "completed", "marker", 3);
    let run = ran.run().to_owned();
    (place, run)
}

#[track_caller]
fn assert_same(place: &Place, run: &str) -> Ran {
    let replayed = place.go(&["replay", run, "--json"]);
    assert_eq!(replayed.code, 0, "{replayed}");
    for line in replayed.all("run.replayed") {
        assert_eq!(line["differences"], json!([]), "{replayed}");
        assert!(line["records"].as_u64().unwrap() > 1, "{replayed}");
    }
    replayed
}

const INNER: &str = "name: inner\nnodes:\n  - { id: work, prompt: \"{{ input }}\" }\n";
const EVERYTHING: &str = "name: everything
checks: { two: 'test $(wc -l < tries) -ge 2' }
nodes:
  - loop: { until: not outputs.gate.failed, max: 5 }
    do:
      - { id: fix, prompt: \"Round {{ iteration }}. {{ feedback }}\" }
      - { id: gate, check: all, on_failure: continue }
  - parallel: { join: all }
    branches:
      one: [ { id: left, prompt: a }, { id: wash, shell: 'printf clean' } ]
      two: [ { id: right, prompt: b } ]
  - { id: ship, ask: Ship it?, choices: [yes, no] }
  - { id: sub, workflow: inner }
  - { id: last, when: outputs.ship.text == 'no', prompt: never }
";

#[test]
fn a_run_with_everything_in_it_is_decided_again_as_it_was() {
    let fix = json!([{"steps": [{"bash": "echo x >> tries"}, say("Tried.")]}]);
    let place = place(json!({"fix": fix}), &[INNER, EVERYTHING]);
    let mut going = place.start(&["run", "--workflow", "everything", "x", "--json", "--on-question", "wait"]);
    let run = going.run();
    going.wait_for("run.waiting");
    assert_same(&place, &run);
    assert_eq!(place.go(&["answer", &run, "yes"]).code, 0);
    let ran = going.end();
    assert_eq!(ran.code, 0, "{ran}");
    let requests = place.requests().len();
    let replayed = assert_same(&place, &run);
    let workflows: Vec<&Value> = replayed.all("run.replayed").iter().map(|data| &data["workflow"]).collect();
    assert_eq!(workflows, ["everything", "inner"], "and the run that it started");
    let told = place.go(&["replay", &run]);
    let lines: Vec<&str> = told.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(
        lines[0].starts_with("replayed ") && lines[0].ends_with(" records: every decision is the same"),
        "{told}"
    );
    assert!(lines[1].contains(" (inner): replayed "), "{told}");
    // The run that was started would have had another budget, but one that is enough.
    let budget = |turns: &str| place.go(&["replay", &run, "--what-if", &format!("budget.turns={turns}")]);
    assert!(budget("50").stdout.contains(": nothing changes"), "{}", budget("50"));
    assert!(budget("5").stdout.contains(": nothing changes"), "{}", budget("5"));
    assert!(budget("4").stdout.contains("exhausted (budget)"), "{}", budget("4"));
    assert!(budget("1").stdout.contains("exhausted (budget)"), "{}", budget("1"));
    assert_eq!(place.requests().len(), requests, "no agent is started");
}

#[test]
fn fewer_turns_would_have_ended_it_where_they_are_spent() {
    let (place, run) = looped(json!([busy_turn(), busy_turn(), last_turn()]));
    let two = place.go(&["replay", &run, "--what-if", "max_iterations=2"]);
    assert_eq!(two.code, 0, "{two}");
    assert!(two.stdout.starts_with("record "), "{two}");
    assert!(two.stdout.contains("it would have ended here: exhausted (max_iterations)"), "{two}");
    let object = |what: &str| {
        let ran = place.go(&["replay", &run, "--json", "--what-if", what]);
        ran.all("run.what_if")[0].clone()
    };
    let one = object("max_iterations=1");
    let (one, two) = (one["differs"]["record"].as_u64().unwrap(), object("max_iterations=2"));
    assert!(one < two["differs"]["record"].as_u64().unwrap(), "{two}");
    assert_eq!(two["differs"]["outcome"]["reason"], "max_iterations", "{two}");
    for same in ["max_iterations=3", "budget.turns=3", "budget.cost=1000", "timeout=1d", "stuck_after=4"] {
        assert_eq!(object(same)["differs"], Value::Null, "{same}");
    }
    assert_eq!(object("budget.turns=2")["differs"]["outcome"]["reason"], "budget");
    assert_eq!(object("budget.tokens=1")["differs"]["outcome"]["reason"], "budget");
    assert_eq!(object("timeout=1ms")["differs"]["outcome"]["reason"], "timeout");
    let told = place.go(&["replay", &run, "--what-if", "max_iterations=3"]);
    assert!(told.stdout.contains("records: nothing changes"), "{told}");
}

#[test]
fn more_turns_would_have_let_it_go_on() {
    let document = "name: endless\nnodes:\n  - loop: { until: 'false', max: 2 }\n    do:\n      - { id: x, shell: 'true' }\n";
    let place = place(json!({}), &[document]);
    let ran = place.go(&["run", "--workflow", "endless", "--json"]);
    assert_eq!(ran.code, 9, "{ran}");
    let told = place.go(&["replay", ran.run(), "--what-if", "max_iterations=4"]);
    assert!(told.stdout.contains("it would have continued here"), "{told}");
    let told = place.go(&["replay", ran.run(), "--what-if", "max_iterations=1"]);
    assert!(told.stdout.contains("it would have ended here: exhausted (max_iterations)"), "{told}");
}

#[test]
fn a_run_that_would_not_have_been_started_is_told_so_and_other_work_is_told_in_words() {
    let outer = "name: outer\nnodes:\n  - loop: { until: 'iteration == 3', max: 3 }\n    do:\n      - { id: x, shell: 'true' }\n  - { id: sub, workflow: inner }\n";
    let nested = "name: nested\nnodes:\n  - loop: { until: 'iteration == 3', max: 3 }\n    on_failure: continue\n    do:\n      - { id: w, shell: 'true' }\n  - { id: pa, shell: 'true' }\n";
    let place = place(json!({}), &[INNER, outer, nested]);
    let ran = place.go(&["run", "--workflow", "outer", "go", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let told = place.go(&["replay", ran.run(), "--what-if", "max_iterations=2"]);
    let lines: Vec<&str> = told.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].contains("it would have ended here: exhausted (max_iterations)"), "{told}");
    assert!(lines[1].ends_with(" (inner): it would not have been started"), "{told}");
    let json = place.go(&["replay", ran.run(), "--what-if", "max_iterations=2", "--json"]);
    assert_eq!(json.all("run.what_if")[1]["differs"]["how"], "not_started", "{json}");
    let ran = place.go(&["run", "--workflow", "nested", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let told = place.go(&["replay", ran.run(), "--what-if", "max_iterations=2"]);
    assert!(told.stdout.contains("the command of `pa` instead of the command of `w@3`"), "{told}");
}

const THREE: &str = "name: three
nodes:
  - { id: plan, prompt: Plan it. }
  - { id: build, prompt: \"Build {{ outputs.plan.text }}\" }
  - { id: look, shell: 'echo x >> looked' }
";

#[test]
fn a_fork_begins_at_its_node_and_nothing_before_is_started_again() {
    let nodes = json!({"plan": [{"steps": [say("a boat")]}]});
    let place = place(nodes, &[THREE]);
    let first = place.go(&["run", "--workflow", "three", "--json"]);
    assert_eq!(first.code, 0, "{first}");
    assert_eq!(asked(&place), ["plan", "build"]);
    let forked = place.go(&["fork", first.run(), "--at", "build", "--json"]);
    assert_eq!((forked.code, &forked.finished()["status"]), (0, &json!("completed")), "{forked}");
    assert_ne!(forked.run(), first.run());
    assert_eq!(forked.all("run.forked")[0]["from"], json!(first.run()));
    assert_eq!(forked.all("run.resumed").len(), 0, "{forked}");
    assert_eq!(asked(&place), ["plan", "build", "build"]);
    assert_eq!(place.prompts()[2], "Build a boat", "what was said before is known");
    let sessions: Vec<Value> = place.requests().iter().map(|request| request["session"].clone()).collect();
    assert_ne!(sessions[1], sessions[2], "in a conversation of its own");
    assert_eq!(fs::read_to_string(place.repo().join("looked")).unwrap().lines().count(), 2);
    assert_same(&place, forked.run());
    assert_same(&place, first.run());
    let later = place.go(&["fork", first.run(), "--at", "look"]);
    assert_eq!(later.code, 0, "{later}");
    assert!(
        later.stderr.contains("the run uses the folder as it is now: Windlass undoes nothing there"),
        "{later}"
    );
    assert!(!later.stdout.contains("build completed"), "that is told by the other run: {later}");
    assert!(later.stdout.contains("\n\n▸ look (shell)\n"), "{later}");
    assert_eq!(asked(&place).len(), 3);
    let whole = place.go(&["fork", first.run(), "--at", "plan", "--json"]);
    assert_eq!(whole.code, 0, "{whole}");
    assert_eq!(asked(&place).len(), 5);
    assert_eq!(place.ps().len(), 4);
}

#[test]
fn a_fork_has_the_artifacts_of_the_nodes_before_it() {
    let keeping = "name: keeping
env: { KEPT: '{{ run.artifacts }}/kept' }
nodes:
  - { id: write, shell: 'echo x >> \"$KEPT\"' }
  - { id: count, shell: 'echo x >> \"$KEPT\"; wc -l < \"$KEPT\"' }
";
    let place = place(json!({}), &[keeping]);
    let first = place.go(&["run", "--workflow", "keeping", "--json"]);
    assert_eq!(first.code, 0, "{first}");
    let forked = place.go(&["fork", first.run(), "--at", "count", "--json"]);
    assert_eq!(forked.code, 0, "{forked}");
    let count = |run: &Ran| run.all("node.finished").last().unwrap()["text"].clone();
    assert_eq!(
        (count(&first), count(&forked)),
        (json!("2"), json!("3")),
        "a copy of the folder as it is now"
    );
    let whole = place.go(&["fork", first.run(), "--at", "write", "--json"]);
    assert_eq!(count(&whole), json!("2"), "no node ran before it");
}

#[test]
fn a_fork_of_a_fork_and_in_the_background_is_a_run_like_any_other() {
    let place = place(json!({}), &[THREE]);
    let first = place.go(&["run", "--workflow", "three", "--json"]);
    let second = place.go(&["fork", first.run(), "--at", "build", "--json"]);
    let third = place.go(&["fork", second.run(), "--at", "look", "--detach"]);
    assert_eq!(third.code, 0, "{third}");
    let run = third.stdout.trim().to_owned();
    until(LIMIT, || {
        place.ps().iter().any(|row| row["run"] == json!(run) && row["data"]["status"] == "completed")
    });
    assert_same(&place, &run);
    assert_eq!(asked(&place), ["plan", "build", "build"]);
}

#[test]
fn a_fork_has_as_much_time_left_as_there_was() {
    let document = "name: timed\nnodes:\n  - { id: a, prompt: a }\n  - { id: b, prompt: b }\n";
    let place = place(json!({}), &[document]);
    let first = place.go(&["run", "--workflow", "timed", "--json", "--timeout", "1h"]);
    assert_eq!(first.code, 0, "{first}");
    let forked = place.go(&["fork", first.run(), "--at", "b", "--json"]);
    assert_eq!(forked.code, 0, "{forked}");
    let began = |run: &str| place.go(&["logs", run, "--json"]).lines[0]["ts"].as_str().unwrap().to_owned();
    // The hour is counted from when a run began: that of the fork is not as long ago.
    assert!(began(forked.run()) > began(first.run()));
}

#[test]
fn a_loop_is_forked_at_one_of_its_turns() {
    let (place, run) = looped(json!([busy_turn(), busy_turn(), last_turn()]));
    let node = place.requests()[0]["node"].as_str().unwrap_or("loop").to_owned();
    let node = if node.is_empty() { "loop".to_owned() } else { node };
    let tracker = place.tracker_text(&run);
    let forked = place.go(&["fork", &run, "--at", &format!("{node}:2"), "--json"]);
    forked.assert_ended(0, "completed", "marker", 3);
    assert_eq!(place.requests().len(), 5, "the second and the third turn once more: {forked}");
    assert_eq!(place.tracker_text(&run), tracker, "the other run stays as it is");
    let copied = place.tracker_text(forked.run());
    assert_eq!(copied.matches("- turn 2").count(), 2, "what was done is in there: {copied}");
    assert!(copied.contains(&format!("run: \"{}\"", forked.run())), "{copied}");
    assert_same(&place, forked.run());
    fs::remove_file(place.tracker(&run)).unwrap();
    let gone = place.go(&["fork", &run, "--at", &format!("{node}:2")]);
    gone.assert_refused(2, &["the tracker of", "loop-tracker.md"]);
}

#[test]
fn a_fork_at_a_question_asks_where_it_is_told_to() {
    let document = "name: gated\nnodes:\n  - { id: one, prompt: hi }\n  - { id: q, ask: 'ok?' }\n";
    let place = place(json!({}), &[document]);
    let first = place.go(&["run", "--workflow", "gated", "--json"]);
    assert_eq!(first.code, 8, "{first}");
    let again = place.go(&["fork", first.run(), "--at", "q", "--json"]);
    assert_eq!(again.code, 8, "nobody can be asked here, either: {again}");
    let mut going = place.start(&["fork", first.run(), "--at", "q", "--on-question", "wait", "--json"]);
    going.wait_for("run.waiting");
    let run = going.lines()[0]["run"].as_str().unwrap().to_owned();
    place.kill_everything(going);
    let resumed = place.start(&["resume", &run, "--json"]);
    let answered = place.go(&["answer", &run, "yes"]);
    assert_eq!(answered.code, 0, "{answered}");
    let ran = resumed.end();
    assert_eq!(ran.code, 0, "whoever resumes it waits, too: {ran}");
    assert_same(&place, &run);
    // A fork of the fork waits as that did, and a whole run begun anew can be told to.
    for from in [run.as_str(), first.run()] {
        let orders: &[&str] = if from == run { &[] } else { &["--on-question", "wait"] };
        let point = if from == run { "q" } else { "one" };
        let mut going = place.start(&[&["fork", from, "--at", point, "--json"], orders].concat());
        going.wait_for("run.waiting");
        let run = going.lines()[0]["run"].as_str().unwrap().to_owned();
        assert_eq!(place.go(&["answer", &run, "yes"]).code, 0);
        assert_eq!(going.end().code, 0);
    }
}

#[test]
fn what_was_uncommitted_before_a_fork_is_not_its_change() {
    let place = Place::playing(json!([busy_turn(), busy_turn(), last_turn()]));
    place.sealed.write("repo/untracked-before.txt", "mine\n");
    let ran = place.go(&["loop", "paint the fence", "--json"]);
    ran.assert_ended(0, "completed", "marker", 3);
    let forked = place.go(&["fork", ran.run(), "--at", "loop:2"]);
    assert_eq!(forked.code, 0, "{forked}");
    assert!(!forked.stdout.contains("untracked-before.txt"), "{forked}");
}

#[test]
fn in_the_middle_of_other_work_there_is_no_fork() {
    // The second is begun while the first works.
    let place = place(
        json!({"left": [{"steps": [{"bash": "touch l"}, {"wait_for": "r"}, say("L")]}],
            "right": [{"steps": [{"bash": "touch r"}, say("R")]}]}),
        &[
            "name: both\nnodes:\n  - parallel: { join: all }\n    branches:\n      one: [ { id: left, prompt: a } ]\n      two: [ { id: first, shell: 'until test -e l; do sleep 0.01; done' }, { id: right, prompt: b } ]\n",
        ],
    );
    let ran = place.go(&["run", "--workflow", "both", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let refused = place.go(&["fork", ran.run(), "--at", "right"]);
    refused.assert_refused(2, &["cannot be forked there", "left.1.1.session"]);
    assert_eq!(place.ps().len(), 1, "nothing is begun");
}

#[test]
fn a_point_that_is_none_is_refused_with_what_there_is() {
    let document =
        "name: ways\nnodes:\n  - { id: plan, prompt: a }\n  - { id: never, when: 'false', prompt: b }\n";
    let place = place(json!({}), &[document]);
    let ran = place.go(&["run", "--workflow", "ways", "--json"]);
    let at = |point: &str| place.go(&["fork", ran.run(), "--at", point]);
    at("plam").assert_refused(2, &["has no node `plam`", "did you mean `plan`?", "there are: never, plan"]);
    at("never").assert_refused(2, &["`never` never ran"]);
    at("plan:2").assert_refused(2, &["`plan` ran once, so there is no 2nd time"]);
    for wrong in ["plan:", "plan:0", ":1", "plan:x"] {
        assert_eq!(at(wrong).code, 2, "{wrong}");
    }
    place.go(&["fork", "nosuchrun", "--at", "plan"]).assert_refused(2, &["no run `nosuchrun`"]);
    place.go(&["replay", "nosuchrun"]).assert_refused(2, &["no run `nosuchrun`"]);
    let unknown = place.go(&["replay", ran.run(), "--what-if", "mode=fresh"]);
    assert_eq!(unknown.code, 2, "{unknown}");
    assert!(unknown.stderr.contains("max_iterations, budget.turns, budget.tokens"), "{unknown}");
    assert_eq!(place.go(&["replay", ran.run(), "--what-if", "max_iterations=many"]).code, 2);
    assert_eq!(place.ps().len(), 1, "nothing is begun");
}

#[test]
fn a_folder_that_is_gone_has_no_fork() {
    let place = place(json!({}), &[THREE]);
    let sub = place.repo().join("sub");
    fs::create_dir(&sub).unwrap();
    let mut command = place.windlass(&["run", "--workflow", "three", "--json"]);
    command.current_dir(&sub);
    let ran = place.spawn(command).end();
    assert_eq!(ran.code, 0, "{ran}");
    fs::remove_dir_all(&sub).unwrap();
    place.go(&["fork", ran.run(), "--at", "build"]).assert_refused(2, &["is gone", "/sub"]);
}

#[test]
fn a_dry_run_walks_every_node_and_starts_nothing() {
    let tasks = "name: many\nnodes:\n  - task_loop: {}\n    do:\n      - { id: each, prompt: \"Do {{ task.name }}.\" }\n";
    let place = place(json!({}), &[INNER, EVERYTHING, tasks]);
    let planned = place.go(&["run", "--workflow", "everything", "x", "--dry-run"]);
    assert_eq!(planned.code, 0, "{planned}");
    let (_, walk) = planned.stdout.split_once("\nrehearsal with stub results\n").expect("the walk");
    for line in [
        "fix@1 (prompt)",
        "told: Round 1.",
        "checks: two",
        "left (prompt)",
        "wash (shell)",
        "runs: printf clean",
        "right (prompt)",
        "asks: Ship it? (stub answer: yes)",
        "starts: a run of `inner`",
        "told: x",
        "last is skipped: ",
    ] {
        assert!(walk.contains(line), "`{line}` is missing: {planned}");
    }
    let last = planned.stdout.lines().last().unwrap();
    let end = "the rehearsal ends as completed after 4 turns; in a real run: at most ";
    assert!(last.starts_with(end), "{planned}");
    assert!(place.requests().is_empty());
    assert!(!place.repo().join("tries").exists());
    assert_eq!(place.ps(), [] as [Value; 0]);

    place.sealed.write(
        "repo/tasks.json",
        json!({"tasks": [
            {"id": "1", "name": "the roof", "status": "pending", "dependencies": ["2"]},
            {"id": "2", "name": "the walls", "status": "pending"},
            {"id": "3", "name": "the floor", "status": "passing"}]})
        .to_string(),
    );
    let before = fs::read(place.repo().join("tasks.json")).unwrap();
    let planned = place.go(&["run", "--workflow", "many", "--dry-run", "--json"]);
    let acts = planned.all("run.planned")[0]["rehearsal"]["acts"].as_array().expect("acts").clone();
    let told: Vec<&str> =
        acts.iter().filter(|act| act["what"] == "told").map(|act| act["text"].as_str().unwrap()).collect();
    assert_eq!(told.len(), 2, "{planned}");
    assert!(told[0].starts_with("Do the walls.") && told[1].starts_with("Do the roof."), "{told:?}");
    assert_eq!(fs::read(place.repo().join("tasks.json")).unwrap(), before);
}

#[test]
fn a_fork_begins_in_a_branch_that_ran_alone_in_a_second_round_and_at_a_question() {
    let document = "name: rounds
nodes:
  - loop: { until: iteration == 2, max: 3 }
    do:
      - parallel: { join: all, limit: 1 }
        branches:
          one: [ { id: left, prompt: \"left {{ iteration }}\" } ]
          two: [ { id: right, prompt: \"right {{ iteration }}\" } ]
  - { id: ship, ask: Ship it?, choices: [yes, no] }
  - { id: last, prompt: \"{{ outputs.ship.text }}\" }
";
    let place = place(json!({}), &[document]);
    let ends = |arguments: &[&str], answer: &str| {
        let mut going = place.start(&[arguments, &["--json"]].concat());
        let run = going.run();
        going.wait_for("run.waiting");
        assert_eq!(place.go(&["answer", &run, answer]).code, 0);
        let ran = going.end();
        assert_eq!(ran.code, 0, "{ran}");
        assert_same(&place, &run);
        run
    };
    let first = ends(&["run", "--workflow", "rounds", "x", "--on-question", "wait"], "yes");
    let whole = ["left 1", "right 1", "left 2", "right 2", "yes"];
    assert_eq!(place.prompts(), whole);
    let second = ends(&["fork", &first, "--at", "right:2"], "no");
    assert_eq!(place.prompts()[5..], ["right 2", "no"], "in a branch, in the second round");
    // A fork is a run like any other, and what is asked there is asked anew.
    ends(&["fork", &second, "--at", "ship"], "yes");
    assert_eq!(place.prompts()[7..], ["yes"]);
    ends(&["fork", &second, "--at", "left"], "no");
    assert_eq!(place.prompts()[8..], ["left 1", "right 1", "left 2", "right 2", "no"]);
}

#[test]
fn a_run_that_goes_on_can_be_forked_and_neither_hinders_the_other() {
    let build = json!([{"steps": [{"bash": "touch begun"}, {"wait_for": "go"}, say("Built.")]}]);
    let place = place(json!({"build": build}), &[THREE]);
    let mut going = place.start(&["run", "--workflow", "three", "--json"]);
    let run = going.run();
    place.file_exists("begun");
    place.go(&["fork", &run, "--at", "build"]).assert_refused(2, &[&run, "would write", "--beside"]);
    let mut forked = place.start(&["fork", &run, "--at", "build", "--json", "--beside"]);
    let fork = forked.run();
    until(LIMIT, || asked(&place).len() == 3);
    fs::write(place.repo().join("go"), "").unwrap();
    for ran in [going.end(), forked.end()] {
        assert_eq!((ran.code, &ran.finished()["status"]), (0, &json!("completed")), "{ran}");
    }
    assert_eq!(asked(&place), ["plan", "build", "build"]);
    assert_same(&place, &run);
    assert_same(&place, &fork);
}

#[test]
fn another_order_must_be_one_that_there_is_with_a_value_that_it_can_have() {
    let (place, run) = looped(json!([busy_turn(), busy_turn(), last_turn()]));
    let what_if = |what: &str| place.go(&["replay", &run, "--what-if", what]);
    for fine in [
        "max_iterations=9",
        "stuck_after=0",
        "timeout=2h",
        "budget.turns=9",
        "budget.tokens=9000000",
        "budget.cost=99.5",
    ] {
        let ran = what_if(fine);
        assert!(ran.code == 0 && ran.stdout.contains("nothing changes"), "{fine}: {ran}");
    }
    for wrong in [
        "",
        "=",
        "max_iterations",
        "max_iterations=",
        "max_iterations=-1",
        "max_iterations=1.5",
        "max_iterations=99999999999",
        "stuck_after=soon",
        "timeout=later",
        "budget.turns=few",
        "budget.tokens=-3",
        "budget.cost=cheap",
        "budget.cost=-1",
        "budget.cost=NaN",
        "budget.cost=inf",
        "budget.time=3",
        "budget=3",
        "no.such=1",
    ] {
        let ran = what_if(wrong);
        assert_eq!(ran.code, 2, "{wrong}: {ran}");
        assert!(ran.stderr.contains("error: ") && ran.stdout.is_empty(), "{wrong}: {ran}");
    }
}

#[test]
fn a_fork_says_where_it_comes_from_and_counts_only_its_own_time_and_cost() {
    let turn = |cost: f64| json!([{"steps": [say("Fine.")], "cost_usd": cost}]);
    let place = place(json!({"plan": turn(2.0), "build": turn(1.0)}), &[THREE]);
    let first = place.go(&["run", "--workflow", "three", "--json"]);
    let before = place.go(&["ps", "--json"]).lines[0]["data"]["updated"].as_str().unwrap().to_owned();
    let forked = place.go(&["fork", first.run(), "--at", "build", "--json"]);
    let origin = json!({"run": first.run(), "node": "build", "iteration": 1});
    assert_eq!(forked.finished()["cost_usd"], json!(1.0), "{forked}");
    assert_eq!(forked.all("run.forked")[0]["document"], "recorded");
    assert_eq!(forked.all("run.started")[0]["fork_of"], origin);
    let listed = place.ps()[0]["data"].clone();
    assert_eq!((&listed["fork_of"], &listed["cost_usd"]), (&origin, &json!(1.0)), "{listed}");
    let shown = place.go(&["show", forked.run(), "--json"]).lines[0]["data"].clone();
    assert_eq!((&shown["fork_of"], &shown["cost_usd"], &shown["turns"]), (&origin, &json!(1.0), &json!(1)));
    for began in [&listed["started"], &shown["started"]] {
        assert!(began.as_str().unwrap() >= before.as_str(), "{began} is before {before}");
    }
    let transcripts = shown["sessions"].as_array().unwrap();
    assert_eq!(transcripts.len(), 2);
    for session in transcripts {
        assert!(fs::exists(session["transcript"].as_str().unwrap()).unwrap(), "{session}");
    }
    let told = format!("fork of {} at build", first.run());
    for verb in ["show", "logs"] {
        assert!(place.go(&[verb, forked.run()]).stdout.contains(&told), "{verb}");
    }
    // A fork of the fork has nothing of either.
    let second = place.go(&["fork", forked.run(), "--at", "look", "--json"]);
    let shown = place.go(&["show", second.run(), "--json"]).lines[0]["data"].clone();
    assert_eq!((&shown["turns"], &shown["fork_of"]["run"]), (&json!(0), &json!(forked.run())), "{shown}");
    for session in shown["sessions"].as_array().unwrap() {
        assert!(fs::exists(session["transcript"].as_str().unwrap()).unwrap(), "{session}");
    }
}

#[test]
fn a_fork_uses_the_document_as_it_is_now_if_it_is_told_to() {
    let place = place(json!({}), &[THREE]);
    let first = place.go(&["run", "--workflow", "three", "--json"]);
    let write = |text: &str| place.sealed.write("repo/.windlass/workflows/three.yaml", text);
    write(&THREE.replace("Build {{", "Build well: {{"));
    let old = place.go(&["fork", first.run(), "--at", "build"]);
    assert_eq!(place.prompts().last().unwrap(), "Build Fine.");
    let words =
        [format!("uses the workflow as run {} recorded it", first.run()), "has changed since".to_owned()];
    assert!(words.iter().all(|word| old.stderr.contains(word)), "{old}");
    let new = place.go(&["fork", first.run(), "--at", "build", "--with-document", "--json"]);
    assert_eq!((new.code, &new.all("run.forked")[0]["document"]), (0, &json!("current")), "{new}");
    assert_eq!(place.prompts().last().unwrap(), "Build well: Fine.");
    assert_same(&place, new.run());
    let asked = place.requests().len();
    let fork = || place.go(&["fork", first.run(), "--at", "build", "--with-document"]);
    write(&THREE.replace("Plan it.", "Plan it well."));
    fork().assert_refused(2, &["other instructions for node `plan`"]);
    write(&THREE.replace("id: plan", "id: draw").replace("outputs.plan", "outputs.draw"));
    fork().assert_refused(2, &["`plan.1.1", "now starts `draw.1.1"]);
    write(&THREE.replace("id: build", "id: make"));
    fork().assert_refused(2, &["no node `build`"]);
    write("name: three\nnodes: 3\n");
    assert_eq!(fork().code, 3);
    assert_eq!(place.requests().len(), asked, "no agent is started");
}
