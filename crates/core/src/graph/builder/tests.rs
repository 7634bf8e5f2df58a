//! The builder makes what a hand would write, and says what cannot be a workflow.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::graph::workflow::{
    AskNode, CheckNode, CriteriaLoopNode, Expression, IfNode, Join, LoopNode, NodeKind, OnFailure,
    ParallelBranch, ParallelNode, PromptSource, RetryPolicy, Session, ShellNode, SleepNode, TaskLoopNode,
    Template, TurnLoop, WaitUntil, WorkflowNode,
};
use crate::id::NodeId;
use crate::looping::MarkerMatch;

fn step(id: &str, act: NodeKind) -> Node {
    Node {
        id: NodeId::new(id),
        kind: act,
        when: None,
        settings: SessionOptions::default(),
        retry: RetryPolicy::default(),
        budget: Budget::default(),
        on_failure: OnFailure::Fail,
        env: Default::default(),
        computed: Default::default(),
    }
}

fn session(id: &str, source: PromptSource) -> Node {
    step(id, NodeKind::Session(Session::new(source)))
}

fn text(text: &str) -> Template {
    Template(text.to_owned())
}

fn prompted(id: &str, words: &str) -> Node {
    session(id, PromptSource::Prompt { prompt: text(words) })
}

#[test]
fn a_workflow_is_the_same_as_one_written_by_hand() {
    let built = Builder::new("ship")
        .description("Ships it")
        .required("area", InputKind::Text)
        .optional("level", InputKind::Integer, 2)
        .settings(SessionOptions { driver: Some("claude".into()), ..SessionOptions::default() })
        .budget(Budget { turns: Some(40), ..Budget::default() })
        .plugin("e2e")
        .check("test", "cargo test")
        .start(skill("commit").args("{{ input }}"))
        .then(
            agent("debugger")
                .prompt("Why? {{ outputs.skill_commit.text }}")
                .model("opus")
                .when("inputs.level > 1"),
        )
        .then(command("research").retry(2, Duration::from_secs(3)))
        .then(prompt("Build").turns(turns(15)).schema(json!({ "type": "object" })).id("build"))
        .if_("outputs.build.value.ok", |b| b.then(shell("make").idempotent()), |b| b.then(ask("Go on?")))
        .loop_(LoopRounds::until("outputs.tests.failed").or("iteration > 3").max(5), |b| {
            b.then(check(["test"]).id("tests").continue_on_failure())
        })
        .parallel(|lanes| {
            lanes.limit(2).join(Join::Any).branch("a", |b| b.then(prompt("x"))).branch("b", |b| b)
        })
        .then(wait(Duration::from_millis(1500)))
        .then(workflow("review").with_input("branch", "{{ run.branch }}"))
        .end()
        .unwrap();

    let debugger = Node {
        when: Some(Expression("inputs.level > 1".into())),
        settings: SessionOptions { model: Some("opus".into()), ..SessionOptions::default() },
        ..session(
            "agent-debugger",
            PromptSource::Agent {
                name: "debugger".into(),
                prompt: text("Why? {{ outputs.skill_commit.text }}"),
            },
        )
    };
    let research = Node {
        retry: RetryPolicy { times: 2, delay_ms: 3000 },
        ..session("command-research", PromptSource::Command { name: "research".into(), args: None })
    };
    let build = step(
        "build",
        NodeKind::Session(Session {
            source: PromptSource::Prompt { prompt: text("Build") },
            turns: Some(TurnLoop {
                max: Some(15),
                mode: None,
                marker: None,
                marker_match: MarkerMatch::Line,
                promise: None,
                blocked: None,
                continue_message: None,
                tracker: None,
                stuck_after: None,
            }),
            schema: Some(json!({ "type": "object" })),
            continues: None,
            tools: None,
        }),
    );
    let decision = step(
        "if",
        NodeKind::If(IfNode {
            condition: Expression("outputs.build.value.ok".into()),
            then: vec![step(
                "shell",
                NodeKind::Shell(ShellNode {
                    command: text("make"),
                    idempotent: true,
                    stdin: None,
                    schema: None,
                }),
            )],
            otherwise: vec![step(
                "ask",
                NodeKind::Ask(AskNode { question: text("Go on?"), choices: Vec::new(), default: None }),
            )],
        }),
    );
    let tests = Node {
        on_failure: OnFailure::Continue,
        computed: Default::default(),
        ..step("tests", NodeKind::Check(CheckNode { names: vec!["test".into()] }))
    };
    let rounds = step(
        "loop",
        NodeKind::Loop(LoopNode {
            until: vec![Expression("outputs.tests.failed".into()), Expression("iteration > 3".into())],
            max: 5,
            forever: false,
            body: vec![tests],
        }),
    );
    let branch = |name: &str, body| ParallelBranch { name: name.to_owned(), body };
    let lanes = step(
        "parallel",
        NodeKind::Parallel(ParallelNode {
            limit: 2,
            join: Join::Any,
            branches: vec![branch("a", vec![prompted("prompt", "x")]), branch("b", Vec::new())],
        }),
    );
    let input = |name: &str, kind, required, default| WorkflowInput {
        name: name.to_owned(),
        description: None,
        kind,
        required,
        default,
        choices: Vec::new(),
        range: Default::default(),
    };
    let by_hand = Workflow {
        name: "ship".into(),
        description: Some("Ships it".into()),
        inputs: vec![
            input("area", InputKind::Text, true, None),
            input("level", InputKind::Integer, false, Some(json!(2))),
        ],
        settings: SessionOptions { driver: Some("claude".into()), ..SessionOptions::default() },
        budget: Budget { turns: Some(40), ..Budget::default() },
        plugins: vec!["e2e".into()],
        checks: [("test".to_owned(), "cargo test".to_owned())].into(),
        env: Default::default(),
        gives: None,
        body: vec![
            session(
                "skill-commit",
                PromptSource::Skill { name: "commit".into(), args: Some(text("{{ input }}")) },
            ),
            debugger,
            research,
            build,
            decision,
            rounds,
            lanes,
            step("wait", NodeKind::Wait(WaitUntil::Elapsed(SleepNode { ms: 1500 }))),
            step(
                "workflow-review",
                NodeKind::Workflow(WorkflowNode {
                    name: "review".into(),
                    inputs: [("branch".to_owned(), text("{{ run.branch }}"))].into(),
                }),
            ),
        ],
    };
    assert_eq!(built, by_hand);
}

