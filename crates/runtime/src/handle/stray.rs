//! Finds runs that are not in the log, and runs whose log this build cannot read. Their folders show which
//! processes are alive, and how to end them.
//!
//! A database that was emptied, deleted, or lost its newest part looks like a new one. But the folders of the
//! runs are still there, and each live host still holds its lock.

use std::path::{Path, PathBuf};

use windlass_core::id::{InboxId, RunId};
use windlass_core::run::{EndReason, FinalStatus};
use windlass_store::{Projection, RunMatch};

use super::Handle;
use crate::children::{self, EndedChildren};
use crate::clock::now;
use crate::effect::WORKTREES;
use crate::error::RunError;
use crate::inbox::InboxMessage;
use crate::recover;
use crate::view::RunStatus;
use crate::without_log::{children_of, one_of, owner_process};

/// A folder of a run that is not in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrayRun {
    /// The id, taken from the name of the folder.
    pub run: RunId,
    pub dir: PathBuf,
    /// The process that owns the run, if any.
    pub owner: Option<u32>,
    pub living: Vec<LiveChild>,
}

/// A live child process of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveChild {
    /// Its turn, check or command.
    pub name: String,
    /// The process id of its host.
    pub host: Option<u32>,
    pub workspace: Option<PathBuf>,
}

/// The process that owns a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerProcess {
    pub pid: u32,
    /// The process was stopped by a signal and does nothing until it is continued.
    pub is_stopped: bool,
}

/// A run that another version of Windlass recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherVersion {
    /// The version of its records.
    pub found: u32,
    /// The binary that recorded it, if it still exists.
    pub binary: Option<PathBuf>,
}

impl Handle {
    /// Returns the folders of runs that are not in the log.
    pub fn strays(&self) -> Result<Vec<StrayRun>, RunError> {
        let mut strays: Vec<StrayRun> = Vec::new();
        for run in self.unknown()? {
            let dir = self.store.run_dir(&run);
            let living = children_of(&dir);
            let owner = self.store.folders().owner(&run);
            // A new run has a folder before it is in the log.
            if owner.is_none() || !living.is_empty() {
                strays.push(StrayRun { run, dir, owner, living });
            }
        }
        Ok(strays)
    }

    /// Returns the number of run folders if the log is empty, or `None` if nothing is lost.
    pub fn lost_runs(&self) -> Result<Option<usize>, RunError> {
        if !self.store.is_empty()? {
            return Ok(None);
        }
        Ok(Some(self.strays()?.len()).filter(|count| *count > 0))
    }

