//! `windlass tasks run` and task loops of documents, on the `sim` driver: which task is done when,
//! what it takes to be passing, edits of the file meanwhile, and crashes.

use std::fs;
use std::path::PathBuf;

use crate::place::{LIMIT, Place, Ran, say};
use serde_json::{Value, json};
use windlass_testkit::wait::until;

const PASSING: &str = "Done.\n<status>passing</status>";

/// A place with these tasks; the agent plays these turns, one a round.
pub(crate) fn place(tasks: Value, turns: Value) -> Place {
    let place = Place::with_settings("");
    place.script(json!({"nodes": {"implement": turns}, "default": {"steps": [say(PASSING)]}}));
    write(&place, &serde_json::to_string_pretty(&json!({"version": "1.0", "tasks": tasks})).unwrap());
    place
}

fn write(place: &Place, text: &str) {
    place.sealed.write("repo/tasks.json", text);
}

fn text(place: &Place) -> String {
    fs::read_to_string(place.repo().join("tasks.json")).unwrap()
}

pub(crate) fn task(id: &str, after: &[&str]) -> Value {
    json!({"id": id, "name": format!("Task {id}"), "status": "pending", "dependencies": after})
}

pub(crate) fn tasks(count: u32) -> Value {
    (1..=count).map(|id| task(&id.to_string(), &[])).collect()
}

/// A turn of these steps, at the end of which the task is said to be done.
pub(crate) fn turn(steps: &[Value]) -> Value {
    let steps = [steps, &[say(PASSING)]].concat();
    json!({"steps": steps})
}

pub(crate) fn run(place: &Place, arguments: &[&str]) -> Ran {
    place.go(&[&["tasks", "run", "--json"], arguments].concat())
}

/// The tasks in the order in which work on them began.
pub(crate) fn begun(ran: &Ran) -> Vec<String> {
    ran.all("round.started").iter().map(|data| data["task"].as_str().unwrap().to_owned()).collect()
}

/// Returns each settled task with its status, in the order of settling: `1 passing`.
pub(crate) fn ended(ran: &Ran) -> Vec<String> {
    let told =
        |data: &&Value| format!("{} {}", data["task"].as_str().unwrap(), data["status"].as_str().unwrap());
    ran.all("task.settled").iter().map(told).collect()
}

/// Returns each task of the file with its status, in the order of the file.
pub(crate) fn in_file(place: &Place) -> Vec<String> {
    let listed = place.go(&["tasks", "list", "--json"]);
    assert_eq!(listed.code, 0, "{listed}");
    let told = |line: &Value| {
        let task = &line["data"];
        format!("{} {}", task["id"].as_str().unwrap(), task["status"].as_str().unwrap())
    };
    listed.lines.iter().map(told).collect()
}

pub(crate) fn detail(ran: &Ran) -> String {
    ran.finished()["detail"].as_str().unwrap_or_default().to_owned()
}

/// A file outside of the repository, which every worktree sees.
pub(crate) fn outside(place: &Place, name: &str) -> PathBuf {
    place.sealed.root().join(name)
}

pub(crate) fn touch(place: &Place, name: &str) -> Value {
    json!({"bash": format!("touch {}", outside(place, name).display())})
}

pub(crate) fn wait_for(place: &Place, name: &str) -> Value {
    json!({"wait_for": outside(place, name)})
}

pub(crate) fn lines(path: &PathBuf) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

// One after the other

