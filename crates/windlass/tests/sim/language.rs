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

#[test]
fn a_run_that_a_fail_node_ended_is_repeated_from_an_earlier_node() {
    let place = Place::playing(json!([]));
    let document = r#"
name: gate
nodes:
  - { id: probe, shell: test -e open, on_failure: continue, idempotent: true }
  - { id: stop, when: outputs.probe.failed, fail: closed }
  - shell: echo past > past.txt
"#;
    place.sealed.write("repo/.windlass/workflows/gate.yaml", document);
    let ran = place.go(&["run", "--workflow", "gate"]);
    assert_eq!(ran.code, FAILED, "{ran}");
    let shown = place.go(&["show", "--json"]).lines[0].clone();
    let run = shown["run"].as_str().unwrap().to_owned();
    let fork = format!("windlass fork {run} --at NODE");
    let all = ran.to_string();
    assert!(all.contains(&format!("repeat it from an earlier node: {fork}")), "{ran}");
    assert!(!all.contains("windlass resume"), "{ran}");
    assert_eq!(shown["data"]["resumable"], false);
    place.go(&["resume", &run]).assert_refused(2, &["would end again at once", &format!("`{fork}`")]);
    place.sealed.write("repo/open", "");
    let forked = place.go(&["fork", &run, "--at", "probe"]);
    assert_eq!((forked.code, place.file("past.txt").as_str()), (0, "past\n"), "{forked}");
}

#[test]
fn what_resume_can_continue_is_resumable() {
    let place = Place::playing(json!([]));
    let document = "name: red\nnodes: [{ shell: test -e open }]\n";
    place.sealed.write("repo/.windlass/workflows/red.yaml", document);
    assert_eq!(place.go(&["run", "--workflow", "red"]).code, FAILED);
    let resumable = || {
        let shown = place.go(&["show", "--json"]).lines[0]["data"]["resumable"].clone();
        assert_eq!(place.ps()[0]["data"]["resumable"], shown);
        shown
    };
    assert_eq!(resumable(), true);
    place.sealed.write("repo/open", "");
    assert_eq!(place.go(&["resume"]).code, 0);
    assert_eq!(resumable(), false);
}
