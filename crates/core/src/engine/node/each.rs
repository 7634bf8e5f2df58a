//! `each`: runs its nodes once for each item of a list, several at once with more than one job.
//!
//! An item is known by its content: when the block runs again, in another attempt or in a continued run,
//! items that are complete do not run again, even if the list has changed. The nodes of each item see only
//! their own outputs.

mod state;
mod worktree;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::parallel::Join;
use super::shape::{GivenValue, NodeShape, Structure, times};
use crate::engine::frame::Frame;
use crate::engine::{DecisionCx, cancel, done, lane};
use crate::event::Event;
use crate::graph::check::outline::{EvaluationTime, Text};
use crate::graph::template::NodeOutput;
use crate::graph::walk::ids_in;
use crate::graph::workflow::{Expression, Node, NodeNumber};
use crate::id::NodeId;
use crate::run::{Activity, EndReason, FinalStatus, News, Outcome, SessionSignal};

pub use state::{EachItem, EachLane, EachPhase, EachResult, EachState};
use worktree::leave_worktree;

/// The length to which news cut an item, in characters.
const SHOWN: usize = 60;

/// A block that runs once for each item of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EachNode {
    pub items: ListSource,
    /// The name of the item in templates.
    pub name: String,
    /// The maximum number of items at once.
    pub jobs: u32,
    pub join: Join,
    /// Each item has its own worktree.
    pub worktree: bool,
    /// The maximum number of items.
    pub max: u32,
    pub body: Vec<Node>,
}

/// The source of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListSource {
    /// The list itself.
    Literal(Vec<Value>),
    Expression(Expression),
}

impl EachNode {
    /// The default for the maximum number of items.
    pub const MAX: u32 = 50;

    /// Returns the maximum number of items of any list that it accepts.
    pub fn most_items(&self) -> u32 {
        match &self.items {
            ListSource::Literal(items) => u32::try_from(items.len()).unwrap_or(u32::MAX),
            ListSource::Expression(_) => self.max,
        }
    }
}

impl NodeShape for EachNode {
    fn word(&self) -> &'static str {
        "each"
    }

    fn label(&self) -> String {
        let list = match &self.items {
            ListSource::Literal(items) => format!("{} items", items.len()),
            ListSource::Expression(list) => format!("{}{}", list.0, times(self.max)),
        };
        let jobs = if self.jobs > 1 { format!(", {} at once", self.jobs) } else { String::new() };
        format!("each {} of {list}{jobs}", self.name)
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Items(self)
    }

    fn blocks_mut(&mut self) -> Vec<&mut Vec<Node>> {
        vec![&mut self.body]
    }

    fn texts(&self) -> Vec<Text> {
        match &self.items {
            ListSource::Literal(_) => Vec::new(),
            ListSource::Expression(list) => vec![Text::condition("each.in", list, EvaluationTime::Begin)],
        }
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::Items
    }
}

impl NodeRun for EachNode {
    type State<'s> = &'s mut EachState;

    fn state(activity: &mut Activity) -> Option<&mut EachState> {
        if let Activity::Each(state) = activity { Some(state) } else { None }
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        let items = match self.list(cx, site) {
            Ok(items) => items,
            Err(outcome) => return NodeOpening::NotBegun(outcome),
        };
        let before = site.kept.take().map(|kept| kept.for_another_attempt()).unwrap_or_default();
        let mut state = Box::new(before.matched(items));
        let over = self.fill(cx, site, &mut state);
        NodeOpening::of(Activity::Each(state), over)
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut EachState,
        event: &Event,
    ) -> Delivered {
        match event {
            // The pause that deferred further items is over.
            Event::WaitOver { .. } => self.fill(cx, site, state).into(),
            _ => site.unexpected(cx, event),
        }
    }

