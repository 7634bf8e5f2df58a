//! Tests for the explanations why nodes ran or did not, with runs of command nodes.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::engine::{apply, start};
use crate::event::{Event, Record, ShellEnd};
use crate::graph::workflow::{
    EachNode, Expression, IfNode, Join, ListSource, LoopNode, Node, NodeKind, OnFailure, ParallelBranch,
    ParallelNode, ShellNode, Template,
};
use crate::id::{EffectId, RunId, Verb};
use crate::run::EndReason;
use crate::spec::{OnPermission, OnQuestion, Policy, Spec, TimeLimits};
use crate::time::Moment;

fn step(id: &str, act: NodeKind) -> Node {
    Node {
        id: NodeId::new(id),
        kind: act,
        when: None,
        settings: Default::default(),
        retry: Default::default(),
        budget: Default::default(),
        on_failure: OnFailure::Fail,
        env: BTreeMap::new(),
        computed: Default::default(),
    }
}

fn shell(id: &str) -> Node {
    step(
        id,
        NodeKind::Shell(ShellNode {
            command: Template("true".into()),
            idempotent: false,
            stdin: None,
            schema: None,
        }),
    )
}

fn either(id: &str, condition: &str, then: Vec<Node>, otherwise: Vec<Node>) -> Node {
    step(id, NodeKind::If(IfNode { condition: Expression(condition.into()), then, otherwise }))
}

/// A run in which each command line that begins is ended by name.
struct Story {
    state: RunState,
    records: Vec<Record>,
    at: i64,
}

impl Story {
    fn of(body: Vec<Node>) -> Story {
        let spec = Spec {
            workflow: "test".into(),
            description: None,
            seed: "seed".into(),
            input: "x".into(),
            inputs: BTreeMap::new(),
            kinds: BTreeMap::new(),
            ranges: BTreeMap::new(),
            body,
            sessions: BTreeMap::new(),
            workspace: "/w".into(),
            machine: "m".into(),
            plugins: Vec::new(),
            checks: Vec::new(),
            env: Default::default(),
            parent_env: Default::default(),
            shell: Default::default(),
            gives: None,
            runs: None,
            policy: Policy { on_permission: OnPermission::Deny, on_question: OnQuestion::Fail },
            limits: TimeLimits::default(),
            timeout_from: None,
            budget: Default::default(),
            prices: Default::default(),
            others: BTreeMap::new(),
            parent: None,
            notify: Default::default(),
            worktree: None,
            fork_of: None,
            request: None,
        };
        let begun = Event::RunStarted { spec: Box::new(spec.clone()) };
        let (state, step) = start(RunId::new("r"), spec, Moment(0));
        Story { state, records: vec![step.record(Moment(0), begun)], at: 0 }
    }

    fn end(&mut self, instance: &str, passed: bool) -> &mut Story {
        self.at += 10;
        let node = NodeId::new(instance);
        let effect = EffectId { node, iteration: 1, attempt: 1, verb: Verb::Shell };
        let end = ShellEnd::exited(passed, "exit code 1", "");
        let event = Event::ShellEnded { effect, end };
        let step = apply(&mut self.state, Moment(self.at), &event);
        self.records.push(step.record(Moment(self.at), event));
        self
    }

    fn far(&self, node: &str) -> &'static str {
        far(&self.state, &NodeId::new(node)).word()
    }

    fn explain(&self, node: &str) -> Explanation {
        explain(&self.state, &NodeId::new(node)).unwrap()
    }

    fn because(&self, node: &str) -> (Option<String>, UnreachedCause) {
        match self.explain(node).why {
            ExplainedCause::NotReached(Unreached { block, because }) => {
                (block.map(|id| id.to_string()), because)
            }
            ExplainedCause::Reached(cause) => panic!("{cause:?}"),
        }
    }
}

#[test]
fn a_node_runs_because_the_one_before_it_is_over() {
    let mut story = Story::of(vec![shell("a"), shell("b"), shell("c")]);
    assert_eq!([story.far("a"), story.far("b"), story.far("c")], ["running", "not reached", "not reached"]);
    assert_eq!(story.because("c"), (None, UnreachedCause::Later { node: NodeId::new("a") }));
    story.end("a", true);
    assert_eq!(story.explain("a").why, ExplainedCause::Reached(NodeCause::First));
    let cause = NodeCause::After { node: NodeId::new("a"), status: "completed".into() };
    assert_eq!(story.explain("b").why, ExplainedCause::Reached(cause));
    assert_eq!([story.far("a"), story.far("b")], ["done", "running"]);
}

