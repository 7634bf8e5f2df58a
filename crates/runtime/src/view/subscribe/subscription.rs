//! Waits for the next update.

use std::time::Duration;

use windlass_core::time::Moment;

use super::pulse::Heartbeat;
use super::reader::{FeedReader, NextUpdate};
use super::{AgentWords, FeedCursor, FeedScope, FeedStart, RunUpdate};
use crate::clock;
use crate::error::RunError;
use crate::handle::Handle;

/// How often a run that another process owns is looked at.
const POLL: Duration = Duration::from_millis(100);
/// How often the line is looked for that a hook asked about.
const LINE_POLL: Duration = Duration::from_millis(10);

/// A listener. It holds no more than a piece of each log: what it was not told is in the logs.
pub struct Subscription {
    reader: FeedReader,
    heartbeat: Heartbeat,
}

impl Handle {
    /// Follows one run, a run with those it starts, or all, from a place on.
    pub fn subscribe(
        &self,
        scope: FeedScope,
        start: FeedStart,
        words: AgentWords,
    ) -> Result<Subscription, RunError> {
        let heartbeat = self.pulse.listen();
        let reader = FeedReader::open(self.clone(), scope, start, words)?;
        Ok(Subscription { reader, heartbeat })
    }
}

impl Subscription {
    /// Returns the next update, and waits for it; `None` when the run that is followed is over. Safe to give up
    /// and call again: no update is lost.
    pub async fn next(&mut self) -> Option<Result<RunUpdate, RunError>> {
        loop {
            let pause = match self.look().await {
                Ok(NextUpdate::Update(update)) => return Some(Ok(*update)),
                Ok(NextUpdate::Over) => return None,
                Ok(NextUpdate::Wait(_)) => LINE_POLL,
                Ok(NextUpdate::Nothing) => POLL,
                Err(error) => return Some(Err(error)),
            };
            // Elsewhere nobody beats: then it is time to look.
            let _ = tokio::time::timeout(pause, self.heartbeat.next()).await;
        }
    }

    /// Returns the next update that is there by now; `None` when there is none.
    pub async fn next_now(&mut self) -> Option<Result<RunUpdate, RunError>> {
        loop {
            match self.look().await {
                Ok(NextUpdate::Update(update)) => return Some(Ok(*update)),
                Ok(NextUpdate::Over | NextUpdate::Nothing) => return None,
                Ok(NextUpdate::Wait(until)) => tokio::time::sleep(until_then(until)).await,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    async fn look(&mut self) -> Result<NextUpdate, RunError> {
        // Much may be there at once: the owner of a run in this thread has its turn in between.
        tokio::task::yield_now().await;
        self.reader.look_again()?;
        self.reader.next()
    }

    /// Skips what agents have said by now, where more than so many bytes of a turn were not told, for a
    /// listener that has no use for old words. No record is skipped.
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
