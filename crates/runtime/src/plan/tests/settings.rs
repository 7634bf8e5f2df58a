//! Tests for the settings of a session, by precedence, and for the rules of its loop.

use windlass_core::graph::workflow::{Budget, NodeKind, TurnLoop};
use windlass_core::looping::{DEFAULT_CONTINUE, DEFAULT_MARKER, DEFAULT_TRACKER, LoopRules, MarkerMatch};
use windlass_forms::workflow::{compile, parse_workflow_json};

use super::*;

/// Sessions at every depth: in the workflow, in a block of it, in a block of that, and one with
/// its own words.
const DEEP: &str = r#"
settings: { driver: claude, model: far, isolation: strict, timeout: 1h }
nodes:
  - { id: out, prompt: x }
  - loop: { max: 2 }
    model: near
    timeout: 10m
    do:
      - { id: mid, prompt: x }
      - if: "input == 'x'"
        driver: sim
        isolation: minimal
        then:
          - { id: deep, prompt: x }
          - { id: own, prompt: x, driver: claude, model: nearest, isolation: permissive, timeout: 2m }
        else:
          - parallel: { limit: 1 }
            branches:
              a:
                - { id: branch, prompt: x }
"#;

fn said(plan: &Plan, node: &str) -> (String, Option<String>, Isolation) {
    let session_settings = session_settings(&plan.spec, node);
    (session_settings.driver.name.clone(), session_settings.driver.model.clone(), session_settings.isolation)
}

fn are(driver: &str, model: &str, isolation: Isolation) -> (String, Option<String>, Isolation) {
    (driver.to_owned(), Some(model.to_owned()), isolation)
}

#[test]
fn the_nearest_word_counts_from_the_node_outwards() {
    let place = Place::new();
    place.document("w", DEEP);
    let plan = place.plan(&place.run("w"));
    assert_eq!(said(&plan, "out"), are("claude", "far", Isolation::Strict));
    assert_eq!(said(&plan, "mid"), are("claude", "near", Isolation::Strict));
    assert_eq!(said(&plan, "deep"), are("sim", "near", Isolation::Minimal));
    assert_eq!(said(&plan, "own"), are("claude", "nearest", Isolation::Permissive));
    assert_eq!(said(&plan, "branch"), are("sim", "near", Isolation::Minimal));
    assert_eq!(plan.spec.sessions.len(), 5);
    assert!(session_settings(&plan.spec, "own").driver.program.ends_with("/bin/claude"));
    assert!(!session_settings(&plan.spec, "deep").driver.program.ends_with("/bin/claude"));
}

#[test]
fn flags_and_then_variables_stand_over_every_node() {
    let mut place = Place::new();
    place.document("w", DEEP);
    place.variable("WINDLASS_DRIVER", "sim");
    place.variable("WINDLASS_MODEL", "of-variable");
    let by_variable = place.plan(&place.run("w"));
    let mut request = place.run("w");
    request.flags.driver = Some("claude".to_owned());
    request.flags.model = Some("of-flag".to_owned());
    let by_flag = place.plan(&request);
    for node in ["out", "mid", "deep", "own", "branch"] {
        let (driver, model, _) = said(&by_variable, node);
        assert_eq!((driver.as_str(), model.as_deref()), ("sim", Some("of-variable")), "{node}");
        let (driver, model, _) = said(&by_flag, node);
        assert_eq!((driver.as_str(), model.as_deref()), ("claude", Some("of-flag")), "{node}");
    }
}

#[test]
fn the_settings_say_what_nobody_else_says() {
    let place = Place::new();
    place.settings(
        "driver = \"sim\"\nmodel = \"of-settings\"\ntimeout = \"3h\"\n[agents.sim]\nargs = [\"--x\"]\n",
    );
    place.document("w", "nodes:\n  - { id: a, prompt: x }\n  - { id: b, prompt: x, driver: claude }\n");
    let plan = place.plan(&place.run("w"));
    let said = plan.warning_texts().join("\n");
    let spec = plan.spec;
    let (a, b) = (&session_settings(&spec, "a").driver, &session_settings(&spec, "b").driver);
    assert_eq!((a.name.as_str(), a.model.as_deref(), a.args.len()), ("sim", Some("of-settings"), 1));
    assert_eq!((b.name.as_str(), b.model.as_deref(), b.args.len()), ("claude", None, 0));
    assert!(
        said.contains("the setting `model` asks for model `of-settings`, which `claude` does not know"),
        "{said}"
    );
    assert_eq!(spec.limits.run_ms, Some(10_800_000));
}

#[test]
fn a_workflow_has_time_for_all_of_it_and_a_node_keeps_its_own() {
    let place = Place::new();
    place.settings("timeout = \"3h\"\n");
    place.document("w", DEEP);
    place.document("one", "nodes:\n  - { id: a, prompt: x, timeout: 5m }\n");
    let spec = place.plan(&place.run("w")).spec;
    assert_eq!(spec.limits.run_ms, Some(3_600_000));
    assert_eq!(spec.body[1].settings.timeout_ms, Some(600_000));
    let mut request = place.run("w");
    request.flags.timeout_ms = Some(7);
    assert_eq!(place.plan(&request).spec.limits.run_ms, Some(7));
    let one = place.plan(&place.run("one")).spec;
    assert_eq!((one.limits.run_ms, one.body[0].settings.timeout_ms), (Some(10_800_000), Some(300_000)));
}