    fn deliver(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut EachState,
        to: &NodeId,
        event: &Event,
    ) -> Delivered {
        let inside = site.inside();
        for place in 0..state.open.len() {
            let EachState { items, open, .. } = state;
            let Some(open) = open.get_mut(place) else { continue };
            let Some(item) = items.get(open.at) else { continue };
            let delivered = if name(site.instance, item.number) == *to {
                self.about_worktree(cx, site, &inside, item, open, event)
            } else if open.phase == EachPhase::Working {
                let framed = framed(&inside, &self.name, item, open.workspace.as_deref());
                let EachLane { lane, outputs, .. } = open;
                self.with_outputs(cx, outputs, |cx| lane::deliver(cx, &self.body, lane, &framed, to, event))
            } else {
                Delivered::NotMine
            };
            match delivered {
                Delivered::NotMine => {}
                Delivered::UnderWay => return Delivered::UnderWay,
                Delivered::Over(outcome) => {
                    self.item_over(cx, site, state, place, outcome);
                    return self.fill(cx, site, state).into();
                }
            }
        }
        Delivered::NotMine
    }

    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut EachState,
        outcome: &Outcome,
    ) -> Option<Outcome> {
        cx.forget(site.instance);
        self.end_open(cx, site, state, outcome);
        state.open.is_empty().then(|| outcome.clone())
    }

    fn can_reopen(&self, _state: &mut EachState, _before: Option<&Outcome>) -> bool {
        true
    }

    /// Continues every item that did not complete.
    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut EachState,
        _before: Option<&Outcome>,
    ) -> Option<Outcome> {
        let items = match self.list(cx, site) {
            Ok(items) => items,
            Err(outcome) => return Some(outcome),
        };
        *state = std::mem::take(state).matched(items);
        self.fill(cx, site, state)
    }

    fn said(&self, site: &NodeSite<'_>, state: Option<&mut EachState>) -> Option<String> {
        let mut open = state.iter().flat_map(|state| state.open.iter().rev());
        open.find_map(|open| open.lane.said.clone()).or_else(|| site.last_message.clone())
    }

    fn last_word(
        &self,
        site: &NodeSite<'_>,
        state: Option<&mut EachState>,
        _outcome: &Outcome,
    ) -> Option<SessionSignal> {
        let mut open = state.iter().flat_map(|state| state.open.iter().rev());
        open.find_map(|open| open.lane.word.clone()).or_else(|| site.word.clone())
    }

    fn output(
        &self,
        _cx: &DecisionCx<'_>,
        _site: &NodeSite<'_>,
        state: Option<&mut EachState>,
    ) -> (String, Option<Value>) {
        let Some(state) = state else { return Default::default() };
        let items: Vec<Value> =
            state.items.iter().enumerate().map(|(index, item)| item.told(index)).collect();
        let text = format!("{} of {} items completed", state.good, items.len());
        (text, Some(json!({"items": items, "completed": state.good})))
    }

    fn fixed(&self, state: &mut EachState) -> Option<Outcome> {
        // Where one item is enough, another one may succeed next time.
        state.bad.clone().filter(|bad| self.join == Join::All && bad.fixed().is_some())
    }
}

/// Returns the id for the effects of an item itself.
fn name(instance: &NodeId, number: u32) -> NodeId {
    NodeId::new(format!("{instance}@{number}"))
}

/// Returns the surroundings of the nodes of an item.
fn framed<'f>(inside: &Frame<'f>, name: &'f str, item: &'f EachItem, workspace: Option<&str>) -> Frame<'f> {
    let mut framed = inside.for_item(item.number, name, &item.item);
    if let Some(workspace) = workspace {
        workspace.clone_into(&mut framed.workspace);
    }
    framed
}

