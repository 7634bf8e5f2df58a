//! Performs effects, one kind per file. Every effect can be asked for twice, because a crash may come between
//! an effect and the record of its outcome.

mod checks;
mod child;
mod cleanup;
mod gate;
mod hand_over;
mod inspect;
mod loop_file;
mod prepare;
mod run;
mod session;
mod shell;
mod tasks;
mod worktree;

use gate::Gate;
pub(crate) use prepare::{TRACKER_MAX, create_tracker};
pub(crate) use tasks::{place as tasks_place, task_value};
pub(crate) use worktree::{WORKTREES, below_the_top, folder_in, in_a_repository, on_a_branch};

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};
use windlass_core::effect::{Effect, Planned};
use windlass_core::engine;
use windlass_core::event::Event;
use windlass_core::graph::SessionPrompt;
use windlass_core::id::{EffectId, NodeId, RunId, SessionId};
use windlass_core::run::{Activity, RunState, SessionPhase, TaskPosition};
use windlass_core::spec::{SessionSettings, Spec};
use windlass_peers::child::{Terminate, sweep_cookie, terminate_host};
use windlass_peers::hook_socket::IncomingLine;
use windlass_peers::orphan::end_orphans;
use windlass_peers::process::SpawnError;
use windlass_peers::tail::Watcher;

use crate::children;
use crate::clock::until;
use crate::crash::CrashCounter;
use crate::error::{RunError, chain, want_of_room};
use crate::feed::Feed;
use crate::handle::Handle;
use crate::home::Home;
use crate::named_lock::NamedLock;
use crate::snapshot::SnapshotStore;
use crate::supervise::{self, blocking};
use crate::tasks::vouched::VouchedTasks;
use crate::tasks::{TaskFileClaim, TaskFilePath, TasksError};

/// The reason given for a task that a run releases unfinished.
const RELEASED: &str = "the work on it ended before it was done";

/// A message to the owner of a run: an event, or an error that stops it.
pub(crate) type Fact = Result<Event, RunError>;

/// The reason why a child was not started.
pub(crate) enum StartFailure {
    /// Memory, disk or process slots ran out; a later attempt may succeed.
    NoRoom(RunError),
    /// A lasting failure.
    Failed(String),
}

