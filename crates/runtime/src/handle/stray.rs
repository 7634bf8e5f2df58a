//! Runs that the log does not know, and runs whose log this build cannot read: what lives of them
//! is found in their folders, and can be ended.
//!
//! A database that was emptied, deleted, or lost its newest part looks like a new one. The folders
//! of the runs are still there, and a host still holds its lock.

use std::path::{Path, PathBuf};

use windlass_core::id::{InboxId, RunId};
use windlass_core::run::{EndReason, FinalStatus};
use windlass_store::{Projection, RunMatch};

use super::Handle;
use crate::children::{self, EndedChildren};
use crate::clock::now;
use crate::error::RunError;
use crate::inbox::InboxMessage;
use crate::recover;
use crate::view::RunStatus;
use crate::without_log::{children_of, one_of, owner_process};

/// A folder of a run that the log does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrayRun {
    /// The run, by the name of its folder.
    pub run: RunId,
    /// The folder.
    pub dir: PathBuf,
    /// The process that owns it, where one does.
    pub owner: Option<u32>,
    /// What lives of it.
    pub living: Vec<LiveChild>,
}

/// A child that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveChild {
    /// Its turn, check or command.
    pub name: String,
    /// The process id of its host.
    pub host: Option<u32>,
    /// Where it works.
    pub workspace: Option<PathBuf>,
}

/// The process that owns a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerProcess {
    /// Its id.
    pub pid: u32,
    /// It was stopped, and does nothing until it goes on.
    pub is_stopped: bool,
}

/// A run that another version of Windlass recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherVersion {
    /// The version of its records.
    pub found: u32,
    /// The binary that recorded it, where it is still there.
    pub binary: Option<PathBuf>,
}

impl Handle {
    /// The folders of runs that the log does not know.
    pub fn strays(&self) -> Result<Vec<StrayRun>, RunError> {
        let mut strays: Vec<StrayRun> = Vec::new();
        for run in self.unknown()? {
            let dir = self.store.run_dir(&run);
            let living = children_of(&dir);
            let owner = self.store.folders().owner(&run);
            // A run that begins at this moment has a folder first.
            if owner.is_none() || !living.is_empty() {
                strays.push(StrayRun { run, dir, owner, living });
            }
        }
        Ok(strays)
    }

    /// Whether the log holds nothing at all, while there are folders of runs; how many.
    pub fn is_lost(&self) -> Result<Option<usize>, RunError> {
        if !self.store.is_empty()? {
            return Ok(None);
        }
        Ok(Some(self.strays()?.len()).filter(|count| *count > 0))
    }

    /// The names of folders of runs that the log does not know.
    fn unknown(&self) -> Result<Vec<RunId>, RunError> {
        let entries = std::fs::read_dir(self.store.folders().all()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut unknown = self.store.unknown(names.map(RunId::new).collect())?;
        unknown.retain(|run| is_used(&self.store.run_dir(run)));
        unknown.sort();
        Ok(unknown)
    }

    /// The one folder of an unknown run whose name begins so.
    pub fn find_stray(&self, prefix: &str) -> Result<Option<StrayRun>, RunError> {
        Ok(one_of(self.strays()?, prefix))
    }

    /// Ends everything that lives of a run, by its folder alone. Nothing is deleted or recorded.
    fn end_children(&self, run: &RunId) -> EndedChildren {
        children::end_all(run, &self.store.run_dir(run))
    }

    /// The process that owns a run, where one does.
    pub fn owner(&self, run: &RunId) -> Option<OwnerProcess> {
        owner_process(&self.store.run_dir(run))
    }

    /// Whether another version recorded a run, and which.
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

    /// Whether the log of a run says other effects than this build plans, so that it cannot go on with it.
    pub fn has_diverged(&self, run: &RunId) -> Result<bool, RunError> {
        Ok(self.view(run)?.divergence.is_some())
    }

    /// The binary that recorded a run, where it is still there.
    fn recorder(&self, run: &RunId) -> Option<PathBuf> {
        let first = self.store.read_from(run, 1, 1).ok()?;
        self.binary_of(run, &first.first()?.body)
    }

    /// Says of a run that another version recorded which binary that was.
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

    /// Ends a run that another version recorded, or decided by other rules. Its owner is asked, where it has one; else its
    /// children are ended, and lists show it as cancelled. Its log is left as it is, and the request
    /// waits in its inbox for a Windlass that can read it. `None` where an owner is to end it.
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
            // As an older owner, or the binary that resumes the run, reads it: neither knows of seals.
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

    /// The binary that recorded a run: the one its first record names, or the one that was put
    /// aside last before it began.
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

/// Whether a folder holds more than the lock of its owner.
fn is_used(dir: &Path) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).any(|name| name != "owner.lock")
}
