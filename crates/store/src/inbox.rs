//! Requests that other processes send to a run. The owner takes them in the order of arrival.
//!
//! Taking a request is part of the append that answers it (`log.rs`). The owner's socket wakes the
//! owner.

use rusqlite::{Connection, params};
use windlass_core::id::{InboxId, RunId};

use crate::error::{ReadError, StoreError};
use crate::log::signed;
use crate::projection;
use crate::store::Store;
use crate::writer::{Durability, refusal};

/// A pending request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRequest {
    /// The id that the sender chose.
    pub id: InboxId,
    pub body: Vec<u8>,
}

/// The result of putting a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutResult {
    /// The request is now pending.
    Fresh,
    /// The same id was put before. Nothing changed, even if the owner has taken it since.
    Known,
}

/// An error from putting or discarding a request.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    #[error("no run is named `{run}`")]
    UnknownRun { run: RunId },
    #[error(transparent)]
    Store(#[from] StoreError),
}

refusal!(InboxError);

impl Store {
    /// Puts a request into a run's inbox, in a commit that survives power loss.
    pub fn put(&self, run: &RunId, id: &InboxId, body: &[u8]) -> Result<PutResult, InboxError> {
        let (run, id, body) = (run.clone(), id.clone(), body.to_vec());
        self.writer().wait(Durability::Full, move |conn| insert(conn, &run, &id, &body))
    }

    /// Discards a pending request of any sender and frees its id.
    pub fn discard(&self, run: &RunId, id: &InboxId) -> Result<(), InboxError> {
        let (run, id) = (run.clone(), id.clone());
        self.writer().wait(Durability::Normal, move |conn| remove(conn, &run, &id))
    }

    /// Returns the pending requests of a run, oldest first.
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

/// Marks a request as taken by record `seq`. Returns false if it is not pending.
pub(crate) fn take(conn: &Connection, run_no: i64, id: &InboxId, seq: u64) -> rusqlite::Result<bool> {
    let taken = conn
        .prepare_cached(
            "UPDATE inbox SET taken = ?3, body = x'' WHERE run_no = ?1 AND id = ?2 AND taken IS NULL",
        )?
        .execute(params![run_no, id.as_str(), signed(seq)])?;
    Ok(taken == 1)
}
