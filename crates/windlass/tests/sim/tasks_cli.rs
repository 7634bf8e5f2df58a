//! `windlass tasks` with the real binary: every verb, its output and its exit code.

use std::fs;
use std::os::unix::fs::symlink;

use crate::place::{Place, Ran};
use serde_json::{Value, json};

const USAGE: i32 = 2;
const CONFIGURATION: i32 = 3;
const REFUSED: i32 = 5;
const BLOCKED: i32 = 8;

/// A place whose repository has these tasks.
fn with(tasks: Value) -> Place {
    let place = Place::with_settings("");
    let text = serde_json::to_string_pretty(&json!({"version": "1.0", "tasks": tasks})).unwrap();
    place.sealed.write("repo/tasks.json", text);
    place
}

fn empty() -> Place {
    Place::with_settings("")
}

fn task(id: &str, status: &str, dependencies: &[&str]) -> Value {
    json!({"id": id, "name": format!("Task {id}"), "status": status, "dependencies": dependencies})
}

fn tasks(place: &Place, arguments: &[&str]) -> Ran {
    place.go(&[&["tasks"], arguments].concat())
}

#[track_caller]
fn fine(place: &Place, arguments: &[&str]) -> Ran {
    let ran = tasks(place, arguments);
    assert_eq!(ran.code, 0, "{ran}");
    ran
}

fn file(place: &Place) -> String {
    fs::read_to_string(place.repo().join("tasks.json")).unwrap()
}

#[test]
fn a_list_is_begun_filled_worked_off_and_done() {
    let place = empty();
    assert_eq!(fine(&place, &["init"]).stdout, "tasks.json: 0 tasks\n");
    assert_eq!(fine(&place, &["next"]).stdout, "there are no tasks\n");
    assert_eq!(fine(&place, &["add", "Write the parser"]).stdout, "1  Write the parser\n");
    let more =
        ["add", "Write the printer", "--after", "#1", "--priority", "-2", "--description", "All of it."];
    assert_eq!(fine(&place, &more).stdout, "2  Write the printer\n");
    assert_eq!(fine(&place, &["next"]).stdout, "1  Write the parser\nwhy: the only one that is ready\n");
    assert_eq!(fine(&place, &["set", "1", "doing"]).stdout, "1  in_progress (was pending)\n");
    assert_eq!(fine(&place, &["next"]).stdout, "no task is ready: 1 in progress\n");
    assert_eq!(fine(&place, &["set", "#1", "Done"]).stdout, "1  passing (was in_progress)\n");
    assert_eq!(fine(&place, &["set", "1", "ok"]).stdout, "1  already passing\n");
    let next = fine(&place, &["next"]).stdout;
    assert_eq!(next, "2  Write the printer\nwhy: the only one that is ready; its dependencies are done: 1\n");
    fine(&place, &["set", "2", "wontfix"]);
    assert_eq!(fine(&place, &["next"]).stdout, "all tasks are done: 2 tasks: 1 passing, 1 skipped\n");
    assert_eq!(fine(&place, &["check"]).stdout, "tasks.json: ok, 2 tasks\n");
    let kept: Value = serde_json::from_str(&file(&place)).unwrap();
    let printer = json!({"id": "2", "name": "Write the printer", "description": "All of it.", "status": "skipped",
        "priority": -2, "dependencies": ["1"]});
    assert_eq!(kept["tasks"][1], printer);
    assert_eq!(kept["metadata"]["source"], "manual");
}

#[test]
fn init_never_writes_over_a_file() {
    let place = with(json!([task("1", "pending", &[])]));
    let before = file(&place);
    tasks(&place, &["init"]).assert_refused(CONFIGURATION, &["tasks.json already exists"]);
    assert_eq!(file(&place), before);
    fine(&place, &["init", "--file", "other.json"]);
    assert!(place.repo().join("other.json").exists());
}

#[test]
fn the_list_is_a_table() {
    let mut urgent = task("2", "failing", &["1"]);
    urgent["priority"] = json!(1.5);
    let place = with(json!([
        task("1", "passing", &[]),
        urgent,
        task("3", "in_progress", &[]),
        task("4", "todo", &["3", "2", "1"])
    ]));
    let ran = fine(&place, &["list"]);
    let expected = "\
ID  STATUS         PRIO  NAME    WAITS FOR
1   ✓ passing            Task 1
2   ✗ failing      1.5   Task 2
3   ◐ in_progress        Task 3
4   ○ pending            Task 4  3, 2
";
    assert_eq!(ran.stdout, expected);
    assert!(ran.stderr.contains("status `todo` is read as `pending`"), "{ran}");
    assert!(ran.stderr.ends_with("4 tasks: 1 passing, 1 in progress, 1 failing, 1 pending\n"), "{ran}");
}

