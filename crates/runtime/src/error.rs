//! What can go wrong around a run, each with the facts a person needs.

use std::io;
use std::path::{Path, PathBuf};

use windlass_core::engine::Divergence;
use windlass_core::event::RECORD_VERSION;
use windlass_core::event::upcast::OLDEST_VERSION;
use windlass_core::id::RunId;
use windlass_peers::git::{GitError, WorktreeError};
use windlass_peers::hook_socket::SocketError;
use windlass_store::{
    AppendError, CreateError, InboxError, LeaseError, OpenError, ReadError, Store, StoreError,
};

pub use windlass_store::LostFile;

use crate::handle::OwnerProcess;
use crate::tasks::TasksError;
use crate::workspace::Absence;

/// Why a run could not be started, taken over, asked or read.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store could not be opened.
    #[error("the store cannot be used")]
    Open(#[from] OpenError),
    /// A record could not be appended.
    #[error("the log of this run cannot be written")]
    Append(#[from] AppendError),
    /// The run could not be created.
    #[error("the run cannot be recorded")]
    Create(#[from] CreateError),
    /// The log could not be read.
    #[error("the store cannot be read")]
    Read(#[from] ReadError),
    /// The store failed otherwise.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// The inbox could not be written.
    #[error("the request cannot be left for the run")]
    Inbox(#[from] InboxError),
    /// Somebody else owns the run, or it cannot be locked.
    #[error("run {run} cannot be taken over")]
    Lease {
        /// The run.
        run: RunId,
        /// Why.
        #[source]
        source: LeaseError,
    },
    /// The tasks it would work on cannot be had.
    #[error(transparent)]
    Tasks(#[from] TasksError),
    /// There is no such run.
    #[error("no run `{0}`")]
    NoSuchRun(String),
    /// There is no such run in the log, but a folder of one.
    #[error("run {run} is not in the log, but its folder {} is there", dir.display())]
    NotInLog {
        /// The run.
        run: RunId,
        /// Its folder.
        dir: PathBuf,
    },
    /// More than one run begins so.
    #[error("`{prefix}` could be any of: {}", candidates.iter().map(RunId::as_str).collect::<Vec<_>>().join(", "))]
    Ambiguous {
        /// What was typed.
        prefix: String,
        /// What it could mean.
        candidates: Vec<RunId>,
    },
    /// The log of a run makes no sense to this version.
    #[error("the log of run {run} cannot be understood: {why}")]
    BadLog {
        /// The run.
        run: RunId,
        /// Why.
        why: String,
    },
    /// The log of a run is of a version that this build does not read.
    #[error(
        "the log of run {run} is of version {found}, and this windlass reads versions {OLDEST_VERSION} to {RECORD_VERSION}"
    )]
    OtherVersion {
        /// The run.
        run: RunId,
        /// The version of its records.
        found: u32,
        /// The binary that recorded it, where it is known and still there.
        binary: Option<PathBuf>,
    },
    /// The engine plans other effects for a record than those in it.
    #[error("run {run} was decided by other rules: {divergence}")]
    Diverged {
        /// The run.
        run: RunId,
        /// Which record, and what differs.
        divergence: Divergence,
        /// The binary that recorded it, where it is known and still there.
        binary: Option<PathBuf>,
    },
    /// The state folder was deleted while a run was under way.
    #[error("the state folder {} is gone: somebody deleted it while the run was under way", .0.display())]
    StateGone(PathBuf),
    /// The log was deleted, moved or emptied while a run was under way.
    #[error(
        "the log of run {run} is gone: somebody {how} {} while the run was under way, so Windlass ended its agents{}",
        path.display(),
        if *left == 0 { String::new() } else { format!(" ({left} could not be ended)") }
    )]
    LogGone {
        /// The run.
        run: RunId,
        /// Its folder.
        dir: PathBuf,
        /// The file of the log.
        path: PathBuf,
        /// What became of it.
        how: LostFile,
        /// How many processes could not be ended.
        left: usize,
    },
    /// The log lost its newest part.
    #[error("the log of run {run} is older than its work: it does not know of {}", folder.display())]
    LogBehind {
        /// The run.
        run: RunId,
        /// What was begun and is not in the log.
        folder: PathBuf,
    },
    /// The run is over and cannot go on.
    #[error("run {0} is already over")]
    Over(RunId),
    /// The folder it works in is away. The run is not over.
    #[error("run {run} cannot continue: the folder {} {why}", folder.display())]
    NoFolder {
        /// The run.
        run: RunId,
        /// The folder it works in, or one of those that it started does.
        folder: PathBuf,
        /// Why it cannot be used.
        why: Absence,
    },
    /// Another run has the one loop that plugins can have in a folder.
    #[error(
        "{} already works in {}, and a plugin can loop only one run in a folder at a time",
        run.as_ref().map_or_else(|| "another run".to_owned(), |run| format!("run {run}")),
        folder.display()
    )]
    LoopHeld {
        /// The folder.
        folder: PathBuf,
        /// The run, once it has said so.
        run: Option<RunId>,
    },
    /// Nothing waits for a person.
    #[error("run {0} has not asked anything")]
    NothingAsked(RunId),
    /// Somebody else was quicker.
    #[error("somebody has already answered that question of run {0}")]
    AlreadyAnswered(RunId),
    /// What was asked is a person's to decide, and no person asked.
    #[error("{0}")]
    Refused(String),
    /// The process that owns the run says nothing.
    #[error("run {run} could not be told: {}", RunError::silent(*owner))]
    Unheard {
        /// The run.
        run: RunId,
        /// The process, where it is still there.
        owner: Option<OwnerProcess>,
    },
    /// A value could not be written as JSON.
    #[error("a record cannot be encoded")]
    Encode(#[source] serde_json::Error),
    /// The run's socket could not be opened.
    #[error("the socket for hooks cannot be opened")]
    Socket(#[from] SocketError),
    /// A folder or file of Windlass itself.
    #[error("cannot use {}", path.display())]
    Place {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no room for what the next step writes. The run is not over.
    #[error("cannot go on at {}", path.display())]
    NoRoom {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// git is ended before it is done, each time. The run is not over.
    #[error("cannot go on: something ends git before it is done, again and again")]
    CutOff(#[source] io::Error),
    /// Output of children cannot be watched.
    #[error("the output of agents cannot be watched")]
    Watch(#[source] io::Error),
    /// A background owner could not be started.
    #[error("a background process cannot be started: {0}")]
    Detach(String),
    /// Every sender of the owner is gone.
    #[error("the run was abandoned by its own tasks")]
    Abandoned,
}

impl RunError {
    /// Why an owner says nothing, as far as is known.
    fn silent(owner: Option<OwnerProcess>) -> String {
        match owner {
            Some(OwnerProcess { pid, is_stopped: true }) => {
                format!("process {pid}, which runs it, is stopped")
            }
            Some(OwnerProcess { pid, .. }) => format!("process {pid}, which runs it, does not answer"),
            None => "the process that ran it is gone".to_owned(),
        }
    }

    /// Whether the cause of this error is that the log of the run is gone: which file, and what became of it.
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

    /// Whether the log could not be read at all.
    pub fn is_without_log(&self) -> bool {
        matches!(self, RunError::Open(_) | RunError::Read(_) | RunError::Store(_))
    }

    /// Whether somebody else owns the run.
    pub fn is_locked(&self) -> bool {
        matches!(self, RunError::Lease { source: LeaseError::Held { .. }, .. })
    }

    /// What to do about a place that cannot be used.
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
                    "`windlass ps` names what still runs; the file was left as it is: move {} away to begin anew",
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
                 `windlass ps` names what still runs, and `windlass cancel RUN` ends it"
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

/// The copy of a database that was made last before a migration, if there is one.
fn newest_copy(database: &Path) -> Option<PathBuf> {
    let name = database.file_name()?.to_str()?;
    let is_copy = |path: &PathBuf| {
        let other = path.file_name().and_then(|name| name.to_str());
        other.is_some_and(|other| other.starts_with(&format!("{name}.")) && other.ends_with(".bak"))
    };
    let files = std::fs::read_dir(database.parent()?).ok()?.flatten().map(|entry| entry.path());
    files.filter(is_copy).max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
}

/// A failure that is only a want of room: a person can end it, so the run waits for its resume
/// rather than fails.
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

/// A failure that says nothing about the run: there is no room, or something kills git. The run waits
/// for its resume rather than fails.
pub(crate) fn passing(error: &(dyn std::error::Error + 'static), path: &Path) -> Option<RunError> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        // A transparent error hides the one it holds.
        let held = error.downcast_ref::<WorktreeError>().and_then(WorktreeError::git);
        if let Some(git) = held.or(error.downcast_ref()).filter(|git: &&GitError| git.is_cut_off()) {
            return Some(RunError::CutOff(io::Error::other(git.to_string())));
        }
        cause = error.source();
    }
    want_of_room(error, path)
}

/// An error and its causes on one line.
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
        assert!(hint().ends_with("windlass.db away to begin anew"), "{}", hint());
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