impl StartFailure {
    fn of(error: &(dyn std::error::Error + 'static), dir: &Path, exe: &Path) -> StartFailure {
        if let Some(error) = want_of_room(error, dir) {
            return StartFailure::NoRoom(error);
        }
        // The state folder contains the copy of this binary that hosts run. Only deleting that folder removes
        // it.
        let gone = error.downcast_ref::<SpawnError>().filter(|_| !exe.exists()).and_then(|_| state_of(exe));
        StartFailure::Failed(
            gone.map_or_else(|| chain(error), |state| RunError::StateGone(state).to_string()),
        )
    }
}

/// Returns the state folder from the path of the binary in it, `STATE/bin/BUILD/windlass`.
fn state_of(exe: &Path) -> Option<PathBuf> {
    let bin = exe.ancestors().nth(2).filter(|bin| bin.ends_with("bin"))?;
    bin.parent().map(Path::to_owned)
}

/// Everything that the effects of one run need.
pub(crate) struct RunContext {
    pub(crate) home: Arc<Home>,
    pub(crate) run: RunId,
    /// The run's folder, with one folder per child in it.
    pub(crate) dir: PathBuf,
    pub(crate) spec: Spec,
    /// The start of the run, in milliseconds since the Unix epoch.
    pub(crate) started_ms: i64,
    /// The binary that hosts and hooks run.
    pub(crate) exe: PathBuf,
    pub(crate) socket: PathBuf,
    pub(crate) watcher: Arc<Watcher>,
    pub(crate) outbox: mpsc::Sender<Fact>,
    /// The owner's channel for hook calls.
    pub(crate) requests: mpsc::Sender<IncomingLine>,
    pub(crate) feed: Feed,
    pub(crate) crash: CrashCounter,
    pub(crate) tasks: Mutex<Vec<AbortHandle>>,
    /// Starts and adopts sub-runs.
    pub(crate) handle: Handle,
    /// The tasks that follow a turn or a sub-run, by node. A node is not over before its reader has reported.
    pub(crate) readers: Mutex<HashMap<NodeId, JoinHandle<()>>>,
    pub(crate) gate: Gate,
    /// Channels to the sub-runs that nodes have started.
    pub(crate) children: Mutex<HashMap<NodeId, mpsc::Sender<Fact>>>,
    /// The commit of each worktree on which all checks passed.
    pub(crate) green: Mutex<HashMap<String, String>>,
    /// The task files that this run has claimed.
    pub(crate) task_claims: Mutex<Vec<TaskFileClaim>>,
    /// The exclusive right to run a plugin's loop in the workspace.
    pub(crate) folder: Mutex<Option<NamedLock>>,
    /// The effects that a former owner started and whose folder is gone.
    pub(crate) orphaned: Mutex<HashSet<EffectId>>,
}

/// A node with an agent, as its effects see it.
pub(crate) struct SessionSite {
    /// The node, with its texts filled in.
    pub(crate) node: SessionPrompt,
    pub(crate) settings: SessionSettings,
    pub(crate) workspace: String,
    /// The task that the session works on.
    pub(crate) task: Option<TaskPosition>,
    /// The conversation, once it exists.
    pub(crate) session: Option<SessionId>,
    /// The turn that started and is not judged yet.
    pub(crate) open_turn: Option<u32>,
    /// True if nothing new may start.
    pub(crate) is_ending: bool,
    /// The current turn, if its host is known to have been started.
    pub(crate) begun: Option<EffectId>,
}

impl SessionSite {
    fn of(state: &RunState, node: &NodeId) -> Option<SessionSite> {
        let work = state.work(node)?;
        Some(SessionSite {
            node: work.node.clone(),
            settings: state.session_settings(work)?.clone(),
            workspace: work.workspace.clone(),
            task: state.task_position(node),
            session: work.session.clone(),
            open_turn: work.is_turn_open.then(|| work.current_turn()),
            is_ending: matches!(work.phase, SessionPhase::Ending { .. }),
            begun: work.turn.as_ref().filter(|turn| turn.started).map(|turn| turn.effect.clone()),
        })
    }
}

/// The progress of an effect when `perform` returns.
pub(crate) enum Performed {
    Done,
    /// A task performs it and will report the outcome.
    UnderWay,
}

impl RunContext {
    /// Performs an effect, or starts a task that does.
    pub(crate) fn perform(self: &Arc<Self>, state: &RunState, planned: &Planned) -> Performed {
        let context = Arc::clone(self);
        let id = planned.id.clone();
        let site = SessionSite::of(state, &id.node);
        match planned.effect.clone() {
            Effect::AnswerHook { .. } => return Performed::Done,
            Effect::MarkTracker { iteration, active } => {
                if let Some(site) = &site {
                    prepare::mark_tracker(site, iteration, active);
                }
                return Performed::Done;
            }
            Effect::KillChildren => {
                for dir in self.child_dirs(None) {
                    terminate_host(&dir, Terminate::Now);
                }
                for child in self.children.lock().unwrap_or_else(PoisonError::into_inner).values() {
                    // The second request: the run is ending already, and now its children are killed.
                    let _ = child.try_send(Ok(Event::CancelAsked { inbox: None }));
                }
                return Performed::Done;
            }
            Effect::Prepare { args, hand_over } => {
                let Some(site) = site else { return self.without_site(id) };
                let base = state.bookkeeping.base.clone();
                self.report_all(id.clone(), move |context| match hand_over {
                    true => vec![hand_over::look(&site, id, base.as_deref())],
                    false => prepare::prepare(context, &site, id, args.as_deref()),
                });
            }
            Effect::StartSession(plan) => {
                let Some(site) = site else { return self.without_site(id) };
                let node = id.node.clone();
                let reader =
                    self.spawn(id.clone(), async move { session::perform(context, site, id, plan).await });
                self.reads(node, reader);
            }
            Effect::Inspect { last_message } => {
                let Some(site) = site else { return self.without_site(id) };
                self.report_all(id.clone(), move |context| {
                    inspect::inspect(context, &site, id, last_message.as_deref())
                });
            }
            Effect::RunChecks { names, workspace, env } => {
                drop(self.spawn(id.clone(), async move {
                    checks::perform(context, id, names, workspace, env).await
                }));
            }
            Effect::RunShell(plan) => {
                drop(self.spawn(id.clone(), async move { shell::perform(context, id, plan).await }))
            }
            Effect::StartRun { run: child, spec, more } => {
                let node = id.node.clone();
                let is_ending = is_cut(state, &node);
                let (spec, more) = ((!is_ending).then_some(*spec), more.filter(|_| !is_ending));
                let start = run::ChildPlan { run: child, spec, more };
                let reader = self.spawn(id.clone(), run::perform(context, id, start));
                self.reads(node, reader);
            }
            Effect::ClaimTask { path, select, busy, attempts } => {
                let scope = engine::scope(state);
                let query = tasks::TaskQuery { path, select, busy, attempts };
                self.block(id.clone(), move |context| tasks::claim(context, scope, id, query));
            }
            Effect::SettleTask { path, task, ok, said, why, branch } => {
                self.block(id.clone(), move |context| {
                    let why = why.map(|why| worktree::leave(context, &id, branch.as_deref(), why));
                    let file = tasks::StatusClaim::in_round(&context.dir, &id.node);
                    tasks::settle(context, id, tasks::TaskEnd { path, task, ok, said, why, file })
                })
            }
            Effect::ReleaseTask { path, task, branch, why } => self.block(id.clone(), move |context| {
                let why = why.unwrap_or_else(|| RELEASED.to_owned());
                let why = worktree::leave(context, &id, branch.as_deref(), why);
                tasks::release(context, id, path.as_deref(), &task, why)
            }),
            Effect::MakeWorktree { task, attempt, target, from } => {
                let start = worktree::WorktreeStart { target, from };
                self.attempt(id.clone(), move |context| worktree::make(context, id, &task, attempt, start));
            }
            Effect::RenewWorktree { task, workspace: _, branch, target } => {
                self.attempt(id.clone(), move |context| worktree::renew(context, id, &task, &branch, target));
            }
            Effect::LeaveWorktree { branch } => self.block(id.clone(), move |context| {
                let end = worktree::left(context, &id, &branch);
                Event::WorktreeMade { effect: id, end }
            }),
            Effect::Land { workspace, branch, target, path, task, said, conflict, env } => {
                let file = tasks::StatusClaim::in_round(&context.dir, &id.node);
                let end = tasks::TaskEnd { path, task, ok: true, said, why: None, file };
                let home = worktree::WorktreeHome { workspace, branch, target, conflict, env };
                drop(self.spawn(id.clone(), async move { worktree::land(context, id, home, end).await }));
            }
            Effect::WaitUntil { until: moment } => drop(self.spawn(id.clone(), async move {
                tokio::time::sleep(until(moment)).await;
                context.report(Event::WaitOver { effect: id }).await;
            })),
            Effect::CleanUp { iteration } => {
                let child = cleanup::child(state, &id.node);
                drop(self.spawn(id.clone(), async move {
                    cleanup::perform(context, site, child, id, iteration).await
                }));
            }
        }
        Performed::UnderWay
    }

