//! Finds the run that `resume` continues when none is named.

use std::path::Path;
use std::time::{Duration, Instant};

use windlass_core::id::RunId;
use windlass_core::run::FinalStatus;

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
            let all = self.runs(&here)?;
            let is_interrupted = |run: &&RunSummary| run.status == RunStatus::Ended(FinalStatus::Interrupted);
            let interrupted = all.iter().find(is_interrupted);
            let stopped = crashed.iter().find(|run| here.fits(run)).into_iter().chain(interrupted);
            if let Some(found) = stopped.max_by_key(|run| run.updated) {
                return Ok(NewestRun::Resumable(found.run.clone()));
            }
            let is_left = |run: &&RunSummary| match run.status {
                RunStatus::Ended(status) => !status.is_final(),
                _ => false,
            };
            // The newest run, if it ended in a way that more of something could change.
            let ended = all.first().filter(is_left).map(|run| run.run.clone());
            let owned = all.into_iter().find(|run| run.status.is_owned());
            match owned.map(|run| run.run) {
                Some(run) if self.is_paused(&run) => return Ok(NewestRun::Resumable(run)),
                // A killed owner holds its lock for a moment longer.
                Some(_) if Instant::now() < until => std::thread::sleep(PAUSE),
                Some(run) => return Ok(NewestRun::Owned(run)),
                None => {
                    if let Some(ended) = ended {
                        return Ok(NewestRun::Resumable(ended));
                    }
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