#[test]
fn what_comes_after_a_failure_is_not_reached_and_it_is_said_which() {
    let mut story = Story::of(vec![shell("a"), shell("b"), either("gate", "true", vec![shell("c")], vec![])]);
    story.end("a", false);
    let outcome = Outcome::new(FinalStatus::Failed, EndReason::ShellFailed)
        .because("the command of `a` failed: exit code 1");
    let failed = UnreachedCause::Failed { node: NodeId::new("a"), outcome };
    assert_eq!(story.far("a"), "failed");
    assert_eq!(story.because("b"), (None, failed.clone()));
    assert_eq!(story.because("c"), (Some("gate".to_owned()), failed));
}

#[test]
fn of_two_ways_one_is_taken_and_the_other_says_why_it_was_not() {
    let gate = either("gate", "input == 'x'", vec![shell("yes")], vec![shell("no")]);
    let mut story = Story::of(vec![gate, shell("after")]);
    let other =
        UnreachedCause::OtherWay { node: NodeId::new("gate"), condition: "input == 'x'".into(), held: true };
    assert_eq!(story.because("no"), (None, other.clone()), "while it is under way");
    story.end("yes", true).end("after", true);
    assert_eq!(story.because("no"), (None, other), "and after it");
    let around = story.explain("yes").around;
    let did = BlockProgress::If { condition: "input == 'x'".into(), held: Some(true), then: true };
    assert_eq!((around[0].node.as_str(), &around[0].block), ("gate", &did));
    assert_eq!(around[0].far, NodeProgress::Over(FinalStatus::Completed));
}

#[test]
fn a_way_without_nodes_is_told_by_the_other_one() {
    let mut story = Story::of(vec![either("gate", "false", vec![shell("yes")], vec![]), shell("after")]);
    story.end("after", true);
    let other =
        UnreachedCause::OtherWay { node: NodeId::new("gate"), condition: "false".into(), held: false };
    assert_eq!(story.because("yes"), (None, other));
}

#[test]
fn a_way_of_an_earlier_round_is_not_taken_for_that_of_the_last() {
    let gate = either("gate", "iteration == 1", vec![shell("first")], vec![shell("later")]);
    let round = step(
        "again",
        NodeKind::Loop(LoopNode { until: Vec::new(), max: 2, forever: false, body: vec![gate] }),
    );
    let mut story = Story::of(vec![round]);
    story.end("first@1", true).end("later@2", true);
    assert!(story.state.is_done());
    let held = |node: &str| match &story.explain(node).around[1].block {
        BlockProgress::If { held, .. } => *held,
        other => panic!("{other:?}"),
    };
    assert_eq!((held("first"), held("later")), (Some(true), Some(false)), "each when it was last there");
    let rounds = |node: &str| story.explain(node).around[0].block.clone();
    assert_eq!(rounds("first"), BlockProgress::Loop { rounds: 2, round: Some(1), max: 2 });
    assert_eq!(rounds("later"), BlockProgress::Loop { rounds: 2, round: Some(2), max: 2 });
}

#[test]
fn what_is_left_out_says_so_and_so_does_what_is_in_it() {
    let mut gate = either("gate", "true", vec![shell("inner")], vec![]);
    gate.when = Some(Expression("input == 'y'".into()));
    let story = Story::of(vec![gate, shell("after")]);
    assert_eq!(story.far("gate"), "skipped");
    let condition = "input == 'y'".to_owned();
    assert_eq!(
        story.explain("gate").why,
        ExplainedCause::Reached(NodeCause::WhenFalse { condition: condition.clone() })
    );
    assert_eq!(
        story.because("inner"),
        (None, UnreachedCause::LeftOut { node: NodeId::new("gate"), condition })
    );
}

#[test]
fn a_branch_may_have_to_wait_for_room() {
    let branch = |name: &str| ParallelBranch { name: name.into(), body: vec![shell(name)] };
    let branches = vec![branch("one"), branch("two")];
    let mut story = Story::of(vec![step(
        "both",
        NodeKind::Parallel(ParallelNode { limit: 1, join: Join::All, branches }),
    )]);
    let room = UnreachedCause::NoRoom { node: NodeId::new("both"), branch: "two".into() };
    assert_eq!(story.because("two"), (None, room));
    story.end("one", true);
    assert_eq!(story.explain("two").why, ExplainedCause::Reached(NodeCause::First));
    let did = BlockProgress::Parallel { branch: "two".into(), join: Join::All };
    assert_eq!(story.explain("two").around[0].block, did);
}

