//! Values, lists and guaranteed ends, in real runs.

use crate::place::{LIMIT, Place};
use rustix::process::Signal;
use serde_json::json;
use windlass_testkit::wait::until;

const FAILED: i32 = 4;

const VALUES: &str = r#"
name: values
inputs: { base: { type: text, default: main } }
settings: { shell: bash }
env: { DIR: "{{ run.artifacts }}", BASE: "{{ inputs.base }}" }
nodes:
  - id: find
    shell: "printf '[\"a b\", \"$(echo c)\"]'"
    schema: { type: array, items: { type: string } }
  - id: all
    each: { in: outputs.find.value, as: name, jobs: 2 }
    do:
      - id: one
        shell: "[[ -n $NAME ]] && cat > \"$DIR/$NAME.txt\" && echo \"$BASE $NAME\""
        env: { NAME: "{{ name }}" }
        stdin: "for {{ name }}; $(touch evil)"
  - id: bad
    shell: "false | cat"
    on_failure: continue
  - id: ask
    prompt: "Go"
    env: { ITEMS: "{{ outputs.all.value.items | map(attribute='text') | join(',') }}" }
finally:
  - shell: "echo \"$HOW\" > end.txt"
    env: { HOW: "{{ run.status }} {{ outputs.bad.exit_code | default('-') }}" }
"#;

const FAILS: &str = r#"
name: fails
nodes:
  - try:
      - fail: "no luck with {{ input }}"
    catch:
      - id: told
        shell: "cat > caught.txt"
        stdin: "{{ feedback }}"
  - fail: Three failures in a row.
finally:
  - shell: "echo \"$HOW\" >> end.txt"
    env: { HOW: "{{ run.status }}: {{ run.reason }}" }
"#;

#[test]
fn values_flow_through_commands_lists_and_agents() {
    let place = Place::playing(json!([
        {"steps": [{"bash": "echo \"$BASE|$ITEMS\" > agent.txt"}, {"finish": "done"}]}
    ]));
    place.sealed.write("repo/.windlass/workflows/values.yaml", VALUES);
    let checked = place.go(&["workflow", "check", "values"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""), "{checked}");
    let ran = place.go(&["run", "--workflow", "values", "--input", "base=trunk", "x"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(place.file("agent.txt"), "trunk|trunk a b,trunk $(echo c)\n");
    assert_eq!(place.file("end.txt"), "completed 1\n");
    assert!(!place.repo().join("evil").exists(), "no shell runs a value");
    let shown = place.go(&["show"]);
    assert!(shown.stdout.contains("a b.txt: 22 bytes"), "{shown}");
    let shown = place.go(&["show", "--json"]);
    assert!(shown.stdout.contains("/artifacts/$(echo c).txt"), "{shown}");
}

#[test]
fn a_failure_is_caught_and_told_and_finally_runs_at_the_end() {
    let place = Place::playing(json!([]));
    place.sealed.write("repo/.windlass/workflows/fails.yaml", FAILS);
    let ran = place.go(&["run", "--workflow", "fails", "it"]);
    assert_eq!(ran.code, FAILED, "{ran}");
    assert!(
        ran.stdout.contains("Three failures in a row.") || ran.stderr.contains("Three failures in a row."),
        "{ran}"
    );
    assert_eq!(place.file("caught.txt"), "`fail`: no luck with it");
    assert_eq!(place.file("end.txt"), "failed: Three failures in a row.\n");
}

#[test]
fn an_interrupted_run_has_not_ended_and_runs_finally_when_it_is_cancelled() {
    let place = Place::playing(json!([]));
    let document = r#"
name: slow
nodes:
  - shell: "echo $$ > begun.txt; exec sleep 600"
finally:
  - shell: "echo \"$HOW\" >> end.txt"
    env: { HOW: "{{ run.status }}" }
"#;
    place.sealed.write("repo/.windlass/workflows/slow.yaml", document);
    let mut going = place.start(&["run", "--workflow", "slow", "x", "--json"]);
    let run = going.run();
    place.file_exists("begun.txt");
    going.signal(Signal::INT);
    assert_eq!(going.end().code, 130);
    assert!(!place.repo().join("end.txt").exists(), "it can continue");
    let cancelled = place.go(&["cancel", &run]);
    assert_eq!(cancelled.code, 0, "{cancelled}");
    until(LIMIT, || place.repo().join("end.txt").exists());
    until(LIMIT, || place.go(&["show", &run, "--json"]).stdout.contains("\"cancelled\""));
    assert_eq!(place.file("end.txt"), "cancelled\n");
}