#[test]
fn json_is_one_object_a_line() {
    let place = with(json!([task("1", "passing", &[]), task("2", "pending", &["1", "9"])]));
    let listed = fine(&place, &["list", "--json"]);
    let found: Vec<(&Value, &Value)> =
        listed.all("task").iter().map(|task| (&task["id"], &task["waits_for"])).collect();
    assert_eq!(found, [(&json!("1"), &json!([])), (&json!("2"), &json!(["9"]))]);
    assert!(listed.lines.iter().all(|line| line["v"].is_number() && line["ts"].is_string()));
    let added = fine(&place, &["add", "New", "--json"]);
    assert_eq!(added.all("task.added")[0]["id"], "3");
    let set = fine(&place, &["set", "3", "fail", "--json"]);
    assert_eq!(
        (&set.all("task.set")[0]["status"], &set.all("task.set")[0]["before"]),
        (&json!("failing"), &json!("pending"))
    );
    let next = fine(&place, &["next", "--json"]);
    let next = next.all("task.next")[0];
    assert_eq!(
        (&next["next"], &next["task"]["id"], &next["ready"]),
        (&json!("task"), &json!("3"), &json!(["3"]))
    );
    assert!(next["why"].as_str().unwrap().contains("gets another try"));
    let checked = tasks(&place, &["check", "--json"]);
    assert_eq!((checked.code, checked.all("diagnostic").len()), (CONFIGURATION, 1), "{checked}");
    assert_eq!(checked.all("checked")[0]["ok"], false);
    let drawn = fine(&place, &["graph", "--json"]);
    assert_eq!(drawn.all("tasks.graph")[0]["format"], "mermaid");
    assert_eq!(fine(&place, &["init", "--json", "--file", "x.json"]).all("tasks.created")[0]["tasks"], 0);
}

#[test]
fn next_says_why() {
    let with_priority = |id: &str, priority: Value| {
        let mut task = task(id, "pending", &[]);
        task["priority"] = priority;
        task
    };
    let (low, lower) = (with_priority("a", json!(2)), with_priority("b", json!(1)));
    let place = with(json!([task("x", "pending", &[]), low.clone(), lower.clone()]));
    let next = fine(&place, &["next"]).stdout;
    assert_eq!(
        next,
        "b  Task b\nwhy: its priority, 1, comes first of the 3 that are ready\nalso ready: a, x\n"
    );
    let place = with(json!([low, with_priority("c", json!(2))]));
    let next = fine(&place, &["next"]).stdout;
    assert_eq!(
        next,
        "a  Task a\nwhy: the first in the file with priority 2, of 2 that are ready\nalso ready: c\n"
    );
}

#[test]
fn a_deadlock_is_named_and_ends_with_eight() {
    let cases = [
        (
            json!([task("1", "pending", &["2"]), task("2", "pending", &["1"])]),
            "deadlock: tasks wait for each other: 1 -> 2 -> 1",
        ),
        (json!([task("1", "pending", &["1"])]), "deadlock: task 1 waits for itself"),
        (
            json!([task("1", "passing", &[]), task("2", "pending", &["7"])]),
            "deadlock: task 2 waits for 7, which is not in the file",
        ),
    ];
    for (list, text) in cases {
        let place = with(list);
        tasks(&place, &["next"]).assert_refused(BLOCKED, &[text]);
        let ran = tasks(&place, &["next", "--json"]);
        assert_eq!((ran.code, &ran.all("task.next")[0]["next"]), (BLOCKED, &json!("deadlock")), "{ran}");
    }
}

