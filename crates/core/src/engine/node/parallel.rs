//! `parallel`: several sequences at once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeShape, Structure};
use crate::engine::frame::Frame;
use crate::engine::{DecisionCx, cancel, done, lane};
use crate::event::Event;
use crate::graph::workflow::{Node, NodeNumber};
use crate::id::NodeId;
use crate::run::{Activity, BranchState, EndReason, FinalStatus, Lane, Outcome, SessionSignal, Waiting};
use crate::words;

/// Several sequences at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParallelNode {
    /// The maximum number of branches at once. 0 means all.
    pub limit: u32,
    pub join: Join,
    pub branches: Vec<ParallelBranch>,
}

/// A branch of a parallel block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParallelBranch {
    pub name: String,
    pub body: Vec<Node>,
}

words! {
    /// The condition that ends a parallel block.
    #[derive(Default)]
    pub enum Join {
        /// All branches ended. The block fails if one fails.
        #[default]
        All = "all",
        /// One branch ended, in whatever way.
        Any = "any",
        /// One branch succeeded. The block fails if none does.
        FirstSuccess = "first_success",
        /// All branches ended, and at least one succeeded.
        Some = "some",
    }
}

/// The state of a parallel block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParallelState {
    /// The branches, in the order of the workflow.
    pub slots: Vec<BranchState>,
    /// The branches that ended early, by index. A continued run goes on with them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left: BTreeMap<usize, Lane>,
}

impl NodeShape for ParallelNode {
    fn word(&self) -> &'static str {
        "parallel"
    }

    fn label(&self) -> String {
        let join = match self.join {
            Join::All => "all",
            Join::Any => "any",
            Join::FirstSuccess => "first success",
            Join::Some => "some",
        };
        let limit = if self.limit == 0 { String::new() } else { format!(", {} at once", self.limit) };
        format!("parallel, {join}{limit}")
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Beside(self)
    }

    fn blocks_mut(&mut self) -> Vec<&mut Vec<Node>> {
        self.branches.iter_mut().map(|branch| &mut branch.body).collect()
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::Branches(&self.branches)
    }
}

impl ActiveState for ParallelState {
    fn word(&self) -> &'static str {
        "a parallel block"
    }

    fn waits(&self, site: &WaitSite<'_>, into: &mut Vec<Waiting>) -> bool {
        let mut is_busy = false;
        for lane in ActiveState::lanes(self) {
            is_busy |= lane.waits(site.bookkeeping, into);
        }
        is_busy
    }

    fn lanes(&self) -> Vec<&Lane> {
        self.slots.iter().filter_map(BranchState::lane).collect()
    }

    fn left_lanes(&self) -> Vec<&Lane> {
        ActiveState::lanes(self).into_iter().chain(self.left.values()).collect()
    }

    fn lanes_mut(&mut self) -> Vec<&mut Lane> {
        self.slots.iter_mut().filter_map(BranchState::lane_mut).collect()
    }
}

impl NodeRun for ParallelNode {
    type State<'s> = &'s mut ParallelState;

    fn state(activity: &mut Activity) -> Option<&mut ParallelState> {
        if let Activity::Parallel(state) = activity { Some(state) } else { None }
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        let slots = vec![BranchState::Waiting; self.branches.len()];
        let mut state = ParallelState { slots, left: BTreeMap::new() };
        let over = self.fill(cx, site, &site.inside(), &mut state);
        NodeOpening::of(Activity::Parallel(state), over)
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        _state: &mut ParallelState,
        event: &Event,
    ) -> Delivered {
        site.unexpected(cx, event)
    }

