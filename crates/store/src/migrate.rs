//! Migrates an older database to the schema of this build, forward only.
//!
//! `open.rs` holds the lock meanwhile. A database with content is first copied to a file beside it. Each
//! step and its version number are one transaction.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::error::StoreError;

/// The migration steps. The first one creates version 1.
const STEPS: &[&str] = &[
    include_str!("../migrations/0001_log.sql"),
    include_str!("../migrations/0002_input_and_machine.sql"),
    include_str!("../migrations/0003_packed.sql"),
    include_str!("../migrations/0004_parent.sql"),
    include_str!("../migrations/0005_spending.sql"),
    include_str!("../migrations/0006_cost.sql"),
];

/// The schema that this build reads and writes.
pub(crate) const LATEST: u32 = STEPS.len() as u32;

/// Marks the file as a database of Windlass: `wndl`.
pub(crate) const APPLICATION: i32 = 0x776E_646C;

/// An error from migrating the schema.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrateError {
    #[error("could not write the copy {}", path.display())]
    Backup { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for MigrateError {
    fn from(error: rusqlite::Error) -> MigrateError {
        MigrateError::Store(error.into())
    }
}

/// Returns the version of the schema; 0 is an empty database.
pub(crate) fn version(conn: &Connection) -> rusqlite::Result<u32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Runs every step above `from`, after copying a database with content.
pub(crate) fn bring_up(conn: &mut Connection, db: &Path, from: u32) -> Result<(), MigrateError> {
    if from > 0 {
        back_up(conn, db, from)?;
    }
    for (step, number) in STEPS.iter().zip(1_u32..) {
        if number <= from {
            continue;
        }
        let step_of = conn.transaction()?;
        step_of.execute_batch(step)?;
        step_of.pragma_update(None, "application_id", APPLICATION)?;
        step_of.pragma_update(None, "user_version", number)?;
        step_of.commit()?;
    }
    Ok(())
}

fn back_up(conn: &Connection, db: &Path, from: u32) -> Result<(), MigrateError> {
    let path = reserve(db, from)?;
    let copied = conn.execute("VACUUM INTO ?1", [path.to_string_lossy()]);
    if let Err(error) = copied {
        // A partial copy is useless, and its name suggests a complete one.
        let _ = std::fs::remove_file(&path);
        return Err(error.into());
    }
    let synced = OpenOptions::new().read(true).open(&path).and_then(|file| file.sync_all());
    synced.map_err(|source| MigrateError::Backup { path, source })
}

/// Creates an empty file for the copy under the first free name. An older copy is never replaced.
fn reserve(db: &Path, from: u32) -> Result<PathBuf, MigrateError> {
    let mut nth = 1_u32;
    loop {
        let ending = if nth == 1 { format!("v{from}.bak") } else { format!("v{from}.{nth}.bak") };
        let path = db.with_added_extension(ending);
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match made {
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => nth += 1,
            Err(source) => return Err(MigrateError::Backup { path, source }),
        }
    }
}
