//! Compares the snapshots of a run and restores them.
//!
//! An undo first saves the folder as it is, and only then restores an earlier state. A crash in between loses
//! nothing, and another undo finishes the work.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_core::event::Record;
use windlass_core::id::RunId;
use windlass_core::snapshot::{FolderSnapshot, SnapshotName, SnapshotQuery};
use windlass_core::time::Moment;
use windlass_peers::files::{self, FileMode};
use windlass_peers::git::{self, RestorePlan, SnapshotError, SnapshotRequest};

use super::Handle;
use crate::clock::now;
use crate::error::RunError;
use crate::snapshot::SnapshotStore;
use crate::view::{KeptSnapshot, NoSuchSnapshot, RunSnapshots, RunStatus};

pub use windlass_peers::git::{ChangedFile, DiffForm, LeftAlone};

/// The folder in the run's folder that lists the states before each undo.
const UNDOS: &str = "undo";
/// Undos of version 1 also took back the changes of people.
const UNDO_VERSION: u32 = 2;
const RECORD_MAX: u64 = 16 * 1024 * 1024;
/// The width of the list of changes of a run.
const COLUMNS: usize = 76;

/// An error from comparing or restoring snapshots.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotUseError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    NotFound(NoSuchSnapshot),
    #[error("run {run} has no snapshots: {why}")]
    None {
        run: RunId,
        why: String,
        /// The way to have some next time.
        hint: &'static str,
    },
    /// Somebody deleted the ref, and git the commit.
    #[error("the snapshot `{name}` of run {run} is gone: {reference} no longer exists")]
    Deleted { run: RunId, name: SnapshotName, reference: String },
    #[error("the folder {} is missing", folder.display())]
    NoFolder { folder: PathBuf },
    #[error("run {run} is still working in {}", folder.display())]
    Working { run: RunId, folder: PathBuf },
    #[error("cannot save or restore {}", folder.display())]
    Git {
        folder: PathBuf,
        #[source]
        source: SnapshotError,
    },
    #[error("cannot record the undo")]
    Record(#[source] files::FileError),
}

/// Two snapshots to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRange {
    pub from: KeptSnapshot,
    pub to: KeptSnapshot,
}

/// The result of an undo, or its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoResult {
    pub run: RunId,
    pub folder: String,
    /// The snapshot that the folder is now at.
    pub to: SnapshotName,
    /// The snapshot of the folder before the undo. `None` if nothing had to change, or for a plan.
    pub saved: Option<SavedState>,
    pub written: Vec<String>,
    pub removed: Vec<String>,
    pub left: Vec<LeftAlone>,
    /// Files that somebody changed after the last snapshot of the run.
    pub since: Vec<String>,
    /// The number of commits since the snapshot, which stay.
    pub commits: u64,
    /// The branch with these commits. `None` if no branch is checked out.
    pub branch: Option<String>,
    /// An earlier undo that did not finish.
    pub unfinished: Option<SnapshotName>,
}

impl UndoResult {
    /// Adds files that no snapshot contains, and says of no file that stayed that it was restored.
    fn leave(&mut self, unsaved: Vec<LeftAlone>) {
        let UndoResult { left, written, removed, .. } = self;
        for file in unsaved {
            if left.iter().all(|known| known.path != file.path) {
                left.push(file);
            }
        }
        left.sort_by(|a, b| a.path.cmp(&b.path));
        for list in [written, removed] {
            list.retain(|path| left.iter().all(|file| file.path != *path));
        }
    }
}

/// The state of a folder that an undo saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedState {
    pub name: SnapshotName,
    pub reference: String,
    pub commit: String,
}

/// An undo, as the run's folder records it.
#[derive(Debug, Serialize, Deserialize)]
struct UndoRecord {
    v: u32,
    at: Moment,
    folder: String,
    snapshot: FolderSnapshot,
    /// All files are restored.
    finished: bool,
}

/// The purpose of an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoMode {
    Perform,
    /// Only show what would change.
    Plan,
}

