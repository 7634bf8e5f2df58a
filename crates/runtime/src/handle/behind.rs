//! Detects a log that lost its newest records: the run's folder then has more than the log.

use std::collections::BTreeSet;
use std::path::PathBuf;

use windlass_core::id::{EffectId, RunId, Verb};
use windlass_core::launch::files::EXIT;

use super::Handle;
use crate::error::RunError;

impl Handle {
    /// Fails if the folder of a run has a finished turn that is not in the log: the decisions after it are
    /// lost. A turn in progress is no error, because the run adopts it; neither is a finished command,
    /// because the run does not repeat it.
    pub(super) fn check_is_newest(&self, run: &RunId) -> Result<(), RunError> {
        match self.unknown_work(run)? {
            Some(folder) => Err(RunError::LogBehind { run: run.clone(), folder }),
            None => Ok(()),
        }
    }

    /// Returns the folder of a finished turn that is not in the log.
    fn unknown_work(&self, run: &RunId) -> Result<Option<PathBuf>, RunError> {
        let dir = self.store.run_dir(run);
        let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let is_over = |effect: &EffectId| {
            effect.verb == Verb::Session && dir.join(effect.to_string()).join(EXIT).exists()
        };
        let mut unknown: BTreeSet<EffectId> =
            names.filter_map(|name| name.parse().ok()).filter(is_over).collect();
        let mut next = 1;
        while !unknown.is_empty() {
            let batch = self.some_records(run, next)?;
            let Some((last, _)) = batch.last() else { break };
            next = last + 1;
            let planned = batch.iter().flat_map(|(_, record)| &record.effects);
            planned.for_each(|planned| {
                unknown.remove(&planned.id);
            });
        }
        Ok(unknown.first().map(|effect| dir.join(effect.to_string())))
    }
}
