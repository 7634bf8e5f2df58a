//! Workflows that are run from a workflow.

use serde_json::json;

use super::*;

/// `outer` runs `middle` twice and `inner` once, deep in a block; `middle` runs `inner`, too.
fn nested() -> Place {
    let place = Place::new();
    place.document(
        "outer",
        "nodes:\n  - { id: m1, workflow: middle, with: { n: '1' } }\n  - { id: m2, workflow: middle, with: { n: '2' } }\n  - if: 'input'\n    then:\n      - workflow: inner\n",
    );
    place.document(
        "middle",
        "inputs:\n  n: { type: integer, required: true }\n  t: { type: text, default: d }\nsettings: { model: of-middle, timeout: 2h }\nbudget: { turns: 6 }\nnodes:\n  - { id: a, prompt: '{{ inputs.n }}{{ inputs.t }}', turns: { max: 4 } }\n  - workflow: inner\n",
    );
    place.document("inner", "nodes:\n  - { id: a, prompt: x }\n");
    place
}

#[test]
fn every_workflow_that_can_be_reached_has_its_orders_once() {
    let place = nested();
    let plan = place.plan(&place.run("outer"));
    assert_eq!(plan.spec.others.keys().collect::<Vec<_>>(), ["inner", "middle"]);
    let middle = &plan.spec.others["middle"];
    assert_eq!(middle.inputs, [("n".to_owned(), json!(0)), ("t".to_owned(), json!("d"))].into());
    assert_eq!(session_settings(middle, "a").driver.model.as_deref(), Some("of-middle"));
    assert_eq!(session_settings(middle, "a").rules.as_ref().unwrap().max_iterations, 4);
    assert_eq!((middle.limits.run_ms, middle.budget.turns), (Some(7_200_000), Some(6)));
    for other in plan.spec.others.values() {
        assert_eq!((other.input.as_str(), other.seed.as_str(), &other.parent), ("", "", &None));
        assert!(other.others.is_empty());
        assert_eq!(other.workspace, plan.spec.workspace);
    }
    assert!(plan.spec.sessions.is_empty());
    assert_eq!(plan.worst, "at most 11 turns");
}

#[test]
fn flags_reach_the_workflows_that_are_run_from_there() {
    let place = nested();
    let mut request = place.run("outer");
    request.flags.max_iterations = Some(1);
    request.flags.model = Some("of-flag".to_owned());
    request.flags.checks = vec!["t=true".to_owned()];
    let plan = place.plan(&request);
    let middle = &plan.spec.others["middle"];
    assert_eq!(session_settings(middle, "a").rules.as_ref().unwrap().max_iterations, 1);
    assert_eq!(session_settings(middle, "a").driver.model.as_deref(), Some("of-flag"));
    assert_eq!(middle.checks.len(), 1);
    assert_eq!(plan.worst, "at most 5 turns");
}

#[test]
fn workflows_that_run_each_other_are_refused_and_do_not_keep_the_plan() {
    let place = Place::new();
    place.document("a", "nodes:\n  - workflow: b\n");
    place.document("b", "nodes:\n  - workflow: c\n");
    place.document("c", "nodes:\n  - workflow: b\n");
    place.document("self", "nodes:\n  - workflow: self\n");
    let problem = place.refusal(&place.run("a"));
    assert_eq!(problem.class, UserErrorKind::Configuration);
    assert!(problem.text().contains("workflows run each other without end: b → c → b"), "{}", problem.text());
    assert!(place.refusal(&place.run("self")).text().contains("runs itself"));
}

#[test]
fn an_input_that_a_workflow_needs_must_be_given_by_who_runs_it() {
    let place = nested();
    place.document("top", "nodes:\n  - { id: m, workflow: middle }\n");
    place.document("above", "nodes:\n  - workflow: top\n");
    for name in ["top", "above"] {
        let problem = place.refusal(&place.run(name));
        assert_eq!(problem.class, UserErrorKind::Configuration);
        assert!(problem.text().contains("workflow `middle` needs input `n`"), "{}", problem.text());
        assert!(problem.text().contains("top.yaml:3:"), "{}", problem.text());
    }
    place.document("top", "nodes:\n  - { id: m, workflow: middle, with: { n: '1', m: x } }\n");
    let problem = place.refusal(&place.run("top"));
    assert!(problem.text().contains("workflow `middle` has no input `m`"), "{}", problem.text());
}

