//! A run together with the runs that it started and waits for: their status, and what they ask.
//!
//! The states are folds by the engine. A face that follows a run gives each record to
//! [`Family::see`], and needs no fold of its own.

use windlass_core::engine::{self, Divergence};
use windlass_core::event::{Event, Record};
use windlass_core::id::{RunId, Verb};
use windlass_core::run::{Activity, Ask, Progress, RunState, SubRunState};
use windlass_core::spec::MAX_DEPTH;
use windlass_store::Cadence;

use super::{FeedCursor, RunStatus, RunView};
use crate::handle::Handle;

/// A run, and the runs that it started and waits for, and those that these started.
#[derive(Debug, Clone)]
pub struct Family {
    root: Box<FamilyMember>,
    below: Vec<FamilyMember>,
}

/// One of them, and the last record that is in its state.
#[derive(Debug, Clone)]
struct FamilyMember {
    state: RunState,
    seq: u64,
    cadence: Cadence,
    divergence: Option<Divergence>,
}

impl Handle {
    /// Loads the runs below a run. One that cannot be read, or was not made yet, is left out.
    pub fn family(&self, view: &RunView) -> Family {
        let mut below: Vec<FamilyMember> = Vec::new();
        let mut next = children(&view.state);
        // A log is data: one that names itself must not be followed for ever.
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
    /// Makes the family of a run that has started no other.
    pub(crate) fn of_one(state: RunState, seq: u64) -> Family {
        let root = FamilyMember { state, seq, cadence: Cadence::new(), divergence: None };
        Family { root: Box::new(root), below: Vec::new() }
    }

    /// Returns the last record that is in the state of the run itself.
    pub(crate) fn seq(&self) -> u64 {
        self.root.seq
    }

    pub(crate) fn cadence(&self) -> Cadence {
        self.root.cadence.clone()
    }

    /// Returns the first record of the run itself for which the engine plans other effects.
    pub(crate) fn divergence(&self) -> Option<&Divergence> {
        self.root.divergence.as_ref()
    }

    /// Returns the state of the run itself.
    pub fn root(&self) -> &RunState {
        &self.root.state
    }

    /// Returns the states of the runs below it, those that started others first.
    pub fn below(&self) -> impl Iterator<Item = &RunState> {
        self.below.iter().map(|member| &member.state)
    }

    /// Returns the status of the run: it waits where it, or all that it started, only wait.
    pub fn status(&self, own: RunStatus) -> RunStatus {
        match own {
            RunStatus::Running if self.is_waiting(self.root()) => RunStatus::Waiting,
            status => status,
        }
    }

    /// Returns everything that waits for a person, with the run that asks.
    pub fn asks(&self) -> Vec<(RunId, Ask)> {
        let states = std::iter::once(self.root()).chain(self.below()).filter(|state| !state.is_done());
        let of = |state: &RunState| {
            let run = state.run.clone();
            state.bookkeeping.asks.iter().cloned().map(move |ask| (run.clone(), ask)).collect::<Vec<_>>()
        };
        states.flat_map(of).collect()
    }

    /// Takes in a record of one of the runs. One that is in its state already changes nothing.
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
            // Nobody has seen how it began: it was over before.
            (None, _) => {}
        }
        self.below.retain(|member| !member.state.is_done());
    }

    /// Returns the cursor after everything that is in the states, and after what agents have said by now.
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

    /// A question holds up its own run and those around it, whatever else goes on in them.
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

/// Whether something works beside the runs it started: a paused run without these says so.
fn is_busy_itself(state: &RunState) -> bool {
    let mut alone = state.clone();
    alone.bookkeeping.open.retain(|planned| planned.id.verb != Verb::Run);
    alone.bookkeeping.paused = true;
    matches!(alone.progress(), Progress::Running)
}

/// Returns the runs that a run waits for now.
pub(crate) fn children(state: &RunState) -> Vec<RunId> {
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    let run = |doing: &Activity| match doing {
        Activity::Run(SubRunState { run, .. }) => Some(run.clone()),
        _ => None,
    };
    actives.into_iter().filter_map(|active| run(&active.activity)).collect()
}
