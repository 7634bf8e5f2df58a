//! Tests for reading a text, and for the diagnostics about it.

use windlass_core::tasks::TaskStatus;

use super::*;

#[test]
fn a_file_is_read_whole() {
    let tasks = fine(FILE).tasks().clone();
    assert_eq!(tasks.tasks.len(), 2);
    let [parse, print] = &tasks.tasks[..] else { panic!() };
    assert_eq!((parse.id.as_str(), parse.name.as_str(), parse.status), ("1", "Parse", TaskStatus::Passing));
    assert_eq!(parse.priority, Some("2".parse().unwrap()));
    assert_eq!(parse.other["x-steps"][0], "a");
    assert_eq!(print.dependencies, [id("1")]);
    assert_eq!((&print.metadata["a"], &tasks.metadata["source"]), (&2.into(), &"manual".into()));
    assert_eq!(tasks.other["owner"]["alpha"][0], 1000.0);
}

#[test]
fn tasks_in_prose_or_in_a_code_fence_are_found_and_the_rest_dropped() {
    let texts = [
        format!("Here is the plan [x]:\n\n```json\n{FILE}```\n\nI hope {{this}} helps!\n"),
        format!("Sure. {FILE}"),
        format!("{FILE}\nDone!"),
        format!("\u{feff}It's \"so\": {FILE}"),
    ];
    for text in texts {
        let (document, said) = lenient(&text);
        assert!(said[0].contains("there is other text around the tasks, which Windlass drops"), "{said:?}");
        assert_eq!(document.text(), FILE, "{text}");
    }
}

#[test]
fn a_bare_list_becomes_a_file() {
    let (document, said) = lenient("[\n  {\"id\": \"1\", \"name\": \"a\", \"status\": \"pending\"}\n]\n");
    let hint = "Windlass converts it when it writes the file";
    assert_eq!(
        said,
        [format!("1:1 warning: expected `{{\"version\": \"1.0\", \"tasks\": […]}}`, found a list ({hint})")]
    );
    let expected = "{\n  \"version\": \"1.0\",\n  \"tasks\": [\n    {\"id\": \"1\", \"name\": \"a\", \"status\": \"pending\"}\n  ]\n}\n";
    assert_eq!(document.text(), expected);
    assert_eq!(&fine(expected), &document);
}

#[test]
fn what_is_broken_in_prose_is_never_read_in_part() {
    let text = "The plan:\n{\"version\": 1.0.0, \"tasks\": [{\"id\": \"1\", \"name\": \"a\"}]}\n";
    assert_eq!(complaints(text), ["2:16 expected `,` or `}`, found `.`"]);
    let text = "The plan:\n{\"tasks\": [{\"id\": \"1\", \"name\": \"a\"}], \"metadata\": {";
    assert_eq!(complaints(text).len(), 1);
    let text = format!("Old: {FILE} New: {FILE}");
    assert_eq!(
        complaints(&text),
        ["16:7 there is more than one list of tasks in this text (keep only one of them)"]
    );
}

#[test]
fn a_list_of_tasks_in_a_broken_object_is_not_all_there_was() {
    let list = r#"[{"id":"1","name":"a","status":"pending"}]"#;
    let texts = [
        format!("{{ version: \"1.0\", \"owner\": \"me\", \"tasks\": {list}, \"notes\": \"precious\"}}"),
        format!("{{ 'version': \"1.0\", \"tasks\": {list}, \"notes\": \"precious\"}}"),
        format!("// mine\n{{ // plan\n version: \"1.0\", \"tasks\": {list}, \"notes\": \"precious\"}}"),
        format!("\"version\": \"1.0\", \"tasks\": {list}, \"notes\": \"precious\"}}"),
        format!("\"owner\": \"me\",\n\"tasks\": {list}"),
        format!("{{\"tasks\": {list}}}, \"notes\": \"precious\"}}"),
        format!("{{\"tasks\": {list}}}\n{{notes: 'precious'}}"),
    ];
    for text in texts {
        assert_eq!(complaints(&text).len(), 1, "{text}");
    }
    let text = format!("{{ version: \"1.0\", \"tasks\": {list}}}");
    assert!(complaints(&text)[0].starts_with("1:3 "), "{:?}", complaints(&text));
}