impl Handle {
    /// Returns the snapshots of a run.
    pub fn snapshots(&self, run: &RunId) -> Result<RunSnapshots, RunError> {
        let records: Vec<Record> = self.records(run, 1)?.into_iter().map(|(_, record)| record).collect();
        let spec = self.view(run)?.state.spec;
        let mut snapshots = RunSnapshots::of(run, &spec.workspace, &records);
        snapshots.checkout = spec.worktree.map(|own| own.checkout);
        for (number, record) in self.undos(run) {
            let UndoRecord { at, folder, snapshot, .. } = record;
            snapshots.add(KeptSnapshot { name: SnapshotName::Undo { number }, folder, at, snapshot });
        }
        Ok(snapshots)
    }

    /// Returns the two snapshots that show what a whole run changed.
    pub fn whole_range(&self, snapshots: &RunSnapshots) -> Result<SnapshotRange, SnapshotUseError> {
        match (snapshots.first(), snapshots.last()) {
            (Some(from), Some(to)) => Ok(SnapshotRange { from: from.clone(), to: to.clone() }),
            _ => Err(self.no_snapshots(snapshots)),
        }
    }

    /// Returns the snapshot that a person names.
    pub fn snapshot<'a>(
        &self,
        snapshots: &'a RunSnapshots,
        query: &SnapshotQuery,
    ) -> Result<&'a KeptSnapshot, SnapshotUseError> {
        if snapshots.all.is_empty() {
            return Err(self.no_snapshots(snapshots));
        }
        snapshots.find(query).map_err(SnapshotUseError::NotFound)
    }

    fn no_snapshots(&self, snapshots: &RunSnapshots) -> SnapshotUseError {
        let folder = Path::new(&snapshots.workspace);
        let (why, hint) = match &snapshots.failed {
            Some(why) => (format!("Windlass could not take them: {why}"), "fix that before the next run"),
            None if !folder.is_dir() => (format!("{} is missing", folder.display()), "put it back"),
            None if !git::is_repository(folder) => (
                format!("{} is not in a git repository", folder.display()),
                "snapshots are commits: run `git init` there before the next run",
            ),
            None => (
                "it has not started yet, or an older Windlass ran it".to_owned(),
                "`windlass show` shows the state of the run",
            ),
        };
        SnapshotUseError::None { run: snapshots.run.clone(), why, hint }
    }

    /// Compares two snapshots as text.
    pub fn diff(
        &self,
        snapshots: &RunSnapshots,
        range: &SnapshotRange,
        form: DiffForm,
    ) -> Result<Vec<u8>, SnapshotUseError> {
        let dir = repository_of(snapshots, range)?;
        git::diff_trees(dir, &range.from.snapshot.tree, &range.to.snapshot.tree, form)
            .map_err(|source| failed(dir, source))
    }

    /// Lists the files that differ between two snapshots.
    pub fn changed_files(
        &self,
        snapshots: &RunSnapshots,
        range: &SnapshotRange,
    ) -> Result<Vec<ChangedFile>, SnapshotUseError> {
        let dir = repository_of(snapshots, range)?;
        git::changed_files(dir, &range.from.snapshot.tree, &range.to.snapshot.tree)
            .map_err(|source| failed(dir, source))
    }

    /// Returns the changes of a run as its snapshots show them, one line per file and a total. `None` if there
    /// are no snapshots.
    pub fn changes(&self, run: &RunId) -> Result<Option<Vec<String>>, RunError> {
        let snapshots = self.snapshots(run)?;
        let Ok(range) = self.whole_range(&snapshots) else { return Ok(None) };
        let Ok(text) = self.diff(&snapshots, &range, DiffForm::Stat { columns: COLUMNS }) else {
            return Ok(None);
        };
        Ok(Some(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()))
    }

    /// Brings a folder back to an earlier snapshot: without a query, to the state before the run. Saves the
    /// current state first.
    pub fn undo(
        &self,
        run: &RunId,
        query: Option<&SnapshotQuery>,
        mode: UndoMode,
    ) -> Result<UndoResult, SnapshotUseError> {
        let snapshots = self.snapshots(run)?;
        let to = match query {
            Some(query) => self.snapshot(&snapshots, query)?,
            None => snapshots.first().ok_or_else(|| self.no_snapshots(&snapshots))?,
        };
        let folder = PathBuf::from(&to.folder);
        if !folder.is_dir() {
            return Err(SnapshotUseError::NoFolder { folder });
        }
        self.check_nobody_works(run, &folder)?;
        // Keeps `gc` from removing the run meanwhile. The owner of a paused run has the lock already.
        let _lock = (mode == UndoMode::Perform).then(|| self.store.folders().lock(run));
        self.view(run)?;
        has_commit(&snapshots, to, &folder)?;
        self.undo_to(&snapshots, to, mode).map_err(|error| match error {
            UndoFailure::Use(error) => error,
            UndoFailure::Snapshot(source) => SnapshotUseError::Git { folder, source },
        })
    }

    fn undo_to(
        &self,
        snapshots: &RunSnapshots,
        to: &KeptSnapshot,
        mode: UndoMode,
    ) -> Result<UndoResult, UndoFailure> {
        let run = &snapshots.run;
        let (store, own) = self.store_of(run, &to.folder);
        let folder = store.folder(&to.folder, &own);
        let undos = self.undos(run);
        let number = undos.last().map_or(1, |(number, _)| number + 1);
        let name = SnapshotName::Undo { number };
        let (reference, title) = (name.reference(run), store.title(&name));
        let save = |reference| {
            let request = SnapshotRequest { reference, title: &title, also: &[] };
            let saved = git::save_before(folder, request, &to.snapshot)?;
            let saved = saved.ok_or_else(|| UndoFailure::Use(self.no_snapshots(snapshots)))?;
            let mut plan = git::plan_restore(folder, &saved, &to.snapshot)?;
            if let Some(changed) = changed_by_run(snapshots, to, &undos)? {
                plan.keep_only(&changed, "you changed it after the run");
            }
            Ok::<_, UndoFailure>((saved, plan))
        };
        let (mut now, mut plan) = save(None)?;
        let is_needed = mode == UndoMode::Perform && !plan.is_empty();
        if is_needed {
            (now, plan) = save(Some(&reference))?;
            self.home.crash.point(|| {});
        }
        let unsaved = git::unsaved_changes(folder.path, &now, &to.snapshot, to.at.0)?;
        let mut result = UndoResult {
            run: run.clone(),
            folder: to.folder.clone(),
            to: to.name.clone(),
            saved: None,
            written: plan.written(),
            removed: plan.removed(),
            left: plan.left.clone(),
            since: touched(&plan, changed_since(snapshots, to, &now)?),
            commits: 0,
            branch: None,
            unfinished: None,
        };
        (result.commits, result.branch) = git::commits_since(folder.path, to.snapshot.head.as_deref())?;
        let is_open = |(_, undo): &&(u32, UndoRecord)| !undo.finished && undo.folder == to.folder;
        let unfinished = undos.iter().rev().find(is_open).map(|(number, _)| *number);
        result.unfinished = unfinished.map(|number| SnapshotName::Undo { number });
        if is_needed {
            result.saved = Some(SavedState { name, reference, commit: now.commit.clone() });
            result.left = self.restore(&store, to, number, now, &plan)?;
        }
        result.leave(unsaved);
        if mode == UndoMode::Perform {
            self.finish_undos(run, &to.folder)?;
        }
        self.home.crash.point(|| {});
        if self.view(run).is_ok_and(|view| view.state.is_done()) {
            store.clear();
        }
        Ok(result)
    }

    /// Records the saved state, then restores the other one.
    fn restore(
        &self,
        store: &SnapshotStore,
        to: &KeptSnapshot,
        number: u32,
        saved: FolderSnapshot,
        plan: &RestorePlan,
    ) -> Result<Vec<LeftAlone>, UndoFailure> {
        let folder = to.folder.clone();
        let record = UndoRecord { v: UNDO_VERSION, at: now(), folder, snapshot: saved, finished: false };
        self.write_undo(&store.run, number, &record)?;
        let own = store.own(&to.folder);
        let mut after_each = || self.home.crash.point(|| {});
        after_each();
        let left = git::restore(store.folder(&to.folder, &own), plan, &mut after_each)?;
        Ok(left)
    }

    /// Marks the earlier undos of a folder as finished: its files are as the last one wanted them.
    fn finish_undos(&self, run: &RunId, folder: &str) -> Result<(), UndoFailure> {
        for (number, record) in self.undos(run) {
            if !record.finished && record.folder == folder {
                self.home.crash.point(|| {});
                self.write_undo(run, number, &UndoRecord { finished: true, ..record })?;
            }
        }
        Ok(())
    }

    fn write_undo(&self, run: &RunId, number: u32, record: &UndoRecord) -> Result<(), UndoFailure> {
        let dir = self.store.run_dir(run).join(UNDOS);
        let text = serde_json::to_vec(record).map_err(RunError::Encode)?;
        let written = files::make_private_dir(&dir).and_then(|()| {
            files::write_atomic(&dir.join(format!("{number}.json")), &text, FileMode::Private)
        });
        written.map_err(|error| UndoFailure::Use(SnapshotUseError::Record(error)))
    }

    /// Returns the recorded undos of a run in their order.
    fn undos(&self, run: &RunId) -> Vec<(u32, UndoRecord)> {
        let dir = self.store.run_dir(run).join(UNDOS);
        let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten();
        let read = |name: String| {
            let number = name.strip_suffix(".json")?.parse().ok()?;
            let bytes = files::read_bounded(&dir.join(&name), RECORD_MAX).ok()?;
            Some((number, serde_json::from_slice(&bytes).ok()?))
        };
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut undos: Vec<(u32, UndoRecord)> = names.filter_map(read).collect();
        undos.sort_by_key(|(number, _)| *number);
        undos
    }

    fn store_of(&self, run: &RunId, folder: &str) -> (SnapshotStore, PathBuf) {
        let (state, run_dir) = (self.home.state.clone(), self.store.run_dir(run));
        let store = SnapshotStore { state, run_dir, run: run.clone() };
        let own = store.own(folder);
        (store, own)
    }

    /// Fails if this run or another one works in a folder. A paused run that finished its nodes does not.
    fn check_nobody_works(&self, run: &RunId, folder: &Path) -> Result<(), SnapshotUseError> {
        let working = |run: &RunId| SnapshotUseError::Working { run: run.clone(), folder: folder.to_owned() };
        if self.is_working(run)? {
            return Err(working(run));
        }
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        for row in self.store.runs().map_err(RunError::from)? {
            let other = Path::new(&row.projection.workspace);
            let is_there = other == folder || other.canonicalize().is_ok_and(|other| other == real);
            if is_there && row.id != *run && self.store.is_owned(&row.id) && self.is_working(&row.id)? {
                return Err(working(&row.id));
            }
        }
        Ok(())
    }

    fn is_working(&self, run: &RunId) -> Result<bool, RunError> {
        if !self.lives(run) {
            return Ok(false);
        }
        let view = self.view(run)?;
        let family = self.family(&view);
        let below = family.below().any(|state| {
            let is_paused = RunStatus::of(&state.progress()) == RunStatus::Paused;
            !state.is_done() && !is_paused && self.lives(&state.run)
        });
        Ok(below || view.status != RunStatus::Paused)
    }
}

