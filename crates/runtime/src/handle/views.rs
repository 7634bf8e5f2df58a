//! Reads runs: the list, the status of each, their logs and the output of their agents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::effect::Effect;
use windlass_core::event::{Event, Record};
use windlass_core::id::{EffectId, RunId};
use windlass_core::spec::ForkOrigin;
use windlass_peers::agent::Dialect;
use windlass_peers::git;
use windlass_store::{Cadence, RunMatch};

use super::Handle;
use crate::error::RunError;
use crate::recover::{self, Recovered};
use crate::transcript::{TranscriptPlace, TranscriptReader};
use crate::view::{RunStatus, RunView};

/// The number of records in one read.
const BATCH: usize = 256;
/// The longest chain of forks to follow.
const FORKS: usize = 100;

impl Handle {
    /// Returns the run whose id starts with `prefix`.
    pub fn find(&self, prefix: &str) -> Result<RunId, RunError> {
        match self.store.find(prefix)? {
            RunMatch::One(row) => Ok(row.id),
            RunMatch::None => Err(match self.find_stray(prefix)? {
                Some(stray) => RunError::NotInLog { run: stray.run, dir: stray.dir },
                None => RunError::NoSuchRun(prefix.to_owned()),
            }),
            RunMatch::Many(rows) => {
                let candidates = rows.into_iter().map(|row| row.id).collect();
                Err(RunError::Ambiguous { prefix: prefix.to_owned(), candidates })
            }
        }
    }

    /// Returns the current state of a run.
    pub fn view(&self, run: &RunId) -> Result<RunView, RunError> {
        let seen = recover::look(&self.store, run).map_err(|error| self.with_binary(error))?;
        let Recovered { loaded, state, divergence } = seen;
        let status = self.owned(run, RunStatus::of(&state.progress()));
        let (run, seq, dir) = (run.clone(), loaded.last_seq(), self.store.run_dir(run));
        let cadence = Cadence::of(&loaded);
        Ok(RunView { run, status, state, seq, cadence, divergence, dir })
    }

    /// Corrects a status: a run that is not over and has no owner has crashed, and can be resumed.
    pub(crate) fn owned(&self, run: &RunId, status: RunStatus) -> RunStatus {
        status.unless_lost(|| self.store.is_owned(run))
    }

    /// Returns the log of a run from a sequence number on.
    pub fn records(&self, run: &RunId, from: u64) -> Result<Vec<(u64, Record)>, RunError> {
        let mut out: Vec<(u64, Record)> = Vec::new();
        loop {
            let next = out.last().map_or(from, |(seq, _)| seq + 1);
            let batch = self.some_records(run, next)?;
            if batch.is_empty() {
                return Ok(out);
            }
            out.extend(batch);
        }
    }

    /// Returns the first batch of these records, which is empty at the end of the log.
    pub fn some_records(&self, run: &RunId, from: u64) -> Result<Vec<(u64, Record)>, RunError> {
        let batch = self.store.read_from(run, from, BATCH)?;
        let records: Result<Vec<_>, _> =
            batch.iter().map(|entry| Ok((entry.seq, recover::read(run, entry)?))).collect();
        records.map_err(|error| self.with_binary(error))
    }

    /// Like [`Handle::some_records`], for a run that this process owns.
    pub(crate) fn some_own_records(&self, run: &RunId, from: u64) -> Result<Vec<(u64, Record)>, RunError> {
        self.recent.since(run, from).map_or_else(|| self.some_records(run, from), Ok)
    }

    /// Returns one record of a run, or `None` past the end of the log.
    pub(crate) fn record_at(&self, run: &RunId, seq: u64) -> Result<Option<Record>, RunError> {
        let found = self.store.read_from(run, seq, 1)?;
        found.first().map(|entry| recover::read(run, entry)).transpose()
    }

    /// Returns the run and node from which a run was forked.
    pub fn fork_of(&self, run: &RunId) -> Option<ForkOrigin> {
        let first = self.store.read_from(run, 1, 1).ok()?;
        let entry = first.first()?;
        // Most runs are no forks, and the first record of a run may be large.
        const FIELD: &[u8] = b"\"fork_of\"";
        entry.body.windows(FIELD.len()).any(|part| part == FIELD).then_some(())?;
        match recover::read(run, entry).ok()?.event {
            Event::RunStarted { spec } => spec.fork_of,
            _ => None,
        }
    }

    /// Returns the folder of a turn. A fork has the turns before its fork point from another run.
    pub fn turn_folder(&self, run: &RunId, effect: &EffectId) -> PathBuf {
        let own = self.store.run_dir(run).join(effect.to_string());
        let (mut folder, mut of) = (own.clone(), run.clone());
        // A fork of a fork of a fork; the log is data and may contain a circle.
        for _ in 0..FORKS {
            if folder.is_dir() {
                return folder;
            }
            let Some(origin) = self.fork_of(&of) else { break };
            of = origin.run;
            folder = self.store.run_dir(&of).join(effect.to_string());
        }
        own
    }

    /// Returns the dialect of a turn, and whether another turn of the node may have another one.
    pub(crate) fn dialect_of(&self, run: &RunId, effect: &EffectId) -> (Arc<dyn Dialect>, bool) {
        let spec = match self.record_at(run, 1) {
            Ok(Some(Record { event: Event::RunStarted { spec }, .. })) => Some(spec),
            _ => None,
        };
        let spec = spec.as_deref();
        let own = spec.and_then(|spec| spec.driver_of(&effect.node));
        let settings = spec.and_then(|spec| spec.sessions.get(&effect.node.in_workflow()));
        let may_change = settings.is_some_and(|settings| !settings.fallback.is_empty());
        let taken_over = may_change.then(|| self.planned_driver(run, effect)).flatten();
        (self.home.agents.named_or_first(taken_over.as_deref().or(own)), may_change)
    }

    /// Opens the transcript of a turn after a place reached before.
    pub(crate) fn transcript(
        &self,
        run: &RunId,
        effect: &EffectId,
        place: TranscriptPlace,
        dialect: Arc<dyn Dialect>,
    ) -> TranscriptReader {
        let dir = self.store.run_dir(run).join(effect.to_string());
        TranscriptReader::open(&dir.join(windlass_core::launch::files::STDOUT), dialect, place)
    }

    /// Returns the driver that took the work of a turn over.
    fn planned_driver(&self, run: &RunId, effect: &EffectId) -> Option<String> {
        let records = self.records(run, 1).ok()?;
        let mut planned = records.iter().flat_map(|(_, record)| &record.effects);
        planned.find(|planned| planned.id == *effect).and_then(|planned| match &planned.effect {
            Effect::StartSession(plan) => plan.driver.clone(),
            _ => None,
        })
    }

    /// Returns true if a run works in a repository, even if no base commit was recorded at its start.
    pub fn is_in_repository(&self, run: &RunId) -> bool {
        self.view(run).is_ok_and(|view| git::is_repository(Path::new(&view.state.spec.workspace)))
    }
}
