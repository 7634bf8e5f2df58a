//! `each`: runs its nodes once for each item of a list, several at once with more than one job.
//!
//! An item is known by its content: when the block runs again, in another attempt or in a continued run,
//! items that are complete do not run again, even if the list has changed. The nodes of each item see only
//! their own outputs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::parallel::Join;
use super::shape::{GivenValue, NodeShape, Structure, times};
use crate::effect::Effect;
use crate::engine::frame::Frame;
use crate::engine::{DecisionCx, cancel, done, lane};
use crate::event::{Event, WorktreeEnd};
use crate::graph::check::outline::{EvaluationTime, Text};
use crate::graph::template::NodeOutput;
use crate::graph::walk::ids_in;
use crate::graph::workflow::{Expression, Node, NodeNumber};
use crate::id::{EffectId, NodeId, Verb};
use crate::run::{
    Activity, EndReason, FinalStatus, Lane, ListItem, News, Outcome, SessionSignal, Waiting, shared_names,
};
use crate::tasks::TaskId;

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

/// The state of the block.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EachState {
    /// The items, in the order of the list.
    pub items: Vec<EachItem>,
    /// The index of the first item that has not started.
    pub next: usize,
    /// The items in progress.
    pub open: Vec<EachLane>,
    /// The items that ended early, by number. The block goes on with them when it runs again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left: BTreeMap<u32, EachLane>,
    /// The number of items that are complete.
    pub good: u32,
    /// The outcome of the first item of the list that ended otherwise, and the index of that item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad: Option<Outcome>,
    #[serde(default)]
    pub bad_at: usize,
    /// The outcome of the first item that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Outcome>,
    /// The number of the last item that is new to the block.
    pub numbered: u32,
    /// The names that several items have, for people.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub shared_names: BTreeSet<String>,
}

/// One item of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EachItem {
    /// The number in the names of its nodes. An item keeps its number when the list changes.
    pub number: u32,
    pub item: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<EachResult>,
}

/// The result of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EachResult {
    pub status: FinalStatus,
    /// The output of its last node that ran.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The branch with its work, if it has its own worktree and committed something there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// An item in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EachLane {
    /// The index of the item.
    pub at: usize,
    pub phase: EachPhase,
    pub lane: Lane,
    /// The outputs of its nodes so far.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<NodeId, NodeOutput>,
    /// Its own worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The number of worktrees made for it.
    #[serde(default)]
    pub worktrees: u32,
}

/// The phase of an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EachPhase {
    /// Windlass makes the worktree.
    Making,
    Working,
    /// Windlass removes the worktree if it contains no work.
    Leaving(Outcome),
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

