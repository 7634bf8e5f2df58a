//! Tests for requests that the plan refuses before anything runs.

use super::*;

#[test]
fn nodes_that_do_not_run_yet_are_refused_with_their_place() {
    let place = Place::new();
    let deep = |node: &str| {
        format!("nodes:\n  - prompt: x\n  - check: all\n  - if: input\n    then:\n      - {node}\n")
    };
    for (word, node) in [
        ("review", "{ id: it, review: { max_cycles: 1 } }"),
        ("land", "{ id: it, land: true }"),
        ("pull_request", "{ id: it, pull_request: { title: t } }"),
    ] {
        place.document("w", &format!("checks: {{ t: 'true' }}\n{}", deep(node)));
        place.document("caller", "nodes:\n  - workflow: w\n");
        for name in ["w", "caller"] {
            let problem = place.refusal(&place.run(name));
            assert_eq!(problem.class, UserErrorKind::Configuration, "{word}");
            let expected = format!("node `it` cannot run yet: it is a `{word}` node");
            assert!(problem.text().contains(&expected), "{}", problem.text());
            assert!(problem.text().contains("w.yaml:8:"), "{}", problem.text());
        }
    }
}

#[test]
fn every_other_node_runs() {
    let place = Place::new();
    let text = r#"
checks: { t: "true" }
nodes:
  - prompt: x
  - { skill: commit }
  - { command: implement-task, args: x }
  - { agent: reviewer, prompt: x }
  - shell: "true"
  - check: all
  - { if: input, then: [{ shell: "true" }], else: [{ shell: "true" }] }
  - { loop: { max: 2 }, do: [{ shell: "true" }] }
  - { task_loop: { max: 2 }, do: [{ prompt: x }] }
  - { criteria_loop: { signal: S, max: 2 }, do: [{ prompt: x }] }
  - { parallel: {}, branches: { a: [{ shell: "true" }], b: [{ shell: "false" }] } }
  - workflow: loop
  - { ask: "?", default: yes }
  - wait: 1s
  - clear_context: true
"#;
    place.document("w", text);
    let plan = place.plan(&place.run("w"));
    let is_refused = |warning: &&String| warning.contains("run yet");
    assert_eq!(plan.warning_texts().iter().filter(is_refused).collect::<Vec<_>>(), Vec::<&String>::new());
    assert_eq!((plan.spec.body.len(), plan.spec.sessions.len()), (15, 6));
    assert_eq!(plan.spec.others.keys().collect::<Vec<_>>(), ["loop"]);
}

#[test]
fn sim_needs_no_script_and_is_told_apart_from_another_program() {
    let mut place = Place::new();
    place.home.env.retain(|(name, _)| name != "WINDLASS_SIM_SCRIPT");
    place.document("w", "nodes:\n  - { id: a, prompt: x }\n  - { id: b, prompt: x, driver: sim }\n");
    let plan = place.plan(&place.run("w"));
    assert_eq!(session_settings(&plan.spec, "b").driver.name, "sim");
    assert!(is_simulated(&place.home, &plan.spec));
    place.document("w", "nodes:\n  - { id: a, prompt: x }\n");
    assert!(!is_simulated(&place.home, &place.plan(&place.run("w")).spec));
    let mut other = place.run("w");
    other.flags.driver = Some("sim".to_owned());
    other.flags.agent_bin = Some(place.folder.path().join("bin/claude"));
    assert!(!is_simulated(&place.home, &place.plan(&other).spec));
}

#[test]
fn sim_in_the_format_of_a_cli_is_the_driver_of_that_cli() {
    let mut place = Place::new();
    place.home.env.push(("WINDLASS_SIM_FORMAT".to_owned(), "codex".to_owned()));
    place.document("w", "nodes:\n  - { id: a, prompt: x, driver: sim }\n");
    let plan = place.plan(&place.run("w"));
    let driver = &session_settings(&plan.spec, "a").driver;
    assert_eq!(
        (driver.name.as_str(), driver.words.as_slice()),
        ("codex", &["sim", "--as", "codex"].map(str::to_owned)[..])
    );
    assert!(is_simulated(&place.home, &plan.spec));
}

#[test]
fn a_dry_run_needs_no_agent() {
    let place = Place::new();
    fs::remove_file(place.folder.path().join("bin/claude")).unwrap();
    place.document("w", "nodes:\n  - { id: a, prompt: x }\n");
    assert_eq!(place.refusal(&place.run("w")).class, UserErrorKind::Agent);
    let dry = RunRequest { dry_run: true, ..place.run("w") };
    let plan = place.plan(&dry);
    let warning = "a run would be refused: the agent CLI `claude` of driver `claude` is not installed";
    assert!(plan.warning_texts().iter().any(|text| text.starts_with(warning)), "{:?}", plan.warning_texts());
    let mut unknown = dry;
    unknown.flags.driver = Some("emacs".to_owned());
    assert_eq!(place.refusal(&unknown).class, UserErrorKind::Configuration);
}

#[test]
fn a_text_that_cannot_be_made_is_found_before_the_run() {
    let place = Place::new();
    place.document("w", "nodes:\n  - { id: a, prompt: '{{ input | int }}' }\n");
    let problem = place.refusal(&place.run("w"));
    assert!(problem.text().starts_with("workflow `w`, node `a`: "), "{}", problem.text());
    // What is only known in the run is not looked for.
    place.document("w", "nodes:\n  - { id: a, prompt: '{{ run.id }} {{ input | int }}' }\n");
    place.plan(&place.run("w"));
    place.document("w", "nodes:\n  - { id: a, when: 'input == \"7\"', prompt: '{{ input | int }}' }\n");
    place.plan(&place.run("w"));
}

#[test]
fn only_documents_have_inputs() {
    let place = Place::new();
    place.write("repo/.windlass/workflows/old.json", r#"{ "name": "old", "promptTemplate": "x" }"#);
    for mut request in [place.run("old"), place.request(WantedWorkflow::Loop)] {
        request.inputs = vec![("a".to_owned(), "b".to_owned())];
        let problem = place.refusal(&request);
        assert_eq!(problem.class, UserErrorKind::Usage);
        assert!(problem.text().contains("has no input `a`"), "{}", problem.text());
    }
}
