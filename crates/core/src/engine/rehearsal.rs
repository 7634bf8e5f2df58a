//! Rehearses a run without agents: stubs answer every node, so that people see what a run would do, and in
//! which order.
//!
//! The engine is the real one.
//!
//! - [`stage`] plays one run: it answers every effect with a stub.
//! - [`stub`]: the results that people give for nodes; [`stub_check`] finds mistakes in them.
//! - [`stand_in`]: the kinds of nodes that runs do not support yet.
//! - [`ways`]: loops end after one iteration, and branches are chosen.
//! - [`coverage`] finds a way to every node.
//! - [`expectation`]: what a test of a workflow expects; [`instance_names`] finds the names that no execution has.

mod coverage;
mod expectation;
mod instance_names;
mod invented;
mod stage;
mod stand_in;
mod stub;
mod stub_check;
#[cfg(test)]
mod tests;
mod ways;

use serde_json::Value;

use crate::graph::walk::{depth_of, ids_in};
use crate::id::NodeId;
use crate::run::{FinalStatus, Outcome, RunState};
use crate::spec::Spec;
use crate::tasks::Claim;
pub use coverage::{MissedNode, RehearsedWay};
pub use expectation::{Expectation, ExpectationField, ExpectationProblem};
pub(in crate::engine) use invented::input as invented_input;
use stage::{Props, StubTasks, play};
pub use stub::{Stub, StubField, StubStatus, Stubs};
pub use stub_check::{StubProblem, StubTarget, check_stubs, stub_targets};
use ways::{OtherBranch, Steering};

/// The number of branches after which no further one is walked.
const MOST_BRANCHES: u32 = 64;

/// The way in which a run is rehearsed.
#[derive(Debug, Clone, PartialEq)]
pub struct RehearsalOptions {
    /// The tasks that a task loop finds, each once. Empty means one invented task.
    pub tasks: Vec<Value>,
    /// The result of a claim after the last task.
    pub left: Claim,
    pub stubs: Stubs,
    pub loops: RehearsedLoops,
    pub ways: WaysWalked,
}

impl Default for RehearsalOptions {
    fn default() -> RehearsalOptions {
        RehearsalOptions {
            tasks: Vec::new(),
            left: Claim::AllDone,
            stubs: Stubs::new(),
            loops: RehearsedLoops::Once,
            ways: WaysWalked::Branches,
        }
    }
}

/// The iterations of loops in a rehearsal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RehearsedLoops {
    /// One, whatever ends the loop.
    Once,
    /// As many as the condition of the loop decides.
    AsWritten,
}

/// The ways through the workflow that a rehearsal walks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaysWalked {
    /// The way that the conditions choose.
    Taken,
    /// That way, and below each `if` the branch that it does not take.
    Branches,
    /// As many ways as it takes to come to every node, and to decide every condition both ways.
    All,
}

/// The result of a rehearsal.
#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsal {
    /// The actions that the run would take, in order.
    pub acts: Vec<RehearsedEffect>,
    pub outcome: Outcome,
    /// The outcome of a run, if it would continue past the mistake in a template that `outcome` reports.
    pub run_outcome: Option<Outcome>,
    /// The number of turns started.
    pub turns: u32,
    /// The further ways, with [`WaysWalked::All`].
    pub ways: Vec<RehearsedWay>,
    /// The nodes to which no way leads, with [`WaysWalked::All`].
    pub missed: Vec<MissedNode>,
}

/// One action that the run would take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RehearsedEffect {
    /// The node instance.
    pub node: NodeId,
    /// The instance with the nodes that call its workflow: `CALLER/NODE`.
    pub path: String,
    /// The workflow of the node.
    pub workflow: String,
    /// The number of blocks around the node.
    pub depth: usize,
    /// `begins`, `skipped`, `round`, `asks`, `runs`, `told`, `loops`, `otherwise`, ...
    pub what: &'static str,
    pub text: String,
}