/// Keeps the files that a plan writes or removes.
fn touched(plan: &RestorePlan, files: Vec<String>) -> Vec<String> {
    let (written, removed) = (plan.written(), plan.removed());
    files.into_iter().filter(|file| written.contains(file) || removed.contains(file)).collect()
}

/// An error inside an undo.
enum UndoFailure {
    Use(SnapshotUseError),
    Snapshot(SnapshotError),
}

impl From<SnapshotError> for UndoFailure {
    fn from(error: SnapshotError) -> UndoFailure {
        UndoFailure::Snapshot(error)
    }
}

impl From<RunError> for UndoFailure {
    fn from(error: RunError) -> UndoFailure {
        UndoFailure::Use(error.into())
    }
}

fn failed(dir: &Path, source: SnapshotError) -> SnapshotUseError {
    SnapshotUseError::Git { folder: dir.to_owned(), source }
}

/// Returns a folder of the repository that has both snapshots. A worktree may be gone; the workspace of the
/// run has the same objects.
fn repository_of<'a>(
    snapshots: &'a RunSnapshots,
    range: &'a SnapshotRange,
) -> Result<&'a Path, SnapshotUseError> {
    let folders = [&snapshots.workspace, &range.to.folder, &range.from.folder];
    // The worktree of a run may be gone; its snapshots are in the repository.
    let found = folders
        .into_iter()
        .chain(&snapshots.checkout)
        .map(Path::new)
        .find(|folder| git::is_repository(folder));
    let missing = || SnapshotUseError::NoFolder { folder: PathBuf::from(&snapshots.workspace) };
    let dir = found.ok_or_else(missing)?;
    has_commit(snapshots, &range.from, dir)?;
    has_commit(snapshots, &range.to, dir)?;
    Ok(dir)
}

