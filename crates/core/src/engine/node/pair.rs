//! A node in progress: its definition in the workflow together with its state in the run.
//!
//! Each kind names its own state in [`NodeRun::state`], and [`AnyNode`] combines the two. If they
//! do not match, the run ends with
//! [`EndReason::InternalError`](crate::run::EndReason::InternalError).

use serde_json::Value;

use super::shape::NodeShape;
use crate::effect::Effect;
use crate::engine::DecisionCx;
use crate::engine::frame::Frame;
use crate::engine::numbers::Numbers;
use crate::engine::output;
use crate::event::Event;
use crate::graph::workflow::{Node, NodeNumber};
use crate::id::{NodeId, Verb};
use crate::run::{ActiveNode, Activity, EachState, Outcome, SessionSignal};
use crate::time::Moment;

/// The position of a node in progress, without the state of its kind.
pub(in crate::engine) struct NodeSite<'a> {
    pub(in crate::engine) node: &'a Node,
    /// The surroundings of the node.
    pub(in crate::engine) frame: &'a Frame<'a>,
    pub(in crate::engine) instance: &'a NodeId,
    pub(in crate::engine) tries: u32,
    pub(in crate::engine) deadline: Option<Moment>,
    /// See [`ActiveNode::numbers`].
    pub(in crate::engine) numbers: &'a Numbers,
    /// The outcome that the node will have, once it is being ended.
    pub(in crate::engine) cut: Option<&'a Outcome>,
    /// See [`ActiveNode::said`].
    pub(in crate::engine) last_message: &'a mut Option<String>,
    /// See [`ActiveNode::word`].
    pub(in crate::engine) word: &'a mut Option<SessionSignal>,
    /// See [`ActiveNode::kept`].
    pub(in crate::engine) kept: Option<Box<EachState>>,
}

impl<'a> NodeSite<'a> {
    /// Splits a node in progress into its position and the state of its kind.
    pub(in crate::engine) fn of(
        step: &'a Node,
        around: &'a Frame<'a>,
        active: &'a mut ActiveNode,
    ) -> (NodeSite<'a>, &'a mut Activity) {
        let ActiveNode { instance, tries, deadline, numbers, cut, said, word, activity: doing, .. } = active;
        let (tries, deadline, cut) = (*tries, *deadline, cut.as_ref());
        let last_message = said;
        let site = NodeSite {
            node: step,
            frame: around,
            instance,
            tries,
            deadline,
            numbers,
            cut,
            last_message,
            word,
            kept: None,
        };
        (site, doing)
    }

    /// Returns a number of the node: the computed one, or else the written one.
    pub(in crate::engine) fn number(&self, number: NodeNumber, written: u32) -> u32 {
        let computed = self.numbers.get(&number);
        computed.map_or(written, |computed| u32::try_from(*computed).unwrap_or(u32::MAX))
    }

    /// Returns the surroundings of the nodes in this block.
    pub(in crate::engine) fn inside(&self) -> Frame<'a> {
        self.frame.inside(self.node, self.tries, self.deadline)
    }

    /// Plans to end everything of the node that runs outside. The node ends when that is done.
    pub(super) fn clean_up(&self, cx: &mut DecisionCx<'_>) -> Option<Outcome> {
        cx.plan_once(self.instance, Verb::CleanUp, Effect::CleanUp { iteration: 0 });
        None
    }

    /// Does the same, and no longer waits for the node's open effects.
    pub(super) fn abandon(&self, cx: &mut DecisionCx<'_>) -> Option<Outcome> {
        cx.forget(self.instance);
        self.clean_up(cx)
    }

    /// Reports an event that a node of this kind cannot handle.
    pub(in crate::engine) fn unexpected(&self, cx: &mut DecisionCx<'_>, event: &Event) -> Delivered {
        let kind = self.node.kind.word();
        let (instance, event) = (self.instance, event.word());
        self.broken(cx, format!("`{instance}` is a `{kind}` node, which cannot handle the event {event}"))
    }

    fn misfit(&self, cx: &mut DecisionCx<'_>, activity: &Activity) -> Delivered {
        let kind = self.node.kind.word();
        let kept = activity.word();
        self.broken(cx, format!("`{}` is a `{kind}` node, but its state is that of {kept}", self.instance))
    }

    fn broken(&self, cx: &mut DecisionCx<'_>, why: String) -> Delivered {
        // A node that is being ended has nothing else to wait for.
        if let Some(cut) = self.cut {
            return Delivered::Over(cut.clone());
        }
        cx.break_off(why);
        Delivered::UnderWay
    }
}

