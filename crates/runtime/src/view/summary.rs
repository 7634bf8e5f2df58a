//! Lists runs in pages, with a filter.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::event::Event;
use windlass_core::id::RunId;
use windlass_core::run::{EndReason, Outcome};
use windlass_core::spec::RunWorktree;
use windlass_core::time::Moment;
use windlass_core::usage::Cost;
use windlass_store::{Projection, RunRow};

use super::RunStatus;
use crate::effect::WORKTREES;
use crate::error::RunError;
use crate::handle::Handle;

/// The number of runs in one read.
const BATCH: usize = 256;

/// A run in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    pub run: RunId,
    pub status: RunStatus,
    /// The reason why it ended, as a word.
    pub reason: Option<String>,
    pub workflow: String,
    /// The folder in which its sessions work.
    pub workspace: String,
    /// The folder in which a person started it, if it works in a worktree of its own.
    pub checkout: Option<String>,
    pub driver: String,
    /// The current turn.
    pub turn: u32,
    /// The cost so far.
    pub cost: Cost,
    pub started: Moment,
    /// The last change of this entry.
    pub updated: Moment,
    /// The input, shortened.
    pub input: String,
    /// The run that started it.
    pub parent: Option<RunId>,
}

impl RunSummary {
    /// Decides whether `resume` continues the run: it crashed, or ended in a way that `resume` can change.
    pub fn is_resumable(&self) -> bool {
        let RunStatus::Ended(status) = self.status else { return self.status.is_crashed() };
        let reason = self.reason.as_deref().and_then(EndReason::from_word);
        reason.is_some_and(|reason| Outcome::new(status, reason).resume_flags().is_some())
    }

    fn of(row: RunRow, status: RunStatus) -> RunSummary {
        let Projection { workflow, workspace, driver, reason, iteration, cost, .. } = row.projection;
        RunSummary {
            run: row.id,
            status,
            reason,
            workflow,
            workspace,
            checkout: None,
            driver,
            turn: iteration,
            cost,
            started: Moment(row.projection.started_ms),
            updated: Moment(row.projection.updated_ms),
            input: row.projection.input,
            parent: row.projection.parent,
        }
    }
}

/// A filter for a list of runs. All conditions must match.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    pub status: StatusFilter,
    pub folder: FolderFilter,
    pub origin: OriginFilter,
    pub workflow: Option<String>,
}

/// A filter by status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StatusFilter {
    #[default]
    Any,
    /// Runs that are not over.
    Open,
    /// Runs that are over.
    Over,
    Only(RunStatus),
}

/// A filter by folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FolderFilter {
    #[default]
    Anywhere,
    /// Runs in this folder or below it.
    Below(PathBuf),
    /// Runs in this folder or in one above it.
    Around(PathBuf),
}

/// A filter by the origin of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OriginFilter {
    #[default]
    Anybody,
    /// Runs that no other run started.
    NoRun,
}

impl RunFilter {
    pub(crate) fn fits(&self, run: &RunSummary) -> bool {
        let status = match self.status {
            StatusFilter::Any => true,
            StatusFilter::Open => run.status.is_open(),
            StatusFilter::Over => run.status.is_over(),
            StatusFilter::Only(status) => run.status == status,
        };
        let is_there = |place: &Path| match &self.folder {
            FolderFilter::Anywhere => true,
            FolderFilter::Below(folder) => place.starts_with(folder),
            FolderFilter::Around(folder) => folder.starts_with(place),
        };
        let places = std::iter::once(&run.workspace).chain(&run.checkout);
        let folder = places.map(Path::new).any(is_there);
        let origin = match self.origin {
            OriginFilter::Anybody => true,
            OriginFilter::NoRun => run.parent.is_none(),
        };
        status && folder && origin && self.workflow.as_ref().is_none_or(|name| *name == run.workflow)
    }
}

/// The start of the next page of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageCursor(u64);

/// A part of a list, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct RunPage {
    pub runs: Vec<RunSummary>,
    /// The start of the next page, or `None` if no older run is left.
    pub next: Option<PageCursor>,
}

impl Handle {
    /// Returns at most `limit` runs that match the filter, newest first, from a cursor on. Runs that start
    /// meanwhile change no later page.
    pub fn page(
        &self,
        filter: &RunFilter,
        from: Option<PageCursor>,
        limit: usize,
    ) -> Result<RunPage, RunError> {
        let mut before = from.map_or(u64::MAX, |cursor| cursor.0);
        let mut runs = Vec::new();
        loop {
            let batch = self.store.runs_before(before, BATCH)?;
            let is_last = batch.len() < BATCH;
            for row in batch {
                if runs.len() >= limit {
                    return Ok(RunPage { runs, next: Some(PageCursor(before)) });
                }
                before = row.number;
                let run = self.summary(row);
                if filter.fits(&run) {
                    runs.push(run);
                }
            }
            if is_last {
                return Ok(RunPage { runs, next: None });
            }
        }
    }