fn has_commit(snapshots: &RunSnapshots, kept: &KeptSnapshot, dir: &Path) -> Result<(), SnapshotUseError> {
    if !git::lacks(dir, &kept.snapshot.commit) {
        return Ok(());
    }
    let (run, name) = (snapshots.run.clone(), kept.name.clone());
    Err(SnapshotUseError::Deleted { reference: name.reference(&run), run, name })
}

/// Lists the files that changed after the last snapshot of the run or of an undo in the same folder.
fn changed_since(
    snapshots: &RunSnapshots,
    to: &KeptSnapshot,
    now: &FolderSnapshot,
) -> Result<Vec<String>, SnapshotError> {
    let is_undo = |kept: &KeptSnapshot| matches!(kept.name, SnapshotName::Undo { .. });
    // After an undo, the files are no longer as the run left them.
    if snapshots.all.iter().any(|kept| kept.folder == to.folder && is_undo(kept)) {
        return Ok(Vec::new());
    }
    let Some(last) = snapshots.all.iter().rev().find(|kept| kept.folder == to.folder) else {
        return Ok(Vec::new());
    };
    let changed = git::changed_files(Path::new(&to.folder), &last.snapshot.tree, &now.tree);
    // A deleted snapshot says nothing.
    Ok(changed.unwrap_or_default().into_iter().map(|file| file.path).collect())
}

