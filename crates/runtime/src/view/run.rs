//! One run, folded from its log.

use std::path::PathBuf;

use windlass_core::engine::Divergence;
use windlass_core::id::RunId;
use windlass_core::run::{Lifecycle, RunState};
use windlass_store::Cadence;

use super::RunStatus;
use crate::workspace::{Absence, FolderCheck, absence};

/// A run in the state after its last record.
#[derive(Debug, Clone)]
pub struct RunView {
    pub run: RunId,
    pub status: RunStatus,
    pub state: RunState,
    /// The sequence number of the last record in the state.
    pub seq: u64,
    /// The snapshot schedule, for the next owner.
    pub(crate) cadence: Cadence,
    /// The first record for which the engine plans other effects. With a divergence, this build cannot
    /// continue the run.
    pub divergence: Option<Divergence>,
    /// The run's own folder in the state folder.
    pub dir: PathBuf,
}

impl RunView {
    /// Returns the reason why the workspace of the run cannot be used, if the run still needs it.
    pub fn absence(&self, look: FolderCheck) -> Option<Absence> {
        let needs_it = matches!(self.state.lifecycle, Lifecycle::Running) && !self.state.is_done();
        needs_it.then(|| absence(&self.state, &self.dir, look)).flatten()
    }
}
