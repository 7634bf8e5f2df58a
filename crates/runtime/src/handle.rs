//! The one door for every face: start, resume, answer, cancel, query.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use windlass_core::agent::AgentEvent;
use windlass_core::effect::Planned;
use windlass_core::engine;
use windlass_core::event::{Event, PersonReply, Record};
use windlass_core::graph::NodeKind;
use windlass_core::id::{EffectId, HookId, InboxId, RunId};
use windlass_core::run::{Standing, State};
use windlass_core::spec::Spec;
use windlass_peers::agent::claude::parse;
use windlass_peers::tail::Watcher;
use windlass_peers::{files, hook_socket, process};
use windlass_store::{Cadence, Durability, Found, Lease, NewRun, Put, RunRow, Store};

use crate::clock::now;
use crate::effect::{Fact, Ground};
use crate::entities::{self, Loaded};
use crate::error::{RunError, chain};
use crate::feed::{Feed, Item};
use crate::home::Home;
use crate::inbox::Message;
use crate::owner::{Owner, Parts, project};
use crate::problem::Problem;
use crate::recover;

/// How many inbound things may wait for an owner before their senders do.
const INBOUND: usize = 256;
/// The most of a transcript that is read into memory at once.
const TRANSCRIPT_MAX: u64 = 256 * 1024 * 1024;

/// The door.
#[derive(Clone)]
pub struct Handle {
    home: Arc<Home>,
    store: Store,
    durability: Durability,
    watcher: Arc<Mutex<Option<Arc<Watcher>>>>,
}

/// A run owned by this process.
pub struct Running {
    /// Its id.
    pub run: RunId,
    items: mpsc::UnboundedReceiver<Item>,
    owner: JoinHandle<Result<State, RunError>>,
    inlet: mpsc::Sender<Fact>,
}

impl Running {
    /// The next thing to show; nothing when the run is over.
    pub async fn next(&mut self) -> Option<Item> {
        self.items.recv().await
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
        Ok(Handle { home: Arc::new(home), store, durability, watcher: Arc::default() })
    }

    /// Records a new run and runs it in this process.
    pub fn start(&self, spec: Spec) -> Result<Running, RunError> {
        let (state, effects, lease) = self.create(spec)?;
        let first = self.store.load(&state.run)?;
        self.own(state, lease, 1, Cadence::of(&first), effects)
    }

    /// Records a new run and leaves it to a process in the background.
    pub fn start_detached(&self, spec: Spec) -> Result<RunId, RunError> {
        let (state, _, lease) = self.create(spec)?;
        drop(lease);
        let exe = self.exe()?;
        let log = self.store.run_dir(&state.run).join("owner.log");
        let cwd = PathBuf::from(&state.spec.workspace);
        process::start_detached(&exe, &["resume", state.run.as_str(), "--quiet"], &self.home.env, &cwd, &log)
            .map_err(|error| RunError::Detach(chain(&error)))?;
        Ok(state.run)
    }

    fn create(&self, mut spec: Spec) -> Result<(State, Vec<Planned>, Lease), RunError> {
        // Without room for it nothing could run: found out before there is a run.
        let exe = self.exe()?;
        if spec.driver.name == "sim"
            && std::fs::read_link("/proc/self/exe").ok() == Some(PathBuf::from(&spec.driver.program))
        {
            // The agent is Windlass itself: the copy that an upgrade does not touch.
            spec.driver.program = exe.to_string_lossy().into_owned();
        }
        let at = now();
        let run = RunId::new(crate::random::run_id());
        place_tracker(&mut spec, &run);
        let event = Event::RunStarted { spec: Box::new(spec.clone()) };
        let (state, step) = engine::start(run.clone(), spec, at);
        let body = serde_json::to_vec(&step.record(at, event)).map_err(RunError::Encode)?;
        let new = NewRun { id: run, projection: project(&state, at.0), bodies: vec![body] };
        self.home.crash.point(|| {});
        let lease = self.store.create_run(new)?;
        self.home.crash.point(|| {});
        Ok((state, step.effects, lease))
    }

    /// Takes over a run that nobody owns and goes on with it.
    pub fn resume(&self, run: &RunId) -> Result<Running, RunError> {
        let lease = self.store.acquire(run).map_err(|source| RunError::Lease { run: run.clone(), source })?;
        let loaded = self.store.load(run)?;
        let state = recover::fold(run, &loaded)?;
        if state.is_done() {
            return Err(RunError::Over(run.clone()));
        }
        let open = state.open.clone();
        let seq = loaded.last_seq();
        let running = self.own(state, lease, seq, Cadence::of(&loaded), open)?;
        Ok(running)
    }

