//! `land: false`: a task starts from the branches of its dependencies.

use serde_json::json;

use crate::place::{Place, Ran};

const DOCUMENT: &str = r#"
name: own
nodes:
  - task_loop: { path: tasks.json, jobs: 2, land: false, attempts: 1 }
    do:
      - shell: 'sh -c "$WORK"'
        env: { WORK: "{{ task.description }}" }
"#;

/// Appends a line to a file and commits it.
fn commits(file: &str, line: &str) -> String {
    format!("echo {line} >> {file}; git add {file}; git commit -qm {line}")
}

/// A repository with a list of tasks: their ids, commands and dependencies.
fn place(tasks: &[(&str, String, &[&str])]) -> Place {
    let place = Place::playing(json!([]));
    let tasks: Vec<_> = tasks
        .iter()
        .map(|(id, work, on)| json!({"id": id, "name": id, "description": work, "dependencies": on}))
        .collect();
    let list = json!({"version": "1.0", "tasks": tasks});
    place.sealed.write("repo/tasks.json", list.to_string());
    place.sealed.write("repo/.windlass/workflows/own.yaml", DOCUMENT);
    place
}

/// Returns the files and the subjects of the commits on the branch of a task.
fn branch(place: &Place, ran: &Ran, task: &str) -> (String, Vec<String>) {
    let name = format!("windlass/{}/task-{task}-1", ran.run());
    let log = place.sealed.git(["log", "--no-merges", "--format=%s", &format!("main..{name}")]);
    let mut subjects: Vec<String> = log.lines().map(str::to_owned).collect();
    subjects.sort();
    (name, subjects)
}

#[test]
fn a_task_has_the_work_of_all_its_dependencies() {
    let place = place(&[
        ("t1", commits("a", "one"), &[]),
        ("t2", commits("b", "two"), &[]),
        ("idle", "true".to_owned(), &["t1"]),
        ("t3", commits("a", "three"), &["t1", "idle"]),
        ("t4", commits("c", "four"), &["t2", "t3"]),
    ]);
    let ran = place.go(&["run", "--workflow", "own", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(branch(&place, &ran, "t1").1, ["one"]);
    assert_eq!(branch(&place, &ran, "t3").1, ["one", "three"]);
    let (last, subjects) = branch(&place, &ran, "t4");
    assert_eq!(subjects, ["four", "one", "three", "two"]);
    assert_eq!(place.sealed.git(["show", &format!("{last}:a")]).trim(), "one\nthree");
    let replayed = place.go(&["replay", ran.run()]);
    assert_eq!(replayed.code, 0, "{replayed}");
}

#[test]
fn branches_that_conflict_block_the_loop_after_its_other_tasks_until_they_are_merged_by_hand() {
    let place = place(&[
        ("t1", commits("a", "one"), &[]),
        ("t2", commits("a", "two"), &[]),
        ("t3", commits("b", "three"), &["t1", "t2"]),
        ("t4", commits("c", "four"), &["t1"]),
    ]);
    let ran = place.go(&["run", "--workflow", "own", "--json"]);
    assert_eq!(ran.code, 8, "{ran}");
    let told = ran.finished()["detail"].as_str().unwrap_or_default().to_owned();
    assert!(told.contains("conflicts with the others in a: merge these branches by hand"), "{ran}");
    assert_eq!(branch(&place, &ran, "t4").1, ["four", "one"]);

    let (one, two) = (branch(&place, &ran, "t1").0, branch(&place, &ran, "t2").0);
    let tree = place.sealed.git(["rev-parse", &format!("{one}^{{tree}}")]);
    let merge = place.sealed.git(["commit-tree", tree.trim(), "-p", &one, "-p", &two, "-m", "by hand"]);
    place.sealed.git(["update-ref", &format!("refs/heads/{one}"), merge.trim()]);
    let resumed = place.go(&["resume", ran.run(), "--json"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    let subjects = place.sealed.git([
        "log",
        "--no-merges",
        "--format=%s",
        &format!("main..windlass/{}/task-t3-2", ran.run()),
    ]);
    let mut subjects: Vec<&str> = subjects.lines().collect();
    subjects.sort_unstable();
    assert_eq!(subjects, ["one", "three", "two"]);
}
