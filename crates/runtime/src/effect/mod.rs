//! Performs effects. Each kind has a file; each can be asked for twice, because a crash may lie
//! between an effect and the record of its outcome.

mod checks;
mod child;
mod cleanup;
mod gate;
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
pub(crate) use tasks::{place as tasks_place, told as task_value};
pub(crate) use worktree::{in_a_repository, on_a_branch};

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
use windlass_core::run::{Activity, RunState, SessionPhase};
use windlass_core::spec::{SessionSettings, Spec};
use windlass_peers::child::{Terminate, sweep_cookie, terminate_host};
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
use crate::supervise::{self, blocking};
use crate::tasks::vouched::VouchedTasks;
use crate::tasks::{TaskFileClaim, TaskFilePath, TasksError};

/// What is said of a task that is put back.
const RELEASED: &str = "the work on it was ended before it was done";

/// What the owner of a run is told: what happened, or why nothing can.
pub(crate) type Fact = Result<Event, RunError>;

/// Why a child was not started.
pub(crate) enum StartFailure {
    /// For want of room.
    NoRoom(RunError),
    /// For a reason that stays.
    Failed(String),
}

impl StartFailure {
    fn of(error: &(dyn std::error::Error + 'static), dir: &Path, exe: &Path) -> StartFailure {
        if let Some(error) = want_of_room(error, dir) {
            return StartFailure::NoRoom(error);
        }
        // The copy of this binary is in the state folder, and nothing else removes it.
        let gone = error.downcast_ref::<SpawnError>().filter(|_| !exe.exists()).and_then(|_| state_of(exe));
        StartFailure::Failed(
            gone.map_or_else(|| chain(error), |state| RunError::StateGone(state).to_string()),
        )
    }
}

/// The state folder, by the binary in it: `STATE/bin/BUILD/windlass`.
fn state_of(exe: &Path) -> Option<PathBuf> {
    let bin = exe.ancestors().nth(2).filter(|bin| bin.ends_with("bin"))?;
    bin.parent().map(Path::to_owned)
}

/// What the effects of one run stand on.
pub(crate) struct RunContext {
    pub(crate) home: Arc<Home>,
    pub(crate) run: RunId,
    /// The run's folder: one folder a child in it.
    pub(crate) dir: PathBuf,
    pub(crate) spec: Spec,
    /// When the run began.
    pub(crate) started_ms: i64,
    /// The binary for hosts and hooks.
    pub(crate) exe: PathBuf,
    pub(crate) socket: PathBuf,
    pub(crate) watcher: Arc<Watcher>,
    pub(crate) outbox: mpsc::Sender<Fact>,
    pub(crate) feed: Feed,
    pub(crate) crash: CrashCounter,
    pub(crate) tasks: Mutex<Vec<AbortHandle>>,
    /// For the runs that this one starts.
    pub(crate) handle: Handle,
    /// The tasks that read a turn under way, or see a run to its end: a node is not over before
    /// they have spoken.
    pub(crate) readers: Mutex<HashMap<NodeId, JoinHandle<()>>>,
    /// What may begin, and what has only just begun.
    pub(crate) gate: Gate,
    /// Where the runs are told things that nodes have started.
    pub(crate) children: Mutex<HashMap<NodeId, mpsc::Sender<Fact>>>,
    /// The commit of each worktree on which all checks were green.
    pub(crate) green: Mutex<HashMap<String, String>>,
    /// The files of tasks that this run works on, and no other.
    pub(crate) task_claims: Mutex<Vec<TaskFileClaim>>,
    /// The right to the loop of a plugin in its folder.
    pub(crate) folder: Mutex<Option<NamedLock>>,
    /// The effects that a former owner began and whose folder is gone.
    pub(crate) orphaned: Mutex<HashSet<EffectId>>,
}

/// A node with an agent, as its effects find it.
pub(crate) struct SessionSite {
    /// The node, with its texts in it.
    pub(crate) node: SessionPrompt,
    /// How its sessions are run.
    pub(crate) settings: SessionSettings,
    /// Where it works.
    pub(crate) workspace: String,
    /// The conversation, once there is one.
    pub(crate) session: Option<SessionId>,
    /// Nothing new may begin.
    pub(crate) is_ending: bool,
    /// The turn under way whose host is known to have been started.
    pub(crate) begun: Option<EffectId>,
}

impl SessionSite {
    fn of(state: &RunState, node: &NodeId) -> Option<SessionSite> {
        let work = state.work(node)?;
        Some(SessionSite {
            node: work.node.clone(),
            settings: state.session_settings(work)?.clone(),
            workspace: work.workspace.clone(),
            session: work.session.clone(),
            is_ending: matches!(work.phase, SessionPhase::Ending { .. }),
            begun: work.turn.as_ref().filter(|turn| turn.started).map(|turn| turn.effect.clone()),
        })
    }
}

/// How far an effect got at once.
pub(crate) enum Performed {
    /// It was done.
    Done,
    /// A task performs it and tells its outcome.
    UnderWay,
}

impl RunContext {
    /// Performs an effect, or starts to.
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
                    // A second request, after the one that ended it.
                    let _ = child.try_send(Ok(Event::CancelAsked { inbox: None }));
                }
                return Performed::Done;
            }
            Effect::Prepare { args } => {
                let Some(site) = site else { return self.without_site(id) };
                self.block(id.clone(), move |context| prepare::prepare(context, &site, id, args.as_deref()));
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
                self.block(id.clone(), move |_| inspect::inspect(&site, id, last_message.as_deref()));
            }
            Effect::RunChecks { names, workspace } => {
                drop(
                    self.spawn(
                        id.clone(),
                        async move { checks::perform(context, id, names, workspace).await },
                    ),
                );
            }
            Effect::RunShell { command, workspace, idempotent, deadline } => {
                drop(self.spawn(id.clone(), async move {
                    shell::perform(context, id, command, workspace, idempotent, deadline).await;
                }))
            }
            Effect::StartRun { run, spec } => {
                let node = id.node.clone();
                let is_ending = is_cut(state, &node);
                let spec = (!is_ending).then_some(*spec);
                let reader = self.spawn(id.clone(), run::perform(context, id, run, spec));
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
            Effect::MakeWorktree { task, attempt, target } => {
                self.attempt(id.clone(), move |context| worktree::make(context, id, &task, attempt, target));
            }
            Effect::Land { workspace, branch, target, path, task, said } => {
                let file = tasks::StatusClaim::in_round(&context.dir, &id.node);
                let end = tasks::TaskEnd { path, task, ok: true, said, why: None, file };
                let home = worktree::WorktreeHome { workspace, branch, target };
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

    /// An effect of a session that is not under way: nobody could perform it, and nobody may wait for it.
    fn without_site(self: &Arc<Self>, effect: EffectId) -> Performed {
        let context = Arc::clone(self);
        let what = format!("no session of `{}` is under way", effect.node);
        drop(self.spawn(effect.clone(), async move {
            context.report(Event::EffectBroken { effect, what }).await;
        }));
        Performed::UnderWay
    }

    /// Runs something that blocks in a task of its own, and reports the fact it gives.
    fn block(self: &Arc<Self>, effect: EffectId, work: impl FnOnce(&RunContext) -> Event + Send + 'static) {
        self.attempt(effect, move |context| Ok(work(context)));
    }

    /// The same for what may have to be left to whoever resumes the run.
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

    /// Remembers who reads what a node has started.
    fn reads(&self, node: NodeId, reader: JoinHandle<()>) {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).insert(node, reader);
    }

    /// Tells the owner what came of an effect.
    async fn report(&self, event: Event) {
        self.crash.point_in_effect();
        self.crash.point(|| self.kill_everything());
        // An owner that is gone reads the outcome from the world when it comes back.
        let _ = self.outbox.send(Ok(event)).await;
    }

    /// Tells the owner that an effect cannot be performed here and now. It stays open, for
    /// whoever resumes the run.
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

    /// Where it is written down which words in a file of tasks are believed.
    fn vouched_tasks(&self) -> VouchedTasks<'_> {
        VouchedTasks { state: &self.home.state, run: &self.run }
    }

    /// Keeps other runs away from a file of tasks.
    fn claim_tasks(&self, place: &TaskFilePath) -> Result<(), TasksError> {
        let mut holds = self.task_claims.lock().unwrap_or_else(PoisonError::into_inner);
        if !holds.iter().any(|hold| hold.is_for(place)) {
            holds.push(TaskFileClaim::take(&self.home.state, place, &self.run, || Ok(()))?);
        }
        Ok(())
    }

    /// Whether nobody else has a plugin's loop in the folder of this run.
    fn has_the_folder(&self) -> bool {
        self.spec.parent.is_some() || self.folder.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Lets others have the tasks, once no task loop is under way, and at the end the folder.
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

    /// Ends the tasks of a run whose owner ends; children go on under their hosts.
    pub(crate) fn stop_tasks(&self) {
        for task in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
    }

    /// The folder of an effect's child.
    pub(crate) fn child_dir(&self, effect: &EffectId) -> PathBuf {
        self.dir.join(effect.to_string())
    }

    /// The cookie by which an effect's processes are found.
    pub(crate) fn cookie(&self, name: &str) -> String {
        children::cookie(&self.run, name)
    }

    /// Kills hosts and agents of this run, without any grace: for crash tests alone.
    pub(crate) fn kill_everything(&self) {
        for dir in self.child_dirs(None) {
            windlass_peers::child::kill_host(&dir);
            if let Some(name) = self.child_name(&dir) {
                sweep_cookie(&self.cookie(&name), Terminate::Now);
            }
        }
    }

    /// Every folder of a child; of one node, where one is named.
    pub(crate) fn child_dirs(&self, of: Option<&NodeId>) -> Vec<PathBuf> {
        children::dirs(&self.dir, of)
    }

    /// A child's folder as a name below the run's folder.
    pub(crate) fn child_name(&self, dir: &Path) -> Option<String> {
        children::name(&self.dir, dir)
    }

    /// Ends what a former owner left running of an effect whose folder is gone: it would go on
    /// beside what is begun anew.
    pub(crate) fn end_orphans(&self, planned: &Planned) {
        let dir = self.child_dir(&planned.id);
        let has_child = matches!(
            planned.effect,
            Effect::StartSession(_) | Effect::RunShell { .. } | Effect::RunChecks { .. }
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

    /// Whether an effect was begun by a former owner, and its folder is gone.
    pub(crate) fn is_orphaned(&self, effect: &EffectId) -> bool {
        self.orphaned.lock().unwrap_or_else(PoisonError::into_inner).contains(effect)
    }
}

/// Whether a node is being ended.
fn is_cut(state: &RunState, node: &NodeId) -> bool {
    let mut actives = Vec::new();
    state.root.actives(&mut actives);
    actives.iter().any(|active| active.instance == *node && active.cut.is_some())
}
