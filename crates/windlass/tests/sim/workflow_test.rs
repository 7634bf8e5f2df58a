//! `windlass workflow test`: results from stubs, decisions of the engine, and expectations that can fail.

use crate::place::{Place, Ran};
use serde_json::json;

const FIX: &str = r#"name: fix
inputs:
  level: { type: text, default: fast, choices: [fast, full] }
nodes:
  - { id: gate, shell: "touch ran-for-real; make test", on_failure: continue }
  - { id: plan, when: outputs.gate.failed, prompt: "plan {{ input }} ({{ inputs.level }})" }
  - id: cycles
    loop: { until: outputs.review.value.ok, max: 3 }
    do:
      - { id: work, prompt: work, retry: 1 }
      - id: review
        prompt: review
        schema: { type: object, required: [ok], properties: { ok: { type: boolean } } }
  - { id: ship, when: inputs.level == "full", shell: ship }
"#;

const REJECTS: &str = r#"test: reviewer-rejects
workflow: fix
input: the parser
inputs: { level: full }
nodes:
  gate: { exit_code: 1 }
  review: [{ value: { ok: false } }, { value: { ok: true } }]
expect: { status: completed, reason: all_done, ran: [plan, work@2, ship], not_ran: [work@3], turns: 5 }
"#;

fn place(tests: &str) -> Place {
    let place = Place::with_settings("");
    place.sealed.write("repo/.windlass/workflows/fix.yaml", FIX);
    place.sealed.write("repo/.windlass/workflows/fix.test.yaml", tests);
    place
}

/// Runs the tests where no agent CLI is installed.
fn run(place: &Place, arguments: &[&str]) -> Ran {
    let mut command = place.windlass(&[&["workflow", "test"], arguments].concat());
    command.env_remove("WINDLASS_SIM_SCRIPT").env_remove("WINDLASS_DRIVER");
    place.spawn(command).end()
}

