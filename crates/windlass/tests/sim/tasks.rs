//! `windlass tasks run` and task loops of documents, on the `sim` driver: which task is done when,
//! what it takes to be passing, several at once, edits of the file meanwhile, and crashes.

use std::fs;
use std::path::PathBuf;

use crate::place::{LIMIT, Place, Ran, say};
use serde_json::{Value, json};
use windlass_testkit::wait::until;

const PASSING: &str = "Done.\n<status>passing</status>";

/// A place with these tasks; the agent plays these turns, one a round.
fn place(tasks: Value, turns: Value) -> Place {
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

fn task(id: &str, after: &[&str]) -> Value {
    json!({"id": id, "name": format!("Task {id}"), "status": "pending", "dependencies": after})
}

fn tasks(count: u32) -> Value {
    (1..=count).map(|id| task(&id.to_string(), &[])).collect()
}

/// A turn of these steps, at the end of which the task is said to be done.
fn turn(steps: &[Value]) -> Value {
    let steps = [steps, &[say(PASSING)]].concat();
    json!({"steps": steps})
}

/// A turn that commits a file and says that the task is done.
fn committing(file: &str) -> Value {
    turn(&[json!({"write": {"path": file, "content": format!("{file}\n")}}), json!({"commit": file})])
}

fn run(place: &Place, arguments: &[&str]) -> Ran {
    place.go(&[&["tasks", "run", "--json"], arguments].concat())
}

/// The tasks in the order in which work on them began.
fn begun(ran: &Ran) -> Vec<String> {
    ran.all("round.started").iter().map(|data| data["task"].as_str().unwrap().to_owned()).collect()
}

/// What became of each, as they ended: `1 passing`.
fn ended(ran: &Ran) -> Vec<String> {
    let told =
        |data: &&Value| format!("{} {}", data["task"].as_str().unwrap(), data["status"].as_str().unwrap());
    ran.all("task.settled").iter().map(told).collect()
}

/// What the file says, in its order.
fn in_file(place: &Place) -> Vec<String> {
    let listed = place.go(&["tasks", "list", "--json"]);
    assert_eq!(listed.code, 0, "{listed}");
    let told = |line: &Value| {
        let task = &line["data"];
        format!("{} {}", task["id"].as_str().unwrap(), task["status"].as_str().unwrap())
    };
    listed.lines.iter().map(told).collect()
}

/// How the run ended, in words.
fn detail(ran: &Ran) -> String {
    ran.finished()["detail"].as_str().unwrap_or_default().to_owned()
}

/// A file outside of the repository, which every worktree sees.
fn outside(place: &Place, name: &str) -> PathBuf {
    place.sealed.root().join(name)
}

fn touch(place: &Place, name: &str) -> Value {
    json!({"bash": format!("touch {}", outside(place, name).display())})
}

fn wait_for(place: &Place, name: &str) -> Value {
    json!({"wait_for": outside(place, name)})
}

fn lines(path: &PathBuf) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The subjects of the commits of `main`, the first one left out; that it has no merges.
#[track_caller]
fn landed(place: &Place) -> Vec<String> {
    assert_eq!(place.sealed.git(["rev-list", "--merges", "main"]), "");
    let log = place.sealed.git(["log", "--reverse", "--format=%s", "main"]);
    log.lines().skip(1).map(str::to_owned).collect()
}

fn worktrees(place: &Place) -> usize {
    place.sealed.git(["worktree", "list", "--porcelain"]).matches("worktree ").count() - 1
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
    assert_eq!(detail(&ran), "failed after 3 tries: 1");
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
    assert_eq!(detail(&ran), "task 2 waits for 1, which has failed");
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
    ran.assert_ended(0, "completed", "all_done", 3);
    assert_eq!(in_file(&place), ["1 skipped", "3 passing"]);
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
    let over = place.go(&["resume", ran.run()]);
    assert_eq!(over.code, 2, "a run that is blocked is over: {over}");
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

fn document(place: &Place, text: &str) {
    place.sealed.write("repo/.windlass/workflows/own.yaml", text);
}

fn run_document(place: &Place) -> Ran {
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

// Several at once

#[test]
fn two_tasks_at_once_work_in_worktrees_and_land_one_by_one_with_checks_on_what_is_landed() {
    let place = place(tasks(2), json!([]));
    // Each waits for the other: one after the other they would never end.
    let with = |name: &str, other: &str| {
        turn(&[
            json!({"write": {"path": name, "content": "x\n"}}),
            json!({"commit": name}),
            touch(&place, &format!("{name}.ready")),
            wait_for(&place, &format!("{other}.ready")),
        ])
    };
    place.script(json!({"nodes": {"implement": [with("a", "b"), with("b", "a")]}}));
    document(
        &place,
        "name: own\nnodes:\n  - task_loop: { max: 9, jobs: 2 }\n    do:\n      - { id: implement, prompt: x }\n",
    );
    let checked = outside(&place, "checked");
    // Two at once would find each other's folder.
    let alone = outside(&place, "alone");
    let check = format!(
        "mkdir {alone} && echo $(git rev-parse HEAD) $PWD >> {checked} && git status >/dev/null && rmdir {alone}",
        alone = alone.display(),
        checked = checked.display()
    );
    let ran = place.go(&["run", "--workflow", "own", "--json", "--check", &check]);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(in_file(&place), ["1 passing", "2 passing"]);
    let mut subjects = landed(&place);
    let commits = place.sealed.git(["rev-list", "--reverse", "main"]);
    let commits: Vec<&str> = commits.lines().skip(1).collect();
    subjects.sort();
    assert_eq!(subjects, ["a", "b"]);
    let checks = lines(&checked);
    let on: Vec<&str> = checks.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(on, commits, "each was checked as it stands on the branch now");
    assert!(checks.iter().all(|line| line.contains("/worktrees/task-")), "{checks:?}");
    assert!(place.repo().join("a").exists() && place.repo().join("b").exists(), "the checkout has moved too");
    assert_eq!(worktrees(&place), 0);
    assert_eq!(place.sealed.git(["branch", "--format=%(refname:short)"]), "main");
}

#[test]
fn a_dependent_task_begins_when_its_dependency_has_landed_though_a_slow_one_still_runs() {
    let place = place(json!([task("1", &[]), task("slow", &[]), task("2", &["1"])]), json!([]));
    let turns = json!([
        committing("a"),
        turn(&[
            wait_for(&place, "after"),
            json!({"write": {"path": "s", "content": "x"}}),
            json!({"commit": "s"})
        ]),
        turn(&[
            json!({"bash": "test -e a"}),
            json!({"bash": "test ! -e s"}),
            json!({"write": {"path": "b", "content": "x"}}),
            json!({"commit": "b"}),
            touch(&place, "after")
        ]),
    ]);
    place.script(json!({"nodes": {"implement": turns}}));
    let ran = run(&place, &["--jobs", "2"]);
    ran.assert_ended(0, "completed", "all_done", 3);
    assert_eq!(begun(&ran), ["1", "slow", "2"]);
    let errors: Vec<&Value> =
        ran.all("session.event").into_iter().filter(|event| event["is_error"] == true).collect();
    assert!(errors.is_empty(), "it stands on what it waited for: {errors:?}");
    assert_eq!(landed(&place), ["a", "b", "s"]);
    assert_eq!(worktrees(&place), 0);
}

#[test]
fn no_more_than_so_many_work_at_once_and_a_cycle_among_the_rest_is_found_at_the_end() {
    let place = place(
        json!([task("1", &[]), task("2", &[]), task("3", &[]), task("x", &["y"]), task("y", &["x"])]),
        json!([]),
    );
    let held = |name: &str| turn(&[touch(&place, name), wait_for(&place, "go")]);
    place.script(json!({"nodes": {"implement": [held("a"), held("b"), turn(&[])]}}));
    let going = place.start(&["tasks", "run", "--jobs", "2", "--json"]);
    until(LIMIT, || ["a", "b"].iter().all(|name| outside(&place, name).exists()));
    let both = ["1 in_progress", "2 in_progress", "3 pending", "x pending", "y pending"];
    assert_eq!(in_file(&place), both);
    fs::write(outside(&place, "go"), "x").unwrap();
    let ran = going.end();
    ran.assert_ended(8, "blocked", "deadlock", 3);
    assert!(detail(&ran).contains("x -> y -> x"), "{ran}");
    assert_eq!(in_file(&place), ["1 passing", "2 passing", "3 passing", "x pending", "y pending"]);
}

#[test]
fn a_conflict_keeps_the_branch_and_the_next_try_is_told_and_lands() {
    let place = place(tasks(2), json!([]));
    let edit = |text: &str, more: &[Value]| {
        let steps = [json!({"write": {"path": "README.md", "content": text}}), json!({"commit": text})];
        turn(&[&steps, more].concat())
    };
    // Both begin at the same commit; the second is done when the first has landed.
    let landed_first = json!({"bash": format!("until git -C {} log --format=%s main | grep -q one; do sleep 0.05; done", place.repo().display())});
    let turns =
        json!([edit("one", &[touch(&place, "x")]), edit("two", &[landed_first]), edit("one and two", &[]),]);
    place.script(json!({"nodes": {"implement": turns}}));
    let ran = run(&place, &["--jobs", "2"]);
    ran.assert_ended(0, "completed", "all_done", 3);
    assert_eq!(ended(&ran), ["1 passing", "2 failing", "2 passing"]);
    assert_eq!(landed(&place), ["one", "one and two"]);
    let kept = format!("windlass/{}/task-2-1", ran.run());
    let told = place.prompts()[2].clone();
    for words in ["conflict", "README.md", &kept, "is kept with all its commits"] {
        assert!(told.contains(words), "`{words}` is missing: {told}");
    }
    assert_eq!(place.sealed.git(["log", "-1", "--format=%s", &kept]), "two");
    assert_eq!(worktrees(&place), 1, "what holds work stays");
}

#[test]
fn uncommitted_work_in_a_worktree_is_kept_and_said() {
    let place = place(
        tasks(1),
        json!([turn(&[json!({"write": {"path": "left.txt", "content": "precious"}})]), committing("a")]),
    );
    let ran = run(&place, &["--jobs", "2"]);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(ended(&ran), ["1 failing", "1 passing"]);
    let told = place.prompts()[1].clone();
    assert!(told.contains("uncommitted changes") && told.contains("left.txt"), "{told}");
    let left = place.sealed.state().join(format!("windlass/runs/{}/worktrees/task-1-1/left.txt", ran.run()));
    assert_eq!(fs::read_to_string(left).unwrap(), "precious");
    assert_eq!(landed(&place), ["a"]);
    assert_eq!(worktrees(&place), 1);
}

#[test]
fn what_the_agent_does_not_say_is_done_is_not_brought_back_and_the_next_try_is_told_where_it_is() {
    let commit = |name: &str, last: &str| json!({"steps": [{"write": {"path": name, "content": "x"}}, {"commit": name}, say(last)]});
    let place = place(
        tasks(1),
        json!([
            commit("half", "Half of it.\n<status>failing</status>"),
            {"steps": [say("I did nothing.")]},
            committing("whole"),
        ]),
    );
    let ran = run(&place, &["--jobs", "2"]);
    ran.assert_ended(0, "completed", "all_done", 3);
    assert_eq!(landed(&place), ["whole"]);
    let kept = format!("windlass/{}/task-1-1", ran.run());
    let told = place.prompts()[1].clone();
    assert!(told.contains("the agent said that the task is not done") && told.contains(&kept), "{told}");
    assert_eq!(place.sealed.git(["log", "-1", "--format=%s", &kept]), "half");
    assert_eq!(worktrees(&place), 1, "of the second try nothing is left, as it held nothing");
}

#[test]
fn a_task_given_up_by_hand_while_it_is_worked_on_is_not_brought_back() {
    let place = place(tasks(1), json!([]));
    let held = [
        json!({"write": {"path": "a", "content": "x"}}),
        json!({"commit": "a"}),
        touch(&place, "begun"),
        wait_for(&place, "go"),
    ];
    place.script(json!({"nodes": {"implement": [turn(&held)]}}));
    let going = place.start(&["tasks", "run", "--jobs", "2", "--json"]);
    until(LIMIT, || outside(&place, "begun").exists());
    assert_eq!(place.go(&["tasks", "set", "1", "skip"]).code, 0);
    fs::write(outside(&place, "go"), "x").unwrap();
    let ran = going.end();
    ran.assert_ended(0, "completed", "all_done", 1);
    assert_eq!((in_file(&place), landed(&place)), (vec!["1 skipped".to_owned()], Vec::new()));
    assert_eq!(worktrees(&place), 1);
}

#[test]
fn a_try_that_was_red_in_its_worktree_is_kept_and_the_next_is_told_where() {
    let place = place(tasks(1), json!([committing("bad"), committing("good")]));
    let ran = run(&place, &["--jobs", "2", "--check", "test ! -e bad"]);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(landed(&place), ["good"]);
    let kept = format!("windlass/{}/task-1-1", ran.run());
    assert!(place.prompts()[1].contains(&kept), "{}", place.prompts()[1]);
    assert_eq!(place.sealed.git(["log", "-1", "--format=%s", &kept]), "bad");
}

#[test]
fn a_copy_of_the_file_that_an_agent_commits_does_not_replace_it() {
    let edit = json!({"bash": "sed -i s/pending/passing/ tasks.json"});
    let place = place(
        tasks(2),
        json!([turn(&[edit, json!({"commit": "all done"})]), committing("a"), committing("b")]),
    );
    place.sealed.git(["add", "tasks.json"]);
    place.sealed.git(["commit", "--quiet", "--message", "plan"]);
    document(
        &place,
        "name: own\nnodes:\n  - task_loop: { max: 9, jobs: 2, select: \"task.id == '1'\" }\n    do:\n      - { id: implement, prompt: \"{{ feedback }}\" }\n",
    );
    let ran = run_document(&place);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert!(place.prompts()[1].contains("changes: tasks.json"), "{}", place.prompts()[1]);
    assert_eq!(landed(&place), ["plan", "a"]);
    assert_eq!(in_file(&place), ["1 passing", "2 pending"]);
}

#[test]
fn checks_that_are_red_only_on_top_of_the_others_keep_the_branch_out() {
    // Each alone is fine: the two together are not.
    let place = place(tasks(2), json!([]));
    let landed_first = json!({"bash": format!("until git -C {} log --format=%s main | grep -q a; do sleep 0.05; done", place.repo().display())});
    let turns = json!([
        turn(&[json!({"write": {"path": "a", "content": "x"}}), json!({"commit": "a"})]),
        turn(&[json!({"write": {"path": "b", "content": "x"}}), json!({"commit": "b"}), landed_first]),
        turn(&[json!({"write": {"path": "c", "content": "x"}}), json!({"commit": "c"})]),
    ]);
    place.script(json!({"nodes": {"implement": turns}}));
    let ran = run(&place, &["--jobs", "2", "--check", "test ! -e a -o ! -e b || { echo a and b; exit 1; }"]);
    ran.assert_ended(0, "completed", "all_done", 3);
    assert_eq!(ended(&ran), ["1 passing", "2 failing", "2 passing"]);
    assert_eq!(landed(&place), ["a", "c"]);
    assert!(place.prompts()[2].contains("a and b"), "{}", place.prompts()[2]);
}

#[test]
fn where_there_is_no_repository_several_at_once_are_refused_with_a_word_and_one_at_a_time_works() {
    let place = place(json!([task("1", &[]), task("2", &["1"])]), json!([]));
    fs::remove_dir_all(place.repo().join(".git")).unwrap();
    let ran = run(&place, &["--jobs", "2"]);
    assert_ne!(ran.code, 0, "{ran}");
    for words in ["not in a git repository", "`git init`", "`--jobs 1`"] {
        assert!(detail(&ran).contains(words), "{ran}");
    }
    assert_eq!(begun(&ran), ["1"], "it is not tried again and again");
    assert!(place.requests().is_empty());
    run(&place, &[]).assert_ended(0, "completed", "all_done", 2);
}

#[test]
fn killed_in_the_middle_of_several_tasks_a_resume_does_each_once_and_loses_nothing() {
    let place = place(json!([task("1", &[]), task("2", &[]), task("3", &[]), task("4", &["2"])]), json!([]));
    // The first has landed; of the others one has committed and one has not when all is killed.
    let commit = |name: &str| [json!({"write": {"path": name, "content": "x\n"}}), json!({"commit": name})];
    let cut = |before: &[Value], name: &str, after: &[Value]| {
        let first = [before, &[touch(&place, name), wait_for(&place, "never")]].concat();
        json!({"attempts": [turn(&first), turn(after)]})
    };
    let turns = json!([
        committing("one"),
        cut(&commit("two"), "two.begun", &[json!({"bash": "test -e two"})]),
        cut(&[json!({"write": {"path": "three", "content": "half"}})], "three.begun", &commit("three")),
        committing("four"),
    ]);
    place.script(json!({"nodes": {"implement": turns}}));
    let mut going = place.start(&["tasks", "run", "--jobs", "2", "--json"]);
    let id = going.run();
    until(LIMIT, || ["two.begun", "three.begun"].iter().all(|name| outside(&place, name).exists()));
    place.kill_everything(going);
    assert_eq!(in_file(&place), ["1 passing", "2 in_progress", "3 in_progress", "4 pending"]);
    let ran = place.go(&["resume", &id, "--json"]);
    assert_eq!((ran.code, &ran.finished()["status"]), (0, &json!("completed")), "{ran}");
    let mut subjects = landed(&place);
    assert_eq!(subjects.len(), 4, "{subjects:?}");
    let place_of = |name: &str| subjects.iter().position(|subject| subject == name).unwrap();
    assert!(place_of("two") < place_of("four"), "{subjects:?}");
    subjects.sort();
    assert_eq!(subjects, ["four", "one", "three", "two"]);
    assert_eq!(in_file(&place), ["1 passing", "2 passing", "3 passing", "4 passing"]);
    assert_eq!(fs::read_to_string(place.repo().join("three")).unwrap(), "x\n");
    assert_eq!(worktrees(&place), 0);
    place.assert_nothing_is_left();
}

#[test]
fn killed_in_the_checks_of_a_landing_it_is_landed_once() {
    let place = place(tasks(2), json!([committing("one"), committing("two")]));
    let (begun, go) = (outside(&place, "checks"), outside(&place, "go"));
    let check = format!("echo x >> {}; test -e {} || sleep 1000", begun.display(), go.display());
    document(
        &place,
        "name: own\nnodes:\n  - task_loop: { max: 9, jobs: 2 }\n    do:\n      - { id: implement, prompt: x }\n",
    );
    let mut going = place.start(&["run", "--workflow", "own", "--json", "--check", &check]);
    let id = going.run();
    let worked = |line: &Value| {
        line["type"] == "node.finished" && line["data"]["node"].as_str().unwrap().starts_with("implement@")
    };
    until(LIMIT, || begun.exists() && going.lines().into_iter().filter(worked).count() == 2);
    place.kill_everything(going);
    fs::write(&go, "x").unwrap();
    let ran = place.go(&["resume", &id, "--json"]);
    assert_eq!((ran.code, &ran.finished()["status"]), (0, &json!("completed")), "{ran}");
    let mut subjects = landed(&place);
    subjects.sort();
    assert_eq!(subjects, ["one", "two"]);
    assert_eq!(in_file(&place), ["1 passing", "2 passing"]);
    assert_eq!(place.requests().len(), 2, "no agent had to work again");
    assert_eq!(worktrees(&place), 0);
}
