//! Makes a worktree for a task, and lands its commits.
//!
//! Both can be repeated after a crash: a worktree made for the same effect is reused, an interrupted landing
//! is finished, and a finished one is not repeated. `peers::git` performs the landing; this module provides
//! its checks, its target and its messages.

mod landing;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::effect::OpenConflict;
use windlass_core::event::{Event, WorktreeEnd};
use windlass_core::id::{EffectId, RunId};
use windlass_core::looping::verdict::red;
use windlass_core::tasks::TaskId;
use windlass_peers::files::{self, FileMode};
use windlass_peers::git::{self, GitError, MergedBranches, Renewal};

use super::{Fact, RunContext, checks, tasks};
use crate::error::{RunError, chain, passing};
use crate::supervise::blocking;
use crate::tasks::TaskFilePath;
use landing::{LandingJob, LandingResult, LandingStop, bring_back, cut_off, keep_out, listed, unresolved};

/// The advice for users where worktrees are impossible.
const WITHOUT: &str = "`--jobs 1` needs no worktree";
/// The folder of worktrees in a run's folder.
pub(crate) const WORKTREES: &str = "worktrees";
/// The maximum number of characters of a task's id in the names of its worktree and branch.
const SLUG: usize = 40;
/// The maximum number of worktrees of one name in a run.
const NAMESAKES: u32 = 1_000;

/// The branches from which a worktree starts.
pub(super) struct WorktreeStart {
    /// The target branch. Without one, the branch of the workspace.
    pub(super) target: Option<String>,
    /// The branches with the work of the task's dependencies. Those that exist replace the target.
    pub(super) from: Vec<String>,
}

/// Makes a worktree for a task at the tip of its target branch, or at the work of the task's dependencies.
pub(super) fn make(
    context: &RunContext,
    effect: EffectId,
    task: &TaskId,
    attempt: u32,
    start: WorktreeStart,
) -> Fact {
    let workspace = Path::new(&context.spec.workspace);
    let WorktreeStart { target, from } = start;
    let target = target.map_or_else(|| on_a_branch(workspace), Ok).map_err(WorktreeFailure::Why);
    let made = target.and_then(|target| {
        let (run, dir) = (&context.run, &context.dir);
        let wanted =
            WorktreeRequest { run, dir, effect: &effect, task, attempt, target: &target, from: &from };
        let (folder, branch) = make_at(workspace, &wanted)?;
        Ok((folder, branch, target))
    });
    match made {
        Ok((folder, branch, target)) => {
            // No agent has worked there yet, also if the worktree is from before a crash.
            let commit = git::head(Path::new(&folder)).ok().flatten();
            let end = WorktreeEnd::Made { workspace: folder, branch, target: Some(target), commit };
            Ok(Event::WorktreeMade { effect, end })
        }
        Err(WorktreeFailure::Why(why)) => {
            Ok(Event::WorktreeMade { effect, end: WorktreeEnd::Failed { why } })
        }
        Err(WorktreeFailure::Conflict(why)) => {
            Ok(Event::WorktreeMade { effect, end: WorktreeEnd::Conflict { why } })
        }
        Err(WorktreeFailure::ForNow(error)) => Err(error),
    }
}

/// Brings a worktree up to date with its target after a conflict. Every failure leaves it as it is.
pub(super) fn renew(
    context: &RunContext,
    effect: EffectId,
    task: &TaskId,
    branch: &str,
    target: Option<String>,
) -> Fact {
    let workspace = Path::new(&context.spec.workspace);
    let end = match renew_at(workspace, &context.dir, &effect, branch, target) {
        Ok(end) => end,
        Err(WorktreeFailure::Why(why) | WorktreeFailure::Conflict(why)) => {
            WorktreeEnd::Failed { why: format!("task `{task}`: its worktree cannot be renewed: {why}") }
        }
        Err(WorktreeFailure::ForNow(error)) => return Err(error),
    };
    Ok(Event::WorktreeMade { effect, end })
}

fn renew_at(
    workspace: &Path,
    dir: &Path,
    effect: &EffectId,
    branch: &str,
    target: Option<String>,
) -> Result<WorktreeEnd, WorktreeFailure> {
    let of = |error: &(dyn std::error::Error + 'static)| {
        passing(error, dir).map_or_else(|| WorktreeFailure::Why(chain(error)), WorktreeFailure::ForNow)
    };
    let target = target.map_or_else(|| on_a_branch(workspace), Ok).map_err(WorktreeFailure::Why)?;
    let worktrees = git::list(workspace).map_err(|error| of(&error))?;
    let Some(worktree) = worktrees.into_iter().find(|worktree| worktree.branch == branch) else {
        return Err(WorktreeFailure::Why(format!("branch `{branch}` has no worktree any more")));
    };
    if let Some(why) = cut_off(&worktree) {
        return Err(WorktreeFailure::Why(why));
    }
    match git::renew(&worktree, &target, &effect.to_string()).map_err(|error| of(&error))? {
        Renewal::Renewed { commit, files } => Ok(WorktreeEnd::Renewed { commit, files }),
        Renewal::InTheWay { files } => {
            let at = worktree.path.display();
            Err(WorktreeFailure::Why(format!("{at} has files that are not committed: {}", listed(&files))))
        }
    }
}

