//! Finds the next update in the logs of the followed runs. Never waits.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

use windlass_core::effect::Effect;
use windlass_core::event::Record;
use windlass_core::id::RunId;
use windlass_core::time::Moment;

use super::cursor::{FeedCursor, RunPlace};
use super::log::{FollowedLog, NextInLog};
use super::{AgentWords, FeedScope, FeedStart, RunChange, RunUpdate};
use crate::clock;
use crate::error::RunError;
use crate::handle::Handle;
use crate::view::{RunStatus, RunView};

/// The number of new runs in one read.
const BATCH: usize = 64;

/// A reader of the logs of the followed runs.
pub(super) struct FeedReader {
    handle: Handle,
    scope: FeedScope,
    words: AgentWords,
    /// The followed runs, in the order in which they were found.
    logs: Vec<FollowedLog>,
    /// Runs that were found and not reported yet, with their numbers.
    found: VecDeque<(u64, RunId, Arc<[RunId]>)>,
    /// The number of the newest reported run.
    newest: u64,
    /// The version of the store at the last read.
    version: Option<u64>,
    /// No run has started since the last read.
    has_all_runs: bool,
    /// This process owns the followed runs.
    is_own: bool,
}

/// The result of searching for an update.
pub(super) enum NextUpdate {
    Update(Box<RunUpdate>),
    /// A record waits for its line, at most until this moment.
    Wait(Moment),
    /// There is no update now.
    Nothing,
    /// There will be no more updates.
    Over,
}

impl FeedReader {
    pub(super) fn open(
        handle: Handle,
        scope: FeedScope,
        start: FeedStart,
        words: AgentWords,
    ) -> Result<FeedReader, RunError> {
        let is_beginning = start == FeedStart::Beginning;
        let cursor = match start {
            FeedStart::Beginning => FeedCursor::default(),
            FeedStart::Now => handle.cursor_now(&scope)?,
            FeedStart::After(cursor) => cursor,
        };
        let newest = cursor.newest;
        let logs = cursor.runs.into_iter().map(|place| FollowedLog::after(&handle, place, words));
        let logs = logs.collect::<Result<Vec<_>, _>>()?;
        let mut reader = FeedReader {
            handle,
            scope,
            words,
            logs,
            found: VecDeque::new(),
            newest,
            version: None,
            has_all_runs: false,
            is_own: false,
        };
        if let (true, FeedScope::Run(run) | FeedScope::Family(run)) = (is_beginning, &reader.scope) {
            reader.found.push_back((0, run.clone(), Arc::default()));
        }
        Ok(reader)
    }

    /// Returns the place after the last reported update.
    pub(super) fn cursor(&self) -> FeedCursor {
        FeedCursor { newest: self.newest, runs: self.logs.iter().map(FollowedLog::place).collect() }
    }

    /// Follows runs that this process owns, whose newest records are in its memory.
    pub(super) fn own(&mut self) {
        self.is_own = true;
        self.logs.iter_mut().for_each(|log| log.is_own = true);
    }

    /// Searches again in the runs of this process.
    pub(super) fn look_at_own(&mut self) {
        self.logs.iter_mut().for_each(FollowedLog::look_again);
    }

    /// Searches again if a process has committed since the last call.
    pub(super) fn look_again(&mut self) -> Result<(), RunError> {
        let version = self.handle.data_version()?;
        if self.version != Some(version) {
            self.version = Some(version);
            self.has_all_runs = false;
            self.logs.iter_mut().for_each(FollowedLog::look_again);
        }
        Ok(())
    }

    pub(super) fn next(&mut self) -> Result<NextUpdate, RunError> {
        if let Some(update) = self.next_found() {
            return Ok(told(update));
        }
        if let Some(place) = self.next_log()?
            && let Some(log) = self.logs.get_mut(place)
        {
            match log.next_decided(&self.handle, clock::now()) {
                NextInLog::Update(change) => {
                    let update = log.update(change);
                    self.follow_up(place, &update.change);
                    return Ok(told(update));
                }
                NextInLog::Wait(until) => return Ok(NextUpdate::Wait(until)),
                NextInLog::Nothing => {}
            }
        }
        for log in &mut self.logs {
            if let Some(change) = log.next_said() {
                return Ok(told(log.update(change)));
            }
        }
        if self.scope == FeedScope::All && !self.has_all_runs && self.find_runs()? {
            return self.next();
        }
        Ok(if self.is_over() { NextUpdate::Over } else { NextUpdate::Nothing })
    }

