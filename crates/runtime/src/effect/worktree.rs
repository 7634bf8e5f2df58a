//! A worktree for a task, and the way back of what was done in it.
//!
//! Each is done again after a crash: what was made for the same effect is taken up, a landing
//! that was cut off is finished, and one that was finished is not begun anew. How a landing goes
//! is `peers::git`'s; here it gets its checks, its target and its words.

mod landing;
mod record;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::event::{Event, WorktreeEnd};
use windlass_core::id::{EffectId, RunId};
use windlass_core::looping::verdict::red;
use windlass_core::tasks::TaskId;
use windlass_peers::files::{self, FileMode};
use windlass_peers::git::{self, GitError};

use super::{Fact, RunContext, checks, tasks};
use crate::error::{RunError, chain, passing};
use crate::supervise::blocking;
use crate::tasks::TaskFilePath;
use landing::{LandingJob, LandingResult, LandingStop, bring_back, keep_out};

/// What is said where there can be no worktree.
const WITHOUT: &str = "`--jobs 1` needs no worktree";
/// The folder of a run that its worktrees are in.
const FOLDER: &str = "worktrees";
/// So many characters of a task's id are in the names of its worktree and branch.
const SLUG: usize = 40;
/// So many worktrees of one name a run may have.
const NAMESAKES: u32 = 1_000;

/// Makes a worktree for a task on the commit that its target is at: a branch, that of the workspace
/// where none is decided yet.
pub(super) fn make(
    context: &RunContext,
    effect: EffectId,
    task: &TaskId,
    attempt: u32,
    target: Option<String>,
) -> Fact {
    let workspace = Path::new(&context.spec.workspace);
    let target = target.map_or_else(|| on_a_branch(workspace), Ok).map_err(WorktreeFailure::Why);
    let made = target.and_then(|target| {
        let (run, dir) = (&context.run, &context.dir);
        let wanted = WorktreeRequest { run, dir, effect: &effect, task, attempt, target: &target };
        let (folder, branch) = make_at(workspace, &wanted)?;
        Ok((folder, branch, target))
    });
    match made {
        Ok((folder, branch, target)) => {
            let end = WorktreeEnd::Made { workspace: folder, branch, target: Some(target) };
            Ok(Event::WorktreeMade { effect, end })
        }
        Err(WorktreeFailure::Why(why)) => {
            Ok(Event::WorktreeMade { effect, end: WorktreeEnd::Failed { why } })
        }
        Err(WorktreeFailure::ForNow(error)) => Err(error),
    }
}

/// Why there is no worktree.
enum WorktreeFailure {
    /// For a reason that stays.
    Why(String),
    /// For one that may be gone when the run is resumed.
    ForNow(RunError),
}

/// What a worktree is for.
struct WorktreeRequest<'a> {
    run: &'a RunId,
    /// The run's folder.
    dir: &'a Path,
    effect: &'a EffectId,
    task: &'a TaskId,
    attempt: u32,
    /// The branch it begins at.
    target: &'a str,
}

/// The folder to work in, and the branch.
fn make_at(workspace: &Path, wanted: &WorktreeRequest<'_>) -> Result<(String, String), WorktreeFailure> {
    let failed = |why: String| {
        WorktreeFailure::Why(format!("no worktree for task `{}`: {why}; {WITHOUT}", wanted.task))
    };
    let of = |error: &(dyn std::error::Error + 'static)| {
        passing(error, wanted.dir).map_or_else(|| failed(chain(error)), WorktreeFailure::ForNow)
    };
    let below = below_the_top(workspace).map_err(|error| of(&error))?;
    let name = name_for(wanted).map_err(&failed)?;
    let branch = format!("windlass/{}/{name}", wanted.run);
    let path = wanted.dir.join(FOLDER).join(&name);
    let base = format!("refs/heads/{}", wanted.target);
    let made = git::create(workspace, &path, &branch, &base).map_err(|error| of(&error))?;
    let folder = folder_in(&made.path, &below).map_err(&failed)?;
    Ok((folder, branch))
}

/// That there is a repository to make worktrees of; else what to do.
pub(crate) fn in_a_repository(workspace: &Path) -> Result<(), String> {
    if git::is_repository(workspace) {
        return Ok(());
    }
    Err(format!(
        "{} is not in a git repository, which several tasks at once need: make one with `git init` and a first \
         commit; {WITHOUT}",
        workspace.display()
    ))
}

