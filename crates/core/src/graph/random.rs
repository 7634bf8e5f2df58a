//! Random workflows for property tests.

use proptest::prelude::*;
use serde_json::json;

use super::builder::{
    NodeBuilder, agent, ask, check, check_all, clear_context, criteria_loop, each, fail, kind::PlainMarker,
    land, prompt, pull_request, review, shell, skill, task_loop, turns, wait, workflow,
};
use super::ids::name_nodes;
use super::workflow::{
    Budget, Expression, IfNode, InputKind, Join, LoopNode, Node, NodeKind, NodeNumber, OnFailure,
    ParallelBranch, ParallelNode, TryNode, TurnLoop, Workflow, WorkflowInput,
};

/// Generates a workflow with valid ids. It may contain other mistakes.
pub(crate) fn any_workflow() -> impl Strategy<Value = Workflow> {
    let condition = prop::sample::select(vec![
        "input",
        "true",
        "false",
        "outputs.prompt.failed",
        "outputs.check.failed",
        "outputs['skill-commit'] is defined",
        "iteration > 2",
    ]);
    let text = prop::sample::select(vec!["go", "{{ input }}", "{{ outputs.prompt.text }}", "{{ inputs.a }}"]);
    let body = body(condition.prop_map(str::to_owned).boxed(), text.prop_map(str::to_owned).boxed());
    whole(body, "w".to_owned(), true)
}

/// Generates a workflow with arbitrary texts.
pub(crate) fn any_text_workflow() -> impl Strategy<Value = Workflow> {
    let text = || prop_oneof![any::<String>(), Just("{{ outputs.prompt }}".to_owned())].boxed();
    let body = body(text(), text());
    any::<String>().prop_flat_map(move |name| whole(body.clone(), name, false))
}

fn whole(
    body: impl Strategy<Value = Vec<Node>>,
    name: String,
    is_named: bool,
) -> impl Strategy<Value = Workflow> {
    (body, prop::option::of(0..20_u32), any::<String>()).prop_map(move |(mut body, turns, odd)| {
        if is_named {
            name_nodes(&mut body);
        }
        let input = |name: &str| WorkflowInput {
            name: name.to_owned(),
            description: None,
            kind: InputKind::Text,
            required: false,
            default: Some(json!("x")),
            choices: Vec::new(),
            range: Default::default(),
        };
        Workflow {
            name: name.clone(),
            description: None,
            inputs: vec![input("a"), input(&odd)],
            settings: Default::default(),
            budget: Budget { turns, ..Budget::default() },
            plugins: Vec::new(),
            checks: Default::default(),
            env: Default::default(),
            gives: None,
            body,
        }
    })
}

fn body(condition: BoxedStrategy<String>, text: BoxedStrategy<String>) -> BoxedStrategy<Vec<Node>> {
    let blocks_condition = condition.clone();
    let leaf = leaf(text).prop_flat_map(move |node| around(node, condition.clone()));
    let node = leaf.prop_recursive(4, 40, 4, move |inner| {
        let condition = blocks_condition.clone();
        let block = prop::collection::vec(inner, 0..4).boxed();
        let blocks = blocks(block, condition.clone());
        blocks.prop_flat_map(move |act| around(bare(act), condition.clone())).boxed()
    });
    prop::collection::vec(node, 0..6).boxed()
}

fn bare(act: NodeKind) -> Node {
    Node { kind: act, ..Node::from(clear_context()) }
}

fn around(node: Node, condition: BoxedStrategy<String>) -> BoxedStrategy<Node> {
    (prop::option::weighted(0.2, condition), 0..3_u32, any::<bool>(), prop::option::weighted(0.1, 0..9_u32))
        .prop_map(move |(when, retries, goes_on, turns)| {
            let mut node = node.clone();
            node.when = when.map(Expression);
            node.retry.times = retries.saturating_sub(1);
            node.budget.turns = turns;
            if goes_on {
                node.on_failure = OnFailure::Continue;
            } else if node.bound(NodeNumber::Max).is_some_and(|most| most > 0) {
                node.computed.insert(NodeNumber::Max, Expression("inputs.a | int".to_owned()));
            }
            node
        })
        .boxed()
}

fn leaf(text: BoxedStrategy<String>) -> BoxedStrategy<Node> {
    let plain = |node: NodeBuilder<PlainMarker>| Node::from(node);
    (text, 0..16_usize, 0..4_u32)
        .prop_map(move |(text, which, max)| match which {
            0 => prompt(text).into(),
            1 => skill("commit").args(text).into(),
            2 => agent("reader").prompt(text).into(),
            3 => prompt(text).turns(turns(max)).into(),
            4 => shell(text).into(),
            5 => plain(check([text])),
            6 => plain(check_all()),
            7 => ask(text).choices(["yes"]).into(),
            8 => plain(wait(std::time::Duration::from_secs(max.into()))),
            9 => plain(review(None, max)),
            10 => plain(land(Some(&text))),
            11 => plain(pull_request(text, None)),
            12 => prompt(text).turns(TurnLoop::default()).into(),
            13 => plain(fail(text)),
            14 => prompt(text).continues(["prompt", "prompt-2", "shell", "nobody"][max as usize]).into(),
            _ => workflow("other").with_input("a", text).into(),
        })
        .boxed()
}

fn blocks(block: BoxedStrategy<Vec<Node>>, condition: BoxedStrategy<String>) -> BoxedStrategy<NodeKind> {
    let join = prop::sample::select(vec![Join::All, Join::Any, Join::FirstSuccess, Join::Some]);
    (block.clone(), block, condition, 0..4_u32, 0..7_usize, join)
        .prop_map(|(one, other, condition, max, which, join)| match which {
            0 => NodeKind::If(IfNode { condition: Expression(condition), then: one, otherwise: other }),
            1 => NodeKind::Loop(LoopNode {
                until: vec![Expression(condition)],
                max,
                forever: max == 0,
                body: one,
            }),
            2 => {
                let tasks = task_loop().max(max).jobs(max + 1).attempts(max + 1).until(condition);
                let tasks = if max == 1 { tasks.keeps_branches() } else { tasks };
                Node::from(tasks).kind.with_blocks(vec![one, other])
            }
            5 => {
                let items = each("item", condition).max(max + 1).jobs(max).join(join);
                Node::from(items).kind.with_blocks(vec![one])
            }
            4 => NodeKind::Try(TryNode { body: one, catch: other }),
            3 => Node::from(criteria_loop(condition).max(max)).kind.with_blocks(vec![one]),
            _ => {
                let branch = |name: &str, body| ParallelBranch { name: name.to_owned(), body };
                NodeKind::Parallel(ParallelNode {
                    limit: max,
                    join,
                    branches: vec![branch("x", one), branch(&condition, other)],
                })
            }
        })
        .boxed()
}

impl NodeKind {
    fn with_blocks(mut self, bodies: Vec<Vec<Node>>) -> NodeKind {
        for (block, body) in self.blocks_mut().into_iter().zip(bodies) {
            *block = body;
        }
        self
    }
}