    /// Reports an effect of a session that is not in progress as broken, so that no one waits for it.
    fn without_site(self: &Arc<Self>, effect: EffectId) -> Performed {
        let context = Arc::clone(self);
        let what = format!("no session of `{}` is in progress", effect.node);
        drop(self.spawn(effect.clone(), async move {
            context.report(Event::EffectBroken { effect, what }).await;
        }));
        Performed::UnderWay
    }

    /// Runs blocking work in its own task and reports the resulting event.
    fn block(self: &Arc<Self>, effect: EffectId, work: impl FnOnce(&RunContext) -> Event + Send + 'static) {
        self.attempt(effect, move |context| Ok(work(context)));
    }

    /// Runs blocking work in its own task and reports the resulting events in order. The last one settles
    /// the effect.
    fn report_all(
        self: &Arc<Self>,
        effect: EffectId,
        work: impl FnOnce(&RunContext) -> Vec<Event> + Send + 'static,
    ) {
        let context = Arc::clone(self);
        let report = async move {
            let beside = Arc::clone(&context);
            for event in blocking(move || work(&beside)).await {
                context.report(event).await;
            }
        };
        drop(self.spawn(effect, report));
    }

    /// Returns the place of the run's snapshots.
    pub(crate) fn snapshots(&self) -> SnapshotStore {
        let (state, run_dir) = (self.home.state.clone(), self.dir.clone());
        SnapshotStore { state, run_dir, run: self.run.clone() }
    }

    /// Runs blocking work that can fail in a way that leaves the effect open until the run is resumed.
    fn attempt(self: &Arc<Self>, effect: EffectId, work: impl FnOnce(&RunContext) -> Fact + Send + 'static) {
        let context = Arc::clone(self);
        let attempt = async move {
            let beside = Arc::clone(&context);
            match blocking(move || work(&beside)).await {
                Ok(event) => context.report(event).await,
                Err(error) => context.give_up(error).await,
            }
        };
        drop(self.spawn(effect, attempt));
    }

    /// Remembers the task that follows what a node has started.
    fn reads(&self, node: NodeId, reader: JoinHandle<()>) {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).insert(node, reader);
    }

