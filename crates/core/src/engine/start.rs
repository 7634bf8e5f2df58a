//! Starts a node of any kind, defers it during a pause, or skips it.

use super::DecisionCx;
use super::allowance::Allowance;
use super::frame::Frame;
use super::lane::seen;
use super::node::pair::{NodeOpening, NodeSite};
use super::numbers::{self, Numbers};
use crate::effect::Effect;
use crate::graph::walk::ids_in;
use crate::graph::workflow::{Node, NodeNumber};
use crate::id::Verb;
use crate::run::{ActiveNode, Activity, EachState, Lane, News, NodeCause, Outcome, Spent};

/// The result of starting a node.
pub(super) enum NodeStart {
    /// The node takes time.
    UnderWay,
    /// The node has already ended.
    Over(Outcome),
    Skipped,
}

/// One attempt at a node.
pub(super) struct Attempt {
    /// The number of the attempt, counted from 1.
    pub(super) tries: u32,
    /// See [`ActiveNode::old_tries`].
    pub(super) old_tries: u32,
    pub(super) cause: NodeCause,
    /// The spending of the earlier attempts.
    pub(super) spent: Spent,
    /// See [`ActiveNode::kept`].
    pub(super) kept: Option<Box<EachState>>,
    /// The numbers that an earlier attempt computed.
    pub(super) numbers: Numbers,
}

impl Attempt {
    pub(super) fn first(cause: NodeCause) -> Attempt {
        Attempt {
            tries: 1,
            old_tries: 0,
            cause,
            spent: Spent::default(),
            numbers: Numbers::new(),
            kept: None,
        }
    }
}

/// Starts a node. Unless it is skipped, it becomes the current node of the lane, even if it has
/// already ended. While the run is paused, nothing about the node is evaluated, reported or timed.
pub(super) fn begin(
    cx: &mut DecisionCx<'_>,
    step: &Node,
    lane: &mut Lane,
    frame: &Frame<'_>,
    this: Attempt,
) -> NodeStart {
    if cx.bookkeeping.paused {
        lane.now = Some(Box::new(deferred(cx, step, frame, this)));
        return NodeStart::UnderWay;
    }
    let Attempt { tries, old_tries, cause, spent, numbers, kept } = this;
    let instance = frame.name(step, tries);
    // A retried node was not skipped before.
    let when = step.when.as_ref().filter(|_| tries == 1);
    let holds = when.map_or(Ok(true), |when| frame.is_true(cx, when));
    if let Ok(false) = holds {
        skip(cx, step, frame);
        return NodeStart::Skipped;
    }
    seen(cx, step, &instance, cause);
    let (kind, about) = (step.kind.word().to_owned(), step.kind.shape().about());
    cx.tell(News::NodeStarted { node: instance.clone(), kind, about });
    let numbers = match holds.clone() {
        Ok(_) if numbers.is_empty() => numbers::resolve(cx, step, frame),
        Ok(_) => Ok(numbers),
        Err(outcome) => Err(outcome),
    };
    let (numbers, unready) = match numbers {
        Ok(numbers) => (numbers, None),
        Err(outcome) => (Numbers::new(), Some(outcome)),
    };
    let own = own_time(step, &numbers).filter(|_| unready.is_none()).map(|ms| cx.at.plus_ms(ms));
    if let Some(until) = own {
        cx.plan_once(&instance, Verb::Timeout, Effect::WaitUntil { until });
    }
    let deadline = [frame.deadline, own].into_iter().flatten().min();
    let (mut said, mut word) = (None, None);
    let mut site = NodeSite {
        node: step,
        frame,
        instance: &instance,
        tries,
        deadline,
        numbers: &numbers,
        cut: None,
        last_message: &mut said,
        word: &mut word,
        kept,
    };
    cx.allowances.push(Allowance { budget: step.budget, spent });
    let opening = match unready {
        Some(outcome) => NodeOpening::NotBegun(outcome),
        None => step.kind.node().begin(cx, &mut site),
    };
    let spent_now = cx.allowances.pop().map_or(spent, |purse| purse.spent);
    let (doing, begun) = match opening {
        NodeOpening::UnderWay(doing) => (doing, NodeStart::UnderWay),
        NodeOpening::Ended(doing, outcome) => (doing, NodeStart::Over(outcome)),
        NodeOpening::NotBegun(outcome) => (Activity::Ended, NodeStart::Over(outcome)),
    };
    lane.now = Some(Box::new(ActiveNode {
        step: step.id.clone(),
        instance,
        tries,
        old_tries,
        began: cx.at,
        deadline,
        spent: spent_now,
        earlier: spent,
        cut: None,
        numbers,
        said,
        word,
        kept: None,
        activity: doing,
    }));
    begun
}

/// Returns the time limit of the node itself, in milliseconds.
pub(super) fn own_time(node: &Node, numbers: &Numbers) -> Option<u64> {
    let timeout = numbers.get(&NodeNumber::Timeout).copied().or(node.settings.timeout_ms);
    [timeout, node.budget.time_ms].into_iter().flatten().min()
}

/// Returns a node that starts when the pause ends.
fn deferred(cx: &mut DecisionCx<'_>, node: &Node, frame: &Frame<'_>, this: Attempt) -> ActiveNode {
    let Attempt { tries, old_tries, cause, spent, numbers, kept } = this;
    let instance = frame.name(node, tries);
    cx.defer(&instance);
    ActiveNode {
        step: node.id.clone(),
        instance,
        tries,
        old_tries,
        began: cx.at,
        deadline: None,
        spent,
        earlier: spent,
        cut: None,
        numbers,
        said: None,
        word: None,
        kept,
        activity: Activity::Deferred { cause },
    }
}

fn skip(cx: &mut DecisionCx<'_>, step: &Node, frame: &Frame<'_>) {
    let condition = step.when.as_ref().map(|when| when.0.clone()).unwrap_or_default();
    let node = frame.name(step, 1);
    let why = format!("`{}` is false", condition.trim());
    cx.tell(News::NodeSkipped { node: node.clone(), why });
    let before = cx.bookkeeping.nodes.get(&step.id);
    let times = before.map_or(0, |seen| seen.times);
    let earlier = before.and_then(|seen| seen.outcome.clone().or_else(|| seen.earlier.clone()));
    seen(cx, step, &node, NodeCause::WhenFalse { condition });
    if let Some(seen) = cx.bookkeeping.nodes.get_mut(&step.id) {
        seen.times = times;
        seen.earlier = earlier;
        seen.ended = Some(seen.began);
    }
    forget_outputs(cx, std::slice::from_ref(step));
}

/// Removes the outputs of these nodes from an earlier iteration.
pub(super) fn forget_outputs(cx: &mut DecisionCx<'_>, steps: &[Node]) {
    for id in ids_in(steps) {
        cx.bookkeeping.outputs.remove(&id);
    }
}
