//! Workflows of several nodes, on the `sim` driver: each kind of node, what passes between them,
//! and how they end.

use std::fs;

use crate::place::{LIMIT, Place, last_turn, say};
use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_testkit::env::untimed;
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

fn turn(text: &str) -> Value {
    json!([{"steps": [say(text)]}])
}

/// Returns the prompts to the agent of a node, in the order of its turns.
fn asked(place: &Place, node: &str) -> Vec<String> {
    let requests = place.requests();
    let of = |request: &&Value| {
        request["node"].as_str().unwrap_or_default().split(['@', '~']).next() == Some(node)
    };
    requests.iter().filter(of).map(|request| request["prompt"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn skill_agent_and_command_nodes_are_found_by_name_and_told_what_came_before() {
    let place = place(
        json!({"skill-plan": turn("First A, then B."), "agent-critic": turn("A is wrong."),
            "command-apply": turn("Applied.")}),
        &[
            "name: chain\ninputs:\n  area: { type: text, required: true }\nnodes:\n  - skill: plan\n    args: \"{{ inputs.area }}\"\n  - agent: critic\n    prompt: \"Judge: {{ outputs.skill_plan.text }}\"\n  - command: apply\n    args: \"{{ outputs.agent_critic.text }} / {{ input }}\"\n",
        ],
    );
    place.sealed.write(
        "repo/.claude/skills/plan/SKILL.md",
        "---\nname: plan\ndescription: p\n---\nPlan for $ARGUMENTS.",
    );
    place
        .sealed
        .write("repo/.claude/agents/critic.md", "---\nname: critic\ndescription: c\n---\nYou are a critic.");
    place.sealed.write("repo/.claude/commands/apply.md", "Apply this: $ARGUMENTS");
    let ran = place.go(&["run", "--workflow", "chain", "now", "--input", "area=docs", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 3);
    assert_eq!(asked(&place, "skill-plan"), ["Plan for docs."]);
    assert_eq!(asked(&place, "agent-critic"), ["Judge: First A, then B."]);
    let systems: Vec<Value> = place.requests().iter().map(|request| request["system"].clone()).collect();
    assert_eq!(systems, [Value::Null, json!("You are a critic."), Value::Null]);
    assert_eq!(asked(&place, "command-apply"), ["Apply this: A is wrong. / now"]);
    let order: Vec<&Value> = ran.all("node.started").iter().map(|data| &data["node"]).collect();
    assert_eq!(order, ["skill-plan", "agent-critic", "command-apply"]);
}

#[test]
fn shell_if_when_and_check_decide_what_follows() {
    let place = place(
        json!({}),
        &[
            "name: ways\nchecks: { there: test -e made }\nnodes:\n  - id: look\n    shell: printf 'two words'\n  - if: outputs.look.text == 'two words'\n    then:\n      - { id: yes, shell: 'printf yes > made' }\n    else:\n      - { id: no, prompt: never }\n  - check: [there]\n  - { id: left, when: outputs.no is defined, prompt: never }\n  - { id: last, prompt: \"{{ outputs.look.text }}, {{ outputs.yes.status }}\" }\n",
        ],
    );
    let ran = place.go(&["run", "--workflow", "ways", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 1);
    assert_eq!(place.prompts(), ["two words, completed"]);
    assert_eq!(fs::read_to_string(place.repo().join("made")).unwrap(), "yes");
    let skipped: Vec<&Value> = ran.all("node.skipped").iter().map(|data| &data["node"]).collect();
    assert_eq!(skipped, ["left"]);
}

#[test]
fn a_red_check_and_a_failed_command_end_the_run() {
    let red =
        "name: red\nchecks: { never: 'echo broken; false' }\nnodes:\n  - check: all\n  - prompt: never\n";
    let bad = "name: bad\nnodes:\n  - { id: x, shell: 'echo oops >&2; exit 3' }\n  - prompt: never\n";
    let place = place(json!({}), &[red, bad]);
    let ran = place.go(&["run", "--workflow", "red", "--json"]);
    ran.assert_ended(4, "failed", "checks_failed", 0);
    let ran = place.go(&["run", "--workflow", "bad", "--json"]);
    ran.assert_ended(4, "failed", "shell_failed", 0);
    assert!(ran.finished()["detail"].as_str().unwrap().contains("exit code 3"), "{ran}");
    assert!(place.requests().is_empty());
}

#[test]
fn a_loop_goes_on_until_its_condition_holds_and_is_told_what_was_wrong() {
    let place = place(
        json!({"fix": [{"steps": [{"bash": "echo x >> tries"}, say("Tried.")]}]}),
        &[
            "name: again\nchecks: { three: 'test $(wc -l < tries) -ge 3' }\nnodes:\n  - loop: { until: not outputs.gate.failed, max: 5 }\n    do:\n      - { id: fix, prompt: \"Round {{ iteration }}. {{ feedback }}\" }\n      - { id: gate, check: all, on_failure: continue }\n",
        ],
    );
    place.go(&["run", "--workflow", "again", "--json"]).assert_ended(0, "completed", "all_done", 3);
    let told = asked(&place, "fix");
    assert_eq!(told.len(), 3);
    assert_eq!(told[0], "Round 1. ");
    assert!(told[1].starts_with("Round 2. `gate`: checks failed: three"), "{}", told[1]);
}

#[test]
fn a_loop_that_is_never_done_is_exhausted() {
    let document =
        "name: endless\nnodes:\n  - loop: { until: 'false', max: 3 }\n    do:\n      - shell: 'true'\n";
    let place = place(json!({}), &[document]);
    let ran = place.go(&["run", "--workflow", "endless", "--json"]);
    ran.assert_ended(9, "exhausted", "max_iterations", 0);
    assert_eq!(ran.all("round.started").len(), 3);
}

#[test]
fn a_criteria_loop_ends_with_its_signal_alone_on_a_line() {
    let place = place(
        json!({"yolo": [{"steps": [say("COMPLETE is not what this is")]}, {"steps": [say("Now.\nCOMPLETE")]}]}),
        &[
            "name: yolo\nnodes:\n  - criteria_loop: { signal: COMPLETE, max: 5 }\n    do:\n      - { id: yolo, prompt: \"{{ input }}\" }\n",
        ],
    );
    place.go(&["run", "--workflow", "yolo", "do it", "--json"]).assert_ended(0, "completed", "all_done", 2);
    assert!(asked(&place, "yolo")[0].contains("alone on a line:\nCOMPLETE"));
}

#[test]
fn a_signal_that_is_only_shown_ends_no_criteria_loop() {
    let shown = ["````md\n```\nCOMPLETE\n```\n````", "~~~\n```\nCOMPLETE\n```\n~~~", "    COMPLETE"];
    let turns: Vec<Value> = shown
        .iter()
        .chain(&["```make``` was green\nCOMPLETE"])
        .map(|text| json!({"steps": [say(text)]}))
        .collect();
    let document = "name: yolo\nnodes:\n  - criteria_loop: { signal: COMPLETE, max: 9 }\n    do:\n      - { id: yolo, prompt: \"{{ input }}\" }\n";
    let place = place(json!({"yolo": turns}), &[document]);
    place.go(&["run", "--workflow", "yolo", "do it", "--json"]).assert_ended(0, "completed", "all_done", 4);
}

#[test]
fn parallel_branches_run_at_once_and_join() {
    // Each waits for the other: one after the other they would never end.
    let place = place(
        json!({"left": [{"steps": [{"bash": "touch l"}, {"wait_for": "r"}, say("L")]}],
            "right": [{"steps": [{"bash": "touch r"}, {"wait_for": "l"}, say("R")]}]}),
        &[
            "name: both\nnodes:\n  - parallel: { join: all }\n    branches:\n      one: [ { id: left, prompt: a } ]\n      two: [ { id: right, prompt: b } ]\n  - { id: sum, prompt: \"{{ outputs.left.text }}{{ outputs.right.text }}\" }\n",
        ],
    );
    place.go(&["run", "--workflow", "both", "--json"]).assert_ended(0, "completed", "all_done", 3);
    assert_eq!(asked(&place, "sum"), ["LR"]);
}

#[test]
fn the_first_success_ends_the_other_branches() {
    let place = place(
        json!({"slow": [{"steps": [{"bash": "touch begun"}, {"hang": true}]}],
            "quick": [{"steps": [{"wait_for": "begun"}, say("Done.")]}]}),
        &[
            "name: race\nnodes:\n  - parallel: { join: first_success }\n    branches:\n      a: [ { id: slow, prompt: a } ]\n      b: [ { id: quick, prompt: b } ]\n  - { id: after, prompt: c }\n",
        ],
    );
    let ran = place.go(&["run", "--workflow", "race", "--json"]);
    assert_eq!((ran.code, &ran.finished()["status"]), (0, &json!("completed")), "{ran}");
    assert_eq!(asked(&place, "after").len(), 1);
    place.assert_nothing_is_left();
}

#[test]
fn an_answer_with_a_schema_is_a_value_and_a_wrong_one_is_asked_for_again() {
    let wrong = json!({"steps": [say("{\"steps\": \"none\"}")]});
    let right = json!({"steps": [say("Here:\n```json\n{\"steps\": [\"a\", \"b\"]}\n```")]});
    let place = place(
        json!({"plan": [wrong, right], "do": turn("ok")}),
        &[
            "name: form\nnodes:\n  - id: plan\n    prompt: Plan it.\n    schema: { type: object, required: [steps], properties: { steps: { type: array, items: { type: string } } } }\n  - { id: do, prompt: \"{{ outputs.plan.value.steps | join(' then ') }}\" }\n",
        ],
    );
    let ran = place.go(&["run", "--workflow", "form", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 3);
    let what = "the answer does not fit its schema: $.steps: must be an array, not a string";
    let again = json!({"node": "plan", "what": what, "attempt": 2, "of": 3, "until": null});
    assert_eq!(ran.all("run.retrying"), [&again]);
    let told = untimed(&place.go(&["logs", ran.run()]).stdout);
    assert!(told.contains(&format!("\n  try 2 of 3: {what}\n")), "{told}");
    assert!(asked(&place, "plan")[1].starts_with("Your answer does not fit"), "{:?}", asked(&place, "plan"));
    assert_eq!(asked(&place, "do"), ["a then b"]);
}

#[test]
fn a_sub_workflow_is_a_run_of_its_own_and_linked() {
    let inner = "name: inner\ninputs:\n  level: { type: integer, default: 1 }\nnodes:\n  - { id: work, prompt: \"{{ input }} at {{ inputs.level + 1 }}\" }\n";
    let outer = "name: outer\nnodes:\n  - { id: sub, workflow: inner, with: { level: '3' } }\n  - { id: after, prompt: \"{{ outputs.sub.text }}\" }\n";
    let place = place(json!({"work": turn("from inside")}), &[inner, outer]);
    let ran = place.go(&["run", "--workflow", "outer", "up", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(asked(&place, "work"), ["up at 4"]);
    assert_eq!(asked(&place, "after"), ["from inside"]);
    let runs = place.go(&["ps", "--all", "--json"]).lines;
    let child = runs.iter().find(|line| line["data"]["workflow"] == "inner").expect("a run of its own");
    assert_eq!(child["data"]["parent"], json!(ran.run()), "{child}");
    assert_eq!(child["data"]["status"], "completed");
    let shown = place.go(&["show", ran.run(), "--json"]);
    assert_eq!(
        shown.lines[0]["data"]["usage"]["output_tokens"], 40,
        "what the sub-run spent counts: {shown}"
    );
    let listed = place.go(&["ps"]).stdout;
    assert!(listed.contains("$0.0016"), "less than a cent is something: {listed}");
    let kinds = |ran: &crate::place::Ran| -> Vec<String> {
        let mut kinds: Vec<String> =
            ran.lines.iter().map(|line| format!("{} {}", line["run"], line["type"])).collect();
        kinds.sort();
        kinds
    };
    let again = place.go(&["logs", ran.run(), "--json"]);
    assert_eq!(kinds(&again), kinds(&ran), "the log tells the runs below it, too, each line with its run");
    let told = untimed(&place.go(&["logs", ran.run()]).stdout);
    let said = told.find("  [sub]   from inside\n").expect(&told);
    assert!(said < told.find("✓ sub completed").expect(&told), "{told}");
}

#[test]
fn an_ask_waits_for_a_person_and_survives_everything() {
    let document = "name: gate\nnodes:\n  - id: ship\n    ask: Ship {{ input }}?\n    choices: [yes, no]\n  - { id: go, when: outputs.ship.text == 'yes', prompt: ship it }\n";
    let place = place(json!({}), &[document]);
    let mut going = place.start(&["run", "--workflow", "gate", "1.0", "--json", "--on-question", "wait"]);
    let run = going.run();
    going.wait_for("run.waiting");
    place.kill_everything(going);
    assert_eq!(place.ps()[0]["data"]["status"], "crashed");
    let mut again = place.start(&["resume", &run, "--json"]);
    again.wait_for("run.waiting");
    let wrong = place.go(&["answer", &run, "perhaps"]);
    assert_eq!(wrong.code, 2, "{wrong}");
    assert!(wrong.stderr.contains("yes") && wrong.stderr.contains("no"), "{wrong}");
    assert_eq!(place.go(&["approve", &run]).code, 0, "yes is one of the answers");
    let ran = again.end();
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(place.prompts(), ["ship it"]);
}

#[test]
fn an_answer_is_compared_as_the_text_it_is() {
    let document = "name: save\nnodes:\n  - { id: ok, ask: Commit?, choices: [commit, drop] }\n  - if: outputs.ok == \"commit\"\n    then: [{ shell: touch committed }]\n    else: [{ shell: touch dropped }]\n";
    let place = place(json!({}), &[document]);
    assert_eq!(place.go(&["workflow", "check", "save"]).stdout, "save: ok\n");
    let mut going = place.start(&["run", "--workflow", "save", "--json", "--on-question", "wait"]);
    let run = going.run();
    going.wait_for("run.waiting");
    assert_eq!(place.go(&["answer", &run, "commit"]).code, 0);
    assert_eq!(going.end().code, 0);
    assert!(place.repo().join("committed").exists() && !place.repo().join("dropped").exists());
}

#[test]
fn an_ask_that_nobody_answers_in_time_takes_its_default_and_says_so() {
    let with = "name: with\nnodes:\n  - { id: q, ask: Ship?, choices: [yes, no], default: no, timeout: 1s }\n  - { when: outputs.q == 'yes', prompt: never }\n";
    let without = "name: without\nnodes:\n  - { id: q, ask: Ship?, choices: [yes, no], timeout: 1s }\n";
    let place = place(json!({}), &[with, without]);
    let ran = place.go(&["run", "--workflow", "with", "--json", "--on-question", "wait"]);
    ran.assert_ended(0, "completed", "all_done", 0);
    let told = "no one answered within 1s: used the default `no`";
    for way in [&["logs", ran.run()][..], &["show", ran.run(), "--explain", "q"]] {
        let shown = place.go(way).stdout;
        assert!(shown.contains(told), "{way:?}: {shown}");
    }
    let refused = place.go(&["run", "--workflow", "without", "--json", "--on-question", "wait"]);
    refused.assert_ended(6, "failed", "timeout", 0);
}

#[test]
fn a_run_within_a_run_gives_its_structured_answer() {
    let inner = "name: inner\nnodes:\n  - id: judge\n    prompt: Judge.\n    schema: { type: object, required: [label], properties: { label: { enum: [bug, feature] } } }\n";
    let outer = "name: outer\nnodes:\n  - { id: sub, workflow: inner }\n  - { id: after, when: outputs.sub.value.label == 'bug', prompt: \"{{ outputs.sub.value.label }}: {{ outputs.sub.text }}\" }\n";
    let structured = json!([{"steps": [{"structured": {"label": "bug"}}]}]);
    let place = place(json!({"judge": structured}), &[inner, outer]);
    assert_eq!(place.go(&["workflow", "check", "outer"]).stdout, "outer: ok\n");
    let ran = place.go(&["run", "--workflow", "outer", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(asked(&place, "after"), [r#"bug: {"label":"bug"}"#]);
}

#[test]
fn a_template_that_has_no_value_is_not_tried_again() {
    let document = "name: odd\nnodes:\n  - { id: plan, prompt: Plan., schema: { type: object } }\n  - { id: go, shell: 'echo \"{{ outputs.plan.value.steps }}\"', retry: { times: 5, delay: 1h } }\n";
    let place = place(json!({"plan": turn("{}")}), &[document]);
    let ran = place.go(&["run", "--workflow", "odd", "--json"]);
    ran.assert_ended(4, "failed", "template", 1);
    assert!(ran.finished()["detail"].as_str().unwrap().contains("not tried again"), "{ran}");
}

#[test]
fn no_block_no_run_and_no_task_is_tried_again_for_a_template_without_a_value() {
    let rounds = "name: rounds\nnodes:\n  - id: all\n    loop: { until: outputs.plan.value.done, max: 3 }\n    retry: { times: 5, delay: 1h }\n    do:\n      - { id: plan, prompt: Plan., schema: { type: object, properties: { done: { type: boolean } } } }\n";
    let inner = "name: inner\nnodes:\n  - { id: plan, prompt: Plan., schema: { type: object } }\n  - { id: go, shell: 'echo \"{{ outputs.plan.value.steps }}\"' }\n";
    let outer = "name: outer\nnodes:\n  - { id: sub, workflow: inner, retry: { times: 5, delay: 1h } }\n";
    let tasks = "name: all\nnodes:\n  - id: t\n    task_loop: { attempts: 3 }\n    do:\n      - { id: go, shell: 'echo {{ task.steps }}' }\n";
    let place = place(json!({"plan": turn("{}")}), &[rounds, inner, outer, tasks]);
    place.sealed.write("repo/tasks.json", r#"{"version": "1.0", "tasks": [{"id": "1", "name": "one"}]}"#);
    let run = |name: &str| place.go(&["run", "--workflow", name, "--json"]);
    run("rounds").assert_ended(4, "failed", "template", 1);
    run("outer").assert_ended(4, "failed", "child_failed", 1);
    let ran = run("all");
    ran.assert_ended(4, "failed", "tasks_failed", 0);
    assert_eq!(ran.all("round.started").len(), 1, "{ran}");
    let detail = ran.finished()["detail"].as_str().unwrap().to_owned();
    assert!(
        detail.starts_with("tasks failed, and another try cannot help: 1 (`task.steps` is undefined"),
        "{detail}"
    );
}

#[test]
fn an_ask_that_does_not_take_yes_says_what_it_takes() {
    let document = "name: paint\nnodes:\n  - { id: colour, ask: Which?, choices: [red, green] }\n  - { id: go, shell: 'true' }\n";
    let place = place(json!({}), &[document]);
    let mut going = place.start(&["run", "--workflow", "paint", "--json", "--on-question", "wait"]);
    let run = going.run();
    going.wait_for("run.waiting");
    let words = ["`yes` is not one of the choices of run", "windlass answer"];
    place.go(&["approve", &run]).assert_refused(2, &words);
    place.go(&["approve", &run, "--deny", "ugly"]).assert_refused(2, &["`no` is not one of the choices"]);
    assert_eq!(place.go(&["answer", &run, "red"]).code, 0);
    assert_eq!(going.end().code, 0);
}

#[test]
fn an_ask_where_nobody_is_takes_its_default_or_blocks() {
    let with = "name: with\nnodes:\n  - { id: q, ask: Ship?, choices: [yes, no], default: no }\n  - { when: outputs.q.text == 'yes', prompt: never }\n";
    let without = "name: without\nnodes:\n  - { id: q, ask: Ship?, choices: [yes, no] }\n  - { when: outputs.q.text == 'yes', prompt: never }\n";
    let place = place(json!({}), &[with, without]);
    place.go(&["run", "--workflow", "with", "--json", "--on-question", "fail"]).assert_ended(
        0,
        "completed",
        "all_done",
        0,
    );
    place
        .go(&["run", "--workflow", "without", "--json", "--on-question", "fail"])
        .assert_ended(8, "blocked", "question", 0);
}

#[test]
fn a_wait_for_an_event_goes_on_when_it_is_told() {
    let document = "name: listen\nnodes:\n  - id: d\n    wait: { event: deployed, timeout: 1h }\n  - { id: go, prompt: \"{{ outputs.d.text }}\" }\n";
    let place = place(json!({}), &[document]);
    let mut going = place.start(&["run", "--workflow", "listen", "--json"]);
    let run = going.run();
    going.wait_for("run.waiting");
    let unknown = place.go(&["send", &run, "--event", "deploid", "x"]);
    assert_ne!(unknown.code, 0);
    assert!(unknown.stderr.contains("deployed"), "{unknown}");
    assert_eq!(place.go(&["send", &run, "--event", "deployed", "at 12:00"]).code, 0);
    assert_eq!(going.end().code, 0);
    assert_eq!(place.prompts(), ["at 12:00"]);
}

#[test]
fn a_node_is_tried_again_and_a_failure_can_be_lived_with() {
    let document = "name: again\nnodes:\n  - { id: flaky, shell: 'echo x >> n; test $(wc -l < n) -ge 3', retry: { times: 3, delay: 10ms } }\n  - { id: never, shell: 'false', on_failure: continue }\n  - { id: last, prompt: \"{{ outputs.never.failed }}\" }\n";
    let place = place(json!({}), &[document]);
    let ran = place.go(&["run", "--workflow", "again", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 1);
    let told = untimed(&place.go(&["logs", ran.run()]).stdout);
    for line in
        ["  try 2 of 4 in 10 ms: the command", "  try 3 of 4 in 20 ms: the command", "▸ flaky~3 (shell)"]
    {
        assert!(told.contains(&format!("\n{line}")), "{line} is not in\n{told}");
    }
    assert!(!told.contains("continuing"), "{told}");
    assert_eq!(fs::read_to_string(place.repo().join("n")).unwrap().lines().count(), 3);
    assert_eq!(place.prompts(), ["true"]);
}

#[test]
fn a_node_that_takes_too_long_is_ended() {
    let document = "name: slow\nnodes:\n  - { id: nap, prompt: x, timeout: 1s }\n";
    let place = place(json!({"nap": [{"steps": [{"hang": {"ignore_sigterm": true}}]}]}), &[document]);
    place.go(&["run", "--workflow", "slow", "--json"]).assert_ended(6, "failed", "timeout", 0);
    place.assert_nothing_is_left();
}

#[test]
fn a_budget_of_turns_holds_across_nodes_and_a_restart() {
    let document = "name: poor\nbudget: { turns: 3 }\nnodes:\n  - loop: { until: 'false', max: 10 }\n    do:\n      - { id: spend, prompt: more }\n";
    let place = place(
        json!({"spend": [{"steps": [say("1")]}, {"steps": [{"bash": "touch second"}, {"wait_for": "go"}, say("2")]}, {"steps": [say("3")]}]}),
        &[document],
    );
    let mut going = place.start(&["run", "--workflow", "poor", "--json"]);
    let run = going.run();
    place.file_exists("second");
    going.signal(Signal::KILL);
    going.end();
    fs::write(place.repo().join("go"), "x").unwrap();
    let ran = place.go(&["resume", &run, "--json"]);
    assert_eq!((ran.code, &ran.finished()["reason"]), (9, &json!("budget")), "{ran}");
    assert_eq!(place.requests().len(), 3);
}

#[test]
fn a_paused_run_begins_nothing_until_it_goes_on() {
    let document = "name: steps\nnodes:\n  - { id: a, prompt: a }\n  - { id: b, prompt: b }\n";
    let place = place(
        json!({"a": [{"steps": [{"bash": "touch begun"}, {"wait_for": "go"}, say("A")]}]}),
        &[document],
    );
    let mut going = place.start(&["run", "--workflow", "steps", "--json"]);
    let run = going.run();
    place.file_exists("begun");
    assert_eq!(place.go(&["pause", &run]).code, 0);
    going.wait_for("run.paused");
    fs::write(place.repo().join("go"), "x").unwrap();
    until(LIMIT, || ["waiting", "paused"].contains(&place.ps()[0]["data"]["status"].as_str().unwrap()));
    assert_eq!(asked(&place, "b").len(), 0);
    let shown = place.go(&["show", &run, "--json"]);
    let turns: Vec<&Value> =
        shown.lines[0]["data"]["nodes"].as_array().unwrap().iter().map(|node| &node["turns"]).collect();
    assert_eq!(turns, [1, 0], "the turn of `b` has not begun: {shown}");
    let told = untimed(&place.go(&["logs", &run]).stdout);
    assert!(told.contains("\nb will start when the run continues\n"), "{told}");
    assert_eq!(place.go(&["resume", &run]).code, 0);
    assert_eq!(going.end().code, 0);
    assert_eq!(asked(&place, "b").len(), 1);
}

#[test]
fn a_paused_run_takes_no_default_and_says_what_it_holds_back() {
    let document = "name: gate\nnodes:\n  - { id: w, wait: { event: go } }\n  - { id: q, ask: 'delete it?', choices: [yes, no], default: yes }\n";
    let place = place(json!({}), &[document]);
    let mut going = place.start(&["run", "--workflow", "gate", "--json"]);
    let run = going.run();
    going.wait_for("run.waiting");
    assert_eq!(place.go(&["pause", &run]).code, 0);
    assert_eq!(place.go(&["send", &run, "--event", "go"]).code, 0);
    going.wait_for("node.held");
    let shown = place.go(&["show", &run, "--explain", "q"]).stdout;
    assert!(shown.contains("node q (ask): held\n  not reached: the run is paused"), "{shown}");
    let listed = place.go(&["ps"]).stdout;
    assert!(listed.contains(" paused ") && !listed.contains("(paused)"), "{listed}");
    assert_eq!(place.go(&["resume", &run]).code, 0);
    assert_eq!(going.end().code, 0);
}

#[test]
fn a_cancel_ends_every_branch_and_leaves_nothing_behind() {
    let hang = |name: &str| json!([{"steps": [{"bash": format!("touch {name}")}, {"hang": true}]}]);
    let place = place(
        json!({"x": hang("x"), "y": hang("y")}),
        &[
            "name: both\nnodes:\n  - parallel: { join: all }\n    branches:\n      one: [ { id: x, prompt: a } ]\n      two: [ { id: y, prompt: b } ]\n      three: [ { id: z, shell: 'touch z; sleep 1000' } ]\n",
        ],
    );
    let mut going = place.start(&["run", "--workflow", "both", "--json"]);
    let run = going.run();
    for name in ["x", "y", "z"] {
        place.file_exists(name);
    }
    assert_eq!(place.go(&["cancel", &run]).code, 0);
    going.end().assert_ended(130, "cancelled", "user", 2);
    place.assert_nothing_is_left();
}

#[test]
fn a_command_that_was_cut_off_is_not_run_again_unless_it_may_be() {
    for (idempotent, code, runs) in [(false, 8, 1), (true, 0, 2)] {
        let document = format!(
            "name: once\nnodes:\n  - {{ id: s, shell: 'echo x >> ran; touch begun; test -e go || sleep 1000', idempotent: {idempotent} }}\n"
        );
        let place = place(json!({}), &[&document]);
        let mut going = place.start(&["run", "--workflow", "once", "--json"]);
        let run = going.run();
        place.file_exists("begun");
        place.kill_everything(going);
        fs::write(place.repo().join("go"), "x").unwrap();
        let ran = place.go(&["resume", &run, "--json"]);
        assert_eq!(ran.code, code, "{ran}");
        assert_eq!(fs::read_to_string(place.repo().join("ran")).unwrap().lines().count(), runs);
    }
}

#[test]
fn a_run_that_another_process_resumed_ends_with_the_one_that_started_it() {
    let inner = "name: inner\nnodes:\n  - { id: w, wait: { event: go } }\n";
    let outer = "name: outer\nnodes:\n  - { id: s, workflow: inner }\n  - { id: e, shell: touch e }\n";
    let place = place(json!({}), &[inner, outer]);
    let mut going = place.start(&["run", "--workflow", "outer", "--json"]);
    let run = going.run();
    let child = going.wait_for("run.child")["child"].as_str().unwrap().to_owned();
    going.wait_for("run.waiting");
    going.signal(Signal::KILL);
    going.end();
    let mut inside = place.start(&["resume", &child, "--json"]);
    inside.wait_for("run.waiting");
    let mut outside = place.start(&["resume", &run, "--json"]);
    outside.wait_for("run.child");
    assert_eq!(place.go(&["cancel", &run]).code, 0);
    inside.end().assert_ended(130, "cancelled", "outer_run", 0);
    outside.end().assert_ended(130, "cancelled", "user", 0);
    let shown = place.go(&["show", &child]).stdout;
    assert!(shown.contains(&format!("its parent run ended it: run {run} was cancelled")), "{shown}");
}

#[test]
fn a_run_of_one_session_in_a_document_keeps_its_tracker_name_and_a_second_loop_has_its_own() {
    let document = "name: two\nnodes:\n  - { id: first, prompt: a, turns: { max: 2 } }\n  - { id: second, prompt: b, turns: { max: 2 } }\n";
    let place = place(json!({"first": [last_turn()], "second": [last_turn()]}), &[document]);
    let ran = place.go(&["run", "--workflow", "two", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 2);
    for name in ["first", "second"] {
        let path = place.repo().join(format!(".windlass/runs/{}/{name}-tracker.md", ran.run()));
        assert!(path.is_file(), "{}", path.display());
    }
}

#[test]
fn runs_side_by_side_spend_one_budget() {
    let quick = "name: quick\nnodes:\n  - { id: q1, prompt: a }\n  - { id: q2, prompt: b }\n  - { id: q3, prompt: c }\n";
    let slow =
        "name: slow\nnodes:\n  - { id: s1, prompt: a }\n  - { id: s2, when: input == 'x', prompt: b }\n";
    let both = "name: both\nbudget: { turns: 4 }\nnodes:\n  - parallel: { join: all }\n    branches:
      one: [ { id: fast, workflow: quick }, { id: mark, shell: touch go } ]
      two: [ { id: tardy, workflow: slow } ]\n";
    let place = Place::with_settings("");
    // The first turn of the second run takes until the first run is over.
    let s1 = json!([{"steps": [{"wait_for": "go"}, say("So.")]}]);
    place.script(json!({"nodes": {"s1": s1}, "default": {"steps": [say("Fine.")]}}));
    for (name, text) in [("quick", quick), ("slow", slow), ("both", both)] {
        place.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), text);
    }
    let ran = place.go(&["run", "--workflow", "both", "x", "--json"]);
    let mut asked: Vec<String> =
        place.requests().iter().map(|request| request["node"].as_str().unwrap().to_owned()).collect();
    asked.sort();
    assert_eq!(asked, ["q1", "q2", "q3", "s1"], "four turns, whoever begins them: {ran}");
    assert_eq!((ran.code, &ran.finished()["status"]), (9, &json!("exhausted")), "{ran}");
    assert_eq!(ran.finished()["iterations"], 4, "{ran}");
}

#[test]
fn runs_that_want_a_turn_at_the_same_moment_take_no_more_than_are_left() {
    let kid = "name: kid\nnodes:\n  - { id: k1, prompt: a }\n  - { id: gate, shell: 'until test -e go; do sleep 0.02; done', idempotent: true }\n  - { id: k2, when: input == 'x', prompt: b }\n";
    let mut outer =
        "name: outer\nbudget: { turns: 7 }\nnodes:\n  - parallel: { join: all }\n    branches:\n".to_owned();
    for n in 0..6 {
        outer += &format!("      b{n}: [ {{ id: c{n}, workflow: kid, on_failure: continue }} ]\n");
    }
    // Whoever is ready counts; the last of the six lets all of them go on at once.
    outer += "      last: [ { id: open, shell: 'until test $(grep -c . turns) -ge 6; do sleep 0.02; done; touch go', idempotent: true } ]\n";
    let place = Place::with_settings("");
    let counted = json!([{"steps": [{"bash": "echo x >> turns"}, say("Fine.")]}]);
    place.script(json!({"nodes": {"k1": counted}, "default": {"steps": [say("Fine.")]}}));
    for (name, text) in [("kid", kid), ("outer", outer.as_str())] {
        place.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), text);
    }
    place.sealed.write("repo/turns", "");
    let ran = place.go(&["run", "--workflow", "outer", "x", "--json"]);
    assert_eq!(place.requests().len(), 7, "seven turns, whoever begins them: {ran}");
    assert_eq!((ran.code, &ran.finished()["status"]), (9, &json!("exhausted")), "{ran}");
}

const ROUNDS: &str = "name: rounds
nodes:
  - id: again
    loop: { until: 'iteration == 3', max: 3 }
    do:
      - { id: work, shell: 'true' }
      - { id: only2, when: iteration == 2, shell: 'true' }
      - id: cond
        if: iteration == 1
        then: [ { id: th, shell: 'true' } ]
  - id: e
    if: 'false'
    then: [ { id: never, shell: 'true' } ]
";

#[test]
fn a_node_in_a_loop_is_explained_by_its_own_round() {
    let place = place(json!({}), &[ROUNDS]);
    let ran = place.go(&["run", "--workflow", "rounds", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let explain = |node: &str| place.go(&["show", ran.run(), "--explain", node]);
    explain("work@9").assert_refused(2, &["has no `work@9`", "`work` ran as: work@1, work@2, work@3"]);
    explain("never@1").assert_refused(2, &["`never` never ran"]);
    let says = |node: &str, words: &[&str]| {
        let shown = explain(node);
        assert_eq!(shown.code, 0, "{shown}");
        for word in words {
            assert!(shown.stdout.contains(word), "`{word}` is missing: {shown}");
        }
    };
    says(
        "work@2",
        &["node work@2 (shell): done", "in the loop `again`, in iteration 2; the loop started 3 iterations"],
    );
    says("only2", &["node only2 (shell): done", "ran once, as `only2@2`, but was skipped the last time"]);
    says("only2@2", &["node only2@2 (shell): done", "ran because `work` completed"]);
    says("only2@3", &["node only2@3 (shell): skipped", "its `when` was false: iteration == 2"]);
    says("th", &["in `then` of `cond`, whose condition was true: iteration == 1", "last in iteration 1"]);
    says("never", &["the condition of `e` was false: false"]);
    assert!(!explain("never").stdout.contains("`else`"));
    let shown = place.go(&["show", ran.run()]);
    let row = shown.stdout.lines().find(|line| line.contains("only2 (shell)")).unwrap();
    assert!(row.trim_start().starts_with("done"), "{shown}");
}

#[test]
fn a_loop_that_runs_forever_ends_with_its_budget() {
    let document = "name: watch\nbudget: { turns: 3 }\nnodes:\n  - loop: { forever: true }\n    do:\n      - { id: look, prompt: \"Round {{ iteration }}\" }\n";
    let place = place(json!({}), &[document]);
    let ran = place.go(&["run", "--workflow", "watch", "--json"]);
    ran.assert_ended(9, "exhausted", "budget", 3);
    let planned = place.go(&["run", "--workflow", "watch", "--dry-run"]);
    assert_eq!(planned.code, 0, "{planned}");
    assert!(planned.stdout.contains("until the budget is spent"), "{planned}");
}
