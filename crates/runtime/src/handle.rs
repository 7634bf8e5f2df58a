//! The one door for every face: start, resume, answer, cancel, query.

mod ask;
mod behind;
mod folder;
mod look;
mod stray;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use windlass_core::effect::Planned;
use windlass_core::engine::{self, Ledger, Step};
use windlass_core::event::Event;
use windlass_core::id::RunId;
use windlass_core::run::{Course, Doing, News, State};
use windlass_core::spec::{MAX_DEPTH, Spec};
use windlass_core::time::Moment;
use windlass_peers::tail::Watcher;
use windlass_peers::{hook_socket, process};
use windlass_store::{Cadence, Durability, Found, Lease, NewRun, RunRow, Store};

use crate::clock::now;
use crate::effect::{Fact, Ground, tasks_place};
use crate::entities::{self, Loaded};
use crate::error::{RunError, chain};
use crate::feed::{Feed, Item, Items};
use crate::home::Home;
use crate::named_lock::NamedLock;
use crate::owner::{Owner, Parts, project, shares_a_budget};
use crate::problem::Problem;
use crate::recover;
use crate::tasks::{Hold, overtaken};
use crate::tidy::tidy;
use crate::workspace::{Absence, Look, absence};

pub use stray::{Living, OtherVersion, OwnerProcess, Stray};

/// How many inbound things may wait for an owner before their senders do.
const INBOUND: usize = 256;

/// The door.
#[derive(Clone)]
pub struct Handle {
    pub(crate) home: Arc<Home>,
    pub(crate) store: Store,
    durability: Durability,
    watcher: Arc<Mutex<Option<Arc<Watcher>>>>,
    /// What the runs of this process spend of each other's budgets.
    ledger: Arc<Mutex<Ledger>>,
}

/// A run owned by this process.
pub struct Running {
    /// Its id.
    pub run: RunId,
    /// What its first record told people, when it begins only now.
    pub first: Vec<News>,
    items: Items,
    owner: JoinHandle<Result<State, RunError>>,
    inlet: mpsc::Sender<Fact>,
}

impl Running {
    /// Where the run is told things.
    pub(crate) fn inlet(&self) -> mpsc::Sender<Fact> {
        self.inlet.clone()
    }

    /// The next thing to show; nothing when the run is over.
    pub async fn next(&mut self) -> Option<Item> {
        self.items.next().await
    }

    /// Asks the run to end; a second time, to end at once.
    pub async fn cancel(&self) {
        let _ = self.inlet.send(Ok(Event::CancelAsked { inbox: None })).await;
    }

    /// The state at the end, once there is nothing more to show.
    pub async fn finish(self) -> Result<State, RunError> {
        match self.owner.await {
            Ok(result) => result,
            Err(_) => Err(RunError::Abandoned),
        }
    }
}

/// The how-manieth owner of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hand {
    /// It begins here.
    First,
    /// It was begun by another.
    Next,
}

/// What a run is taken over for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// To go on.
    GoOn,
    /// To end.
    End,
}

/// What a process must have to run a run.
pub(crate) struct Rights {
    /// The run is its own.
    pub(crate) lease: Lease,
    /// No other run is at the tasks it works on.
    pub(crate) holds: Vec<Hold>,
    /// No other run has a plugin's loop in its folder.
    pub(crate) folder: Option<NamedLock>,
}

/// A run that another one starts.
pub(crate) enum Adopted {
    /// This process runs it.
    Running(Running),
    /// It is over already.
    Over(Box<State>),
    /// Another process runs it.
    Elsewhere,
    /// It was never begun.
    Never,
}

/// A run as it stands.
#[derive(Debug, Clone)]
pub struct View {
    /// Its id.
    pub run: RunId,
    /// `running`, `waiting`, `crashed`, or how it ended.
    pub status: String,
    /// Everything known of it.
    pub state: State,
    /// Its folder.
    pub dir: PathBuf,
}

impl View {
    /// Why the folder it works in cannot be used, where it is not over and needs that folder.
    pub fn absence(&self, look: Look) -> Option<Absence> {
        let needs_it = matches!(self.state.course, Course::Running) && !self.state.is_done();
        needs_it.then(|| absence(&self.state, &self.dir, look)).flatten()
    }
}

