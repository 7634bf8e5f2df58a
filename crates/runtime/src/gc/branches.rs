//! The worktrees and branches of a run and its tasks: those whose work is elsewhere can go.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use windlass_core::event::Record;
use windlass_core::id::RunId;
use windlass_peers::git::{self, KeepReason, Removal, Worktree, WorktreeError};

use super::families::{FamilyStanding, RunFamily};
use super::item::{GcBranch, GcEnd, GcKept, GcThing};
use super::run_files::{filled_folders, size};
use crate::effect::WORKTREES;
use crate::error::{RunError, chain};
use crate::handle::Handle;
use crate::view::{LeftBranch, RunStatus, made_by};

/// The beginning of the names that Windlass chooses for branches.
const OWN: &str = "windlass/";
/// The end of the name of the note that Windlass writes before it makes a worktree.
const NOTE: &str = ".for";

/// The repositories that were asked so far, by a folder in each.
#[derive(Default)]
pub(super) struct KnownRepositories {
    by_folder: BTreeMap<PathBuf, Option<PathBuf>>,
    by_shared: BTreeMap<PathBuf, Repository>,
}

/// The state of a repository, read once.
pub(super) struct Repository {
    worktrees: Vec<Worktree>,
    branches: Vec<String>,
    /// The refs of all snapshots.
    pub(super) snapshots: Vec<String>,
}

impl KnownRepositories {
    /// Returns the repository of a folder, or `None` if there is none now.
    pub(super) fn of(&mut self, folder: &Path) -> Option<&Repository> {
        let shared = self.by_folder.entry(folder.to_owned());
        let shared = shared.or_insert_with(|| git::shared_folder(folder).ok()).clone()?;
        let read = || Repository {
            worktrees: git::list(folder).unwrap_or_default(),
            branches: git::own_branches(folder).unwrap_or_default(),
            snapshots: git::snapshot_refs(folder).unwrap_or_default(),
        };
        Some(self.by_shared.entry(shared).or_insert_with(read))
    }
}

/// The branches of a family: those that can go, and those that stay.
#[derive(Default)]
pub(super) struct FamilyBranches {
    pub(super) items: Vec<GcBranch>,
    pub(super) kept: Vec<GcKept>,
}

impl Handle {
    /// Inspects the worktrees and branches of a family that is over.
    pub(super) fn branches_of(&self, family: &RunFamily, known: &mut KnownRepositories) -> FamilyBranches {
        let mut found = FamilyBranches::default();
        let Some(root) = family.root().map(|row| row.id.clone()) else { return found };
        // Most runs have none, and their logs may be long.
        let dir = |run: &RunId| self.store.run_dir(run).join(WORKTREES);
        for row in family.members.iter().filter(|row| !names_in(&dir(&row.id)).is_empty()) {
            let (run, workspace) = (&row.id, Path::new(&row.projection.workspace));
            if let Err(why) = self.branches_of_run(run, &root, workspace, family, known, &mut found) {
                let (thing, name, run) = (GcThing::Run, run.to_string(), run.clone());
                found.kept.push(GcKept { thing, name, run, why });
            }
        }
        found
    }

