//! Waits for the next update.

use std::time::Duration;

use windlass_core::time::Moment;

use super::pulse::Heartbeat;
use super::reader::{FeedReader, NextUpdate};
use super::{AgentWords, FeedCursor, FeedScope, FeedStart, RunUpdate};
use crate::clock;
use crate::error::RunError;
use crate::handle::Handle;

/// The interval for reading runs of other processes.
const POLL: Duration = Duration::from_millis(100);
/// The interval for reading runs of this process, which wake their subscribers.
const OWN_POLL: Duration = Duration::from_secs(60);
/// The interval for searching the line that a hook asked about.
const LINE_POLL: Duration = Duration::from_millis(10);

/// A subscriber. It keeps only a piece of each log in memory and reads the rest from the logs.
pub struct Subscription {
    reader: FeedReader,
    heartbeat: Heartbeat,
    /// This process owns the followed runs.
    is_own: bool,
    /// The runs may have changed without a beat.
    is_due: bool,
}

impl Handle {
    /// Follows one run, a run with its descendants, or all runs, from a given start.
    pub fn subscribe(
        &self,
        scope: FeedScope,
        start: FeedStart,
        words: AgentWords,
    ) -> Result<Subscription, RunError> {
        let heartbeat = self.pulse.listen();
        let reader = FeedReader::open(self.clone(), scope, start, words)?;
        Ok(Subscription { reader, heartbeat, is_own: false, is_due: true })
    }
}

impl Subscription {
    /// Follows a run that this process owns: it waits for the owner to wake it, and does not poll.
    pub fn to_own_run(mut self) -> Subscription {
        self.is_own = true;
        self.reader.own();
        self
    }

    /// Waits for the next update and returns it, or `None` when the followed run is over. Cancel-safe: no
    /// update is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<Result<RunUpdate, RunError>> {
        loop {
            let pause = match self.look().await {
                Ok(NextUpdate::Update(update)) => return Some(Ok(*update)),
                Ok(NextUpdate::Over) => return None,
                // The line wakes us, too.
                Ok(NextUpdate::Wait(until)) if self.is_own => clock::until(until),
                Ok(NextUpdate::Wait(_)) => LINE_POLL,
                Ok(NextUpdate::Nothing) if self.is_own => OWN_POLL,
                Ok(NextUpdate::Nothing) => POLL,
                Err(error) => return Some(Err(error)),
            };
            // Only runs of this process send a beat. For the others, poll after the pause.
            let _ = tokio::time::timeout(pause, self.heartbeat.next()).await;
            self.is_due = true;
        }
    }

    /// Returns the next update that exists now, or `None` if there is none.
    pub async fn next_now(&mut self) -> Option<Result<RunUpdate, RunError>> {
        loop {
            self.is_due = true;
            match self.look().await {
                Ok(NextUpdate::Update(update)) => return Some(Ok(*update)),
                Ok(NextUpdate::Over | NextUpdate::Nothing) => return None,
                Ok(NextUpdate::Wait(until)) => tokio::time::sleep(until_then(until)).await,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    async fn look(&mut self) -> Result<NextUpdate, RunError> {
        // There may be many updates at once: give the owner of a run on this thread its turn.
        tokio::task::yield_now().await;
        let is_beat = self.heartbeat.take();
        match self.is_own {
            true if std::mem::take(&mut self.is_due) || is_beat => self.reader.look_at_own(),
            true => {}
            false => self.reader.look_again()?,
        }
        self.reader.next()
    }

    /// Skips the current agent output of a turn with more than `most` unreported bytes, for a subscriber that
    /// does not need old output. Skips no record.
    pub fn catch_up(&mut self, most: u64) -> Option<RunUpdate> {
        self.reader.skip_said(most)
    }

    /// Returns the place after the last update.
    pub fn cursor(&self) -> FeedCursor {
        self.reader.cursor()
    }
}

fn until_then(until: Moment) -> Duration {
    let left = u64::try_from(until.0.saturating_sub(clock::now().0)).unwrap_or(0);
    LINE_POLL.min(Duration::from_millis(left.max(1)))
}
