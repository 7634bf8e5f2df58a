//! Numbers that come from inputs and outputs.

use crate::place::Place;
use serde_json::json;

fn place(document: &str) -> Place {
    Place::with_documents(&[document])
}

const ROUNDS: &str = r#"
name: rounds
inputs:
  rounds: { type: integer, default: 2, minimum: 1, maximum: 4 }
nodes:
  - loop: { max: inputs.rounds }
    do:
      - { id: work, prompt: "Round {{ iteration }}" }
"#;

#[test]
fn an_input_gives_the_number_of_iterations() {
    let place = place(ROUNDS);
    place.go(&["run", "--workflow", "rounds", "--json"]).assert_ended(0, "completed", "all_done", 2);
    let ran = place.go(&["run", "--workflow", "rounds", "--input", "rounds=3", "--json"]);
    ran.assert_ended(0, "completed", "all_done", 3);
    let refused = place.go(&["run", "--workflow", "rounds", "--input", "rounds=5"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("input `rounds` must be from 1 to 4, and is `5`"), "{refused}");
}

#[test]
fn the_worst_case_uses_the_bound() {
    let place = place(ROUNDS);
    let shown = place.go(&["workflow", "show", "rounds"]);
    assert!(shown.stdout.contains("4 turns"), "{shown}");
}

#[test]
fn a_number_beyond_its_bound_fails_the_node_with_the_reason() {
    let document = r#"
name: far
nodes:
  - { id: count, shell: printf 7 }
  - loop: { max: { from: outputs.count.text | int, at_most: 5 } }
    do:
      - { id: work, prompt: never }
"#;
    let place = place(document);
    let ran = place.go(&["run", "--workflow", "far", "--json"]);
    ran.assert_ended(4, "failed", "template", 0);
    let why = "`loop.max` must be at most 5, and is 7 (`outputs.count.text | int`)";
    assert_eq!(ran.finished()["detail"], why);
}

#[test]
fn a_called_workflow_refuses_a_number_outside_its_range() {
    let place = place(ROUNDS);
    let outer = "name: outer\ninputs: { n: { type: integer, default: 9 } }\nnodes:\n  - { workflow: rounds, with: { rounds: \"{{ inputs.n }}\" } }\n";
    place.sealed.write("repo/.windlass/workflows/outer.yaml", outer);
    let ran = place.go(&["run", "--workflow", "outer", "--json"]);
    ran.assert_ended(4, "failed", "template", 0);
    let why = ran.finished()["detail"].as_str().unwrap().to_owned();
    assert!(why.contains("but it must be from 1 to 4"), "{why}");
}

const CHOSEN: &str = r#"
name: chosen
inputs:
  agent: { choices: [sim, claude], default: sim }
  minutes: { type: integer, default: 5 }
settings: { driver: inputs.agent, timeout: { from: inputs.minutes * 60, at_most: 1h } }
nodes:
  - { id: work, prompt: Do it. }
"#;

#[test]
fn an_input_chooses_the_driver_and_the_time_of_a_run() {
    let place = place(CHOSEN);
    let ran = place.go(&["run", "--workflow", "chosen", "--json"]);
    ran.assert_ended(0, "completed", "turn_done", 1);
    let missing = place.go(&["run", "--workflow", "chosen", "--input", "agent=claude"]);
    assert_eq!(missing.code, 4, "{missing}");
    assert!(missing.stderr.contains("claude") && missing.stderr.contains("hint: npm install"), "{missing}");
    let wrong = place.go(&["run", "--workflow", "chosen", "--input", "agent=sing"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("must be one of sim, claude"), "{wrong}");
    let long = place.go(&["run", "--workflow", "chosen", "--input", "minutes=90"]);
    let why = "the `timeout` of workflow `chosen` must be at most 1h, and is 5400";
    assert!(long.code == 2 && long.stderr.contains(why), "{long}");
    assert!(place.prompts().len() == 1, "the refused runs started nothing");
}

#[test]
fn a_called_workflow_gets_its_driver_and_its_time_from_its_inputs() {
    let place = place(CHOSEN);
    let outer =
        |with: &str| format!("name: outer\nnodes:\n  - {{ id: inner, workflow: chosen, with: {with} }}\n");
    let go = |with: &str| {
        place.sealed.write("repo/.windlass/workflows/outer.yaml", outer(with));
        place.go(&["run", "--workflow", "outer", "--json"])
    };
    let ran = go("{ agent: sim, minutes: 2 }");
    assert_eq!((ran.code, place.prompts().len()), (0, 1), "{ran}");
    let ran = go("{ agent: claude }");
    assert_eq!((ran.code, &ran.finished()["reason"]), (4, &json!("prepare_failed")), "{ran}");
    assert!(ran.finished()["detail"].as_str().unwrap().contains("claude"), "{ran}");
    let ran = go("{ minutes: 61 }");
    assert_eq!((ran.code, &ran.finished()["reason"]), (4, &json!("template")), "{ran}");
    assert_eq!(
        ran.finished()["detail"],
        "the `timeout` of workflow `chosen` must be at most 1h, and is 3660"
    );
}

#[test]
fn a_run_that_times_out_while_a_run_within_it_works_can_continue_with_it() {
    let document = |name: &str, node: &str| format!("name: {name}\nnodes:\n  - {{ id: k, {node} }}\n");
    let place = place(&document("outer", "workflow: inner"));
    let inner = document("inner", "shell: test -e go || sleep 60, idempotent: true");
    place.sealed.write("repo/.windlass/workflows/inner.yaml", inner);
    let ran = place.go(&["run", "--workflow", "outer", "--timeout", "1s", "--json"]);
    assert_eq!((ran.code, &ran.finished()["reason"]), (6, &json!("timeout")), "{ran}");
    place.sealed.write("repo/go", "");
    let again = place.go(&["resume", ran.run(), "--budget", "time=+1h", "--json"]);
    assert_eq!((again.code, &again.finished()["status"]), (0, &json!("completed")), "{again}");
}
