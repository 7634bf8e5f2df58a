//! The iterations of `loop` and `criteria_loop`. Each kind has its own end condition.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{FieldKind, NodeShape};
use crate::engine::explain::until_detail;
use crate::engine::frame::Frame;
use crate::engine::{DecisionCx, cancel, done, lane};
use crate::event::Event;
use crate::graph::workflow::{Expression, Node, NodeNumber};
use crate::id::{NodeId, Verb};
use crate::looping::verdict::is_signalled;
use crate::run::{Activity, EndReason, FinalStatus, Lane, News, Outcome, SessionSignal, Waiting};

/// The number of iterations that one event may start. A loop whose iterations take no time would
/// otherwise never return.
const ROUNDS_AT_ONCE: u32 = 1_000;

/// The fields of the value that a loop outputs.
pub(super) const ROUNDS: [(&str, FieldKind); 1] = [("iteration", FieldKind::Number)];

/// The state of a loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundsState {
    /// The iteration, counted from 1.
    pub round: u32,
    /// The failures of the previous iteration.
    pub feedback: String,
    pub lane: Lane,
    /// The maximum number of iterations, if it was computed or a person changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
}

impl ActiveState for RoundsState {
    fn word(&self) -> &'static str {
        "a loop"
    }

    fn waits(&self, site: &WaitSite<'_>, into: &mut Vec<Waiting>) -> bool {
        self.lane.waits(site.bookkeeping, into) || site.is_open(Verb::Defer)
    }

    fn lanes(&self) -> Vec<&Lane> {
        vec![&self.lane]
    }

    fn lanes_mut(&mut self) -> Vec<&mut Lane> {
        vec![&mut self.lane]
    }
}

/// The condition that ends a loop early.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RoundsEnd<'w> {
    /// One of these conditions is true.
    Conditions(&'w [Expression]),
    /// The last message of a session contains this signal.
    Signal(&'w str),
}

/// A node that repeats its body.
pub(super) trait RoundsNode: NodeShape {
    fn ends(&self) -> RoundsEnd<'_>;
    /// Returns the maximum number of iterations. 0 means no limit.
    fn max(&self) -> u32;
    fn body(&self) -> &[Node];
}

impl<L: RoundsNode> NodeRun for L {
    type State<'s> = &'s mut RoundsState;

    fn state(activity: &mut Activity) -> Option<&mut RoundsState> {
        if let Activity::Loop(state) = activity { Some(state) } else { None }
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        let max = site.numbers.contains_key(&NodeNumber::Max).then(|| site.number(NodeNumber::Max, 0));
        let mut state = RoundsState { round: 0, feedback: String::new(), lane: Lane::default(), max };
        let over = go_round(self, cx, site, &mut state);
        NodeOpening::of(Activity::Loop(state), over)
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut RoundsState,
        event: &Event,
    ) -> Delivered {
        match event {
            // The pause that deferred this iteration is over.
            Event::WaitOver { .. } => go_round(self, cx, site, state).into(),
            _ => site.unexpected(cx, event),
        }
    }

    fn deliver(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut RoundsState,
        to: &NodeId,
        event: &Event,
    ) -> Delivered {
        let framed = framed(self, &site.inside(), state);
        let delivered = lane::deliver(cx, self.body(), &mut state.lane, &framed, to, event);
        delivered.and_then(|outcome| match judge(self, cx, site, &framed, state, outcome) {
            Some(over) => Some(over),
            None => go_round(self, cx, site, state),
        })
    }

    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut RoundsState,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        let framed = framed(self, &site.inside(), state);
        cancel::lane(cx, self.body(), &mut state.lane, &framed, outcome)
    }

    fn can_reopen(&self, _state: &mut RoundsState, _before: Option<&Outcome>) -> bool {
        true
    }

    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut RoundsState,
        before: Option<&Outcome>,
    ) -> Option<Outcome> {
        let most = state.max.unwrap_or(self.max());
        state.max = cx.raised(most, before).or(state.max);
        if state.round == 0 {
            return go_round(self, cx, site, state);
        }
        let framed = framed(self, &site.inside(), state);
        let outcome = lane::reopen(cx, self.body(), &mut state.lane, &framed)?;
        match judge(self, cx, site, &framed, state, outcome) {
            Some(over) => Some(over),
            None => go_round(self, cx, site, state),
        }
    }

    fn said(&self, site: &NodeSite<'_>, state: Option<&mut RoundsState>) -> Option<String> {
        state.and_then(|state| state.lane.said.clone()).or_else(|| site.last_message.clone())
    }

    fn last_word(
        &self,
        site: &NodeSite<'_>,
        state: Option<&mut RoundsState>,
        _outcome: &Outcome,
    ) -> Option<SessionSignal> {
        state.and_then(|state| state.lane.word.clone()).or_else(|| site.word.clone())
    }

    fn output(
        &self,
        _cx: &DecisionCx<'_>,
        _site: &NodeSite<'_>,
        state: Option<&mut RoundsState>,
    ) -> (String, Option<Value>) {
        match state {
            Some(RoundsState { round, lane, .. }) => {
                (lane.said.clone().unwrap_or_default(), Some(json!({"iteration": round})))
            }
            None => Default::default(),
        }
    }
}

