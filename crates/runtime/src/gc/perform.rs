//! Removes the items of a plan, one by one.
//!
//! A run goes in this order: its snapshots, its trackers, its folder, its log. The folder is moved aside
//! before the log is changed, because a folder that the log does not know means that the log was lost. So a
//! kill in between leaves a run that the next call removes, or a folder that was set aside.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use windlass_core::id::RunId;
use windlass_peers::files::{dead_drafts, make_private_dir};
use windlass_peers::git::{self, WorktreeError};
use windlass_peers::hook_socket;
use windlass_store::{ForgetError, ReadError, RunLock, RunLockError};

use super::item::{GcEnd, GcError, GcFile, GcItem, GcPlan, GcRequest, GcRun};
use super::plan::{ASIDE, snapshots_of};
use super::run_files::{TrackerFolder, committed, remove_all, unless_gone};
use crate::error::chain;
use crate::handle::Handle;
use crate::named_lock::{LockAttempt, NamedLock, Share};
use crate::view::RunStatus;
use crate::without_log::children_of;

/// The lock that lets only one process clean up.
const LOCK: &str = "gc.lock";

impl Handle {
    /// Removes the items of a plan, and calls `tell` after each.
    pub fn perform_gc(
        &self,
        plan: &GcPlan,
        request: &GcRequest,
        mut tell: impl FnMut(&GcItem, &GcEnd),
    ) -> Result<(), GcError> {
        let path = self.home.state.join(LOCK);
        let lock = NamedLock::take(&path, Share::Alone);
        let _lock = match lock.map_err(|source| GcError::Io { path, source })? {
            LockAttempt::Taken(lock) => lock,
            LockAttempt::Held(_) => return Err(GcError::Busy),
        };
        // A run stays if a run that it started does.
        let mut staying: BTreeSet<&RunId> = BTreeSet::new();
        for item in &plan.items {
            let end = match item {
                GcItem::Branch(branch) => self.remove_branch(branch),
                GcItem::Run(run) if staying.contains(&run.root) => {
                    GcEnd::Kept("a run of its family is kept".to_owned())
                }
                GcItem::Run(run) => self.remove_run(run, request),
                GcItem::File(file) => self.remove_file(file),
            };
            if let (GcItem::Run(run), GcEnd::Kept(_) | GcEnd::Failed(_)) = (item, &end) {
                staying.insert(&run.root);
            }
            tell(item, &end);
        }
        // Fails unless the folder is empty.
        let _ = fs::remove_dir(self.home.state.join(ASIDE));
        Ok(())
    }

    /// Locks runs, so that no process can own them. Returns the reason if one is in use.
    pub(super) fn hold<const N: usize>(&self, runs: [&RunId; N]) -> Result<Vec<RunLock>, String> {
        let mut locks: Vec<RunLock> = Vec::new();
        for (place, run) in runs.iter().enumerate() {
            if runs.iter().take(place).any(|other| other == run) {
                continue;
            }
            let lock = self.store.folders().lock(run).map_err(|error| match error {
                RunLockError::Held { pid: Some(pid), .. } => format!("process {pid} uses run {run}"),
                error @ (RunLockError::Held { .. } | RunLockError::Io { .. }) => chain(&error),
            })?;
            locks.push(lock);
        }
        Ok(locks)
    }

    fn remove_run(&self, item: &GcRun, request: &GcRequest) -> GcEnd {
        let run = &item.run;
        if self.store.row(run).is_ok_and(|row| row.is_none()) {
            // Another process was faster.
            return GcEnd::Removed;
        }
        // The root first, as its owner locks them.
        let locks = match self.hold([&item.root, run]) {
            Ok(locks) => locks,
            Err(why) => return GcEnd::Kept(why),
        };
        let Some(lock) = locks.last() else { return GcEnd::Failed("it is not locked".to_owned()) };
        match self.is_still_over(item, request) {
            Ok(true) => {}
            Ok(false) => return GcEnd::Kept("somebody used it just now".to_owned()),
            Err(error) => return GcEnd::Failed(chain(&error)),
        }
        let workspace = Path::new(&item.workspace);
        if let Some(why) = self.remaining(run, workspace) {
            return GcEnd::Kept(why);
        }
        match self.take_apart(run, workspace, lock) {
            Ok(()) => GcEnd::Removed,
            Err(why) => GcEnd::Failed(why),
        }
    }

    /// Decides whether a run is still over for good, old enough, and without a process.
    fn is_still_over(&self, item: &GcRun, request: &GcRequest) -> Result<bool, ReadError> {
        for run in [&item.root, &item.run] {
            let Some(row) = self.store.row(run)? else { return Ok(false) };
            let is_over = match RunStatus::of_word(&row.projection.status) {
                RunStatus::Ended(status) => status.is_final() || *run != item.root,
                _ => false,
            };
            let is_old = row.projection.updated_ms <= request.latest_ms();
            if !is_over || !is_old || !children_of(&self.store.run_dir(run)).is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take_apart(&self, run: &RunId, workspace: &Path, lock: &RunLock) -> Result<(), String> {
        let step = || self.home.crash.point(|| {});
        let aside = self.home.state.join(ASIDE);
        make_private_dir(&aside).map_err(|error| chain(&error))?;
        match git::shared_folder(workspace) {
            Ok(_) => {
                let own = self.store.run_dir(run);
                git::remove_snapshots(workspace, &snapshots_of(run), &own).map_err(|error| chain(&error))?;
            }
            // The snapshots are gone with their repository.
            Err(WorktreeError::NotARepository { .. }) => {}
            Err(_) if !workspace.is_dir() => {}
            Err(error) => return Err(chain(&error)),
        }
        step();
        if TrackerFolder::of(workspace, run, &BTreeSet::new()) != TrackerFolder::None {
            let trackers = TrackerFolder::of(workspace, run, &committed(workspace));
            trackers.remove().map_err(|error| chain(&error))?;
        }
        step();
        if let Ok(socket) = hook_socket::path_for(&self.home.state, run, &self.home.temp) {
            // The lock shows that nobody listens.
            let _ = fs::remove_file(socket);
        }
        let gone = aside.join(run.as_str());
        remove_all(&gone).map_err(|error| chain(&error))?;
        unless_gone(fs::rename(self.store.run_dir(run), &gone)).map_err(|error| chain(&error))?;
        step();
        match self.store.forget(run, lock) {
            Ok(()) | Err(ForgetError::UnknownRun { .. }) => {}
            Err(error @ ForgetError::Store(_)) => return Err(chain(&error)),
        }
        step();
        remove_all(&gone).map_err(|error| chain(&error))?;
        step();
        Ok(())
    }

    fn remove_file(&self, file: &GcFile) -> GcEnd {
        let path = &file.path;
        let is_aside = path.parent() == Some(&self.home.state.join(ASIDE));
        let is_dead = || path.parent().is_some_and(|folder| dead_drafts(folder).contains(path));
        if !is_aside && path.symlink_metadata().is_ok() && !is_dead() {
            return GcEnd::Kept("a process uses it".to_owned());
        }
        match remove_all(path) {
            Ok(()) => GcEnd::Removed,
            Err(error) => GcEnd::Failed(chain(&error)),
        }
    }
}
