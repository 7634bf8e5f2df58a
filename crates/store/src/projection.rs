//! The list of runs: one row per run, rewritten when its list entry changes.
//!
//! Also creates runs, because the row gives a run its number in the log. The engine defines the meaning
//! of the values.

use rusqlite::{Connection, OptionalExtension, Row, params};
use windlass_core::id::RunId;
use windlass_core::usage::Cost;

use crate::error::{ReadError, StoreError};
use crate::folders::{RunLockError, is_plain};
use crate::lease::{self, Lease, LeaseError};
use crate::log::{self, AppendError, signed, unsigned};
use crate::pack::{Packed, pack_records};
use crate::spending::{self, SpendingChange};
use crate::store::Store;
use crate::writer::{Durability, refusal};

/// A run number has 31 bits: the upper half of a position in the log.
const LAST_RUN: i64 = i32::MAX as i64;

/// The list entry of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Projection {
    pub workflow: String,
    /// The folder in which its sessions work.
    pub workspace: String,
    /// The agent CLI that the run uses.
    pub driver: String,
    pub status: String,
    /// The reason that it ended or waits.
    pub reason: Option<String>,
    /// The current turn.
    pub iteration: u32,
    /// The cost so far.
    pub cost: Cost,
    /// In milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// The time of the last change, in milliseconds since the Unix epoch.
    pub updated_ms: i64,
    /// The input of the run, shortened.
    pub input: String,
    /// The run that started this run.
    pub parent: Option<RunId>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    pub id: RunId,
    /// The position in the order in which runs started.
    pub number: u64,
    pub projection: Projection,
}

/// A run to create.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// The name: letters, digits, `-`, `_` and `.`, not starting with a dot.
    pub id: RunId,
    pub projection: Projection,
    /// The first records.
    pub bodies: Vec<Vec<u8>>,
    /// The spending of the run with these records.
    pub spending: Option<SpendingChange>,
}

/// An error from creating a run.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error("a run named `{run}` exists already")]
    Exists { run: RunId },
    /// The name cannot be a folder name.
    #[error("`{run}` cannot be the name of a run: use letters, digits, `-`, `_` and `.`, with no `.` first")]
    BadName { run: RunId },
    /// The store has the maximum number of runs.
    #[error("the store has no room for another run")]
    TooMany,
    /// The new run could not be acquired.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

refusal!(CreateError);

/// The runs that match a name or the beginning of a name.
#[derive(Debug, Clone, PartialEq)]
pub enum RunMatch {
    None,
    One(Box<RunRow>),
    /// Several runs, newest first.
    Many(Vec<RunRow>),
}

impl Store {
    /// Creates a run with its first records and acquires it, in one commit that survives power loss.
    pub fn create_run(&self, mut new: NewRun) -> Result<Lease, CreateError> {
        if !is_plain(&new.id) {
            return Err(CreateError::BadName { run: new.id });
        }
        let lock = self.folders().lock(&new.id).map_err(|error| match error {
            RunLockError::Held { run, .. } => CreateError::Exists { run },
            other @ RunLockError::Io { .. } => LeaseError::from(other).into(),
        })?;
        let bodies = pack_records(std::mem::take(&mut new.bodies));
        let epoch = self.writer().wait(Durability::Full, move |conn| insert(conn, &new, &bodies))?;
        Ok(Lease::new(lock, epoch))
    }

    /// Returns every run, newest first.
    pub fn runs(&self) -> Result<Vec<RunRow>, ReadError> {
        self.runs_before(u64::MAX, usize::MAX)
    }

    /// Returns at most `limit` runs that started before the run with this number, newest first.
    pub fn runs_before(&self, number: u64, limit: usize) -> Result<Vec<RunRow>, ReadError> {
        self.some_runs("SELECT * FROM run WHERE run_no < ?1 ORDER BY run_no DESC LIMIT ?2", number, limit)
    }

    /// Returns at most `limit` runs that started after the run with this number, oldest first.
    pub fn runs_after(&self, number: u64, limit: usize) -> Result<Vec<RunRow>, ReadError> {
        self.some_runs("SELECT * FROM run WHERE run_no > ?1 ORDER BY run_no LIMIT ?2", number, limit)
    }

