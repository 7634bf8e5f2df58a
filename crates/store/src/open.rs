//! The one door to the database: makes the folder, refuses what cannot be used, and opens the
//! connections.
//!
//! The schema itself is left to `migrate.rs`. Whatever is refused here is left as it was found.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use crate::error::StoreError;
use crate::migrate::{self, LATEST, MigrateError};
use crate::os;
use crate::presence::Presence;
use crate::witness::Witness;

/// How much of the file the reader maps: a run has many small pages, and a call for each would
/// be most of what resuming it costs.
const MAPPED: u32 = 256 * 1024 * 1024;

/// How long a statement waits for another process that writes.
pub(crate) const BUSY: Duration = Duration::from_secs(10);
/// How long opening waits for another process that migrates, or that has to end first.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(10);

/// A commit writes whole pages to the write-ahead log, so the smallest pages there are keep what is
/// written near what was changed (see `examples/bench_log.rs`). A database keeps the pages it was
/// made with.
const PAGE_SIZE: u32 = 512;
/// Pages in the write-ahead log before they are moved into the database: 4 MB. Syncing a file that
/// grows costs twice what syncing one costs that is written over again, and after this much it is.
const CHECKPOINT_PAGES: u32 = 4 * 1024 * 1024 / PAGE_SIZE;

/// The write-ahead log beside the database.
const WAL: &str = "windlass.db-wal";

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The state folder or a file in it may not be made or written.
    #[error("the state folder {} cannot be written", dir.display())]
    Unwritable {
        /// The state folder.
        dir: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No room on the disk of the state folder.
    #[error("no space is left for the state folder {}", dir.display())]
    DiskFull {
        /// The state folder.
        dir: PathBuf,
    },
    /// The file is no database, or a damaged one. It was not touched.
    #[error("the database {} is damaged or not a database of windlass: {detail}", path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// In SQLite's words.
        detail: String,
    },
    /// A newer build wrote it.
    #[error(
        "the database {} has schema {found}, this build knows up to {known}: use a newer windlass",
        path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema this build knows.
        known: u32,
    },
    /// The schema must be brought up, but others are running.
    #[error(
        "the database {} must be brought to schema {known}, but is in use by {}",
        path.display(), name_processes(pids)
    )]
    InUse {
        /// The database.
        path: PathBuf,
        /// The schema this build needs.
        known: u32,
        /// The processes that have it in use, as far as they can be seen.
        pids: Vec<u32>,
    },
    /// It was emptied or deleted while others have it in use.
    #[error("the database {} was emptied or deleted while {} used it", path.display(), name_processes(pids))]
    Emptied {
        /// The database.
        path: PathBuf,
        /// The processes that have it in use, as far as they can be seen.
        pids: Vec<u32>,
    },
    /// SQLite cannot keep its promises there.
    #[error("the state folder {} is on a network file system ({kind})", dir.display())]
    NetworkFileSystem {
        /// The state folder.
        dir: PathBuf,
        /// Which one, such as `nfs`.
        kind: String,
    },
    /// The copy that is made before a migration could not be written.
    #[error("could not write a copy of the database before migrating it: {}", path.display())]
    Backup {
        /// The copy.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else SQLite reports.
    #[error("could not open the database {}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What went wrong.
        source: StoreError,
    },
}

fn name_processes(pids: &[u32]) -> String {
    match pids {
        [] => "another process".to_owned(),
        [pid] => format!("process {pid}"),
        many => {
            let names: Vec<String> = many.iter().map(u32::to_string).collect();
            format!("processes {}", names.join(", "))
        }
    }
}

/// An open database of the right schema.
pub(crate) struct Opened {
    pub(crate) writer: Connection,
    pub(crate) reader: Connection,
    pub(crate) presence: Presence,
    pub(crate) witness: Witness,
}

/// Opens the database in `dir`, making or migrating it where needed.
pub(crate) fn open(dir: &Path) -> Result<Opened, OpenError> {
    let at = DatabasePaths { dir: dir.to_owned(), db: dir.join("windlass.db") };
    at.make_folder()?;
    let presence = Presence::open(dir).map_err(|error| at.io(error))?;
    let writer = at.settle(&presence)?;
    let reader = at.connect().and_then(as_reader).map_err(|error| at.sql(error))?;
    let witness = Witness::of(&at.db);
    Ok(Opened { writer, reader, presence, witness })
}

/// The paths, for opening and for saying what went wrong.
struct DatabasePaths {
    dir: PathBuf,
    db: PathBuf,
}

