//! Errors around a run, each with the facts that a person needs.

use std::io;
use std::path::{Path, PathBuf};

use windlass_core::engine::Divergence;
use windlass_core::event::RECORD_VERSION;
use windlass_core::event::upcast::OLDEST_VERSION;
use windlass_core::id::RunId;
use windlass_core::run::{FinalStatus, Outcome};
use windlass_peers::git::{GitError, WorktreeError};
use windlass_peers::hook_socket::SocketError;
use windlass_store::{
    AppendError, CreateError, InboxError, LeaseError, OpenError, ReadError, Store, StoreError,
};

pub use windlass_store::LostFile;

use crate::handle::OwnerProcess;
use crate::tasks::TasksError;
use crate::workspace::Absence;

/// An error from starting, taking over, asking or reading a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the store cannot be used")]
    Open(#[from] OpenError),
    #[error("the log of this run cannot be written")]
    Append(#[from] AppendError),
    #[error("the run cannot be recorded")]
    Create(#[from] CreateError),
    #[error("the store cannot be read")]
    Read(#[from] ReadError),
    #[error("the store failed")]
    Store(#[from] StoreError),
    #[error("cannot save the request for the run")]
    Inbox(#[from] InboxError),
    /// Another process owns the run, or the run cannot be locked.
    #[error("run {run} cannot be taken over")]
    Lease {
        run: RunId,
        #[source]
        source: LeaseError,
    },
    /// The run cannot use its task file.
    #[error(transparent)]
    Tasks(#[from] TasksError),
    #[error("no run `{0}`")]
    NoSuchRun(String),
    /// The log does not have the run, but its folder exists.
    #[error("run {run} is not in the log, but its folder {} is there", dir.display())]
    NotInLog { run: RunId, dir: PathBuf },
    /// Several ids start with the prefix.
    #[error("`{prefix}` could be any of: {}", candidates.iter().map(RunId::as_str).collect::<Vec<_>>().join(", "))]
    Ambiguous { prefix: String, candidates: Vec<RunId> },
    #[error("the log of run {run} cannot be understood: {why}")]
    BadLog { run: RunId, why: String },
    /// This build does not read this version of the log.
    #[error(
        "the log of run {run} has version {found}; this windlass reads versions {OLDEST_VERSION} to {RECORD_VERSION}"
    )]
    OtherVersion {
        run: RunId,
        found: u32,
        /// The binary that recorded it, if it is known and still exists.
        binary: Option<PathBuf>,
    },
    /// The engine plans other effects for a record than the record has.
    #[error("this version of windlass decides run {run} differently: {divergence}")]
    Diverged {
        run: RunId,
        /// The record, and what differs.
        divergence: Divergence,
        /// The binary that recorded it, if it is known and still exists.
        binary: Option<PathBuf>,
    },
    /// Somebody deleted the state folder during a run.
    #[error("the state folder {} is gone: somebody deleted it during the run", .0.display())]
    StateGone(PathBuf),
    /// Somebody deleted, moved or emptied the log during a run.
    #[error(
        "the log of run {run} is gone: somebody {how} {} during the run, so Windlass ended its agents{}",
        path.display(),
        if *left == 0 { String::new() } else { format!(" ({left} could not be ended)") }
    )]
    LogGone {
        run: RunId,
        dir: PathBuf,
        /// The file of the log.
        path: PathBuf,
        how: LostFile,
        /// The number of processes that could not be ended.
        left: usize,
    },
    /// The log lost its newest records.
    #[error("the log of run {run} lost its newest records: it does not mention {}", folder.display())]
    LogBehind {
        run: RunId,
        /// A turn that is not in the log.
        folder: PathBuf,
    },
    #[error("run {0} is already over")]
    Over(RunId),
    /// The run is over and can never continue.
    #[error("run {run} is already over: it is {}", status.word())]
    Final { run: RunId, status: FinalStatus },
    /// The run would end again at once, because nothing has changed.
    #[error("run {run} would end again at once: {}", describe_end(outcome))]
    WouldEnd { run: RunId, outcome: Outcome },
    /// A new budget of money could never hold.
    #[error("{0}")]
    UncountedCost(String),
    /// The folder of the run is missing. The run is not over.
    #[error("run {run} cannot continue: the folder {} {why}", folder.display())]
    NoFolder {
        run: RunId,
        /// The folder of the run or of one of its descendants.
        folder: PathBuf,
        why: Absence,
    },
    /// Another run has the only plugin loop of the folder.
    #[error(
        "{} already works in {}, and a plugin can loop only one run in a folder at a time",
        run.as_ref().map_or_else(|| "another run".to_owned(), |run| format!("run {run}")),
        folder.display()
    )]
    LoopHeld {
        folder: PathBuf,
        /// The other run, if it has written its name.
        run: Option<RunId>,
    },
    /// Another run works in the folder, or in one around or inside it, and both would write there.
    #[error("run {run} works in {}, and both runs would write there", folder.display())]
    FolderBusy {
        run: RunId,
        /// The folder of the other run.
        folder: PathBuf,
        other: BusyRun,
    },
    /// Windlass cannot make a worktree for the run.
    #[error("cannot make a worktree for the run: {0}")]
    NoWorktree(String),
    #[error("run {0} has not asked anything")]
    NothingAsked(RunId),
    /// Somebody else answered first.
    #[error("somebody has already answered that question of run {0}")]
    AlreadyAnswered(RunId),
    /// Only a person may decide this, and no person asked.
    #[error("{0}")]
    Refused(String),
    /// The process that owns the run does not answer.
    #[error("could not reach run {run}: {}", RunError::describe_silence(*owner))]
    Unheard {
        run: RunId,
        /// The owner, if it still exists.
        owner: Option<OwnerProcess>,
    },
    #[error("a record cannot be encoded")]
    Encode(#[source] serde_json::Error),
    #[error("the socket for hooks cannot be opened")]
    Socket(#[from] SocketError),
    /// A file or folder of Windlass itself cannot be used.
    #[error("cannot use {}", path.display())]
    Place {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// There is no space for the files of the next step. The run is not over.
    #[error("cannot continue: cannot write to {}", path.display())]
    NoRoom {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Something kills git each time before it finishes. The run is not over.
    #[error("cannot continue: something kills git each time before it finishes")]
    CutOff(#[source] io::Error),
    #[error("the output of agents cannot be watched")]
    Watch(#[source] io::Error),
    #[error("a background process cannot be started: {0}")]
    Detach(String),
    /// A task of the owner ended without a result.
    #[error("a task of the run ended unexpectedly")]
    Abandoned,
}

/// The kind of a live run that occupies a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyRun {
    /// A process owns it.
    Owned,
    /// Its process is gone, and its agent still works.
    Orphaned,
    /// It is not in the log.
    NotInLog,
}

impl RunError {
    /// Describes why an owner does not answer.
    fn describe_silence(owner: Option<OwnerProcess>) -> String {
        match owner {
            Some(OwnerProcess { pid, is_stopped: true }) => {
                format!("process {pid}, which runs it, is stopped")
            }
            Some(OwnerProcess { pid, .. }) => format!("process {pid}, which runs it, does not answer"),
            None => "the process that ran it is gone".to_owned(),
        }
    }

    /// Returns the log file and what happened to it, if the error comes from a lost log.
    pub(crate) fn lost_log(&self, store: &Store) -> Option<(PathBuf, LostFile)> {
        if let Err(StoreError::Lost { path, how }) = store.check() {
            return Some((path, how));
        }
        let is_unknown = matches!(
            self,
            RunError::Append(AppendError::UnknownRun { .. })
                | RunError::Read(ReadError::UnknownRun { .. })
                | RunError::Inbox(InboxError::UnknownRun { .. })
        );
        is_unknown.then(|| (store.dir().join("windlass.db"), LostFile::Moved))
    }

    /// Returns true if the log could not be read at all.
    pub fn is_without_log(&self) -> bool {
        matches!(self, RunError::Open(_) | RunError::Read(_) | RunError::Store(_))
    }

    /// Returns true if another process owns the run.
    pub fn is_locked(&self) -> bool {
        matches!(self, RunError::Lease { source: LeaseError::Held { .. }, .. })
    }

    /// Returns a hint for a path that cannot be used.
    pub fn place_hint(&self) -> Option<String> {
        let error = match self {
            RunError::Open(error) => error,
            RunError::Place { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                return Some("free some space; nothing that was recorded is lost".to_owned());
            }
            RunError::Place { .. } => {
                return Some("make it writable, or choose another with XDG_STATE_HOME".to_owned());
            }
            _ => return None,
        };
        Some(match error {
            OpenError::Unwritable { .. } => {
                "make it writable, or choose another with XDG_STATE_HOME".to_owned()
            }
            OpenError::DiskFull { .. } => "free some space; nothing that was recorded is lost".to_owned(),
            OpenError::Corrupt { path, .. } => {
                let anew = format!(
                    "`windlass ps` lists what still runs; the file is unchanged: move {} away to start again",
                    path.display()
                );
                match newest_copy(path) {
                    Some(copy) => format!("{anew}, or put {} in its place", copy.display()),
                    None => anew,
                }
            }
            OpenError::Newer { .. } => {
                "upgrade windlass; an older one never changes a newer database".to_owned()
            }
            OpenError::InUse { .. } => "let those runs end or cancel them, then try again".to_owned(),
            OpenError::Emptied { .. } => {
                "each run that used it stops by itself within seconds: try again then; \
                 `windlass ps` lists what still runs, and `windlass cancel RUN` ends it"
                    .to_owned()
            }
            OpenError::NetworkFileSystem { .. } => {
                "choose a folder on a local disk with XDG_STATE_HOME".to_owned()
            }
            OpenError::Backup { .. } => {
                "make room for a copy of the database; nothing was migrated".to_owned()
            }
            OpenError::Database { .. } => {
                "the state folder must be on a local disk with room, and writable".to_owned()
            }
        })
    }
}

/// Describes how a run would end.
fn describe_end(outcome: &Outcome) -> String {
    let why = outcome.why();
    format!("{}, {why}", outcome.status.word())
}

/// Returns the newest copy of a database from before a migration, if there is one.
fn newest_copy(database: &Path) -> Option<PathBuf> {
    let name = database.file_name()?.to_str()?;
    let is_copy = |path: &PathBuf| {
        let other = path.file_name().and_then(|name| name.to_str());
        other.is_some_and(|other| other.starts_with(&format!("{name}.")) && other.ends_with(".bak"))
    };
    let files = std::fs::read_dir(database.parent()?).ok()?.flatten().map(|entry| entry.path());
    files.filter(is_copy).max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
}

/// Detects a lack of space. A person can fix that, so the run waits for its resume instead of failing.
pub(crate) fn want_of_room(error: &(dyn std::error::Error + 'static), path: &Path) -> Option<RunError> {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let mut cause = Some(error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if let Some(kind @ (StorageFull | QuotaExceeded | ReadOnlyFilesystem)) = kind {
            return Some(RunError::NoRoom { path: path.to_owned(), source: kind.into() });
        }
        cause = error.source();
    }
    None
}

/// Detects an error that is not the run's fault: no space, or something that kills git. The run waits for its
/// resume instead of failing.
pub(crate) fn passing(error: &(dyn std::error::Error + 'static), path: &Path) -> Option<RunError> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        // A transparent error hides the one inside it.
        let held = error.downcast_ref::<WorktreeError>().and_then(WorktreeError::git);
        if let Some(git) = held.or(error.downcast_ref()).filter(|git: &&GitError| git.is_cut_off()) {
            return Some(RunError::CutOff(io::Error::other(git.to_string())));
        }
        cause = error.source();
    }
    want_of_room(error, path)
}

/// Joins an error and its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_named_only_where_there_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("windlass.db");
        let hint = || {
            let error = OpenError::Corrupt { path: path.clone(), detail: String::new() };
            RunError::Open(error).place_hint().unwrap()
        };
        std::fs::write(dir.path().join("other.bak"), "").unwrap();
        assert!(hint().ends_with("windlass.db away to start again"), "{}", hint());
        std::fs::write(dir.path().join("windlass.db.v1.bak"), "").unwrap();
        assert!(hint().ends_with("windlass.db.v1.bak in its place"), "{}", hint());
    }

    #[test]
    fn only_a_run_that_somebody_has_is_held() {
        let run = || RunId::new("k3f9");
        let held = |source| RunError::Lease { run: run(), source }.is_locked();
        assert!(held(LeaseError::Held { run: run(), pid: Some(1) }));
        assert!(!held(StoreError::DiskFull.into()));
    }
}
