//! Deletes runs for good: their records, their inbox and their list entry.
//!
//! The file of the database does not get smaller, because a smaller file means that somebody emptied it
//! (`witness.rs`). Later runs use the free space.

use rusqlite::{Connection, params};
use windlass_core::id::RunId;

use crate::error::StoreError;
use crate::folders::RunLock;
use crate::projection;
use crate::store::Store;
use crate::writer::{Durability, refusal};

/// An error from deleting a run.
#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    #[error("no run is named `{run}`")]
    UnknownRun { run: RunId },
    #[error(transparent)]
    Store(#[from] StoreError),
}

refusal!(ForgetError);

impl Store {
    /// Deletes a run in one commit. The lock shows that nobody owns the run.
    pub fn forget(&self, run: &RunId, _lock: &RunLock) -> Result<(), ForgetError> {
        let run = run.clone();
        self.writer().wait(Durability::Normal, move |conn| delete(conn, &run))
    }
}

fn delete(conn: &Connection, run: &RunId) -> Result<(), ForgetError> {
    let Some(run_no) = projection::number(conn, run)? else {
        return Err(ForgetError::UnknownRun { run: run.clone() });
    };
    conn.prepare_cached("DELETE FROM event WHERE pos BETWEEN ?1 << 32 AND ?1 << 32 | 0xFFFFFFFF")?
        .execute(params![run_no])?;
    // The last lease keeps the number of its run from being used again: a cursor names the newest run that
    // its reader has seen.
    for table in [
        "DELETE FROM snapshot WHERE run_no = ?1",
        "DELETE FROM inbox WHERE run_no = ?1",
        "DELETE FROM lease WHERE run_no = ?1 AND run_no < (SELECT max(run_no) FROM lease)",
        "DELETE FROM run WHERE run_no = ?1",
    ] {
        conn.prepare_cached(table)?.execute(params![run_no])?;
    }
    Ok(())
}
