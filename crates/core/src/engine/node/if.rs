//! `if`: chooses one of two branches.

use serde::{Deserialize, Serialize};

use crate::graph::workflow::{Expression, Node};
use crate::run::{Lane, Waiting};

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeShape, Structure};
use crate::engine::start::forget_outputs;
use crate::engine::{DecisionCx, cancel, lane};
use crate::event::Event;
use crate::graph::check::outline::{EvaluationTime, Text};
use crate::id::NodeId;
use crate::run::{Activity, Outcome, SessionSignal};
use serde_json::Value;

/// A choice between two branches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IfNode {
    pub condition: Expression,
    /// The nodes to run if the condition is true.
    pub then: Vec<Node>,
    /// The nodes to run if the condition is false.
    pub otherwise: Vec<Node>,
}

/// The state of an `if`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IfState {
    /// The condition was true.
    pub then: bool,
    pub lane: Lane,
}

impl IfNode {
    /// Returns the nodes of one branch.
    fn taken(&self, then: bool) -> &[Node] {
        if then { &self.then } else { &self.otherwise }
    }
}

impl NodeShape for IfNode {
    fn word(&self) -> &'static str {
        "if"
    }

    fn label(&self) -> String {
        format!("if {}", self.condition.0)
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Either(self)
    }

    fn blocks_mut(&mut self) -> Vec<&mut Vec<Node>> {
        vec![&mut self.then, &mut self.otherwise]
    }

    fn texts(&self) -> Vec<Text> {
        vec![Text::condition("if", &self.condition, EvaluationTime::Begin)]
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::OnlyText
    }
}

impl ActiveState for IfState {
    fn word(&self) -> &'static str {
        "an `if` block"
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

impl NodeRun for IfNode {
    type State<'s> = &'s mut IfState;

    fn state(activity: &mut Activity) -> Option<&mut IfState> {
        if let Activity::If(state) = activity { Some(state) } else { None }
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        let inside = site.inside();
        let then = match inside.is_true(cx, &self.condition) {
            Ok(then) => then,
            Err(outcome) => return NodeOpening::NotBegun(outcome),
        };
        forget_outputs(cx, self.taken(!then));
        let mut inner = Lane::default();
        let over = lane::proceed(cx, self.taken(then), &mut inner, &inside);
        NodeOpening::of(Activity::If(IfState { then, lane: inner }), over)
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        _state: &mut IfState,
        event: &Event,
    ) -> Delivered {
        site.unexpected(cx, event)
    }

    fn deliver(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut IfState,
        to: &NodeId,
        event: &Event,
    ) -> Delivered {
        lane::deliver(cx, self.taken(state.then), &mut state.lane, &site.inside(), to, event)
    }

    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut IfState,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        cancel::lane(cx, self.taken(state.then), &mut state.lane, &site.inside(), outcome)
    }

    fn can_reopen(&self, _state: &mut IfState, _before: Option<&Outcome>) -> bool {
        true
    }

    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut IfState,
        _before: Option<&Outcome>,
    ) -> Option<Outcome> {
        lane::reopen(cx, self.taken(state.then), &mut state.lane, &site.inside())
    }

    fn said(&self, site: &NodeSite<'_>, state: Option<&mut IfState>) -> Option<String> {
        state.and_then(|state| state.lane.said.clone()).or_else(|| site.last_message.clone())
    }

    fn last_word(
        &self,
        site: &NodeSite<'_>,
        state: Option<&mut IfState>,
        _outcome: &Outcome,
    ) -> Option<SessionSignal> {
        state.and_then(|state| state.lane.word.clone()).or_else(|| site.word.clone())
    }

    fn output(
        &self,
        _cx: &DecisionCx<'_>,
        _site: &NodeSite<'_>,
        state: Option<&mut IfState>,
    ) -> (String, Option<Value>) {
        (state.and_then(|state| state.lane.said.clone()).unwrap_or_default(), None)
    }
}