    /// Returns every run that matches the filter, newest first.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, RunError> {
        Ok(self.page(filter, None, usize::MAX)?.runs)
    }

    fn summary(&self, row: RunRow) -> RunSummary {
        let status = self.owned(&row.id, RunStatus::of_word(&row.projection.status));
        let mut summary = RunSummary::of(row, status);
        summary.checkout = self.checkout_of(&summary.run, &summary.workspace);
        summary
    }

    /// Returns the folder in which a person started a run that works in a worktree of its own.
    pub(crate) fn checkout_of(&self, run: &RunId, workspace: &str) -> Option<String> {
        let own = self.store.run_dir(run).join(WORKTREES);
        if !Path::new(workspace).starts_with(own.canonicalize().unwrap_or(own)) {
            return None;
        }
        Some(self.own_worktree_of(run)?.checkout)
    }

    /// Returns the worktree that Windlass made for a run itself.
    pub(crate) fn own_worktree_of(&self, run: &RunId) -> Option<RunWorktree> {
        match self.record_at(run, 1).ok()??.event {
            Event::RunStarted { spec } => spec.worktree,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::run::FinalStatus;
    use windlass_store::{Durability, Lease, NewRun};

    use super::*;
    use crate::crash::CrashCounter;
    use crate::home::Home;

    fn handle(dir: &Path) -> Handle {
        let at = |name: &str| dir.join(name);
        let home = Home {
            state: at("state"),
            config: at("config"),
            user: at("user"),
            temp: at("temp"),
            env: Vec::new(),
            agents: crate::Agents::default(),
            binary: None,
            machine: "m".to_owned(),
            crash: CrashCounter::from_text(None),
        };
        Handle::open(home, Durability::Normal).unwrap()
    }

    fn add(handle: &Handle, id: &str, status: &str, workspace: &str, parent: Option<&str>) -> Lease {
        let projection = Projection {
            status: status.to_owned(),
            workspace: workspace.to_owned(),
            workflow: "loop".to_owned(),
            parent: parent.map(RunId::new),
            ..Projection::default()
        };
        let new = NewRun { id: RunId::new(id), projection, bodies: vec![b"first".to_vec()], spending: None };
        handle.store.create_run(new).unwrap()
    }

    #[test]
    fn runs_are_listed_by_filter_and_page() {
        let dir = tempfile::tempdir().unwrap();
        let handle = handle(dir.path());
        drop(add(&handle, "a", "running", "/w", None));
        let _owned = add(&handle, "b", "running", "/w/below", None);
        drop(add(&handle, "c", "completed", "/w", None));
        drop(add(&handle, "d", "failed", "/elsewhere", Some("a")));
        let ids = |filter: RunFilter| {
            let runs = handle.runs(&filter).unwrap();
            runs.iter().map(|run| run.run.to_string()).collect::<String>()
        };
        let with = |status| RunFilter { status, ..RunFilter::default() };
        assert_eq!(ids(RunFilter::default()), "dcba");
        assert_eq!(ids(with(StatusFilter::Open)), "ba");
        assert_eq!(ids(with(StatusFilter::Over)), "dc");
        assert_eq!(ids(with(StatusFilter::Only(RunStatus::Crashed))), "a", "nobody owns it");
        assert_eq!(ids(with(StatusFilter::Only(RunStatus::Ended(FinalStatus::Failed)))), "d");
        let below = FolderFilter::Below("/w".into());
        assert_eq!(ids(RunFilter { folder: below, ..RunFilter::default() }), "cba");
        let around = FolderFilter::Around("/w".into());
        assert_eq!(ids(RunFilter { folder: around, ..RunFilter::default() }), "ca");
        assert_eq!(ids(RunFilter { origin: OriginFilter::NoRun, ..RunFilter::default() }), "cba");
        assert_eq!(ids(RunFilter { workflow: Some("other".to_owned()), ..RunFilter::default() }), "");

        let open = with(StatusFilter::Open);
        let first = handle.page(&open, None, 1).unwrap();
        drop(add(&handle, "e", "running", "/w", None));
        let second = handle.page(&open, first.next, 1).unwrap();
        let names = |page: &RunPage| page.runs.iter().map(|run| run.run.to_string()).collect::<String>();
        assert_eq!((names(&first), names(&second)), ("b".to_owned(), "a".to_owned()));
        assert_eq!(second.next, None, "no older run is left");
    }
}
