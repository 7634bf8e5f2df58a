//! Properties of every text and every list of tasks.

use proptest::prelude::*;
use windlass_core::tasks::{Task, TaskId, TaskStatus, Tasks};

use super::*;

/// Text made of the pieces tasks are made of.
fn any_text() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\n",
        " ",
        "//",
        "/*",
        "*/",
        "```json\n",
        "\u{feff}",
        "é",
        "\"id\"",
        "\"name\"",
        "\"tasks\"",
        "\"status\"",
        "\"dependencies\"",
        "\"metadata\"",
        "\"done\"",
        "\"#1\"",
        "\"version\": \"1.0\"",
        "{\"tasks\": [",
        "{\"id\": 1, \"name\": \"a\"}",
        "null",
        "true",
        "1",
        "-1e9",
        "so",
    ];
    let pieces = prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..40);
    prop_oneof![any::<String>(), pieces.prop_map(|pieces| pieces.concat())]
}

fn any_tasks() -> impl Strategy<Value = Tasks> {
    let value = prop_oneof![
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
        Just(serde_json::json!({"z": [1, {"a": null}], "b": "x"})),
    ];
    let map = prop::collection::btree_map("[xyz]-[a-z]{1,5}", value, 0..3)
        .prop_map(|fields| fields.into_iter().collect::<serde_json::Map<_, _>>());
    let one = (
        any::<String>(),
        prop::sample::select(TaskStatus::ALL.to_vec()),
        prop::option::of(-5..5_i8),
        map.clone(),
        map.clone(),
    );
    let list = prop::collection::vec(one, 0..5);
    (list, map.clone(), map).prop_map(|(list, metadata, other)| {
        let task = |(place, (name, status, priority, metadata, other)): (
            usize,
            (String, TaskStatus, Option<i8>, _, _),
        )| Task {
            status,
            priority: priority.map(|number| f64::from(number).try_into().unwrap()),
            dependencies: (0..place).map(|number| id(&number.to_string())).collect(),
            metadata,
            other,
            ..Task::named(id(&place.to_string()), name)
        };
        Tasks { tasks: list.into_iter().enumerate().map(task).collect(), metadata, other }
    })
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_what_it_keeps_it_reads_again(text in any_text()) {
        let reading = read(&text, "tasks.json");
        prop_assert_eq!(reading.document.is_none(), reading.problems.iter().any(Diagnostic::is_error));
        migrate(&text, "feature-list.json", NOON);
        let Some(document) = reading.document else { return Ok(()) };
        let again = read(document.text(), "tasks.json").document;
        prop_assert_eq!(again.as_ref(), Some(&document));
        let added = document.add(&Task::named(TaskId::following(&document.tasks().tasks), "new"));
        prop_assert_eq!(added.unwrap().touch(NOON).unwrap().tasks().tasks.len(), document.tasks().tasks.len() + 1);
    }

    #[test]
    fn what_is_printed_is_read_back(tasks in any_tasks()) {
        let reading = read(&print(&tasks), "tasks.json");
        prop_assert_eq!(reading.document.unwrap().tasks().clone(), tasks);
    }

    #[test]
    fn a_change_leaves_all_else_as_it_was(tasks in any_tasks(), prefix in "[a-z \n]{0,20}") {
        let document = read(&format!("{prefix}{}", print(&tasks)), "").document.unwrap();
        for task in &tasks.tasks {
            let changed = document.set_status(&task.id, TaskStatus::Failing).unwrap();
            let mut expected = tasks.clone();
            expected.tasks.iter_mut().find(|other| other.id == task.id).unwrap().status = TaskStatus::Failing;
            prop_assert_eq!(changed.tasks(), &expected);
            let back = changed.set_status(&task.id, task.status).unwrap();
            prop_assert_eq!(back.text(), document.text());
        }
    }
}
