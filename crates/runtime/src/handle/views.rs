//! Looking at runs: which there are, how each stands, what its log and its agents say.

use std::path::Path;

use windlass_core::event::{Event, Record};
use windlass_core::id::{EffectId, RunId};
use windlass_peers::git;
use windlass_store::{Cadence, RunMatch};

use super::Handle;
use crate::error::RunError;
use crate::recover::{self, Recovered};
use crate::transcript::{TranscriptPlace, TranscriptReader};
use crate::view::{RunStatus, RunView};

/// How many records are read at once.
const BATCH: usize = 256;

impl Handle {
    /// The run whose id begins so.
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

    /// One run as it stands.
    pub fn view(&self, run: &RunId) -> Result<RunView, RunError> {
        let seen = recover::look(&self.store, run).map_err(|error| self.with_binary(error))?;
        let Recovered { loaded, state, divergence } = seen;
        let status = self.owned(run, RunStatus::of(&state.progress()));
        let (run, seq, dir) = (run.clone(), loaded.last_seq(), self.store.run_dir(run));
        let cadence = Cadence::of(&loaded);
        Ok(RunView { run, status, state, seq, cadence, divergence, dir })
    }

    /// A run that is not over and that nobody owns has crashed, and can be resumed.
    pub(crate) fn owned(&self, run: &RunId, status: RunStatus) -> RunStatus {
        status.unless_lost(|| self.store.is_owned(run))
    }

    /// The log of a run from a place on.
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

    /// The first of these; none at the end of the log.
    pub fn some_records(&self, run: &RunId, from: u64) -> Result<Vec<(u64, Record)>, RunError> {
        let batch = self.store.read_from(run, from, BATCH)?;
        let records: Result<Vec<_>, _> =
            batch.iter().map(|entry| Ok((entry.seq, recover::read(run, entry)?))).collect();
        records.map_err(|error| self.with_binary(error))
    }

    /// One record of a run; `None` where its log ends before.
    pub(crate) fn record_at(&self, run: &RunId, seq: u64) -> Result<Option<Record>, RunError> {
        let found = self.store.read_from(run, seq, 1)?;
        found.first().map(|entry| recover::read(run, entry)).transpose()
    }

    /// What the agent says and does in one turn, after what was given out before.
    pub(crate) fn transcript(
        &self,
        run: &RunId,
        effect: &EffectId,
        place: TranscriptPlace,
    ) -> TranscriptReader {
        let dir = self.store.run_dir(run).join(effect.to_string());
        let dialect = self.home.agents.named_or_first(self.driver_of(run, effect).as_deref());
        TranscriptReader::open(&dir.join(windlass_core::launch::files::STDOUT), dialect, place)
    }

    /// The driver of a turn, as the first record says.
    fn driver_of(&self, run: &RunId, effect: &EffectId) -> Option<String> {
        match self.record_at(run, 1).ok()??.event {
            Event::RunStarted { spec } => spec.driver_of(&effect.node).map(str::to_owned),
            _ => None,
        }
    }

    /// What a run changed in its repository so far, a line a file; `None` where there is none.
    pub fn changes(&self, run: &RunId) -> Result<Option<Vec<String>>, RunError> {
        let state = self.view(run)?.state;
        // A fork has the beginning of another run in its log, and began later.
        let base = crate::changes::base(&self.store.run_dir(run)).or_else(|| state.bookkeeping.base.clone());
        let Some(base) = &base else { return Ok(None) };
        let workspace = Path::new(&state.spec.workspace);
        Ok(Some(crate::changes::since(&self.store.run_dir(run), workspace, base)))
    }

    /// Whether a run works in a repository, also where nobody looked at it when the run began.
    pub fn is_in_repository(&self, run: &RunId) -> bool {
        self.view(run).is_ok_and(|view| git::is_repository(Path::new(&view.state.spec.workspace)))
    }
}