/// Decides whether the agent has committed nothing since it was to resolve a conflict. It may have gone back
/// to an older commit.
fn is_unresolved(workspace: &str, conflict: &OpenConflict) -> bool {
    let workspace = Path::new(workspace);
    let Ok(Some(head)) = git::head(workspace) else { return false };
    head == conflict.since
        || git::git(workspace, &["merge-base", "--is-ancestor", &head, &conflict.since]).is_ok()
}

/// The reason why there is no worktree.
enum WorktreeFailure {
    /// A lasting failure.
    Why(String),
    /// The branches from which it was to start conflict with each other.
    Conflict(String),
    /// A failure that may be gone when the run is resumed.
    ForNow(RunError),
}

/// A request for a worktree.
struct WorktreeRequest<'a> {
    run: &'a RunId,
    dir: &'a Path,
    effect: &'a EffectId,
    task: &'a TaskId,
    attempt: u32,
    /// The branch it starts from, without other branches.
    target: &'a str,
    /// The branches it starts from, as far as they exist.
    from: &'a [String],
}

/// Returns the folder to work in, and the branch.
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
    let path = wanted.dir.join(WORKTREES).join(&name);
    let base = match git::merged(workspace, wanted.from, wanted.target).map_err(|error| of(&error))? {
        MergedBranches::None => format!("refs/heads/{}", wanted.target),
        MergedBranches::At { commit } => commit,
        MergedBranches::Conflict { branch, files } => {
            let files = listed(&files);
            return Err(WorktreeFailure::Conflict(format!(
                "it needs the work of several tasks, and branch `{branch}` conflicts with the others in {files}: \
                 merge these branches by hand, into one of them, and resume the run: {}",
                wanted.from.join(", ")
            )));
        }
    };
    let made = git::create(workspace, &path, &branch, &base).map_err(|error| of(&error))?;
    let folder = folder_in(&made.path, &below).map_err(&failed)?;
    Ok((folder, branch))
}

/// Checks that worktrees are possible. Otherwise returns an error with advice.
pub(crate) fn in_a_repository(workspace: &Path) -> Result<(), String> {
    if git::is_repository(workspace) {
        return Ok(());
    }
    Err(format!(
        "parallel tasks need a git repository, and {} is in none: run `git init` and commit, or use \
         `--jobs 1`",
        workspace.display()
    ))
}

/// Returns the branch on which commits land: the one that is checked out in the workspace.
pub(crate) fn on_a_branch(workspace: &Path) -> Result<String, String> {
    in_a_repository(workspace)?;
    let at = workspace.display();
    let failed = |error: GitError| format!("git cannot read {at}: {}", chain(&error));
    let said = match git::git(workspace, &["symbolic-ref", "--quiet", "HEAD"]) {
        Ok(said) => String::from_utf8_lossy(&said).trim_end().to_owned(),
        Err(GitError::Failed { code: Some(1), .. }) => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let Some(branch) = said.strip_prefix("refs/heads/") else {
        return Err(format!(
            "{at} is on no branch (its HEAD is detached), so commits cannot land: \
             `git switch` to a branch; {WITHOUT}"
        ));
    };
    if git::head(workspace).map_err(failed)?.is_none() {
        return Err(format!("{at} has no commit to begin at: make a first one; {WITHOUT}"));
    }
    // A worktree contains only committed files.
    if git::git(workspace, &["rev-parse", "--verify", "--quiet", "HEAD:./"]).is_err() {
        return Err(format!(
            "nothing of {at} is committed, so a worktree would be empty: commit it; {WITHOUT}"
        ));
    }
    Ok(branch.to_owned())
}

/// Returns the path of the workspace below the top of its repository; empty at the top.
pub(crate) fn below_the_top(workspace: &Path) -> Result<PathBuf, GitError> {
    let said = git::git(workspace, &["rev-parse", "--show-prefix"])?;
    Ok(PathBuf::from(String::from_utf8_lossy(&said).trim_end_matches('\n')))
}

/// Returns the workspace's folder inside a worktree.
pub(crate) fn folder_in(worktree: &Path, below: &Path) -> Result<String, String> {
    let folder = worktree.join(below);
    let real = folder.canonicalize().ok().filter(|real| real.starts_with(worktree) && real.is_dir());
    let text = real.and_then(|real| real.to_str().map(str::to_owned));
    text.ok_or_else(|| {
        format!("{} is not a folder in the commit that the worktree starts from", folder.display())
    })
}

/// Chooses a worktree name that is unique in this run. Records its owner before the worktree is made, so that
/// a repeated effect finds its own and another round of the same task gets a new one.
fn name_for(wanted: &WorktreeRequest<'_>) -> Result<String, String> {
    let folder = wanted.dir.join(WORKTREES);
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
    Err(format!("{} already has {NAMESAKES} worktrees of that name", folder.display()))
}

/// Converts an id to a part of a folder and branch name. Different ids may have the same slug.
fn slug(task: &TaskId) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    task.as_str().chars().take(SLUG).map(plain).collect()
}