/// Returns the surroundings of the nodes in the current iteration.
fn framed<'f, L: RoundsNode>(node: &'f L, inside: &Frame<'f>, state: &RoundsState) -> Frame<'f> {
    let mut framed = inside.in_round(state.round, &state.feedback);
    if let RoundsEnd::Signal(signal) = node.ends() {
        framed.signal = Some(signal);
    }
    framed
}

/// Starts iterations until one takes time. Starts none while the run is paused.
fn go_round<L: RoundsNode>(
    node: &L,
    cx: &mut DecisionCx<'_>,
    site: &NodeSite<'_>,
    state: &mut RoundsState,
) -> Option<Outcome> {
    let inside = site.inside();
    loop {
        if cx.bookkeeping.paused {
            cx.defer(site.instance);
            return None;
        }
        if cx.rounds >= ROUNDS_AT_ONCE {
            let id = &site.node.id;
            let why = format!("`{id}` keeps looping without doing anything that takes time");
            return Some(Outcome::new(FinalStatus::Exhausted, EndReason::MaxIterations).because(why));
        }
        cx.rounds += 1;
        state.round += 1;
        state.feedback = std::mem::take(&mut state.lane.wrong);
        state.lane = Lane::default();
        let (node_instance, round) = (site.instance.clone(), state.round);
        cx.tell(News::Round { node: node_instance, round, task: None, item: None });
        let framed = framed(node, &inside, state);
        let outcome = lane::proceed(cx, node.body(), &mut state.lane, &framed)?;
        if let Some(over) = judge(node, cx, site, &framed, state, outcome) {
            return Some(over);
        }
    }
}

/// Returns the outcome if the loop ends after this iteration.
fn judge<L: RoundsNode>(
    node: &L,
    cx: &DecisionCx<'_>,
    site: &NodeSite<'_>,
    framed: &Frame<'_>,
    state: &RoundsState,
    outcome: Outcome,
) -> Option<Outcome> {
    if outcome.status != FinalStatus::Completed {
        return Some(outcome);
    }
    let is_bare = match node.ends() {
        RoundsEnd::Conditions(until) => {
            for condition in until {
                match framed.is_true(cx, condition) {
                    Ok(true) => {
                        return Some(done(EndReason::Until).because(until_detail(condition)));
                    }
                    Ok(false) => {}
                    Err(outcome) => return Some(outcome),
                }
            }
            until.is_empty()
        }
        RoundsEnd::Signal(signal) => {
            if state.lane.word.as_ref().is_some_and(|word| is_signalled(word.text(), signal)) {
                return Some(done(EndReason::Signal));
            }
            false
        }
    };
    let most = state.max.unwrap_or(node.max());
    if most == 0 || state.round < most {
        return None;
    }
    if is_bare {
        return Some(done(EndReason::MaxIterations));
    }
    let rounds = if most == 1 { "1 iteration".to_owned() } else { format!("{most} iterations") };
    let why = format!("`{}` is not done after {rounds}", site.node.id);
    Some(Outcome::new(FinalStatus::Exhausted, EndReason::MaxIterations).because(why))
}