    fn some_runs(&self, sql: &str, number: u64, limit: usize) -> Result<Vec<RunRow>, ReadError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.read(|conn| {
            let mut query = conn.prepare_cached(sql)?;
            let rows = query.query_map([signed(number), limit], row)?.collect::<Result<_, _>>()?;
            Ok(rows)
        })
    }

    /// Returns a run, if the store has it.
    pub fn row(&self, run: &RunId) -> Result<Option<RunRow>, ReadError> {
        let sql = "SELECT * FROM run WHERE id = ?1";
        self.read(|conn| Ok(conn.prepare_cached(sql)?.query_row([run.as_str()], row).optional()?))
    }

    /// Decides whether the store has no runs.
    pub fn is_empty(&self) -> Result<bool, ReadError> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM run)";
        self.read(|conn| Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?))
    }

    /// Returns the names that no run has.
    pub fn unknown(&self, mut names: Vec<RunId>) -> Result<Vec<RunId>, ReadError> {
        self.read(|conn| {
            let mut known = Vec::with_capacity(names.len());
            for name in &names {
                known.push(number(conn, name)?.is_some());
            }
            let mut known = known.into_iter();
            names.retain(|_| known.next() == Some(false));
            Ok(names)
        })
    }

    /// Replaces the list entry of a run without touching its log, for a run whose log this build cannot
    /// read. Only the owner of the run may do this.
    pub fn list_as(&self, run: &RunId, lease: &Lease, to: Projection) -> Result<(), AppendError> {
        let (run, epoch) = (run.clone(), lease.epoch());
        self.writer().wait(Durability::Full, move |conn| {
            let Some(run_no) = number(conn, &run)? else {
                return Err(AppendError::UnknownRun { run: run.clone() });
            };
            let current = lease::epoch(conn, run_no)?;
            if current != epoch {
                return Err(AppendError::Fenced { run: run.clone(), epoch, current });
            }
            Ok(update(conn, run_no, &to)?)
        })
    }

    /// Finds the runs whose name starts with `prefix`. An exact match wins over longer names.
    pub fn find(&self, prefix: &str) -> Result<RunMatch, ReadError> {
        let sql = "SELECT * FROM run WHERE substr(id, 1, length(?1)) = ?1 ORDER BY run_no DESC";
        let mut rows: Vec<RunRow> = self.read(|conn| {
            let rows = conn.prepare_cached(sql)?.query_map([prefix], row)?.collect::<Result<_, _>>()?;
            Ok(rows)
        })?;
        if let Some(exact) = rows.iter().position(|row| row.id.as_str() == prefix) {
            return Ok(RunMatch::One(Box::new(rows.swap_remove(exact))));
        }
        if rows.len() > 1 {
            return Ok(RunMatch::Many(rows));
        }
        Ok(rows.pop().map_or(RunMatch::None, |row| RunMatch::One(Box::new(row))))
    }
}

/// Returns the number of a run, if it exists.
pub(crate) fn number(conn: &Connection, run: &RunId) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached("SELECT run_no FROM run WHERE id = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()
}

/// Replaces the list entry of a run.
pub(crate) fn update(conn: &Connection, run_no: i64, to: &Projection) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "UPDATE run SET workflow = ?2, workspace = ?3, driver = ?4, status = ?5, reason = ?6,
             iteration = ?7, cost_usd = ?8, started_ms = ?9, updated_ms = ?10, input = ?11, parent = ?12,
             cost_computed = ?13, cost_partial = ?14
         WHERE run_no = ?1",
    )?
    .execute(params![
        run_no,
        to.workflow,
        to.workspace,
        to.driver,
        to.status,
        to.reason,
        to.iteration,
        to.cost.usd,
        to.started_ms,
        to.updated_ms,
        to.input,
        to.parent.as_ref().map(RunId::as_str),
        to.cost.is_computed,
        to.cost.is_partial,
    ])?;
    Ok(())
}

fn insert(conn: &Connection, new: &NewRun, bodies: &[Packed]) -> Result<u64, CreateError> {
    if number(conn, &new.id)?.is_some() {
        return Err(CreateError::Exists { run: new.id.clone() });
    }
    // A run that was deleted keeps its number (`forget.rs`).
    let run_no: i64 = conn
        .prepare_cached(
            "SELECT max(coalesce((SELECT max(run_no) FROM run), 0),
                        coalesce((SELECT max(run_no) FROM lease), 0)) + 1",
        )?
        .query_row([], |row| row.get(0))?;
    if run_no > LAST_RUN {
        return Err(CreateError::TooMany);
    }
    conn.prepare_cached(
        "INSERT INTO run (run_no, id, workflow, workspace, driver, status, iteration,
             started_ms, updated_ms)
         VALUES (?1, ?2, '', '', '', '', 0, 0, 0)",
    )?
    .execute(params![run_no, new.id.as_str()])?;
    update(conn, run_no, &new.projection)?;
    log::insert(conn, run_no, 0, bodies)?;
    if let Some(change) = &new.spending {
        spending::apply(conn, change)?;
    }
    Ok(lease::claim(conn, run_no)?)
}

fn row(row: &Row<'_>) -> rusqlite::Result<RunRow> {
    let projection = Projection {
        workflow: row.get("workflow")?,
        workspace: row.get("workspace")?,
        driver: row.get("driver")?,
        status: row.get("status")?,
        reason: row.get("reason")?,
        iteration: row.get("iteration")?,
        cost: Cost {
            usd: row.get("cost_usd")?,
            is_computed: row.get("cost_computed")?,
            is_partial: row.get("cost_partial")?,
        },
        started_ms: row.get("started_ms")?,
        updated_ms: row.get("updated_ms")?,
        input: row.get("input")?,
        parent: row.get::<_, Option<String>>("parent")?.map(RunId::new),
    };
    let number = unsigned(row.get("run_no")?);
    Ok(RunRow { id: RunId::new(row.get::<_, String>("id")?), number, projection })
}