#[test]
fn isolation_goes_up_with_one_warning_and_no_further_than_the_settings_let_it() {
    let place = Place::new();
    place.settings("isolation = \"minimal\"\n");
    let nodes = "nodes:\n  - { id: a, prompt: x, isolation: permissive }\n  - { id: b, prompt: x, isolation: permissive }\n  - { id: c, prompt: '{{ input }}', isolation: strict }\n";
    place.document("w", nodes);
    let plan = place.plan(&place.run("w"));
    let expected = "workflow `w` needs `permissive` isolation, so Windlass uses that instead of `minimal`";
    assert_eq!(plan.warning_texts(), [expected]);
    // Somebody asked for more than it needs.
    assert_eq!(session_settings(&plan.spec, "c").isolation, Isolation::Minimal);
    place.settings("isolation = \"minimal\"\nmax_isolation = \"minimal\"\n");
    let problem = place.refusal(&place.run("w"));
    assert_eq!(problem.class, UserErrorKind::Refused);
    let expected = "node `a` of workflow `w` wants `permissive` isolation, and `max_isolation` is `minimal`";
    assert_eq!(problem.text(), expected);
}

fn default_rules() -> LoopRules {
    LoopRules {
        prompt: String::new(),
        mode: LoopMode::Fresh,
        marker: Some(DEFAULT_MARKER.to_owned()),
        marker_match: MarkerMatch::Line,
        promise: None,
        signal: None,
        blocked_marker: None,
        max_iterations: 15,
        continue_message: DEFAULT_CONTINUE.to_owned(),
        tracker_body: DEFAULT_TRACKER.to_owned(),
        tracker_path: Some(String::new()),
        stuck_after: 5,
    }
}

#[test]
fn the_built_in_loop_has_the_usual_rules() {
    let place = Place::new();
    let plan = place.plan(&place.request(WantedWorkflow::Loop));
    let (step, session_settings) = plan.spec.only_session().unwrap();
    assert_eq!((step.id.as_str(), &session_settings.rules), ("loop", &Some(default_rules())));
    assert_eq!((plan.spec.workflow.as_str(), plan.worst.as_str()), ("loop", "at most 15 turns"));
    assert_eq!(plan.warning_texts(), Vec::<String>::new());
    // It is what runs when nothing is named.
    assert_eq!(place.plan(&place.request(WantedWorkflow::Workflow(None))).workflow, plan.workflow);
}

#[test]
fn the_settings_bound_what_a_loop_leaves_open() {
    let place = Place::new();
    place.settings("max_iterations = 4\nmode = \"resume\"\nstuck_after = 2\n");
    let plan = place.plan(&place.request(WantedWorkflow::Loop));
    let expected = LoopRules { max_iterations: 4, mode: LoopMode::Resume, stuck_after: 2, ..default_rules() };
    assert_eq!(session_settings(&plan.spec, "loop").rules, Some(expected));
    assert_eq!(plan.worst, "at most 4 turns");
}

#[test]
fn a_workflow_json_has_the_rules_it_always_had() {
    let place = Place::new();
    let text = r#"{ "name": "old", "promptTemplate": "Do {input}", "model": "opus", "isolation": "permissive",
        "loop": { "enabled": true, "completionPromise": "KEPT", "maxIterations": 7, "continueMessage": "On",
                  "trackerTemplate": "_T_", "markerMatch": "last_line", "blockedMarker": "B", "stuckAfter": 0 },
        "checks": { "test": "make test" } }"#;
    place.write("repo/.windlass/workflows/old.json", text);
    let plan = place.plan(&place.run("old"));
    let (step, session_settings) = plan.spec.only_session().unwrap();
    let expected = LoopRules {
        // Who promises something keeps no marker; the tracker is there all the same.
        marker: None,
        marker_match: MarkerMatch::LastLine,
        promise: Some("KEPT".to_owned()),
        blocked_marker: Some("B".to_owned()),
        max_iterations: 7,
        continue_message: "On".to_owned(),
        tracker_body: "_T_".to_owned(),
        stuck_after: 0,
        ..default_rules()
    };
    assert_eq!((step.id.as_str(), &session_settings.rules), ("loop", &Some(expected)));
    assert_eq!(session_settings.driver.model.as_deref(), Some("opus"));
    assert_eq!(plan.workflow, compile(&parse_workflow_json(text, "old.json").0.unwrap()));
    assert_eq!(plan.spec.body, plan.workflow.body);
    let check = windlass_core::spec::Check { name: "test".to_owned(), command: "make test".to_owned() };
    assert_eq!(plan.spec.checks, [check]);
    // It is raised, and nothing a `workflow.json` says lowers it.
    assert_eq!(session_settings.isolation, Isolation::Permissive);
    place.write(
        "repo/.windlass/workflows/low.json",
        r#"{ "name": "low", "promptTemplate": "x", "isolation": "strict" }"#,
    );
    let low = place.plan(&place.run("low")).spec;
    let (step, session_settings) = low.only_session().unwrap();
    assert_eq!(
        (step.id.as_str(), session_settings.isolation, &session_settings.rules),
        ("turn", Isolation::Minimal, &None)
    );
}