/// A rehearsal of one workflow, before its steps lose their owners.
struct Walk {
    /// Each step with the node of this workflow that takes it. A run that the node starts takes steps, too.
    acts: Vec<(NodeId, RehearsedEffect)>,
    outcome: Outcome,
    /// The first template that could not be rendered, here or in a run that it starts.
    mistake: Option<Outcome>,
    state: RunState,
}

/// Plays a run with stubs.
pub fn rehearse(spec: &Spec, options: &RehearsalOptions) -> Rehearsal {
    match options.ways {
        WaysWalked::Taken | WaysWalked::Branches => once(spec, options, &Steering::default()),
        WaysWalked::All => coverage::all_ways(spec, options),
    }
}

/// Plays a run with stubs, with some decisions taken already.
fn once(spec: &Spec, options: &RehearsalOptions, steering: &Steering) -> Rehearsal {
    let mut props = Props::new(options, steering, MOST_BRANCHES);
    let Walk { acts, outcome, mistake, state } = walk(spec, &StubTasks::of(options), &mut props, "", "");
    let acts = acts.into_iter().map(|(_, act)| act).collect();
    // Without results that somebody chose, a template that cannot be rendered is a mistake, even if the run
    // continues after it.
    let is_invented = options.loops == RehearsedLoops::Once;
    let (outcome, run_outcome) = match mistake {
        Some(mistake) if is_invented && outcome.status == FinalStatus::Completed => (mistake, Some(outcome)),
        Some(_) | None => (outcome, None),
    };
    Rehearsal { acts, outcome, run_outcome, turns: state.spent.turns, ways: Vec::new(), missed: Vec::new() }
}

/// Walks through a run, and then into the branches that the run does not take, if they are wanted. The prefixes
/// name the calls of this workflow: their instances, and their nodes.
fn walk(spec: &Spec, tasks: &StubTasks, props: &mut Props<'_>, calls: &str, callers: &str) -> Walk {
    let mut walk = play(spec, tasks, props, calls, callers);
    if props.options.ways == WaysWalked::Branches {
        let others = ways::not_taken(&spec.body, &walk.acts);
        let place = WalkPlace { tasks, calls, callers };
        add_branches(spec, place, props, &mut walk.acts, others);
    }
    walk
}

/// The place of a walk within the whole rehearsal.
#[derive(Clone, Copy)]
struct WalkPlace<'a> {
    tasks: &'a StubTasks,
    calls: &'a str,
    callers: &'a str,
}

/// Adds the steps of branches that were not taken, each below its `if` node.
fn add_branches(
    spec: &Spec,
    place: WalkPlace<'_>,
    props: &mut Props<'_>,
    acts: &mut Vec<(NodeId, RehearsedEffect)>,
    others: Vec<OtherBranch>,
) {
    for other in others {
        let Some(left) = props.branches.checked_sub(1) else { return };
        props.branches = left;
        let mut chosen = spec.clone();
        ways::choose(&mut chosen, &other);
        let is_its = |owner: &NodeId| other.ids.contains(&owner.in_workflow());
        let mut steps = play(&chosen, place.tasks, props, place.calls, place.callers).acts;
        steps.retain(|(owner, _)| is_its(owner));
        let inner = ways::not_taken(&spec.body, &steps);
        add_branches(&chosen, place, props, &mut steps, inner);
        let heading = RehearsedEffect {
            node: other.node.clone(),
            path: format!("{}{}", place.calls, other.node),
            workflow: spec.workflow.clone(),
            depth: depth_of(&spec.body, &other.node).unwrap_or(0),
            what: "otherwise",
            text: format!("otherwise, if the condition is {}:", other.condition),
        };
        let below = crate::graph::walk::find(&spec.body, &other.node).map(std::slice::from_ref);
        let below = ids_in(below.unwrap_or_default());
        let last = acts.iter().rposition(|(owner, _)| below.contains(&owner.in_workflow()));
        let after = last.map_or(acts.len(), |last| last + 1);
        acts.splice(after..after, std::iter::once((other.node.clone(), heading)).chain(steps));
    }
}
