//! The log of a run: appending to it and reading it back.
//!
//! A record is one blob at `run_no << 32 | seq`, so one record is one row in one B-tree. The engine
//! defines the contents of the blob, `projection.rs` assigns the run numbers and `pack.rs` compresses.

use std::future::Future;

use rusqlite::{Connection, OptionalExtension, params};
use windlass_core::id::{InboxId, RunId};

use crate::error::{ReadError, StoreError};
use crate::pack::{self, Packed, pack_records, pack_state};
use crate::projection::{self, Projection};
use crate::spending::{self, SpendingChange};
use crate::store::Store;
use crate::writer::{Durability, refusal};
use crate::{inbox, lease};

/// The highest sequence number: the lower half of a position.
const LAST_SEQ: u64 = u32::MAX as u64;

/// An addition to a run by its owner, all or nothing.
#[derive(Debug, Clone)]
pub struct Append {
    pub run: RunId,
    /// The last sequence number that the owner knows; 0 before the first record.
    pub expected_seq: u64,
    /// The epoch of the owner's lease.
    pub epoch: u64,
    /// The records, in order. Each gets the next sequence number.
    pub bodies: Vec<Vec<u8>>,
    pub durability: Durability,
    /// The inbox requests that these records answer.
    pub taken: Vec<InboxId>,
    /// The new list entry, if it changed.
    pub projection: Option<Projection>,
    /// The state after the last of these records. It replaces an older snapshot.
    pub snapshot: Option<Vec<u8>>,
    /// The spending of the run with these records.
    pub spending: Option<SpendingChange>,
}

/// An error from appending to a run.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The log does not end at the sequence number that the owner expected.
    #[error("run `{run}` is at step {found}, not at {expected}")]
    Stale { run: RunId, expected: u64, found: u64 },
    /// Another process owns the run now.
    #[error("another process took over run `{run}`: it is owner {current}, this process was owner {epoch}")]
    Fenced {
        run: RunId,
        /// The epoch of the rejected append.
        epoch: u64,
        /// The epoch of the current owner.
        current: u64,
    },
    #[error("no run is named `{run}`")]
    UnknownRun { run: RunId },
    /// The request was already taken or never put.
    #[error("run `{run}` has no pending request `{id}` in its inbox")]
    NotPending { run: RunId, id: InboxId },
    /// Another run spent on the same day since this run decided.
    #[error("another run spent from the budget of the day at the same moment as run `{run}`")]
    SpendingChanged { run: RunId },
    /// The run has the maximum number of records.
    #[error("the log of run `{run}` is full")]
    LogFull { run: RunId },
    #[error(transparent)]
    Store(#[from] StoreError),
}

refusal!(AppendError);

/// One record of a log, or a snapshot taken after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// The sequence number, counted from 1.
    pub seq: u64,
    pub body: Vec<u8>,
}

/// The log of a run as needed to resume it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedRun {
    pub snapshot: Option<StoredRecord>,
    /// Every record after the snapshot.
    pub tail: Vec<StoredRecord>,
    /// The epoch of the last owner; 0 if the run never had one.
    pub epoch: u64,
}

impl LoadedRun {
    /// Returns the sequence number of the last record.
    pub fn last_seq(&self) -> u64 {
        self.tail.last().or(self.snapshot.as_ref()).map_or(0, |record| record.seq)
    }
}

impl Store {
    /// Appends to a run and returns the sequence number of its last record.
    ///
    /// The call itself queues the append, so appends keep the order of the calls. The future only waits
    /// for the commit.
    pub fn append(&self, append: Append) -> impl Future<Output = Result<u64, AppendError>> + Send + use<> {
        let step = PackedAppend::of(append);
        self.writer().ask(step.append.durability, move |conn| write(conn, &step))
    }

    /// Appends like [`append`](Self::append) and blocks until the commit.
    pub fn append_blocking(&self, append: Append) -> Result<u64, AppendError> {
        let step = PackedAppend::of(append);
        self.writer().wait(step.append.durability, move |conn| write(conn, &step))
    }

    /// Reads the last snapshot of a run and every record after it, in one transaction.
    pub fn load(&self, run: &RunId) -> Result<LoadedRun, ReadError> {
        self.read(|conn| {
            let run_no = known(conn, run)?;
            let snapshot = snapshot(conn, run, run_no)?;
            let after = snapshot.as_ref().map_or(0, |record| record.seq);
            let tail = records(conn, run, after + 1, usize::MAX)?;
            Ok(LoadedRun { snapshot, tail, epoch: lease::epoch(conn, run_no)? })
        })
    }

    /// Reads at most `limit` records of a run, starting at number `seq`.
    pub fn read_from(&self, run: &RunId, seq: u64, limit: usize) -> Result<Vec<StoredRecord>, ReadError> {
        self.read(|conn| records(conn, run, seq, limit))
    }
}

fn known(conn: &Connection, run: &RunId) -> Result<i64, ReadError> {
    projection::number(conn, run)?.ok_or_else(|| ReadError::UnknownRun { run: run.clone() })
}

/// An append with packed bodies. Packing happens before the append enters the writer's queue.
struct PackedAppend {
    /// The append without its bodies and snapshot.
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
    if let Some(change) = &append.spending
        && !spending::apply(conn, change)?
    {
        return Err(AppendError::SpendingChanged { run: run.clone() });
    }
    if let Some(body) = &step.snapshot {
        keep_snapshot(conn, run_no, last, body)?;
    }
    Ok(last)
}

/// Inserts records after number `after`. A number already in use violates the key.
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

/// The end of a run's log and its owner, before an append.
struct RunPosition {
    run_no: i64,
    /// The epoch of the owner.
    current: u64,
    /// The sequence number of the last record.
    found: u64,
}

/// Reads all three values in one statement, because every append needs them.
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
    ReadError::Store(StoreError::Corrupt { detail })
}

fn position(run_no: i64, seq: u64) -> i64 {
    run_no << 32 | signed(seq & LAST_SEQ)
}

fn seq_of(position: i64) -> u64 {
    unsigned(position) & LAST_SEQ
}

/// Converts to SQLite's integer. Sequence numbers and epochs never reach the sign bit.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts back from SQLite's integer; see [`signed`].
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
