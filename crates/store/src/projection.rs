//! The list of runs: one row each, written when what lists show has changed.
//!
//! Also where a run is born, because that row gives it its number in the log. What the words in
//! it mean is left to the engine.

use rusqlite::{Connection, OptionalExtension, Row, params};
use windlass_core::id::RunId;

use crate::error::{ReadError, StoreError};
use crate::folders::{RunLockError, is_plain};
use crate::lease::{self, Lease, LeaseError};
use crate::log::{self, AppendError, signed, unsigned};
use crate::pack::{Packed, pack_records};
use crate::store::Store;
use crate::writer::{Durability, refusal};

/// A number of a run has 31 bits: the upper half of a position in the log.
const LAST_RUN: i64 = i32::MAX as i64;

/// What lists show of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Projection {
    /// The name of the workflow.
    pub workflow: String,
    /// Where its sessions work.
    pub workspace: String,
    /// Which agent CLI it runs on.
    pub driver: String,
    /// The status, as a word.
    pub status: String,
    /// Why it ended or waits.
    pub reason: Option<String>,
    /// The turn it is in.
    pub iteration: u32,
    /// What it cost so far, where the driver says so.
    pub cost_usd: Option<f64>,
    /// When it began, in milliseconds since the epoch.
    pub started_ms: i64,
    /// When this was last changed, in milliseconds since the epoch.
    pub updated_ms: i64,
    /// What it was asked, in short.
    pub input: String,
    /// The run that started it.
    pub parent: Option<RunId>,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// The run.
    pub id: RunId,
    /// Its place in the order in which runs began.
    pub number: u64,
    /// What lists show of it.
    pub projection: Projection,
}

/// A run to be.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// Its name: letters, digits, `-`, `_` and `.`, not starting with a dot.
    pub id: RunId,
    /// What lists show of it.
    pub projection: Projection,
    /// Its first records.
    pub bodies: Vec<Vec<u8>>,
}

/// Why a run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The name is taken.
    #[error("a run named `{run}` exists already")]
    Exists {
        /// The name.
        run: RunId,
    },
    /// The name cannot be the name of a folder.
    #[error("`{run}` cannot be the name of a run")]
    BadName {
        /// The name.
        run: RunId,
    },
    /// The store has as many runs as fit.
    #[error("the store is full of runs")]
    TooMany,
    /// It could not be owned.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The database itself.
    #[error(transparent)]
    Fault(#[from] StoreError),
}

refusal!(CreateError);

/// What a name or the beginning of one stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum RunMatch {
    /// No run.
    None,
    /// This one.
    One(Box<RunRow>),
    /// Any of these, newest first.
    Many(Vec<RunRow>),
}

impl Store {
    /// Makes a run with its first records and owns it, in one commit that survives power loss.
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

    /// Every run, newest first.
    pub fn runs(&self) -> Result<Vec<RunRow>, ReadError> {
        self.runs_before(u64::MAX, usize::MAX)
    }

    /// The runs that began before the one of this number, newest first, `limit` at most.
    pub fn runs_before(&self, number: u64, limit: usize) -> Result<Vec<RunRow>, ReadError> {
        self.some_runs("SELECT * FROM run WHERE run_no < ?1 ORDER BY run_no DESC LIMIT ?2", number, limit)
    }

    /// The runs that began after the one of this number, oldest first, `limit` at most.
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

    /// Whether there is no run at all.
    pub fn is_empty(&self) -> Result<bool, ReadError> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM run)";
        self.read(|conn| Ok(conn.prepare_cached(sql)?.query_row([], |row| row.get(0))?))
    }

    /// Those of these names that no run has.
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

    /// Shows a run otherwise in lists, and leaves its log as it is: for a run whose log this build
    /// cannot read. Only its owner may.
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

    /// The runs whose name begins with `prefix`. A whole name wins over longer ones.
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

/// The number of a run, if there is one of that name.
pub(crate) fn number(conn: &Connection, run: &RunId) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached("SELECT run_no FROM run WHERE id = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()
}

/// Replaces what lists show of a run.
pub(crate) fn update(conn: &Connection, run_no: i64, to: &Projection) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "UPDATE run SET workflow = ?2, workspace = ?3, driver = ?4, status = ?5, reason = ?6,
             iteration = ?7, cost_usd = ?8, started_ms = ?9, updated_ms = ?10, input = ?11, parent = ?12
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
        to.cost_usd,
        to.started_ms,
        to.updated_ms,
        to.input,
        to.parent.as_ref().map(RunId::as_str),
    ])?;
    Ok(())
}

fn insert(conn: &Connection, new: &NewRun, bodies: &[Packed]) -> Result<u64, CreateError> {
    if number(conn, &new.id)?.is_some() {
        return Err(CreateError::Exists { run: new.id.clone() });
    }
    let run_no: i64 = conn
        .prepare_cached("SELECT coalesce(max(run_no), 0) + 1 FROM run")?
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
        cost_usd: row.get("cost_usd")?,
        started_ms: row.get("started_ms")?,
        updated_ms: row.get("updated_ms")?,
        input: row.get("input")?,
        parent: row.get::<_, Option<String>>("parent")?.map(RunId::new),
    };
    let number = unsigned(row.get("run_no")?);
    Ok(RunRow { id: RunId::new(row.get::<_, String>("id")?), number, projection })
}