impl ActiveState for EachState {
    fn word(&self) -> &'static str {
        "an `each` block"
    }

    fn waits(&self, site: &WaitSite<'_>, into: &mut Vec<Waiting>) -> bool {
        let mut is_busy = site.is_open(Verb::Defer);
        for open in &self.open {
            is_busy |= match open.phase {
                EachPhase::Working => open.lane.waits(site.bookkeeping, into),
                EachPhase::Making | EachPhase::Leaving(_) => true,
            };
        }
        is_busy
    }

    fn lanes(&self) -> Vec<&Lane> {
        self.open.iter().map(|open| &open.lane).collect()
    }

    fn left_lanes(&self) -> Vec<&Lane> {
        self.open.iter().chain(self.left.values()).map(|open| &open.lane).collect()
    }

    fn lanes_mut(&mut self) -> Vec<&mut Lane> {
        self.open.iter_mut().map(|open| &mut open.lane).collect()
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

impl EachItem {
    /// Returns the item and its result, as later nodes see them.
    fn told(&self, index: usize) -> Value {
        let result = self.result.as_ref();
        let status = result.map_or(FinalStatus::Cancelled, |result| result.status);
        let told = json!({
            "item": self.item,
            "index": index,
            "status": status.word(),
            "text": result.map(|result| result.text.as_str()).unwrap_or_default(),
            "value": result.and_then(|result| result.value.clone()),
        });
        match (told, result.and_then(|result| result.branch.clone())) {
            (Value::Object(mut told), Some(branch)) => {
                told.insert("branch".to_owned(), branch.into());
                Value::Object(told)
            }
            (told, _) => told,
        }
    }
}

impl EachLane {
    /// Returns an item that has not started.
    fn at(at: usize) -> EachLane {
        EachLane {
            at,
            phase: EachPhase::Working,
            lane: Lane::default(),
            outputs: BTreeMap::new(),
            workspace: None,
            branch: None,
            worktrees: 0,
        }
    }
}

impl EachState {
    /// Returns the state for a list: an item with the same content as before keeps its number, its result if
    /// it is complete, and otherwise its work so far.
    fn matched(self, list: Vec<Value>) -> EachState {
        let EachState { items: before, mut left, numbered, .. } = self;
        let mut known: BTreeMap<String, Vec<EachItem>> = BTreeMap::new();
        for item in before.into_iter().rev() {
            known.entry(item.item.to_string()).or_default().push(item);
        }
        let mut state = EachState { numbered, ..EachState::default() };
        for item in list {
            let same = known.get_mut(&item.to_string()).and_then(Vec::pop);
            let (number, result) = match same {
                Some(same) => {
                    let is_complete = |result: &EachResult| result.status == FinalStatus::Completed;
                    (same.number, same.result.filter(is_complete))
                }
                None => {
                    state.numbered += 1;
                    (state.numbered, None)
                }
            };
            state.good += u32::from(result.is_some());
            if let Some(lane) = left.remove(&number).filter(|_| result.is_none()) {
                state.left.insert(number, EachLane { at: state.items.len(), ..lane });
            }
            state.items.push(EachItem { number, item, result });
        }
        state.shared_names = shared_names(state.items.iter().map(|item| &item.item));
        state
    }

    /// Describes an item of the list to people.
    pub fn list_item(&self, block: &NodeId, at: usize) -> Option<ListItem> {
        let EachItem { number, item, .. } = self.items.get(at)?;
        let described = ListItem::at(item, (at, self.items.len()), &self.shared_names);
        Some(described.numbered(block.as_str(), *number))
    }

    /// Returns the state with which another attempt starts: what is complete, and nothing of the rest.
    fn for_another_attempt(mut self) -> EachState {
        for left in self.left.values_mut() {
            let EachLane { at, worktrees, .. } = *left;
            *left = EachLane { worktrees, ..EachLane::at(at) };
        }
        self
    }

    /// Returns the index of the next item to start.
    fn waiting(&mut self) -> Option<usize> {
        while self.items.get(self.next).is_some_and(|item| item.result.is_some()) {
            self.next += 1;
        }
        (self.next < self.items.len()).then_some(self.next)
    }

    /// Records the result of an item.
    fn record(&mut self, at: usize, outcome: &Outcome, result: EachResult) {
        match outcome.status {
            FinalStatus::Completed => self.good += 1,
            _ if outcome.reason == EndReason::NotNeeded => {}
            _ if self.bad.is_some() && self.bad_at < at => {}
            _ => (self.bad, self.bad_at) = (Some(outcome.clone()), at),
        }
        if outcome.reason != EndReason::NotNeeded {
            self.first.get_or_insert_with(|| outcome.clone());
        }
        if let Some(item) = self.items.get_mut(at) {
            item.result = Some(result);
        }
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

    fn make_worktree(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &NodeSite<'_>,
        item: &EachItem,
        open: &mut EachLane,
    ) -> Option<Outcome> {
        open.phase = EachPhase::Making;
        open.worktrees += 1;
        let named = format!("{}-{}", site.node.id, item.number).parse::<TaskId>();
        let Ok(task) = named else {
            cx.break_off(format!("`{}` cannot name a worktree", site.node.id));
            return None;
        };
        let node = name(site.instance, item.number);
        let effect = Effect::MakeWorktree { task, attempt: open.worktrees, target: None };
        let attempt = open.worktrees.saturating_add(cx.bookkeeping.continued);
        cx.plan(EffectId { node, iteration: 1, attempt, verb: Verb::Worktree }, effect);
        None
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

    /// Handles what happened to the worktree of an item.
    fn about_worktree(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &NodeSite<'_>,
        inside: &Frame<'_>,
        item: &EachItem,
        open: &mut EachLane,
        event: &Event,
    ) -> Delivered {
        let Event::WorktreeMade { end, .. } = event else { return site.unexpected(cx, event) };
        match (end, open.phase.clone()) {
            (WorktreeEnd::Made { workspace, branch, .. }, EachPhase::Making) => {
                open.workspace = Some(workspace.clone());
                open.branch = Some(branch.clone());
                match &open.lane.cut {
                    Some(cut) => Delivered::Over(cut.clone()),
                    None => self.work(cx, inside, item, open).into(),
                }
            }
            (WorktreeEnd::Failed { why }, EachPhase::Making) => {
                let failed = Outcome::new(FinalStatus::Failed, EndReason::Git).because(why.clone());
                Delivered::Over(open.lane.cut.clone().unwrap_or(failed))
            }
            (WorktreeEnd::Left { kept }, EachPhase::Leaving(outcome)) => {
                open.branch.take_if(|_| !kept);
                open.workspace = None;
                Delivered::Over(outcome)
            }
            _ => site.unexpected(cx, event),
        }
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
        if let (Some(branch), Some(_)) = (&lane.branch, &lane.workspace)
            && outcome.status != FinalStatus::Interrupted
        {
            let effect = Effect::LeaveWorktree { branch: branch.clone() };
            lane.phase = EachPhase::Leaving(outcome);
            let attempt = lane.worktrees.saturating_add(cx.bookkeeping.continued);
            let node = name(site.instance, item.number);
            cx.plan(EffectId { node, iteration: 1, attempt, verb: Verb::Settle }, effect);
            return;
        }
        let mut over = open.remove(place);
        *site.last_message = over.lane.said.clone().or(site.last_message.take());
        // An item that became unnecessary was stopped, so it does not replace an earlier signal.
        if outcome.reason != EndReason::NotNeeded {
            *site.word = over.lane.word.clone().or(site.word.take());
        }
        let last = self.body.iter().rev().find_map(|node| over.outputs.get(&node.id));
        let result = EachResult {
            status: outcome.status,
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
            Join::FirstSuccess => (state.good > 0).then(|| done(EndReason::AllDone)),
        }
    }

    /// Returns the outcome of a block whose items have all ended.
    fn joined(&self, state: &EachState) -> Outcome {
        let Some(bad) = &state.bad else { return done(EndReason::AllDone) };
        match self.join {
            Join::Some if state.good > 0 => done(EndReason::AllDone),
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