/// A run in a list.
#[derive(Debug, Clone)]
pub struct Listed {
    /// What the list shows.
    pub row: RunRow,
    /// `running`, `waiting`, `crashed`, or how it ended.
    pub status: String,
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
        })
    }

    /// Records a new run and runs it in this process.
    pub fn start(&self, spec: Spec) -> Result<Running, RunError> {
        let run = RunId::new(crate::random::run_id());
        let (state, effects, rights) = self.create(run, spec)?;
        let first = self.store.load(&state.run)?;
        self.own(state, rights, 1, Cadence::of(&first), effects, false)
    }

    /// Records a new run and leaves it to a process in the background.
    pub fn start_detached(&self, spec: Spec) -> Result<RunId, RunError> {
        let run = RunId::new(crate::random::run_id());
        let (state, _, rights) = self.create(run, spec)?;
        drop(rights);
        self.detach(&state)?;
        Ok(state.run)
    }

    /// Leaves a run that nobody owns to a process in the background.
    pub(crate) fn detach(&self, state: &State) -> Result<(), RunError> {
        let exe = self.exe()?;
        let log = self.store.run_dir(&state.run).join("owner.log");
        let cwd = PathBuf::from(&state.spec.workspace);
        process::start_detached(&exe, &["resume", state.run.as_str(), "--quiet"], &self.home.env, &cwd, &log)
            .map(drop)
            .map_err(|error| RunError::Detach(chain(&error)))
    }

    fn create(&self, run: RunId, mut spec: Spec) -> Result<(State, Vec<Planned>, Rights), RunError> {
        // Without room for it nothing could run: found out before there is a run.
        let exe = self.exe()?;
        pin_sim(&mut spec, &exe);
        let at = now();
        let (state, step) = self.begin(&run, spec, at);
        let event = Event::RunStarted { spec: Box::new(state.spec.clone()) };
        let body = serde_json::to_vec(&step.record(at, event)).map_err(RunError::Encode)?;
        let new = NewRun { id: run, projection: project(&state, at.0), bodies: vec![body] };
        let holds = self.hold_tasks(&state, Hand::First)?;
        let folder = self.hold_folder(&state.run, &state.spec)?;
        self.home.crash.point(|| {});
        let lease = self.store.create_run(new)?;
        crate::changes::remember(&self.store.run_dir(&state.run), Path::new(&state.spec.workspace));
        self.home.crash.point(|| {});
        Ok((state, step.effects, Rights { lease, holds, folder }))
    }

    /// Decides how a run begins: one that another started with no more than is left by now.
    fn begin(&self, run: &RunId, mut spec: Spec, at: Moment) -> (State, Step) {
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

    /// Notes what a run and those it started have spent by their logs, before any of them decides.
    fn note_all(&self, state: &State) {
        if !shares_a_budget(state) {
            return;
        }
        self.ledger().note(state);
        for child in children(state) {
            let is_known = self.ledger().has(&child);
            if let Some(view) = self.view(&child).ok().filter(|_| !is_known) {
                self.note_all(&view.state);
            }
        }
    }

    /// Takes the files that the task loops under way work on; refused where another run has one. A
    /// file that cannot be found is said when a task is asked for. Whoever takes a run over writes down
    /// which rounds another run may have settled meanwhile.
    pub(crate) fn hold_tasks(&self, state: &State, hand: Hand) -> Result<Vec<Hold>, RunError> {
        let mut actives = Vec::new();
        state.root.actives(&mut actives);
        let mut holds: Vec<Hold> = Vec::new();
        for active in actives {
            let Doing::Tasks(tasks) = &active.doing else { continue };
            let place = tasks_place(Path::new(&state.spec.workspace), tasks.path.as_deref());
            let Some(place) = place.ok().filter(|place| !holds.iter().any(|hold| hold.is_for(place))) else {
                continue;
            };
            let (dir, node) = (self.store.run_dir(&state.run), &active.instance);
            let rounds = tasks.open.iter().filter(|_| hand == Hand::Next);
            let rounds = rounds.map(|round| format!("{node}@{}", round.round));
            let after_another = || overtaken::note(&dir, rounds);
            holds.push(Hold::take(&self.home.state, &place, &state.run, after_another)?);
        }
        Ok(holds)
    }

    /// Makes a run that another one starts, or takes it over where it was made before a crash.
    pub(crate) fn adopt(&self, run: &RunId, spec: Option<Spec>) -> Result<Adopted, RunError> {
        let is_there = matches!(self.store.find(run.as_str())?, Found::One(row) if row.id == *run);
        if !is_there {
            let Some(spec) = spec else { return Ok(Adopted::Never) };
            let (state, effects, rights) = self.create(run.clone(), spec)?;
            let first = self.store.load(run)?;
            return Ok(Adopted::Running(self.own(state, rights, 1, Cadence::of(&first), effects, false)?));
        }
        match self.take(run, is_begun, Wish::GoOn) {
            Ok(running) => Ok(Adopted::Running(running)),
            Err(RunError::Over(_)) => Ok(Adopted::Over(Box::new(self.view(run)?.state))),
            Err(RunError::Lease { .. }) => Ok(Adopted::Elsewhere),
            Err(error) => Err(error),
        }
    }

    /// Takes over a run that nobody owns and goes on with it.
    pub fn resume(&self, run: &RunId) -> Result<Running, RunError> {
        self.find_folders(run)?;
        self.find_newest(run)?;
        self.take(run, |_| true, Wish::GoOn)
    }

    /// The same for whom a run was made: one that has its first record alone begins only now.
    pub fn take_up(&self, run: &RunId) -> Result<Running, RunError> {
        self.find_folders(run)?;
        self.take(run, is_begun, Wish::GoOn)
    }

    /// Takes over a run that nobody owns and that is to end, whether its folder is there or not.
    pub fn put_away(&self, run: &RunId) -> Result<Running, RunError> {
        self.take(run, |_| true, Wish::End)
    }

    /// Refuses to go on where a folder is away that the run, or one that it waits for, works in.
    /// Each node would fail for that, and a run that has failed cannot go on when the folder is back.
    pub fn find_folders(&self, run: &RunId) -> Result<(), RunError> {
        let mut next = vec![run.clone()];
        // A log is data: one that names itself must not be followed for ever.
        for _ in 0..=MAX_DEPTH {
            let mut below = Vec::new();
            for other in &next {
                // A run within a run may not have been made yet.
                let view = match self.view(other) {
                    Ok(view) => view,
                    Err(error) if other == run => return Err(error),
                    Err(_) => continue,
                };
                let away = absence(&view.state, &view.dir, Look::Close);
                if let Some(why) = away.filter(|_| matches!(view.state.course, Course::Running)) {
                    let folder = PathBuf::from(&view.state.spec.workspace);
                    return Err(RunError::NoFolder { run: run.clone(), folder, why });
                }
                below.extend(children(&view.state));
            }
            next = below;
        }
        Ok(())
    }

    fn take(
        &self,
        run: &RunId,
        is_taken_over: impl Fn(u64) -> bool,
        wish: Wish,
    ) -> Result<Running, RunError> {
        let lease = self.store.acquire(run).map_err(|source| RunError::Lease { run: run.clone(), source })?;
        let (loaded, state) = recover::load(&self.store, run)?;
        if state.is_done() {
            return Err(RunError::Over(run.clone()));
        }
        let holds = self.hold_tasks(&state, Hand::Next)?;
        let folder = match self.hold_folder(run, &state.spec) {
            // Who only puts a run away needs no loop: another run may have it by now.
            Err(RunError::LoopHeld { .. }) if wish == Wish::End => None,
            folder => folder?,
        };
        let rights = Rights { lease, holds, folder };
        let open = state.to_perform();
        let seq = loaded.last_seq();
        let running = self.own(state, rights, seq, Cadence::of(&loaded), open, is_taken_over(seq))?;
        Ok(running)
    }

    /// Makes this process the owner: the socket first, so that no hook finds it missing.
    pub(crate) fn own(
        &self,
        state: State,
        rights: Rights,
        seq: u64,
        cadence: Cadence,
        first: Vec<Planned>,
        taken_over: bool,
    ) -> Result<Running, RunError> {
        let run = state.run.clone();
        self.note_all(&state);
        tidy(&state, &self.store.run_dir(&run));
        let Rights { lease, holds, folder } = rights;
        let (outbox, inlet) = mpsc::channel(INBOUND);
        let (feed, items) = Feed::open();
        let socket = hook_socket::path_for(&self.home.state, &run, &self.home.temp)?;
        let server = hook_socket::bind(&socket)?;
        let (requests, hooks) = hook_socket::Server::channel();
        tokio::spawn(server.serve(requests.clone()));
        let ground = Arc::new(Ground {
            home: Arc::clone(&self.home),
            run: run.clone(),
            dir: self.store.run_dir(&run),
            spec: state.spec.clone(),
            started_ms: state.started.0,
            exe: self.exe()?,
            socket,
            watcher: self.watcher()?,
            outbox: outbox.clone(),
            feed: feed.clone(),
            crash: self.home.crash.clone(),
            handle: self.clone(),
            tasks: Mutex::default(),
            readers: Mutex::default(),
            children: Mutex::default(),
            gate: Default::default(),
            green: Mutex::default(),
            holds: Mutex::new(holds),
            folder: Mutex::new(folder),
            orphaned: Mutex::default(),
        });
        // What the first record tells may have been seen by nobody, where it is the only one.
        let mut begun = match taken_over && seq > 1 {
            true => Step { effects: Vec::new(), news: Vec::new() },
            false => engine::start(run.clone(), state.spec.clone(), state.started).1,
        };
        // Whoever takes a run over tells by itself what it waits for.
        begun.news.retain(|news| !taken_over || !matches!(news, News::Waiting(_)));
        let told = begun.news.clone();
        if !taken_over && state.spec.parent.is_some() {
            // Nobody else shows how a run begins that another one starts, or which runs that starts.
            let event = Event::RunStarted { spec: Box::new(state.spec.clone()) };
            let record = begun.record(state.started, event);
            feed.send(Item::Record { seq, record: Box::new(record) });
        }
        let owner = Owner::new(Parts {
            store: self.store.clone(),
            lease,
            state,
            seq,
            cadence,
            durability: self.durability,
            crash: self.home.crash.clone(),
            ground,
            feed,
            inlet,
            hooks,
            requests,
        });
        let owner = tokio::spawn(owner.run(first, taken_over));
        Ok(Running { run, first: told, items, owner, inlet: outbox })
    }

    /// Every entity for work in a folder, now and whenever that changes; until all receivers are
    /// dropped.
    pub fn entities(
        &self,
        cwd: &Path,
        plugins: &[PathBuf],
    ) -> Result<tokio::sync::watch::Receiver<Arc<Loaded>>, Problem> {
        entities::subscribe(Arc::clone(&self.home), cwd.to_owned(), plugins.to_owned())
    }

    /// Changes when anybody wrote to the store.
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

/// Where the agent is Windlass itself, it is the copy that an upgrade does not touch.
pub(crate) fn pin_sim(spec: &mut Spec, exe: &Path) {
    let here = std::fs::read_link("/proc/self/exe").ok();
    for orders in spec.sessions.values_mut() {
        if here == Some(PathBuf::from(&orders.driver.program)) {
            orders.driver.program = exe.to_string_lossy().into_owned();
        }
    }
    for other in spec.others.values_mut() {
        pin_sim(other, exe);
    }
}

/// Whether more than the first record of a run is there.
fn is_begun(seq: u64) -> bool {
    seq > 1
}

/// The runs that a run waits for now.
pub(crate) fn children(state: &State) -> Vec<RunId> {
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    let run = |doing: &Doing| match doing {
        Doing::Run { run, .. } => Some(run.clone()),
        _ => None,
    };
    actives.into_iter().filter_map(|active| run(&active.doing)).collect()
}
