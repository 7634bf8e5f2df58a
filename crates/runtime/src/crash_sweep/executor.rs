//! A small executor: it owns every run of a store, commits, performs effects, and dies at a given point.
//!
//! The story decides the outcome of every effect; the world remembers what was started. An outcome is an
//! event that waits in a queue until the executor takes it, so a death in between loses it.

mod next;
mod perform;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use windlass_core::effect::Planned;
use windlass_core::engine::{self, Decision, given_by};
use windlass_core::event::{Event, RunEnd, SessionEnd, SessionVerdict};
use windlass_core::id::{EffectId, InboxId, NodeId, RunId};
use windlass_core::run::{ActiveNode, RunState};
use windlass_core::snapshot::SnapshotName;
use windlass_core::spec::Spec;
use windlass_core::time::Moment;
use windlass_core::usage::{ModelUsage, Usage};
use windlass_store::{Append, Durability, Lease, NewRun, Projection, RunMatch as InStore, Store};

use super::proof::{Known, Left, prove};
use super::story::{COST, Line, MODEL, Story, number};
use super::sweep::Whereabouts;
use super::world::World;
use crate::recover;

/// The first run of every story.
pub(super) const RUN: &str = "r";
/// The output tokens of each turn.
pub(super) const TOKENS: u64 = 10;
/// More records than any run of a story has.
const ENDLESS: u64 = 1_500;
/// The number of records between snapshots of a process that may die. Snapshots are part of the test.
const SNAPSHOT_EVERY: u64 = 7;
/// The number of records that a process which cannot die commits together, for speed.
const TOGETHER: usize = 64;
/// One in this many outcomes is reported twice.
const ECHO_EVERY: u64 = 8;
/// An event that is never sent.
pub(super) const NEVER_TOLD: &str = "never";

/// The executor died.
#[derive(Debug)]
pub(super) struct Dropped;

/// The behaviour at each crash point: before and after each commit, and after each effect.
pub(super) enum Crash<'a> {
    Never,
    /// Drops the executor at this point.
    At(u64),
    /// Copies, at each of these points, what a dead process would leave behind. The executor itself lives on.
    Copied {
        at: &'a dyn Fn(u64) -> bool,
        show: &'a mut dyn FnMut(u64, Wreck),
    },
}

/// The remains of a dead process.
pub(super) struct Wreck {
    /// The store, if it is a copy.
    pub(super) copy: Option<tempfile::TempDir>,
    pub(super) world: World,
    /// The states at the last commit: replaying the log must give these.
    pub(super) committed: BTreeMap<RunId, RunState>,
}

/// The order in which waiting events are taken. Events of one node keep their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Oldest,
    /// Random, from a seed.
    Dice(u64),
}

/// A run of this executor.
struct Owned {
    lease: Lease,
    state: RunState,
    committed: RunState,
    seq: u64,
    /// Records that are not in the store yet, and the inbox requests they answer.
    unwritten: Vec<Vec<u8>>,
    taken: Vec<InboxId>,
    /// Events that were not taken yet.
    quick: VecDeque<Event>,
    /// Events that wait until no quick event is left anywhere.
    slow: VecDeque<Event>,
    /// Events of timers.
    timers: VecDeque<Event>,
    /// The parent run and effect that wait for its end.
    from: Option<(RunId, EffectId)>,
    /// The clean-up that waits for its end.
    put_away_by: Option<EffectId>,
    /// The effects that this executor performed, to prove that none is performed twice.
    performed: BTreeSet<EffectId>,
}

/// An executor with its store and world.
pub(super) struct Executor<'a> {
    dir: PathBuf,
    store: Store,
    story: &'a Story,
    world: World,
    runs: BTreeMap<RunId, Owned>,
    /// The last committed states of runs that were not taken over yet.
    committed: BTreeMap<RunId, RunState>,
    crash: Crash<'a>,
    order: Order,
    at: &'a Whereabouts,
    /// The number of crash points passed.
    passed: u64,
    /// The number of events taken.
    taken: u64,
    /// The inbox requests that this executor put.
    put: BTreeSet<(RunId, InboxId)>,
}

