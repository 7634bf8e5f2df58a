//! Finds the run that `resume` continues when none is named.

use std::path::Path;
use std::time::{Duration, Instant};

use windlass_core::id::RunId;

use super::{FolderFilter, OriginFilter, RunFilter, RunSummary, StatusFilter};
use crate::error::RunError;
use crate::handle::Handle;
use crate::view::RunStatus;

/// The time a killed owner may take to release its lock.
const DYING: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(10);

/// The newest run of a folder, or of one above it, and whether it can be resumed.
#[derive(Debug, Clone, PartialEq)]
pub enum NewestRun {
    /// The run has crashed or is paused.
    Resumable(RunId),
    /// The run is in progress in another process.
    Owned(RunId),
    /// The only run was recorded by another version of Windlass.
    OtherVersion(RunId),
    /// The folder has no run. These runs crashed in other folders.
    Elsewhere(Vec<RunSummary>),
}

impl Handle {
    /// Finds the newest run of a folder that can be resumed. Ignores child runs: they continue with their
    /// parent.
    pub async fn newest_run(&self, folder: &Path) -> Result<NewestRun, RunError> {
        let folder = folder.to_owned();
        self.waiting(move |handle| handle.newest_run_blocking(&folder)).await
    }

    fn newest_run_blocking(&self, folder: &Path) -> Result<NewestRun, RunError> {
        let here = RunFilter {
            folder: FolderFilter::Around(folder.to_owned()),
            origin: OriginFilter::NoRun,
            ..RunFilter::default()
        };
        let only = |status| RunFilter { status: StatusFilter::Only(status), ..RunFilter::default() };
        let until = Instant::now() + DYING;
        loop {
            // A run that this build cannot read is not chosen unless a person names it.
            let (other, crashed): (Vec<RunSummary>, Vec<RunSummary>) = self
                .runs(&only(RunStatus::Crashed))?
                .into_iter()
                .partition(|run| self.other_version(&run.run).is_ok_and(|other| other.is_some()));
            if let Some(found) = crashed.iter().find(|run| here.fits(run)) {
                return Ok(NewestRun::Resumable(found.run.clone()));
            }
            let owned = self.runs(&here)?.into_iter().find(|run| run.status.is_owned());
            match owned.map(|run| run.run) {
                Some(run) if self.is_paused(&run) => return Ok(NewestRun::Resumable(run)),
                // A killed owner holds its lock for a moment longer.
                Some(_) if Instant::now() < until => std::thread::sleep(PAUSE),
                Some(run) => return Ok(NewestRun::Owned(run)),
                None => {
                    let other = other.into_iter().find(|run| here.fits(run));
                    return Ok(match other {
                        Some(run) => NewestRun::OtherVersion(run.run),
                        None => NewestRun::Elsewhere(crashed),
                    });
                }
            }
        }
    }

    fn is_paused(&self, run: &RunId) -> bool {
        self.view(run).is_ok_and(|view| view.state.bookkeeping.paused)
    }
}
