//! Several tasks at once, on the `sim` driver: each in a worktree of its own, whose commits come back
//! one after the other, or stay where they are.

use std::fs;

use crate::place::{LIMIT, Place, say};
use crate::tasks::{
    begun, detail, document, ended, in_file, lines, outside, place, run, run_document, task, tasks, touch,
    turn, wait_for,
};
use serde_json::{Value, json};
use windlass_testkit::wait::until;

/// A turn that commits a file and says that the task is done.
fn committing(file: &str) -> Value {
    turn(&[json!({"write": {"path": file, "content": format!("{file}\n")}}), json!({"commit": file})])
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
fn a_commit_that_was_green_in_its_worktree_is_not_checked_again_unless_another_landed_before_it() {
    let place = place(tasks(2), json!([]));
    let landed_first = json!({"bash": format!("until git -C {} log --format=%s main | grep -q a; do sleep 0.05; done", place.repo().display())});
    let b = [json!({"write": {"path": "b", "content": "x"}}), json!({"commit": "b"}), landed_first];
    place.script(json!({"nodes": {"implement": [committing("a"), turn(&b)]}}));
    let checked = outside(&place, "checked");
    let check = format!("git rev-parse HEAD >> {}", checked.display());
    let before = place.sealed.git(["rev-parse", "main"]);
    let ran = run(&place, &["--jobs", "2", "--check", &check]);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(landed(&place), ["a", "b"]);
    let on_main = place.sealed.git(["rev-list", "--reverse", &format!("{before}..main")]);
    let on_main: Vec<&str> = on_main.lines().collect();
    let checked = lines(&checked);
    assert_eq!(checked.len(), 3, "a once, b in its worktree and on top of a: {checked:?}");
    assert_eq!([checked[0].as_str(), checked[2].as_str()], on_main[..], "each was green as it stands there");
}

#[test]
fn a_dependent_task_begins_when_its_dependency_has_landed_though_a_slow_one_still_runs() {
    let place = place(json!([task("1", &[]), task("slow", &[]), task("2", &["1"])]), json!([]));
    let landed_first = json!({"bash": format!("until git -C {} log --format=%s main | grep -q b; do sleep 0.05; done", place.repo().display())});
    let turns = json!([
        committing("a"),
        turn(&[landed_first, json!({"write": {"path": "s", "content": "x"}}), json!({"commit": "s"})]),
        turn(&[
            json!({"bash": "test -e a"}),
            json!({"bash": "test ! -e s"}),
            json!({"write": {"path": "b", "content": "x"}}),
            json!({"commit": "b"})
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
fn a_conflict_resumes_the_agent_in_its_worktree_and_costs_no_try() {
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
    assert_eq!(ended(&ran), ["1 passing", "2 passing"]);
    let log = place.sealed.git(["log", "--first-parent", "--format=%s", "main"]);
    assert_eq!(log.lines().take(3).collect::<Vec<_>>(), ["one and two", "Merge main", "two"]);
    let two = place.sealed.git(["rev-parse", "main~2"]);
    let told = place.prompts()[2].clone();
    for words in ["- README.md\n", "as on `main`", &format!("git show {two}:FILE")] {
        assert!(told.contains(words), "`{words}` is missing: {told}");
    }
    let sessions = ran.all("session.started");
    let of = |turn: usize| (sessions[turn]["session"].clone(), sessions[turn]["resumed"] == true);
    let (second, third) = (of(1).0, of(2));
    assert!([of(0).0, second].contains(&third.0) && third.1, "{sessions:?}");
    let conflicts = ran.all("task.conflict");
    assert_eq!(conflicts.len(), 1);
    let seen = ["task", "target", "files", "next", "time"].map(|name| conflicts[0][name].clone());
    assert_eq!(json!(seen), json!(["2", "main", ["README.md"], "agent", 1]));
    assert_eq!(worktrees(&place), 0, "all of it has landed");
}

/// A place with two tasks that overwrite the same file. The second one is in conflict; its agent plays `then`
/// in every turn after the first.
fn overwritten(then: &[Value]) -> Place {
    let place = place(tasks(2), json!([]));
    let edit = |text: &str, more: &[Value]| {
        let steps = [json!({"write": {"path": "README.md", "content": text}}), json!({"commit": text})];
        turn(&[&steps, more].concat())
    };
    let landed_first = json!({"bash": format!("until git -C {} log --format=%s main | grep -q one; do sleep 0.05; done", place.repo().display())});
    let first = [edit("one", &[touch(&place, "x")]), edit("two", &[landed_first])];
    let turns = [&first, then].concat();
    place.script(json!({"nodes": {"implement": turns}}));
    place
}

#[test]
fn a_task_that_is_done_again_after_conflicts_without_a_commit_is_not_passing_and_goes_to_a_person() {
    let place = overwritten(&[turn(&[]), turn(&[]), turn(&[]), turn(&[])]);
    let ran = run(&place, &["--jobs", "2"]);
    ran.assert_ended(8, "blocked", "git", 6);
    assert_eq!(
        (ended(&ran), landed(&place)),
        (vec!["1 passing".into(), "2 failing".into()], vec!["one".into()])
    );
    assert!(place.prompts()[5].contains("`git commit --allow-empty`"), "{}", place.prompts()[5]);
    let kept = format!("windlass/{}/task-2-1", ran.run());
    let told = detail(&ran);
    assert!(told.contains("committed nothing") && told.contains(&format!("on branch `{kept}`")), "{told}");
    assert_eq!(worktrees(&place), 1, "the second worktree has no work");
    let logs = place.go(&["logs", ran.run()]).stdout;
    assert!(logs.contains(&format!("{kept} (task 2)\n")) && !logs.contains("a later try landed"), "{logs}");
    // The command in the message brings the work back, with its conflict.
    let (_, merge) = told.split_once("`git merge ").unwrap();
    let commit = merge.split('`').next().unwrap();
    assert_eq!(place.sealed.git(["log", "-1", "--format=%s", commit]), "two");
    assert_eq!(place.sealed.git(["show", &format!("{commit}:README.md")]), "two");
}

#[test]
fn a_task_that_is_done_again_after_conflicts_lands_with_an_empty_commit() {
    let empty = turn(&[json!({"bash": "git commit --quiet --allow-empty -m nothing-left"})]);
    let place = overwritten(&[turn(&[]), turn(&[]), turn(&[]), empty]);
    let ran = run(&place, &["--jobs", "2"]);
    ran.assert_ended(0, "completed", "all_done", 6);
    assert_eq!(landed(&place), ["one", "nothing-left"]);
    let logs = place.go(&["logs", ran.run()]).stdout;
    assert!(logs.contains("(task 2; a later try landed)"), "{logs}");
}

#[test]
fn a_task_without_a_conflict_and_without_commits_is_passing_but_no_later_try_has_landed() {
    let half = json!({"steps": [{"write": {"path": "half", "content": "x"}}, {"commit": "half"}, say("<status>failing</status>")]});
    let place = place(tasks(1), json!([half, turn(&[])]));
    let ran = run(&place, &["--jobs", "2"]);
    ran.assert_ended(0, "completed", "all_done", 2);
    let logs = place.go(&["logs", ran.run()]).stdout;
    assert!(logs.contains("task-1-1 (task 1)\n") && !logs.contains("a later try landed"), "{logs}");
}

#[test]
fn eight_tasks_that_append_to_one_file_all_land_though_their_agents_ignore_what_they_are_told() {
    let place = place(tasks(8), json!([]));
    let met = outside(&place, "met");
    fs::create_dir_all(&met).unwrap();
    // The first three are done at the same time, so that two of them are in conflict.
    let appends = format!(
        "echo $(basename $PWD) >> README.md && git commit --quiet --all -m $(basename $PWD) && \
         touch {met}/$(basename $PWD) && until [ $(ls {met} | wc -l) -ge 3 ]; do sleep 0.05; done",
        met = met.display()
    );
    place.script(json!({"default": turn(&[json!({"bash": appends})])}));
    let ran = run(&place, &["--jobs", "3"]);
    let conflicts = ran.all("task.conflict").len();
    assert!((2..=8).contains(&conflicts), "{ran}");
    ran.assert_ended(0, "completed", "all_done", u32::try_from(8 + conflicts).unwrap());
    let mut settled = ended(&ran);
    settled.sort();
    assert_eq!(settled, (1..=8).map(|id| format!("{id} passing")).collect::<Vec<_>>());
    let text = fs::read_to_string(place.repo().join("README.md")).unwrap();
    let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with("task-")).collect();
    lines.sort_unstable();
    assert_eq!(lines, (1..=8).map(|id| format!("task-{id}-1")).collect::<Vec<_>>(), "each once");
    assert_eq!(worktrees(&place), 0);
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
fn a_task_removed_by_hand_while_it_is_worked_on_is_not_brought_back_and_its_branch_is_named() {
    let place = place(tasks(2), json!([]));
    let held = |name: &str| {
        turn(&[
            json!({"write": {"path": name, "content": "x"}}),
            json!({"commit": name}),
            touch(&place, name),
            wait_for(&place, "go"),
        ])
    };
    place.script(json!({"nodes": {"implement": [held("a"), held("b")]}}));
    let going = place.start(&["tasks", "run", "--jobs", "2", "--json"]);
    until(LIMIT, || ["a", "b"].iter().all(|name| outside(&place, name).exists()));
    let left = json!({"version": "1.0", "tasks": [{"id": "2", "name": "b", "status": "in_progress"}]});
    place.sealed.write("repo/tasks.json", left.to_string());
    fs::write(outside(&place, "go"), "x").unwrap();
    let ran = going.end();
    ran.assert_ended(8, "blocked", "tasks_unproven", 2);
    assert_eq!((in_file(&place), landed(&place)), (vec!["2 passing".to_owned()], vec!["b".to_owned()]));
    let told = ran.all("task.settled");
    let removed = told.iter().find(|data| data["task"] == "1").unwrap();
    assert_eq!(removed["status"], "skipped", "{ran}");
    let why = removed["why"].as_str().unwrap();
    let branch = format!("windlass/{}/task-1-1", ran.run());
    assert!(why.contains("removed from the file") && why.contains(&branch), "{why}");
    assert_eq!(place.sealed.git(["log", "-1", "--format=%s", &branch]), "a");
}

#[test]
fn what_a_check_writes_is_no_failure_of_the_task_and_is_not_committed() {
    let place = place(tasks(2), json!([]));
    let landed_first = json!({"bash": format!("until git -C {} log --format=%s main | grep -q a; do sleep 0.05; done", place.repo().display())});
    let b = [json!({"write": {"path": "b", "content": "x"}}), json!({"commit": "b"}), landed_first];
    place.script(json!({"nodes": {"implement": [committing("a"), turn(&b)]}}));
    let ran = run(&place, &["--jobs", "2", "--check", "echo x > build.out; echo more >> README.md"]);
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(landed(&place), ["a", "b"], "the second one was moved on top of the first");
    let changed = place.sealed.git(["diff", "--name-only", "main~2", "main"]);
    assert_eq!(changed.lines().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(worktrees(&place), 0, "what checks left is nothing to keep");
}

#[test]
fn a_checkout_that_is_switched_meanwhile_is_left_alone_and_all_lands_where_the_run_began() {
    let place = place(json!([task("1", &[]), task("2", &["1"])]), json!([]));
    place.sealed.git(["branch", "release"]);
    fs::write(place.repo().join("unrelated"), "x").unwrap();
    place.sealed.git(["add", "unrelated"]);
    place.sealed.git(["commit", "--quiet", "--message", "unrelated"]);
    let held = [
        json!({"write": {"path": "a", "content": "x"}}),
        json!({"commit": "a"}),
        touch(&place, "begun"),
        wait_for(&place, "go"),
    ];
    let second = [
        json!({"bash": "test -e a && test -e unrelated && touch b"}),
        json!({"bash": "git add b"}),
        json!({"commit": "b"}),
    ];
    place.script(json!({"nodes": {"implement": [turn(&held), turn(&second)]}}));
    let going = place.start(&["tasks", "run", "--jobs", "2", "--json"]);
    until(LIMIT, || outside(&place, "begun").exists());
    let before = place.sealed.git(["rev-parse", "release"]);
    place.sealed.git(["switch", "--quiet", "release"]);
    fs::write(outside(&place, "go"), "x").unwrap();
    let ran = going.end();
    ran.assert_ended(0, "completed", "all_done", 2);
    assert_eq!(landed(&place), ["unrelated", "a", "b"]);
    assert_eq!(place.sealed.git(["rev-parse", "release"]), before);
    assert_eq!(place.sealed.git(["branch", "--show-current"]), "release");
    assert!(!place.repo().join("a").exists(), "the checkout is a person's");
    assert_eq!(worktrees(&place), 0);
}

#[test]
fn what_only_a_person_can_clear_away_is_told_to_the_person_and_costs_no_try() {
    let place = place(tasks(2), json!([committing("a")]));
    fs::write(place.repo().join("a"), "by hand").unwrap();
    document(
        &place,
        "name: own\nnodes:\n  - task_loop: { max: 9, jobs: 2, select: \"task.id == '1'\" }\n    do:\n      - { id: implement, prompt: \"{{ feedback }}\" }\n",
    );
    let ran = run_document(&place);
    ran.assert_ended(8, "blocked", "git", 1);
    assert_eq!(in_file(&place), ["1 pending", "2 pending"]);
    let branch = format!("windlass/{}/task-1-1", ran.run());
    for words in [
        "has changes of its own",
        "a; commit or stash them",
        &format!("git merge {branch}"),
        "tasks set 1 done",
    ] {
        assert!(detail(&ran).contains(words), "`{words}` is missing: {ran}");
    }
    assert_eq!(place.sealed.git(["log", "-1", "--format=%s", &branch]), "a");
    assert_eq!(fs::read_to_string(place.repo().join("a")).unwrap(), "by hand");
}

#[test]
fn every_branch_that_a_person_has_to_land_is_listed_with_the_command() {
    let place = place(tasks(2), json!([committing("a")]));
    fs::write(place.repo().join("a"), "by hand").unwrap();
    let ran = place.go(&["tasks", "run", "--jobs", "2"]);
    assert_eq!(ran.code, 8, "{ran}");
    let warning = "warning: a task that changes an uncommitted file cannot land until you commit it\n";
    assert!(ran.stderr.contains(warning) && ran.stderr.contains("the folder has "), "{ran}");
    let run = place.ps()[0]["run"].as_str().unwrap().to_owned();
    for task in ["1", "2"] {
        let land =
            format!("land:   git merge windlass/{run}/task-{task}-1 && windlass tasks set {task} done");
        assert!(ran.stdout.lines().any(|line| line.trim() == land), "{land}: {ran}");
    }
    let is_cut = |line: &&str| line.contains("`git merge") && line.ends_with("...");
    assert_eq!(ran.stdout.lines().find(is_cut), None, "{ran}");
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
fn a_try_that_failed_in_its_steps_and_holds_nothing_leaves_nothing_behind() {
    let place = place(tasks(1), json!([turn(&[]), committing("good")]));
    let ran = run(&place, &["--jobs", "2", "--check", "test -e good"]);
    ran.assert_ended(0, "completed", "all_done", 2);
    let told = place.prompts()[1].clone();
    assert!(
        told.contains("test -e good") && !told.contains("is kept on branch"),
        "nothing was there to keep: {told}"
    );
    assert_eq!(worktrees(&place), 0);
    assert_eq!(place.sealed.git(["branch", "--format=%(refname:short)"]), "main");
}

#[test]
fn a_run_that_is_cancelled_puts_its_tasks_back_and_keeps_what_holds_work() {
    let place = place(tasks(3), json!([]));
    let held = |steps: &[Value], name: &str| {
        turn(&[steps, &[touch(&place, name), wait_for(&place, "never")]].concat())
    };
    let commit = [json!({"write": {"path": "half", "content": "x"}}), json!({"commit": "half"})];
    place.script(json!({"nodes": {"implement": [held(&commit, "a"), held(&[], "b")]}}));
    let mut going = place.start(&["tasks", "run", "--jobs", "2", "--json"]);
    let id = going.run();
    until(LIMIT, || ["a", "b"].iter().all(|name| outside(&place, name).exists()));
    assert_eq!(in_file(&place), ["1 in_progress", "2 in_progress", "3 pending"]);
    assert_eq!(place.go(&["cancel", &id]).code, 0);
    let ran = going.end();
    ran.assert_ended(130, "cancelled", "user", 2);
    assert_eq!(in_file(&place), ["1 pending", "2 pending", "3 pending"]);
    let kept = format!("windlass/{id}/task-1-1");
    let told = ran.all("task.settled");
    let why = |task: &str| {
        told.iter().find(|data| data["task"] == task).unwrap()["why"].as_str().unwrap().to_owned()
    };
    assert!(why("1").contains(&kept), "{ran}");
    assert_eq!(why("2"), "the work on it ended before it was done");
    assert_eq!(place.sealed.git(["log", "-1", "--format=%s", &kept]), "half");
    assert_eq!(worktrees(&place), 1, "the other held nothing");
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
    assert!(place.prompts()[1].contains("changes the task file"), "{}", place.prompts()[1]);
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
fn where_there_is_no_repository_several_at_once_are_refused_before_a_run_and_one_at_a_time_works() {
    let place = place(json!([task("1", &[]), task("2", &["1"])]), json!([]));
    fs::remove_dir_all(place.repo().join(".git")).unwrap();
    document(
        &place,
        "name: own\nnodes:\n  - { id: first, shell: 'true' }\n  - task_loop: { max: 9, jobs: 2 }\n    do:\n      - { id: implement, prompt: x }\n",
    );
    let cases: [(&[&str], i32); 3] = [
        (&["tasks", "run", "--jobs", "2"], 2),
        (&["tasks", "run", "--jobs", "2", "--dry-run"], 2),
        (&["run", "--workflow", "own"], 3),
    ];
    for (arguments, code) in cases {
        let ran = place.go(arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {ran}");
        for words in ["need a git repository", "`git init`", "`--jobs 1`"] {
            assert!(ran.stderr.contains(words), "{arguments:?}: {ran}");
        }
    }
    assert_eq!(in_file(&place), ["1 pending", "2 pending"]);
    assert!(place.go(&["ps", "--all", "--json"]).lines.is_empty(), "there is no run");
    run(&place, &[]).assert_ended(0, "completed", "all_done", 2);
}

#[test]
fn a_branch_called_windlass_is_found_before_a_run_and_submodules_are_mentioned() {
    let place = place(tasks(1), json!([committing("a")]));
    fs::write(place.repo().join(".gitmodules"), "").unwrap();
    place.sealed.git(["add", ".gitmodules"]);
    place.sealed.git(["commit", "--quiet", "--message", "modules"]);
    place.sealed.git(["branch", "windlass"]);
    let ran = run(&place, &["--jobs", "2"]);
    assert!(ran.code == 2 && ran.stderr.contains("git branch --move windlass"), "{ran}");
    assert_eq!(in_file(&place), ["1 pending"]);
    place.sealed.git(["branch", "--move", "windlass", "other"]);
    let ran = run(&place, &["--jobs", "2"]);
    ran.assert_ended(0, "completed", "all_done", 1);
    assert!(ran.stderr.contains("submodules, which are empty"), "{ran}");
}

#[test]
fn a_checkout_on_no_branch_is_found_before_a_run_where_nothing_comes_before_the_tasks() {
    let place = place(tasks(1), json!([]));
    place.sealed.git(["switch", "--quiet", "--detach"]);
    let ran = run(&place, &["--jobs", "2"]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("is on no branch"), "{ran}");
    assert_eq!(in_file(&place), ["1 pending"]);
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
fn what_another_run_did_after_a_death_is_not_done_again_by_a_resume() {
    let place = place(tasks(2), json!([]));
    let cut = |name: &str| {
        let file = [json!({"write": {"path": name, "content": "old\n"}}), json!({"commit": name})];
        let first = [&file[..], &[touch(&place, name), wait_for(&place, "never")]].concat();
        json!({"attempts": [turn(&first), turn(&[])]})
    };
    place.script(json!({"nodes": {"implement": [cut("one"), cut("two")]}}));
    let mut going = place.start(&["tasks", "run", "--jobs", "2", "--json"]);
    let id = going.run();
    until(LIMIT, || ["one", "two"].iter().all(|name| outside(&place, name).exists()));
    place.kill_everything(going);
    place.script(json!({"nodes": {"implement": [committing("one"), committing("two")]}}));
    let ran = place.go(&["tasks", "run", "--jobs", "2", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let after = place.sealed.git(["rev-parse", "main"]);
    let ran = place.go(&["resume", &id, "--json"]);
    assert_eq!((ran.code, &ran.finished()["status"]), (0, &json!("completed")), "{ran}");
    assert_eq!(in_file(&place), ["1 passing", "2 passing"]);
    assert_eq!(place.sealed.git(["rev-parse", "main"]), after, "nothing is landed a second time");
    assert_eq!(worktrees(&place), 2, "what the first run did is kept");
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

#[test]
fn branches_of_passing_tasks_are_kept_where_nothing_lands() {
    let place = place(tasks(2), json!([]));
    place.script(json!({"nodes": {"implement": [committing("a"), committing("b")]}}));
    document(
        &place,
        "name: own\nnodes:\n  - task_loop: { max: 9, jobs: 2, land: false }\n    do:\n      - { id: implement, prompt: x }\n",
    );
    let checked = outside(&place, "checked");
    let check = format!("pwd >> {}", checked.display());
    let ran = place.go(&["run", "--workflow", "own", "--check", &check]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(in_file(&place), ["1 passing", "2 passing"]);
    assert_eq!(landed(&place), Vec::<String>::new());
    assert_eq!(worktrees(&place), 2);
    let checks = lines(&checked);
    assert!(checks.len() == 2 && checks.iter().all(|line| line.contains("/worktrees/task-")), "{checks:?}");
    let branches = place.sealed.git(["branch", "--list", "windlass/*", "--format=%(refname:short)"]);
    let branches: Vec<&str> = branches.lines().collect();
    assert_eq!(branches.len(), 2);
    assert!(
        ran.stderr.contains("branches of the tasks that passed")
            || ran.stdout.contains("branches of the tasks that passed"),
        "{ran}"
    );
    assert!(branches.iter().all(|branch| ran.to_string().contains(branch)), "{ran}");
}