impl<'a> Executor<'a> {
    pub(super) fn new(
        dir: &Path,
        story: &'a Story,
        world: World,
        crash: Crash<'a>,
        order: Order,
        at: &'a Whereabouts,
    ) -> Executor<'a> {
        let store = Store::open(dir).unwrap();
        Executor {
            dir: dir.to_owned(),
            store,
            story,
            world,
            runs: BTreeMap::new(),
            committed: BTreeMap::new(),
            crash,
            order,
            at,
            passed: 0,
            taken: 0,
            put: BTreeSet::new(),
        }
    }

    /// Plays the story from its start.
    pub(super) fn play(&mut self) -> Result<(), Dropped> {
        self.create(&RunId::new(RUN), self.story.spec.clone(), None)?;
        self.run()
    }

    /// Takes over the runs of a dead executor, and checks that they are what it had committed.
    pub(super) fn take_over(&mut self, committed: BTreeMap<RunId, RunState>) -> Result<(), Dropped> {
        self.at.wait_for("the lease of the run".into());
        let is_owned = |run: &RunId| self.store.is_owned(run);
        assert!(!committed.keys().any(is_owned), "a dead owner holds its lease: {}", self.at.said());
        self.committed = committed;
        self.adopt(&RunId::new(RUN), None)?;
        self.run()
    }

    /// Proves every log and returns the final state.
    pub(super) fn left(&mut self, known: &mut Known) -> Left {
        self.runs.keys().cloned().collect::<Vec<_>>().iter().for_each(|run| self.write(run));
        prove(&self.store, &self.world, known)
    }

    /// Returns what is left when the executor is dropped.
    pub(super) fn wreck(self) -> Wreck {
        let mut committed = self.committed;
        committed.extend(self.runs.into_iter().map(|(run, owned)| (run, owned.committed)));
        Wreck { copy: None, world: self.world, committed }
    }

    fn point(&mut self) -> Result<(), Dropped> {
        self.passed += 1;
        match &mut self.crash {
            Crash::At(point) if *point == self.passed => return Err(Dropped),
            Crash::Copied { at, show } if at(self.passed) => {
                let committed = self.runs.iter().map(|(run, owned)| (run.clone(), owned.committed.clone()));
                let wreck = Wreck {
                    copy: Some(copy_of(&self.dir)),
                    world: self.world.clone(),
                    committed: committed.collect(),
                };
                show(self.passed, wreck);
            }
            Crash::Never | Crash::At(_) | Crash::Copied { .. } => {}
        }
        Ok(())
    }

    fn owned(&mut self, run: &RunId) -> &mut Owned {
        self.runs.get_mut(run).expect("a run of this executor")
    }

    fn state(&self, run: &RunId) -> &RunState {
        &self.runs[run].state
    }

    /// Creates a run that is not in the store yet.
    fn create(&mut self, run: &RunId, spec: Spec, from: Option<(RunId, EffectId)>) -> Result<(), Dropped> {
        let (state, step) = engine::start(run.clone(), spec.clone(), Moment(0));
        let record = step.record(Moment(0), Event::RunStarted { spec: Box::new(spec) });
        let bodies = vec![serde_json::to_vec(&record).unwrap()];
        let new = NewRun { id: run.clone(), projection: Projection::default(), bodies, spending: None };
        let lease = self.store.create_run(new).unwrap();
        self.keep(lease, state, 1, from);
        self.point()?;
        self.perform_all(run, step.effects)
    }

    /// Takes over a run that is in the store.
    fn adopt(&mut self, run: &RunId, from: Option<(RunId, EffectId)>) -> Result<(), Dropped> {
        let lease = self.store.acquire(run).unwrap();
        let loaded = self.store.load(run).unwrap();
        let (state, divergence) = recover::follow(run, &loaded).unwrap();
        assert_eq!(divergence, None, "{run} does not follow its log: {}", self.at.said());
        let committed = self.committed.remove(run).expect("a run that is known");
        assert!(state == committed, "the fold of {run} is not what was committed: {}", self.at.said());
        self.keep(lease, state, loaded.last_seq(), from);
        if self.state(run).is_done() {
            self.is_over(run);
            return Ok(());
        }
        let open = self.state(run).to_perform();
        if loaded.last_seq() > 1 {
            self.tell(run, Event::OwnerChanged, vec![])?;
        }
        self.perform_all(run, open)
    }

    fn keep(&mut self, lease: Lease, state: RunState, seq: u64, from: Option<(RunId, EffectId)>) {
        let owned = Owned {
            lease,
            committed: state.clone(),
            state,
            seq,
            unwritten: Vec::new(),
            taken: Vec::new(),
            quick: VecDeque::new(),
            slow: VecDeque::new(),
            timers: VecDeque::new(),
            from,
            put_away_by: None,
            performed: BTreeSet::new(),
        };
        self.runs.insert(owned.state.run.clone(), owned);
    }

    fn is_in_store(&self, run: &RunId) -> bool {
        matches!(self.store.find(run.as_str()).unwrap(), InStore::One(row) if row.id == *run)
    }

    /// Advances a run: decide, commit, act. There is no other way.
    fn tell(&mut self, run: &RunId, event: Event, taken: Vec<InboxId>) -> Result<(), Dropped> {
        let owned = self.owned(run);
        let at = Moment(i64::try_from(owned.seq).unwrap());
        let step = engine::apply(&mut owned.state, at, &event);
        let has_spent = matches!(event, Event::SessionEnded { .. } | Event::RunSpent { .. });
        self.commit(run, &step, at, event, taken)?;
        let owned = self.owned(run);
        let (spent, from) = (owned.state.spent, owned.from.clone());
        if let (true, Some((parent, effect))) = (has_spent, from) {
            self.owned(&parent).quick.push_back(Event::RunSpent { effect, spent });
        }
        if self.state(run).is_done() {
            self.is_over(run);
        }
        self.perform_all(run, step.effects)
    }

    fn commit(
        &mut self,
        run: &RunId,
        step: &Decision,
        at: Moment,
        event: Event,
        taken: Vec<InboxId>,
    ) -> Result<(), Dropped> {
        self.point()?;
        let may_die = !matches!(self.crash, Crash::Never);
        let owned = self.owned(run);
        owned.seq += 1;
        owned.unwritten.push(serde_json::to_vec(&step.record(at, event)).unwrap());
        owned.taken.extend(taken);
        if may_die {
            owned.committed = owned.state.clone();
        }
        if may_die || owned.unwritten.len() >= TOGETHER {
            self.write(run);
        }
        self.point()
    }

    /// Commits the pending records.
    fn write(&mut self, run: &RunId) {
        let may_die = !matches!(self.crash, Crash::Never);
        let owned = self.owned(run);
        let bodies = std::mem::take(&mut owned.unwritten);
        if bodies.is_empty() {
            return;
        }
        let is_due = may_die && owned.seq.is_multiple_of(SNAPSHOT_EVERY);
        let append = Append {
            run: run.clone(),
            expected_seq: owned.seq - bodies.len() as u64,
            epoch: owned.lease.epoch(),
            bodies,
            durability: Durability::Normal,
            taken: std::mem::take(&mut owned.taken),
            projection: None,
            snapshot: is_due.then(|| serde_json::to_vec(&owned.state).unwrap()),
            spending: None,
        };
        let seq = owned.seq;
        assert_eq!(self.store.append_blocking(append).unwrap(), seq);
    }

    /// Reports the end of a run to its parent, then the end of its clean-up.
    fn is_over(&mut self, run: &RunId) {
        let owned = self.owned(run);
        let outcome = owned.state.outcome().cloned().expect("it is over");
        let (text, value) = given_by(&owned.state);
        let end = RunEnd { outcome, spent: owned.state.spent, text, value };
        let put_away_by = owned.put_away_by.take();
        let Some((parent, effect)) = owned.from.take() else { return };
        let parent = self.owned(&parent);
        parent.quick.push_back(Event::RunEnded { effect, end: Box::new(end) });
        parent.quick.extend(put_away_by.map(|effect| Event::CleanedUp { effect }));
    }

    /// Runs until nothing is left to do.
    fn run(&mut self) -> Result<(), Dropped> {
        while !self.state(&RunId::new(RUN)).is_done() {
            self.look_out();
            self.taken += 1;
            if self.pause()? {
                continue;
            }
            if let Some((run, event)) = self.next_quick() {
                self.echo(&run, &event);
                self.tell(&run, event, vec![])?;
                continue;
            }
            if let Some((run, event)) = self.agent() {
                self.tell(&run, event, vec![])?;
                continue;
            }
            if self.go_on()? {
                continue;
            }
            if let Some((run, event)) = self.later() {
                self.tell(&run, event, vec![])?;
                continue;
            }
            assert!(self.person()?, "nothing happens any more: {}", self.stand());
        }
        let left: Vec<&RunId> =
            self.runs.iter().filter(|(_, owned)| !owned.state.is_done()).map(|(run, _)| run).collect();
        assert!(left.is_empty(), "{left:?} are left behind: {}", self.at.said());
        Ok(())
    }

    /// Notes what the executor waits for, and fails if a run never ends.
    fn look_out(&self) {
        let longest = self.runs.values().map(|owned| owned.seq).max().unwrap_or(0);
        self.at.wait_for(format!("the fact after {}, and record {longest}", self.taken));
        assert!(longest < ENDLESS, "it goes on without end: {}", self.stand());
    }

    /// Describes the progress of every live run, for messages.
    fn stand(&self) -> String {
        let line = |(run, owned): (&RunId, &Owned)| {
            let open: Vec<String> =
                owned.state.bookkeeping.open.iter().map(|open| open.id.to_string()).collect();
            let held = owned.state.bookkeeping.deferred.len();
            format!("{run}: record {}, open {open:?}, {held} held, next {:?}", owned.seq, owned.quick.front())
        };
        let living = self.runs.iter().filter(|(_, owned)| !owned.state.is_done());
        format!("{}: {}", self.at.said(), living.map(line).collect::<Vec<_>>().join("; "))
    }

    fn living(&self) -> Vec<RunId> {
        let living = self.runs.iter().filter(|(_, owned)| !owned.state.is_done());
        living.map(|(run, _)| run.clone()).collect()
    }

    fn perform_all(&mut self, run: &RunId, effects: Vec<Planned>) -> Result<(), Dropped> {
        effects.into_iter().try_for_each(|planned| self.perform(run, planned))
    }
}

