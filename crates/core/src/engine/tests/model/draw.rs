//! Workflows of a few nodes, of every kind that runs.

use std::fmt;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::super::{Spec, spec_of, test_check};
use super::laws::prices;
use crate::graph::builder::{
    ask, check, check_all, clear_context, each, each_of, fail, prompt, review, shell, skill, task_loop,
    turns, wait, wait_for, workflow,
};
use crate::graph::ids::name_nodes;
use crate::graph::workflow::{
    Budget, CriteriaLoopNode, Expression, FINALLY_ID, FinallyNode, IfNode, Join, LoopNode, Node, NodeKind,
    NodeNumber, OnFailure, ParallelBranch, ParallelNode, RetryPolicy, Template, TryNode, TurnLoop,
};
use crate::id::NodeId;
use crate::looping::LoopMode;
use crate::spec::{OnPermission, OnQuestion, Policy};

/// A run's orders, and what befalls it.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) spec: Spec,
    pub(super) dice: Vec<u16>,
}

/// Short enough to be read when it fails.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spec { body, budget, policy, checks, .. } = &self.spec;
        writeln!(f, "{budget:?} {policy:?} {} checks", checks.len())?;
        draw(f, body, 1)?;
        write!(f, "dice {:?}", self.dice)
    }
}

fn draw(f: &mut fmt::Formatter<'_>, body: &[Node], depth: usize) -> fmt::Result {
    for step in body {
        let mut bare = step.clone();
        for block in bare.kind.blocks_mut() {
            block.clear();
        }
        writeln!(f, "{:depth$}{bare:?}", "", depth = depth * 2)?;
        for block in step.kind.blocks() {
            writeln!(f, "{:depth$}{}:", "", block.field, depth = depth * 2)?;
            draw(f, block.body, depth + 1)?;
        }
    }
    Ok(())
}

pub(super) fn any_case() -> impl Strategy<Value = Case> {
    let dice = prop::collection::vec(any::<u16>(), 0..240);
    let body = prop::collection::vec(step(), 1..5);
    let last = prop::option::weighted(0.3, prop::collection::vec(step(), 1..3));
    (body, prop::option::weighted(0.3, budget(2..9)), any::<bool>(), 0..3_usize, 0..4_usize, dice, last)
        .prop_map(|(mut body, budget, has_checks, question, permission, dice, last)| {
            body.extend(last.map(finally));
            name_nodes(&mut body);
            let mut spec = spec_of(body);
            spec.budget = budget.unwrap_or_default();
            spec.checks = has_checks.then(test_check).into_iter().collect();
            let questions = [OnQuestion::Wait, OnQuestion::Empty, OnQuestion::Fail];
            let permissions =
                [OnPermission::Ask, OnPermission::Allow, OnPermission::Deny, OnPermission::Fail];
            spec.policy = Policy { on_question: questions[question], on_permission: permissions[permission] };
            for session_settings in spec.sessions.values_mut() {
                session_settings.permissions.ask = vec!["Write".into()];
                let other = |name: &str| {
                    let mut other = session_settings.clone();
                    name.clone_into(&mut other.driver.name);
                    other
                };
                session_settings.fallback = ["codex", "opencode"].map(other).to_vec();
                session_settings.switch_back = question == 0;
                session_settings.models = ["a", "{{ input }}"].map(|model| Template(model.into())).to_vec();
            }
            let mut other = spec_of(vec![prompt("x").id("p").into()]);
            other.inputs.insert("n".into(), json!(1));
            spec.others.insert("other".into(), other);
            spec.price_by(&prices());
            Case { spec, dice }
        })
}

fn finally(body: Vec<Node>) -> Node {
    let kind = NodeKind::Finally(FinallyNode { body });
    let mut node = Node { kind, id: NodeId::new(FINALLY_ID), ..Node::from(clear_context()) };
    node.settings.timeout_ms = Some(10_000);
    node
}

fn budget(much: std::ops::Range<u32>) -> impl Strategy<Value = Budget> {
    (0..3_usize, much).prop_map(|(which, much)| match which {
        0 => Budget { turns: Some(much), ..Budget::default() },
        1 => Budget { tokens: Some(u64::from(much) * 40), ..Budget::default() },
        _ => Budget { cost_usd: Some(f64::from(much) / 10.0), ..Budget::default() },
    })
}

fn step() -> impl Strategy<Value = Node> {
    let leaf = around(leaf().boxed());
    leaf.prop_recursive(3, 12, 3, |inner| {
        let block = prop::collection::vec(inner, 1..3).boxed();
        around(blocks(block).prop_map(|act| Node { kind: act, ..Node::from(clear_context()) }).boxed())
    })
}

fn condition() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("true"),
        4 => Just("false"),
        4 => Just("input == 'do it'"),
        4 => Just("iteration is defined and iteration > 1"),
        4 => Just("outputs.shell is defined and outputs.shell.failed"),
        4 => Just("outputs.prompt is defined"),
        1 => Just("outputs.nobody.text == 'x'"),
    ]
    .prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("go"),
        4 => Just("{{ input }}"),
        4 => Just("{{ feedback }}"),
        1 => Just("{{ outputs.shell.text }}"),
    ]
    .prop_map(str::to_owned)
}