impl DatabasePaths {
    fn make_folder(&self) -> Result<(), OpenError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        made.map_err(|error| self.io(error))?;
        match os::network(&self.dir).map_err(|error| self.io(error))? {
            None => Ok(()),
            Some(kind) => Err(OpenError::NetworkFileSystem { dir: self.dir.clone(), kind }),
        }
    }

    /// Returns the writer's connection once the schema is right and a share of the lock is held.
    fn settle(&self, presence: &Presence) -> Result<Connection, OpenError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if presence.try_share().map_err(|error| self.io(error))? {
                if let Some(ready) = self.ready()? {
                    return Ok(ready);
                }
                presence.release().map_err(|error| self.io(error))?;
            }
            // Two new processes may race here: the loser finds the work done in the next round.
            if presence.try_own().map_err(|error| self.io(error))? {
                self.bring_up()?;
                continue;
            }
            if Instant::now() >= deadline {
                let pids = presence.others();
                if !self.holds_something()? {
                    return Err(OpenError::Emptied { path: self.db.clone(), pids });
                }
                return Err(OpenError::InUse { path: self.db.clone(), known: LATEST, pids });
            }
            thread::sleep(PAUSE);
        }
    }

    /// The connection, if the database is there with the schema of this build.
    fn ready(&self) -> Result<Option<Connection>, OpenError> {
        if !self.holds_something()? {
            return Ok(None);
        }
        let (conn, found) = self.look()?;
        if found < LATEST {
            return Ok(None);
        }
        as_writer(conn).map(Some).map_err(|error| self.sql(error))
    }

    /// Makes or migrates the database. The whole lock is held.
    fn bring_up(&self) -> Result<(), OpenError> {
        if !self.exists()? {
            // SQLite gives the files beside it the mode of the database. It is made only here:
            // closing a plain handle drops the locks SQLite holds on the file in this process.
            let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.db);
            made.map_err(|error| self.io(error))?;
        }
        if !self.holds_something()? {
            self.keep_aside()?;
        }
        let (mut conn, found) = self.look()?;
        if found >= LATEST {
            return Ok(());
        }
        if found == 0 {
            prepare_empty(&conn).map_err(|error| self.sql(error))?;
        }
        migrate::bring_up(&mut conn, &self.db, found).map_err(|error| match error {
            MigrateError::Backup { path, source } if !is_full(&source) => OpenError::Backup { path, source },
            MigrateError::Backup { source, .. } => self.io(source),
            MigrateError::Fault(fault) => self.fault(fault),
        })
    }

    /// Opens the file and reads its version without changing anything.
    fn look(&self) -> Result<(Connection, u32), OpenError> {
        let conn = self.connect().map_err(|error| self.sql(error))?;
        let (found, tables, ours) = self.identify(&conn).map_err(|error| self.sql(error))?;
        if tables > 0 && !ours {
            let detail = "its tables were made by another program".to_owned();
            return Err(OpenError::Corrupt { path: self.db.clone(), detail });
        }
        if found > LATEST {
            return Err(OpenError::Newer { path: self.db.clone(), found, known: LATEST });
        }
        Ok((conn, found))
    }

    fn identify(&self, conn: &Connection) -> rusqlite::Result<(u32, u32, bool)> {
        let tables = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        let application: i32 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
        Ok((migrate::version(conn)?, tables, application == migrate::APPLICATION))
    }

    /// Renames the write-ahead log of a database that was emptied or deleted: SQLite would delete it, and
    /// it may be all that is left of the runs.
    fn keep_aside(&self) -> Result<(), OpenError> {
        let wal = self.dir.join(WAL);
        if !wal.metadata().is_ok_and(|meta| meta.len() > 0) {
            return Ok(());
        }
        let names = (1..).map(|count: u32| self.dir.join(format!("{WAL}.lost-{count}")));
        let free = names.into_iter().find(|path| path.symlink_metadata().is_err());
        free.map_or(Ok(()), |free| std::fs::rename(&wal, free)).map_err(|error| self.io(error))
    }

    /// Whether there is a database that is not empty. SQLite takes an empty file for a new one, and
    /// deletes what is beside it.
    fn holds_something(&self) -> Result<bool, OpenError> {
        match self.db.metadata() {
            Ok(meta) => Ok(meta.len() > 0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.io(error)),
        }
    }

    fn exists(&self) -> Result<bool, OpenError> {
        self.db.try_exists().map_err(|error| self.io(error))
    }

    #[expect(clippy::disallowed_methods, reason = "the one door to the database")]
    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&self.db, flags)?;
        conn.busy_timeout(BUSY)?;
        conn.set_prepared_statement_cache_capacity(48);
        Ok(conn)
    }

    fn io(&self, source: io::Error) -> OpenError {
        if is_full(&source) {
            return OpenError::DiskFull { dir: self.dir.clone() };
        }
        OpenError::Unwritable { dir: self.dir.clone(), source }
    }

    fn sql(&self, error: rusqlite::Error) -> OpenError {
        self.fault(error.into())
    }

    fn fault(&self, fault: StoreError) -> OpenError {
        match fault.on_disk_of(&self.dir) {
            StoreError::DiskFull => OpenError::DiskFull { dir: self.dir.clone() },
            StoreError::Corrupt { detail } => OpenError::Corrupt { path: self.db.clone(), detail },
            StoreError::ReadOnly { detail } => self.io(io::Error::other(detail)),
            source @ (StoreError::Busy
            | StoreError::Closed
            | StoreError::Lost { .. }
            | StoreError::Other(_)) => OpenError::Database { path: self.db.clone(), source },
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// What can only be chosen while a database is empty.
fn prepare_empty(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "page_size", PAGE_SIZE)?;
    conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
}

fn as_writer(conn: Connection) -> rusqlite::Result<Connection> {
    conn.pragma_update_and_check(None, "wal_autocheckpoint", CHECKPOINT_PAGES, |_| Ok(()))?;
    Ok(conn)
}

fn as_reader(conn: Connection) -> rusqlite::Result<Connection> {
    conn.pragma_update(None, "query_only", true)?;
    conn.pragma_update_and_check(None, "mmap_size", MAPPED, |_| Ok(()))?;
    Ok(conn)
}