#[test]
fn a_plugin_that_loops_needs_no_tracker_and_must_be_there() {
    let place = Place::new();
    let looping =
        |rest: &str| format!("nodes:\n  - {{ id: a, prompt: x, turns: {{ mode: plugin{rest} }} }}\n");
    place.document("w", &looping(", promise: P"));
    place.document("m", &looping(", promise: P, marker: M"));
    place.document("n", &looping(""));
    assert!(place.refusal(&place.run("w")).text().contains("such as ralph-loop or ralph-wiggum"));
    place.write("plugin/.claude-plugin/plugin.json", r#"{ "name": "again" }"#);
    let hook = r#"{"hooks": {"Stop": [{"hooks": [{"command": "cat .claude/ralph-loop.local.md"}]}]}}"#;
    place.write("plugin/hooks/hooks.json", hook);
    let with_plugin = |name: &str| {
        let mut request = place.run(name);
        request.plugins = vec![place.folder.path().join("plugin")];
        request
    };
    for name in ["w", "m"] {
        let plan = place.plan(&with_plugin(name));
        let rules = session_settings(&plan.spec, "a").rules.clone().unwrap();
        assert_eq!((rules.tracker_path, rules.marker, rules.promise.as_deref()), (None, None, Some("P")));
        assert!(plan.spec.plugins[0].loops);
        assert_eq!(plan.warning_texts().iter().any(|warning| warning.contains("marker")), name == "m");
    }
    assert!(place.refusal(&with_plugin("n")).text().contains("only a promise completes the turns"));
    // A flag or a setting may say the mode, too.
    place.document("f", "nodes:\n  - { id: a, prompt: x, turns: { max: 3, marker: M } }\n");
    let mut request = with_plugin("f");
    request.flags.mode = Some(LoopMode::Plugin);
    assert!(place.refusal(&request).text().contains("only a promise completes a loop"));
}

#[test]
fn a_plugin_that_is_needed_is_known_by_its_name_wherever_it_can_be_had() {
    let place = Place::new();
    place.document("w", "plugins: [e2e@owner/repo, ralph-loop@market]\nnodes:\n  - { id: a, prompt: x }\n");
    assert!(place.refusal(&place.run("w")).text().ends_with("not loaded: e2e@owner/repo"));
    place.write("plugin/.claude-plugin/plugin.json", r#"{ "name": "e2e" }"#);
    let mut request = place.run("w");
    request.plugins = vec![place.folder.path().join("plugin")];
    assert_eq!(place.plan(&request).spec.plugins[0].name, "e2e");
}

#[test]
fn inputs_and_budget_go_into_the_orders() {
    let place = Place::new();
    let text = "inputs:\n  n: { type: integer, required: true }\n  t: { type: text, default: d }\n  u: { type: text }\nbudget: { turns: 3, cost: 1.5 }\nnodes:\n  - { id: a, prompt: '{{ inputs.n }}{{ inputs.t }}{{ inputs.u }}' }\n";
    place.document("w", text);
    let mut request = place.run("w");
    request.inputs = vec![("n".to_owned(), "7".to_owned())];
    let spec = place.plan(&request).spec;
    let inputs: Vec<(&str, serde_json::Value)> =
        spec.inputs.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    assert_eq!(inputs, [("n", 7.into()), ("t", "d".into()), ("u", serde_json::Value::Null)]);
    assert_eq!(spec.budget, Budget { turns: Some(3), cost_usd: Some(1.5), ..Budget::default() });
    assert_eq!(spec.input, "the input");
    assert!(!spec.seed.is_empty());
    let problem = place.refusal(&place.run("w"));
    assert_eq!(
        (problem.class, problem.text().as_str()),
        (UserErrorKind::Usage, "workflow `w` needs the input `n`")
    );
}

#[test]
fn turns_that_say_nothing_are_open() {
    let place = Place::new();
    let plan = place.plan(&place.request(WantedWorkflow::Loop));
    let NodeKind::Session(session) = &plan.workflow.body[0].kind else { panic!("{:?}", plan.workflow) };
    assert_eq!(session.turns, Some(TurnLoop::default()));
}

#[test]
fn the_built_in_settings_name_the_drivers_there_are() {
    let text = windlass_forms::settings::DEFAULT_SETTINGS;
    let about = text.split("driver = ").next().unwrap();
    let words = about.rsplit("Values:").next().unwrap().split('`');
    let mut named: Vec<&str> = words.skip(1).step_by(2).collect();
    let agents = windlass_peers::agent::Agents::default();
    let mut there: Vec<&str> = agents.iter().map(|driver| driver.name()).collect();
    named.sort_unstable();
    there.sort_unstable();
    assert_eq!(named, there);
}