fn actives(state: &RunState) -> Vec<&ActiveNode> {
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    actives
}

/// Returns the node that an event is about; nothing for an event about the run.
fn node_of(event: &Event) -> Option<&NodeId> {
    match event {
        Event::FolderSaved { name: SnapshotName::Turn { node, .. }, .. } => Some(node),
        event => effect_of(event).map(|effect| &effect.node),
    }
}

fn effect_of(event: &Event) -> Option<&EffectId> {
    match event {
        Event::Prepared { effect, .. }
        | Event::SessionStarted { effect, .. }
        | Event::SessionEnded { effect, .. }
        | Event::Inspected { effect, .. }
        | Event::ChecksFinished { effect, .. }
        | Event::ShellEnded { effect, .. }
        | Event::RunSpent { effect, .. }
        | Event::RunEnded { effect, .. }
        | Event::TaskClaimed { effect, .. }
        | Event::TaskSettled { effect, .. }
        | Event::WorktreeMade { effect, .. }
        | Event::Landed { effect, .. }
        | Event::WaitOver { effect }
        | Event::CleanedUp { effect }
        | Event::EffectBroken { effect, .. } => Some(effect),
        _ => None,
    }
}

/// Builds the end of a turn. Its usage does not depend on the outcome. Some turns report no cost, but their model has
/// a price.
fn ended(effect: EffectId, line: Line, verdict: SessionVerdict) -> Event {
    let cost_usd = number(&effect.to_string()).is_multiple_of(2).then_some(COST);
    let usage = Usage { input_tokens: 3, output_tokens: TOKENS, cost_usd, ..Usage::default() };
    let says = line.says.unwrap_or_else(|| format!("{effect} is done\n<status>passing</status>"));
    let end = SessionEnd {
        verdict,
        last_message: Some(says),
        usage,
        tool_calls: 0,
        spoke: true,
        offset: 1,
        unanswered: Vec::new(),
        session: None,
        usage_is_cumulative: false,
        models: vec![ModelUsage { model: MODEL.to_owned(), usage }],
        took_ms: 0,
        value: line.value,
    };
    Event::SessionEnded { effect, end }
}

/// Copies the files of a store. Leaves out the shared-memory index, which belongs to one process. Reading the
/// database drops SQLite's own locks on it, which does no harm here because nobody else opens it.
fn copy_of(dir: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir_in(dir.parent().unwrap()).unwrap();
    copy_into(dir, copy.path());
    copy
}

fn copy_into(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&copy).unwrap();
            copy_into(&path, &copy);
        } else if !entry.file_name().to_string_lossy().ends_with("-shm") {
            std::fs::copy(&path, &copy).unwrap();
        }
    }
}
