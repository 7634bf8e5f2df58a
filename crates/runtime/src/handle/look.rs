//! Looking at runs: which there are, how each stands, what its log and its agents say.

use std::path::Path;

use windlass_core::agent::AgentEvent;
use windlass_core::event::Record;
use windlass_core::id::{EffectId, RunId};
use windlass_peers::agent::claude::parse;
use windlass_peers::{files, git};
use windlass_store::{Found, RunRow};

use super::{Handle, Listed, View};
use crate::error::RunError;
use crate::recover;

/// The most of a transcript that is read into memory at once.
const TRANSCRIPT_MAX: u64 = 256 * 1024 * 1024;

impl Handle {
    /// The run whose id begins so.
    pub fn find(&self, prefix: &str) -> Result<RunId, RunError> {
        match self.store.find(prefix)? {
            Found::One(row) => Ok(row.id),
            Found::None => Err(RunError::NoSuchRun(prefix.to_owned())),
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
        let (_, state) = recover::load(&self.store, run)?;
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
        let mut out = Vec::new();
        let mut next = from;
        loop {
            let batch = self.store.read_from(run, next, 1_000)?;
            let Some(last) = batch.last() else { return Ok(out) };
            next = last.seq + 1;
            for entry in &batch {
                out.push((entry.seq, recover::read(run, entry)?));
            }
        }
    }

    /// What the agent said and did in one turn, from an offset in its stream on.
    pub fn transcript(&self, run: &RunId, effect: &EffectId, from: u64) -> (Vec<AgentEvent>, u64) {
        let path =
            self.store.run_dir(run).join(effect.to_string()).join(windlass_core::launch::files::STDOUT);
        let fresh = files::read_from(&path, from, TRANSCRIPT_MAX);
        let whole = fresh.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = fresh.get(..whole).unwrap_or_default();
        let mut events = Vec::new();
        parse::parse_lines(lines, &mut events);
        (events, from + u64::try_from(whole).unwrap_or(0))
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
