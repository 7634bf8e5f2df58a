//! The rules of 003's default selector and completion check, and the holes in them closed.

use super::*;

fn id(text: &str) -> TaskId {
    text.parse().unwrap()
}

fn ids(text: &[&str]) -> Vec<TaskId> {
    text.iter().map(|text| id(text)).collect()
}

fn task(name: &str, status: TaskStatus, dependencies: &[&str]) -> Task {
    Task { status, dependencies: ids(dependencies), ..Task::named(id(name), format!("task {name}")) }
}

fn pending(name: &str, dependencies: &[&str]) -> Task {
    task(name, TaskStatus::Pending, dependencies)
}

fn urgent(priority: &str, task: Task) -> Task {
    Task { priority: Some(priority.parse().unwrap()), ..task }
}

fn choose(tasks: &[Task]) -> NextTask {
    next(tasks, &Attempts::default())
}

fn spent(tasks: &[&str]) -> Attempts {
    Attempts { allowed: 2, made: tasks.iter().map(|text| (id(text), 2)).collect() }
}

#[test]
fn the_first_pending_task_whose_dependencies_are_passing_is_next() {
    let tasks =
        [task("1", TaskStatus::Passing, &[]), pending("2", &["3"]), pending("3", &["1"]), pending("4", &[])];
    assert_eq!(choose(&tasks), NextTask::Task(id("3")));
}

#[test]
fn a_dependency_is_met_by_an_id_written_otherwise() {
    assert_eq!(
        choose(&[task("1", TaskStatus::Passing, &[]), pending("2", &["#1", " 1 "])]),
        NextTask::Task(id("2"))
    );
}

#[test]
fn the_lower_priority_goes_first_and_then_the_order_of_the_file() {
    let tasks = [
        pending("none", &[]),
        urgent("10", pending("late", &[])),
        urgent("2", pending("soon", &[])),
        urgent("2", pending("soon too", &[])),
        urgent("-1", pending("blocked", &["none"])),
    ];
    let order: Vec<&str> = ready(&tasks, &Attempts::default()).iter().map(|task| task.id.as_str()).collect();
    assert_eq!(order, ["soon", "soon too", "late", "none"]);
    assert_eq!(choose(&tasks), NextTask::Task(id("soon")));
}

#[test]
fn a_skipped_dependency_is_met() {
    assert_eq!(choose(&[task("1", TaskStatus::Skipped, &[]), pending("2", &["1"])]), NextTask::Task(id("2")));
}

#[test]
fn a_failing_dependency_is_not_met_and_is_tried_first() {
    let tasks = [task("1", TaskStatus::Failing, &[]), pending("2", &["1"])];
    assert_eq!(choose(&tasks), NextTask::Task(id("1")));
    assert_eq!(waits(&tasks), [vec![], vec![&id("1")]]);
}

#[test]
fn what_is_in_progress_is_not_done() {
    let tasks = [task("1", TaskStatus::InProgress, &[]), task("2", TaskStatus::Passing, &[])];
    assert!(!is_done(&tasks));
    assert_eq!(choose(&tasks), NextTask::Working);
}

#[test]
fn while_one_is_in_progress_another_can_be_ready() {
    let tasks = [task("1", TaskStatus::InProgress, &[]), pending("2", &["1"]), pending("3", &[])];
    assert_eq!(choose(&tasks), NextTask::Task(id("3")));
    assert_eq!(choose(&tasks[..2]), NextTask::Working);
}

#[test]
fn all_are_done_when_all_are_passing_or_skipped() {
    let tasks = [task("1", TaskStatus::Passing, &[]), task("2", TaskStatus::Skipped, &["9"])];
    assert!(is_done(&tasks));
    assert_eq!(choose(&tasks), NextTask::AllDone);
    assert_eq!(choose(&[]), NextTask::AllDone);
}

#[test]
fn a_failing_task_is_tried_again_until_its_tries_are_spent_and_then_has_failed() {
    let tasks = [task("1", TaskStatus::Failing, &[]), task("2", TaskStatus::Passing, &[])];
    let mut attempts = Attempts::of(2);
    for _ in 0..2 {
        assert_eq!(next(&tasks, &attempts), NextTask::Task(id("1")));
        attempts.count(&id("1"));
    }
    assert_eq!(next(&tasks, &attempts), NextTask::Failed { ids: ids(&["1"]) });
}

