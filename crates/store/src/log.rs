//! The log of a run: append, compare, read back.
//!
//! A record is one blob at `run_no << 32 | seq`, so one step is one row in one B-tree. What is
//! in the blob is left to the engine; which run has which number to `projection.rs`; making it
//! smaller to `pack.rs`.

use std::future::Future;

use rusqlite::{Connection, OptionalExtension, params};
use windlass_core::id::{InboxId, RunId};

use crate::error::{ReadError, StoreError};
use crate::pack::{self, Packed, pack_records, pack_state};
use crate::projection::{self, Projection};
use crate::store::Store;
use crate::writer::{Durability, refusal};
use crate::{inbox, lease};

/// The highest sequence number: the lower half of a position.
const LAST_SEQ: u64 = u32::MAX as u64;

/// What an owner adds to its run, all or nothing.
#[derive(Debug, Clone)]
pub struct Append {
    /// The run.
    pub run: RunId,
    /// The last sequence number the owner knows of; 0 before the first record.
    pub expected_seq: u64,
    /// The epoch of the owner's lease.
    pub epoch: u64,
    /// The records, in order. Each gets the next sequence number.
    pub bodies: Vec<Vec<u8>>,
    /// What the commit must survive.
    pub durability: Durability,
    /// The requests from the inbox that these records answer.
    pub taken: Vec<InboxId>,
    /// What lists show from now on, if it changed.
    pub projection: Option<Projection>,
    /// The state after the last of these records, in place of an older snapshot.
    pub snapshot: Option<Vec<u8>>,
}

/// Why nothing was appended.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The log does not end where the owner thought.
    #[error("run `{run}` is at step {found}, not at {expected}")]
    Stale {
        /// The run.
        run: RunId,
        /// Where the owner thought it ends.
        expected: u64,
        /// Where it ends.
        found: u64,
    },
    /// Someone else owns the run by now.
    #[error("run `{run}` belongs to owner number {current}, this is number {epoch}")]
    Fenced {
        /// The run.
        run: RunId,
        /// The epoch of whoever wanted to append.
        epoch: u64,
        /// The epoch of the owner.
        current: u64,
    },
    /// There is no such run.
    #[error("no run is named `{run}`")]
    UnknownRun {
        /// The name given.
        run: RunId,
    },
    /// A request was taken before, or never put.
    #[error("request `{id}` does not wait in the inbox of run `{run}`")]
    NotPending {
        /// The run.
        run: RunId,
        /// The request.
        id: InboxId,
    },
    /// The run has as many records as fit.
    #[error("the log of run `{run}` is full")]
    LogFull {
        /// The run.
        run: RunId,
    },
    /// The database itself.
    #[error(transparent)]
    Fault(#[from] StoreError),
}

refusal!(AppendError);

/// One record of a log, or a snapshot taken after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// Its number, counted from 1.
    pub seq: u64,
    /// What was stored.
    pub body: Vec<u8>,
}

/// What is needed to go on with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedRun {
    /// The last snapshot, if one was kept.
    pub snapshot: Option<StoredRecord>,
    /// Every record after it.
    pub tail: Vec<StoredRecord>,
    /// The epoch of the last owner; 0 if there never was one.
    pub epoch: u64,
}

impl LoadedRun {
    /// The number of the last record.
    pub fn last_seq(&self) -> u64 {
        self.tail.last().or(self.snapshot.as_ref()).map_or(0, |record| record.seq)
    }
}

impl Store {
    /// Appends to a run and answers with the number of its last record.
    ///
    /// Queued by the call itself, in the order of calls; the future only waits for the commit.
    pub fn append(&self, append: Append) -> impl Future<Output = Result<u64, AppendError>> + Send + use<> {
        let step = PackedAppend::of(append);
        self.writer().ask(step.append.durability, move |conn| write(conn, &step))
    }

    /// Like [`append`](Self::append), waiting in place.
    pub fn append_blocking(&self, append: Append) -> Result<u64, AppendError> {
        let step = PackedAppend::of(append);
        self.writer().wait(step.append.durability, move |conn| write(conn, &step))
    }

    /// The last snapshot of a run and every record after it, as of one moment.
    pub fn load(&self, run: &RunId) -> Result<LoadedRun, ReadError> {
        self.read(|conn| {
            let run_no = known(conn, run)?;
            let snapshot = snapshot(conn, run, run_no)?;
            let after = snapshot.as_ref().map_or(0, |record| record.seq);
            let tail = records(conn, run, after + 1, usize::MAX)?;
            Ok(LoadedRun { snapshot, tail, epoch: lease::epoch(conn, run_no)? })
        })
    }

    /// The records of a run from number `seq` on, `limit` at most.
    pub fn read_from(&self, run: &RunId, seq: u64, limit: usize) -> Result<Vec<StoredRecord>, ReadError> {
        self.read(|conn| records(conn, run, seq, limit))
    }
}

fn known(conn: &Connection, run: &RunId) -> Result<i64, ReadError> {
    projection::number(conn, run)?.ok_or_else(|| ReadError::UnknownRun { run: run.clone() })
}

/// An append whose bodies are packed, which is done before it stands in the writer's queue.
struct PackedAppend {
    /// Without its bodies and its snapshot.
    append: Append,
    bodies: Vec<Packed>,
    snapshot: Option<Packed>,
}