#[test]
fn check_finds_everything_with_its_place() {
    let place = empty();
    let text = "{\n  \"version\": \"1.0\",\n  \"tasks\": [\n    {\"id\": \"login\", \"name\": \"a\", \"status\": \"pending\", \"dependencies\": [\"pars\", \"login\"]},\n    {\"id\": 2, \"name\": \"\", \"status\": \"todo\"},\n    {\"id\": \"parse\", \"name\": \"c\", \"status\": \"pending\"}\n  ]\n}\n";
    place.sealed.write("repo/tasks.json", text);
    let ran = tasks(&place, &["check"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (CONFIGURATION, ""), "{ran}");
    for words in [
        "error: task `login` waits for `pars`, which is not in the file\n  at tasks.json:4:72",
        "hint: did you mean `parse`?",
        "error: task `login` waits for itself",
        "error: task `2` has no name\n  at tasks.json:5:23",
        "warning: an id is the number 2, which is read as \"2\"",
    ] {
        assert!(ran.stderr.contains(words), "`{words}` is missing: {ran}");
    }
    let listed = fine(&place, &["list"]);
    assert!(listed.stderr.contains("3 problems in tasks.json: see `windlass tasks check`"), "{listed}");
}

#[test]
fn check_finds_what_cannot_be_read_and_what_is_wrong_with_the_tasks_in_one_pass() {
    let place = empty();
    let text = r#"{"version": "1.0", "tasks": [
        {"id": "1", "name": "a", "status": "almost", "dependencies": ["9"]},
        {"id": "2", "name": 7, "status": "pending"},
        {"id": "2", "name": "b", "status": "pending", "dependencies": ["1"]}
    ]}"#;
    place.sealed.write("repo/tasks.json", text);
    let ran = tasks(&place, &["check"]);
    assert_eq!(ran.code, CONFIGURATION, "{ran}");
    for words in [
        "`status` must be one of",
        "`name` must be a string",
        "two tasks have the id `2`",
        "task `1` waits for `9`, which is not in the file",
    ] {
        assert!(ran.stderr.contains(words), "`{words}` is missing: {ran}");
    }
    assert!(!ran.stderr.contains("waits for `1`") && !ran.stderr.contains("has no"), "{ran}");
}

#[test]
fn a_broken_file_is_shown_with_line_and_column_by_every_verb() {
    let place = empty();
    for text in [
        "",
        "{\"tasks\": [}",
        "I am done!",
        "{\"version\": \"1.0\", \"tasks\": 3}",
        "{\"version\": \"9\", \"tasks\": []}",
    ] {
        place.sealed.write("repo/tasks.json", text);
        for verb in [&["list"][..], &["next"], &["check"], &["graph"], &["add", "x"], &["set", "1", "done"]] {
            let ran = tasks(&place, verb);
            assert_eq!(ran.code, CONFIGURATION, "{verb:?} of {text:?}: {ran}");
            assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("tasks.json:1:"), "{ran}");
        }
        assert_eq!(file(&place), text, "a broken file is left as it is");
    }
}

#[test]
fn what_is_not_there_is_said_with_a_hint() {
    let place = empty();
    for verb in [&["list"][..], &["next"], &["check"], &["graph"], &["add", "x"], &["set", "1", "done"]] {
        tasks(&place, verb).assert_refused(CONFIGURATION, &["there is no tasks.json", "windlass tasks init"]);
    }
    let place = with(json!([task("1", "pending", &[]), task("2", "pending", &[])]));
    tasks(&place, &["set", "7", "done"]).assert_refused(USAGE, &["there is no task `7`", "there are: 1, 2"]);
    tasks(&place, &["add", "x", "--after", "9"]).assert_refused(USAGE, &["there is no task `9`"]);
    tasks(&place, &["add", "  "]).assert_refused(USAGE, &["a task needs a name"]);
    for wrong in [
        &["set", "1", "maybe"][..],
        &["set", "#", "done"],
        &["add", "x", "--priority", "high"],
        &["graph", "--format", "png"],
        &[],
    ] {
        assert_eq!(tasks(&place, wrong).code, USAGE, "{wrong:?}");
    }
}

#[test]
fn what_an_agent_wrote_is_read_and_tidied_when_it_is_changed() {
    let place = empty();
    let text = "Here you go:\n\n```json\n[\n  {\"id\": 1, \"title\": \"Parse\", \"status\": \"done\"},\n  {\"id\": 2, \"name\": \"Print\", \"depends_on\": [1], \"x-note\": 1.10}\n]\n```\nGood luck!\n";
    place.sealed.write("repo/tasks.json", text);
    assert!(fine(&place, &["next"]).stdout.starts_with("2  Print\n"));
    assert_eq!(file(&place), text, "looking changes nothing");
    fine(&place, &["set", "2", "wip"]);
    let kept = file(&place);
    let parsed: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(parsed["tasks"][1]["status"], "in_progress");
    assert!(kept.contains("\"x-note\": 1.10") && !kept.contains("Good luck"), "{kept}");
}