/// 003: research, a spec, a list of tasks, a loop over them, a pull request.
#[test]
fn tasks_are_made_and_done_one_by_one() {
    let built = Builder::new("atomic")
        .start(skill("research-codebase").args("{{ input }}"))
        .then(skill("create-spec").args("{{ outputs.skill_research_codebase.text }}"))
        .then(agent("codebase-analyzer").prompt("Look at {{ outputs.skill_create_spec.text }}"))
        .then(
            task_loop()
                .path("research/tasks.json")
                .before_each(|b| b.then(clear_context()))
                .each(|b| b.then(skill("implement-feature").args("{{ task.name }}")).then(skill("commit"))),
        )
        .then(command("create-gh-pr"))
        .end()
        .unwrap();
    let ids: Vec<&str> = built.body.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "skill-research-codebase",
            "skill-create-spec",
            "agent-codebase-analyzer",
            "task_loop",
            "command-create-gh-pr"
        ]
    );
    let NodeKind::TaskLoop(TaskLoopNode {
        path,
        until: None,
        select: None,
        max: 100,
        jobs: 1,
        attempts: 3,
        keeps_branches: false,
        before_each,
        body,
    }) = &built.body[3].kind
    else {
        panic!("{:?}", built.body[3])
    };
    assert_eq!(path, &Some(text("research/tasks.json")));
    assert_eq!(before_each, &[step("clear_context", NodeKind::ClearContext)]);
    let ids: Vec<&str> = body.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["skill-implement-feature", "skill-commit"]);
}

/// 003: a loop with an end and a selector of its own, and the yolo loop.
#[test]
fn loops_over_tasks_and_criteria_have_their_settings() {
    let built = Builder::new("loops")
        .start(
            task_loop()
                .until("iteration >= 3")
                .select("task.priority < 3")
                .max(7)
                .jobs(4)
                .attempts(2)
                .each(|b| b.then(prompt("{{ task.name }}"))),
        )
        .then(criteria_loop("COMPLETE").max(20).each(|b| b.then(prompt("{{ input }}"))))
        .end()
        .unwrap();
    let tasks = step(
        "task_loop",
        NodeKind::TaskLoop(TaskLoopNode {
            path: None,
            until: Some(Expression("iteration >= 3".into())),
            select: Some(Expression("task.priority < 3".into())),
            max: 7,
            jobs: 4,
            attempts: 2,
            keeps_branches: false,
            before_each: Vec::new(),
            body: vec![prompted("prompt", "{{ task.name }}")],
        }),
    );
    let yolo = step(
        "criteria_loop",
        NodeKind::CriteriaLoop(CriteriaLoopNode {
            signal: "COMPLETE".into(),
            max: 20,
            body: vec![prompted("prompt-2", "{{ input }}")],
        }),
    );
    assert_eq!(built.body, [tasks, yolo]);
}

