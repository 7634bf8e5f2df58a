//! Numbers that come from inputs and outputs.

use crate::place::{Place, say};
use serde_json::json;

fn place(document: &str) -> Place {
    let place = Place::with_settings("");
    place.script(json!({"default": {"steps": [say("Fine.")]}}));
    let name = document.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
    place.sealed.write(format!("repo/.windlass/workflows/{name}.yaml"), document);
    place
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