    fn deliver(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut ParallelState,
        to: &NodeId,
        event: &Event,
    ) -> Delivered {
        let inside = site.inside();
        for (at, (slot, branch)) in state.slots.iter_mut().zip(&self.branches).enumerate() {
            let BranchState::Open(open) = slot else { continue };
            match lane::deliver(cx, &branch.body, open, &inside, to, event) {
                Delivered::NotMine => {}
                Delivered::UnderWay => return Delivered::UnderWay,
                Delivered::Over(outcome) => {
                    branch_over(site, at, state, outcome);
                    return self.fill(cx, site, &inside, state).into();
                }
            }
        }
        Delivered::NotMine
    }

    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut ParallelState,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        let inside = site.inside();
        for (at, branch) in self.branches.iter().enumerate() {
            let over = match state.slots.get_mut(at) {
                None | Some(BranchState::Over(_)) => None,
                Some(BranchState::Waiting) => Some(outcome.clone()),
                Some(BranchState::Open(open)) => cancel::lane(cx, &branch.body, open, &inside, outcome),
            };
            if let Some(over) = over {
                state.close(at, over);
            }
        }
        are_over(&state.slots).then(|| outcome.clone())
    }

    fn can_reopen(&self, _state: &mut ParallelState, _before: Option<&Outcome>) -> bool {
        true
    }

    /// Continues every branch that did not complete.
    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut ParallelState,
        _before: Option<&Outcome>,
    ) -> Option<Outcome> {
        for slot in &mut state.slots {
            if matches!(slot, BranchState::Over(outcome) if outcome.status != FinalStatus::Completed) {
                *slot = BranchState::Waiting;
            }
        }
        self.fill(cx, site, &site.inside(), state)
    }

    fn said(&self, site: &NodeSite<'_>, state: Option<&mut ParallelState>) -> Option<String> {
        let mut open = state.iter().flat_map(|state| state.lanes().rev());
        open.find_map(|lane| lane.said.clone()).or_else(|| site.last_message.clone())
    }

    fn last_word(
        &self,
        site: &NodeSite<'_>,
        state: Option<&mut ParallelState>,
        _outcome: &Outcome,
    ) -> Option<SessionSignal> {
        let mut open = state.iter().flat_map(|state| state.lanes().rev());
        open.find_map(|lane| lane.word.clone()).or_else(|| site.word.clone())
    }

    fn output(
        &self,
        _cx: &DecisionCx<'_>,
        _site: &NodeSite<'_>,
        state: Option<&mut ParallelState>,
    ) -> (String, Option<Value>) {
        match state {
            Some(state) => (String::new(), Some(json!({"branches": self.ended(&state.slots)}))),
            None => Default::default(),
        }
    }

    fn fixed(&self, state: &mut ParallelState) -> Option<Outcome> {
        let is_fixed =
            |slot: &BranchState| matches!(slot, BranchState::Over(outcome) if outcome.fixed().is_some());
        match self.join {
            // One successful branch is enough.
            Join::FirstSuccess | Join::Any | Join::Some if !state.slots.iter().all(is_fixed) => None,
            Join::All | Join::FirstSuccess | Join::Any | Join::Some => {
                state.slots.iter().find(|slot| is_fixed(slot)).and_then(BranchState::outcome)
            }
        }
    }
}

impl ParallelState {
    /// Ends a branch. Keeps its lane if it did not complete.
    fn close(&mut self, at: usize, outcome: Outcome) {
        let is_left = outcome.status != FinalStatus::Completed;
        let Some(slot) = self.slots.get_mut(at) else { return };
        let outcome = match slot {
            BranchState::Open(lane) if !is_left && !lane.has_run && lane.at > 0 => {
                done(EndReason::NothingRan)
            }
            BranchState::Open(_) | BranchState::Waiting | BranchState::Over(_) => outcome,
        };
        let before = std::mem::replace(slot, BranchState::Over(outcome));
        if let (BranchState::Open(lane), true) = (before, is_left) {
            self.left.insert(at, lane);
        }
    }

    /// Returns the lanes of the branches in progress.
    pub(crate) fn lanes(&self) -> impl DoubleEndedIterator<Item = &Lane> {
        self.slots.iter().filter_map(|slot| match slot {
            BranchState::Open(lane) => Some(lane),
            BranchState::Waiting | BranchState::Over(_) => None,
        })
    }
}

/// Keeps the last message and signal of a branch that ended.
fn branch_over(site: &mut NodeSite<'_>, at: usize, state: &mut ParallelState, outcome: Outcome) {
    if let Some(BranchState::Open(Lane { said, word, .. })) = state.slots.get_mut(at) {
        *site.last_message = said.take().or(site.last_message.take());
        // A branch that became unnecessary was stopped, so it does not replace an earlier signal.
        if outcome.reason != EndReason::NotNeeded {
            *site.word = word.take().or(site.word.take());
        }
    }
    state.close(at, outcome);
}

/// Decides whether the end of a branch can decide that of the block. A branch that was stopped or skipped cannot.
fn takes_part(outcome: &Outcome) -> bool {
    !matches!(outcome.reason, EndReason::NotNeeded | EndReason::NothingRan)
}

fn are_over(slots: &[BranchState]) -> bool {
    slots.iter().all(|slot| matches!(slot, BranchState::Over(_)))
}

