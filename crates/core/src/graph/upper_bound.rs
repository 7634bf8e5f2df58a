//! The most that a run of a workflow can take: agent turns, and the limits of the budget.
//!
//! The bound multiplies sessions, loops, retries and branches, and takes the longer block of an
//! `if`. A loop without `max` has no worst case, unless a budget of turns ends it.

use std::collections::BTreeMap;
use std::fmt;

use super::template::constant;
use super::walk::MAX_DEPTH;
use super::workflow::{Budget, IfNode, Node, Workflow, main_nodes};
use crate::engine::node::shape::{RoundsEnd, Structure};
use crate::id::NodeId;
use crate::usage::dollars;

/// Other workflows by name; `None` if the graph is unknown.
pub type Others = BTreeMap<String, Option<Workflow>>;

#[derive(Debug, Clone, PartialEq)]
pub struct WorstCase {
    /// Agent turns.
    pub turns: UpperBound,
    /// The budget of the workflow, which ends a run earlier.
    pub budget: Budget,
}

/// An upper bound on a number of turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpperBound {
    AtMost(u64),
    /// No bound.
    Without {
        node: NodeId,
        why: Unbounded,
    },
}

/// The reason why a node has no bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unbounded {
    Loop,
    Turns,
    /// The node runs this workflow, which is unknown or has no bound itself.
    Workflow(String),
}

/// Computes the most that a run of a workflow can take.
pub fn worst(workflow: &Workflow, others: &Others) -> WorstCase {
    WorstCase { turns: whole(workflow, others, 0), budget: workflow.budget }
}

/// The deepest chain of workflow calls that the walk follows. The check refuses such a chain.
const FOLLOWED: u32 = crate::spec::MAX_DEPTH + 1;

fn whole(workflow: &Workflow, others: &Others, calls: u32) -> UpperBound {
    let walk = BoundWalk { others, calls };
    let main = main_nodes(&workflow.body);
    let last = workflow.body.get(main.len()..).unwrap_or_default();
    // The budget of a workflow does not apply to its `finally`.
    walk.sequence(main, 0).capped(workflow.budget.turns).and(walk.sequence(last, 0))
}

struct BoundWalk<'o> {
    others: &'o Others,
    calls: u32,
}

impl BoundWalk<'_> {
    fn sequence(&self, body: &[Node], depth: usize) -> UpperBound {
        body.iter().fold(UpperBound::AtMost(0), |sum, node| sum.and(self.step(node, depth)))
    }

    fn step(&self, node: &Node, depth: usize) -> UpperBound {
        if depth > MAX_DEPTH || node.when.as_ref().and_then(constant) == Some(false) {
            return UpperBound::AtMost(0);
        }
        let tries = 1 + u64::from(node.retry.times);
        self.kind_bound(node, depth).times(tries).capped(node.budget.turns)
    }

    fn kind_bound(&self, step: &Node, depth: usize) -> UpperBound {
        let inside = |body: &[Node]| self.sequence(body, depth + 1);
        let shape = step.kind.shape();
        match shape.structure() {
            Structure::Leaf => match shape.calls() {
                Some(called) => self.call(step, &called.name),
                None => shape.most_turns(step),
            },
            Structure::Either(IfNode { condition, then, otherwise }) => match constant(condition) {
                Some(true) => inside(then),
                Some(false) => inside(otherwise),
                None => inside(then).or(inside(otherwise)),
            },
            Structure::Rounds { ends, max, body } => {
                let ends_at_once = match ends {
                    RoundsEnd::Conditions(until) => until.iter().any(|until| constant(until) == Some(true)),
                    RoundsEnd::Signal(_) => false,
                };
                rounds(step, if ends_at_once { 1 } else { max }, inside(body))
            }
            Structure::Tasks(node) => {
                let once = || inside(&node.before_each).and(inside(&node.body));
                // Work that conflicts with its target is resolved up to three times, then done again.
                let again = || (0..3).fold(once(), |most, _| most.and(inside(&node.body)));
                let lands = node.jobs > 1 && !node.keeps_branches;
                rounds(step, node.max, if lands { once().and(again()) } else { once() })
            }
            Structure::Items(node) => inside(&node.body).times(node.most_items().into()),
            Structure::Last(body) => inside(body),
            Structure::Guarded(node) => inside(&node.body).and(inside(&node.catch)),
            Structure::Beside(node) => {
                let branches = node.branches.iter().map(|branch| inside(&branch.body));
                branches.fold(UpperBound::AtMost(0), UpperBound::and)
            }
        }
    }

    fn call(&self, node: &Node, name: &str) -> UpperBound {
        let unknown = || UpperBound::without(node, Unbounded::Workflow(name.to_owned()));
        match self.others.get(name) {
            Some(Some(workflow)) if self.calls < FOLLOWED => {
                match whole(workflow, self.others, self.calls + 1) {
                    // Name the calling node: the caller does not know the nodes of the other workflow.
                    UpperBound::Without { .. } => unknown(),
                    bound => bound,
                }
            }
            _ => unknown(),
        }
    }
}