#[test]
fn a_text_without_tasks_says_so() {
    let hint = "it should be `{\"version\": \"1.0\", \"tasks\": []}`; `windlass tasks init` creates one";
    assert_eq!(
        complaints("\n  I could not do it [1].\n"),
        [format!("2:3 there is no list of tasks in this text ({hint})")]
    );
    assert_eq!(complaints(""), ["1:1 the file is empty"]);
    assert_eq!(complaints("{\"tasks\": [}"), ["1:12 expected a value, found `}`"]);
}

#[test]
fn liberties_are_said_once_each() {
    let text = file(
        r##"{"id": 1, "title": "a", "status": "Done"},
{"id": "#2", "name": "b", "depends_on": 1, "status": "todo", "priority": null},
{"id": 3, "description": "Third\nthing", "dependencies": [1, " #2 "]}"##,
    );
    let (document, said) = lenient(&text);
    let expected = [
        "2:8 warning: an id is the number 1, which is read as \"1\" (and 3 more like it) (an id is a string)",
        "2:11 warning: `title` is read as `name`",
        "2:35 warning: status `Done` is read as `passing` (and 1 more like it)",
        "3:27 warning: `depends_on` is read as `dependencies`",
        "3:41 warning: expected a list of ids, found one id (put it in brackets)",
        "3:74 warning: `priority` is null, which is read as not given (leave the field out instead)",
        "4:1 warning: task `3` has no `name`: Windlass uses its description",
        "4:1 warning: task `3` has no `status`, which is read as `pending`",
    ];
    assert_eq!(said, expected);
    let told: Vec<(&str, &str, TaskStatus, usize)> = (document.tasks().tasks.iter())
        .map(|task| (task.id.as_str(), task.name.as_str(), task.status, task.dependencies.len()))
        .collect();
    let expected = [
        ("1", "a", TaskStatus::Passing, 0),
        ("2", "b", TaskStatus::Pending, 1),
        ("3", "Third", TaskStatus::Pending, 2),
    ];
    assert_eq!(told, expected);
    let document = document.set_status(&id("3"), TaskStatus::Passing).unwrap();
    assert!(document.text().contains("[1, \" #2 \"], \"status\": \"passing\"}"), "{}", document.text());
    assert!(
        document
            .set_status(&id("1"), TaskStatus::Failing)
            .unwrap()
            .text()
            .contains("{\"id\": 1, \"title\": \"a\", \"status\": \"failing\"}")
    );
}

#[test]
fn a_file_without_a_version_is_read_as_the_first() {
    let (_, said) = lenient("{\"tasks\": []}");
    assert_eq!(
        said,
        ["1:1 warning: `version` is missing, which is read as \"1.0\" (add `\"version\": \"1.0\"`)"]
    );
    let (_, said) = lenient("{\"version\": 1, \"tasks\": []}");
    assert_eq!(said, ["1:13 warning: version 1 is read as \"1.0\""]);
    let unknown = ["1:13 version `2.0` of `tasks.json` is not known (this windlass reads version 1.0)"];
    assert_eq!(complaints("{\"version\": \"2.0\", \"tasks\": []}"), unknown);
}

