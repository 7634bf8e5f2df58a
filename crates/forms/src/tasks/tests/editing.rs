//! That a change touches what it must, and how new files look.

use windlass_core::tasks::{Task, TaskStatus};

use super::*;

#[test]
fn a_change_of_status_touches_only_that() {
    let document = fine(FILE).set_status(&id("#2"), TaskStatus::InProgress).unwrap();
    assert_eq!(document.text(), FILE.replace("\"pending\"", "\"in_progress\""));
    assert_eq!(document.tasks().tasks[1].status, TaskStatus::InProgress);
    assert_eq!(document.set_status(&id("2"), TaskStatus::Pending).unwrap(), fine(FILE));
    assert_eq!(document.set_status(&id("2"), TaskStatus::InProgress).unwrap(), document);
    assert_eq!(document.set_status(&id("7"), TaskStatus::Passing), Err(EditError::NoSuchTask(id("7"))));
}

#[test]
fn the_time_of_a_change_is_kept_in_the_metadata() {
    let document = fine(FILE).touch(NOON).unwrap();
    let expected = "\"updatedAt\": \"2026-02-05T12:00:00Z\"";
    assert_eq!(document.text(), FILE.replace("\"updatedAt\": \"2026-02-05T00:00:00Z\"", expected));
    let document = fine("{\n  \"version\": \"1.0\",\n  \"tasks\": []\n}\n").touch(NOON).unwrap();
    let expected = "{\n  \"version\": \"1.0\",\n  \"tasks\": [],\n  \"metadata\": { \"updatedAt\": \"2026-02-05T12:00:00Z\" }\n}\n";
    assert_eq!(document.text(), expected);
}

#[test]
fn a_new_task_is_laid_out_as_those_before_it() {
    let task = Task { dependencies: vec![id("1")], ..Task::named(id("3"), "Say \"hi\"\n") };
    let added = "    { \"id\": \"1\" , \"name\": \"a\", \"status\": \"pending\" },
    {
      \"id\": \"3\",
      \"name\": \"Say \\\"hi\\\"\\n\",
      \"status\": \"pending\",
      \"dependencies\": [
        \"1\"
      ]
    }
  ]
}";
    let text = "{\n  \"version\": \"1.0\",\n  \"tasks\": [\n    { \"id\": \"1\" , \"name\": \"a\", \"status\": \"pending\" }\n  ]\n}";
    let document = fine(text).add(&task).unwrap();
    assert!(document.text().ends_with(added), "{}", document.text());
    assert_eq!(document.tasks().tasks[1], task);
    assert_eq!(document.add(&task), Err(EditError::Taken(id("3"))));
}

#[test]
fn the_mark_at_its_beginning_and_the_ends_of_its_lines_stay() {
    let text = format!("\u{feff}{}", FILE.replace('\n', "\r\n"));
    let document = lenient(&text).0;
    let task = windlass_core::tasks::Task::named(id("3"), "c");
    let after =
        document.add(&task).unwrap().touch(NOON).unwrap().set_status(&id("3"), TaskStatus::Passing).unwrap();
    assert!(after.text().starts_with("\u{feff}{\r\n"), "{:?}", after.text());
    assert_eq!(after.text().matches('\n').count(), after.text().matches("\r\n").count());
    assert_eq!(after.tasks().tasks.len(), 3);
}

#[test]
fn a_file_on_one_line_stays_on_one_line() {
    let text = "{\"version\":\"1.0\",\"tasks\":[{\"id\":\"1\",\"name\":\"a\",\"status\":\"pending\"}]}";
    let document = fine(text).add(&Task::named(id("2"), "b")).unwrap().touch(NOON).unwrap();
    assert_eq!(document.text().lines().count(), 1);
    assert!(
        document.text().contains(", { \"id\": \"2\", \"name\": \"b\", \"status\": \"pending\" }]"),
        "{}",
        document.text()
    );
}

#[test]
fn the_first_task_of_an_empty_list_begins_it() {
    for list in ["[]", "[ ]", "[\n  ]", "[ // none yet\n  ]"] {
        let text = format!("{{\n  \"version\": \"1.0\",\n  \"tasks\": {list}\n}}\n");
        let (document, _) = lenient(&text);
        let document = document.add(&Task::named(id("1"), "a")).unwrap();
        assert!(
            document.text().contains("\"tasks\": [\n    {\n      \"id\": \"1\",\n"),
            "{}",
            document.text()
        );
        assert_eq!(list.contains("none yet"), document.text().contains("// none yet"));
    }
}