#[test]
fn fields_we_do_not_know_and_the_layout_are_kept() {
    let place = empty();
    let text = "{\n\t\"version\": \"1.0\",\n\t\"zeta\": {\"b\": 1, \"a\": 1.10},\n\t\"tasks\": [\n\t\t{\"status\": \"pending\", \"name\": \"a\", \"id\": \"1\", \"steps\": [1,2]}\n\t],\n\t\"metadata\": {\"updatedAt\": \"x\"}\n}\n";
    place.sealed.write("repo/tasks.json", text);
    fine(&place, &["set", "1", "passing"]);
    let kept = file(&place);
    let time = kept.split("\"updatedAt\": \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    assert_eq!(kept, text.replace("pending", "passing").replace("\"x\"", &format!("\"{time}\"")));
    assert!(time.starts_with("20") && time.ends_with('Z'), "{time}");
}

#[test]
fn writers_at_once_lose_nothing() {
    let place = with(json!([]));
    let going: Vec<_> = (0..8).map(|n| place.start(&["tasks", "add", &format!("new {n}")])).collect();
    for one in going {
        let ran = one.end();
        assert_eq!(ran.code, 0, "{ran}");
    }
    let kept: Value = serde_json::from_str(&file(&place)).unwrap();
    let mut ids: Vec<u32> = kept["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["id"].as_str().unwrap().parse().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=8).collect::<Vec<u32>>());
    let left: Vec<_> = fs::read_dir(place.repo()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("tasks.json.")), "{left:?}");
}

#[test]
fn a_link_is_followed_in_the_project_and_refused_out_of_it() {
    let place = with(json!([task("1", "pending", &[])]));
    let repo = place.repo();
    fs::create_dir(repo.join("plan")).unwrap();
    fs::rename(repo.join("tasks.json"), repo.join("plan/all.json")).unwrap();
    symlink("plan/all.json", repo.join("tasks.json")).unwrap();
    fine(&place, &["set", "1", "done"]);
    assert!(repo.join("tasks.json").symlink_metadata().unwrap().is_symlink());
    let outside = place.sealed.write("elsewhere/tasks.json", "{\"version\": \"1.0\", \"tasks\": []}");
    fs::remove_file(repo.join("tasks.json")).unwrap();
    symlink(&outside, repo.join("tasks.json")).unwrap();
    tasks(&place, &["add", "x"]).assert_refused(REFUSED, &["leads out of the project"]);
    fine(&place, &["add", "x", "--file", outside.to_str().unwrap()]);
}

#[test]
fn research_is_looked_into_when_there_is_no_other() {
    let place = with(json!([task("1", "pending", &[])]));
    fs::create_dir(place.repo().join("research")).unwrap();
    fs::rename(place.repo().join("tasks.json"), place.repo().join("research/tasks.json")).unwrap();
    assert_eq!(fine(&place, &["check"]).stdout, "research/tasks.json: ok, 1 task\n");
}

#[test]
fn the_graph_is_drawn_for_mermaid_and_graphviz() {
    let place = with(json!([task("1", "passing", &[]), task("2", "pending", &["1"])]));
    let drawn = fine(&place, &["graph"]).stdout;
    assert!(drawn.starts_with("flowchart TD\n  t0[\"1: Task 1\"]:::passing\n"), "{drawn}");
    assert!(drawn.contains("  t0 --> t1\n"), "{drawn}");
    let drawn = fine(&place, &["graph", "--format", "dot"]).stdout;
    assert!(drawn.starts_with("digraph tasks {\n") && drawn.contains("  t0 -> t1;\n"), "{drawn}");
}

