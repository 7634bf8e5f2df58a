//! The one thread of a process that writes: drains its queue into one transaction.
//!
//! Each job stands in a savepoint of its own, so that a stale one fails alone. What a job does
//! is left to the file it comes from; opening the connection to `open.rs`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::answer::{wait_for, watch};
use crate::fault::Fault;
use crate::presence::Presence;

/// Jobs that may wait before whoever sends another has to.
const QUEUE: usize = 1024;
/// Jobs that share one transaction at most, so that the first is not kept waiting for long.
const BATCH: usize = 256;

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The death of the process; the last commits may be lost when the power fails.
    Normal,
    /// Loss of power too: the commit waits for the disk.
    Full,
}

/// An error of one kind of job: either its own refusal, or the database's fault.
pub(crate) trait Refusal: From<Fault> + Send {
    /// The fault of the database, if it is one.
    fn fault(&self) -> Option<&Fault>;
}

/// Implements [`Refusal`] and the conversion from SQLite's errors for an enum with a variant
/// `Fault(Fault)`.
macro_rules! refusal {
    ($error:ty) => {
        impl crate::writer::Refusal for $error {
            fn fault(&self) -> Option<&crate::fault::Fault> {
                match self {
                    Self::Fault(fault) => Some(fault),
                    _ => None,
                }
            }
        }

        impl From<rusqlite::Error> for $error {
            fn from(error: rusqlite::Error) -> Self {
                Self::Fault(error.into())
            }
        }
    };
}
pub(crate) use refusal;

/// One request in the queue.
trait Job: Send {
    fn durability(&self) -> Durability;
    /// Does the work inside the open transaction; an error means that it must be undone.
    fn perform(&mut self, conn: &Connection) -> Result<(), Option<Fault>>;
    /// Answers, once it is known whether the transaction was committed.
    fn settle(self: Box<Self>, commit: Result<(), Fault>);
}

