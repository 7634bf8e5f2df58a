//! Flags on workflows of several nodes.

use windlass_core::graph::workflow::{Node, NodeKind, TaskLoopNode};
use windlass_core::looping::DEFAULT_CONTINUE_WITHOUT_TRACKER;

use super::*;

const TASKS: &str = r#"
nodes:
  - if: "input == 'x'"
    then:
      - task_loop: { max: 9, jobs: 1 }
        do:
          - { id: do, prompt: x }
      - workflow: inner
"#;

fn jobs(body: &[Node]) -> Vec<u32> {
    let mut found = Vec::new();
    for step in body {
        if let NodeKind::TaskLoop(TaskLoopNode { jobs, .. }) = &step.kind {
            found.push(*jobs);
        }
        found.extend(step.kind.blocks().iter().flat_map(|block| jobs(block.body)));
    }
    found
}

#[test]
fn jobs_are_those_of_every_task_loop_wherever_it_is() {
    let place = Place::new();
    place.document("outer", TASKS);
    place.document(
        "inner",
        "nodes:\n  - task_loop: { max: 9, jobs: 2 }\n    do:\n      - { id: a, prompt: x }\n",
    );
    let mut request = place.run("outer");
    let refused = place.refusal(&request);
    assert_eq!(refused.class, UserErrorKind::Configuration, "{refused:?}");
    assert!(refused.text().contains("need a git repository"), "{refused:?}");
    place.repository();
    assert_eq!(jobs(&place.plan(&request).spec.body), [1]);
    request.flags.jobs = Some(5);
    let plan = place.plan(&request);
    assert_eq!(jobs(&plan.spec.body), [5]);
    assert_eq!(jobs(&plan.workflow.body), [5]);
    assert_eq!(jobs(&plan.spec.others["inner"].body), [5]);
}

#[test]
fn jobs_without_a_task_loop_or_without_any_are_a_mistake() {
    let place = Place::new();
    place.document("outer", TASKS);
    place.document("inner", "nodes:\n  - { id: a, prompt: x }\n");
    let refused = |name: &str, jobs: u32| {
        let mut request = place.run(name);
        request.flags.jobs = Some(jobs);
        let problem = place.refusal(&request);
        assert_eq!(problem.class, UserErrorKind::Usage);
        problem.text()
    };
    assert_eq!(refused("inner", 2), "--jobs is for task loops, and workflow `inner` has none");
    assert_eq!(refused("outer", 0), "with --jobs 0 no task would ever be done");
}

#[test]
fn turns_of_all_sessions_follow_the_flags() {
    let place = Place::new();
    let text = "nodes:\n  - { id: a, prompt: x, turns: { max: 9 } }\n  - { id: b, prompt: x, turns: { mode: fresh } }\n  - { id: c, prompt: '{{ input }}' }\n";
    place.document("w", text);
    let mut request = place.run("w");
    assert_eq!(place.plan(&request).worst, "at most 25 turns");
    request.flags.max_iterations = Some(2);
    request.flags.mode = Some(LoopMode::Resume);
    let plan = place.plan(&request);
    for node in ["a", "b"] {
        let rules = session_settings(&plan.spec, node).rules.clone().unwrap();
        assert_eq!((rules.max_iterations, rules.mode), (2, LoopMode::Resume), "{node}");
    }
    assert_eq!(session_settings(&plan.spec, "c").rules, None);
    assert_eq!((plan.worst.as_str(), plan.warnings.len()), ("at most 5 turns", 0));
}

#[test]
fn a_flag_for_turns_that_nobody_has_is_said() {
    let place = Place::new();
    place.document("w", "nodes:\n  - { id: a, prompt: '{{ input }}' }\n");
    let mut request = place.run("w");
    request.flags.max_iterations = Some(2);
    let expected = "--max-iterations changes nothing: no session of workflow `w` has turns";
    assert_eq!(place.plan(&request).warning_texts(), [expected]);
}

#[test]
fn a_signal_takes_the_place_of_marker_and_tracker() {
    let place = Place::new();
    let mut request = place.request(WantedWorkflow::Loop);
    request.flags.until_signal = Some("COMPLETE".to_owned());
    let spec = place.plan(&request).spec;
    let rules = session_settings(&spec, "loop").rules.clone().unwrap();
    assert_eq!((rules.signal.as_deref(), rules.marker, rules.tracker_path), (Some("COMPLETE"), None, None));
    assert_eq!(rules.continue_message, DEFAULT_CONTINUE_WITHOUT_TRACKER);
}