#[test]
fn an_agent_is_asked_what_the_run_was_asked() {
    let built = Builder::new("w").start(agent("debugger")).end().unwrap();
    let asked = PromptSource::Agent { name: "debugger".into(), prompt: text("{{ input }}") };
    assert_eq!(built.body, [session("agent-debugger", asked)]);
}

fn mistakes(builder: Builder) -> Vec<String> {
    builder.end().unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_no_workflow_is_refused_with_all_its_mistakes() {
    assert_eq!(
        mistakes(Builder::new("")),
        [
            "error: `start` was not called: it adds the first node → nodes",
            "error: the workflow has no name → name",
            "error: the workflow has no nodes → nodes",
        ]
    );
    assert_eq!(
        mistakes(Builder::new("w").then(prompt("a")).start(prompt("b"))),
        ["error: `start` must come before all other nodes → nodes"]
    );
    assert_eq!(
        mistakes(Builder::new("w").start(prompt("a")).start(prompt("b"))),
        ["error: `start` was called 2 times → nodes"]
    );
    let ids = Builder::new("w")
        .start(prompt("a").id("x-y"))
        .then(prompt("b").id("x-y"))
        .then(prompt("c").id("x_y"))
        .then(prompt("d").id("Big!"));
    assert_eq!(
        mistakes(ids),
        [
            "error: two nodes are called `x-y` → x-y.id",
            "error: `x-y` and `x_y` are the same in templates → x_y.id (templates may write a dash as an underscore)",
            "error: `Big!` is not an id → Big!.id (an id has lowercase letters, digits, `-` and `_`, and starts with a letter or digit)",
        ]
    );
    let empty =
        Builder::new("w").start(task_loop()).loop_(LoopRounds::times(2), |b| b).parallel(|lanes| lanes);
    assert_eq!(mistakes(empty).len(), 3);
}

#[test]
fn blocks_that_nest_without_end_are_refused() {
    fn deeper(steps: Steps, depth: usize) -> Steps {
        match depth {
            0 => steps.then(prompt("x")),
            _ => steps.loop_(LoopRounds::times(2), |b| deeper(b, depth - 1)),
        }
    }
    let nested =
        |depth| Builder::new("w").start(prompt("a")).loop_(LoopRounds::times(2), |b| deeper(b, depth));
    assert!(nested(30).end().is_ok());
    assert_eq!(mistakes(nested(100)).len(), 1);
}

/// The example of the documentation, which is compiled there and run here.
#[test]
fn the_example_is_a_workflow_without_errors() {
    let workflow = Builder::new("fix-tests")
        .start(skill("research").args("{{ input }}"))
        .then(agent("planner").prompt("Plan: {{ outputs.skill_research.text }}").id("plan"))
        .if_(
            "outputs.plan.text | length > 400",
            |big| big.then(task_loop().each(|task| task.then(prompt("Do {{ task.name }}")))),
            |small| small.then(prompt("Do it: {{ outputs.plan.text }}")),
        )
        .loop_(LoopRounds::until("not outputs.tests.failed").max(5), |round| {
            round
                .then(prompt("Make the tests green. {{ feedback }}"))
                .then(check(["test"]).id("tests").continue_on_failure())
        })
        .end()
        .unwrap();
    let ids: Vec<&str> = workflow.body.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["skill-research", "plan", "if", "loop"]);
    let registry = crate::registry::Registry::default();
    let mut known = crate::graph::check::CheckContext::new(&registry);
    known.checks.insert("test".into());
    let said: Vec<String> =
        crate::graph::check::check(&workflow, &known).iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "error: there is no skill `research` → skill-research.skill",
            "error: there is no agent `planner` → plan.agent",
        ]
    );
}