#[test]
fn tasks_are_done_by_dependency_priority_and_place_and_what_was_left_in_progress_is_done_too() {
    let place = place(
        json!([
            {"id": "late", "name": "l", "status": "pending", "dependencies": ["1", "#two"]},
            {"id": "#1", "name": "one", "status": "pending", "priority": 5},
            {"id": "two", "name": "t", "status": "skipped"},
            {"id": "done", "name": "d", "status": "passing", "priority": 0},
            {"id": "left", "name": "x", "status": "in_progress", "priority": 1},
            {"id": "red", "name": "r", "status": "failing", "priority": 3, "dependencies": ["#left"]},
            {"id": "plain", "name": "p", "status": "todo"},
        ]),
        json!([]),
    );
    let ran = run(&place, &[]);
    ran.assert_ended(0, "completed", "all_done", 5);
    assert_eq!(begun(&ran), ["left", "red", "1", "late", "plain"]);
    let first_lines: Vec<String> =
        place.prompts().iter().map(|prompt| prompt.lines().next().unwrap().to_owned()).collect();
    assert_eq!(first_lines[2], "Do this task: 1: one");
    assert_eq!(
        in_file(&place),
        [
            "late passing",
            "1 passing",
            "two skipped",
            "done passing",
            "left passing",
            "red passing",
            "plain passing"
        ]
    );
    let again = run(&place, &[]);
    again.assert_ended(0, "completed", "all_done", 0);
}

#[test]
fn a_task_that_fails_is_tried_three_times_and_told_why_and_the_others_go_on() {
    let place = place(
        json!([task("1", &[]), task("2", &[])]),
        json!([
            turn(&[json!({"bash": "touch bad"})]),
            {"steps": [{"bash": "rm bad"}, say("It is too hard.\n<status>failing</status>")]},
            {"steps": [say("I looked around.")]},
            turn(&[]),
        ]),
    );
    let check = "test ! -e bad || { echo broken glass; exit 1; }";
    let ran = run(&place, &["--check", check]);
    ran.assert_ended(4, "failed", "tasks_failed", 4);
    assert_eq!(begun(&ran), ["1", "1", "1", "2"]);
    assert_eq!(ended(&ran), ["1 failing", "1 failing", "1 failing", "2 passing"]);
    assert_eq!(detail(&ran), "tasks failed after 3 tries: 1");
    let prompts = place.prompts();
    assert!(!prompts[0].contains("The last try failed"), "{}", prompts[0]);
    assert!(
        prompts[1].contains("The last try failed:\n") && prompts[1].contains("broken glass"),
        "{}",
        prompts[1]
    );
    assert!(prompts[2].contains("the agent said that the task is not done"), "{}", prompts[2]);
    assert!(!prompts[2].contains("broken glass"), "only the last try is told: {}", prompts[2]);
    assert!(!prompts[3].contains("The last try failed"), "another task: {}", prompts[3]);
    assert_eq!(in_file(&place), ["1 failing", "2 passing"]);
    let again = run(&place, &[]);
    again.assert_ended(0, "completed", "all_done", 1);
    assert_eq!(in_file(&place), ["1 passing", "2 passing"]);
}

#[test]
fn without_a_word_of_the_agent_or_with_red_checks_no_task_is_passing() {
    // Each turn claims it in another way, or does not; the check is red while `red` is there.
    let edit = json!({"bash": "sed -i 's/\"in_progress\"/\"passing\"/' tasks.json"});
    let place = place(
        tasks(1),
        json!([
            {"steps": [edit, {"bash": "touch red"}, say("Done.")]},
            {"steps": [{"bash": "rm red"}, say("The word `<status>passing</status>` is only mentioned.")]},
            {"steps": [edit, say("Done.")]},
        ]),
    );
    let ran = run(&place, &["--check", "test ! -e red"]);
    ran.assert_ended(0, "completed", "all_done", 3);
    assert_eq!(ended(&ran), ["1 failing", "1 failing", "1 passing"]);
    let why: Vec<&Value> = ran.all("task.settled").iter().map(|data| &data["why"]).collect();
    assert!(why[0].as_str().unwrap().contains("test ! -e red"), "{ran}");
    assert_eq!(why[1], "the agent did not say that the task is done");
    assert_eq!(in_file(&place), ["1 passing"], "an edit of the file is a claim where the checks are green");
}

