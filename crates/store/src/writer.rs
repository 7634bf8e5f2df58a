//! The single connection through which a process writes. Queued jobs share one transaction.
//!
//! Each job has its own savepoint, so that a stale job fails alone. The file that queues a job defines
//! its work; `open.rs` opens the connection.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::error::StoreError;
use crate::open::BUSY;
use crate::presence::Presence;

/// The maximum number of jobs in one transaction, so that the first job does not wait long.
const BATCH: usize = 256;
/// Time that a task blocks while another process writes.
const BRIEF: Duration = Duration::from_millis(2);
/// After a commit slower than this, tasks do not block for the next commit.
const SLOW: Duration = Duration::from_millis(10);

/// The failures that a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Survives the death of the process. A power failure may lose the last commits.
    Normal,
    /// Also survives a power failure: the commit waits for the disk.
    Full,
}

/// The error of one kind of job: either its own refusal or a database failure.
pub(crate) trait Refusal: From<StoreError> + Send {
    /// Returns the database failure, if the error is one.
    fn store_error(&self) -> Option<&StoreError>;
}

/// Implements [`Refusal`] and the conversion from SQLite's errors for an enum with a variant
/// `Store(StoreError)`.
macro_rules! refusal {
    ($error:ty) => {
        impl crate::writer::Refusal for $error {
            fn store_error(&self) -> Option<&crate::error::StoreError> {
                match self {
                    Self::Store(fault) => Some(fault),
                    _ => None,
                }
            }
        }

        impl From<rusqlite::Error> for $error {
            fn from(error: rusqlite::Error) -> Self {
                Self::Store(error.into())
            }
        }
    };
}
pub(crate) use refusal;

/// One request in the queue.
trait WriteJob: Send {
    fn durability(&self) -> Durability;
    /// Does the work inside the open transaction. After an error the caller must undo the work.
    fn perform(&mut self, conn: &Connection) -> Result<(), Option<StoreError>>;
    /// Sends the answer, once the outcome of the commit is known.
    fn settle(self: Box<Self>, commit: Result<(), StoreError>);
}

struct WriteTask<T, E, F> {
    durability: Durability,
    work: F,
    outcome: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T, E, F> WriteJob for WriteTask<T, E, F>
where
    T: Send,
    E: Refusal,
    F: FnMut(&Connection) -> Result<T, E> + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn perform(&mut self, conn: &Connection) -> Result<(), Option<StoreError>> {
        let outcome = (self.work)(conn);
        let verdict = match &outcome {
            Ok(_) => Ok(()),
            Err(refusal) => Err(refusal.store_error().cloned()),
        };
        self.outcome = Some(outcome);
        verdict
    }

    fn settle(self: Box<Self>, commit: Result<(), StoreError>) {
        let answer = match (self.outcome, commit) {
            (Some(Err(refusal)), _) => Err(refusal),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (_, Err(fault)) => Err(fault.into()),
            (None, Ok(())) => Err(StoreError::Closed.into()),
        };
        // The caller may be gone; the commit remains valid.
        let _ = self.reply.send(answer);
    }
}

/// The entry point for jobs. A caller that waits for an answer and finds no active writer writes for
/// everyone who waits, so that no thread has to wake another between a step and its commit.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: Arc<CommitQueue>,
}

impl Writer {
    /// Keeps `presence` until the connection is closed.
    pub(crate) fn new(conn: Connection, dir: PathBuf, presence: Presence) -> Writer {
        let connection =
            WriterConnection { conn, dir, synchronous: None, patience: None, _presence: presence };
        let queue = CommitQueue {
            queue: Mutex::default(),
            connection: Mutex::new(connection),
            is_slow: AtomicBool::new(false),
            is_called: AtomicBool::new(false),
        };
        Writer { queue: Arc::new(queue) }
    }

    /// Changes a setting of the connection, outside of any transaction.
    pub(crate) fn set(&self, change: impl FnOnce(&Connection)) {
        change(&self.queue.connection.lock().unwrap_or_else(PoisonError::into_inner).conn);
    }