/// Keeps a worktree that does not land, and adds to the reason where its work is. Removes a worktree without
/// any work.
pub(super) fn leave(context: &RunContext, effect: &EffectId, branch: Option<&str>, why: String) -> String {
    let Some(branch) = branch else { return why };
    let repo = Path::new(&context.spec.workspace);
    let course = LandingJob { repo, notes: &context.child_dir(effect), branch, target: None, tasks: None };
    keep_out(&course, why)
}

/// Removes a worktree without any work, and keeps any other.
pub(super) fn left(context: &RunContext, effect: &EffectId, branch: &str) -> WorktreeEnd {
    leave(context, effect, Some(branch), String::new());
    let repo = Path::new(&context.spec.workspace);
    let kept = git::list(repo).map_or(true, |all| all.iter().any(|worktree| worktree.branch == branch));
    WorktreeEnd::Left { kept }
}

/// A worktree and its target.
pub(super) struct WorktreeHome {
    pub(super) workspace: String,
    pub(super) branch: String,
    /// The branch it lands on. Without one, the branch of the workspace.
    pub(super) target: Option<String>,
    /// The conflict that the agent was to resolve.
    pub(super) conflict: Option<OpenConflict>,
    /// Environment variables of the checks.
    pub(super) env: BTreeMap<String, String>,
}

/// Lands the commits of a worktree on their target, runs the checks on exactly those commits, and reports the
/// outcome. Refuses work that neither agent nor file calls passing.
pub(super) async fn land(
    context: Arc<RunContext>,
    effect: EffectId,
    home: WorktreeHome,
    end: tasks::TaskEnd,
) {
    // Dropped together with this task, which gives up the landing.
    let (_wanted, given_up) = watch::channel(());
    let landing = {
        let (context, effect) = (Arc::clone(&context), effect.clone());
        let handle = tokio::runtime::Handle::current();
        blocking(move || {
            let WorktreeHome { workspace, branch, target, conflict, env } = home;
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
                let why = format!("the worktree {workspace} is gone; its commits are on branch {branch}");
                return Ok((LandingResult::Refused(why), BTreeMap::new()));
            }
            if !course.is_begun()
                && let Some(why) = tasks::withheld(context.vouched_tasks(), course.repo, &end)
            {
                return Ok((LandingResult::Refused(keep_out(&course, why)), BTreeMap::new()));
            }
            if !course.is_begun()
                && let Some(conflict) = conflict.filter(|conflict| is_unresolved(&workspace, conflict))
            {
                return Ok((unresolved(&course, conflict.files), Default::default()));
            }
            let is_given_up = || given_up.has_changed().is_err();
            let mut started = BTreeMap::new();
            let told = bring_back(&course, is_given_up, |round| {
                // If nothing else landed meanwhile, the checks have already passed on this commit.
                if checks::are_known_to_be_green(&context, &workspace) {
                    return Ok(None);
                }
                // Each checked commit has its own folders, because results for another commit say nothing.
                let effect = EffectId { attempt: effect.attempt.saturating_add(round), ..effect.clone() };
                let mut given_up = given_up.clone();
                handle.block_on(async {
                    tokio::select! {
                        biased;
                        _ = given_up.changed() => Err(LandingStop::GivenUp),
                        results = checks::run_all(&context, &effect, &context.spec.checks, &workspace, &env) => {
                            let results = results.map_err(LandingStop::ForNow)?;
                            started = results.iter().map(|check| (check.name.clone(), !check.cannot_start)).collect();
                            Ok(red(&results))
                        }
                    }
                })
            });
            told.map(|told| (told.with_the_way_out(&branch, &end.task), started))
        })
    };
    match landing.await {
        Ok((told, started)) => context.report(told.event(effect, started)).await,
        Err(LandingStop::ForNow(error)) => context.give_up(error).await,
        // This task was ended, so nobody waits for the landing.
        Err(LandingStop::GivenUp) => {}
    }
}