/// The result of starting a node.
pub(in crate::engine) enum NodeOpening {
    /// The node takes time.
    UnderWay(Activity),
    /// The node ended at once and leaves this state.
    Ended(Activity, Outcome),
    /// The node ended before it did anything.
    NotBegun(Outcome),
}

impl NodeOpening {
    /// Returns the state of a block, and its outcome if it has already ended.
    pub(super) fn of(doing: Activity, over: Option<Outcome>) -> NodeOpening {
        match over {
            None => NodeOpening::UnderWay(doing),
            Some(outcome) => NodeOpening::Ended(doing, outcome),
        }
    }
}

/// The result of delivering an event to a node or a sequence.
#[derive(Debug, PartialEq)]
pub(in crate::engine) enum Delivered {
    /// The event concerns none of these nodes.
    NotMine,
    UnderWay,
    Over(Outcome),
}

impl Delivered {
    /// Applies a function to the outcome.
    pub(in crate::engine) fn and_then(self, next: impl FnOnce(Outcome) -> Option<Outcome>) -> Delivered {
        match self {
            Delivered::Over(outcome) => next(outcome).into(),
            other @ (Delivered::NotMine | Delivered::UnderWay) => other,
        }
    }
}

impl From<Option<Outcome>> for Delivered {
    fn from(over: Option<Outcome>) -> Delivered {
        over.map_or(Delivered::UnderWay, Delivered::Over)
    }
}

/// The execution of a kind of node. Where `state` is optional, it is `None` before the node starts.
pub(in crate::engine) trait NodeRun: NodeShape {
    /// The state of a node of this kind in progress.
    type State<'s>;

    /// Returns the state of this kind, or `None` if the activity belongs to another kind.
    fn state(activity: &mut Activity) -> Option<Self::State<'_>>;

    /// Starts a node.
    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening;

    /// Applies an event that concerns the node itself.
    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: Self::State<'_>,
        event: &Event,
    ) -> Delivered;

    /// Delivers an event to the node inside that it concerns.
    fn deliver(
        &self,
        _cx: &mut DecisionCx<'_>,
        _site: &mut NodeSite<'_>,
        _state: Self::State<'_>,
        _to: &NodeId,
        _event: &Event,
    ) -> Delivered {
        Delivered::NotMine
    }

    /// Ends a node early. Returns its outcome if that takes no time.
    fn cancel(
        &self,
        _cx: &mut DecisionCx<'_>,
        _site: &mut NodeSite<'_>,
        _state: Self::State<'_>,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        Some(outcome.clone())
    }

    /// Handles the timeout of a node. `None` means that the node is simply ended.
    fn out_of_time(
        &self,
        _cx: &mut DecisionCx<'_>,
        _site: &mut NodeSite<'_>,
        _state: Self::State<'_>,
    ) -> Option<Delivered> {
        None
    }

    /// Decides whether a node in which a run ended continues where it was. Otherwise the node starts
    /// again. `before` is the outcome of the node.
    fn can_reopen(&self, _state: Self::State<'_>, _before: Option<&Outcome>) -> bool {
        false
    }

    /// Continues a node in which a run ended. Returns its outcome if it has ended again.
    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        _state: Self::State<'_>,
        _before: Option<&Outcome>,
    ) -> Option<Outcome> {
        cx.break_off(format!("`{}` cannot continue where it was", site.instance));
        None
    }

    /// Returns the last message of an agent in it.
    fn said(&self, site: &NodeSite<'_>, _state: Option<Self::State<'_>>) -> Option<String> {
        site.last_message.clone()
    }

    /// Returns the signal of the last session in it. See [`Lane::word`](crate::run::Lane::word).
    fn last_word(
        &self,
        site: &NodeSite<'_>,
        _state: Option<Self::State<'_>>,
        _outcome: &Outcome,
    ) -> Option<SessionSignal> {
        site.word.clone()
    }

    /// Returns the output, as text and as a value.
    fn output(
        &self,
        cx: &DecisionCx<'_>,
        site: &NodeSite<'_>,
        _state: Option<Self::State<'_>>,
    ) -> (String, Option<Value>) {
        output::put_down(cx, &site.node.id)
    }

    /// Returns an outcome inside it that another attempt cannot change.
    fn fixed(&self, _state: Self::State<'_>) -> Option<Outcome> {
        None
    }
}