fn rounds(node: &Node, max: u32, round: UpperBound) -> UpperBound {
    match (max, round) {
        (_, UpperBound::AtMost(0)) => UpperBound::AtMost(0),
        (_, without @ UpperBound::Without { .. }) => without,
        (0, UpperBound::AtMost(_)) => UpperBound::without(node, Unbounded::Loop),
        (max, round) => round.times(max.into()),
    }
}

impl UpperBound {
    pub(crate) fn without(step: &Node, why: Unbounded) -> UpperBound {
        UpperBound::Without { node: step.id.clone(), why }
    }

    fn and(self, other: UpperBound) -> UpperBound {
        match (self, other) {
            (UpperBound::AtMost(one), UpperBound::AtMost(other)) => {
                UpperBound::AtMost(one.saturating_add(other))
            }
            (without @ UpperBound::Without { .. }, _) | (_, without) => without,
        }
    }

    fn or(self, other: UpperBound) -> UpperBound {
        match (self, other) {
            (UpperBound::AtMost(one), UpperBound::AtMost(other)) => UpperBound::AtMost(one.max(other)),
            (without @ UpperBound::Without { .. }, _) | (_, without) => without,
        }
    }

    fn times(self, times: u64) -> UpperBound {
        match self {
            UpperBound::AtMost(turns) => UpperBound::AtMost(turns.saturating_mul(times)),
            without @ UpperBound::Without { .. } => without,
        }
    }

    fn capped(self, budget: Option<u32>) -> UpperBound {
        match (self, budget) {
            (bound, None) => bound,
            (UpperBound::AtMost(turns), Some(budget)) => UpperBound::AtMost(turns.min(budget.into())),
            (UpperBound::Without { .. }, Some(budget)) => UpperBound::AtMost(budget.into()),
        }
    }
}

impl fmt::Display for UpperBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UpperBound::AtMost(0) => f.write_str("no turns"),
            UpperBound::AtMost(1) => f.write_str("at most 1 turn"),
            UpperBound::AtMost(turns) => write!(f, "at most {turns} turns"),
            UpperBound::Without { node, why } => match why {
                Unbounded::Loop => write!(f, "no upper bound: loop \"{node}\" has no max"),
                Unbounded::Turns => write!(f, "no upper bound: the turns of \"{node}\" have no max"),
                Unbounded::Workflow(name) => {
                    write!(f, "no upper bound: \"{node}\" runs workflow {name:?}, which has no known limit")
                }
            },
        }
    }
}

