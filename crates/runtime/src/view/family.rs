//! A run with the runs that it waits for: their status and their open requests.
//!
//! The engine folds the states. A face that follows a run gives each record to [`Family::see`], and needs no
//! fold of its own.

use windlass_core::engine::{self, Divergence};
use windlass_core::event::{Event, Record};
use windlass_core::id::{RunId, Verb};
use windlass_core::run::{Activity, Ask, Progress, RunState, SubRunState, Waiting};
use windlass_core::spec::MAX_DEPTH;
use windlass_store::Cadence;

use super::{FeedCursor, RunStatus, RunView};
use crate::handle::Handle;

/// A run and its descendants: the runs that it started and waits for, and the runs that these started.
#[derive(Debug, Clone)]
pub struct Family {
    root: Box<FamilyMember>,
    below: Vec<FamilyMember>,
}

/// A run of a family, with the sequence number of the last record in its state.
#[derive(Debug, Clone)]
struct FamilyMember {
    state: RunState,
    seq: u64,
    cadence: Cadence,
    divergence: Option<Divergence>,
}

impl Family {
    /// Returns true if a turn waits for the end of a usage limit or error.
    pub fn waits_for_a_limit(&self) -> bool {
        let is_limit =
            |waiting: &Waiting| matches!(waiting, Waiting::RateLimit { .. } | Waiting::Retry { .. });
        let mut members = std::iter::once(&*self.root).chain(&self.below);
        members.any(|member| member.state.waits().iter().any(is_limit))
    }
}

impl Handle {
    /// Loads the descendants of a run. Leaves out runs that cannot be read or do not exist yet.
    pub fn family(&self, view: &RunView) -> Family {
        let mut below: Vec<FamilyMember> = Vec::new();
        let mut next = children(&view.state);
        // The depth is limited, because a damaged log may name its own run as a child.
        for _ in 0..=MAX_DEPTH {
            let views = next.iter().filter_map(|run| self.view(run).ok());
            let members: Vec<FamilyMember> = views.map(FamilyMember::of).collect();
            next = members.iter().flat_map(|member| children(&member.state)).collect();
            below.extend(members);
        }
        Family { root: Box::new(FamilyMember::of(view.clone())), below }
    }
}

impl FamilyMember {
    fn of(view: RunView) -> FamilyMember {
        let RunView { state, seq, cadence, divergence, .. } = view;
        FamilyMember { state, seq, cadence, divergence }
    }

    fn see(&mut self, seq: u64, record: &Record) {
        if seq > self.seq {
            let step = engine::apply(&mut self.state, record.at, &record.event);
            self.divergence = self.divergence.take().or_else(|| Divergence::of(seq, record, &step));
            self.seq = seq;
        }
    }
}

impl Family {
    /// Makes the family of a run without children.
    pub(crate) fn of_one(state: RunState, seq: u64) -> Family {
        let root = FamilyMember { state, seq, cadence: Cadence::new(), divergence: None };
        Family { root: Box::new(root), below: Vec::new() }
    }

    /// Returns the sequence number of the last record in the state of the root.
    pub(crate) fn seq(&self) -> u64 {
        self.root.seq
    }

    pub(crate) fn cadence(&self) -> Cadence {
        self.root.cadence.clone()
    }

    /// Returns the first record of the root for which the engine plans other effects.
    pub(crate) fn divergence(&self) -> Option<&Divergence> {
        self.root.divergence.as_ref()
    }

    /// Returns the state of the root.
    pub fn root(&self) -> &RunState {
        &self.root.state
    }

    /// Returns the states of the descendants, parents before children.
    pub fn below(&self) -> impl Iterator<Item = &RunState> {
        self.below.iter().map(|member| &member.state)
    }

    /// Returns the status of the root: a running root counts as waiting if it and its children only wait.
    pub fn status(&self, own: RunStatus) -> RunStatus {
        match own {
            RunStatus::Running if self.is_waiting(self.root()) => RunStatus::Waiting,
            status => status,
        }
    }

    /// Returns every open request to a person, with the run that asks.
    pub fn asks(&self) -> Vec<(RunId, Ask)> {
        let states = std::iter::once(self.root()).chain(self.below()).filter(|state| !state.is_done());
        let of = |state: &RunState| {
            let run = state.run.clone();
            state.bookkeeping.asks.iter().cloned().map(move |ask| (run.clone(), ask)).collect::<Vec<_>>()
        };
        states.flat_map(of).collect()
    }

    /// Applies a record of one of the runs. A record that is already in the state changes nothing.
    pub fn see(&mut self, run: &RunId, seq: u64, record: &Record) {
        if *run == self.root.state.run {
            return self.root.see(seq, record);
        }
        let known = self.below.iter_mut().find(|member| member.state.run == *run);
        match (known, &record.event) {
            (Some(member), _) => member.see(seq, record),
            (None, Event::RunStarted { spec }) => {
                let (state, step) = engine::start(run.clone(), (**spec).clone(), record.at);
                let divergence = Divergence::of(seq, record, &step);
                self.below.push(FamilyMember { state, seq, cadence: Cadence::new(), divergence });
            }
            // The run ended before this family was loaded.
            (None, _) => {}
        }
        self.below.retain(|member| !member.state.is_done());
    }

    /// Returns the cursor after every record in the states, and after the current output of the agents.
    pub fn cursor(&self, handle: &Handle) -> FeedCursor {
        let mut cursor = FeedCursor::default();
        let mut next = vec![(&*self.root, Vec::new())];
        while let Some((member, path)) = next.pop() {
            for run in children(&member.state) {
                let path = [path.clone(), vec![run.clone()]].concat();
                match self.below.iter().find(|member| member.state.run == run) {
                    Some(member) if !cursor.has(&run) => next.push((member, path)),
                    Some(_) => {}
                    None => cursor.add_unmade(run, path),
                }
            }
            cursor.add(&member.state, member.seq, path, &handle.store.run_dir(&member.state.run));
        }
        cursor
    }

    /// Decides whether a run only waits. An open request makes its run and all ancestors wait, even if other
    /// nodes still work.
    fn is_waiting(&self, state: &RunState) -> bool {
        let asks = |state: &RunState| !state.is_done() && !state.bookkeeping.asks.is_empty();
        let is_asked = asks(state) || self.below().any(asks);
        if !matches!(state.progress(), Progress::Running) || is_asked {
            return true;
        }
        let started: Vec<&RunState> = self.below().filter(|other| is_started_by(other, &state.run)).collect();
        let is_settled = |state: &&RunState| state.is_done() || self.is_waiting(state);
        !started.is_empty() && !is_busy_itself(state) && started.iter().all(is_settled)
    }
}

fn is_started_by(state: &RunState, run: &RunId) -> bool {
    state.spec.parent.as_ref().is_some_and(|parent| parent.run == *run)
}

/// Decides whether a node of the run works, other than those that wait for child runs. Found by pausing a
/// copy without them.
fn is_busy_itself(state: &RunState) -> bool {
    let mut alone = state.clone();
    alone.bookkeeping.open.retain(|planned| planned.id.verb != Verb::Run);
    alone.bookkeeping.paused = true;
    matches!(alone.progress(), Progress::Running)
}

/// Returns the child runs that a run waits for now.
pub(crate) fn children(state: &RunState) -> Vec<RunId> {
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    let run = |doing: &Activity| match doing {
        Activity::Run(SubRunState { run, .. }) => Some(run.clone()),
        _ => None,
    };
    actives.into_iter().filter_map(|active| run(&active.activity)).collect()
}