/// Returns the files that differ between any two snapshots of the run in a folder. An undo touches no others,
/// because they belong to the person. Returns `None` if the snapshots do not show all that the run changed: a
/// run that is not over may have worked on after the last one.
fn changed_by_run(
    snapshots: &RunSnapshots,
    to: &KeptSnapshot,
    undos: &[(u32, UndoRecord)],
) -> Result<Option<HashSet<String>>, SnapshotError> {
    let is_old = |(_, undo): &(u32, UndoRecord)| undo.folder == to.folder && undo.v < UNDO_VERSION;
    if undos.iter().any(is_old) {
        return Ok(None);
    }
    let is_of_run =
        |kept: &&KeptSnapshot| kept.folder == to.folder && !matches!(kept.name, SnapshotName::Undo { .. });
    let of_run: Vec<&KeptSnapshot> = snapshots.all.iter().filter(is_of_run).collect();
    if of_run.last().is_none_or(|last| last.name != SnapshotName::End) {
        return Ok(None);
    }
    let trees: Vec<&str> = of_run.iter().map(|kept| kept.snapshot.tree.as_str()).collect();
    let mut changed = HashSet::new();
    for (from, to_tree) in trees.iter().zip(trees.iter().skip(1)).filter(|(from, to)| from != to) {
        match git::changed_files(Path::new(&to.folder), from, to_tree) {
            Ok(files) => changed.extend(files.into_iter().map(|file| file.path)),
            // A deleted snapshot says nothing.
            Err(SnapshotError::Git(_)) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(changed))
}
