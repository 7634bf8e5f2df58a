//! Workflow documents of several nodes: one of each kind that needs an agent, on the real CLI.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_testkit::{Gate, Model, Request, Turn, fail, reply, require_claude, say, tool, wait};

use crate::stage::{Ended, MINUTE, Stage, assert_nobody_left, bash, path};

/// A stage with these documents in its project.
fn stage(claude: PathBuf, documents: &[&str]) -> Stage {
    let stage = Stage::new(claude);
    for text in documents {
        let name = text.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
        stage.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), text);
    }
    stage
}

/// Runs a document to its end.
fn run(stage: &Stage, model: &Model, workflow: &str, flags: &[&str]) -> Ended {
    let flags = [&["--workflow", workflow], flags].concat();
    stage.start(stage.command(model, "it", &flags)).end()
}

/// The first request of each session, in order.
fn openings(model: &Model) -> Vec<Request> {
    model.requests().into_iter().filter(|request| request.nth_in_session == 0).collect()
}

/// Returns the prompt of each session, without the text that the CLI puts before it.
fn asked(model: &Model) -> Vec<String> {
    openings(model).iter().map(|request| request.last_user_blocks().pop().unwrap()).collect()
}

/// Returns one field of every line of a type.
fn told<'a>(ended: &'a Ended, kind: &str, field: &str) -> Vec<&'a Value> {
    ended.of(kind).into_iter().map(|data| &data[field]).collect()
}

const CHAIN: &str = r#"
name: chain
inputs:
  area: { type: text, required: true }
nodes:
  - skill: plan
    args: "{{ inputs.area }}"
  - agent: critic
    prompt: "Judge: {{ outputs.skill_plan.text }}"
  - command: apply
    args: "{{ outputs.agent_critic.text }} / {{ input }}"
"#;

#[test]
fn skill_agent_and_command_follow_one_another_and_each_is_told_what_the_last_said() {
    let stage = stage(require_claude!(), &[CHAIN]);
    let write = |name: &str, text: &str| stage.sealed.write(format!("repo/.claude/{name}"), text);
    write("skills/plan/SKILL.md", "---\nname: plan\ndescription: p\n---\nPlan for $ARGUMENTS.");
    write("agents/critic.md", "---\nname: critic\ndescription: c\n---\nYou are the critic Momus.");
    write("commands/apply.md", "Apply this: $ARGUMENTS");
    // A `$1` and a template in the words of a model are words.
    let model =
        Model::script([say("First $1, then {{ input }}."), say("A is wrong."), say("Applied.")]).start();
    let ended = run(&stage, &model, "chain", &["--input", "area=the docs"]);

    ended.assert_ended(0, "completed", "all_done", 3);
    let expected =
        ["Plan for the docs.", "Judge: First $1, then {{ input }}.", "Apply this: A is wrong. / it"];
    assert_eq!(asked(&model), expected);
    let systems: Vec<bool> =
        openings(&model).iter().map(|request| request.system_text().contains("critic Momus")).collect();
    assert_eq!(systems, [false, true, false]);
    assert_eq!(told(&ended, "node.finished", "node"), ["skill-plan", "agent-critic", "command-apply"]);
    assert_eq!(ended.sessions(), model.sessions());
}

/// A file of two tasks, of which the first must wait for the second.
const TASKS: &str = r#"{"tasks": [
  {"id": "late", "name": "Print", "status": "pending", "dependencies": ["early"]},
  {"id": "early", "name": "Parse", "status": "pending"}
]}"#;

fn task_loop(until: &str) -> String {
    format!(
        "name: backlog\nnodes:\n  - task_loop: {{ path: tasks.json, max: 9{until} }}\n    before_each:\n      - clear_context: true\n    do:\n      - id: work\n        prompt: \"Do {{{{ task.name }}}} ({{{{ task.id }}}}).\"\n"
    )
}

/// Says of each task that it is done.
fn worker() -> Model {
    Model::script([])
        .when("Do Parse", say("Parsed, enough for today.\n<status>passing</status>"))
        .when("Do Print", say("Printed.\n<status>passing</status>"))
        .default(say("Nobody asked me this."))
        .start()
}