impl PackedAppend {
    fn of(mut append: Append) -> PackedAppend {
        let bodies = pack_records(std::mem::take(&mut append.bodies));
        let snapshot = append.snapshot.take().map(pack_state);
        PackedAppend { append, bodies, snapshot }
    }
}

/// Appends inside the writer's transaction.
fn write(conn: &Connection, step: &PackedAppend) -> Result<u64, AppendError> {
    let (append, run) = (&step.append, &step.append.run);
    let Some(RunPosition { run_no, current, found }) = run_position(conn, run)? else {
        return Err(AppendError::UnknownRun { run: run.clone() });
    };
    if current != append.epoch {
        return Err(AppendError::Fenced { run: run.clone(), epoch: append.epoch, current });
    }
    if found != append.expected_seq {
        let expected = append.expected_seq;
        return Err(AppendError::Stale { run: run.clone(), expected, found });
    }
    let last = found + step.bodies.len() as u64;
    if last > LAST_SEQ {
        return Err(AppendError::LogFull { run: run.clone() });
    }
    insert(conn, run_no, found, &step.bodies)?;
    take(conn, run_no, append, last)?;
    if let Some(projection) = &append.projection {
        projection::update(conn, run_no, projection)?;
    }
    if let Some(body) = &step.snapshot {
        keep_snapshot(conn, run_no, last, body)?;
    }
    Ok(last)
}

/// Inserts records after number `after`. A number that is taken collides on the key.
pub(crate) fn insert(conn: &Connection, run_no: i64, after: u64, bodies: &[Packed]) -> rusqlite::Result<()> {
    let mut insert = conn.prepare_cached("INSERT INTO event (pos, body, packed) VALUES (?1, ?2, ?3)")?;
    for (seq, body) in (after + 1..).zip(bodies) {
        insert.execute(params![position(run_no, seq), body.bytes, body.how])?;
    }
    Ok(())
}

fn take(conn: &Connection, run_no: i64, append: &Append, seq: u64) -> Result<(), AppendError> {
    for id in &append.taken {
        if !inbox::take(conn, run_no, id, seq)? {
            return Err(AppendError::NotPending { run: append.run.clone(), id: id.clone() });
        }
    }
    Ok(())
}

fn keep_snapshot(conn: &Connection, run_no: i64, seq: u64, body: &Packed) -> rusqlite::Result<()> {
    conn.prepare_cached("REPLACE INTO snapshot (run_no, seq, body, packed) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![run_no, signed(seq), body.bytes, body.how])?;
    Ok(())
}

fn snapshot(conn: &Connection, run: &RunId, run_no: i64) -> Result<Option<StoredRecord>, ReadError> {
    let mut query = conn.prepare_cached("SELECT seq, body, packed FROM snapshot WHERE run_no = ?1")?;
    let mut rows = query.query([run_no])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let seq = unsigned(row.get(0)?);
    let body = pack::read(row)?.map_err(|damage| damaged(format!("the snapshot of run `{run}` {damage}")))?;
    Ok(Some(StoredRecord { seq, body }))
}

/// Where a run stands before an append.
struct RunPosition {
    run_no: i64,
    /// The epoch of its owner.
    current: u64,
    /// The number of its last record.
    found: u64,
}

/// One statement for all three, because every step of every run asks.
fn run_position(conn: &Connection, run: &RunId) -> rusqlite::Result<Option<RunPosition>> {
    conn.prepare_cached(
        "SELECT run_no,
                coalesce((SELECT epoch FROM lease WHERE lease.run_no = run.run_no), 0),
                coalesce((SELECT pos FROM event
                          WHERE pos BETWEEN run.run_no << 32 AND run.run_no << 32 | 0xFFFFFFFF
                          ORDER BY pos DESC LIMIT 1), 0)
         FROM run WHERE id = ?1",
    )?
    .query_row([run.as_str()], |row| {
        let (run_no, current) = (row.get(0)?, unsigned(row.get(1)?));
        Ok(RunPosition { run_no, current, found: seq_of(row.get(2)?) })
    })
    .optional()
}

fn records(conn: &Connection, run: &RunId, from: u64, limit: usize) -> Result<Vec<StoredRecord>, ReadError> {
    let run_no = known(conn, run)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let first = position(run_no, from.min(LAST_SEQ));
    let mut query = conn.prepare_cached(
        "SELECT pos, body, packed FROM event WHERE pos BETWEEN ?1 AND ?2 ORDER BY pos LIMIT ?3",
    )?;
    let mut rows = query.query([first, position(run_no, LAST_SEQ), limit])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        let seq = seq_of(row.get(0)?);
        let body = pack::read(row)?;
        let body = body.map_err(|damage| damaged(format!("record {seq} of run `{run}` {damage}")))?;
        records.push(StoredRecord { seq, body });
    }
    Ok(records)
}

fn damaged(detail: String) -> ReadError {
    ReadError::Fault(StoreError::Corrupt { detail })
}

fn position(run_no: i64, seq: u64) -> i64 {
    run_no << 32 | signed(seq & LAST_SEQ)
}

fn seq_of(position: i64) -> u64 {
    unsigned(position) & LAST_SEQ
}

/// Sequence numbers and epochs are never near the sign bit.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// See [`signed`].
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
