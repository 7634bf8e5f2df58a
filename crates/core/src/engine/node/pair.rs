//! A node under way as one pair: what the workflow says of it, and what the run keeps of it.
//!
//! Each kind names its own half of the state in [`NodeRun::state`], and [`AnyNode`] puts the two together. A pair
//! that does not fit ends the run with [`Reason::InternalError`](crate::run::Reason::InternalError).

use serde_json::Value;

use super::shape::NodeShape;
use crate::effect::Effect;
use crate::engine::DecisionCx;
use crate::engine::frame::Frame;
use crate::engine::output;
use crate::event::Event;
use crate::graph::workflow::Node;
use crate::id::{NodeId, Verb};
use crate::run::{ActiveNode, Activity, Outcome, SessionSignal};
use crate::time::Moment;

/// Where a node under way stands, beside what its kind keeps.
pub(in crate::engine) struct NodeSite<'a> {
    pub(in crate::engine) node: &'a Node,
    /// What stands around it.
    pub(in crate::engine) frame: &'a Frame<'a>,
    /// Its name in this round and try.
    pub(in crate::engine) instance: &'a NodeId,
    pub(in crate::engine) tries: u32,
    pub(in crate::engine) deadline: Option<Moment>,
    /// It is being ended, and how it will have ended.
    pub(in crate::engine) cut: Option<&'a Outcome>,
    /// See [`Active::said`].
    pub(in crate::engine) last_message: &'a mut Option<String>,
    /// See [`Active::word`].
    pub(in crate::engine) word: &'a mut Option<SessionSignal>,
}

impl<'a> NodeSite<'a> {
    /// Splits a node under way into where it stands and what its kind keeps.
    pub(in crate::engine) fn of(
        step: &'a Node,
        around: &'a Frame<'a>,
        active: &'a mut ActiveNode,
    ) -> (NodeSite<'a>, &'a mut Activity) {
        let ActiveNode { instance, tries, deadline, cut, said, word, activity: doing, .. } = active;
        let (tries, deadline, cut) = (*tries, *deadline, cut.as_ref());
        (
            NodeSite { node: step, frame: around, instance, tries, deadline, cut, last_message: said, word },
            doing,
        )
    }

    /// What stands around the nodes of a block.
    pub(in crate::engine) fn inside(&self) -> Frame<'a> {
        self.frame.inside(self.node, self.tries, self.deadline)
    }

    /// Plans to end everything of the node that runs outside. The node is over when that is done.
    pub(super) fn clean_up(&self, cx: &mut DecisionCx<'_>) -> Option<Outcome> {
        cx.plan_once(self.instance, Verb::CleanUp, Effect::CleanUp { iteration: 0 });
        None
    }

    /// Does the same, and no longer waits for what the node had begun.
    pub(super) fn abandon(&self, cx: &mut DecisionCx<'_>) -> Option<Outcome> {
        cx.forget(self.instance);
        self.clean_up(cx)
    }

    /// A fact that no node of this kind can be told.
    pub(in crate::engine) fn unexpected(&self, cx: &mut DecisionCx<'_>, event: &Event) -> Delivered {
        let kind = self.node.kind.word();
        self.broken(cx, format!("`{}` is a `{kind}` node and was told {}", self.instance, event.word()))
    }

    fn misfit(&self, cx: &mut DecisionCx<'_>, activity: &Activity) -> Delivered {
        let kind = self.node.kind.word();
        let kept = activity.word();
        self.broken(
            cx,
            format!("`{}` is a `{kind}` node, and the run keeps {kept} as its state", self.instance),
        )
    }

    fn broken(&self, cx: &mut DecisionCx<'_>, why: String) -> Delivered {
        // One that is being ended has nothing else to wait for.
        if let Some(cut) = self.cut {
            return Delivered::Over(cut.clone());
        }
        cx.break_off(why);
        Delivered::UnderWay
    }
}

/// How a node begins.
pub(in crate::engine) enum NodeOpening {
    /// It takes time.
    UnderWay(Activity),
    /// It ended at once, and this is left of it.
    Ended(Activity, Outcome),
    /// It ended before it did anything.
    NotBegun(Outcome),
}

impl NodeOpening {
    /// What a block does, and how it ended, when it has.
    pub(super) fn of(doing: Activity, over: Option<Outcome>) -> NodeOpening {
        match over {
            None => NodeOpening::UnderWay(doing),
            Some(outcome) => NodeOpening::Ended(doing, outcome),
        }
    }
}

/// What came of a fact that a node or a sequence was told.
#[derive(Debug, PartialEq)]
pub(in crate::engine) enum Delivered {
    /// It is about none of these nodes.
    NotMine,
    /// It is not over yet.
    UnderWay,
    /// It ended so.
    Over(Outcome),
}

impl Delivered {
    /// Goes on with how it ended.
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

/// How a kind of node is run. `state` is what the run keeps of it; where that is optional, there is none
/// before the node begins.
pub(in crate::engine) trait NodeRun: NodeShape {
    /// What the run keeps of a node of this kind that is under way.
    type State<'s>;

    /// Returns this kind's state, or nothing where another kind's is kept.
    fn state(activity: &mut Activity) -> Option<Self::State<'_>>;

    /// Begins a node.
    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening;

    /// Applies a fact about the node itself.
    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: Self::State<'_>,
        event: &Event,
    ) -> Delivered;

    /// Passes a fact on to the node inside that it is about.
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

    /// Ends a node early. How it ended, when that takes no time.
    fn cancel(
        &self,
        _cx: &mut DecisionCx<'_>,
        _site: &mut NodeSite<'_>,
        _state: Self::State<'_>,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        Some(outcome.clone())
    }

    /// Decides what comes of a node whose time is up, where it is not just ended.
    fn out_of_time(
        &self,
        _cx: &mut DecisionCx<'_>,
        _site: &mut NodeSite<'_>,
        _state: Self::State<'_>,
    ) -> Option<Delivered> {
        None
    }

    /// Returns the last words of an agent in it.
    fn said(&self, site: &NodeSite<'_>, _state: Option<Self::State<'_>>) -> Option<String> {
        site.last_message.clone()
    }

    /// Returns the word of the last session in it; see [`Lane::word`](crate::run::Lane::word).
    fn last_word(
        &self,
        site: &NodeSite<'_>,
        _state: Option<Self::State<'_>>,
        _outcome: &Outcome,
    ) -> Option<SessionSignal> {
        site.word.clone()
    }

    /// Returns what it gives, as a text and as a value.
    fn output(
        &self,
        cx: &DecisionCx<'_>,
        site: &NodeSite<'_>,
        _state: Option<Self::State<'_>>,
    ) -> (String, Option<Value>) {
        output::put_down(cx, &site.node.id)
    }

    /// Returns an outcome inside it that no other try can change.
    fn fixed(&self, _state: Self::State<'_>) -> Option<Outcome> {
        None
    }
}

/// A kind of node without the type of its state. Every [`NodeRun`] is one.
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

/// What the run keeps of a node, seen as a kind sees it.
enum NodeState<'d, K: NodeRun> {
    /// The state of this kind.
    Own(K::State<'d>),
    /// It is not under way: a pause holds it back, or it was over at once.
    NotBegun,
    /// The state of another kind.
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
            // Nobody knows what runs for it.
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