    /// Skips the current agent output of a turn with more than `most` unreported bytes.
    pub(super) fn skip_said(&mut self, most: u64) -> Option<RunUpdate> {
        self.logs.iter_mut().find_map(|log| log.skip_said(most).map(|change| log.update(change)))
    }

    /// Starts to follow a run that was found.
    fn next_found(&mut self) -> Option<RunUpdate> {
        let (number, run, path) = self.found.pop_front()?;
        self.newest = self.newest.max(number);
        let mut log = FollowedLog::new(run, path, self.words);
        log.is_own = self.is_own;
        let update = log.update(RunChange::Appeared);
        self.logs.push(log);
        Some(update)
    }

    /// Returns the log with the oldest unreported record. If two records have the same time, the child's
    /// comes first, because the parent's may report the end of the child. Unrelated runs have no order.
    fn next_log(&mut self) -> Result<Option<usize>, RunError> {
        let mut oldest = None;
        for (place, log) in self.logs.iter_mut().enumerate() {
            if log.has_end() {
                return Ok(Some(place));
            }
            let Some(at) = log.next_at(&self.handle)? else { continue };
            if self.scope == FeedScope::All {
                return Ok(Some(place));
            }
            let key = (at, Reverse(log.path.len()), place);
            oldest = oldest.filter(|oldest| *oldest < key).or(Some(key));
        }
        Ok(oldest.map(|(_, _, place)| place))
    }

    /// Finds the runs that an update starts, and drops logs that need no following any more.
    fn follow_up(&mut self, place: usize, change: &RunChange) {
        match change {
            RunChange::Record { record, .. } => self.find_children(place, record),
            // No later record refers to it, and nobody can continue it.
            RunChange::Ended { outcome } if self.scope == FeedScope::All && outcome.status.is_final() => {
                self.logs.remove(place);
            }
            RunChange::Ended { .. }
            | RunChange::Appeared
            | RunChange::Agent { .. }
            | RunChange::LeftOut { .. } => {}
        }
    }

    /// Finds the new runs that a record starts.
    fn find_children(&mut self, place: usize, record: &Record) {
        let (FeedScope::Family(_), Some(parent)) = (&self.scope, self.logs.get(place)) else { return };
        let started = record.effects.iter().filter_map(|planned| match &planned.effect {
            Effect::StartRun { run, .. } => Some(run),
            _ => None,
        });
        let is_new = |run: &&RunId| {
            self.logs.iter().all(|log| log.run != **run) && self.found.iter().all(|found| found.1 != **run)
        };
        let below = |run: &RunId| parent.path.iter().chain([run]).cloned().collect::<Arc<[RunId]>>();
        let new: Vec<_> = started.filter(is_new).map(|run| (0, run.clone(), below(run))).collect();
        self.found.extend(new);
    }

    /// Finds runs that started since the last call. Returns true if there are any.
    fn find_runs(&mut self) -> Result<bool, RunError> {
        let rows = self.handle.store.runs_after(self.newest, BATCH)?;
        self.found.extend(rows.into_iter().map(|row| (row.number, row.id, Arc::default())));
        self.has_all_runs = self.found.is_empty();
        Ok(!self.has_all_runs)
    }

    /// Returns true if the followed run was reported to its end.
    fn is_over(&self) -> bool {
        match &self.scope {
            FeedScope::All => false,
            FeedScope::Run(run) | FeedScope::Family(run) => {
                self.logs.iter().any(|log| log.run == *run && log.is_over)
            }
        }
    }
}

fn told(update: RunUpdate) -> NextUpdate {
    NextUpdate::Update(Box::new(update))
}

impl Handle {
    /// Returns the cursor after everything that has happened so far.
    fn cursor_now(&self, scope: &FeedScope) -> Result<FeedCursor, RunError> {
        let (mut newest, mut runs) = (0, Vec::new());
        match scope {
            FeedScope::Run(run) => runs.push(self.place_now(&self.view(run)?)),
            FeedScope::Family(run) => return Ok(self.family(&self.view(run)?).cursor(self)),
            FeedScope::All => {
                let rows = self.store.runs()?;
                newest = rows.first().map_or(0, |row| row.number);
                let open = rows.iter().filter(|row| RunStatus::of_word(&row.projection.status).is_open());
                let views = open.filter_map(|row| self.view(&row.id).ok());
                runs.extend(views.map(|view| self.place_now(&view)));
            }
        }
        Ok(FeedCursor { newest, runs })
    }

    fn place_now(&self, view: &RunView) -> RunPlace {
        RunPlace::after(&view.state, view.seq, Vec::new(), &view.dir)
    }
}