#[test]
fn a_test_passes_without_an_agent_and_runs_no_command() {
    let place = place(REJECTS);
    let ran = run(&place, &[]);
    let expected = "ok      reviewer-rejects (.windlass/workflows/fix.test.yaml)\n1 test: all ok\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, expected), "{ran}");
    assert!(!place.repo().join("ran-for-real").exists());
    let listed = place.go(&["workflow", "check"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (0, ""), "a test is no workflow: {listed}");
}

#[test]
fn a_failed_test_says_what_was_expected_and_shows_the_walk() {
    let place = place(&format!(
        "{REJECTS}---\ntest: wrong\nworkflow: ./fix.yaml\ninput: x\nnodes: {{ review: {{ value: {{ ok: true }} }} }}\nexpect: {{ status: failed, ran: [plan], not_ran: [work], turns: 9 }}\n"
    ));
    let ran = run(&place, &[]);
    assert_eq!(ran.code, 4, "{ran}");
    for part in [
        "ok      reviewer-rejects",
        "failed  wrong (.windlass/workflows/fix.test.yaml)\n",
        "  expected status failed, got completed: everything is done\n",
        "  expected `plan` to run, but it did not: it was skipped, because `outputs.gate.failed` is false\n",
        "  expected `work` not to run, but it did as `work@1`\n",
        "  expected 9 turns, got 2\n",
        "  the walk, which ends as completed after 2 turns:\n    gate (shell)\n",
        "2 tests: 1 ok, 1 failed\n",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {ran}");
    }
    let json = run(&place, &["--json"]);
    let [ok, wrong, all] = json.lines.as_slice() else { panic!("{json}") };
    assert_eq!((&ok["data"]["ok"], &wrong["data"]["ok"]), (&json!(true), &json!(false)));
    assert_eq!(wrong["data"]["unmet"].as_array().unwrap().len(), 4);
    assert_eq!(wrong["data"]["rehearsal"]["turns"], 2);
    assert_eq!(all["data"], json!({"tests": 2, "failed": 1, "ok": false}));
}

#[test]
fn retries_and_loops_are_decided_as_in_a_run() {
    let place = place(
        r#"- test: retried
  workflow: fix
  input: x
  nodes: { work: [{ status: failed }, { status: completed }], review: { value: { ok: true } } }
  expect: { status: completed, ran: [work@1~2], turns: 3 }
- test: never-good
  workflow: fix
  input: x
  nodes: { review: { value: { ok: false } } }
  expect: { status: exhausted, ran: [review@3], not_ran: [ship] }
- test: agent-down
  workflow: fix
  input: x
  nodes: { work: { status: failed } }
  expect: { status: failed, reason: agent_failed, not_ran: [review] }
"#,
    );
    let ran = run(&place, &[]);
    assert_eq!(ran.code, 0, "{ran}");
    let listed = run(&place, &["--list"]);
    assert_eq!(listed.stdout.lines().count(), 3, "{listed}");
    assert!(listed.stdout.starts_with("retried"), "{listed}");
    let one = run(&place, &["--filter", "never"]);
    assert!(
        one.code == 0 && one.stdout.contains("never-good") && one.stdout.ends_with("1 test: all ok\n"),
        "{one}"
    );
    let none = run(&place, &["--filter", "nothing"]);
    assert!(none.code == 2 && none.stderr.contains("retried, never-good, agent-down"), "{none}");
}

#[test]
fn mistakes_in_a_test_are_errors_with_their_line_and_nothing_is_walked() {
    let one = |rest: &str| format!("test: one\nworkflow: fix\ninput: x\n{rest}\n");
    let cases = [
        (one("expect: {}"), "a test that cannot fail", ":4:9"),
        (one(""), "a test that cannot fail", ":1:1"),
        (one("expect: { state: completed }"), "`expect` has no key `state`", ":4:11"),
        (one("expect: { ran: [shipp] }"), "workflow `fix` has no node `shipp`", ":4:17"),
        (one("expect: { not_ran: [sihp@2] }"), "did you mean `ship`?", ":4:21"),
        (one("expect: { not_ran: [gate@2] }"), "`gate@2` never runs: `gate` is in no loop", ":4:21"),
        (one("expect: { not_ran: [work@4] }"), "`cycles` has at most 3 iterations", ":4:21"),
        (one("expect: { ran: [work@2], not_ran: [work] }"), "`work@2` is in `ran`", ":4:36"),
        (one("nodes: { reviw: {} }\nexpect: { turns: 1 }"), "did you mean `review`?", ":4:10"),
        (one("nodes: { review: { value: 1 } }\nexpect: { turns: 1 }"), "does not fit its schema", ":4:27"),
        (one("inputs: { level: deep }\nexpect: { turns: 1 }"), "must be one of fast, full", ":1:1"),
        (one("expect: { turns: 1 }").replace("workflow: fix", "workflow: fixx"), "fixx", ":1:1"),
        (one("expect: { turns: 1 }").replace("test: one\n", ""), "the test has no `test`", ":1:1"),
        ("# nothing\n".to_owned(), "the file has no tests", ":1:1"),
    ];
    for (text, message, place_in_file) in cases {
        let place = place(&text);
        let ran = run(&place, &[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{text}: {ran}");
        for part in [message, &format!("fix.test.yaml{place_in_file}")] {
            assert!(ran.stderr.contains(part), "{text}: {part}: {ran}");
        }
    }
}

/// A folder of documents that run each other, outside of the workflows of the project.
fn folder_of_documents() -> Place {
    let place = place(REJECTS);
    let write = |name: &str, text: &str| place.sealed.write(format!("repo/mine/{name}"), text);
    write("outer.yaml", "name: outer\nnodes:\n  - { id: call, workflow: inner }\n");
    write(
        "other.yaml",
        "name: inner\nnodes:\n  - { id: deep, workflow: fix, with: { input: x, level: fast } }\n",
    );
    write("fix.yml", "name: fix\ninputs:\n  level: {}\nnodes:\n  - { id: own, shell: 'true' }\n");
    write("compose.yaml", "name: inner\nservices: {}\n");
    write("notes.yaml", "nodes: [ broken\n");
    write(
        "inner.test.yaml",
        "test: calls\nworkflow: ./outer.yaml\nexpect: { ran: [call/deep/own], turns: 0 }\n",
    );
    place
}

#[test]
fn a_file_runs_the_documents_in_its_folder_before_those_of_the_project() {
    let place = folder_of_documents();
    let ran = run(&place, &["mine"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran}");
    assert!(ran.stdout.ends_with("1 test: all ok\n"), "{ran}");
    let checked = place.go(&["workflow", "check", "mine/outer.yaml"]);
    assert_eq!((checked.code, checked.stdout.as_str()), (0, "outer: ok\n"), "{checked}");
    let walked = place.go(&["run", "--workflow", "mine/outer.yaml", "--dry-run"]);
    assert!(walked.code == 0 && walked.stdout.contains("own"), "{walked}");
    let done = place.go(&["run", "--workflow", "mine/outer.yaml", "--json"]);
    assert_eq!(done.code, 0, "{done}");
    // The project's own workflow still runs by its name.
    let by_name = place.go(&["run", "--workflow", "fix", "x", "--dry-run"]);
    assert!(by_name.code == 0 && by_name.stdout.contains("gate"), "{by_name}");
    let graph = place.go(&["workflow", "graph", "mine/outer.yaml"]);
    assert_eq!(graph.code, 0, "{graph}");
}

#[test]
fn a_broken_document_in_the_folder_of_a_file_is_not_replaced_by_another() {
    let place = folder_of_documents();
    place.sealed.write("repo/mine/fix.yml", "name: fix\nnodes:\n  - { id: own, shel: 'true' }\n");
    for arguments in
        [&["workflow", "test", "mine"][..], &["run", "--workflow", "mine/outer.yaml", "--dry-run"]]
    {
        let ran = place.go(arguments);
        assert_eq!(ran.code, 3, "{ran}");
        assert!(ran.stderr.contains("mine/fix.yml:3:"), "{ran}");
    }
}

#[test]
fn tests_are_found_by_file_by_folder_and_below_the_workflows() {
    let place = place(REJECTS);
    place.sealed.write("repo/.windlass/workflows/more/deep.test.yml", REJECTS.replace("reviewer", "deep"));
    place.sealed.write("repo/elsewhere/a.test.yaml", REJECTS.replace("reviewer", "else"));
    assert!(run(&place, &[]).stdout.ends_with("2 tests: all ok\n"));
    assert!(run(&place, &["elsewhere"]).stdout.ends_with("1 test: all ok\n"));
    assert!(run(&place, &["elsewhere", "elsewhere/a.test.yaml"]).stdout.ends_with("1 test: all ok\n"));
    let none = run(&place, &["nowhere"]);
    assert!(none.code == 2 && none.stderr.contains("there is no file or folder"), "{none}");
    std::fs::create_dir(place.repo().join("empty")).unwrap();
    let empty = run(&place, &["empty"]);
    assert!(empty.code == 2 && empty.stderr.contains("NAME.test.yaml"), "{empty}");
}

#[test]
fn a_test_without_what_its_workflow_needs_hears_what_to_write_in_the_test() {
    for (inputs, why) in [
        ("", "workflow `fix` needs an input"),
        ("input: x\ninputs: { nobody: 1 }\n", "nobody"),
        ("input: x\ninputs: { level: slow }\n", "slow"),
    ] {
        let place = place(&format!("test: t\nworkflow: fix\n{inputs}expect: {{ status: completed }}\n"));
        let ran = run(&place, &[]);
        assert_eq!(ran.code, 3, "{ran}");
        for part in [why, "cannot be planned", "give the test what the workflow needs: `input: TEXT`"] {
            assert!(ran.stderr.contains(part), "{part}: {ran}");
        }
        assert!(!ran.stderr.contains("windlass run") && !ran.stderr.contains("--input"), "{ran}");
    }
}
