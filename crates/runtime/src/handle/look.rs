//! Looking at runs: which there are, how each stands, what its log and its agents say.

use std::path::Path;

use windlass_core::event::{Event, Record};
use windlass_core::id::{EffectId, RunId};
use windlass_peers::git;
use windlass_store::{Found, RunRow};

use super::{Handle, Listed, View};
use crate::error::RunError;
use crate::recover;
use crate::transcript::Transcript;

/// How many records are read at once.
const BATCH: usize = 256;

impl Handle {
    /// The run whose id begins so.
    pub fn find(&self, prefix: &str) -> Result<RunId, RunError> {
        match self.store.find(prefix)? {
            Found::One(row) => Ok(row.id),
            Found::None => Err(match self.find_stray(prefix)? {
                Some(stray) => RunError::NotInLog { run: stray.run, dir: stray.dir },
                None => RunError::NoSuchRun(prefix.to_owned()),
            }),
            Found::Many(rows) => {
                let candidates = rows.into_iter().map(|row| row.id).collect();
                Err(RunError::Ambiguous { prefix: prefix.to_owned(), candidates })
            }
        }
    }

    /// All runs, newest first.
    pub fn runs(&self) -> Result<Vec<Listed>, RunError> {
        let list = |row: RunRow| Listed { status: self.status(&row.id, &row.projection.status), row };
        Ok(self.store.runs()?.into_iter().map(list).collect())
    }

    /// One run as it stands.
    pub fn view(&self, run: &RunId) -> Result<View, RunError> {
        let (_, state) = recover::load(&self.store, run).map_err(|error| self.with_binary(error))?;
        let status = self.status(run, state.standing().word());
        Ok(View { run: run.clone(), status, state, dir: self.store.run_dir(run) })
    }

    /// A run that is not over and that nobody owns has crashed, and can be resumed.
    fn status(&self, run: &RunId, word: &str) -> String {
        let alive = matches!(word, "running" | "waiting");
        if alive && !self.store.is_owned(run) { "crashed".to_owned() } else { word.to_owned() }
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

    /// What the agent says and does in one turn, from its beginning.
    pub fn transcript(&self, run: &RunId, effect: &EffectId) -> Transcript {
        let dir = self.store.run_dir(run).join(effect.to_string());
        let dialect = self.home.agents.named_or_first(self.driver_of(run, effect).as_deref());
        Transcript::open(&dir.join(windlass_core::launch::files::STDOUT), dialect)
    }

    /// The driver of a turn, as the first record says.
    fn driver_of(&self, run: &RunId, effect: &EffectId) -> Option<String> {
        let first = self.store.read_from(run, 1, 1).ok()?;
        match recover::read(run, first.first()?).ok()?.event {
            Event::RunStarted { spec } => spec.driver_of(&effect.node).map(str::to_owned),
            _ => None,
        }
    }

    /// What a run changed in its repository so far, a line a file; `None` where there is none.
    pub fn changes(&self, run: &RunId) -> Result<Option<Vec<String>>, RunError> {
        let state = self.view(run)?.state;
        // A fork has the beginning of another run in its log, and began later.
        let base = crate::changes::base(&self.store.run_dir(run)).or_else(|| state.book.base.clone());
        let Some(base) = &base else { return Ok(None) };
        let workspace = Path::new(&state.spec.workspace);
        Ok(Some(crate::changes::since(&self.store.run_dir(run), workspace, base)))
    }

    /// Whether a run works in a repository, also where nobody looked at it when the run began.
    pub fn is_in_repository(&self, run: &RunId) -> bool {
        self.view(run).is_ok_and(|view| git::is_repository(Path::new(&view.state.spec.workspace)))
    }
}