fn statuses(stage: &Stage) -> Vec<Value> {
    let text = fs::read_to_string(stage.sealed.repo().join("tasks.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    file["tasks"].as_array().unwrap().iter().map(|task| json!([task["id"], task["status"]])).collect()
}

#[test]
fn a_task_loop_does_each_task_as_it_becomes_ready() {
    let stage = stage(require_claude!(), &[&task_loop("")]);
    stage.sealed.write("repo/tasks.json", TASKS);
    let model = worker();
    let ended = run(&stage, &model, "backlog", &[]);

    ended.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(statuses(&stage), [json!(["late", "passing"]), json!(["early", "passing"])]);
    assert_eq!(told(&ended, "task.settled", "task"), ["early", "late"]);
    let asked = asked(&model);
    assert_eq!(asked.len(), 2);
    for (asked, begin) in asked.iter().zip(["Do Parse (early).\n", "Do Print (late).\n"]) {
        assert!(asked.starts_with(begin) && asked.contains("<status>passing</status>"), "{asked}");
    }
}

#[test]
fn a_task_loop_with_an_until_leaves_the_other_tasks_as_they_are() {
    let until = ", until: \"'enough' in outputs.work.text\"";
    let stage = stage(require_claude!(), &[&task_loop(until)]);
    stage.sealed.write("repo/tasks.json", TASKS);
    let model = worker();
    let ended = run(&stage, &model, "backlog", &[]);

    ended.assert_ended(0, "completed", "all_done", 1);
    assert_eq!(statuses(&stage), [json!(["late", "pending"]), json!(["early", "passing"])]);
    assert_eq!(model.sessions().len(), 1);
}

const YOLO: &str = r#"
name: yolo
nodes:
  - criteria_loop: { signal: COMPLETE, max: 5 }
    do:
      - { id: yolo, prompt: "Do {{ input }}, round {{ iteration }}." }
"#;

#[test]
fn a_criteria_loop_goes_on_in_fresh_sessions_until_the_signal_stands_alone() {
    let stage = stage(require_claude!(), &[YOLO]);
    let model =
        Model::script([say("It is not COMPLETE yet."), say("Now it is.\n\nCOMPLETE"), say("never asked")])
            .start();
    let ended = run(&stage, &model, "yolo", &[]);

    ended.assert_ended(0, "completed", "all_done", 2);
    let asked = asked(&model);
    assert_eq!(asked.len(), 2);
    for (asked, begin) in asked.iter().zip(["Do it, round 1.\n", "Do it, round 2.\n"]) {
        assert!(asked.starts_with(begin) && asked.contains("alone on a line:\nCOMPLETE"), "{asked}");
    }
}

const INNER: &str = r#"
name: inner
inputs:
  what: { type: text, required: true }
  level: { type: integer, default: 1 }
nodes:
  - { id: work, prompt: "{{ inputs.what }} at {{ inputs.level + 1 }} for {{ input }}" }
"#;
const OUTER: &str = r#"
name: outer
nodes:
  - { id: plan, prompt: "Plan {{ input }}." }
  - { id: sub, workflow: inner, with: { what: "{{ outputs.plan.text }}", level: "3" } }
  - { id: after, prompt: "Inside they said: {{ outputs.sub.text }}" }
"#;

#[test]
fn a_sub_workflow_is_a_run_with_a_session_of_its_own() {
    let stage = stage(require_claude!(), &[INNER, OUTER]);
    let model = Model::script([say("the roof"), say("the roof is on"), say("good")]).start();
    let ended = run(&stage, &model, "outer", &[]);

    ended.assert_ended(0, "completed", "all_done", 3);
    assert_eq!(asked(&model), ["Plan it.", "the roof at 4 for it", "Inside they said: the roof is on"]);
    let runs = stage.windlass(&["ps", "--all", "--json"]);
    let child = runs.lines.iter().find(|line| line["data"]["workflow"] == "inner").unwrap();
    let seen = (&child["data"]["parent"], &child["data"]["status"]);
    assert_eq!(seen, (&json!(ended.run()), &json!("completed")), "{child}");
    assert_eq!(told(&ended, "run.child", "child"), [&child["run"]]);
}

const GATE: &str = r#"
name: gate
nodes:
  - { id: build, prompt: "Build {{ input }}." }
  - id: ship
    ask: "Ship {{ outputs.build.text }}?"
    choices: [yes, no]
  - { id: go, when: outputs.ship.text == "yes", prompt: "Ship it: they said {{ outputs.ship.text }}." }
  - { id: stay, when: outputs.ship.text == "no", prompt: "Throw it away." }
"#;

#[test]
fn an_ask_waits_for_a_person_and_the_answer_chooses_the_next_session() {
    let stage = stage(require_claude!(), &[GATE]);
    let model = Model::script([say("version 1.0"), say("shipped")]).start();
    let flags = ["--workflow", "gate", "--on-question", "wait"];
    let started = stage.start(stage.command(&model, "it", &flags));
    let waiting = started.wait_for("run.waiting");
    assert_eq!(waiting["data"]["question"], "Ship version 1.0?");
    assert_eq!(model.requests().len(), 1);

    let answer = stage.windlass(&["answer", waiting["run"].as_str().unwrap(), "yes"]);
    assert_eq!(answer.code, Some(0), "{}", answer.story());
    let ended = started.end();
    ended.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(asked(&model), ["Build it.", "Ship it: they said yes."]);
    assert_eq!(told(&ended, "node.skipped", "node"), ["stay"]);
}

const SAVE: &str = r#"
name: save
nodes:
  - { id: work, prompt: "Do {{ input }}." }
  - id: ok
    ask: Commit?
    choices: [commit, drop]
  - if: outputs.ok == "commit"
    then:
      - { skill: commit }
    else:
      - { shell: git checkout -- . }
"#;

#[test]
fn the_answer_commit_commits() {
    let stage = stage(require_claude!(), &[SAVE]);
    let write = |name: &str, text: &str| stage.sealed.write(format!("repo/{name}"), text);
    write(".claude/skills/commit/SKILL.md", "---\nname: commit\ndescription: c\n---\nCommit what was done.");
    write("greeting", "hello\n");
    stage.sealed.git(["add", "."]);
    stage.sealed.git(["commit", "-qm", "before"]);
    let model = Model::script([
        bash("echo world >> greeting"),
        say("Done."),
        bash("git commit -qam 'the world is greeted'"),
        say("Committed."),
    ])
    .start();
    let flags = ["--workflow", "save", "--on-question", "wait"];
    let started = stage.start(stage.command(&model, "it", &flags));
    let waiting = started.wait_for("run.waiting");
    let answer = stage.windlass(&["answer", waiting["run"].as_str().unwrap(), "commit"]);
    assert_eq!(answer.code, Some(0), "{}", answer.story());
    let ended = started.end();

    ended.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(asked(&model), ["Do it.", "Commit what was done."]);
    assert_eq!(stage.sealed.git(["log", "-1", "--format=%s"]).trim(), "the world is greeted");
    assert_eq!(fs::read_to_string(stage.sealed.repo().join("greeting")).unwrap(), "hello\nworld\n");
}

const RACE: &str = r#"
name: race
nodes:
  - parallel: { join: first_success }
    branches:
      both:
        - parallel: { join: all }
          branches:
            one: [ { id: left, agent: reader, prompt: You are LEFT. } ]
            two: [ { id: right, prompt: You are RIGHT., turns: { max: 3, mode: in_session, promise: DONE } } ]
      third: [ { id: slow, prompt: You are SLOW. } ]
  - { id: after, prompt: You are AFTER. }
"#;

/// Returns the runner of the race that sent a request. Only the prompt identifies it, because the CLI
/// tells every session about new files.
fn runner(request: &Request) -> &'static str {
    let prompt = request.first_user_text();
    let names = ["LEFT", "RIGHT", "SLOW", "AFTER"];
    names.into_iter().find(|name| prompt.contains(&format!("You are {name}."))).unwrap()
}

/// Left and right use the same tools, and begin when both stand at the gate; slow never comes through its own.
fn racers(repo: PathBuf, begin: Gate, never: Gate) -> Turn {
    reply(move |request| {
        let who = runner(request);
        match (who, request.nth_in_session) {
            ("SLOW", _) => say("too late").behind(&never),
            ("LEFT" | "RIGHT", 0) => bash(&format!("echo {who} >> ran")).behind(&begin),
            ("LEFT" | "RIGHT", 1) => {
                let file = path(&repo.join(format!("{who}.txt")));
                tool("Write", json!({"file_path": file, "content": who}))
            }
            ("RIGHT", 2) => say("Not yet."),
            _ => say("<promise>DONE</promise>"),
        }
    })
}

/// Returns the answers to the hooks of a node: `Bash deny`, `stop pass`.
fn hooks(ended: &Ended, node: &str) -> Vec<String> {
    let of_node = ended.of("hook.decision").into_iter().filter(|data| data["node"] == node);
    of_node
        .map(|data| {
            let what = data["tool"].as_str().or(data["asked"].as_str()).unwrap();
            format!("{what} {}", data["decision"].as_str().unwrap())
        })
        .collect()
}

#[test]
fn sessions_at_once_are_each_held_by_their_own_rules_and_the_one_that_is_left_is_cut() {
    let stage = stage(require_claude!(), &[RACE]);
    let reader = "---\nname: reader\ndescription: r\ntools: Read, Write\n---\nYou read.";
    stage.sealed.write("repo/.claude/agents/reader.md", reader);
    let (begin, never) = (Gate::closed(), Gate::closed());
    let turn = racers(stage.sealed.repo(), begin.clone(), never.clone());
    let model = Model::script([]).default(turn).start();
    let started = stage.start(stage.command(&model, "it", &["--workflow", "race"]));
    // One after the other they would never all come here.
    wait::until(MINUTE, || begin.reached() == 2 && never.reached() == 1);
    begin.open();
    let ended = started.end();

    assert_eq!(ended.of("run.finished")[0]["status"], "completed", "{}", ended.story());
    assert_eq!(hooks(&ended, "left"), ["Bash deny", "Write allow", "stop pass"], "{}", ended.story());
    assert_eq!(
        hooks(&ended, "right"),
        ["Bash allow", "Write allow", "stop block", "stop pass"],
        "{}",
        ended.story()
    );
    assert_eq!(hooks(&ended, "slow"), [""; 0]);
    let read = |name: &str| fs::read_to_string(stage.sealed.repo().join(name)).unwrap();
    assert_eq!([read("ran"), read("LEFT.txt"), read("RIGHT.txt")], ["RIGHT\n", "LEFT", "RIGHT"]);
    let finished = ended.of("node.finished");
    let slow = finished.iter().find(|data| data["node"] == "slow").unwrap();
    assert_eq!(slow["status"], "cancelled", "{slow}");
    let asked = model.requests();
    assert_eq!(asked.iter().filter(|request| runner(request) == "SLOW").count(), 1);
    assert_eq!(runner(asked.last().unwrap()), "AFTER");
    assert_nobody_left(&stage);
}

const FORM: &str = r#"
name: form
nodes:
  - id: plan
    prompt: "Plan {{ input }}."
    schema: { type: object, required: [steps], properties: { steps: { type: array, items: { type: string } } } }
  - { id: do, prompt: "Do {{ outputs.plan.value.steps[1] }} of {{ outputs.plan.value.steps | length }}." }
"#;

#[test]
fn an_answer_with_a_schema_is_a_value_for_the_next_node() {
    let stage = stage(require_claude!(), &[FORM]);
    let model = Model::script([])
        .once_when("Plan it.", tool("StructuredOutput", json!({"steps": ["dig", "build"]})))
        .when("Do build of 2.", say("built"))
        .default(say("Here you are."))
        .start();
    let ended = run(&stage, &model, "form", &[]);

    ended.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(asked(&model).last().unwrap(), "Do build of 2.");
    let offered: Vec<bool> = openings(&model)
        .iter()
        .map(|request| request.tool_names().iter().any(|name| name == "StructuredOutput"))
        .collect();
    assert_eq!(offered, [true, false]);
}

const CHOICES: &str = r#"
name: choices
nodes:
  - id: plan
    prompt: Plan it.
    model: [no-such-model, claude-sonnet-4-5]
    effort: low
    tools: read
  - { id: build, prompt: Build it., continue: plan }
"#;

#[test]
fn a_session_tries_the_next_model_has_only_its_tools_and_is_continued_by_a_later_node() {
    let stage = stage(require_claude!(), &[CHOICES]);
    let file = stage.sealed.repo().join("written");
    let written = path(&file);
    let answer = move |request: &Request| {
        let last = request.last_user_text();
        if request.body["model"] == "no-such-model" {
            fail(404, "not_found_error").message("model: no-such-model")
        } else if last.contains("Build it.") {
            say("Built.")
        } else if last.contains("Plan it.") {
            tool("Write", json!({"file_path": written, "content": "x"}))
        } else {
            say("Planned.")
        }
    };
    let model = Model::script([]).default(reply(answer)).start();
    let ended = run(&stage, &model, "choices", &[]);

    assert_eq!(ended.of("run.finished")[0]["status"], "completed", "{}", ended.story());
    assert!(!file.exists(), "a session with `tools: read` writes nothing");
    let requests = model.requests();
    let models: Vec<&Value> = requests.iter().map(|request| &request.body["model"]).collect();
    assert_eq!(models[0], "no-such-model");
    assert!(models.contains(&&json!("claude-sonnet-4-5")), "{models:?}");
    let last = requests.last().unwrap();
    assert!(last.mentions("Plan it.") && last.mentions("Planned.") && last.mentions("Build it."));
    assert_eq!(last.session, requests[requests.len() - 2].session, "the conversation continues");
    assert!(ended.story().contains("no-such-model"), "people see that the model is missing");
}
