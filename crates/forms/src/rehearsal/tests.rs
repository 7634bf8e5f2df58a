//! Stub files and test files: what they mean, and where their mistakes are.

use serde_json::json;
use windlass_core::engine::rehearsal::{Expectation, Stub, StubField, StubProblem, StubStatus};
use windlass_core::run::FinalStatus;

use super::*;

/// The mistakes of a text, as `LINE: MESSAGE (HINT)`.
fn mistakes(found: Vec<crate::diagnostic::Diagnostic>) -> Vec<String> {
    let line = |found: crate::diagnostic::Diagnostic| {
        let hint = found.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{}: {}{hint}", found.place.map_or(0, |place| place.line), found.message)
    };
    found.into_iter().map(line).collect()
}

#[test]
fn a_node_has_one_result_or_one_for_each_start() {
    let text = "
plan: { text: do it }
gate: { exit_code: 1, stdout: red }
review:
  - value: { ok: false }
  - status: completed
go: { answer: yes }
each: { tasks: [{ name: one }, { id: 7 }] }
";
    let (file, found) = read_stubs(text, "s.yaml");
    assert_eq!(mistakes(found), Vec::<String>::new());
    let stubs = file.unwrap().stubs;
    assert_eq!(stubs["plan"], [Stub { text: Some("do it".into()), ..Stub::default() }]);
    let gate = Stub { exit_code: Some(1), stdout: Some("red".into()), ..Stub::default() };
    assert_eq!(stubs["gate"], [gate]);
    let first = Stub { value: Some(json!({"ok": false})), ..Stub::default() };
    let second = Stub { status: Some(StubStatus::Completed), ..Stub::default() };
    assert_eq!(stubs["review"], [first, second]);
    assert_eq!(stubs["go"], [Stub { answer: Some("yes".into()), ..Stub::default() }]);
    let tasks = vec![json!({"id": "1", "name": "one"}), json!({"id": "7"})];
    assert_eq!(stubs["each"], [Stub { tasks: Some(tasks), ..Stub::default() }]);
    let (json, found) = read_stubs(r#"{"plan": {"text": "do it"}}"#, "s.json");
    assert_eq!((json.unwrap().stubs.len(), found.len()), (1, 0));
}

#[test]
fn every_mistake_in_stubs_has_its_line() {
    let text = "
plan: { txt: do it }
gate: { exit_code: 300 }
review: []
work: { status: done }
plan: {}
go: yes
";
    let (file, found) = read_stubs(text, "s.yaml");
    assert!(file.is_none());
    assert_eq!(
        mistakes(found),
        [
            "2: the result of `plan` has no key `txt` (did you mean `text`?)",
            "3: `exit_code` must be a whole number from 0 to 255",
            "4: the list of results of `review` is empty (leave the node out, or give it a result)",
            "5: `status` must be one of completed, failed, found `done`",
            "6: `plan` occurs twice",
            "7: the result of `go` must be a mapping, found a string",
        ]
    );
}

#[test]
fn a_mistake_that_the_workflow_shows_has_its_place() {
    let (file, _) = read_stubs("a: {}\nreview:\n  - value: 1\n  - value: 2\n", "s.yaml");
    let file = file.unwrap();
    let problem =
        |result, field| StubProblem { node: "review".into(), result, field, text: "odd".into(), hint: None };
    let line = |problem| file.diagnose(&problem).place.unwrap().line;
    assert_eq!(line(problem(None, None)), 2);
    assert_eq!(line(problem(Some(1), Some(StubField::Value))), 4);
}

#[test]
fn tests_are_documents_or_items_of_a_list() {
    let text = r#"# the first
test: rejects
workflow: fix
input: the parser
inputs: { level: full, names: [a, b], deep: true }
nodes: { review: [{ value: { ok: false } }, { value: { ok: true } }] }
expect: { status: completed, reason: all done, ran: [plan, work@2], not_ran: [ship], turns: 5 }
---
- { test: two, workflow: ./x.yaml, expect: { turns: 0 } }
- { test: three, workflow: x, expect: { ran: [a] } }
"#;
    let (tests, found) = read_tests(text, "fix.test.yaml");
    assert_eq!(mistakes(found), Vec::<String>::new());
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(names, ["rejects", "two", "three"]);
    let first = &tests[0];
    let pairs = [("level", "full"), ("names", "a"), ("names", "b"), ("deep", "true")];
    let pairs: Vec<(String, String)> = pairs.map(|(name, text)| (name.into(), text.into())).into();
    assert_eq!((&first.workflow, &first.input, &first.inputs), (&"fix".into(), &"the parser".into(), &pairs));
    assert_eq!(first.nodes.stubs["review"].len(), 2);
    let expect = Expectation {
        status: Some(FinalStatus::Completed),
        reason: Some("all done".into()),
        ran: vec!["plan".into(), "work@2".into()],
        not_ran: vec!["ship".into()],
        turns: Some(5),
    };
    assert_eq!(first.expect, expect);
}

#[test]
fn every_mistake_in_tests_has_its_line() {
    let text = "\
test: one
workflow: fix
expect: {}
---
test: two
nodes: { a: { txt: 1 } }
expect: { statsu: failed }
---
test: three
workflow: fix
expected: { turns: 1 }
---
test: four
workflow: fix
expect: { status: done, ran: x, not_ran: [], turns: -1 }
---
test: five
workflow: fix
expect: { turns: 1 }
---
test: five
workflow: fix
expect: { turns: 1 }
";
    let (_, found) = read_tests(text, "fix.test.yaml");
    let nothing = "a test that cannot fail: it expects nothing \
                   (say what must happen: `expect: { status: completed, ran: [NODE] }`)";
    assert_eq!(
        mistakes(found),
        [
            format!("3: {nothing}"),
            "5: the test has no `workflow` (name the workflow, or its file: `workflow: fix`)".into(),
            "6: the result of `a` has no key `txt` (did you mean `text`?)".into(),
            "7: `expect` has no key `statsu` (did you mean `status`?)".into(),
            format!("9: {nothing}"),
            "11: a test has no key `expected` (did you mean `expect`?)".into(),
            "15: `status` must be one of completed, failed, blocked, exhausted, found `done`".into(),
            "15: `ran` must be a list of nodes, found a string (write `ran: [NODE]`)".into(),
            "15: `not_ran` is empty (leave it out)".into(),
            "15: `turns` must be a whole number from 0 to 4294967295".into(),
            "21: two tests are called `five`".into(),
        ]
    );
    let (tests, found) = read_tests("# nothing\n", "x.test.yaml");
    assert_eq!((tests.len(), found.len()), (0, 1));
}

#[test]
fn an_anchor_of_another_document_is_one_mistake() {
    let text = "\
test: one
workflow: fix
input: &prd the parser
expect: { turns: 1 }
---
test: two
workflow: fix
input: *prd
nodes: { a: { text: x } }
expect: { turns: 1 }
";
    let (tests, found) = read_tests(text, "fix.test.yaml");
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(names, ["one"]);
    assert_eq!(
        mistakes(found),
        [
            "8: no value above has this anchor (an anchor holds within one document; write the tests as one list)"
        ]
    );
    let list = "\
- { test: one, workflow: fix, input: &prd the parser, expect: { turns: 1 } }
- { test: two, workflow: fix, input: *prd, expect: { turns: 1 } }
- { test: three, workflow: fix, input: *pdr, expect: { turns: 1 } }
";
    let (tests, found) = read_tests(list, "fix.test.yaml");
    let inputs: Vec<&str> = tests.iter().map(|test| test.input.as_str()).collect();
    assert_eq!(inputs, ["the parser", "the parser"]);
    assert_eq!(mistakes(found), ["3: no value above has this anchor (mark a value above it with `&NAME`)"]);
}
