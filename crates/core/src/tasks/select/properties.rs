//! Properties of every list of tasks.

use proptest::prelude::*;

use super::*;

const SIZE: u8 = 8;

fn id(number: u8) -> TaskId {
    number.to_string().parse().unwrap()
}

/// Few ids, so that tasks often wait for each other; one of them is never there.
fn any_tasks() -> impl Strategy<Value = Vec<Task>> {
    let one = (
        prop::sample::select(TaskStatus::ALL.to_vec()),
        prop::option::of(0..3_i8),
        prop::collection::vec(0..=SIZE, 0..3),
    );
    let list = prop::collection::vec(one, 0..usize::from(SIZE));
    list.prop_map(|list| {
        let task =
            |(number, (status, priority, dependencies)): (u8, (TaskStatus, Option<i8>, Vec<u8>))| Task {
                status,
                priority: priority.map(|number| Priority::try_from(f64::from(number)).unwrap()),
                dependencies: dependencies.into_iter().map(id).collect(),
                ..Task::named(id(number), "x")
            };
        (0..SIZE).zip(list).map(task).collect()
    })
}

fn any_attempts() -> impl Strategy<Value = Attempts> {
    prop::collection::btree_map((0..SIZE).prop_map(id), 0..3_u32, 0..5)
        .prop_map(|made| Attempts { allowed: 2, made })
}

/// Said in other words than the code's.
fn is_met(tasks: &[Task], wanted: &TaskId) -> bool {
    tasks
        .iter()
        .any(|task| task.id == *wanted && matches!(task.status, TaskStatus::Passing | TaskStatus::Skipped))
}

fn can_be_tried(task: &Task, attempts: &Attempts) -> bool {
    match task.status {
        TaskStatus::Pending => true,
        TaskStatus::Failing => attempts.made.get(&task.id).is_none_or(|made| *made < attempts.allowed),
        _ => false,
    }
}

proptest! {
    #[test]
    fn a_task_with_an_unmet_dependency_is_never_chosen(tasks in any_tasks(), attempts in any_attempts()) {
        for task in ready(&tasks, &attempts) {
            prop_assert!(task.dependencies.iter().all(|wanted| is_met(&tasks, wanted)));
            prop_assert!(can_be_tried(task, &attempts));
        }
    }

    #[test]
    fn the_same_tasks_are_decided_the_same(tasks in any_tasks(), attempts in any_attempts()) {
        prop_assert_eq!(next(&tasks, &attempts), next(&tasks.clone(), &attempts.clone()));
        let first = ready(&tasks, &attempts).first().map(|task| task.id.clone());
        match next(&tasks, &attempts) {
            NextTask::Task(chosen) => prop_assert_eq!(Some(chosen), first),
            _ => prop_assert_eq!(None, first),
        }
    }

    #[test]
    fn a_deadlock_is_nothing_ready_and_something_left(tasks in any_tasks(), attempts in any_attempts()) {
        let nothing_goes_on = ready(&tasks, &attempts).is_empty()
            && tasks.iter().all(|task| task.status != TaskStatus::InProgress);
        let something_is_left = tasks.iter().any(|task| can_be_tried(task, &attempts));
        let is_deadlock = matches!(next(&tasks, &attempts), NextTask::Deadlock(_));
        prop_assert_eq!(is_deadlock, nothing_goes_on && something_is_left);
    }

    #[test]
    fn what_a_deadlock_names_is_true(tasks in any_tasks(), attempts in any_attempts()) {
        let get = |wanted: &TaskId| tasks.iter().find(|task| task.id == *wanted);
        match next(&tasks, &attempts) {
            NextTask::Deadlock(Deadlock::Cycle(ring)) => {
                for (task, waits_for) in ring.iter().zip(ring.iter().cycle().skip(1)) {
                    prop_assert!(get(task).unwrap().dependencies.contains(waits_for));
                    prop_assert!(!is_met(&tasks, waits_for));
                }
            }
            NextTask::Deadlock(Deadlock::Missing { task, dependency }) => {
                prop_assert!(get(&task).unwrap().dependencies.contains(&dependency));
                prop_assert!(get(&dependency).is_none());
            }
            NextTask::Deadlock(Deadlock::Failed { task, dependency }) => {
                prop_assert!(get(&task).unwrap().dependencies.contains(&dependency));
                let dependency = get(&dependency).unwrap();
                prop_assert!(dependency.status == TaskStatus::Failing && !can_be_tried(dependency, &attempts));
            }
            NextTask::Failed { ids } => prop_assert!(!ids.is_empty()),
            NextTask::AllDone => prop_assert!(tasks.iter().all(|task| is_met(&tasks, &task.id))),
            NextTask::Deadlock(Deadlock::LeftOut { .. }) => prop_assert!(false, "nothing is left out here"),
            NextTask::Task(_) | NextTask::Working => {}
        }
    }

    /// Doing what is chosen, and failing now and then, always comes to an end.
    #[test]
    fn doing_what_is_chosen_ends(mut tasks in any_tasks(), fails in prop::collection::vec(any::<bool>(), 64)) {
        recover(&mut tasks, |_| false);
        let mut attempts = Attempts::of(3);
        let mut fails = fails.into_iter().cycle();
        for _ in 0..=tasks.len() * 3 + tasks.len() {
            let NextTask::Task(chosen) = next(&tasks, &attempts) else { return Ok(()) };
            attempts.count(&chosen);
            let task = tasks.iter_mut().find(|task| task.id == chosen).unwrap();
            task.status = if fails.next().unwrap() { TaskStatus::Failing } else { TaskStatus::Passing };
        }
        prop_assert!(false, "still choosing: {:?}", next(&tasks, &attempts));
    }
}