    /// Reports the outcome of an effect to the owner.
    async fn report(&self, event: Event) {
        self.crash.point_in_effect();
        self.crash.point(|| self.kill_everything());
        // An owner that is gone finds out the outcome itself when it comes back.
        let _ = self.outbox.send(Ok(event)).await;
    }

    /// Reports that an effect cannot be performed now. It stays open until the run is resumed.
    async fn give_up(&self, error: RunError) {
        let _ = self.outbox.send(Err(error)).await;
    }

    /// Starts the task that performs an effect.
    fn spawn(&self, effect: EffectId, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let crash = self.crash.clone();
        let handle = supervise::start(effect, self.outbox.clone(), async move {
            crash.point_in_effect();
            task.await;
        });
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(handle.abort_handle());
        handle
    }

    /// Returns the record of the task statuses that Windlass vouches for.
    fn vouched_tasks(&self) -> VouchedTasks<'_> {
        VouchedTasks { state: &self.home.state, run: &self.run }
    }

    /// Claims a task file, so that no other run works on it.
    fn claim_tasks(&self, place: &TaskFilePath) -> Result<(), TasksError> {
        let mut holds = self.task_claims.lock().unwrap_or_else(PoisonError::into_inner);
        if !holds.iter().any(|hold| hold.is_for(place)) {
            holds.push(TaskFileClaim::take(&self.home.state, place, &self.run, || Ok(()))?);
        }
        Ok(())
    }

    /// Decides whether this run has the exclusive right to a plugin's loop in the workspace.
    fn has_the_folder(&self) -> bool {
        self.spec.parent.is_some() || self.folder.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Releases the task files once no task loop is in progress, and the workspace once the run is done.
    pub(crate) fn release_tasks(&self, state: &RunState) {
        if state.is_done() {
            self.folder.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        let mut holds = self.task_claims.lock().unwrap_or_else(PoisonError::into_inner);
        if holds.is_empty() {
            return;
        }
        let mut actives = Vec::new();
        state.root.actives(&mut actives);
        if !actives.iter().any(|active| matches!(active.activity, Activity::Tasks(_))) {
            holds.clear();
        }
    }

    /// Ends the tasks of a run whose owner ends. Its children keep running under their hosts.
    pub(crate) fn stop_tasks(&self) {
        for task in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
    }

    /// Returns the folder of an effect's child.
    pub(crate) fn child_dir(&self, effect: &EffectId) -> PathBuf {
        self.dir.join(effect.to_string())
    }

    /// Returns the cookie that marks an effect's processes.
    pub(crate) fn cookie(&self, name: &str) -> String {
        children::cookie(&self.run, name)
    }

    /// Kills hosts and agents of this run without any grace. For crash tests only.
    pub(crate) fn kill_everything(&self) {
        for dir in self.child_dirs(None) {
            windlass_peers::child::kill_host(&dir);
            if let Some(name) = self.child_name(&dir) {
                sweep_cookie(&self.cookie(&name), Terminate::Now);
            }
        }
    }

    /// Returns the folders of all children, or of one node's children.
    pub(crate) fn child_dirs(&self, of: Option<&NodeId>) -> Vec<PathBuf> {
        children::dirs(&self.dir, of)
    }

    /// Returns a child's folder as a name below the run's folder.
    pub(crate) fn child_name(&self, dir: &Path) -> Option<String> {
        children::name(&self.dir, dir)
    }

    /// Ends the processes of an effect that a former owner started and whose folder is gone: they would run
    /// beside the new attempt.
    pub(crate) fn end_orphans(&self, planned: &Planned) {
        let dir = self.child_dir(&planned.id);
        let has_child = matches!(
            planned.effect,
            Effect::StartSession(_) | Effect::RunShell(_) | Effect::RunChecks { .. }
        );
        if !has_child || dir.exists() {
            return;
        }
        let name = match planned.effect {
            Effect::StartSession(_) => planned.id.to_string(),
            _ => format!("{}.1-1", planned.id),
        };
        let (ended, _) = end_orphans(&dir, &self.cookie(&name));
        if ended > 0 {
            self.orphaned.lock().unwrap_or_else(PoisonError::into_inner).insert(planned.id.clone());
        }
    }

    /// Decides whether a former owner started an effect whose folder is gone.
    pub(crate) fn is_orphaned(&self, effect: &EffectId) -> bool {
        self.orphaned.lock().unwrap_or_else(PoisonError::into_inner).contains(effect)
    }
}

/// Decides whether a node is being ended.
fn is_cut(state: &RunState, node: &NodeId) -> bool {
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    actives.iter().any(|active| active.instance == *node && active.cut.is_some())
}