#[test]
fn any_workflow_can_be_told_what_to_work_on() {
    let place = Place::new();
    place.write("repo/.windlass/workflows/old.json", r#"{ "name": "old", "promptTemplate": "Do {input}" }"#);
    place.document(
        "w",
        "nodes:\n  - { workflow: old, with: { input: x } }\n  - { workflow: loop, with: { input: y } }\n",
    );
    let spec = place.plan(&place.run("w")).spec;
    assert_eq!(spec.others.keys().collect::<Vec<_>>(), ["loop", "old"]);
    assert_eq!(session_settings(&spec.others["old"], "turn").rules, None);
    assert!(session_settings(&spec.others["loop"], "loop").rules.is_some());
    place.document("w", "nodes:\n  - { workflow: old, with: { other: x } }\n");
    let problem = place.refusal(&place.run("w"));
    assert!(problem.text().contains("workflow `old` has no input `other`"), "{}", problem.text());
}

#[test]
fn of_two_with_one_name_the_first_is_run_and_checked() {
    let place = Place::new();
    place.document("w", "nodes:\n  - workflow: loop\n");
    place.document(
        "loop",
        "inputs:\n  n: { type: text, required: true }\nnodes:\n  - { id: mine, prompt: '{{ inputs.n }}' }\n",
    );
    assert!(place.refusal(&place.run("w")).text().contains("workflow `loop` needs input `n`"));
    place.document("w", "nodes:\n  - { workflow: loop, with: { n: x } }\n");
    let spec = place.plan(&place.run("w")).spec;
    assert_eq!(session_settings(&spec.others["loop"], "mine").rules, None);
    // `windlass loop` is the built-in one all the same.
    assert!(place.plan(&place.request(WantedWorkflow::Loop)).spec.only_session().unwrap().1.rules.is_some());
}

#[test]
fn a_mistake_in_a_workflow_that_is_run_from_there_is_told_as_its_own() {
    let place = Place::new();
    place.document("w", "nodes:\n  - workflow: sub\n");
    place.document("sub", "nodes:\n  - promt: x\n");
    let problem = place.refusal(&place.run("w"));
    assert!(problem.text().contains("promt") && problem.text().contains("sub.yaml:3:"), "{}", problem.text());
    place.document("sub", "nodes:\n  - skill: nosuch\n");
    let problem = place.refusal(&place.run("w"));
    assert!(problem.text().contains("there is no skill `nosuch`"), "{}", problem.text());
    assert!(problem.text().contains("sub.yaml:3:"), "{}", problem.text());
}

#[test]
fn on_a_terminal_a_workflow_that_nobody_named_or_trusts_is_left_out_with_a_warning() {
    let place = Place::new();
    place.document("tasks", "nodes:\n  - { id: own, shell: touch made }\n");
    let request = RunRequest { has_terminal: true, ..place.request(WantedWorkflow::Tasks) };
    let own = |request: &RunRequest| {
        let plan = place.plan(request);
        (plan.spec.body[0].id.to_string(), plan.warning_texts().join("\n"))
    };
    let (first, warnings) = own(&request);
    assert_ne!(first, "own");
    for words in [
        "workflow `tasks` of this repository needs your trust",
        "tasks.yaml",
        "left out, and the built-in workflow `tasks` runs",
        "`windlass trust`",
    ] {
        assert!(warnings.contains(words), "{words}: {warnings}");
    }
    place.write("config/workflows/tasks.yaml", "name: tasks\nnodes:\n  - { id: user, shell: 'true' }\n");
    let (first, warnings) = own(&request);
    assert_eq!(first, "user");
    assert!(warnings.contains("left out, and the user workflow `tasks` runs"), "{warnings}");
    assert_eq!(own(&RunRequest { has_terminal: true, ..place.run("tasks") }).0, "own");
    let problem = place.refusal(&place.request(WantedWorkflow::Tasks));
    assert_eq!(problem.class, UserErrorKind::Refused);
    trust::review(&place.home, &request.cwd).unwrap().grant(&place.home).unwrap();
    let (first, warnings) = own(&request);
    assert_eq!((first.as_str(), warnings.contains("trust")), ("own", false), "{warnings}");
    assert_eq!(own(&place.request(WantedWorkflow::Tasks)).0, "own");
}