impl EachNode {
    /// Evaluates the list.
    fn list(&self, cx: &DecisionCx<'_>, site: &NodeSite<'_>) -> Result<Vec<Value>, Outcome> {
        let id = &site.node.id;
        let failed = |why| Outcome::new(FinalStatus::Failed, EndReason::Template).because(why);
        let list = match &self.items {
            ListSource::Literal(items) => return Ok(items.clone()),
            ListSource::Expression(list) => site.frame.evaluate(cx, list)?,
        };
        let Value::Array(items) = list else {
            let what = match list {
                Value::Null => "nothing",
                Value::Bool(_) => "true or false",
                Value::Number(_) => "a number",
                Value::String(_) => "a text",
                Value::Array(_) | Value::Object(_) => "a mapping",
            };
            return Err(failed(format!("`{id}` needs a list, but `in` is {what}")));
        };
        let max = site.number(NodeNumber::Max, self.max);
        if items.len() > usize::try_from(max).unwrap_or(usize::MAX) {
            let count = items.len();
            let why = format!("the list of `{id}` has {count} items, and `max` is {max}; nothing of it ran");
            return Err(Outcome::new(FinalStatus::Failed, EndReason::TooManyItems).because(why));
        }
        Ok(items)
    }

    /// Runs a function with the outputs of one item in place.
    fn with_outputs<T>(
        &self,
        cx: &mut DecisionCx<'_>,
        outputs: &mut BTreeMap<NodeId, NodeOutput>,
        act: impl FnOnce(&mut DecisionCx<'_>) -> T,
    ) -> T {
        cx.bookkeeping.outputs.append(outputs);
        let result = act(cx);
        for id in ids_in(&self.body) {
            outputs.extend(cx.bookkeeping.outputs.remove_entry(&id));
        }
        result
    }

    /// Starts as many items as there are jobs, or ends those that are no longer needed. Returns the outcome
    /// if the block ended.
    fn fill(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut EachState,
    ) -> Option<Outcome> {
        loop {
            if let Some(cut) = site.cut {
                return state.open.is_empty().then(|| cut.clone());
            }
            if let Some(outcome) = self.is_enough(state) {
                let unneeded = Outcome::new(FinalStatus::Cancelled, EndReason::NotNeeded)
                    .because(format!("another item of `{}` was enough", site.node.id));
                self.end_open(cx, site, state, &unneeded);
                return state.open.is_empty().then_some(outcome);
            }
            let jobs = site.number(NodeNumber::Jobs, self.jobs).max(1);
            let jobs = usize::try_from(jobs).unwrap_or(usize::MAX);
            let next = if state.open.len() < jobs { state.waiting() } else { None };
            let Some(at) = next else {
                return state.open.is_empty().then(|| self.joined(state));
            };
            if cx.bookkeeping.paused {
                if !cx.is_deferred(site.instance) {
                    cx.defer(site.instance);
                }
                return None;
            }
            state.next = at + 1;
            if let Some(outcome) = self.start(cx, site, state, at) {
                let place = state.open.len() - 1;
                self.item_over(cx, site, state, place, outcome);
            }
        }
    }

    /// Starts an item, or continues it. It becomes the last of those in progress.
    fn start(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &NodeSite<'_>,
        state: &mut EachState,
        at: usize,
    ) -> Option<Outcome> {
        let shown = state.list_item(&site.node.id, at);
        let EachState { items, open, left, .. } = state;
        let item = items.get(at)?;
        let about = Some(shortened(&item.item));
        cx.tell(News::Round { node: site.instance.clone(), round: item.number, task: about, item: shown });
        open.push(left.remove(&item.number).unwrap_or_else(|| EachLane::at(at)));
        let lane = open.last_mut()?;
        if self.worktree && lane.workspace.is_none() {
            return self.make_worktree(cx, site, item, lane);
        }
        self.work(cx, &site.inside(), item, lane)
    }

    /// Starts the nodes of an item, or continues them.
    fn work(
        &self,
        cx: &mut DecisionCx<'_>,
        inside: &Frame<'_>,
        item: &EachItem,
        open: &mut EachLane,
    ) -> Option<Outcome> {
        open.phase = EachPhase::Working;
        let framed = framed(inside, &self.name, item, open.workspace.as_deref());
        let EachLane { lane, outputs, .. } = open;
        self.with_outputs(cx, outputs, |cx| lane::reopen(cx, &self.body, lane, &framed))
    }

    /// Continues after the nodes of an item ended, or after its worktree was left.
    fn item_over(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut EachState,
        place: usize,
        outcome: Outcome,
    ) {
        let EachState { items, open, .. } = state;
        let Some(lane) = open.get_mut(place) else { return };
        let Some(item) = items.get(lane.at) else { return };
        let Some(outcome) = leave_worktree(cx, site, item, lane, outcome) else { return };
        let mut over = open.remove(place);
        *site.last_message = over.lane.said.clone().or(site.last_message.take());
        // An item that became unnecessary was stopped, so it does not replace an earlier signal.
        if outcome.reason != EndReason::NotNeeded {
            *site.word = over.lane.word.clone().or(site.word.take());
        }
        let last = self.body.iter().rev().find_map(|node| over.outputs.get(&node.id));
        let result = EachResult {
            status: outcome.status,
            is_skipped: outcome.status == FinalStatus::Completed && !over.lane.has_run,
            text: last.map(|output| output.text.clone()).unwrap_or_default(),
            value: last.and_then(|output| output.value.clone()),
            branch: over.branch.clone(),
        };
        let (at, number) = (over.at, item.number);
        if outcome.status == FinalStatus::Completed {
            let scope = framed(&site.inside(), &self.name, item, None).session_scope();
            cx.bookkeeping.forget_sessions(&ids_in(&self.body), scope.as_deref());
        }
        state.record(at, &outcome, result);
        if outcome.status != FinalStatus::Completed {
            over.phase = EachPhase::Working;
            over.branch.take_if(|_| over.workspace.is_none());
            state.left.insert(number, over);
        }
    }

    /// Ends the items in progress.
    fn end_open(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut EachState,
        outcome: &Outcome,
    ) {
        let inside = site.inside();
        for place in (0..state.open.len()).rev() {
            let EachState { items, open, .. } = state;
            let Some(open) = open.get_mut(place).filter(|open| open.lane.cut.is_none()) else { continue };
            let Some(item) = items.get(open.at) else { continue };
            let over = match open.phase {
                EachPhase::Working => {
                    let framed = framed(&inside, &self.name, item, open.workspace.as_deref());
                    let EachLane { lane, outputs, .. } = open;
                    self.with_outputs(cx, outputs, |cx| cancel::lane(cx, &self.body, lane, &framed, outcome))
                }
                EachPhase::Making => {
                    open.lane.cut = Some(outcome.clone());
                    let node = name(site.instance, item.number);
                    let is_held = cx.is_deferred(&node);
                    if is_held {
                        cx.forget(&node);
                    }
                    is_held.then(|| outcome.clone())
                }
                EachPhase::Leaving(_) => None,
            };
            if let Some(over) = over {
                self.item_over(cx, site, state, place, over);
            }
        }
    }

    /// Returns the outcome if the block ends before all of its items do.
    fn is_enough(&self, state: &EachState) -> Option<Outcome> {
        match self.join {
            Join::All | Join::Some => None,
            Join::Any => state.first.clone(),
            Join::FirstSuccess => state.has_success().then(|| done(EndReason::AllDone)),
        }
    }

    /// Returns the outcome of a block whose items have all ended.
    fn joined(&self, state: &EachState) -> Outcome {
        let Some(bad) = &state.bad else { return done(EndReason::AllDone) };
        match self.join {
            Join::Some if state.has_success() => done(EndReason::AllDone),
            Join::FirstSuccess | Join::Some => {
                let detail = bad.why();
                Outcome::new(FinalStatus::Failed, EndReason::NoBranch)
                    .because(format!("no item succeeded: {detail}"))
            }
            Join::All | Join::Any => bad.clone(),
        }
    }
}

/// Returns an item on one line, for news.
fn shortened(item: &Value) -> String {
    let text = item.as_str().map_or_else(|| item.to_string(), str::to_owned);
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