#[test]
fn a_task_that_failed_for_good_does_not_hold_up_the_others() {
    let tasks = [task("1", TaskStatus::Failing, &[]), pending("2", &[])];
    assert_eq!(next(&tasks, &spent(&["1"])), NextTask::Task(id("2")));
}

#[test]
fn who_waits_for_a_task_that_failed_for_good_is_in_a_deadlock() {
    let tasks = [task("1", TaskStatus::Failing, &[]), pending("2", &["1"]), pending("3", &["2"])];
    let failed = Deadlock::Failed { task: id("2"), dependency: id("1") };
    assert_eq!(failed.to_string(), "task 2 waits for task 1, which failed");
    assert_eq!(next(&tasks, &spent(&["1"])), NextTask::Deadlock(failed));
}

#[test]
fn a_cycle_is_a_deadlock_and_is_named() {
    let tasks = [pending("0", &["1"]), pending("1", &["2"]), pending("2", &["3"]), pending("3", &["1"])];
    let cycle = Deadlock::Cycle(ids(&["1", "2", "3"]));
    assert_eq!(cycle.to_string(), "tasks wait for each other: 1 -> 2 -> 3 -> 1");
    assert_eq!(choose(&tasks), NextTask::Deadlock(cycle));
}

#[test]
fn the_shortest_cycle_is_named() {
    let tasks = [pending("1", &["2"]), pending("2", &["3"]), pending("3", &["1", "2"])];
    assert_eq!(choose(&tasks), NextTask::Deadlock(Deadlock::Cycle(ids(&["2", "3"]))));
}

#[test]
fn a_task_that_waits_for_itself_is_a_cycle_of_one() {
    let cycle = Deadlock::Cycle(ids(&["1"]));
    assert_eq!(cycle.to_string(), "task 1 waits for itself");
    assert_eq!(choose(&[pending("1", &["#1"])]), NextTask::Deadlock(cycle));
}

#[test]
fn a_cycle_broken_by_a_task_that_is_done_holds_nobody_up() {
    let tasks = [pending("1", &["2"]), task("2", TaskStatus::Passing, &["1"])];
    assert_eq!(choose(&tasks), NextTask::Task(id("1")));
}

#[test]
fn an_unknown_id_is_a_deadlock_and_is_named() {
    let missing = Deadlock::Missing { task: id("2"), dependency: id("7") };
    assert_eq!(missing.to_string(), "task 2 waits for 7, which is not in the file");
    assert_eq!(
        choose(&[task("1", TaskStatus::Passing, &[]), pending("2", &["1", "7"])]),
        NextTask::Deadlock(missing)
    );
}

#[test]
fn a_crash_while_in_progress_puts_the_task_back_and_leaves_those_at_work() {
    let mut tasks = [
        task("1", TaskStatus::InProgress, &[]),
        task("2", TaskStatus::InProgress, &[]),
        task("3", TaskStatus::Failing, &[]),
    ];
    assert_eq!(recover(&mut tasks, |held| held.as_str() == "2"), ids(&["1"]));
    let after = tasks.each_ref().map(|task| task.status);
    assert_eq!(after, [TaskStatus::Pending, TaskStatus::InProgress, TaskStatus::Failing]);
    assert_eq!(choose(&tasks), NextTask::Task(id("1")));
}

#[test]
fn two_tasks_of_one_id_are_met_only_together() {
    let tasks =
        [task("1", TaskStatus::Passing, &[]), task("1", TaskStatus::InProgress, &[]), pending("2", &["1"])];
    assert_eq!(choose(&tasks), NextTask::Working);
}

#[test]
fn tasks_are_counted_by_status() {
    let tasks = [pending("1", &[]), task("2", TaskStatus::Passing, &[]), task("3", TaskStatus::Passing, &[])];
    assert_eq!(tally(&tasks), TaskTally { pending: 1, passing: 2, ..TaskTally::default() });
}
