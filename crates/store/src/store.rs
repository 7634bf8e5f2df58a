//! The handle to an open store: cheap to clone, shared by every task of a process.
//!
//! The operations of a [`Store`] are in the file of each topic (`log`, `projection`, `lease`, `inbox`).

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use windlass_core::id::RunId;

use crate::error::{ReadError, StoreError};
use crate::folders::RunFolders;
use crate::log::unsigned;
use crate::open::{self, OpenError};
use crate::witness::Witness;
use crate::writer::Writer;

/// An open store. Clones share one connection that writes; dropping the last clone closes the database.
#[derive(Clone)]
pub struct Store {
    inner: Arc<StoreInner>,
}

struct StoreInner {
    dir: PathBuf,
    folders: RunFolders,
    writer: Writer,
    reader: Mutex<Connection>,
    witness: Witness,
}

impl Store {
    /// Opens the store in the state folder `dir` and creates or migrates the database if necessary.
    pub fn open(dir: &Path) -> Result<Store, OpenError> {
        let opened = open::open(dir)?;
        let writer = Writer::new(opened.writer, dir.to_owned(), opened.presence);
        let inner = StoreInner {
            dir: dir.to_owned(),
            folders: RunFolders::below(dir),
            writer,
            reader: Mutex::new(opened.reader),
            witness: opened.witness,
        };
        Ok(Store { inner: Arc::new(inner) })
    }

    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// Returns the folders of the runs, which are beside the database.
    pub fn folders(&self) -> &RunFolders {
        &self.inner.folders
    }

    pub fn run_dir(&self, run: &RunId) -> PathBuf {
        self.folders().of(run)
    }

    /// Decides whether a live process owns the run.
    pub fn is_owned(&self, run: &RunId) -> bool {
        self.folders().is_owned(run)
    }

    /// Returns a number that changes whenever this or another process commits.
    pub fn data_version(&self) -> Result<u64, StoreError> {
        let conn = self.reader();
        let version = conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        Ok(unsigned(version))
    }

    /// Returns an error if a file of the database was deleted, moved or emptied since it was opened.
    pub fn check(&self) -> Result<(), StoreError> {
        match self.inner.witness.loss() {
            None => Ok(()),
            Some((path, how)) => Err(StoreError::Lost { path: path.to_owned(), how }),
        }
    }

    /// Stops SQLite from writing to the database files when they are closed, so that the remains of a
    /// damaged database stay unchanged.
    pub fn leave_open(&self) {
        let keep = |conn: &Connection| {
            // If this fails, the files are no worse off than before.
            let _ = conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        };
        keep(&self.reader());
        self.writer().set(keep);
    }

    pub(crate) fn writer(&self) -> &Writer {
        &self.inner.writer
    }

    /// Runs one batch of queries on the reader's connection, in one read transaction.
    pub(crate) fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        // The reader maps the file into memory: reading an emptied file would kill the process.
        self.check()?;
        let conn = self.reader();
        let seen = conn.unchecked_transaction()?;
        let answer = query(&seen)?;
        seen.commit()?;
        Ok(answer)
    }

    fn reader(&self) -> std::sync::MutexGuard<'_, Connection> {
        // A reader that panicked left no transaction behind: unwinding rolled it back.
        self.inner.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("dir", &self.inner.dir).finish_non_exhaustive()
    }
}