#[test]
fn a_signal_is_for_one_session_with_turns() {
    let place = Place::new();
    let node = |id: &str| format!("  - {{ id: {id}, prompt: x, turns: {{ max: 2 }} }}\n");
    place.document("two", &format!("nodes:\n{}{}", node("a"), node("b")));
    place.document("none", "nodes:\n  - { id: a, prompt: x }\n");
    place.document("one", &format!("nodes:\n  - {{ id: z, prompt: x }}\n{}", node("a")));
    let with_signal = |name: &str| {
        let mut request = place.run(name);
        request.flags.until_signal = Some("S".to_owned());
        request
    };
    for (name, count) in [("two", 2), ("none", 0)] {
        let problem = place.refusal(&with_signal(name));
        let expected =
            format!("--until-signal is for one session with turns, and workflow `{name}` has {count}");
        assert_eq!((problem.class, problem.text()), (UserErrorKind::Usage, expected));
    }
    let spec = place.plan(&with_signal("one")).spec;
    assert_eq!(session_settings(&spec, "a").rules.clone().unwrap().signal.as_deref(), Some("S"));
}

#[test]
fn a_signal_that_no_agent_can_say_is_refused() {
    let place = Place::new();
    for signal in ["> DONE", "`DONE`", "~~~"] {
        let mut request = place.request(WantedWorkflow::Loop);
        request.flags.until_signal = Some(signal.to_owned());
        let problem = place.refusal(&request);
        assert_eq!(problem.class, UserErrorKind::Usage);
        assert!(
            problem.text().starts_with("--until-signal: no agent can say this signal"),
            "{}",
            problem.text()
        );
        assert_eq!(problem.hint.as_deref(), Some("use plain words, such as `ALL DONE`"));
    }
}

#[test]
fn checks_of_flags_are_added_and_can_be_named() {
    let place = Place::new();
    place.settings("[checks]\nlint = \"a\"\ntest = \"b\"\n");
    place.document(
        "w",
        "checks: { test: c, own: d }\nnodes:\n  - { id: a, prompt: x }\n  - check: [mine, lint]\n",
    );
    assert!(place.refusal(&place.run("w")).text().contains("there is no check `mine`"));
    let mut request = place.run("w");
    request.flags.checks = vec!["mine=e".to_owned(), "own=f".to_owned()];
    let checks = place.plan(&request).spec.checks;
    let checks: Vec<(&str, &str)> =
        checks.iter().map(|check| (check.name.as_str(), check.command.as_str())).collect();
    assert_eq!(checks, [("lint", "a"), ("test", "c"), ("mine", "e"), ("own", "f")]);
}

#[test]
fn a_program_is_that_of_one_driver() {
    let place = Place::new();
    place.document("w", "nodes:\n  - { id: a, prompt: x }\n  - { id: b, prompt: x, driver: sim }\n");
    let bin = place.folder.path().join("bin/claude");
    let mut request = place.run("w");
    request.flags.agent_bin = Some(bin.clone());
    let problem = place.refusal(&request);
    let expected = "--agent-bin names the program of one agent CLI, and workflow `w` uses claude, sim";
    assert_eq!((problem.class, problem.text().as_str()), (UserErrorKind::Usage, expected));
    request.flags.driver = Some("claude".to_owned());
    let spec = place.plan(&request).spec;
    assert!(
        spec.sessions
            .values()
            .all(|session_settings| session_settings.driver.program == bin.display().to_string())
    );
}

#[test]
fn the_words_of_a_command_are_apart_from_the_arguments_of_the_user() {
    let place = Place::new();
    place.document("w", "nodes:\n  - { id: a, prompt: x }\n");
    let bin = place.folder.path().join("bin/claude");
    let mut request = place.run("w");
    request.flags.agent_bin = Some(format!("'{}' serve 'a b'", bin.display()).into());
    request.agent_args = vec!["--debug".to_owned()];
    let spec = place.plan(&request).spec;
    let driver = &session_settings(&spec, "a").driver;
    assert_eq!(driver.command(), [bin.display().to_string(), "serve".to_owned(), "a b".to_owned()]);
    assert_eq!(driver.args, ["--debug"]);
}
