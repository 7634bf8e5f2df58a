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
    let broken = r#"prompt: "{{ 1 // (outputs.first.text | length) }}""#;
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
        let goes_on = node.contains("continue");
        let past = if goes_on { "completed".into() } else { Value::Null };
        assert_eq!(rehearsal["run_outcome"]["status"], past, "{node}: {rehearsal}");
        let ran = place.go(&["run", "--workflow", "own", "--dry-run"]);
        let words = "(a run would continue past that, and end as completed)";
        assert_eq!(ran.stdout.contains(words), goes_on, "{ran}");
    }
}

#[test]
fn a_run_that_is_called_is_rehearsed_past_its_mistakes_too() {
    let place = Place::with_settings("");
    let inner = "name: inner\nnodes:\n  - id: first\n    shell: 'true'\n  - id: bad\n    on_failure: continue\n    shell: \"echo {{ 1 // (outputs.first.text | length) }}\"\n  - { id: more, shell: 'true' }\n";
    place.sealed.write("repo/.windlass/workflows/inner.yaml", inner);
    document(&place, "  - { id: call, workflow: inner }\n  - { id: after, shell: 'true' }\n");
    let rehearsal = rehearse(&place);
    assert!(steps(&rehearsal).contains(&"after runs: true".to_owned()), "{rehearsal}");
    assert_eq!(rehearsal["outcome"]["reason"], "template", "{rehearsal}");
    assert_eq!(rehearsal["run_outcome"]["status"], "completed", "{rehearsal}");
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

/// A gate, a plan for red work, and a loop that ends when the review is good.
const FIX: &str = r#"
  - { id: gate, shell: make test, on_failure: continue }
  - { id: plan, when: outputs.gate.failed, prompt: plan it }
  - id: cycles
    loop: { until: outputs.review.value.ok, max: 3 }
    do:
      - { id: work, prompt: "{{ outputs.review.value.why if outputs.review is defined else 'begin' }}" }
      - id: review
        prompt: review it
        schema:
          type: object
          required: [ok]
          properties: { ok: { type: boolean }, why: { type: string } }
  - { id: go, ask: Ship it?, choices: [yes, no] }
  - { id: ship, when: outputs.go.text == "yes", shell: "echo {{ outputs.gate.text }}" }
"#;

/// Rehearses the document with these flags.
fn with(place: &Place, flags: &[&str]) -> Ran {
    let mut command = place.windlass(&[&["run", "--workflow", "own", "--driver", "claude"], flags].concat());
    command.env_remove("WINDLASS_SIM_SCRIPT");
    place.spawn(command).end()
}

fn starts(rehearsal: &Value) -> Vec<String> {
    let acts = rehearsal["acts"].as_array().unwrap().iter();
    let begun = acts.filter(|act| act["what"] == "begins");
    begun.map(|act| act["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn stub_results_decide_loops_and_branches() {
    let place = Place::with_settings("");
    document(&place, FIX);
    place.sealed.write(
        "repo/s.yaml",
        r#"
gate: { exit_code: 2, stdout: red }
review: [{ value: { ok: false, why: too slow } }, { value: { ok: true } }]
go: { answer: no }
"#,
    );
    let ran = with(&place, &["--dry-run", "--stubs", "s.yaml", "--json"]);
    assert_eq!(ran.code, 0, "{ran}");
    let rehearsal = ran.lines[0]["data"]["rehearsal"].clone();
    let expected = ["gate", "plan", "cycles", "work@1", "review@1", "work@2", "review@2", "go"];
    assert_eq!(starts(&rehearsal), expected);
    let steps = steps(&rehearsal);
    for step in [
        "gate ends: failed: the command of `gate` failed: exit code 2",
        "work@2 told: too slow",
        "go asks: Ship it? (stub answer: no)",
        "ship skipped: `outputs.go.text == \"yes\"` is false",
    ] {
        assert!(steps.iter().any(|found| found == step), "{step}: {steps:#?}");
    }
    assert_eq!((&rehearsal["outcome"]["status"], &rehearsal["turns"]), (&"completed".into(), &5.into()));
}

#[test]
fn stub_results_of_a_single_session_are_walked_too() {
    let place = Place::with_settings("");
    document(&place, "  - { id: only, prompt: do it }\n");
    place.sealed.write("repo/s.json", r#"{"only": {"status": "failed"}}"#);
    let ran = with(&place, &["--dry-run", "--stubs", "s.json"]);
    assert!(ran.stdout.contains("the rehearsal ends as failed: "), "{ran}");
}

#[test]
fn mistakes_in_stub_results_are_found_before_anything_is_walked() {
    let place = Place::with_settings("");
    document(&place, FIX);
    let cases = [
        (
            "reviev: { text: x }\n",
            "workflow `own` has no node `reviev`",
            "s.yaml:1:1",
            "did you mean `review`?",
        ),
        (
            "\nreview: { value: { ok: maybe } }\n",
            "the value of `review` does not fit its schema: $.ok",
            ":2:18",
            "",
        ),
        ("gate: { exitcode: 1 }\n", "the result of `gate` has no key `exitcode`", ":1:9", "`exit_code`"),
        (
            "gate: { text: x }\n",
            "`gate` is a node of kind `shell`, which cannot have `text`",
            ":1:15",
            "stdout",
        ),
        (
            "cycles: { text: x }\n",
            "`cycles` is a node of kind `loop`, which has no result",
            ":1:1",
            "inside it",
        ),
        ("go: { answer: maybe }\n", "`maybe` is no answer to `go`", ":1:15", "yes, no"),
        ("gate: [\n", "error: ", "s.yaml", ""),
    ];
    for (text, message, place_in_file, hint) in cases {
        place.sealed.write("repo/s.yaml", text);
        let ran = with(&place, &["--dry-run", "--stubs", "s.yaml"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{text}: {ran}");
        for part in [message, place_in_file, hint] {
            assert!(ran.stderr.contains(part), "{part}: {ran}");
        }
    }
    let ran = with(&place, &["--dry-run", "--stubs", "none.yaml"]);
    assert!(ran.code == 2 && ran.stderr.contains("--stubs-init="), "{ran}");
    assert_eq!(with(&place, &["--stubs", "s.yaml"]).code, 2, "only with --dry-run");
}

#[test]
fn a_file_of_stub_results_is_printed_or_written_and_never_overwritten() {
    let place = Place::with_settings("");
    document(&place, FIX);
    let printed = with(&place, &["--stubs-init"]);
    assert_eq!(printed.code, 0, "{printed}");
    for part in ["# review (prompt); also: text, status", "review:\n  value:\n    ok: true", "answer: yes"] {
        assert!(printed.stdout.contains(part), "{part}: {printed}");
    }
    let written = with(&place, &["--stubs-init=s.yaml"]);
    assert_eq!((written.code, written.stdout.as_str()), (0, "s.yaml\n"), "{written}");
    let text = std::fs::read_to_string(place.repo().join("s.yaml")).unwrap();
    assert_eq!(text, printed.stdout);
    let again = with(&place, &["--stubs-init=s.yaml"]);
    assert!(again.code == 3 && again.stderr.contains("already exists"), "{again}");
    let used = with(&place, &["--dry-run", "--stubs", "s.yaml"]);
    assert!(used.stdout.contains("the rehearsal ends as completed after 2 turns"), "{used}");
    let meant = with(&place, &["--stubs-init", "other.yaml"]);
    assert!(meant.code == 2 && meant.stderr.contains("--stubs-init=other.yaml"), "{meant}");
}

#[test]
fn all_ways_come_to_every_node_and_say_what_breaks_on_the_way() {
    let place = Place::with_settings("");
    document(&place, FIX);
    let ran = with(&place, &["--dry-run", "--all-ways"]);
    assert_eq!(ran.code, 0, "{ran}");
    for part in
        ["if `gate` fails:\n", "plan (prompt)", "if `ship` is skipped:\n", "\nevery node is reached\n"]
    {
        assert!(ran.stdout.contains(part), "{part}: {ran}");
    }
    // The prompt cannot be written if the first node is skipped.
    document(
        &place,
        r#"
  - { id: a, when: 1 == 1, shell: "true" }
  - { id: b, prompt: "{{ 1 if outputs.a is defined else ('x' | int) }}" }
"#,
    );
    let ran = with(&place, &["--dry-run", "--all-ways", "--json"]);
    let rehearsal = &ran.lines[0]["data"]["rehearsal"];
    assert_eq!(rehearsal["outcome"]["status"], "completed", "{rehearsal}");
    assert_eq!(rehearsal["ways"][0]["because"], "if `a` is skipped");
    assert_eq!(rehearsal["ways"][0]["outcome"]["reason"], "template", "{rehearsal}");
    assert_eq!(rehearsal["missed"], serde_json::json!([]));
}

#[test]
fn a_node_that_no_run_reaches_is_listed_with_the_reason() {
    let place = Place::with_settings("");
    // The budget ends the run before its last node, on every way.
    document(&place, "  - { id: a, prompt: a }\n  - { id: b, prompt: b }\n  - { id: c, shell: 'true' }\n");
    let ran = with(&place, &["--dry-run", "--all-ways", "--budget", "turns=1"]);
    let why = "1 node not reached:\n  c: `b` ends before it: exhausted: the budget of 1 turn is spent\n";
    assert!(ran.stdout.ends_with(why), "{ran}");
}

#[test]
fn kinds_that_cannot_run_yet_are_walked_and_named() {
    let place = Place::with_settings("");
    document(
        &place,
        "  - { id: work, prompt: work }\n  - { id: judge, review: {} }\n  - { id: pr, pull_request: { title: '{{ outputs.judge.value.verdict }}' } }\n",
    );
    let ran = with(&place, &["--dry-run"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stderr.contains("a run would be refused: node `judge` cannot run yet"), "{ran}");
    assert!(ran.stdout.contains("stub: title: approve"), "{ran}");
    assert!(ran.stdout.contains("the rehearsal ends as completed"), "{ran}");
    let refused = place.go(&["run", "--workflow", "own", "--driver", "sim"]);
    refused.assert_refused(3, &["cannot run yet"]);
}

#[test]
fn the_plan_shows_the_settings_of_each_session_that_are_not_the_default() {
    let place = Place::with_settings("");
    document(
        &place,
        r#"
  - { id: plan, prompt: plan it, model: [haiku, sonnet], effort: high, tools: read }
  - { id: build, prompt: build it, model: opus, continue: plan }
  - { id: report, prompt: report it, tools: [] }
  - { id: plain, prompt: the rest }
"#,
    );
    let mut command = place.windlass(&["run", "--workflow", "own", "--driver", "claude", "--dry-run", "x"]);
    command.env_remove("WINDLASS_SIM_SCRIPT");
    let ran = place.spawn(command).end();
    for line in [
        "  plan (prompt): claude, model haiku, else sonnet, minimal, effort high, tools read",
        "  build (prompt): claude, model opus, minimal, continues plan",
        "  report (prompt): claude, minimal, no tools",
        "  plain (prompt): claude, minimal",
    ] {
        assert!(ran.stdout.lines().any(|told| told == line), "{line}: {ran}");
    }
}

#[test]
fn the_lines_of_items_that_run_at_once_name_their_item() {
    let place = Place::with_settings("");
    document(
        &place,
        "  - id: all\n    each: { in: [a, b], as: x, jobs: 2 }\n    do:\n      - { id: again, loop: { max: 3 }, do: [{ id: s, shell: 'true' }] }\n",
    );
    let ran = place.go(&["run", "--workflow", "own", "--dry-run"]);
    for line in ["again@1: iteration 1", "again@2: iteration 1", "again@2: and so on, 3 iterations in all"] {
        assert!(ran.stdout.lines().any(|shown| shown.trim() == line), "{line}: {ran}");
    }
}

#[test]
fn the_iterations_of_a_loop_are_computed_if_the_inputs_decide_them() {
    let place = Place::with_settings("");
    let document = "name: own\ninputs: { r: { type: integer, default: 2, maximum: 4 } }\nnodes:\n  - { loop: { max: inputs.r }, do: [{ id: n, shell: echo 3 }] }\n  - { loop: { max: { from: outputs.n.text | int, at_most: 7 } }, do: [{ shell: 'true' }] }\n";
    place.sealed.write("repo/.windlass/workflows/own.yaml", document);
    let said = |extra: &[&str]| {
        let ran = place.go(&[&["run", "--workflow", "own", "--dry-run"], extra].concat());
        let ends = ran.stdout.lines().filter(|line| line.contains("and so on, "));
        ends.map(|line| line.trim().trim_start_matches("and so on, ").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(said(&[]), ["2 iterations in all", "at most 7 iterations in all"]);
    assert_eq!(said(&["--input", "r=3"]), ["3 iterations in all", "at most 7 iterations in all"]);
}
