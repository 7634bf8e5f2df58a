//! Opens the database: creates the state folder, refuses a database that cannot be used, and opens the
//! connections.
//!
//! No other file opens a connection. The schema is in `migrate.rs`. A refused database stays unchanged.

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

/// Bytes of the file that the reader maps. A run has many small pages, and one system call for each
/// would dominate the cost of resuming it.
const MAPPED: u32 = 256 * 1024 * 1024;

/// Time that a statement waits for another process that writes.
pub(crate) const BUSY: Duration = Duration::from_secs(10);
/// Time that opening waits for another process to finish a migration or to end.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(10);

/// The smallest page size of SQLite. A commit writes whole pages to the write-ahead log, so small pages
/// keep the bytes written close to the bytes changed (see `examples/bench_log.rs`). An existing database
/// keeps the page size it was created with.
const PAGE_SIZE: u32 = 512;
/// Pages in the write-ahead log before SQLite moves them into the database: 4 MB. Syncing a growing file
/// costs twice as much as syncing one that is overwritten, and from this size on the log is overwritten.
const CHECKPOINT_PAGES: u32 = 4 * 1024 * 1024 / PAGE_SIZE;

const WAL: &str = "windlass.db-wal";

/// An error from opening the store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The state folder or a file in it cannot be created or written.
    #[error("the state folder {} cannot be written", dir.display())]
    Unwritable { dir: PathBuf, source: io::Error },
    #[error("no space is left for the state folder {}", dir.display())]
    DiskFull { dir: PathBuf },
    /// The file is damaged or not a database of Windlass. It stays unchanged.
    #[error("the database {} is damaged or not a database of windlass: {detail}", path.display())]
    Corrupt {
        path: PathBuf,
        /// SQLite's message.
        detail: String,
    },
    /// A newer build wrote the database.
    #[error(
        "the database {} has schema {found}, this build knows up to {known}: use a newer windlass",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: u32,
        /// The newest schema that this build supports.
        known: u32,
    },
    /// The schema needs a migration, but other processes use the database.
    #[error(
        "the database {} must be migrated to schema {known}, but is in use by {}",
        path.display(), name_processes(pids)
    )]
    InUse {
        path: PathBuf,
        /// The schema that this build needs.
        known: u32,
        /// The visible processes that use the database.
        pids: Vec<u32>,
    },
    /// Somebody emptied or deleted the database while other processes use it.
    #[error("the database {} was emptied or deleted while {} used it", path.display(), name_processes(pids))]
    Emptied {
        path: PathBuf,
        /// The visible processes that use the database.
        pids: Vec<u32>,
    },
    /// SQLite's locks and shared memory are unreliable on a network file system.
    #[error("the state folder {} is on a network file system ({kind})", dir.display())]
    NetworkFileSystem {
        dir: PathBuf,
        /// The file system, such as `nfs`.
        kind: String,
    },
    /// The copy before a migration could not be written.
    #[error("could not write a copy of the database before migrating it: {}", path.display())]
    Backup {
        /// The path of the copy.
        path: PathBuf,
        source: io::Error,
    },
    /// Any other error that SQLite reports.
    #[error("could not open the database {}", path.display())]
    Database { path: PathBuf, source: StoreError },
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

/// An open database with the schema of this build.
pub(crate) struct Opened {
    pub(crate) writer: Connection,
    pub(crate) reader: Connection,
    pub(crate) presence: Presence,
    pub(crate) witness: Witness,
}

/// Opens the database in `dir` and creates or migrates it if necessary.
pub(crate) fn open(dir: &Path) -> Result<Opened, OpenError> {
    let at = DatabasePaths { dir: dir.to_owned(), db: dir.join("windlass.db") };
    at.make_folder()?;
    let presence = Presence::open(dir).map_err(|error| at.io(error))?;
    let writer = at.settle(&presence)?;
    let reader = at.connect().and_then(as_reader).map_err(|error| at.sql(error))?;
    let witness = Witness::of(&at.db);
    Ok(Opened { writer, reader, presence, witness })
}

/// The paths of the database, for opening it and for error messages.
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

    /// Returns the writer's connection once the schema is current and this process holds a shared lock.
    fn settle(&self, presence: &Presence) -> Result<Connection, OpenError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if presence.try_share().map_err(|error| self.io(error))? {
                if let Some(ready) = self.ready()? {
                    return Ok(ready);
                }
                presence.release().map_err(|error| self.io(error))?;
            }
            // Two new processes may race here. The loser finds the work done in its next attempt.
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

    /// Returns the connection if the database exists and has the schema of this build.
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

    /// Creates or migrates the database. The caller holds the exclusive lock.
    fn bring_up(&self) -> Result<(), OpenError> {
        if !self.exists()? {
            // SQLite gives the files beside the database the mode of the database. The file is created
            // only here: closing a plain handle drops the locks that SQLite holds on the file in this
            // process.
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
            MigrateError::Store(fault) => self.fault(fault),
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

    /// Renames the write-ahead log of a database that was emptied or deleted. SQLite would delete the
    /// log, and it may be all that is left of the runs.
    fn keep_aside(&self) -> Result<(), OpenError> {
        let wal = self.dir.join(WAL);
        if !wal.metadata().is_ok_and(|meta| meta.len() > 0) {
            return Ok(());
        }
        let names = (1..).map(|count: u32| self.dir.join(format!("{WAL}.lost-{count}")));
        let free = names.into_iter().find(|path| path.symlink_metadata().is_err());
        free.map_or(Ok(()), |free| std::fs::rename(&wal, free)).map_err(|error| self.io(error))
    }

    /// Decides whether the database exists and is not empty. SQLite treats an empty file as a new
    /// database and deletes the files beside it.
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

    #[expect(clippy::disallowed_methods, reason = "the only place that opens the database")]
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

/// Applies the settings that SQLite accepts only while a database is empty.
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
