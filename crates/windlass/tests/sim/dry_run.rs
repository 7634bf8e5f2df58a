//! `--dry-run`: it needs no agent, goes past every loop and into every branch, and does not hide a mistake.

use crate::place::{Place, Ran};
use serde_json::Value;

fn document(place: &Place, nodes: &str) {
    place.sealed.write("repo/.windlass/workflows/own.yaml", format!("name: own\nnodes:\n{nodes}"));
}

/// Rehearses the document, with an agent CLI that is not installed.
#[track_caller]
fn rehearse(place: &Place) -> Value {
    let mut command =
        place.windlass(&["run", "--workflow", "own", "--driver", "claude", "--dry-run", "--json"]);
    command.env_remove("WINDLASS_SIM_SCRIPT");
    let ran: Ran = place.spawn(command).end();
    assert_eq!(ran.code, 0, "{ran}");
    let [line] = ran.lines.as_slice() else { panic!("{ran}") };
    line["data"]["rehearsal"].clone()
}

/// Returns the steps as `NODE WHAT: TEXT`.
fn steps(rehearsal: &Value) -> Vec<String> {
    let acts = rehearsal["acts"].as_array().unwrap().iter();
    acts.map(|act| {
        let word = |key: &str| act[key].as_str().unwrap().to_owned();
        format!("{} {}: {}", word("node"), word("what"), word("text"))
    })
    .collect()
}

#[test]
fn no_agent_is_needed_and_the_plan_says_that_a_run_needs_one() {
    let place = Place::with_settings("");
    place.sealed.write("repo/tasks.json", r#"{"version": "1.0", "tasks": []}"#);
    for arguments in [&["loop", "x", "--dry-run"][..], &["tasks", "run", "--dry-run"]] {
        let ran = place.go(&[arguments, &["--driver", "claude"]].concat());
        assert_eq!(ran.code, 0, "{ran}");
        assert!(ran.stderr.contains("a run would be refused: the agent CLI `claude`"), "{ran}");
        let mut command = place.windlass(&[arguments, &["--driver", "sim"]].concat());
        command.env_remove("WINDLASS_SIM_SCRIPT");
        let ran = place.spawn(command).end();
        assert_eq!((ran.code, ran.stderr.contains("refused")), (0, false), "{ran}");
    }
}

#[test]
fn every_loop_is_walked_once_whatever_ends_it() {
    let place = Place::with_settings("");
    document(
        &place,
        r#"
  - id: fixing
    loop: { until: outputs.review.value.ok and iteration > 3, max: 50 }
    do:
      - id: review
        prompt: review it
        schema: { type: object, required: [ok], properties: { ok: { type: boolean } } }
  - { id: thrice, loop: { max: 3 }, do: [{ id: again, shell: echo again }] }
  - { id: signalled, criteria_loop: { signal: OVER, max: 9 }, do: [{ id: listen, prompt: listen }] }
  - { id: after, prompt: "{{ outputs.listen.text }}" }
"#,
    );
    let rehearsal = rehearse(&place);
    let steps = steps(&rehearsal);
    for step in [
        "fixing loops: until outputs.review.value.ok and iteration > 3 (taken as true after one iteration)",
        "thrice loops: and so on, 3 iterations in all",
        "again@1 runs: echo again",
        "after told: (the agent's answer)\nOVER",
    ] {
        assert!(steps.iter().any(|found| found == step), "{step}: {steps:#?}");
    }
    assert_eq!(steps.iter().filter(|step| step.contains(" round: ")).count(), 3, "{steps:#?}");
    assert_eq!((&rehearsal["outcome"]["status"], &rehearsal["turns"]), (&"completed".into(), &3.into()));
}

#[test]
fn both_branches_are_walked_with_those_inside_them() {
    let place = Place::with_settings("");
    document(
        &place,
        r#"
  - id: choice
    if: inputs is defined and 1 == 1
    then: [{ id: taken, shell: echo taken }]
    else:
      - id: inner
        if: 1 == 2
        then: [{ id: deep, prompt: deep }]
        else: [{ id: other, workflow: child }]
  - { id: last, shell: echo last }
"#,
    );
    place.sealed.write(
        "repo/.windlass/workflows/child.yaml",
        "name: child\nnodes:\n  - if: 1 == 1\n    then: [{ id: a, shell: echo a }]\n    else: [{ id: b, shell: echo b }]\n",
    );
    let rehearsal = rehearse(&place);
    let steps: Vec<String> =
        steps(&rehearsal).into_iter().filter(|step| !step.contains(" begins: ")).collect();
    assert_eq!(
        steps,
        [
            "taken runs: echo taken",
            "choice otherwise: otherwise, if the condition is false:",
            "other starts: a run of `child`",
            "a runs: echo a",
            "if otherwise: otherwise, if the condition is false:",
            "b runs: echo b",
            "inner otherwise: otherwise, if the condition is true:",
            "deep told: deep",
            "last runs: echo last",
        ]
    );
    assert_eq!(rehearsal["turns"], 0, "the run itself takes one branch");
}

#[test]
fn a_task_has_all_fields_and_only_its_agent_reports_a_status() {
    let place = Place::with_settings("");
    document(
        &place,
        r#"
  - { id: before, prompt: before }
  - task_loop: { max: 3 }
    do:
      - { id: work, prompt: "{{ task.id }} {{ task.description }} {{ task.dependencies }} {{ task.metadata }}" }
  - { id: after, prompt: "{{ outputs.before.text }}" }
"#,
    );
    let rehearsal = rehearse(&place);
    let steps = steps(&rehearsal);
    assert!(steps.iter().any(|step| step.starts_with("work@1 told: 1 its description [] {}")), "{steps:#?}");
    assert!(steps.iter().any(|step| step == "after told: (the agent's answer)"), "{steps:#?}");
    assert_eq!(rehearsal["outcome"]["status"], "completed", "{steps:#?}");
}

#[test]
fn a_template_that_cannot_be_rendered_is_never_completed() {
    let place = Place::with_settings("");
    let broken = r#"prompt: "{{ outputs.first.text | int }}""#;
    let nodes = [
        format!("  - {{ id: bad, {broken} }}\n"),
        format!("  - {{ id: bad, {broken}, on_failure: continue }}\n"),
        format!("  - {{ task_loop: {{ max: 3 }}, do: [{{ id: bad, {broken} }}] }}\n"),
    ];
    for node in nodes {
        document(&place, &format!("  - {{ id: first, shell: 'true' }}\n{node}"));
        let rehearsal = rehearse(&place);
        assert_eq!(rehearsal["outcome"]["status"], "failed", "{node}: {rehearsal}");
        assert!(steps(&rehearsal).iter().any(|step| step.contains("ends: failed: ")), "{node}");
    }
}

#[test]
fn the_arguments_of_a_command_are_filled_in() {
    let place = Place::with_settings("");
    place
        .sealed
        .write("repo/.claude/commands/tell.md", "---\ndescription: d\n---\nTell $ARGUMENTS, $0 first!\n");
    document(&place, "  - { id: a, command: tell, args: 'me {{ 1 + 1 }}' }\n  - { id: b, shell: 'true' }\n");
    let steps = steps(&rehearse(&place));
    assert!(steps.iter().any(|step| step == "a told: Tell me 2, me first!"), "{steps:#?}");
    let ran = place.go(&["run", "--command", "tell", "them all", "--dry-run"]);
    assert!(ran.stdout.contains("prompt\n  Tell them all, them first!\n"), "{ran}");
}