/// A kind of node without the type of its state. Every [`NodeRun`] implements it.
pub(in crate::engine) trait AnyNode: NodeShape {
    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening;
    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        activity: &mut Activity,
        event: &Event,
    ) -> Delivered;
    fn deliver(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        activity: &mut Activity,
        to: &NodeId,
        event: &Event,
    ) -> Delivered;
    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        activity: &mut Activity,
        outcome: &Outcome,
    ) -> Option<Outcome>;
    fn out_of_time(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        activity: &mut Activity,
    ) -> Option<Delivered>;
    fn can_reopen(&self, activity: &mut Activity, before: Option<&Outcome>) -> bool;
    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        activity: &mut Activity,
        before: Option<&Outcome>,
    ) -> Option<Outcome>;
    fn said(&self, site: &NodeSite<'_>, activity: &mut Activity) -> Option<String>;
    fn last_word(
        &self,
        site: &NodeSite<'_>,
        activity: &mut Activity,
        outcome: &Outcome,
    ) -> Option<SessionSignal>;
    fn gives(
        &self,
        cx: &DecisionCx<'_>,
        site: &NodeSite<'_>,
        activity: &mut Activity,
    ) -> (String, Option<Value>);
    fn fixed(&self, activity: &mut Activity) -> Option<Outcome>;
}

/// The state of a node, as its kind sees it.
enum NodeState<'d, K: NodeRun> {
    Own(K::State<'d>),
    /// The node has not started: a pause defers it, or it ended at once.
    NotBegun,
    Misfit(&'d Activity),
}

fn kept<K: NodeRun>(activity: &mut Activity) -> NodeState<'_, K> {
    if !activity.has_begun() {
        return NodeState::NotBegun;
    }
    if K::state(activity).is_none() {
        return NodeState::Misfit(activity);
    }
    K::state(activity).map_or(NodeState::NotBegun, NodeState::Own)
}

impl<K: NodeRun> AnyNode for K {
    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        NodeRun::begin(self, cx, site)
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        activity: &mut Activity,
        event: &Event,
    ) -> Delivered {
        match kept::<K>(activity) {
            NodeState::Own(state) => NodeRun::apply(self, cx, site, state, event),
            NodeState::NotBegun => site.unexpected(cx, event),
            NodeState::Misfit(activity) => site.misfit(cx, activity),
        }
    }

    fn deliver(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        activity: &mut Activity,
        to: &NodeId,
        event: &Event,
    ) -> Delivered {
        match kept::<K>(activity) {
            NodeState::Own(state) => NodeRun::deliver(self, cx, site, state, to, event),
            NodeState::NotBegun => Delivered::NotMine,
            NodeState::Misfit(activity) => {
                site.misfit(cx, activity);
                Delivered::NotMine
            }
        }
    }

    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        activity: &mut Activity,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        match kept::<K>(activity) {
            NodeState::Own(state) => NodeRun::cancel(self, cx, site, state, outcome),
            NodeState::NotBegun => Some(outcome.clone()),
            // It is unknown what runs for it.
            NodeState::Misfit(_) => site.abandon(cx),
        }
    }

    fn out_of_time(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        activity: &mut Activity,
    ) -> Option<Delivered> {
        match kept::<K>(activity) {
            NodeState::Own(state) => NodeRun::out_of_time(self, cx, site, state),
            NodeState::NotBegun => None,
            NodeState::Misfit(activity) => Some(site.misfit(cx, activity)),
        }
    }

    fn can_reopen(&self, activity: &mut Activity, before: Option<&Outcome>) -> bool {
        match kept::<K>(activity) {
            NodeState::Own(state) => NodeRun::can_reopen(self, state, before),
            NodeState::NotBegun | NodeState::Misfit(_) => false,
        }
    }

    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        activity: &mut Activity,
        before: Option<&Outcome>,
    ) -> Option<Outcome> {
        match kept::<K>(activity) {
            NodeState::Own(state) => NodeRun::reopen(self, cx, site, state, before),
            NodeState::NotBegun => {
                cx.break_off(format!("`{}` cannot continue because it never started", site.instance));
                None
            }
            NodeState::Misfit(activity) => {
                site.misfit(cx, activity);
                None
            }
        }
    }

    fn said(&self, site: &NodeSite<'_>, activity: &mut Activity) -> Option<String> {
        NodeRun::said(self, site, K::state(activity))
    }

    fn last_word(
        &self,
        site: &NodeSite<'_>,
        activity: &mut Activity,
        outcome: &Outcome,
    ) -> Option<SessionSignal> {
        NodeRun::last_word(self, site, K::state(activity), outcome)
    }

    fn gives(
        &self,
        cx: &DecisionCx<'_>,
        site: &NodeSite<'_>,
        activity: &mut Activity,
    ) -> (String, Option<Value>) {
        NodeRun::output(self, cx, site, K::state(activity))
    }

    fn fixed(&self, activity: &mut Activity) -> Option<Outcome> {
        K::state(activity).and_then(|state| NodeRun::fixed(self, state))
    }
}
