//! `finally`: the nodes that run at the end of a run, whatever the end. It is always the last node of a
//! workflow, and [`finale`](crate::engine::finale) decides when it runs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeShape, Structure};
use crate::engine::{DecisionCx, cancel, lane};
use crate::event::Event;
use crate::graph::workflow::Node;
use crate::id::NodeId;
use crate::run::{Activity, Lane, Outcome, SessionSignal, Waiting};

/// The nodes that run at the end of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinallyNode {
    pub body: Vec<Node>,
}

/// The state of a `finally` block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinallyState {
    pub lane: Lane,
}

impl NodeShape for FinallyNode {
    fn word(&self) -> &'static str {
        "finally"
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Last(&self.body)
    }

    fn blocks_mut(&mut self) -> Vec<&mut Vec<Node>> {
        vec![&mut self.body]
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::OnlyText
    }
}

impl ActiveState for FinallyState {
    fn word(&self) -> &'static str {
        "a `finally` block"
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

impl NodeRun for FinallyNode {
    type State<'s> = &'s mut FinallyState;

    fn state(activity: &mut Activity) -> Option<&mut FinallyState> {
        if let Activity::Finally(state) = activity { Some(state) } else { None }
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        let mut state = FinallyState { lane: Lane::default() };
        let over = lane::proceed(cx, &self.body, &mut state.lane, &site.inside());
        NodeOpening::of(Activity::Finally(state), over)
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        _state: &mut FinallyState,
        event: &Event,
    ) -> Delivered {
        site.unexpected(cx, event)
    }

    fn deliver(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut FinallyState,
        to: &NodeId,
        event: &Event,
    ) -> Delivered {
        lane::deliver(cx, &self.body, &mut state.lane, &site.inside(), to, event)
    }

    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut FinallyState,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        cancel::lane(cx, &self.body, &mut state.lane, &site.inside(), outcome)
    }

    fn said(&self, site: &NodeSite<'_>, state: Option<&mut FinallyState>) -> Option<String> {
        state.and_then(|state| state.lane.said.clone()).or_else(|| site.last_message.clone())
    }

    fn last_word(
        &self,
        site: &NodeSite<'_>,
        state: Option<&mut FinallyState>,
        _outcome: &Outcome,
    ) -> Option<SessionSignal> {
        state.and_then(|state| state.lane.word.clone()).or_else(|| site.word.clone())
    }

    fn output(
        &self,
        _cx: &DecisionCx<'_>,
        _site: &NodeSite<'_>,
        _state: Option<&mut FinallyState>,
    ) -> (String, Option<Value>) {
        Default::default()
    }
}
