//! One run, folded from its log.

use std::path::PathBuf;

use windlass_core::engine::Divergence;
use windlass_core::id::RunId;
use windlass_core::run::{Lifecycle, RunState};
use windlass_store::Cadence;

use super::RunStatus;
use crate::workspace::{Absence, FolderCheck, absence};

/// A run as its log leaves it.
#[derive(Debug, Clone)]
pub struct RunView {
    /// Its id.
    pub run: RunId,
    /// How it is doing.
    pub status: RunStatus,
    /// Everything known of it.
    pub state: RunState,
    /// The last record that is in the state.
    pub seq: u64,
    /// When its state is to be kept, for whoever becomes its owner.
    pub(crate) cadence: Cadence,
    /// The first record for which the engine plans other effects: nobody may go on with the run here then.
    pub divergence: Option<Divergence>,
    /// Its folder.
    pub dir: PathBuf,
}

impl RunView {
    /// Returns why the folder it works in cannot be used, where it is not over and needs that folder.
    pub fn absence(&self, look: FolderCheck) -> Option<Absence> {
        let needs_it = matches!(self.state.lifecycle, Lifecycle::Running) && !self.state.is_done();
        needs_it.then(|| absence(&self.state, &self.dir, look)).flatten()
    }
}