    /// Queues a job at once. The future waits until the job is committed or refused. Dropping the future
    /// does not cancel the job.
    pub(crate) fn ask<T, E, F>(
        &self,
        durability: Durability,
        work: F,
    ) -> impl Future<Output = Result<T, E>> + Send + use<T, E, F>
    where
        F: FnMut(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Refusal + 'static,
    {
        let mut answer = self.queue.put(durability, work);
        let asked = PendingWrite { queue: Some(Arc::clone(&self.queue)) };
        async move {
            // Other ready tasks queue their jobs first, and one commit covers them all.
            tokio::task::yield_now().await;
            if let Ok(result) = answer.try_recv() {
                asked.leave_it();
                return result;
            }
            drop(asked);
            answer.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
        }
    }

    /// Queues a job and blocks until it is answered.
    pub(crate) fn wait<T, E>(
        &self,
        durability: Durability,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Refusal + 'static,
    {
        let mut answer = self.queue.put(durability, work);
        loop {
            match answer.try_recv() {
                Ok(result) => return result,
                // The previous writer has written this job, or a full batch before it.
                Err(TryRecvError::Empty) => self.queue.write_queued(),
                Err(TryRecvError::Closed) => return Err(StoreError::Closed.into()),
            }
        }
    }
}

/// A queued job that may still need a writer. Dropping this value writes everything in the queue.
struct PendingWrite {
    queue: Option<Arc<CommitQueue>>,
}

impl PendingWrite {
    /// Leaves the jobs queued since then to their own callers, who write them together instead of one by
    /// one.
    fn leave_it(mut self) {
        self.queue = None;
    }
}

impl Drop for PendingWrite {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take()
            && !queue.write_in_passing()
        {
            queue.write_elsewhere();
        }
    }
}

/// The queue and connection that all writers share.
struct CommitQueue {
    queue: Mutex<VecDeque<Box<dyn WriteJob>>>,
    connection: Mutex<WriterConnection>,
    /// Set when the last commit took so long that a task should not block for the next.
    is_slow: AtomicBool,
    /// Set while a thread is starting that will write the queue.
    is_called: AtomicBool,
}

impl CommitQueue {
    fn put<T, E, F>(&self, durability: Durability, work: F) -> oneshot::Receiver<Result<T, E>>
    where
        F: FnMut(&Connection) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Refusal + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.queue().push_back(Box::new(WriteTask { durability, work, outcome: None, reply }));
        answer
    }

    /// Waits for the active writer, then writes the rest of the queue.
    fn write_queued(&self) {
        let mut turn = Some(self.connection.lock().unwrap_or_else(PoisonError::into_inner));
        while let Some(connection) = turn {
            self.write_batch(connection, BUSY);
            // A job that arrived during this write was left to this thread.
            turn = if self.queue().is_empty() { None } else { self.free_connection() };
        }
    }

    /// Writes the queue, unless another thread is writing: that thread then writes everything. Returns
    /// false if writing would block this thread for too long.
    fn write_in_passing(&self) -> bool {
        while !self.queue().is_empty() {
            if self.is_slow.load(Ordering::Relaxed) {
                return false;
            }
            let Some(connection) = self.free_connection() else { return true };
            if !self.write_batch(connection, BRIEF) {
                return false;
            }
        }
        true
    }

    /// Starts a thread that waits for the disk or for another process.
    fn write_elsewhere(self: &Arc<Self>) {
        if self.is_called.swap(true, Ordering::AcqRel) {
            return;
        }
        let queue = Arc::clone(self);
        let begun =
            thread::Builder::new().name("store-writer".to_owned()).spawn(move || queue.write_queued());
        if begun.is_err() {
            self.write_queued();
        }
    }