#[test]
fn a_feature_list_is_migrated_beside_itself() {
    let place = empty();
    let list =
        json!([{"category": "functional", "description": "Add feature X", "steps": ["a"], "passes": true}]);
    place.sealed.write("repo/research/feature-list.json", list.to_string());
    let ran = fine(&place, &["migrate", "research/feature-list.json"]);
    assert_eq!(ran.stdout, "research/tasks.json: 1 task\n");
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(place.repo().join("research/tasks.json")).unwrap()).unwrap();
    let expected = json!([{"id": "1", "name": "Add feature X", "description": "Category: functional",
        "status": "passing", "metadata": {"steps": ["a"], "category": "functional"}}]);
    assert_eq!((&kept["tasks"], &kept["metadata"]["source"]), (&expected, &json!("migrated")));
    let again = tasks(&place, &["migrate", "research/feature-list.json"]);
    again.assert_refused(CONFIGURATION, &["research/tasks.json already exists"]);
    fine(&place, &["migrate", "research/feature-list.json", "--out", "tasks.json"]);
    assert_eq!(fine(&place, &["check"]).stdout, "tasks.json: ok, 1 task\n");
    let ran = tasks(&place, &["migrate", "tasks.json", "--out", "x.json"]);
    assert_eq!(ran.code, CONFIGURATION, "{ran}");
    assert!(ran.stderr.contains("this is already a task file"), "{ran}");
    assert_eq!(tasks(&place, &["migrate", "nowhere.json"]).code, CONFIGURATION);
}

#[test]
fn the_stories_of_a_prd_are_migrated_and_so_is_a_single_feature() {
    let place = empty();
    let story = |id: &str, passes: bool| {
        json!({"id": id, "title": "Add a filter", "description": "As a user I filter.", "priority": 2,
            "acceptanceCriteria": ["Typecheck passes"], "passes": passes, "notes": "none"})
    };
    let stories = [story("US-001", true), story("US-002", false)];
    let prd =
        json!({"project": "App", "branchName": "ralph/filter", "source": "mine", "userStories": stories});
    place.sealed.write("repo/prd.json", prd.to_string());
    assert_eq!(fine(&place, &["migrate", "prd.json"]).stdout, "tasks.json: 2 tasks\n");
    let kept: Value = serde_json::from_str(&place.file("tasks.json")).unwrap();
    let expected = json!({"id": "US-001", "name": "Add a filter", "description": "As a user I filter.",
        "priority": 2, "status": "passing",
        "metadata": {"acceptanceCriteria": ["Typecheck passes"], "notes": "none"}});
    assert_eq!((&kept["tasks"][0], &kept["tasks"][1]["status"]), (&expected, &json!("pending")));
    let about = &kept["metadata"];
    assert_eq!((&about["branchName"], &about["source"]), (&json!("ralph/filter"), &json!("migrated")));
    let wrong = json!({"userStories": [story("1", false), story("1", false), {"id": "2"}]});
    place.sealed.write("repo/wrong.json", wrong.to_string());
    let ran = tasks(&place, &["migrate", "wrong.json", "--out", "x.json"]);
    ran.assert_refused(CONFIGURATION, &["another story has the id `1` too", "no `id` or no `title`"]);
    let feature = json!({"category": "ui", "description": "Add X", "steps": [], "passes": false});
    place.sealed.write("repo/feature.json", feature.to_string());
    let ran = fine(&place, &["migrate", "feature.json", "--out", "one.json"]);
    assert_eq!(ran.stdout, "one.json: 1 task\n");
}

#[test]
fn a_name_cannot_reach_the_terminal_as_it_is() {
    let mut evil = task("1", "pending", &[]);
    evil["name"] = json!("a\u{1b}[31m\u{202e}\nb");
    let place = with(json!([evil]));
    for verb in [&["list"][..], &["next"], &["graph"], &["set", "1", "done"], &["check"]] {
        let ran = fine(&place, verb);
        let shown = ran.stdout + &ran.stderr;
        assert!(
            shown.chars().all(|c| c == '\n' || (!c.is_control() && c != '\u{202e}')),
            "{verb:?}: {shown:?}"
        );
    }
}

#[test]
fn an_agent_may_not_say_in_its_own_session_that_a_task_is_passing() {
    let place = with(json!([task("1", "pending", &[])]));
    let as_agent = |status: &str| {
        let mut command = place.windlass(&["tasks", "set", "1", status]);
        command.env("WINDLASS_RUN", "abcd1234");
        place.spawn(command).end()
    };
    let ran = as_agent("done");
    assert_eq!(ran.code, REFUSED, "{ran}");
    assert!(ran.stderr.contains("only a person may say that a task is passing"), "{ran}");
    assert_eq!(as_agent("doing").code, 0);
}
