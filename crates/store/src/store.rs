//! The handle to an open store: cheap to clone, shared by every task of a process.
//!
//! What can be asked of it is in the file of each topic (`log`, `projection`, `lease`, `inbox`).

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

/// An open store. Clones share one connection that writes; the last one to go closes the database.
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
    /// Opens the store in the state folder `dir`, making or migrating it where needed.
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

    /// The state folder.
    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// The folders of its runs, which stand beside the database.
    pub fn folders(&self) -> &RunFolders {
        &self.inner.folders
    }

    /// The folder of a run.
    pub fn run_dir(&self, run: &RunId) -> PathBuf {
        self.folders().of(run)
    }

    /// Whether a living process owns the run.
    pub fn is_owned(&self, run: &RunId) -> bool {
        self.folders().is_owned(run)
    }

    /// A number that changes when anyone else, or this process, has committed something.
    pub fn data_version(&self) -> Result<u64, StoreError> {
        let conn = self.reader();
        let version = conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        Ok(unsigned(version))
    }

    /// Refuses where a file of the database was deleted, moved or emptied since it was opened.
    pub fn check(&self) -> Result<(), StoreError> {
        match self.inner.witness.loss() {
            None => Ok(()),
            Some((path, how)) => Err(StoreError::Lost { path: path.to_owned(), how }),
        }
    }

    /// Writes nothing more into the files of the database, at the end neither: what is left of them
    /// stays as somebody made it.
    pub fn let_lie(&self) {
        let keep = |conn: &Connection| {
            // Where it cannot be set, the files are as damaged as they were.
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
        // A reader maps the file: one that somebody emptied would kill the process.
        self.check()?;
        let conn = self.reader();
        let seen = conn.unchecked_transaction()?;
        let answer = query(&seen)?;
        seen.commit()?;
        Ok(answer)
    }

    fn reader(&self) -> std::sync::MutexGuard<'_, Connection> {
        // A reader that panicked has left no transaction behind: it is rolled back on the way.
        self.inner.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("dir", &self.inner.dir).finish_non_exhaustive()
    }
}