    /// Writes one batch and answers its jobs. Returns false and leaves the batch in the queue if another
    /// process writes and `patience` is too short to wait for it.
    fn write_batch(&self, mut connection: MutexGuard<'_, WriterConnection>, patience: Duration) -> bool {
        // From here on the thread that was started may miss a new job, so the next caller must start
        // another.
        self.is_called.store(false, Ordering::Release);
        let mut batch: Vec<Box<dyn WriteJob>> = {
            let mut queue = self.queue();
            let together = queue.len().min(BATCH);
            queue.drain(..together).collect()
        };
        if batch.is_empty() {
            return true;
        }
        let start = Instant::now();
        let committed = connection.write(&mut batch, patience);
        self.is_slow.store(start.elapsed() > SLOW, Ordering::Relaxed);
        let is_kept_out = committed.iter().all(|answer| matches!(answer, Err(StoreError::Busy)));
        if is_kept_out && patience == BRIEF {
            let mut queue = self.queue();
            batch.into_iter().rev().for_each(|job| queue.push_front(job));
            return false;
        }
        for (job, committed) in batch.into_iter().zip(committed) {
            job.settle(committed);
        }
        true
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Box<dyn WriteJob>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free_connection(&self) -> Option<MutexGuard<'_, WriterConnection>> {
        match self.connection.try_lock() {
            Ok(connection) => Some(connection),
            Err(TryLockError::Poisoned(connection)) => Some(connection.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// The connection and its current settings.
struct WriterConnection {
    conn: Connection,
    dir: PathBuf,
    synchronous: Option<Durability>,
    patience: Option<Duration>,
    /// Released after the connection is closed.
    _presence: Presence,
}

impl WriterConnection {
    /// Writes the batch and returns, for each job, whether its transaction was committed.
    fn write(&mut self, batch: &mut [Box<dyn WriteJob>], patience: Duration) -> Vec<Result<(), StoreError>> {
        let together = self.wait_at_most(patience).and_then(|()| self.commit(batch));
        if together.is_ok() || batch.len() == 1 || matches!(together, Err(StoreError::Busy)) {
            return vec![together; batch.len()];
        }
        // One large body on a nearly full disk must not fail the small ones.
        batch.iter_mut().map(|job| self.commit(std::slice::from_mut(job))).collect()
    }

    fn wait_at_most(&mut self, patience: Duration) -> Result<(), StoreError> {
        if self.patience != Some(patience) {
            self.conn.busy_timeout(patience)?;
            self.patience = Some(patience);
        }
        Ok(())
    }

    fn commit(&mut self, batch: &mut [Box<dyn WriteJob>]) -> Result<(), StoreError> {
        let outcome = self.transact(batch);
        if outcome.is_err() && !self.conn.is_autocommit() {
            // SQLite keeps the transaction open after some errors and closes it after others.
            let _ = run(&self.conn, "ROLLBACK");
        }
        outcome.map_err(|fault| fault.on_disk_of(&self.dir))
    }

    fn transact(&mut self, batch: &mut [Box<dyn WriteJob>]) -> Result<(), StoreError> {
        let wanted = batch.iter().map(|job| job.durability()).max();
        let wanted = wanted.unwrap_or(Durability::Normal);
        self.set_synchronous(wanted)?;
        run(&self.conn, "BEGIN IMMEDIATE")?;
        if let [job] = batch {
            let kept = job.perform(&self.conn);
            return self.end(kept);
        }
        for job in batch {
            self.perform_in_savepoint(job.as_mut())?;
        }
        run(&self.conn, "COMMIT")
    }

    /// Ends the transaction of a single job, which needs no savepoint.
    fn end(&self, kept: Result<(), Option<StoreError>>) -> Result<(), StoreError> {
        match kept {
            Ok(()) => run(&self.conn, "COMMIT"),
            Err(_) if self.conn.is_autocommit() => Ok(()),
            Err(_) => run(&self.conn, "ROLLBACK"),
        }
    }

    fn perform_in_savepoint(&self, job: &mut dyn WriteJob) -> Result<(), StoreError> {
        run(&self.conn, "SAVEPOINT job")?;
        let Err(fault) = job.perform(&self.conn) else {
            return run(&self.conn, "RELEASE job");
        };
        if self.conn.is_autocommit() {
            // The error ended the whole transaction.
            return Err(fault.unwrap_or(StoreError::Closed));
        }
        run(&self.conn, "ROLLBACK TO job")?;
        run(&self.conn, "RELEASE job")
    }

    fn set_synchronous(&mut self, wanted: Durability) -> Result<(), StoreError> {
        if self.synchronous == Some(wanted) {
            return Ok(());
        }
        let level = match wanted {
            Durability::Normal => "NORMAL",
            Durability::Full => "FULL",
        };
        self.conn.pragma_update(None, "synchronous", level)?;
        self.synchronous = Some(wanted);
        Ok(())
    }
}

fn run(conn: &Connection, sql: &str) -> Result<(), StoreError> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{InboxId, RunId};

    use crate::{InboxError, NewRun, Projection, PutResult, Store, StoreError};

    #[test]
    fn what_does_not_fit_is_refused_and_what_fits_is_still_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let run = RunId::new("a");
        let new =
            NewRun { id: run.clone(), projection: Projection::default(), bodies: Vec::new(), spending: None };
        let _lease = store.create_run(new).unwrap();
        store
            .writer()
            .wait(super::Durability::Normal, |conn| {
                let pages: u32 = conn.pragma_query_value(None, "page_count", |row| row.get(0))?;
                conn.pragma_update_and_check(None, "max_page_count", pages + 8, |_| Ok(()))?;
                Ok::<_, InboxError>(())
            })
            .unwrap();
        let refused = store.put(&run, &InboxId::new("large"), &[0; 100_000]);
        assert!(matches!(refused, Err(InboxError::Store(StoreError::DiskFull))), "{refused:?}");
        assert_eq!(store.put(&run, &InboxId::new("small"), b"x").unwrap(), PutResult::Fresh);
        assert_eq!(store.pending(&run).unwrap().len(), 1);
    }
}
