//! Performs effects. Each kind has a file; each can be asked for twice, because a crash may lie
//! between an effect and the record of its outcome.

mod checks;
mod cleanup;
mod inspect;
mod prepare;
mod session;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};
use windlass_core::effect::{Effect, Planned};
use windlass_core::event::Event;
use windlass_core::id::{EffectId, RunId};
use windlass_core::run::{Phase, State};
use windlass_core::spec::Spec;
use windlass_peers::child::{Terminate, sweep_cookie, terminate_host};
use windlass_peers::tail::Watcher;

use crate::clock::until;
use crate::crash::Crash;
use crate::error::{RunError, chain, want_of_room};
use crate::feed::Feed;
use crate::home::Home;

/// What the owner of a run is told: what happened, or why nothing can.
pub(crate) type Fact = Result<Event, RunError>;

/// Why a child was not started.
pub(crate) enum Unstarted {
    /// For want of room.
    NoRoom(RunError),
    /// For a reason that stays.
    Failed(String),
}

impl Unstarted {
    fn of(error: &(dyn std::error::Error + 'static), dir: &Path) -> Unstarted {
        want_of_room(error, dir).map_or_else(|| Unstarted::Failed(chain(error)), Unstarted::NoRoom)
    }
}

/// What the effects of one run stand on.
pub(crate) struct Ground {
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
    pub(crate) crash: Crash,
    pub(crate) tasks: Mutex<Vec<AbortHandle>>,
    /// The task that reads the turn under way: a run is not over before it has spoken.
    pub(crate) reader: Mutex<Option<JoinHandle<()>>>,
}

/// How far an effect got at once.
pub(crate) enum Outcome {
    /// It was done.
    Done,
    /// A task performs it and tells its outcome.
    UnderWay,
}

impl Ground {
    /// Performs an effect, or starts to.
    pub(crate) fn perform(self: &Arc<Self>, state: &State, planned: &Planned) -> Outcome {
        let ground = Arc::clone(self);
        let id = planned.id.clone();
        match planned.effect.clone() {
            Effect::AnswerHook { .. } => return Outcome::Done,
            Effect::MarkTracker { iteration, active } => {
                prepare::mark_tracker(self, iteration, active);
                return Outcome::Done;
            }
            Effect::KillChildren => {
                for dir in self.child_dirs() {
                    terminate_host(&dir, Terminate::Now);
                }
                return Outcome::Done;
            }
            Effect::Prepare => drop(self.spawn(async move { ground.blocking(prepare::prepare).await })),
            Effect::StartSession(plan) => {
                let may_start = !matches!(state.phase, Phase::Ending { .. });
                let reader = self.spawn(async move { session::perform(ground, id, plan, may_start).await });
                *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(reader);
            }
            Effect::Inspect { last_message } => drop(self.spawn(async move {
                let look = move |ground: &Ground| inspect::inspect(ground, id, last_message.as_deref());
                ground.blocking(look).await;
            })),
            Effect::RunChecks => drop(self.spawn(async move { checks::perform(ground, id).await })),
            Effect::WaitUntil { until: moment } => drop(self.spawn(async move {
                tokio::time::sleep(until(moment)).await;
                ground.report(Event::WaitOver { effect: id }).await;
            })),
            Effect::CleanUp { iteration } => drop(self.spawn(async move {
                cleanup::perform(ground, iteration).await;
            })),
        }
        Outcome::UnderWay
    }

    /// Runs something that blocks beside the event loop, and reports the fact it gives.
    async fn blocking(self: Arc<Self>, work: impl FnOnce(&Ground) -> Event + Send + 'static) {
        let ground = Arc::clone(&self);
        if let Ok(event) = tokio::task::spawn_blocking(move || work(&ground)).await {
            self.report(event).await;
        }
    }

    /// Tells the owner what came of an effect.
    async fn report(&self, event: Event) {
        self.crash.point(|| self.kill_everything());
        // An owner that is gone reads the outcome from the world when it comes back.
        let _ = self.outbox.send(Ok(event)).await;
    }

    /// Tells the owner that an effect cannot be performed here and now. It stays open, for
    /// whoever resumes the run.
    async fn give_up(&self, error: RunError) {
        let _ = self.outbox.send(Err(error)).await;
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let handle = tokio::spawn(task);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(handle.abort_handle());
        handle
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
        format!("{}.{name}", self.run)
    }

    /// Kills hosts and agents of this run, without any grace: for crash tests alone.
    pub(crate) fn kill_everything(&self) {
        for dir in self.child_dirs() {
            windlass_peers::child::kill_host(&dir);
            if let Some(name) = self.child_name(&dir) {
                sweep_cookie(&self.cookie(&name));
            }
        }
    }

    /// Every folder of a child, of sessions and checks alike.
    pub(crate) fn child_dirs(&self) -> Vec<PathBuf> {
        let list = |dir: &PathBuf| -> Vec<PathBuf> {
            let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
        };
        let mut dirs = list(&self.dir);
        dirs.extend(dirs.clone().iter().flat_map(list));
        dirs
    }

    /// A child's folder as a name below the run's folder.
    pub(crate) fn child_name(&self, dir: &std::path::Path) -> Option<String> {
        let name = dir.strip_prefix(&self.dir).ok()?.to_str()?;
        Some(name.replace('/', "."))
    }
}
