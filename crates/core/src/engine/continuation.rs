//! Continues a run that has ended: raises its limits and reopens the nodes in which it ended.

use super::allowance::Allowance;
use super::{Decision, DecisionCx, lane, unstartable, with};
use crate::graph::walk::find;
use crate::graph::workflow::{Budget, Node};
use crate::id::{InboxId, NodeId};
use crate::run::{ActiveNode, Continuation, EndReason, FinalStatus, Lifecycle, News, Outcome, RunState};
use crate::time::Moment;

/// A continuation that the engine applies right now.
#[derive(Debug)]
pub(crate) struct Reopening {
    pub(crate) asked: Continuation,
    /// The run ended because a loop had no iteration left, so only such loops get more.
    pub(crate) ran_out: bool,
}

impl DecisionCx<'_> {
    /// Returns the new maximum number of iterations of a loop that a person continues, if it changes.
    /// `before` is the outcome of the loop.
    pub(super) fn raised(&self, max: u32, before: Option<&Outcome>) -> Option<u32> {
        let more = self.more.as_ref()?;
        let has_run_out = before.is_some_and(|outcome| outcome.reason == EndReason::MaxIterations);
        let raise = more.asked.iterations.filter(|_| has_run_out || !more.ran_out)?;
        (max > 0).then(|| raise.applied(max))
    }
}

/// Continues the run, unless it is completed or cancelled.
pub(super) fn apply(
    state: &mut RunState,
    step: &mut Decision,
    at: Moment,
    inbox: &InboxId,
    by: &str,
    more: &Continuation,
) {
    let Lifecycle::Done { outcome } = &state.lifecycle else { return };
    if outcome.status.is_final() {
        return;
    }
    let ran_out = outcome.reason == EndReason::MaxIterations || has_run_out(state);
    raise(state, at, more, ran_out);
    state.lifecycle = Lifecycle::Running;
    let book = &mut state.bookkeeping;
    book.continued = book.continued.saturating_add(1);
    book.continued_by = Some(inbox.clone());
    book.message.clone_from(&more.message);
    step.news.push(News::Continued { by: by.to_owned(), with: more.parts() });
    let reopening = Box::new(Reopening { asked: more.clone(), ran_out });
    with(state, step, at, |cx, steps, root, frame| {
        cx.more = Some(reopening);
        lane::reopen(cx, steps, root, frame).into()
    });
    let is_told = state.works().iter().any(|work| work.message.is_some());
    if is_told {
        state.bookkeeping.message = None;
    }
}

/// Returns the outcome with which a run would end again at once if it continued like this.
pub fn would_end(state: &RunState, at: Moment, more: &Continuation) -> Option<Outcome> {
    let mut state = state.clone();
    apply(&mut state, &mut Decision::default(), at, &InboxId::new("would-end"), "", more);
    if state.time_limit().is_some_and(|limit| limit <= at) {
        let why = "the run has no time left";
        return Some(Outcome::new(FinalStatus::Failed, EndReason::Timeout).because(why));
    }
    match state.lifecycle {
        // Only its `finally` failed or was interrupted, and now runs again.
        Lifecycle::Finally { outcome } if outcome.status == FinalStatus::Completed => None,
        Lifecycle::Finally { outcome } | Lifecycle::Done { outcome } => Some(outcome),
        Lifecycle::Running | Lifecycle::Ending { .. } => None,
    }
}

/// Decides whether one of the nodes in which the run ended had no iteration left.
fn has_run_out(state: &RunState) -> bool {
    let mut left = Vec::new();
    state.root.left_nodes(&mut left);
    let reason = |active: &&ActiveNode| active.cut.as_ref().map(|outcome| outcome.reason);
    left.iter().any(|active| reason(active) == Some(EndReason::MaxIterations))
}

/// Applies the additions that concern the whole run.
fn raise(state: &mut RunState, at: Moment, more: &Continuation, ran_out: bool) {
    let dry = dry_nodes(state);
    raise_nodes(&mut state.spec.body, &dry, more);
    raise_turns(state, more, ran_out);
    let spec = &mut state.spec;
    spec.budget = more.budget.applied(&spec.budget);
    if let (Some(raise), Some(limit)) = (more.budget.time_ms, spec.limits.run_ms) {
        spec.limits.run_ms = Some(raise.applied(limit));
        // A limit of the whole run also holds for the runs that it starts.
        let others = spec.others.values_mut().filter(|other| other.limits.run_ms == Some(limit));
        others.for_each(|other| other.limits.run_ms = Some(raise.applied(limit)));
    }
    unstartable::replace(&mut spec.checks, &mut state.bookkeeping.checks, &more.checks);
    more.policy.iter().for_each(|policy| spec.follow(*policy));
    more.prices.iter().for_each(|prices| spec.price_by(prices));
    state.bookkeeping.warned_of_cost &= more.prices.is_none();
    let book = &mut state.bookkeeping;
    // The ledger says again what other runs leave to this one.
    book.allowed = Budget::default();
    // The time of the run stood still while it was over.
    let stopped = [book.paused_at.take(), book.ended_at.take()].into_iter().flatten().min();
    let stood_still = stopped.map_or(0, |stopped| at.since(stopped));
    book.paused_ms = book.paused_ms.saturating_add(stood_still);
    book.paused = false;
}

/// Shows the new limits of looping sessions in the spec, where people look for them.
fn raise_turns(state: &mut RunState, more: &Continuation, ran_out: bool) {
    let Some(raise) = more.iterations else { return };
    let mut left = Vec::new();
    state.root.left_nodes(&mut left);
    let has_run_out = |active: &ActiveNode| {
        active.cut.as_ref().is_some_and(|outcome| outcome.reason == EndReason::MaxIterations)
    };
    let raised: Vec<NodeId> = left
        .into_iter()
        .filter(|active| has_run_out(active) || !ran_out)
        .map(|active| active.step.clone())
        .collect();
    for step in raised {
        let rules = state.spec.sessions.get_mut(&step).and_then(|settings| settings.rules.as_mut());
        if let Some(rules) = rules.filter(|rules| rules.max_iterations > 0) {
            rules.max_iterations = raise.applied(rules.max_iterations);
        }
    }
}

/// Returns the nodes in which the run ended whose own budget is spent.
fn dry_nodes(state: &RunState) -> Vec<NodeId> {
    let mut left = Vec::new();
    state.root.left_nodes(&mut left);
    let is_dry = |active: &&&ActiveNode| {
        let budget = find(&state.spec.body, &active.step).map(|node| node.budget).unwrap_or_default();
        Allowance { budget, spent: active.spent }.is_spent().is_some()
    };
    left.iter().filter(is_dry).map(|active| active.step.clone()).collect()
}

fn raise_nodes(nodes: &mut [Node], dry: &[NodeId], more: &Continuation) {
    for node in nodes {
        if dry.contains(&node.id) {
            node.budget = more.budget.applied(&node.budget);
        }
        node.kind.blocks_mut().into_iter().for_each(|block| raise_nodes(block, dry, more));
    }
}