struct Task<T, E, F> {
    durability: Durability,
    work: F,
    outcome: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T, E, F> Job for Task<T, E, F>
where
    T: Send,
    E: Refusal,
    F: FnMut(&Connection) -> Result<T, E> + Send,
{
    fn durability(&self) -> Durability {
        self.durability
    }

    fn perform(&mut self, conn: &Connection) -> Result<(), Option<Fault>> {
        let outcome = (self.work)(conn);
        let verdict = match &outcome {
            Ok(_) => Ok(()),
            Err(refusal) => Err(refusal.fault().cloned()),
        };
        self.outcome = Some(outcome);
        verdict
    }

    fn settle(self: Box<Self>, commit: Result<(), Fault>) {
        let answer = match (self.outcome, commit) {
            (Some(Err(refusal)), _) => Err(refusal),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (_, Err(fault)) => Err(fault.into()),
            (None, Ok(())) => Err(Fault::Closed.into()),
        };
        // Whoever asked may have gone; what was committed stands all the same.
        let _ = self.reply.send(answer);
    }
}

/// The sending end of the queue. Dropping it lets the thread finish what is queued and end.
pub(crate) struct Writer {
    queue: Option<SyncSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread. It keeps `presence` until the connection is closed.
    pub(crate) fn start(conn: Connection, dir: PathBuf, presence: Arc<Presence>) -> std::io::Result<Writer> {
        let (queue, jobs) = sync_channel(QUEUE);
        let scribe = Scribe { conn, dir, synchronous: None, sync_cost: Duration::ZERO };
        let thread = thread::Builder::new().name("store-writer".to_owned()).spawn(move || {
            scribe.write_until_closed(&jobs);
            drop(presence);
        })?;
        Ok(Writer { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues a job at once; the future waits until it is committed or refused.
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
        let (reply, mut answer) = oneshot::channel();
        let task = Task { durability, work, outcome: None, reply };
        // A job that cannot be queued is dropped with its reply, which is then seen as closed.
        if let Some(queue) = &self.queue {
            let _ = queue.send(Box::new(task));
        }
        async move {
            match watch(durability, || answer.try_recv().ok()) {
                Some(result) => result,
                None => answer.await.unwrap_or_else(|_| Err(Fault::Closed.into())),
            }
        }
    }

    /// Queues a job and waits for its answer in place.
    pub(crate) fn wait<T, E>(
        &self,
        durability: Durability,
        work: impl FnMut(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Refusal + 'static,
    {
        wait_for(self.ask(durability, work))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        let Some(thread) = self.thread.take() else { return };
        // A waker called by a reply may hold the last handle; the thread cannot wait for itself.
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
    }
}

/// The thread's own state.
struct Scribe {
    conn: Connection,
    dir: PathBuf,
    synchronous: Option<Durability>,
    /// What the last shared commit waited for the disk.
    sync_cost: Duration,
}

impl Scribe {
    fn write_until_closed(mut self, jobs: &Receiver<Box<dyn Job>>) {
        let mut crowd = 0;
        while let Some(first) =
            watch(Durability::Normal, || jobs.try_recv().ok()).or_else(|| jobs.recv().ok())
        {
            let mut batch = vec![first];
            batch.extend(jobs.try_iter().take(BATCH - 1));
            self.gather(&mut batch, crowd, jobs);
            crowd = batch.len();
            self.write(batch);
        }
    }

    /// Waits a little for those who shared the last commit: they were answered together and are
    /// about to write again, and one wait for the disk is dearer than this one.
    fn gather(&self, batch: &mut Vec<Box<dyn Job>>, crowd: usize, jobs: &Receiver<Box<dyn Job>>) {
        let start = Instant::now();
        while batch.len() < crowd && start.elapsed() < self.sync_cost / 2 {
            match jobs.try_recv() {
                Ok(job) => batch.push(job),
                Err(_) => thread::yield_now(),
            }
        }
    }

    fn write(&mut self, mut batch: Vec<Box<dyn Job>>) {
        let committed = self.commit(&mut batch);
        if committed.is_ok() || batch.len() == 1 {
            for job in batch {
                job.settle(committed.clone());
            }
            return;
        }
        // One large body on a nearly full disk must not take the small ones with it.
        for job in batch {
            let mut alone = vec![job];
            let committed = self.commit(&mut alone);
            for job in alone {
                job.settle(committed.clone());
            }
        }
    }

    fn commit(&mut self, batch: &mut [Box<dyn Job>]) -> Result<(), Fault> {
        let outcome = self.transact(batch);
        if outcome.is_err() && !self.conn.is_autocommit() {
            // SQLite keeps the transaction open after some errors and closes it after others.
            let _ = run(&self.conn, "ROLLBACK");
        }
        outcome.map_err(|fault| fault.on_disk_of(&self.dir))
    }

    fn transact(&mut self, batch: &mut [Box<dyn Job>]) -> Result<(), Fault> {
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
        let start = Instant::now();
        run(&self.conn, "COMMIT")?;
        self.sync_cost = if wanted == Durability::Full { start.elapsed() } else { Duration::ZERO };
        Ok(())
    }

    /// Ends the transaction of a lone job, which needs no savepoint.
    fn end(&self, kept: Result<(), Option<Fault>>) -> Result<(), Fault> {
        match kept {
            Ok(()) => run(&self.conn, "COMMIT"),
            Err(_) if self.conn.is_autocommit() => Ok(()),
            Err(_) => run(&self.conn, "ROLLBACK"),
        }
    }

    fn perform_in_savepoint(&self, job: &mut dyn Job) -> Result<(), Fault> {
        run(&self.conn, "SAVEPOINT job")?;
        let Err(fault) = job.perform(&self.conn) else {
            return run(&self.conn, "RELEASE job");
        };
        if self.conn.is_autocommit() {
            // The fault took the whole transaction with it.
            return Err(fault.unwrap_or(Fault::Closed));
        }
        run(&self.conn, "ROLLBACK TO job")?;
        run(&self.conn, "RELEASE job")
    }

    fn set_synchronous(&mut self, wanted: Durability) -> Result<(), Fault> {
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

fn run(conn: &Connection, sql: &str) -> Result<(), Fault> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{InboxId, RunId};

    use crate::{Fault, InboxError, NewRun, Projection, Put, Store};

    #[test]
    fn what_does_not_fit_is_refused_and_what_fits_is_still_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let run = RunId::new("a");
        let new = NewRun { id: run.clone(), projection: Projection::default(), bodies: Vec::new() };
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
        assert!(matches!(refused, Err(InboxError::Fault(Fault::DiskFull))), "{refused:?}");
        assert_eq!(store.put(&run, &InboxId::new("small"), b"x").unwrap(), Put::Fresh);
        assert_eq!(store.pending(&run).unwrap().len(), 1);
    }
}
