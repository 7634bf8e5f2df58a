//! The API that every face uses: start, resume, answer, cancel and query runs.

mod ask;
mod behind;
mod continuing;
mod folder;
mod place;
mod stray;
mod undo;
mod views;
mod waiting;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use windlass_core::effect::Planned;
use windlass_core::engine::{self, Decision, Ledger};
use windlass_core::event::{Event, Record};
use windlass_core::id::RunId;
use windlass_core::run::{Activity, Lifecycle, News, RunState};
use windlass_core::spec::Spec;
use windlass_core::time::Moment;
use windlass_peers::tail::Watcher;
use windlass_peers::{hook_socket, process};
use windlass_store::{Cadence, Durability, Lease, NewRun, ReadError, Store};

use crate::clock::now;
use crate::day;
use crate::effect::{Fact, RunContext, tasks_place};
use crate::entities::{self, LoadedEntities};
use crate::error::{RunError, chain};
use crate::feed::{Feed, FeedItem, Items};
use crate::home::Home;
use crate::named_lock::NamedLock;
use crate::owner::{Owner, OwnerParts, project, shares_a_budget};
use crate::tasks::{TaskFileClaim, superseded};
use crate::tidy::tidy;
use crate::user_error::UserError;
use crate::view::{Family, Pulse, RecentRecords};
use crate::workspace::{FolderCheck, absence};

pub(crate) use continuing::ChildContinuation;
pub use continuing::ResumeAdditions;
pub use place::{Beside, StartRequest};
pub use stray::{LiveChild, OtherVersion, OwnerProcess, StrayRun};
pub use undo::{
    ChangedFile, DiffForm, LeftAlone, SavedState, SnapshotRange, SnapshotUseError, UndoMode, UndoResult,
};

/// The number of events that may queue for an owner before their senders block.
const INBOUND: usize = 256;

/// Access to the runs of this user. Clones share one store.
#[derive(Clone)]
pub struct Handle {
    pub(crate) home: Arc<Home>,
    pub(crate) store: Store,
    durability: Durability,
    watcher: Arc<Mutex<Option<Arc<Watcher>>>>,
    /// The spending of the runs in this process that share a budget.
    ledger: Arc<Mutex<Ledger>>,
    /// Wakes the subscribers that follow runs of this process.
    pub(crate) pulse: Pulse,
    pub(crate) recent: RecentRecords,
}

/// A run that this process owns.
pub struct OwnedRun {
    pub run: RunId,
    /// The record to show first: the request and, if the run starts only now, the decisions that followed.
    pub first: Box<Record>,
    /// The run and its descendants, as they were when this process became the owner.
    pub family: Family,
    items: Items,
    owner: JoinHandle<Result<RunState, RunError>>,
    inlet: mpsc::Sender<Fact>,
}

impl OwnedRun {
    /// Returns a sender for events of this run.
    pub(crate) fn inlet(&self) -> mpsc::Sender<Fact> {
        self.inlet.clone()
    }

    /// Returns the next item to show, or `None` when the run is over.
    pub async fn next(&mut self) -> Option<FeedItem> {
        self.items.next().await
    }

    /// Asks the run to end. A second call ends it at once.
    pub async fn cancel(&self) {
        let _ = self.inlet.send(Ok(Event::CancelAsked { inbox: None })).await;
    }

    /// Asks the run to stop for now. A second call ends its agents at once.
    pub async fn interrupt(&self) {
        let _ = self.inlet.send(Ok(Event::InterruptAsked { inbox: None })).await;
    }

    /// Returns the final state, once there is nothing more to show.
    pub async fn finish(self) -> Result<RunState, RunError> {
        match self.owner.await {
            Ok(result) => result,
            Err(_) => Err(RunError::Abandoned),
        }
    }
}

/// The way this process became the owner of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnerStart {
    /// The run starts in this process.
    First,
    /// An earlier process started the run.
    Next,
    /// This process continued the run after it had ended.
    Reopened,
}

/// The rule that decides whether a run is new to this process or taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakeOver {
    /// Taken over in any case: its owner is gone.
    Always,
    /// Taken over if it has more than its first record. With only one record it was created for this process.
    IfBegun,
}

/// The reason for taking over a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakeoverPurpose {
    /// Continue the run.
    GoOn,
    /// End the run.
    End,
}