    /// Makes this process the owner: the socket first, so that no hook finds it missing.
    fn own(
        &self,
        state: State,
        lease: Lease,
        seq: u64,
        cadence: Cadence,
        first: Vec<Planned>,
    ) -> Result<Running, RunError> {
        let run = state.run.clone();
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
            tasks: Mutex::default(),
            reader: Mutex::default(),
        });
        let taken_over = seq > 1;
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
        Ok(Running { run, items, owner, inlet: outbox })
    }

    /// The run whose id begins so.
    pub fn find(&self, prefix: &str) -> Result<RunId, RunError> {
        match self.store.find(prefix)? {
            Found::One(row) => Ok(row.id),
            Found::None => Err(RunError::NoSuchRun(prefix.to_owned())),
            Found::Many(rows) => {
                let candidates = rows.into_iter().map(|row| row.id).collect();
                Err(RunError::Ambiguous { prefix: prefix.to_owned(), candidates })
            }
        }
    }

    /// All runs, newest first.
    pub fn runs(&self) -> Result<Vec<Listed>, RunError> {
        let list = |row: RunRow| Listed { status: self.status(&row.id, &row.projection.status), row };
        Ok(self.store.runs()?.into_iter().map(list).collect())
    }

    /// One run as it stands.
    pub fn view(&self, run: &RunId) -> Result<View, RunError> {
        let state = recover::fold(run, &self.store.load(run)?)?;
        let status = self.status(run, state.standing().word());
        Ok(View { run: run.clone(), status, state, dir: self.store.run_dir(run) })
    }

    /// A run that is not over and that nobody owns has crashed, and can be resumed.
    fn status(&self, run: &RunId, word: &str) -> String {
        let alive = matches!(word, "running" | "waiting");
        if alive && !self.store.is_owned(run) { "crashed".to_owned() } else { word.to_owned() }
    }

    /// The log of a run from a place on.
    pub fn records(&self, run: &RunId, from: u64) -> Result<Vec<(u64, Record)>, RunError> {
        let mut out = Vec::new();
        let mut next = from;
        loop {
            let batch = self.store.read_from(run, next, 1_000)?;
            let Some(last) = batch.last() else { return Ok(out) };
            next = last.seq + 1;
            for entry in &batch {
                let record = serde_json::from_slice(&entry.body)
                    .map_err(|error| RunError::BadLog { run: run.clone(), why: chain(&error) })?;
                out.push((entry.seq, record));
            }
        }
    }

    /// What the agent said and did in one turn, from an offset in its stream on.
    pub fn transcript(&self, run: &RunId, effect: &EffectId, from: u64) -> (Vec<AgentEvent>, u64) {
        let path =
            self.store.run_dir(run).join(effect.to_string()).join(windlass_core::launch::files::STDOUT);
        let fresh = files::read_from(&path, from, TRANSCRIPT_MAX);
        let whole = fresh.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = fresh.get(..whole).unwrap_or_default();
        let mut events = Vec::new();
        parse::parse_lines(lines, &mut events);
        (events, from + u64::try_from(whole).unwrap_or(0))
    }

    /// What a run changed in its repository so far, a line a file; `None` where there is none.
    pub fn changes(&self, run: &RunId) -> Result<Option<Vec<String>>, RunError> {
        let state = self.view(run)?.state;
        let Some(base) = &state.base else { return Ok(None) };
        let workspace = Path::new(&state.spec.workspace);
        Ok(Some(crate::changes::since(&self.store.run_dir(run), workspace, base)))
    }

    /// Asks a run to end: its owner, or whoever resumes it.
    pub fn cancel(&self, run: &RunId) -> Result<(), RunError> {
        let view = self.view(run)?;
        if view.state.is_done() {
            return Err(RunError::Over(run.clone()));
        }
        self.ask(run, &InboxId::new(crate::random::token()), &Message::Cancel).map(|_| ())
    }

    /// Answers what waits for a person.
    pub fn answer(&self, run: &RunId, hook: Option<HookId>, reply: PersonReply) -> Result<(), RunError> {
        let view = self.view(run)?;
        let Standing::Waiting(windlass_core::run::Waiting::Person(_)) = view.state.standing() else {
            return Err(RunError::NothingAsked(run.clone()));
        };
        // One answer a question: whoever comes second is told so.
        let name = hook.as_ref().map_or("", HookId::as_str);
        let question = match &reply {
            PersonReply::Answers { answers } => answers.first().map_or("", |(question, _)| question.as_str()),
            PersonReply::Approve | PersonReply::Reject { .. } => "",
        };
        let id = InboxId::new(format!("reply/{name}/{question}"));
        match self.ask(run, &id, &Message::Reply { hook, reply })? {
            Put::Fresh => Ok(()),
            Put::Known => Err(RunError::AlreadyAnswered(run.clone())),
        }
    }

    fn ask(&self, run: &RunId, id: &InboxId, message: &Message) -> Result<Put, RunError> {
        let body = serde_json::to_vec(message).map_err(RunError::Encode)?;
        let put = self.store.put(run, id, &body)?;
        if let Ok(path) = hook_socket::path_for(&self.home.state, run, &self.home.temp) {
            // Without an owner nobody listens; the request waits in the inbox.
            hook_socket::poke(&path);
        }
        Ok(put)
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

    fn exe(&self) -> Result<PathBuf, RunError> {
        self.home
            .pinned_binary()
            .map_err(|source| RunError::Place { path: self.home.state.join("bin"), source })
    }

    fn watcher(&self) -> Result<Arc<Watcher>, RunError> {
        let mut slot = self.watcher.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(watcher) = &*slot {
            return Ok(Arc::clone(watcher));
        }
        let watcher = Arc::new(Watcher::start().map_err(RunError::Watch)?);
        *slot = Some(Arc::clone(&watcher));
        Ok(watcher)
    }
}

/// Gives the loop its tracker, in a folder of the run's own below the workspace.
fn place_tracker(spec: &mut Spec, run: &RunId) {
    let path = format!("{}/.windlass/runs/{run}/loop-tracker.md", spec.workspace);
    if let NodeKind::Loop(rules) = &mut spec.node.kind
        && rules.tracker_path.is_some()
    {
        rules.tracker_path = Some(path);
    }
}