impl ParallelNode {
    /// Starts as many branches as the limit allows, or ends those that are no longer needed.
    /// Returns the outcome if the block ended.
    fn fill(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &NodeSite<'_>,
        inside: &Frame<'_>,
        state: &mut ParallelState,
    ) -> Option<Outcome> {
        loop {
            let slots = &mut state.slots;
            if let Some(cut) = site.cut {
                return are_over(slots).then(|| cut.clone());
            }
            if let Some(outcome) = self.is_enough(slots) {
                self.end_others(cx, site, inside, state);
                return are_over(&state.slots).then_some(outcome);
            }
            let open = slots.iter().filter(|slot| matches!(slot, BranchState::Open(_))).count();
            let limit = site.number(NodeNumber::Limit, self.limit);
            let room = limit == 0 || open < usize::try_from(limit).unwrap_or(usize::MAX);
            let waiting = slots.iter().position(|slot| matches!(slot, BranchState::Waiting));
            let waiting = waiting.filter(|_| room).and_then(|at| Some((at, self.branches.get(at)?)));
            let Some((at, branch)) = waiting else {
                return (open == 0).then(|| self.joined(slots));
            };
            let mut inner = state.left.remove(&at).unwrap_or_default();
            let over = lane::reopen(cx, &branch.body, &mut inner, inside);
            if let Some(slot) = state.slots.get_mut(at) {
                *slot = BranchState::Open(inner);
            }
            if let Some(outcome) = over {
                state.close(at, outcome);
            }
        }
    }

    fn end_others(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &NodeSite<'_>,
        inside: &Frame<'_>,
        state: &mut ParallelState,
    ) {
        let cut_by = Outcome::new(FinalStatus::Cancelled, EndReason::NotNeeded)
            .because(format!("another branch of `{}` was enough", site.node.id));
        for (at, branch) in self.branches.iter().enumerate() {
            let over = match state.slots.get_mut(at) {
                None | Some(BranchState::Over(_)) => None,
                Some(BranchState::Waiting) => Some(cut_by.clone()),
                Some(BranchState::Open(open)) if open.cut.is_some() => None,
                Some(BranchState::Open(open)) => cancel::lane(cx, &branch.body, open, inside, &cut_by),
            };
            if let Some(over) = over {
                state.close(at, over);
            }
        }
    }

    /// Returns the outcome if the block ends before all of its branches do.
    fn is_enough(&self, slots: &[BranchState]) -> Option<Outcome> {
        let mut over = slots.iter().filter_map(|slot| match slot {
            BranchState::Over(outcome) if takes_part(outcome) => Some(outcome),
            BranchState::Over(_) | BranchState::Waiting | BranchState::Open(_) => None,
        });
        match self.join {
            Join::All | Join::Some => None,
            Join::Any => over.next().cloned(),
            Join::FirstSuccess => over.find(|outcome| outcome.status == FinalStatus::Completed).cloned(),
        }
    }

    /// Returns the outcome of a block whose branches have all ended.
    fn joined(&self, slots: &[BranchState]) -> Outcome {
        let over = slots.iter().filter_map(|slot| match slot {
            BranchState::Over(outcome) => Some(outcome),
            BranchState::Waiting | BranchState::Open(_) => None,
        });
        let (good, bad): (Vec<&Outcome>, Vec<&Outcome>) = over
            .filter(|outcome| outcome.reason != EndReason::NothingRan)
            .partition(|outcome| outcome.status == FinalStatus::Completed);
        match (self.join, bad.first()) {
            (_, None) => done(EndReason::AllDone),
            (Join::Some, Some(_)) if !good.is_empty() => done(EndReason::AllDone),
            (Join::FirstSuccess | Join::Some, Some(first)) => {
                let detail = first.why();
                Outcome::new(FinalStatus::Failed, EndReason::NoBranch)
                    .because(format!("no branch succeeded: {detail}"))
            }
            (Join::All | Join::Any, Some(first)) => (*first).clone(),
        }
    }

    /// Returns the status of each branch that ended, by name.
    fn ended(&self, slots: &[BranchState]) -> BTreeMap<String, &'static str> {
        let ended = slots.iter().zip(&self.branches).filter_map(|(slot, branch)| match slot {
            BranchState::Over(outcome) => Some((branch.name.clone(), outcome.status.word())),
            BranchState::Waiting | BranchState::Open(_) => None,
        });
        ended.collect()
    }
}