/// `at most 40 turns; the budget ends it at $5.00 or 120 min`.
impl fmt::Display for WorstCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.turns)?;
        let Budget { tokens, cost_usd, time_ms, .. } = self.budget;
        let limits = [
            cost_usd.map(dollars),
            tokens.map(|tokens| format!("{tokens} tokens")),
            time_ms.map(|ms| format!("{} min", ms.div_ceil(60_000))),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        if limits.is_empty() { Ok(()) } else { write!(f, "; the budget ends it at {}", limits.join(" or ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::builder::{
        Builder, LoopRounds, check_all, criteria_loop, prompt, review, task_loop, turns, workflow,
    };
    use crate::graph::schema;
    use crate::graph::workflow::{CriteriaLoopNode, LoopNode, NodeKind, ReviewNode, TaskLoopNode, TurnLoop};
    use crate::looping::DEFAULT_MAX_ITERATIONS;
    use serde_json::json;
    use std::time::Duration;

    fn said(builder: Builder) -> String {
        worst(&builder.end().unwrap(), &Others::new()).to_string()
    }

    #[test]
    fn sessions_loops_retries_and_branches_multiply() {
        let builder = Builder::new("w")
            .start(prompt("a").turns(turns(15)))
            .loop_(LoopRounds::until("input").max(5), |round| {
                round.then(prompt("b").retry(1, Duration::ZERO)).then(check_all())
            })
            .parallel(|lanes| {
                lanes
                    .branch("x", |b| b.then(prompt("x")))
                    .branch("y", |b| b.then(prompt("y")).then(prompt("z")))
            })
            .if_("input", |b| b.then(prompt("1")).then(prompt("2")), |b| b.then(prompt("3")))
            .then(review(None, 3))
            .then(task_loop().max(10).each(|task| task.then(prompt("t"))));
        assert_eq!(said(builder), "at most 47 turns");
    }

    #[test]
    fn parallel_tasks_may_resolve_conflicts_unless_their_branches_are_kept() {
        let most = |is_kept| {
            let tasks = task_loop().max(9).jobs(2).before_each(|each| each.then(prompt("b")));
            let tasks = if is_kept { tasks.keeps_branches() } else { tasks };
            said(Builder::new("w").start(tasks.each(|task| task.then(prompt("t")))))
        };
        // The iteration, three conflicts, and the iteration again.
        assert_eq!(most(false), "at most 63 turns");
        assert_eq!(most(true), "at most 18 turns");
    }

    #[test]
    fn an_answer_that_is_asked_for_again_takes_a_turn() {
        let form = || json!({"type": "object"});
        assert_eq!(said(Builder::new("w").start(prompt("a").schema(form()))), "at most 3 turns");
        let looping = prompt("a").turns(turns(5)).schema(form());
        assert_eq!(said(Builder::new("w").start(looping)), "at most 7 turns");
    }

    #[test]
    fn a_loop_without_max_has_no_worst_case() {
        let endless = || criteria_loop("DONE").each(|round| round.then(prompt("a"))).id("yolo");
        assert_eq!(said(Builder::new("w").start(endless())), "no upper bound: loop \"yolo\" has no max");
        let turns = prompt("a").turns(turns(0)).id("build");
        assert_eq!(
            said(Builder::new("w").start(turns)),
            "no upper bound: the turns of \"build\" have no max"
        );
        let capped = endless().budget(Budget { turns: Some(9), ..Budget::default() });
        assert_eq!(said(Builder::new("w").start(capped)), "at most 9 turns");
        let silent = criteria_loop("DONE").each(|round| round.then(check_all()));
        assert_eq!(said(Builder::new("w").start(silent)), "no turns");
    }

    #[test]
    fn turns_that_the_settings_bound_count_as_their_default() {
        let open = prompt("a").turns(TurnLoop::default()).retry(1, Duration::ZERO);
        assert_eq!(said(Builder::new("w").start(open)), "at most 30 turns");
    }

    #[test]
    fn another_workflow_counts_as_what_it_is() {
        let inner = Builder::new("inner").start(prompt("a").turns(turns(4))).end().unwrap();
        let outer = Builder::new("outer").start(workflow("inner").retry(1, Duration::ZERO)).end().unwrap();
        let others = Others::from([("inner".to_owned(), Some(inner))]);
        assert_eq!(worst(&outer, &others).to_string(), "at most 8 turns");
        assert!(worst(&outer, &Others::new()).to_string().starts_with("no upper bound: "));
    }

    #[test]
    fn workflows_that_run_each_other_come_to_an_end_here() {
        let run = |name: &str, other: &str| Builder::new(name).start(workflow(other)).end().unwrap();
        let others =
            Others::from([("a".to_owned(), Some(run("a", "b"))), ("b".to_owned(), Some(run("b", "a")))]);
        assert!(matches!(worst(&run("a", "b"), &others).turns, UpperBound::Without { .. }));
    }

    #[test]
    fn the_budget_is_told() {
        let budget = Budget { cost_usd: Some(5.0), time_ms: Some(7_200_000), turns: Some(40), tokens: None };
        let builder = Builder::new("w").start(prompt("a").turns(turns(0))).budget(budget);
        assert_eq!(said(builder), "at most 40 turns; the budget ends it at $5.00 or 120 min");
    }

    #[test]
    fn what_cannot_happen_does_not_count() {
        let builder = Builder::new("w").start(prompt("a").when("false")).if_(
            "false",
            |b| b.then(prompt("b").turns(turns(9))),
            |b| b.then(prompt("c")),
        );
        assert_eq!(said(builder), "at most 1 turn");
    }

    /// Choices of a run, one after the other; then always the first.
    struct Luck(std::vec::IntoIter<u8>);

    impl Luck {
        fn up_to(&mut self, most: u32) -> u32 {
            u32::from(self.0.next().unwrap_or(0)) % (most + 1)
        }
    }

    /// Turns of one way through a sequence. What has no bound goes round seven times.
    fn turns_of(body: &[Node], luck: &mut Luck) -> u64 {
        body.iter().map(|node| turns_of_step(node, luck)).sum()
    }

    fn turns_of_step(node: &Node, luck: &mut Luck) -> u64 {
        let runs = node.when.as_ref().is_none_or(|when| constant(when).unwrap_or(luck.up_to(1) == 1));
        if !runs {
            return 0;
        }
        let tries = 1 + luck.up_to(node.retry.times);
        let turns: u64 = (0..tries).map(|_| turns_of_act(&node.kind, luck)).sum();
        turns.min(node.budget.turns.map_or(u64::MAX, u64::from))
    }

    fn turns_of_act(kind: &NodeKind, luck: &mut Luck) -> u64 {
        let rounds = |max: u32, luck: &mut Luck| 1 + luck.up_to(if max == 0 { 6 } else { max - 1 });
        match kind {
            NodeKind::Session(session) => {
                let again = if session.schema.is_some() { luck.up_to(schema::ASKED_AGAIN) } else { 0 };
                let turns = session.turns.as_ref();
                let turns =
                    turns.map_or(1, |turns| rounds(turns.max.unwrap_or(DEFAULT_MAX_ITERATIONS), luck));
                u64::from(turns) + u64::from(again)
            }
            NodeKind::Review(ReviewNode { max_cycles, .. }) => 1 + 2 * u64::from(luck.up_to(*max_cycles)),
            NodeKind::If(IfNode { condition, then, otherwise }) => {
                let holds = constant(condition).unwrap_or(luck.up_to(1) == 1);
                turns_of(if holds { then } else { otherwise }, luck)
            }
            NodeKind::Loop(LoopNode { until, max, body, .. }) => {
                let is_once = until.iter().any(|until| constant(until) == Some(true));
                let rounds = if is_once { 1 } else { rounds(*max, luck) };
                (0..rounds).map(|_| turns_of(body, luck)).sum()
            }
            NodeKind::CriteriaLoop(CriteriaLoopNode { max, .. })
            | NodeKind::TaskLoop(TaskLoopNode { max, .. }) => {
                let rounds = rounds(*max, luck);
                let once = |luck: &mut Luck| {
                    kind.blocks().iter().map(|block| turns_of(block.body, luck)).sum::<u64>()
                };
                (0..rounds).map(|_| once(luck)).sum()
            }
            NodeKind::Parallel(_) => kind.blocks().iter().map(|block| turns_of(block.body, luck)).sum(),
            _ => 0,
        }
    }

    proptest::proptest! {
        #[test]
        fn no_way_through_takes_more_turns_than_the_worst(
            workflow in crate::graph::random::any_workflow(),
            luck in proptest::collection::vec(proptest::num::u8::ANY, 0..300),
        ) {
            let others = Others::from([("other".to_owned(), Some(Workflow { body: Vec::new(), ..workflow.clone() }))]);
            let taken = turns_of(&workflow.body, &mut Luck(luck.into_iter()));
            let taken = taken.min(workflow.budget.turns.map_or(u64::MAX, u64::from));
            match worst(&workflow, &others).turns {
                UpperBound::AtMost(most) => proptest::prop_assert!(taken <= most, "{taken} > {most}"),
                UpperBound::Without { .. } => {}
            }
        }
    }
}
