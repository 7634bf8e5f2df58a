//! What other processes ask of a run: rows that its owner takes in the order they came.
//!
//! Taking is part of the append that answers (`log.rs`). Waking the owner is left to its socket.

use rusqlite::{Connection, params};
use windlass_core::id::{InboxId, RunId};

use crate::error::{ReadError, StoreError};
use crate::log::signed;
use crate::projection;
use crate::store::Store;
use crate::writer::{Durability, refusal};

/// A request that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRequest {
    /// Named by whoever sent it.
    pub id: InboxId,
    /// What was sent.
    pub body: Vec<u8>,
}

/// What became of a request that was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutResult {
    /// It waits now.
    Fresh,
    /// The same id was put before; nothing changed, even if it was taken since.
    Known,
}

/// Why a request was not kept.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// There is no such run.
    #[error("no run is named `{run}`")]
    UnknownRun {
        /// The name given.
        run: RunId,
    },
    /// The database itself.
    #[error(transparent)]
    Fault(#[from] StoreError),
}

refusal!(InboxError);

impl Store {
    /// Puts a request into a run's inbox, in a commit that survives power loss.
    pub fn put(&self, run: &RunId, id: &InboxId, body: &[u8]) -> Result<PutResult, InboxError> {
        let (run, id, body) = (run.clone(), id.clone(), body.to_vec());
        self.writer().wait(Durability::Full, move |conn| insert(conn, &run, &id, &body))
    }

    /// Throws a request away that waits, whoever put it; its id is free again.
    pub fn discard(&self, run: &RunId, id: &InboxId) -> Result<(), InboxError> {
        let (run, id) = (run.clone(), id.clone());
        self.writer().wait(Durability::Normal, move |conn| remove(conn, &run, &id))
    }

    /// The requests that wait for a run, oldest first.
    pub fn pending(&self, run: &RunId) -> Result<Vec<InboxRequest>, ReadError> {
        self.read(|conn| {
            let Some(run_no) = projection::number(conn, run)? else {
                return Err(ReadError::UnknownRun { run: run.clone() });
            };
            Ok(waiting(conn, run_no)?)
        })
    }
}

fn waiting(conn: &Connection, run_no: i64) -> rusqlite::Result<Vec<InboxRequest>> {
    conn.prepare_cached("SELECT id, body FROM inbox WHERE run_no = ?1 AND taken IS NULL ORDER BY place")?
        .query_map([run_no], |row| {
            Ok(InboxRequest { id: InboxId::new(row.get::<_, String>(0)?), body: row.get(1)? })
        })?
        .collect()
}

fn insert(conn: &Connection, run: &RunId, id: &InboxId, body: &[u8]) -> Result<PutResult, InboxError> {
    let Some(run_no) = projection::number(conn, run)? else {
        return Err(InboxError::UnknownRun { run: run.clone() });
    };
    let added = conn
        .prepare_cached("INSERT OR IGNORE INTO inbox (run_no, id, body) VALUES (?1, ?2, ?3)")?
        .execute(params![run_no, id.as_str(), body])?;
    Ok(if added == 1 { PutResult::Fresh } else { PutResult::Known })
}

fn remove(conn: &Connection, run: &RunId, id: &InboxId) -> Result<(), InboxError> {
    let Some(run_no) = projection::number(conn, run)? else {
        return Err(InboxError::UnknownRun { run: run.clone() });
    };
    conn.prepare_cached("DELETE FROM inbox WHERE run_no = ?1 AND id = ?2 AND taken IS NULL")?
        .execute(params![run_no, id.as_str()])?;
    Ok(())
}

/// Takes a request for the record `seq`; false if it does not wait.
pub(crate) fn take(conn: &Connection, run_no: i64, id: &InboxId, seq: u64) -> rusqlite::Result<bool> {
    let taken = conn
        .prepare_cached(
            "UPDATE inbox SET taken = ?3, body = x'' WHERE run_no = ?1 AND id = ?2 AND taken IS NULL",
        )?
        .execute(params![run_no, id.as_str(), signed(seq)])?;
    Ok(taken == 1)
}