#[test]
fn who_is_cancelled_says_that_the_run_ended() {
    let mut story = Story::of(vec![shell("a"), shell("b")]);
    apply(&mut story.state, Moment(1), &Event::CancelAsked { inbox: None });
    let effect = EffectId { node: NodeId::new("a"), iteration: 1, attempt: 1, verb: Verb::CleanUp };
    apply(&mut story.state, Moment(2), &Event::CleanedUp { effect });
    assert_eq!(story.far("a"), "cancelled");
    let outcome = Outcome::new(FinalStatus::Cancelled, EndReason::User);
    assert_eq!(story.because("b"), (None, UnreachedCause::Failed { node: NodeId::new("a"), outcome }));
}

#[test]
fn a_node_is_held_by_a_pause_and_a_slip_is_noticed() {
    let mut story = Story::of(vec![shell("build"), shell("deploy")]);
    apply(&mut story.state, Moment(1), &Event::PauseAsked { inbox: None });
    assert_eq!(story.far("build"), "running", "what is under way is finished");
    story.end("build", true);
    assert_eq!(story.far("deploy"), "held");
    let paused = ExplainedCause::NotReached(Unreached { block: None, because: UnreachedCause::Paused });
    assert_eq!(explain(&story.state, &NodeId::new("deploy")).expect("a node").why, paused);
    assert_eq!(nearest(&story.state, "delpoy"), Some(NodeId::new("deploy")));
    assert_eq!(nearest(&story.state, "nothing"), None);
    assert_eq!(explain(&story.state, &NodeId::new("delpoy")), None);
}

/// Three rounds of a command line and one that is for the second round alone.
fn rounds() -> Story {
    let mut only = shell("only2");
    only.when = Some(Expression("iteration == 2".into()));
    let body = vec![shell("work"), only];
    let mut story = Story::of(vec![step(
        "again",
        NodeKind::Loop(LoopNode { until: Vec::new(), max: 3, forever: false, body }),
    )]);
    story.end("work@1", true).end("work@2", true).end("only2@2", true).end("work@3", true);
    assert!(story.state.is_done());
    story
}

#[test]
fn what_ran_in_an_earlier_round_is_not_skipped() {
    let story = rounds();
    assert_eq!(story.far("only2"), "done");
    let seen = story.explain("only2").seen.unwrap();
    assert_eq!((seen.times, seen.instance.as_str()), (1, "only2@3"));
    assert!(matches!(seen.cause, NodeCause::WhenFalse { .. }), "and it is known that it was left out last");
}

#[test]
fn each_time_of_a_node_is_explained_by_its_name() {
    let story = rounds();
    let time = |name: &str| explain_time(&story.state, &story.records, &NodeId::new(name));
    assert_eq!(time("work@9"), None);
    assert_eq!(time("work"), None, "that is no time of it");
    let of = |name: &str| {
        let explained = time(name).unwrap();
        (explained.far.word(), explained.why)
    };
    let after = |status: &str| {
        ExplainedCause::Reached(NodeCause::After { node: NodeId::new("work"), status: status.into() })
    };
    assert_eq!(of("work@2"), ("done", ExplainedCause::Reached(NodeCause::First)));
    assert_eq!(of("only2@2"), ("done", after("completed")));
    let left_out = ExplainedCause::Reached(NodeCause::WhenFalse { condition: "iteration == 2".into() });
    assert_eq!(of("only2@1"), ("skipped", left_out));
    let did = BlockProgress::Loop { rounds: 3, round: Some(2), max: 3 };
    assert_eq!(time("work@2").unwrap().around[0].block, did);
    assert_eq!(times_of(&story.records, &NodeId::new("only2")), [NodeId::new("only2@2")]);
}

#[test]
fn the_items_of_a_list_are_counted_unless_an_outer_item_took_the_count_along() {
    let items = |list: [&str; 2]| ListSource::Literal(list.map(|item| json!(item)).to_vec());
    let each = |id: &str, list, body| {
        let (name, join) = (format!("{id}_item"), Join::All);
        let items = items(list);
        step(id, NodeKind::Each(EachNode { items, name, jobs: 1, join, worktree: false, max: 9, body }))
    };
    let inner = each("i", ["1", "2"], vec![shell("s")]);
    let mut story = Story::of(vec![each("o", ["x", "y"], vec![inner])]);
    let done = |story: &Story| {
        let around = story.explain("s").around;
        around
            .iter()
            .map(|around| match around.block {
                BlockProgress::Items { done, .. } => (around.node.to_string(), done),
                _ => panic!("{around:?}"),
            })
            .collect::<Vec<_>>()
    };
    let count = |o, i| vec![("o".to_owned(), o), ("i".to_owned(), i)];
    story.end("s@1@1", true);
    assert_eq!(done(&story), count(Some(0), Some(1)));
    story.end("s@1@2", true).end("s@2@1", true).end("s@2@2", false);
    assert_eq!(done(&story), count(Some(1), None), "{:?}", story.state.lifecycle);
}