    fn branches_of_run(
        &self,
        run: &RunId,
        root: &RunId,
        workspace: &Path,
        family: &RunFamily,
        known: &mut KnownRepositories,
        found: &mut FamilyBranches,
    ) -> Result<(), String> {
        let dir = self.store.run_dir(run).join(WORKTREES);
        let filled = filled_folders(&dir);
        let Some(repository) = known.of(workspace) else {
            return match filled.first() {
                None => Ok(()),
                Some(folder) => {
                    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
                    Err(format!("the repository of its worktree {name} is missing"))
                }
            };
        };
        let mut unknown = filled;
        let real = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        let own = self.own_worktree_of(run).filter(|own| Path::new(&own.top).starts_with(&real));
        let is_ours = own.as_ref().is_some_and(|own| own.made_branch && own.branch.starts_with(OWN));
        let of_run = own.map(|own| LeftBranch::of_run(run, own.branch, own.target));
        let of_tasks = self.made(run).map_err(|error| chain(&error))?;
        for left in of_run.clone().into_iter().chain(of_tasks) {
            let its = |worktree: &&Worktree| {
                worktree.branch == left.branch
                    && (worktree.path.starts_with(&dir) || worktree.path.starts_with(&real))
            };
            let worktree = repository.worktrees.iter().find(its);
            if let Some(worktree) = worktree {
                let path = real.join(worktree.path.file_name().unwrap_or_default());
                let is_it = |folder: &PathBuf| real.join(folder.file_name().unwrap_or_default()) == path;
                unknown.retain(|folder| !is_it(folder) && !is_aside(folder, worktree));
            }
            if worktree.is_none() && !repository.branches.contains(&left.branch) {
                continue;
            }
            if of_run.as_ref() == Some(&left) {
                let why = match family.standing {
                    FamilyStanding::Final(_) if is_ours => None,
                    FamilyStanding::Final(_) => {
                        Some("somebody named it; remove it with `git worktree remove`")
                    }
                    FamilyStanding::Open | FamilyStanding::Continuable => {
                        Some("its run can be continued and works there")
                    }
                };
                if let Some(why) = why {
                    let (name, why) = (left.branch, why.to_owned());
                    found.kept.push(GcKept { thing: GcThing::Branch, name, run: run.clone(), why });
                    continue;
                }
            }
            match self.judge(workspace, worktree, &left, family) {
                Ok(target) => found.items.push(GcBranch {
                    run: run.clone(),
                    root: root.clone(),
                    repo: workspace.to_owned(),
                    branch: left.branch,
                    worktree: worktree.map(|worktree| worktree.path.clone()),
                    target,
                    bytes: worktree.map_or(0, |worktree| size(&worktree.path)),
                }),
                Err(why) => {
                    let (thing, name, run) = (GcThing::Branch, left.branch, run.clone());
                    found.kept.push(GcKept { thing, name, run, why });
                }
            }
        }
        match unknown.first() {
            None => Ok(()),
            Some(folder) => Err(format!("git does not know the worktree {}", folder.display())),
        }
    }

    /// Returns the branches that a run made, from its log.
    fn made(&self, run: &RunId) -> Result<Vec<LeftBranch>, RunError> {
        let records: Vec<Record> = self.records(run, 1)?.into_iter().map(|(_, record)| record).collect();
        Ok(made_by(run, &records))
    }

    /// Decides whether a branch can go. Returns the branch that has its work, or the reason to keep it.
    fn judge(
        &self,
        repo: &Path,
        worktree: Option<&Worktree>,
        left: &LeftBranch,
        family: &RunFamily,
    ) -> Result<String, String> {
        if family.standing == FamilyStanding::Continuable && self.is_in_use(left, family) {
            return Err(format!("run {} can be continued and may use it", left.run));
        }
        judge(repo, worktree, &left.branch, left.target.as_deref())
    }

    /// Decides whether a run that continues may use a branch: whether its state mentions it.
    fn is_in_use(&self, left: &LeftBranch, family: &RunFamily) -> bool {
        let mentions = |run: &RunId| {
            let Ok(view) = self.view(run) else { return true };
            let state = serde_json::to_string(&(&view.state.root, &view.state.bookkeeping));
            state.map_or(true, |state| state.contains(&left.branch))
        };
        family.members.iter().any(|row| mentions(&row.id))
    }

    /// Removes a branch and its worktree, if nothing has changed since the plan.
    pub(super) fn remove_branch(&self, item: &GcBranch) -> GcEnd {
        // No process can continue the run meanwhile.
        let _locks = match self.hold([&item.root, &item.run]) {
            Ok(locks) => locks,
            Err(why) => return GcEnd::Kept(why),
        };
        let is_over = |run: &&RunId| {
            let row = self.store.row(run).ok().flatten();
            row.is_some_and(|row| RunStatus::of_word(&row.projection.status).is_over())
        };
        if ![&item.root, &item.run].iter().all(is_over) {
            return GcEnd::Kept("somebody continued its run".to_owned());
        }
        let worktrees = match git::list(&item.repo) {
            Ok(worktrees) => worktrees,
            Err(error) => return GcEnd::Failed(chain(&error)),
        };
        let its = |worktree: &&Worktree| Some(&worktree.path) == item.worktree.as_ref();
        let worktree = worktrees.iter().find(its).filter(|worktree| worktree.branch == item.branch);
        if let Err(why) = judge(&item.repo, worktree, &item.branch, Some(&item.target)) {
            return GcEnd::Kept(why);
        }
        self.home.crash.point(|| {});
        let removed = worktree.map_or(Ok(Removal::Removed), |worktree| git::remove(worktree, &item.target));
        let removed = removed.and_then(|removal| match removal {
            Removal::Removed => git::remove_branch(&item.repo, &item.branch, &item.target),
            kept => Ok(kept),
        });
        self.home.crash.point(|| {});
        match removed {
            Ok(Removal::Removed) => GcEnd::Removed,
            Ok(Removal::Kept(reason)) => {
                GcEnd::Kept(said(&item.repo, &item.branch, Some(&item.target), &reason))
            }
            Err(error) => GcEnd::Failed(chain(&error)),
        }
    }