/// Where the commits are to come back to: the branch that is checked out in the workspace.
pub(crate) fn on_a_branch(workspace: &Path) -> Result<String, String> {
    in_a_repository(workspace)?;
    let at = workspace.display();
    let failed = |error: GitError| format!("git cannot be asked about {at}: {}", chain(&error));
    let said = match git::git(workspace, &["symbolic-ref", "--quiet", "HEAD"]) {
        Ok(said) => String::from_utf8_lossy(&said).trim_end().to_owned(),
        Err(GitError::Failed { code: Some(1), .. }) => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let Some(branch) = said.strip_prefix("refs/heads/") else {
        return Err(format!(
            "{at} is on no branch (its HEAD is detached), so that commits have nowhere to come back to: \
             `git switch` to a branch; {WITHOUT}"
        ));
    };
    if git::head(workspace).map_err(failed)?.is_none() {
        return Err(format!("{at} has no commit to begin at: make a first one; {WITHOUT}"));
    }
    // Of what is not committed nothing would be in a worktree.
    if git::git(workspace, &["rev-parse", "--verify", "--quiet", "HEAD:./"]).is_err() {
        return Err(format!(
            "nothing of {at} is committed, so that a worktree would be empty: commit it; {WITHOUT}"
        ));
    }
    Ok(branch.to_owned())
}

/// The workspace as seen from the top of its repository; empty at the top.
fn below_the_top(workspace: &Path) -> Result<PathBuf, GitError> {
    let said = git::git(workspace, &["rev-parse", "--show-prefix"])?;
    Ok(PathBuf::from(String::from_utf8_lossy(&said).trim_end_matches('\n')))
}

/// The same folder in a worktree.
fn folder_in(worktree: &Path, below: &Path) -> Result<String, String> {
    let folder = worktree.join(below);
    let real = folder.canonicalize().ok().filter(|real| real.starts_with(worktree) && real.is_dir());
    let text = real.and_then(|real| real.to_str().map(str::to_owned));
    text.ok_or_else(|| format!("{} is no folder in the commit it is made from", folder.display()))
}

/// The name of a worktree, which no other of this run has. It is written down whose it is before
/// it is made: a second performance finds it, and another round of the same task gets another.
fn name_for(wanted: &WorktreeRequest<'_>) -> Result<String, String> {
    let folder = wanted.dir.join(FOLDER);
    files::make_private_dir(&folder).map_err(|error| chain(&error))?;
    let owner = wanted.effect.to_string();
    for count in (wanted.attempt.max(1)..).take(NAMESAKES as usize) {
        let name = format!("task-{}-{count}", slug(wanted.task));
        let note = folder.join(format!("{name}.for"));
        let is_new = files::create_new(&note, owner.as_bytes(), FileMode::Private);
        if is_new.map_err(|error| chain(&error))? {
            return Ok(name);
        }
        if files::read_bounded(&note, 4096).is_ok_and(|text| text == owner.as_bytes()) {
            return Ok(name);
        }
    }
    Err(format!("there are {NAMESAKES} of its name in {}", folder.display()))
}

/// An id as a part of a folder's and a branch's name. Not every id has its own.
fn slug(task: &TaskId) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    task.as_str().chars().take(SLUG).map(plain).collect()
}

/// Leaves a worktree from which nothing is brought back, and adds to what is said where its work is
/// kept; one without any work is taken away.
pub(super) fn leave(context: &RunContext, effect: &EffectId, branch: Option<&str>, why: String) -> String {
    let Some(branch) = branch else { return why };
    let repo = Path::new(&context.spec.workspace);
    let course = LandingJob { repo, notes: &context.child_dir(effect), branch, target: None, tasks: None };
    keep_out(&course, why)
}

/// A worktree and where it belongs.
pub(super) struct WorktreeHome {
    /// Its folder.
    pub(super) workspace: String,
    /// Its branch.
    pub(super) branch: String,
    /// The branch it is brought back to; that of the workspace where none is named.
    pub(super) target: Option<String>,
}

/// Brings the commits of a worktree onto their target, with the checks run on exactly what is
/// brought there, and reports how it went. What nobody says is done stays out.
pub(super) async fn land(
    context: Arc<RunContext>,
    effect: EffectId,
    home: WorktreeHome,
    end: tasks::TaskEnd,
) {
    // Dropped with this task: then nobody wants the landing any more.
    let (_wanted, given_up) = watch::channel(());
    let landing = {
        let (context, effect) = (Arc::clone(&context), effect.clone());
        let handle = tokio::runtime::Handle::current();
        blocking(move || {
            let WorktreeHome { workspace, branch, target } = home;
            let repo = Path::new(&context.spec.workspace);
            let tasks = tasks::place(repo, end.path.as_deref()).ok();
            let course = LandingJob {
                repo,
                notes: &context.child_dir(&effect),
                branch: &branch,
                target: target.as_deref(),
                tasks: tasks.as_ref().map(TaskFilePath::path),
            };
            if !course.is_begun() && !Path::new(&workspace).is_dir() {
                let why = format!(
                    "the worktree {workspace} is gone; what was committed there is on branch {branch}"
                );
                return Ok(LandingResult::Refused(why));
            }
            if !course.is_begun()
                && let Some(why) = tasks::withheld(context.vouched_tasks(), course.repo, &end)
            {
                return Ok(LandingResult::Refused(keep_out(&course, why)));
            }
            let is_given_up = || given_up.has_changed().is_err();
            let told = bring_back(&course, is_given_up, |round| {
                // Where nothing else landed meanwhile it is the commit that was checked already.
                if checks::are_known_to_be_green(&context, &workspace) {
                    return Ok(None);
                }
                // Each commit that is checked has folders of its own: what was green on another
                // says nothing.
                let effect = EffectId { attempt: effect.attempt.saturating_add(round), ..effect.clone() };
                let mut given_up = given_up.clone();
                handle.block_on(async {
                    tokio::select! {
                        biased;
                        _ = given_up.changed() => Err(LandingStop::GivenUp),
                        results = checks::run_all(&context, &effect, &context.spec.checks, &workspace) => {
                            results.map(|results| red(&results)).map_err(LandingStop::ForNow)
                        }
                    }
                })
            });
            told.map(|told| told.with_the_way_out(&branch, &end.task))
        })
    };
    match landing.await {
        Ok(told) => context.report(told.event(effect)).await,
        Err(LandingStop::ForNow(error)) => context.give_up(error).await,
        // Nobody waits for it any more: this task was ended.
        Err(LandingStop::GivenUp) => {}
    }
}
