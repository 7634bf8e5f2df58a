//! The state of an `each` block: its items, their results, and the items in progress.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::active::{ActiveState, WaitSite};
use crate::graph::template::NodeOutput;
use crate::id::{NodeId, Verb};
use crate::run::{EndReason, FinalStatus, Lane, ListItem, Outcome, Waiting, shared_names};

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
    /// The number of those in which the run skipped every node. They decide nothing for the block.
    #[serde(default)]
    pub skipped: u32,
    /// The outcome of the first item of the list that ended otherwise, and the index of that item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad: Option<Outcome>,
    #[serde(default)]
    pub bad_at: usize,
    /// The outcome of the first item that ended, except items in which nothing ran.
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
    /// The run skipped every node of the item.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_skipped: bool,
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

impl EachItem {
    /// Returns the item and its result, as later nodes see them.
    pub(super) fn told(&self, index: usize) -> Value {
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
    pub(super) fn at(at: usize) -> EachLane {
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
    pub(super) fn matched(self, list: Vec<Value>) -> EachState {
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
            state.skipped += u32::from(result.as_ref().is_some_and(|result| result.is_skipped));
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
    pub(super) fn for_another_attempt(mut self) -> EachState {
        for left in self.left.values_mut() {
            let EachLane { at, worktrees, .. } = *left;
            *left = EachLane { worktrees, ..EachLane::at(at) };
        }
        self
    }

    /// Returns the index of the next item to start.
    pub(super) fn waiting(&mut self) -> Option<usize> {
        while self.items.get(self.next).is_some_and(|item| item.result.is_some()) {
            self.next += 1;
        }
        (self.next < self.items.len()).then_some(self.next)
    }

    /// Decides whether an item succeeded. An item in which nothing ran did not.
    pub(super) fn has_success(&self) -> bool {
        self.good > self.skipped
    }

    /// Records the result of an item.
    pub(super) fn record(&mut self, at: usize, outcome: &Outcome, result: EachResult) {
        match outcome.status {
            FinalStatus::Completed => self.good += 1,
            _ if outcome.reason == EndReason::NotNeeded => {}
            _ if self.bad.is_some() && self.bad_at < at => {}
            _ => (self.bad, self.bad_at) = (Some(outcome.clone()), at),
        }
        self.skipped += u32::from(result.is_skipped);
        if outcome.reason != EndReason::NotNeeded && !result.is_skipped {
            self.first.get_or_insert_with(|| outcome.clone());
        }
        if let Some(item) = self.items.get_mut(at) {
            item.result = Some(result);
        }
    }
}