    /// Returns a worktree of a run that still exists, so that the run must stay.
    pub(super) fn remaining(&self, run: &RunId, workspace: &Path) -> Option<String> {
        let dir = self.store.run_dir(run).join(WORKTREES);
        let names = names_in(&dir);
        if let Some(folder) = filled_folders(&dir).first() {
            return Some(format!("its worktree {} is there", folder.display()));
        }
        if names.is_empty() {
            return None;
        }
        let mut made: Vec<String> = names.iter().map(|name| format!("{OWN}{run}/{name}")).collect();
        made.push(format!("{OWN}{run}"));
        let branches = match git::own_branches(workspace) {
            Ok(branches) => branches,
            Err(error) if git::is_repository(workspace) => return Some(chain(&error)),
            Err(_) => return None,
        };
        let left = branches.into_iter().find(|branch| made.contains(branch))?;
        Some(format!("its branch {left} is there"))
    }
}

/// Returns the names of the worktrees that a run ever made, or that have a folder.
fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.map(|name| name.strip_suffix(NOTE).map(str::to_owned).unwrap_or(name)).collect()
}

/// Decides whether a folder is a worktree that an interrupted removal moved aside.
fn is_aside(folder: &Path, worktree: &Worktree) -> bool {
    let name = worktree.path.file_name().unwrap_or_default().to_string_lossy();
    folder.file_name().is_some_and(|found| found.to_string_lossy() == format!(".{name}.windlass-removed"))
}

fn judge(
    repo: &Path,
    worktree: Option<&Worktree>,
    branch: &str,
    preferred: Option<&str>,
) -> Result<String, String> {
    let failed = |error: &(dyn std::error::Error + 'static)| chain(error);
    let containing = git::containing_branch(repo, branch, preferred).map_err(|error| failed(&error))?;
    // Without a commit of its own, a worktree may go although its branch is in no other.
    let target = containing.clone().or(preferred.map(str::to_owned)).unwrap_or_default();
    let Some(worktree) = worktree else {
        return containing.ok_or_else(|| unmerged(repo, branch, preferred));
    };
    if let Some(pid) = git::process_in(&worktree.path) {
        return Err(format!("process {pid} works in its worktree"));
    }
    match git::reason_to_keep(worktree, &target) {
        Ok(None) => Ok(target),
        Ok(Some(reason)) => Err(said(repo, branch, preferred, &reason)),
        Err(error @ WorktreeError::Git(_)) if !worktree.path.join(".git").exists() => {
            Err(format!("its worktree is broken: {}", chain(&error)))
        }
        Err(error) => Err(failed(&error)),
    }
}

/// Describes the commits that are in no other branch.
fn unmerged(repo: &Path, branch: &str, target: Option<&str>) -> String {
    let count = target.and_then(|target| Some((git::commits_ahead(repo, branch, target).ok()?, target)));
    match count {
        Some((1, target)) => format!("it has 1 commit that {target} does not have"),
        Some((count, target)) if count > 1 => format!("it has {count} commits that {target} does not have"),
        _ => "no other branch has its commits".to_owned(),
    }
}

/// Describes a reason to keep a worktree.
fn said(repo: &Path, branch: &str, target: Option<&str>, reason: &KeepReason) -> String {
    match reason {
        KeepReason::Uncommitted { files } => match files.as_slice() {
            [file] => format!("{file} in its worktree is not committed"),
            [file, rest @ ..] => {
                format!("{file} and {} more in its worktree are not committed", rest.len())
            }
            [] => "its worktree has files that are not committed".to_owned(),
        },
        KeepReason::Unmerged { .. } => unmerged(repo, branch, target),
        KeepReason::InTheMiddle { of } => format!("{of} is unfinished in its worktree"),
        KeepReason::Locked => "its worktree is locked (`git worktree lock`)".to_owned(),
        KeepReason::Submodules => "its worktree has submodules".to_owned(),
        KeepReason::NotOurs => "somebody else uses it".to_owned(),
    }
}