#[test]
fn comments_and_commas_too_many_are_read_kept_and_said() {
    let text = "{\n  // mine\n  \"version\": \"1.0\",\n  \"tasks\": [\n    {\"id\": \"1\", \"name\": \"a\", \"status\": \"pending\",}, // last\n  ],\n}\n";
    let (document, said) = lenient(text);
    assert_eq!(
        said,
        ["2:3 warning: comments and trailing commas are not JSON: other programs may refuse them"]
    );
    let document = document.set_status(&id("1"), TaskStatus::Passing).unwrap();
    assert_eq!(document.text(), text.replace("pending", "passing"));
    let document = document.add(&Task::named(id("2"), "b")).unwrap().touch(NOON).unwrap();
    assert!(
        document.text().contains("// mine") && document.text().contains("// last"),
        "{}",
        document.text()
    );
    assert_eq!(document.tasks().tasks.len(), 2);
}

#[test]
fn a_new_file_is_read_back_as_it_was_printed() {
    let tasks = starter(NOON, "manual");
    let text = print(&tasks);
    let expected = "{\n  \"version\": \"1.0\",\n  \"tasks\": [],\n  \"metadata\": {\n    \"createdAt\": \"2026-02-05T12:00:00Z\",\n    \"source\": \"manual\",\n    \"updatedAt\": \"2026-02-05T12:00:00Z\"\n  }\n}\n";
    assert_eq!(text, expected);
    assert_eq!(fine(&text).tasks(), &tasks);
    let whole = fine(FILE).tasks().clone();
    assert_eq!(fine(&print(&whole)).tasks(), &whole);
}

#[test]
fn a_feature_list_becomes_tasks() {
    let text = r#"[
  {"category": "functional", "description": "Add feature X", "steps": ["open", "click"], "passes": true},
  {"description": "Two\nlines", "passes": false, "owner": "me"}
]"#;
    let (tasks, said) = migrate(text, "feature-list.json", NOON);
    assert_eq!(said, []);
    let expected = r#"{
  "version": "1.0",
  "tasks": [
    {
      "id": "1",
      "name": "Add feature X",
      "description": "Category: functional",
      "status": "passing",
      "metadata": {
        "category": "functional",
        "steps": [
          "open",
          "click"
        ]
      }
    },
    {
      "id": "2",
      "name": "Two",
      "description": "Two\nlines",
      "status": "pending",
      "metadata": {
        "owner": "me"
      }
    }
  ],
  "metadata": {
    "createdAt": "2026-02-05T12:00:00Z",
    "source": "migrated",
    "updatedAt": "2026-02-05T12:00:00Z"
  }
}
"#;
    assert_eq!(print(&tasks.unwrap()), expected);
}

#[test]
fn what_is_no_feature_list_says_where() {
    let said = |text: &str| -> Vec<String> {
        let (tasks, said) = migrate(text, "feature-list.json", NOON);
        assert_eq!(tasks, None, "{text}");
        said.into_iter().map(line).collect()
    };
    let hint = "`windlass tasks check` finds mistakes in it";
    assert_eq!(said(FILE), [format!("4:3 this is already a task file ({hint})")]);
    let hint = "the list may be the file itself, or below `features` or `userStories`";
    assert_eq!(said("{\"a\": 1}"), [format!("1:1 expected a list of features, found an object ({hint})")]);
    assert_eq!(
        said("[{\"passes\": true}, 3]"),
        ["1:2 this feature has no `description`", "1:20 a feature must be an object, found a number"]
    );
    assert_eq!(
        said("[{\"description\": \"x\", \"passes\": \"yes\"}]"),
        ["1:33 `passes` must be true or false, found a string"]
    );
    assert_eq!(said("[{\"description\": \" \"}]"), ["1:2 the `description` of this feature is empty"]);
    assert_eq!(migrate("{\"features\": [{\"description\": \"x\"}]}", "f", NOON).0.unwrap().tasks.len(), 1);
}