    /// Returns the folder names of runs that are not in the log.
    fn unknown(&self) -> Result<Vec<RunId>, RunError> {
        let entries = std::fs::read_dir(self.store.folders().all()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut unknown = self.store.unknown(names.map(RunId::new).collect())?;
        unknown.retain(|run| is_used(&self.store.run_dir(run)));
        unknown.sort();
        Ok(unknown)
    }

    /// Returns the run that is not in the log and whose id starts with `prefix`, if there is exactly one.
    pub fn find_stray(&self, prefix: &str) -> Result<Option<StrayRun>, RunError> {
        Ok(one_of(self.strays()?, prefix))
    }

    /// Ends every live process of a run, using only its folder. Deletes and records nothing.
    fn end_children(&self, run: &RunId) -> EndedChildren {
        children::end_all(run, &self.store.run_dir(run))
    }

    /// Returns the process that owns a run, if any.
    pub fn owner(&self, run: &RunId) -> Option<OwnerProcess> {
        owner_process(&self.store.run_dir(run))
    }

    /// Returns the version that recorded a run, if it is not one that this build reads.
    pub fn other_version(&self, run: &RunId) -> Result<Option<OtherVersion>, RunError> {
        let first = self.store.read_from(run, 1, 1)?;
        let Some(entry) = first.first() else { return Ok(None) };
        match recover::read(run, entry) {
            Err(RunError::OtherVersion { found, .. }) => {
                let binary = self.binary_of(run, &entry.body);
                Ok(Some(OtherVersion { found, binary }))
            }
            _ => Ok(None),
        }
    }

    /// Returns true if this build plans other effects than the log of a run says, and so cannot continue it.
    pub fn has_diverged(&self, run: &RunId) -> Result<bool, RunError> {
        Ok(self.view(run)?.divergence.is_some())
    }

    /// Returns the binary that recorded a run, if it still exists.
    fn recorder(&self, run: &RunId) -> Option<PathBuf> {
        let first = self.store.read_from(run, 1, 1).ok()?;
        self.binary_of(run, &first.first()?.body)
    }

    /// Adds the binary that recorded the run to an error about another version.
    pub(crate) fn with_binary(&self, error: RunError) -> RunError {
        match error {
            RunError::OtherVersion { run, found, .. } => {
                let binary = self.recorder(&run);
                RunError::OtherVersion { run, found, binary }
            }
            RunError::Diverged { run, divergence, .. } => {
                let binary = self.recorder(&run);
                RunError::Diverged { run, divergence, binary }
            }
            other => other,
        }
    }

    /// Ends a run that another version recorded, or that this build would decide differently.
    ///
    /// If the run has an owner, asks the owner and returns `None`. Otherwise ends its children, and lists
    /// show it as cancelled. Its log does not change; the request waits in the inbox for a Windlass that can
    /// read the log.
    pub async fn cancel_other_version(&self, run: &RunId) -> Result<Option<EndedChildren>, RunError> {
        let run = run.clone();
        self.waiting(move |handle| handle.end_other_version(&run)).await
    }

    fn end_other_version(&self, run: &RunId) -> Result<Option<EndedChildren>, RunError> {
        let RunMatch::One(row) = self.store.find(run.as_str())? else {
            return Err(RunError::NoSuchRun(run.to_string()));
        };
        if RunStatus::of_word(&row.projection.status).is_over() {
            return Err(RunError::Over(run.clone()));
        }
        if self.other_version(run)?.is_some() {
            // Not sealed: neither an older owner nor the older binary that resumes the run knows seals.
            let body = serde_json::to_vec(&InboxMessage::Cancel).map_err(RunError::Encode)?;
            self.store.put(run, &InboxId::new("cancel/other-version"), &body)?;
        } else {
            self.ask(run, &InboxId::new(crate::random::token()), &InboxMessage::Cancel)?;
        }
        if self.store.is_owned(run) {
            return Ok(None);
        }
        let lease = self.store.acquire(run).map_err(|source| RunError::Lease { run: run.clone(), source })?;
        let ended = self.end_children(run);
        let status = RunStatus::Ended(FinalStatus::Cancelled).word().to_owned();
        let reason = Some(EndReason::User.word().to_owned());
        let projection = Projection { status, reason, updated_ms: now().0, ..row.projection };
        self.store.list_as(run, &lease, projection)?;
        Ok(Some(ended))
    }

    /// Returns the binary that recorded a run: the one in its first record, or else the newest copy made
    /// before the run started.
    fn binary_of(&self, run: &RunId, first: &[u8]) -> Option<PathBuf> {
        let bin = self.home.state.join("bin");
        let text = String::from_utf8_lossy(first);
        let own = self.home.pinned_path().ok();
        let named = text.split('"').map(Path::new).find(|part| part.starts_with(&bin));
        if let Some(named) = named.filter(|path| path.is_file() && own.as_deref() != Some(*path)) {
            return Some(named.to_owned());
        }
        let Ok(RunMatch::One(row)) = self.store.find(run.as_str()) else { return None };
        let builds = std::fs::read_dir(bin).ok()?.flatten();
        let made = |dir: &Path| {
            let made = dir.metadata().and_then(|meta| meta.modified()).ok()?;
            let made = made.duration_since(std::time::UNIX_EPOCH).ok()?;
            i64::try_from(made.as_millis()).ok()
        };
        let builds =
            builds.map(|entry| entry.path()).filter_map(|dir| Some((made(&dir)?, dir.join("windlass"))));
        let builds = builds.filter(|(made, path)| {
            path.is_file() && Some(path) != own.as_ref() && *made <= row.projection.started_ms
        });
        builds.max().map(|(_, path)| path)
    }
}

/// Returns true if a folder contains more than the lock of its owner and the worktree of a new run, which
/// Windlass makes before it records the run.
fn is_used(dir: &Path) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name != "owner.lock" && name != WORKTREES)
}