#[test]
fn an_agent_that_ends_without_a_word_has_not_done_its_task() {
    let silent = json!({"steps": [{"bash": "true"}]});
    let place = place(tasks(1), json!([silent, {"steps": [say("")]}, turn(&[])]));
    let ran = run(&place, &[]);
    ran.assert_ended(0, "completed", "all_done", 3);
    assert_eq!(ended(&ran), ["1 failing", "1 failing", "1 passing"]);
    let why: Vec<&Value> = ran.all("task.settled").iter().map(|data| &data["why"]).collect();
    assert_eq!(why[0], "the agent did not say that the task is done");
}

#[test]
fn a_reviewer_with_a_schema_takes_no_claim_away() {
    let answers = [json!({"structured": {"ok": true}}), say(r#"{"ok": true}"#)];
    let place = place(tasks(2), json!([]));
    let review: Vec<Value> = answers.iter().map(|answer| json!({"steps": [answer]})).collect();
    place.script(json!({"nodes": {"review": review}, "default": {"steps": [say(PASSING)]}}));
    document(
        &place,
        "name: own\nnodes:\n  - task_loop: { max: 9, attempts: 1 }\n    do:\n      - { id: work, prompt: 'Do {{ task.id }}.' }\n      - { id: review, prompt: Look at it., schema: { type: object, required: [ok] } }\n",
    );
    let ran = run_document(&place);
    ran.assert_ended(0, "completed", "all_done", 4);
    assert_eq!(ended(&ran), ["1 passing", "2 passing"]);
    let requests = place.requests();
    let told = |node: &str| {
        let of = |request: &&Value| request["node"].as_str().unwrap().starts_with(node);
        requests.iter().filter(of).all(|request| request["prompt"].as_str().unwrap().contains("<status>"))
    };
    assert!(told("work") && !told("review"), "{requests:?}");
}

#[test]
fn a_deadlock_is_found_when_all_that_can_be_done_is_done_and_names_its_cause() {
    let cases = [
        (json!([task("1", &["2"]), task("2", &["#1"]), task("3", &[])]), "1 -> 2 -> 1"),
        (json!([task("1", &["nowhere"]), task("2", &["1"]), task("3", &[])]), "1 waits for nowhere"),
    ];
    for (tasks, words) in cases {
        let place = place(tasks, json!([]));
        let ran = run(&place, &[]);
        ran.assert_ended(8, "blocked", "deadlock", 1);
        assert_eq!(ended(&ran), ["3 passing"]);
        assert!(detail(&ran).contains(words), "{ran}");
        assert_eq!(in_file(&place), ["1 pending", "2 pending", "3 passing"]);
    }
}

#[test]
fn what_waits_for_a_task_that_failed_is_not_begun_and_it_is_said() {
    let place = place(
        json!([task("1", &[]), task("2", &["1"]), task("3", &[])]),
        json!([{"steps": [say("No.")]}, {"steps": [say("No.")]}, {"steps": [say("No.")]}, turn(&[])]),
    );
    let ran = run(&place, &[]);
    ran.assert_ended(8, "blocked", "deadlock", 4);
    assert_eq!(begun(&ran), ["1", "1", "1", "3"]);
    assert_eq!(detail(&ran).lines().next(), Some("task 2 waits for task 1, which failed"));
    assert_eq!(in_file(&place), ["1 failing", "2 pending", "3 passing"]);
}

#[test]
fn killed_in_the_middle_of_a_task_a_resume_finishes_it_and_does_none_twice() {
    let place = place(tasks(3), json!([]));
    let log = outside(&place, "done");
    let mark = |id: u32| json!({"bash": format!("echo {id} >> {}", log.display())});
    let turns = json!([
        turn(&[mark(1)]),
        {"attempts": [
            turn(&[touch(&place, "begun"), wait_for(&place, "never")]),
            turn(&[mark(2)]),
        ]},
        turn(&[mark(3)]),
    ]);
    place.script(json!({"nodes": {"implement": turns}}));
    let mut going = place.start(&["tasks", "run", "--json"]);
    let id = going.run();
    until(LIMIT, || outside(&place, "begun").exists());
    place.kill_everything(going);
    assert_eq!(in_file(&place), ["1 passing", "2 in_progress", "3 pending"]);
    let ran = place.go(&["resume", &id, "--json"]);
    assert_eq!((ran.code, &ran.finished()["status"]), (0, &json!("completed")), "{ran}");
    assert_eq!(lines(&log), ["1", "2", "3"]);
    assert_eq!(in_file(&place), ["1 passing", "2 passing", "3 passing"]);
    let rounds: Vec<Value> = place.requests().iter().map(|request| request["node"].clone()).collect();
    assert_eq!(rounds, ["implement@1", "implement@2", "implement@2", "implement@3"]);
}

#[test]
fn a_task_in_progress_of_a_run_that_nobody_resumes_is_done_by_the_next_run() {
    let place = place(tasks(1), json!([]));
    let hang = json!({"steps": [touch(&place, "begun"), {"hang": true}]});
    place.script(json!({"nodes": {"implement": [hang]}}));
    let mut going = place.start(&["tasks", "run", "--json"]);
    going.run();
    until(LIMIT, || outside(&place, "begun").exists());
    place.kill_everything(going);
    place.script(json!({"nodes": {"implement": [turn(&[])]}}));
    run(&place, &[]).assert_ended(0, "completed", "all_done", 1);
    assert_eq!(in_file(&place), ["1 passing"]);
}

#[test]
fn a_second_run_on_the_same_file_is_refused_while_the_first_lives_and_not_after() {
    let place = place(tasks(2), json!([]));
    let held = turn(&[touch(&place, "begun"), wait_for(&place, "never")]);
    place.script(json!({"nodes": {"implement": [held]}}));
    let mut first = place.start(&["tasks", "run", "--json"]);
    let first_id = first.run();
    until(LIMIT, || outside(&place, "begun").exists());
    std::os::unix::fs::symlink("tasks.json", place.repo().join("link.json")).unwrap();
    document(
        &place,
        "name: own\nnodes:\n  - { id: first, shell: 'true' }\n  - task_loop: { path: link.json, max: 9 }\n    do:\n      - { id: implement, prompt: x }\n",
    );
    let before = text(&place);
    let by = format!("is being worked on by run {first_id}");
    for file in ["tasks.json", "link.json"] {
        let ran = run(&place, &["--file", file, "--beside"]);
        assert_eq!(ran.code, 2, "{ran}");
        assert!(
            ran.stderr.contains(&by) && ran.stderr.contains(&format!("`windlass cancel {first_id}`")),
            "{ran}"
        );
    }
    let runs = place.go(&["ps", "--json"]).lines.len();
    assert_eq!(runs, 1, "there is no second run");
    let later = place.go(&["run", "--workflow", "own", "--json", "--beside"]);
    later.assert_ended(8, "blocked", "tasks_unreadable", 0);
    assert!(detail(&later).contains(&by), "{later}");
    assert_eq!(text(&place), before);
    place.kill_everything(first);
    // What a dead run left behind is taken up by the next, and cannot be resumed while that lives.
    place.script(
        json!({"nodes": {"implement": [turn(&[touch(&place, "again"), wait_for(&place, "go")]), turn(&[])]}}),
    );
    let mut second = place.start(&["tasks", "run", "--json"]);
    let second_id = second.run();
    until(LIMIT, || outside(&place, "again").exists());
    let resumed = place.go(&["resume", &first_id]);
    assert_eq!(resumed.code, 2, "{resumed}");
    assert!(resumed.stderr.contains(&format!("is being worked on by run {second_id}")), "{resumed}");
    fs::write(outside(&place, "go"), "x").unwrap();
    second.end().assert_ended(0, "completed", "all_done", 2);
    assert_eq!(in_file(&place), ["1 passing", "2 passing"]);
}

// The file, edited meanwhile

#[test]
fn a_task_added_or_given_up_by_hand_during_a_run_counts() {
    let place = place(tasks(2), json!([]));
    let held = turn(&[touch(&place, "begun"), wait_for(&place, "go")]);
    place.script(json!({"nodes": {"implement": [held, turn(&[])]}}));
    let going = place.start(&["tasks", "run", "--json"]);
    until(LIMIT, || outside(&place, "begun").exists());
    assert_eq!(place.go(&["tasks", "add", "By hand", "--priority", "1"]).code, 0);
    assert_eq!(place.go(&["tasks", "set", "2", "skip"]).code, 0);
    fs::write(outside(&place, "go"), "x").unwrap();
    let ran = going.end();
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(begun(&ran), ["1", "3"]);
    assert_eq!(in_file(&place), ["1 passing", "2 skipped", "3 passing"]);
}

#[test]
fn a_task_that_is_skipped_or_removed_while_it_is_worked_on_stays_so() {
    let place = place(tasks(3), json!([]));
    let held = |name: &str| {
        turn(&[touch(&place, &format!("begun-{name}")), wait_for(&place, &format!("go-{name}"))])
    };
    place.script(json!({"nodes": {"implement": [held("1"), held("2"), turn(&[])]}}));
    let going = place.start(&["tasks", "run", "--json"]);
    until(LIMIT, || outside(&place, "begun-1").exists());
    assert_eq!(place.go(&["tasks", "set", "1", "skip"]).code, 0);
    fs::write(outside(&place, "go-1"), "x").unwrap();
    until(LIMIT, || outside(&place, "begun-2").exists());
    let mut file: Value = serde_json::from_str(&text(&place)).unwrap();
    file["tasks"].as_array_mut().unwrap().retain(|task| task["id"] != "2");
    write(&place, &file.to_string());
    fs::write(outside(&place, "go-2"), "x").unwrap();
    let ran = going.end();
    ran.assert_ended(8, "blocked", "tasks_unproven", 3);
    assert!(detail(&ran).starts_with("task `2` was removed from tasks.json"), "{ran}");
    assert_eq!(in_file(&place), ["1 skipped", "3 passing"]);
    run(&place, &[]).assert_ended(0, "completed", "all_done", 0);
}

#[test]
fn an_agent_leaves_no_task_out_and_ends_no_list_by_writing_into_its_file() {
    let place = place(tasks(4), json!([]));
    let list = |statuses: &[(&str, &str)]| {
        let task = |(id, status): &(&str, &str)| json!({"id": id, "name": id, "status": status});
        let tasks: Vec<Value> = statuses.iter().map(task).collect();
        json!({"write": {"path": "tasks.json", "content": json!({"version": "1.0", "tasks": tasks}).to_string()}})
    };
    // It skips its own task, calls another one done, gives up the third, and removes the last.
    let forged = [("1", "cancelled"), ("2", "passing"), ("3", "skipped"), ("5", "done")];
    let lies = json!({"steps": [list(&forged), say("All is done.")]});
    place.script(json!({"nodes": {"implement": [lies, turn(&[])]}}));
    let ran = run(&place, &[]);
    ran.assert_ended(8, "blocked", "tasks_unproven", 4);
    assert_eq!(ended(&ran), ["1 failing", "1 passing", "2 passing", "5 passing"], "{ran}");
    let told = ran.all("task.settled")[0]["why"].as_str().unwrap().to_owned();
    assert!(told.contains("only a person may do"), "{told}");
    for what in
        ["task `2` is `passing`", "task `3` is `skipped`", "task `4` was removed", "task `5` is `passing`"]
    {
        assert_eq!(
            ran.stdout.matches(what).count().max(1),
            ran.stdout.matches(what).count(),
            "{what}: {ran}"
        );
    }
    assert!(detail(&ran).contains("windlass tasks set 3 skip"), "{ran}");
    // The next run knows it as well, until a person has decided.
    run(&place, &[]).assert_ended(8, "blocked", "tasks_unproven", 0);
    assert_eq!(place.go(&["tasks", "set", "3", "skip"]).code, 0);
    run(&place, &[]).assert_ended(0, "completed", "all_done", 0);
    assert_eq!(in_file(&place), ["1 passing", "2 passing", "3 skipped", "5 passing"]);
}

#[test]
fn what_an_agent_wrote_of_its_task_does_not_outlive_a_cancelled_run() {
    let place = place(tasks(1), json!([]));
    let done = json!({"version": "1.0", "tasks": [{"id": "1", "name": "one", "status": "passing"}]});
    let claims = json!({"write": {"path": "tasks.json", "content": done.to_string()}});
    let held = turn(&[claims, touch(&place, "begun"), wait_for(&place, "go")]);
    place.script(json!({"nodes": {"implement": [held]}}));
    let mut going = place.start(&["tasks", "run", "--json"]);
    until(LIMIT, || outside(&place, "begun").exists());
    assert_eq!(place.go(&["cancel", &going.run()]).code, 0);
    assert_eq!(going.end().code, 130);
    assert_eq!(in_file(&place), ["1 pending"]);
}

#[test]
fn a_file_left_broken_in_the_middle_blocks_the_run_and_is_left_as_it_is() {
    let broken = "{\"version\": \"1.0\", \"tasks\": [\n  {\"id\": \"1\",, }\n]}\n";
    let place = place(
        tasks(2),
        json!([
            turn(&[
                json!({"bash": "cp tasks.json kept.json"}),
                json!({"write": {"path": "tasks.json", "content": broken}})
            ]),
            turn(&[])
        ]),
    );
    let ran = run(&place, &[]);
    ran.assert_ended(8, "blocked", "tasks_unreadable", 1);
    assert!(detail(&ran).contains("tasks.json:2:14"), "{ran}");
    assert_eq!(text(&place), broken);
    let again = place.go(&["resume", ran.run()]);
    assert_eq!(again.code, 8, "the file is still broken: {again}");
    assert_eq!(run(&place, &[]).code, 3, "and no other is begun on such a file");
    // A person puts it right: what was done is said by the run, and a new one goes on.
    assert!(detail(&ran).contains("task `1` is passing"), "{ran}");
    place.script(json!({"nodes": {"implement": [turn(&[])]}}));
    fs::rename(place.repo().join("kept.json"), place.repo().join("tasks.json")).unwrap();
    assert_eq!(place.go(&["tasks", "set", "1", "passing"]).code, 0);
    let on = run(&place, &[]);
    on.assert_ended(0, "completed", "all_done", 1);
    assert_eq!(begun(&on), ["2"]);
    assert_eq!(in_file(&place), ["1 passing", "2 passing"]);
}

#[test]
fn a_file_that_is_removed_in_the_middle_is_not_made_again() {
    let place = place(tasks(2), json!([turn(&[json!({"bash": "mv tasks.json elsewhere.json"})])]));
    let ran = run(&place, &[]);
    ran.assert_ended(8, "blocked", "tasks_unreadable", 1);
    assert!(detail(&ran).contains("task `1` is passing") && detail(&ran).contains("tasks.json"), "{ran}");
    assert!(!place.repo().join("tasks.json").exists());
}

#[test]
fn fields_of_others_comments_and_layout_are_kept() {
    let written = "{\n\t// The plan.\n\t\"version\": \"1.0\", \"owner\": {\"a\":1,   \"b\":[1.50]},\n\t\"tasks\": [\n\t\t\
        {\"id\": 1, \"status\":   \"todo\", \"name\": \"One\", \"estimate\": 1e2, },\n\t\t{ \"name\":\"Two\",\"id\":\"2\", \"x\": null }\n\t],\n\t\
        \"metadata\": {\"updatedAt\": \"2020-01-01T00:00:00Z\"}\n}\n";
    let place = place(json!([]), json!([]));
    write(&place, written);
    let ran = run(&place, &[]);
    ran.assert_ended(0, "completed", "all_done", 2);
    let now = text(&place);
    let at = now.find("\"updatedAt\": \"").unwrap() + "\"updatedAt\": \"".len();
    let expected = written
        .replace("\"todo\"", "\"passing\"")
        .replace("\"x\": null }", "\"x\": null, \"status\": \"passing\" }")
        .replace("2020-01-01T00:00:00Z", &now[at..at + 20]);
    assert_eq!(now, expected);
}

// Task loops of documents

pub(crate) fn document(place: &Place, text: &str) {
    place.sealed.write("repo/.windlass/workflows/own.yaml", text);
}

pub(crate) fn run_document(place: &Place) -> Ran {
    place.go(&["run", "--workflow", "own", "--json"])
}

#[test]
fn select_takes_its_tasks_only_and_before_each_comes_before_each() {
    let place = place(
        json!([
            {"id": "1", "name": "a", "status": "pending", "metadata": {"area": "code"}},
            {"id": "2", "name": "b", "status": "pending", "metadata": {"area": "docs"}},
            {"id": "3", "name": "c", "status": "pending", "metadata": {"area": "code"}},
        ]),
        json!([]),
    );
    document(
        &place,
        "name: own\nnodes:\n  - task_loop: { select: task.metadata.area == 'code', max: 2 }\n    before_each:\n      - { id: first, shell: \"echo before {{ task.id }} >> order\" }\n    do:\n      - { id: implement, prompt: \"{{ outputs.first.status }} {{ task.id }}\" }\n      - { id: after, shell: \"echo after {{ task.id }} >> order\" }\n",
    );
    let ran = run_document(&place);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(lines(&place.repo().join("order")), ["before 1", "after 1", "before 3", "after 3"]);
    assert_eq!(in_file(&place), ["1 passing", "2 pending", "3 passing"]);
    assert!(place.prompts()[1].starts_with("completed 3"), "{:?}", place.prompts());
}

#[test]
fn what_select_leaves_out_counts_where_it_is_done_and_blocks_where_it_is_open() {
    let place = place(json!([task("1", &[]), task("2", &["1"])]), json!([]));
    document(
        &place,
        "name: own\nnodes:\n  - task_loop: { select: \"task.id == '2'\", max: 9 }\n    do:\n      - { id: implement, prompt: x }\n",
    );
    let ran = run_document(&place);
    ran.assert_ended(8, "blocked", "deadlock", 0);
    assert!(
        detail(&ran).starts_with("task 2 waits for 1, which is not done and which `select` leaves out"),
        "{ran}"
    );
    assert_eq!(in_file(&place), ["1 pending", "2 pending"]);
    assert_eq!(place.go(&["tasks", "set", "1", "done"]).code, 0);
    run_document(&place).assert_ended(0, "completed", "all_done", 1);
    assert_eq!(in_file(&place), ["1 passing", "2 passing"]);
}

#[test]
fn before_each_that_fails_is_a_failed_try_and_no_agent_works() {
    let place = place(tasks(1), json!([]));
    document(
        &place,
        "name: own\nnodes:\n  - task_loop: { max: 9, attempts: 2 }\n    before_each:\n      - { id: first, shell: 'exit 3' }\n    do:\n      - { id: implement, prompt: x }\n",
    );
    let ran = run_document(&place);
    ran.assert_ended(4, "failed", "tasks_failed", 0);
    assert_eq!(ended(&ran), ["1 failing", "1 failing"]);
    assert!(place.requests().is_empty());
}

#[test]
fn rounds_are_limited_by_a_flag_and_the_end_says_how_to_go_on() {
    let place = place(tasks(3), json!([]));
    let ran = run(&place, &["--max-iterations", "2"]);
    ran.assert_ended(9, "exhausted", "max_iterations", 2);
    assert!(
        detail(&ran).contains("used all 2 iterations") && detail(&ran).contains("run again to continue"),
        "{ran}"
    );
    assert!(!ran.stderr.contains("changes nothing"), "{ran}");
    run(&place, &["--max-iterations", "2"]).assert_ended(0, "completed", "all_done", 1);
}

#[test]
fn no_tasks_no_checks_and_a_way_out_are_said() {
    let place = place(json!([]), json!([]));
    let ran = place.go(&["tasks", "run"]);
    assert!(ran.code == 0 && ran.stderr.contains("tasks.json has no tasks"), "{ran}");
    assert!(ran.stderr.contains("there are no checks: a task is passing when its agent says so"), "{ran}");
    write(&place, &json!({"version": "1.0", "tasks": [task("0", &[]), task("1", &["9"])]}).to_string());
    let ran = place.go(&["tasks", "run"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(ran.code == 8 && said.contains("hint: add a task with the id `9`"), "{ran}");
    assert!(said.contains("implement") && !said.contains("check completed"), "{ran}");
    let ran = place.go(&["tasks", "run", "--check", "true"]);
    assert!(!ran.stderr.contains("there are no checks"), "{ran}");
}

#[test]
fn a_file_that_is_removed_meanwhile_is_to_be_brought_back_and_not_begun_anew() {
    let place = place(tasks(2), json!([turn(&[json!({"bash": "rm tasks.json"})])]));
    let ran = run(&place, &[]);
    ran.assert_ended(8, "blocked", "tasks_unreadable", 1);
    assert!(
        detail(&ran).contains("git checkout -- tasks.json") && !detail(&ran).contains("tasks init"),
        "{ran}"
    );
}

#[test]
fn until_ends_a_task_loop_before_its_tasks_do_and_max_after_so_many_rounds() {
    let place = place(tasks(4), json!([]));
    document(
        &place,
        "name: own\nnodes:\n  - task_loop: { until: \"task.id == '2'\", max: 9 }\n    do:\n      - { id: implement, prompt: x }\n",
    );
    let ran = run_document(&place);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(in_file(&place), ["1 passing", "2 passing", "3 pending", "4 pending"]);
    document(
        &place,
        "name: own\nnodes:\n  - task_loop: { max: 1 }\n    do:\n      - { id: implement, prompt: x }\n",
    );
    let ran = run_document(&place);
    ran.assert_ended(9, "exhausted", "max_iterations", 1);
    assert_eq!(in_file(&place), ["1 passing", "2 passing", "3 passing", "4 pending"]);
    let ran = run_document(&place);
    ran.assert_ended(0, "completed", "all_done", 1);
}

#[test]
fn a_task_without_an_agent_is_passing_when_its_commands_succeed() {
    let place = place(tasks(2), json!([]));
    document(
        &place,
        "name: own\nchecks: { small: 'test $(wc -l < n) -lt 2 || test -e two' }\nnodes:\n  - task_loop: { max: 9, attempts: 2 }\n    do:\n      - { id: work, shell: 'echo x >> n; test $(wc -l < n) -lt 3 || touch two' }\n",
    );
    let ran = run_document(&place);
    ran.assert_ended(0, "completed", "all_done", 0);
    assert_eq!(
        ended(&ran),
        ["1 passing", "2 failing", "2 passing"],
        "the checks count without a node for them"
    );
}

#[test]
fn a_task_whose_agent_never_got_a_turn_is_pending_again_when_the_budget_is_spent() {
    for jobs in ["1", "2"] {
        let place = place(tasks(2), json!([turn(&[]), turn(&[])]));
        let ran = run(&place, &["--jobs", jobs, "--budget", "turns=1"]);
        assert_eq!((ran.code, &ran.finished()["reason"]), (9, &json!("budget")), "{ran}");
        // With two jobs, either of them may be the first to begin its turn.
        let mut settled = ended(&ran).iter().map(|told| told[2..].to_owned()).collect::<Vec<_>>();
        settled.sort();
        assert_eq!(settled, ["passing", "pending"], "{jobs} jobs: {ran}");
        assert_eq!(in_file(&place).iter().filter(|told| told.ends_with(" pending")).count(), 1, "{ran}");
        let worktrees = place.sealed.git(["worktree", "list", "--porcelain"]);
        assert_eq!(worktrees.matches("worktree ").count(), 1, "{worktrees}");
        let ran = place.go(&["resume", ran.run(), "--json", "--budget", "turns=+1"]);
        assert_eq!((ran.code, &ran.finished()["reason"]), (0, &json!("all_done")), "{ran}");
        assert_eq!(in_file(&place), ["1 passing", "2 passing"]);
    }
}
