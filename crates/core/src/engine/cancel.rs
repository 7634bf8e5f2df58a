//! Ends nodes before they are done: starts nothing new and cleans up the work in progress.

use super::DecisionCx;
use super::frame::Frame;
use super::lane::in_purse;
use super::node::pair::NodeSite;
use crate::graph::workflow::Node;
use crate::run::{ActiveNode, Lane, Outcome};

/// Ends a sequence. Returns its outcome if that takes no time.
pub(super) fn lane(
    cx: &mut DecisionCx<'_>,
    steps: &[Node],
    lane: &mut Lane,
    frame: &Frame<'_>,
    outcome: &Outcome,
) -> Option<Outcome> {
    if lane.cut.is_none() {
        lane.cut = Some(outcome.clone());
    }
    let (Some(step), Some(active)) = (steps.get(lane.at), lane.now.as_mut()) else {
        return lane.cut.clone();
    };
    let over = in_purse(cx, step, active, |cx, active| node(cx, step, active, frame, outcome))?;
    super::lane::after(cx, steps, lane, frame, over)
}

/// Ends a node. Returns its outcome if that takes no time.
pub(super) fn node(
    cx: &mut DecisionCx<'_>,
    step: &Node,
    active: &mut ActiveNode,
    frame: &Frame<'_>,
    outcome: &Outcome,
) -> Option<Outcome> {
    if active.cut.is_some() {
        return None;
    }
    active.cut = Some(outcome.clone());
    let (mut site, activity) = NodeSite::of(step, frame, active);
    step.kind.node().cancel(cx, &mut site, activity, outcome)
}