/// The locks that a process must hold to run a run.
pub(crate) struct Ownership {
    /// Excludes other owners of the run.
    pub(crate) lease: Lease,
    /// Excludes other runs from the task files of this run.
    pub(crate) task_claims: Vec<TaskFileClaim>,
    /// Excludes other plugin loops from the folder of this run.
    pub(crate) folder: Option<NamedLock>,
}

/// A run that this process may run: its locks, and everything loaded or decided so far.
pub(crate) struct TakenRun {
    pub(crate) rights: Ownership,
    /// The run and its descendants.
    pub(crate) family: Family,
    pub(crate) cadence: Cadence,
    /// The record to show first.
    pub(crate) first: Record,
    /// The effects to perform first.
    pub(crate) effects: Vec<Planned>,
    pub(crate) hand: OwnerStart,
}

/// The result of starting a run for another run.
pub(crate) enum ChildStart {
    /// This process runs it.
    Running(Box<OwnedRun>),
    /// It had already ended.
    Over(Box<RunState>),
    /// Another process runs it.
    Elsewhere,
    /// It was never created, and no spec was given to create it.
    Never,
}

impl Handle {
    /// Opens the store of this user.
    pub fn open(home: Home, durability: Durability) -> Result<Handle, RunError> {
        let store = Store::open(&home.state)?;
        Ok(Handle {
            home: Arc::new(home),
            store,
            durability,
            watcher: Arc::default(),
            ledger: Arc::default(),
            pulse: Pulse::default(),
            recent: RecentRecords::default(),
        })
    }

    /// Records a new run and runs it in this process.
    pub async fn start(&self, request: impl Into<StartRequest>) -> Result<OwnedRun, RunError> {
        let (run, request) = (RunId::new(crate::random::run_id()), request.into());
        let (taken, _lock) = self.waiting(move |handle| handle.create_in_place(run, request)).await?;
        self.own(taken)
    }

    /// Records a new run and starts a background process to run it.
    pub async fn start_detached(&self, request: impl Into<StartRequest>) -> Result<RunId, RunError> {
        let (run, request) = (RunId::new(crate::random::run_id()), request.into());
        self.waiting(move |handle| {
            let (taken, _lock) = handle.create_in_place(run, request)?;
            let TakenRun { rights, family, .. } = taken;
            drop(rights);
            let run = &family.root().run;
            handle.detach(family.root())?;
            // Until then the run looks like one that nobody runs, beside which another may start.
            handle.wait_until_owned(run, 1);
            Ok(run.clone())
        })
        .await
    }

    /// Starts a background process for a run that has no owner.
    pub(crate) fn detach(&self, state: &RunState) -> Result<(), RunError> {
        self.start_owner(state, &["resume", state.run.as_str(), "--quiet"])
    }

    /// Starts a background process that takes over the run when this process ends.
    pub fn leave_in_background(&self, state: &RunState) -> Result<(), RunError> {
        self.home.crash.point(|| {});
        self.start_owner(state, &["resume", state.run.as_str(), "--quiet", "--after-owner"])?;
        self.home.crash.point(|| {});
        Ok(())
    }

    fn start_owner(&self, state: &RunState, args: &[&str]) -> Result<(), RunError> {
        let exe = self.exe()?;
        let log = self.store.run_dir(&state.run).join("owner.log");
        let cwd = PathBuf::from(&state.spec.workspace);
        process::start_detached(&exe, args, &self.home.env, &cwd, &log)
            .map(drop)
            .map_err(|error| RunError::Detach(chain(&error)))
    }

    /// Decides how a run starts, and commits that decision.
    fn create(&self, run: RunId, mut spec: Spec) -> Result<TakenRun, RunError> {
        // Checked first: without space for the binary nothing could run, and no run should be recorded.
        let exe = self.exe()?;
        pin_sim(&mut spec, &exe);
        let at = now();
        let (state, step) = self.begin(&run, spec, at);
        let event = Event::RunStarted { spec: Box::new(state.spec.clone()) };
        let first = step.record(at, event);
        let body = serde_json::to_vec(&first).map_err(RunError::Encode)?;
        let mut cadence = Cadence::new();
        cadence.wrote(body.len());
        let new = NewRun { id: run, projection: project(&state, at.0), bodies: vec![body], spending: None };
        let holds = self.claim_tasks(&state, OwnerStart::First)?;
        let folder = self.lock_folder(&state.run, &state.spec)?;
        self.home.crash.point(|| {});
        let lease = self.store.create_run(new)?;
        crate::changes::remember(&self.store.run_dir(&state.run), Path::new(&state.spec.workspace));
        self.home.crash.point(|| {});
        let rights = Ownership { lease, task_claims: holds, folder };
        let family = Family::of_one(state, 1);
        Ok(TakenRun { rights, family, cadence, first, effects: step.effects, hand: OwnerStart::First })
    }

