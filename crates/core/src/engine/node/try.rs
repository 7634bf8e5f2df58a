//! `try`: runs its nodes, and the nodes of `catch` if one of them fails.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeShape, Structure};
use crate::engine::frame::Frame;
use crate::engine::start::forget_outputs;
use crate::engine::{DecisionCx, cancel, lane};
use crate::event::Event;
use crate::graph::workflow::Node;
use crate::id::NodeId;
use crate::run::{Activity, FinalStatus, Lane, Outcome, SessionSignal, Waiting};

/// Nodes that may fail, and the nodes that run then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TryNode {
    pub body: Vec<Node>,
    /// The nodes that run if one of the body fails. If they complete, the block completes. Empty catches
    /// nothing.
    pub catch: Vec<Node>,
}

/// The state of a `try` block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TryState {
    /// The failure of the body. The lane is then that of `catch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caught: Option<String>,
    pub lane: Lane,
}

impl NodeShape for TryNode {
    fn word(&self) -> &'static str {
        "try"
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Guarded(self)
    }

    fn blocks_mut(&mut self) -> Vec<&mut Vec<Node>> {
        vec![&mut self.body, &mut self.catch]
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::OnlyText
    }
}

impl ActiveState for TryState {
    fn word(&self) -> &'static str {
        "a `try` block"
    }

    fn waits(&self, site: &WaitSite<'_>, into: &mut Vec<Waiting>) -> bool {
        self.lane.waits(site.bookkeeping, into)
    }

    fn lanes(&self) -> Vec<&Lane> {
        vec![&self.lane]
    }

    fn lanes_mut(&mut self) -> Vec<&mut Lane> {
        vec![&mut self.lane]
    }
}

impl NodeRun for TryNode {
    type State<'s> = &'s mut TryState;

    fn state(activity: &mut Activity) -> Option<&mut TryState> {
        if let Activity::Try(state) = activity { Some(state) } else { None }
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        forget_outputs(cx, &self.catch);
        let mut state = TryState { caught: None, lane: Lane::default() };
        let over = lane::proceed(cx, &self.body, &mut state.lane, &site.inside());
        let over = over.and_then(|outcome| self.next(cx, site, &mut state, outcome));
        NodeOpening::of(Activity::Try(state), over)
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        _state: &mut TryState,
        event: &Event,
    ) -> Delivered {
        site.unexpected(cx, event)
    }

    fn deliver(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut TryState,
        to: &NodeId,
        event: &Event,
    ) -> Delivered {
        let inside = framed(&site.inside(), state);
        let delivered = lane::deliver(cx, self.nodes(state), &mut state.lane, &inside, to, event);
        delivered.and_then(|outcome| self.next(cx, site, state, outcome))
    }

    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut TryState,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        let inside = framed(&site.inside(), state);
        cancel::lane(cx, self.nodes(state), &mut state.lane, &inside, outcome)
    }

    fn can_reopen(&self, _state: &mut TryState, _before: Option<&Outcome>) -> bool {
        true
    }

    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut TryState,
        _before: Option<&Outcome>,
    ) -> Option<Outcome> {
        let inside = framed(&site.inside(), state);
        let outcome = lane::reopen(cx, self.nodes(state), &mut state.lane, &inside)?;
        self.next(cx, site, state, outcome)
    }

    fn said(&self, site: &NodeSite<'_>, state: Option<&mut TryState>) -> Option<String> {
        state.and_then(|state| state.lane.said.clone()).or_else(|| site.last_message.clone())
    }

    fn last_word(
        &self,
        site: &NodeSite<'_>,
        state: Option<&mut TryState>,
        _outcome: &Outcome,
    ) -> Option<SessionSignal> {
        state.and_then(|state| state.lane.word.clone()).or_else(|| site.word.clone())
    }

    fn output(
        &self,
        _cx: &DecisionCx<'_>,
        _site: &NodeSite<'_>,
        state: Option<&mut TryState>,
    ) -> (String, Option<Value>) {
        (state.and_then(|state| state.lane.said.clone()).unwrap_or_default(), None)
    }
}

impl TryNode {
    /// Returns the nodes that run now.
    fn nodes(&self, state: &TryState) -> &[Node] {
        if state.caught.is_some() { &self.catch } else { &self.body }
    }

    /// Starts `catch` if the body failed. Returns the outcome if the block ended.
    fn next(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut TryState,
        outcome: Outcome,
    ) -> Option<Outcome> {
        let is_caught = outcome.status != FinalStatus::Completed
            && state.caught.is_none()
            && !self.catch.is_empty()
            && site.cut.is_none()
            && !lane::ends_everything(cx, &outcome);
        if !is_caught {
            return Some(outcome);
        }
        let failed = std::mem::take(&mut state.lane);
        *site.last_message = failed.said.or(site.last_message.take());
        *site.word = failed.word.or(site.word.take());
        let detail = || outcome.why();
        state.caught = Some(if failed.wrong.is_empty() { detail() } else { failed.wrong });
        let inside = framed(&site.inside(), state);
        lane::proceed(cx, &self.catch, &mut state.lane, &inside)
    }
}

/// Returns the surroundings of the nodes that run now. `catch` gets the failure as feedback.
fn framed<'f>(inside: &Frame<'f>, state: &TryState) -> Frame<'f> {
    match &state.caught {
        Some(caught) => Frame { feedback: caught.clone(), ..inside.clone() },
        None => inside.clone(),
    }
}
