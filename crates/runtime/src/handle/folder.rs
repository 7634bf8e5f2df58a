//! Allows one plugin loop per folder: a plugin keeps its loop in one state file, and the last writer of that
//! file would get the agents of all runs.
//!
//! The right to loop is a kernel lock in the state folder, named after the real path of the folder. A new
//! prompt ends an earlier run that has neither owner nor agent, but not a live one. Runs whose sessions such
//! a plugin would loop unasked share the lock, so none of them runs beside a looping run.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_core::id::RunId;
use windlass_core::spec::Spec;
use windlass_peers::child::{ChildState, child_state};
use windlass_peers::{files, git};

use super::Handle;
use crate::error::RunError;
use crate::named_lock::{LockAttempt, NamedLock, Share};
use crate::view::children;

/// The folder of the locks, in the state folder.
const LOCKS: &str = "loops";

/// The pause between tries, and their number, for a lock that no live run claims.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const LOOKS: u32 = 50;

/// The relation of a run to the plugin loops in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PluginLoopRole {
    /// A plugin loops this run.
    Loops,
    /// A loaded plugin would loop the sessions of this run, too.
    WouldBeLooped,
    None,
}

impl PluginLoopRole {
    /// Decides the role of a run. A child run uses the right of its parent.
    fn of(spec: &Spec) -> PluginLoopRole {
        if spec.parent.is_some() {
            return PluginLoopRole::None;
        }
        let loops = |spec: &Spec| spec.plugins.iter().any(|plugin| plugin.loops);
        match spec.has_plugin_mode() {
            true => PluginLoopRole::Loops,
            false if loops(spec) || spec.others.values().any(loops) => PluginLoopRole::WouldBeLooped,
            false => PluginLoopRole::None,
        }
    }
}

impl Handle {
    /// Ends the run that has the loop of this folder, if it has neither owner nor agent, and returns its id.
    /// Fails if that run is live.
    pub async fn make_way(&self, spec: &Spec) -> Result<Option<RunId>, RunError> {
        if PluginLoopRole::of(spec) != PluginLoopRole::Loops {
            return Ok(None);
        }
        let last = self.try_folder(spec, Share::Alone)?.last();
        let Some(last) = last.filter(|last| self.is_unfinished(last)) else { return Ok(None) };
        if self.lives(&last) {
            return Err(held(spec, Some(last)));
        }
        self.cancel(&last).await?;
        let mut running = match self.close_family(self.family(&self.view(&last)?)).await {
            Ok(running) => running,
            Err(RunError::Over(_)) => return Ok(Some(last)),
            Err(RunError::Lease { .. }) => return Err(held(spec, Some(last))),
            Err(error) => return Err(error),
        };
        while running.next().await.is_some() {}
        running.finish().await?;
        Ok(Some(last))
    }

    /// Takes the loop of a folder for a run, if it needs one. Fails if another run has the loop, or had it
    /// last and has not ended.
    pub(crate) fn lock_folder(&self, run: &RunId, spec: &Spec) -> Result<Option<NamedLock>, RunError> {
        let part = PluginLoopRole::of(spec);
        if part == PluginLoopRole::None {
            return Ok(None);
        }
        let share = if part == PluginLoopRole::Loops { Share::Alone } else { Share::WithOthers };
        let mut lock = self.try_folder(spec, share)?;
        let last = lock.last().filter(|last| last != run && self.is_unfinished(last));
        match (part, last) {
            (PluginLoopRole::Loops, Some(last)) => Err(held(spec, Some(last))),
            (PluginLoopRole::WouldBeLooped, Some(last)) if self.lives(&last) => Err(held(spec, Some(last))),
            (PluginLoopRole::Loops, None) => {
                let named = lock.name(run);
                named.map_err(|source| RunError::Place { path: self.folder_lock(spec), source })?;
                Ok(Some(lock))
            }
            (PluginLoopRole::WouldBeLooped | PluginLoopRole::None, _) => Ok(Some(lock)),
        }
    }

    /// Returns the last run before this one that had the loop of a folder.
    pub(crate) fn last_loop_in(&self, spec: &Spec, run: &RunId) -> Option<RunId> {
        NamedLock::last_of(&self.folder_lock(spec)).filter(|last| last != run)
    }

    fn is_unfinished(&self, run: &RunId) -> bool {
        self.view(run).is_ok_and(|view| !view.state.is_done())
    }

    fn try_folder(&self, spec: &Spec, share: Share) -> Result<NamedLock, RunError> {
        let path = self.folder_lock(spec);
        let failed = |source| RunError::Place { path: path.clone(), source };
        files::make_private_dir(&self.home.state.join(LOCKS))
            .map_err(|error| failed(std::io::Error::other(error)))?;
        for _ in 0..LOOKS {
            match NamedLock::take(&path, share).map_err(failed)? {
                LockAttempt::Taken(lock) => return Ok(lock),
                LockAttempt::Held(Some(run)) if self.is_unfinished(&run) => {
                    return Err(held(spec, Some(run)));
                }
                // Another process only checks the lock, or took it just now and has not written its name yet.
                LockAttempt::Held(_) => std::thread::sleep(LOOK_EVERY),
            }
        }
        Err(held(spec, self.at_work_in(spec)))
    }

    /// Finds a run with an owner in the same folder. Runs that share the lock do not write their name into
    /// it.
    fn at_work_in(&self, spec: &Spec) -> Option<RunId> {
        let rows = self.store.runs().ok()?.into_iter();
        let mut here = rows.filter(|row| row.projection.workspace == spec.workspace).map(|row| row.id);
        here.find(|run| self.store.is_owned(run))
    }

    fn folder_lock(&self, spec: &Spec) -> PathBuf {
        let folder = Path::new(&spec.workspace);
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let name = git::digest(real.as_os_str().as_encoded_bytes());
        self.home.state.join(LOCKS).join(format!("{name}.lock"))
    }

    /// Decides whether a run has an owner, or an agent or another process that still works.
    pub(super) fn lives(&self, run: &RunId) -> bool {
        if self.store.is_owned(run) {
            return true;
        }
        let entries = std::fs::read_dir(self.store.run_dir(run)).into_iter().flatten().flatten();
        let is_alive = |dir: PathBuf| dir.is_dir() && matches!(child_state(&dir), ChildState::Running { .. });
        if entries.map(|entry| entry.path()).any(is_alive) {
            return true;
        }
        self.view(run).is_ok_and(|view| children(&view.state).iter().any(|child| self.lives(child)))
    }
}

fn held(spec: &Spec, run: Option<RunId>) -> RunError {
    RunError::LoopHeld { folder: PathBuf::from(&spec.workspace), run }
}