/// A number of a node, and the expression that it is computed from. Some give no good number.
fn computed() -> impl Strategy<Value = (NodeNumber, String)> {
    let from = prop_oneof![
        4 => Just("1"),
        2 => Just("iteration | default(1)"),
        2 => Just("2"),
        1 => Just("'2s'"),
        1 => Just("0.5"),
        1 => Just("outputs.shell.text"),
    ];
    (prop::sample::select(NodeNumber::ALL.to_vec()), from.prop_map(str::to_owned))
}

/// Adds the fields that all kinds of node share.
fn around(step: BoxedStrategy<Node>) -> BoxedStrategy<Node> {
    let when = prop::option::weighted(0.1, condition());
    let budget = prop::option::weighted(0.12, budget(1..5));
    let timeout = prop::option::weighted(0.12, 1..9_u64);
    let computed = prop::option::weighted(0.2, computed());
    (step, when, 0..6_u32, 0..2_u32, budget, timeout, computed)
        .prop_map(|(mut step, when, tries, failing, budget, timeout, computed)| {
            step.when = when.map(Expression);
            step.retry = RetryPolicy { times: tries.saturating_sub(3), delay_ms: 1_000 };
            step.budget = budget.unwrap_or_default();
            step.settings.timeout_ms = timeout.map(|seconds| seconds * 1_000);
            if failing == 1 {
                step.on_failure = OnFailure::Continue;
            }
            if let Some((number, from)) = computed
                && step.bound(number).is_some_and(|most| most > 0)
            {
                step.computed.insert(number, Expression(from));
            }
            step
        })
        .boxed()
}

fn leaf() -> impl Strategy<Value = Node> {
    (0..18_usize, text(), 1..4_u32).prop_map(|(which, text, much)| {
        let looping = |mode| prompt(text.clone()).turns(TurnLoop { mode: Some(mode), ..turns(much) }).into();
        match which {
            0 | 1 => prompt(text).into(),
            2 => looping(LoopMode::Fresh),
            3 => looping(LoopMode::InSession),
            4 => looping(LoopMode::Resume),
            5 => looping(LoopMode::Plugin),
            6 => shell(text).into(),
            7 => check_all().into(),
            8 => check(["test"]).into(),
            9 => ask(text).choices(["yes", "no"]).into(),
            10 => wait(Duration::from_secs(much.into())).into(),
            11 => wait_for("e", (much > 1).then(|| Duration::from_secs(much.into()))).into(),
            12 => workflow("other").with_input("n", "2").into(),
            13 => skill("commit").args(text).into(),
            15 => prompt(text).continues("prompt").into(),
            16 => prompt(text).continues(format!("prompt-{much}")).into(),
            14 => prompt(text).schema(json!({"type": "object"})).into(),
            _ if much == 1 => review(None, 1).into(),
            _ if much == 2 => fail(text).into(),
            _ => clear_context().into(),
        }
    })
}

fn blocks(block: BoxedStrategy<Vec<Node>>) -> impl Strategy<Value = NodeKind> {
    (block.clone(), block.clone(), block, condition(), 0..4_u32, 0..11_usize).prop_map(
        |(one, two, three, condition, much, which)| match which {
            0 => NodeKind::If(IfNode { condition: Expression(condition), then: one, otherwise: two }),
            1 | 2 => {
                let mut until = vec![Expression(condition)];
                if much == 0 {
                    until.push(Expression("iteration > 2".into()));
                }
                NodeKind::Loop(LoopNode { until, max: much, forever: false, body: one })
            }
            3 => NodeKind::CriteriaLoop(CriteriaLoopNode {
                signal: "SIGNAL".into(),
                max: much.max(1),
                body: one,
            }),
            9 | 10 => {
                let join = [Join::All, Join::Any, Join::FirstSuccess, Join::Some][much as usize % 4];
                let items = match two.len() {
                    1 => each_of("item", vec![json!("a"), json!({"b": 1}), json!("a")]),
                    _ => each("item", "[1, 2, input, 3]").max(4),
                };
                let items = items.jobs(much).join(join);
                let mut kind = Node::from(if three.len() == 1 { items.worktree() } else { items }).kind;
                kind.blocks_mut().into_iter().for_each(|block| block.clone_from(&one));
                kind
            }
            8 => NodeKind::Try(TryNode { body: one, catch: if much == 0 { Vec::new() } else { two } }),
            4 | 5 => {
                let tasks = task_loop().max(much).jobs(much).attempts(much.max(1)).until(condition);
                let tasks = if which == 5 { tasks.keeps_branches() } else { tasks };
                let mut act = Node::from(tasks).kind;
                for (place, body) in act.blocks_mut().into_iter().zip([three, one]) {
                    *place = body;
                }
                act
            }
            _ => {
                let branch = |name: &str, body| ParallelBranch { name: name.to_owned(), body };
                let join = [Join::All, Join::Any, Join::FirstSuccess, Join::Some][much as usize % 4];
                let branches = vec![branch("x", one), branch("y", two), branch("z", three)];
                NodeKind::Parallel(ParallelNode { limit: much, join, branches })
            }
        },
    )
}
