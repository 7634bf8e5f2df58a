//! Gives a new run a safe place: its own worktree if it asked for one, and no folder in which another run
//! would write beside it.
//!
//! Starts are one at a time, by a lock in the state folder: of two runs that start at once in one folder, the
//! second sees the first.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windlass_core::id::RunId;
use windlass_core::spec::Spec;
use windlass_peers::descent::own_descent;
use windlass_store::RunRow;

use super::{Handle, TakenRun};
use crate::error::{BusyRun, RunError};
use crate::named_lock::{LockAttempt, NamedLock, Share};
use crate::own_worktree::{self, WorktreeReport};
use crate::plan::PlannedWorktree;
use crate::view::RunStatus;

/// The lock for starts, in the state folder.
const STARTS: &str = "starts.lock";
/// The longest wait for another start, which may have to read a large repository.
const START_PATIENCE: Duration = Duration::from_secs(120);
/// The time in which a background process must become the owner of its run.
const OWNER_PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A run to start.
#[derive(Debug, Clone)]
pub struct StartRequest {
    pub spec: Spec,
    /// The worktree to make for the run.
    pub worktree: Option<PlannedWorktree>,
    pub beside: Beside,
}

/// The answer to a run that would write in a folder in which another run writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Beside {
    #[default]
    Refused,
    /// `--beside`.
    Allowed,
}

impl From<Spec> for StartRequest {
    fn from(spec: Spec) -> StartRequest {
        StartRequest { spec, worktree: None, beside: Beside::Refused }
    }
}

impl Handle {
    /// Creates a run that a person asked for. Until the lock is dropped, no other run starts.
    pub(super) fn create_in_place(
        &self,
        run: RunId,
        request: StartRequest,
    ) -> Result<(TakenRun, NamedLock), RunError> {
        let StartRequest { mut spec, worktree: planned, beside } = request;
        let make = |planned: &PlannedWorktree| {
            own_worktree::make(&run, &self.store.run_dir(&run), planned, &mut spec)
        };
        let made = planned.as_ref().map(make).transpose()?;
        let create = || {
            let lock = self.lock_starts()?;
            self.refuse_beside(&spec, beside)?;
            Ok((self.create(run.clone(), spec.clone())?, lock))
        };
        let created = create();
        if let (Err(_), Some(made)) = (&created, &made) {
            own_worktree::remove_unused(made, planned.and_then(|planned| planned.target).as_deref());
        }
        created
    }

    /// Takes the lock under which runs start.
    pub(crate) fn lock_starts(&self) -> Result<NamedLock, RunError> {
        let path = self.home.state.join(STARTS);
        let failed = |source| RunError::Place { path: path.clone(), source };
        let until = Instant::now() + START_PATIENCE;
        loop {
            match NamedLock::take(&path, Share::Alone).map_err(failed)? {
                LockAttempt::Taken(lock) => return Ok(lock),
                LockAttempt::Held(_) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
                LockAttempt::Held(_) => {
                    let text = "another windlass has been starting a run for two minutes";
                    return Err(failed(std::io::Error::new(std::io::ErrorKind::TimedOut, text)));
                }
            }
        }
    }

    /// Fails if the run would write in a folder in which another live run writes.
    pub(crate) fn refuse_beside(&self, spec: &Spec, beside: Beside) -> Result<(), RunError> {
        if beside == Beside::Allowed || !spec.may_write() {
            return Ok(());
        }
        let here = Path::new(&spec.workspace);
        let rows = self.store.runs()?;
        let is_open = |row: &&RunRow| RunStatus::of_word(&row.projection.status).is_open();
        let is_here = |row: &&RunRow| self.meets(here, Path::new(&row.projection.workspace));
        for row in rows.iter().filter(is_open).filter(is_here) {
            let root = root_of(&rows, &row.id);
            if self.lives(&row.id) && self.may_write(&row.id) && !is_above_us(&rows, root) {
                let folder = PathBuf::from(&row.projection.workspace);
                let other = if self.store.is_owned(root) { BusyRun::Owned } else { BusyRun::Orphaned };
                return Err(RunError::FolderBusy { run: root.clone(), folder, other });
            }
        }
        for stray in self.strays()? {
            let places = stray.living.iter().filter_map(|living| living.workspace.as_deref());
            if let Some(folder) = places.map(Path::to_owned).find(|place| self.meets(here, place)) {
                return Err(RunError::FolderBusy { run: stray.run, folder, other: BusyRun::NotInLog });
            }
        }
        Ok(())
    }

    /// Decides whether work in one folder is also work in the other. The worktrees of runs are apart, even
    /// if somebody works in a folder that contains the state folder.
    fn meets(&self, here: &Path, there: &Path) -> bool {
        let runs = self.store.folders().all();
        let runs = runs.canonicalize().unwrap_or_else(|_| runs.to_owned());
        let is_apart = |one: &Path, other: &Path| one.starts_with(&runs) && !other.starts_with(&runs);
        (here.starts_with(there) || there.starts_with(here))
            && !is_apart(here, there)
            && !is_apart(there, here)
    }

    fn may_write(&self, run: &RunId) -> bool {
        self.view(run).map_or(true, |view| view.state.spec.may_write())
    }

    /// Waits until a background process owns the run, which has this number of records.
    pub(crate) fn wait_until_owned(&self, run: &RunId, recorded: u64) {
        let until = Instant::now() + OWNER_PATIENCE;
        // A short run may have had an owner and ended already.
        let is_begun = || self.store.is_owned(run) || !matches!(self.record_at(run, recorded + 1), Ok(None));
        while !is_begun() && Instant::now() < until {
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Inspects the worktree of a run, if it has one of its own.
    pub fn worktree_of(&self, spec: &Spec) -> Option<WorktreeReport> {
        WorktreeReport::of(spec)
    }

    /// Returns the uncommitted files of the folder in which a run will work.
    pub fn uncommitted(&self, spec: &Spec) -> Vec<String> {
        crate::plan::uncommitted(Path::new(&spec.workspace))
    }
}

/// Returns the run that started a run, directly or through others.
fn root_of<'a>(rows: &'a [RunRow], run: &'a RunId) -> &'a RunId {
    let parent = |run: &RunId| rows.iter().find(|row| row.id == *run)?.projection.parent.as_ref();
    let mut root = run;
    // The log is data: a circle in it must not hang us.
    for _ in 0..rows.len() {
        match parent(root) {
            Some(above) => root = above,
            None => break,
        }
    }
    root
}

/// Decides whether a session of that run started this process, and so waits for it.
fn is_above_us(rows: &[RunRow], root: &RunId) -> bool {
    own_descent().run().is_some_and(|above| root_of(rows, &RunId::new(above)) == root)
}