    /// Decides how a run starts. A child run gets at most the budget that its parent has left.
    fn begin(&self, run: &RunId, mut spec: Spec, at: Moment) -> (RunState, Decision) {
        let mut ledger = self.ledger();
        let outer = spec.parent.as_ref().map(|parent| &parent.run);
        if let Some(left) = outer.and_then(|outer| ledger.left_to_call(outer, run)) {
            spec.budget = spec.budget.least(&left);
        }
        let (state, step) = engine::start(run.clone(), spec, at);
        if shares_a_budget(&state) {
            ledger.note(&state);
        }
        (state, step)
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters the recorded spending of a run and its descendants into the ledger, before any of them decides.
    fn note_all(&self, family: &Family) {
        if !shares_a_budget(family.root()) {
            return;
        }
        let mut ledger = self.ledger();
        ledger.note(family.root());
        for state in family.below() {
            if !ledger.has(&state.run) {
                ledger.note(state);
            }
        }
    }

    /// Claims the files of the active task loops. Fails if another run has claimed one of them.
    ///
    /// A missing file is no error here: it is reported when the loop asks for a task. On a takeover, this
    /// also records the rounds that another run may have settled in the meantime.
    pub(crate) fn claim_tasks(
        &self,
        state: &RunState,
        hand: OwnerStart,
    ) -> Result<Vec<TaskFileClaim>, RunError> {
        let mut actives = Vec::new();
        state.root.actives(&mut actives);
        let mut holds: Vec<TaskFileClaim> = Vec::new();
        for active in actives {
            let Activity::Tasks(tasks) = &active.activity else { continue };
            let place = tasks_place(Path::new(&state.spec.workspace), tasks.path.as_deref());
            let Some(place) = place.ok().filter(|place| !holds.iter().any(|hold| hold.is_for(place))) else {
                continue;
            };
            let (dir, node) = (self.store.run_dir(&state.run), &active.instance);
            let rounds = tasks.open.iter().filter(|_| hand == OwnerStart::Next);
            let rounds = rounds.map(|round| format!("{node}@{}", round.round));
            let after_another = || superseded::note(&dir, rounds);
            holds.push(TaskFileClaim::take(&self.home.state, &place, &state.run, after_another)?);
        }
        Ok(holds)
    }

    /// Creates a run for another run, or takes it over if it was created before a crash.
    ///
    /// A run that has ended continues with the given additions, once.
    pub(crate) fn adopt(
        &self,
        run: &RunId,
        spec: Option<Spec>,
        more: Option<&ChildContinuation>,
    ) -> Result<ChildStart, RunError> {
        if self.store.is_owned(run) {
            return Ok(ChildStart::Elsewhere);
        }
        let view = match (self.view(run), spec) {
            (Err(RunError::Read(ReadError::UnknownRun { .. })), None) => return Ok(ChildStart::Never),
            (Err(RunError::Read(ReadError::UnknownRun { .. })), Some(spec)) => {
                let running = self.own(self.create(run.clone(), spec)?)?;
                return Ok(ChildStart::Running(Box::new(running)));
            }
            (view, _) => view?,
        };
        if view.state.is_done() && view.divergence.is_none() {
            return match more.filter(|more| more.is_new_to(&view.state)) {
                Some(more) => self.reopen_child(view, more),
                None => Ok(ChildStart::Over(Box::new(view.state))),
            };
        }
        match self.take(self.family(&view), TakeOver::IfBegun, TakeoverPurpose::GoOn) {
            Ok(taken) => Ok(ChildStart::Running(Box::new(self.own(taken)?))),
            Err(RunError::Over(_)) => Ok(ChildStart::Over(Box::new(self.view(run)?.state))),
            Err(RunError::Lease { .. }) => Ok(ChildStart::Elsewhere),
            Err(error) => Err(error),
        }
    }

    /// Takes over a run that has no owner and continues it.
    pub async fn resume(&self, family: Family) -> Result<OwnedRun, RunError> {
        let taken = self.waiting(|handle| {
            handle.check_folders(&family)?;
            handle.check_is_newest(&family.root().run)?;
            handle.take(family, TakeOver::Always, TakeoverPurpose::GoOn)
        });
        self.own(taken.await?)
    }

    /// Continues a run that has no owner in a background process.
    pub async fn resume_detached(&self, family: Family) -> Result<(), RunError> {
        let check = self.waiting(|handle| {
            handle.check_folders(&family)?;
            handle.check_is_newest(&family.root().run)?;
            Ok::<_, RunError>(family)
        });
        self.detach(check.await?.root())
    }

    /// Continues a run that was created for this process: a run with only its first record starts now.
    pub async fn take_up(&self, family: Family) -> Result<OwnedRun, RunError> {
        self.home.crash.in_background();
        let taken = self.waiting(|handle| {
            handle.check_folders(&family)?;
            handle.take(family, TakeOver::IfBegun, TakeoverPurpose::GoOn)
        });
        self.own(taken.await?)
    }

    /// Takes over a run that has no owner in order to end it. Its folder may be missing.
    pub async fn close_family(&self, family: Family) -> Result<OwnedRun, RunError> {
        self.own(self.waiting(|handle| handle.take(family, TakeOver::Always, TakeoverPurpose::End)).await?)
    }

    /// Fails if the folder of the run, or of a child that it waits for, is missing.
    ///
    /// Without the folder each node would fail, and a failed run cannot continue once the folder is back.
    pub fn check_folders(&self, family: &Family) -> Result<(), RunError> {
        let states = std::iter::once(family.root()).chain(family.below());
        for state in states.filter(|state| matches!(state.lifecycle, Lifecycle::Running)) {
            if let Some(why) = absence(state, &self.store.run_dir(&state.run), FolderCheck::Close) {
                let (run, folder) = (family.root().run.clone(), PathBuf::from(&state.spec.workspace));
                return Err(RunError::NoFolder { run, folder, why });
            }
        }
        Ok(())
    }

    fn take(&self, family: Family, how: TakeOver, wish: TakeoverPurpose) -> Result<TakenRun, RunError> {
        let run = family.root().run.clone();
        let lease =
            self.store.acquire(&run).map_err(|source| RunError::Lease { run: run.clone(), source })?;
        self.home.crash.point(|| {});
        let family = self.as_recorded(family)?;
        if let Some(divergence) = family.divergence().cloned() {
            return Err(self.with_binary(RunError::Diverged { run, divergence, binary: None }));
        }
        let state = family.root();
        if state.is_done() {
            return Err(RunError::Over(run));
        }
        let holds = self.claim_tasks(state, OwnerStart::Next)?;
        let folder = match self.lock_folder(&run, &state.spec) {
            // Ending a run needs no plugin loop: another run may have it by now.
            Err(RunError::LoopHeld { .. }) if wish == TakeoverPurpose::End => None,
            folder => folder?,
        };
        let rights = Ownership { lease, task_claims: holds, folder };
        let hand = match (how, family.seq()) {
            (TakeOver::IfBegun, 1) => OwnerStart::First,
            (TakeOver::IfBegun, seq) if self.is_just_continued(&run, seq)? => OwnerStart::Reopened,
            (TakeOver::IfBegun | TakeOver::Always, _) => OwnerStart::Next,
        };
        let first = self.header(&family, hand)?;
        let (effects, cadence) = (state.to_perform(), family.cadence());
        Ok(TakenRun { rights, family, cadence, first, effects, hand })
    }

    /// Loads a run again if another process appended to it after it was loaded.
    fn as_recorded(&self, family: Family) -> Result<Family, RunError> {
        let run = &family.root().run;
        match self.record_at(run, family.seq() + 1)? {
            None => Ok(family),
            Some(_) => Ok(self.family(&self.view(run)?)),
        }
    }

    /// Makes the record to show first for a run that another process created. If nothing happened after that
    /// record, nobody may have seen its news yet.
    fn header(&self, family: &Family, hand: OwnerStart) -> Result<Record, RunError> {
        let state = family.root();
        let second = self.record_at(&state.run, 2)?;
        let is_saved = |second: &Record| matches!(second.event, Event::FolderSaved { .. });
        let is_only = family.seq() == 1 || family.seq() == 2 && second.as_ref().is_some_and(is_saved);
        let only = if is_only { self.record_at(&state.run, 1)? } else { None };
        let mut step = only
            .map_or_else(Decision::default, |record| Decision { effects: record.effects, news: record.news });
        // An owner that takes a run over reports by itself what the run waits for.
        step.news.retain(|news| hand == OwnerStart::First || !matches!(news, News::Waiting(_)));
        Ok(step.record(state.begun(), Event::RunStarted { spec: Box::new(state.spec.clone()) }))
    }

    /// Makes the record to show first for a run that another process runs.
    pub fn opening(&self, family: &Family) -> Result<Record, RunError> {
        let mut first = self.header(family, OwnerStart::Next)?;
        first.news.clear();
        first.effects.clear();
        Ok(first)
    }

    /// Makes this process the owner. The socket comes first, so that no hook finds it missing.
    pub(crate) fn own(&self, taken: TakenRun) -> Result<OwnedRun, RunError> {
        let TakenRun { rights, family, cadence, first, effects, hand } = taken;
        let (state, seq) = (family.root().clone(), family.seq());
        let run = state.run.clone();
        self.note_all(&family);
        tidy(&state, &self.store.run_dir(&run));
        let Ownership { lease, task_claims: holds, folder } = rights;
        let (outbox, inlet) = mpsc::channel(INBOUND);
        let (feed, items) = Feed::open(self.pulse.clone());
        let socket = hook_socket::path_for(&self.home.state, &run, &self.home.temp)?;
        let server = hook_socket::bind(&socket)?;
        let (requests, hooks) = hook_socket::HookServer::channel();
        tokio::spawn(server.serve(requests.clone()));
        let ground = Arc::new(RunContext {
            home: Arc::clone(&self.home),
            run: run.clone(),
            dir: self.store.run_dir(&run),
            spec: state.spec.clone(),
            started_ms: state.started.0,
            exe: self.exe()?,
            socket,
            watcher: self.watcher()?,
            outbox: outbox.clone(),
            requests,
            feed: feed.clone(),
            crash: self.home.crash.clone(),
            handle: self.clone(),
            tasks: Mutex::default(),
            readers: Mutex::default(),
            children: Mutex::default(),
            gate: Default::default(),
            green: Mutex::default(),
            task_claims: Mutex::new(holds),
            folder: Mutex::new(folder),
            orphaned: Mutex::default(),
        });
        let day_limits = day::limits(&self.home, &state);
        let owner = Owner::new(OwnerParts {
            store: self.store.clone(),
            lease,
            state,
            seq,
            cadence,
            durability: self.durability,
            crash: self.home.crash.clone(),
            context: ground,
            feed,
            inlet,
            hooks,
            day_limits,
        });
        let owner = tokio::spawn(owner.run(effects, hand));
        let first = Box::new(first);
        Ok(OwnedRun { run, first, family, items, owner, inlet: outbox })
    }

    /// Watches the entities available in a folder. Watching ends when all receivers are dropped.
    pub fn entities(
        &self,
        cwd: &Path,
        plugins: &[PathBuf],
    ) -> Result<tokio::sync::watch::Receiver<Arc<LoadedEntities>>, UserError> {
        entities::subscribe(Arc::clone(&self.home), cwd.to_owned(), plugins.to_owned())
    }

    /// Returns a number that changes whenever a process writes to the store.
    pub fn data_version(&self) -> Result<u64, RunError> {
        Ok(self.store.data_version()?)
    }

    pub(crate) fn exe(&self) -> Result<PathBuf, RunError> {
        self.home
            .pinned_binary()
            .map_err(|source| RunError::Place { path: self.home.state.join("bin"), source })
    }

    fn watcher(&self) -> Result<Arc<Watcher>, RunError> {
        let mut slot = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watcher) = &*slot {
            return Ok(Arc::clone(watcher));
        }
        let watcher = Arc::new(Watcher::start().map_err(RunError::Watch)?);
        *slot = Some(Arc::clone(&watcher));
        Ok(watcher)
    }
}

/// Replaces the path of Windlass itself, where it is the agent, with the copy that an upgrade does not touch.
pub(crate) fn pin_sim(spec: &mut Spec, exe: &Path) {
    let here = crate::os::own_program().ok();
    for settings in spec.sessions.values_mut() {
        let choice = settings.choice.iter_mut().flat_map(|choice| choice.settings.values_mut());
        for driver in choice.map(|other| &mut other.driver).chain([&mut settings.driver]) {
            if here == Some(PathBuf::from(&driver.program)) {
                driver.program = exe.to_string_lossy().into_owned();
            }
        }
    }
    for other in spec.others.values_mut() {
        pin_sim(other, exe);
    }
}