#[test]
fn a_wrong_type_is_an_error_where_it_stands_and_all_are_found() {
    let text = "{\"version\": [], \"metadata\": 3, \"tasks\": [
  {\"id\": [], \"name\": 7, \"description\": {}, \"status\": true, \"priority\": \"high\", \"dependencies\": {}, \"metadata\": []},
  {\"id\": 1.5, \"name\": \"x\", \"status\": \"maybe\", \"dependencies\": [true]},
  {\"name\": \"x\", \"id\": \"\"},
  {\"name\": \"x\"},
  {\"id\": \"9\"},
  {\"id\": \"9\", \"id\": \"8\"},
  \"do this\"
]}";
    let expected = [
        "1:13 `version` must be a string, found a list",
        "1:29 `metadata` must be an object, found a number",
        "2:10 an id must be a string, found a list",
        "2:22 `name` must be a string, found a number",
        "2:40 `description` must be a string, found an object",
        "2:54 `status` must be a string, found true or false",
        "2:72 `priority` must be a number, found a string",
        "2:96 `dependencies` must be a list, found an object",
        "2:112 `metadata` must be an object, found a list",
        "3:10 an id must be a string, found a number",
        "3:38 `status` must be one of `pending`, `in_progress`, `passing`, `failing`, `skipped`, found `maybe`",
        "3:64 a dependency must be a string, found true or false",
        "4:23 an id must not be empty",
        "5:3 this task has no `id` (give it an id of its own: `\"id\": \"1\"`)",
        "6:3 task `9` has no `name` (describe the task in a few words)",
        "7:10 two tasks have the id `9` (the other is in line 6)",
        "7:15 `id` is given twice (remove one of them)",
        "7:3 task `9` has no `name` (describe the task in a few words)",
        "8:3 a task must be an object, found a string",
    ];
    let mut found = complaints(text);
    found.sort();
    let mut sorted = expected.map(str::to_owned);
    sorted.sort();
    assert_eq!(found, sorted);
    assert_eq!(
        complaints("{}"),
        [
            "1:1 `tasks` is missing (add `\"tasks\": []`)",
            "1:1 warning: `version` is missing, which is read as \"1.0\" (add `\"version\": \"1.0\"`)"
        ]
    );
    assert_eq!(complaints("3"), ["1:1 the file must be an object, found a number"]);
}

#[test]
fn a_misspelt_field_is_kept_and_said() {
    let text = file(r#"{"id": "1", "name": "a", "status": "pending", "priorty": 1, "estimate": 3}"#);
    let (document, said) = lenient(&text);
    assert_eq!(
        said,
        ["2:47 warning: unknown field `priorty` is kept, but has no effect (did you mean `priority`?)"]
    );
    assert_eq!(document.tasks().tasks[0].other.len(), 2);
}

#[test]
fn two_tasks_of_one_id_cannot_be_told_apart() {
    let text = file(
        "{\"id\": \"1\", \"name\": \"a\", \"status\": \"pending\"},\n{\"id\": \"#1\", \"name\": \"b\", \"status\": \"pending\"}",
    );
    assert_eq!(complaints(&text), ["3:8 two tasks have the id `1` (the other is in line 2)"]);
}

#[test]
fn of_very_many_flaws_all_are_counted() {
    let tasks: Vec<String> = (0..500)
        .map(|n| format!(r#"{{"id": "a{n}", "name": "a", "status": "pending", "dependencies": ["x{n}"]}}"#))
        .collect();
    let said = flaws_of(&file(&tasks.join(",\n")));
    assert_eq!(said.last().unwrap(), "warning: 450 more problems are not shown");
}

#[test]
fn flaws_are_said_with_their_place_and_the_file_can_be_used() {
    let text = file(
        r#"{"id": "logout", "name": "a", "status": "pending", "dependencies": ["logn", "logut"]},
{"id": "login", "name": "b", "status": "pending", "dependencies": ["login"]},
{"id": "3", "name": "c", "status": "pending", "dependencies": ["4"]},
{"id": "4", "name": " ", "status": "pending", "dependencies": ["3"]}"#,
    );
    fine(&text);
    let expected = [
        "2:69 task `logout` waits for `logn`, which is not in the file (did you mean `login`?)",
        "2:77 task `logout` waits for `logut`, which is not in the file",
        "3:68 task `login` waits for itself",
        "4:8 tasks wait for each other: 3 -> 4 -> 3 (remove one of these dependencies)",
        "5:21 task `4` has no name",
    ];
    assert_eq!(flaws_of(&text), expected);
}
