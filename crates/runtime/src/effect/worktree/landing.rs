//! Performs one landing and describes its outcome. Every failure keeps the branch and its worktree, and says
//! so.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_core::event::{Event, LandingEnd};
use windlass_core::id::EffectId;
use windlass_core::tasks::TaskId;
use windlass_peers::files::FileError;
use windlass_peers::git::{
    self, LandError, Landing, LandingTimeouts, LockError, Removal, Worktree, WorktreeError,
};

use super::on_a_branch;
use super::record::LandingRecord;
use crate::error::{RunError, chain, passing};

/// The time limit for the landings before this one, including their checks.
const TURN: Duration = Duration::from_secs(24 * 3600);
/// The interval at which a waiting landing checks whether it is still wanted.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The maximum number of files that a message lists.
const LISTED: usize = 10;
/// The message of a landing that moved nothing.
const NOTHING: &str = "nothing to land";

/// A branch to land, and its target.
pub(super) struct LandingJob<'a> {
    /// The run's workspace.
    pub(super) repo: &'a Path,
    /// The folder of the [`LandingRecord`].
    pub(super) notes: &'a Path,
    /// The branch of the worktree.
    pub(super) branch: &'a str,
    /// The branch it lands on. Without one, the branch of the workspace.
    pub(super) target: Option<&'a str>,
    /// The task file.
    pub(super) tasks: Option<&'a Path>,
}

impl LandingJob<'_> {
    /// Decides whether the landing started before. Then it is finished in any case.
    pub(super) fn is_begun(&self) -> bool {
        LandingRecord::read(self.notes).is_some()
    }

    fn target(&self) -> Result<String, String> {
        self.target.map_or_else(|| on_a_branch(self.repo), |target| Ok(target.to_owned()))
    }
}

/// The reason why a landing did not finish.
#[derive(Debug)]
pub(super) enum LandingStop {
    /// Space ran out, or git is killed repeatedly. A later landing may succeed.
    ForNow(RunError),
    /// Nobody waits for it any more. It finishes when the run is resumed.
    GivenUp,
}

/// The outcome of a landing, with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LandingResult {
    Landed(String),
    /// The target already contains the branch.
    NothingToLand,
    /// The commits did not land, and another attempt may fix the cause.
    Refused(String),
    /// The target has other changes in the same files.
    Conflict {
        files: Vec<String>,
        /// The commit of the branch. `None` if the agent has committed nothing to resolve an earlier conflict.
        commit: Option<String>,
        why: String,
    },
    /// The commits did not land, and only a person can fix the cause.
    Hindered(String),
}

impl LandingResult {
    /// Appends a sentence to the message of a failure.
    fn and(self, more: &str) -> LandingResult {
        match self {
            LandingResult::Landed(_) | LandingResult::NothingToLand => self,
            LandingResult::Refused(what) => LandingResult::Refused(joined(&what, more)),
            LandingResult::Conflict { files, commit, why } => {
                LandingResult::Conflict { files, commit, why: joined(&why, more) }
            }
            LandingResult::Hindered(what) => LandingResult::Hindered(joined(&what, more)),
        }
    }

    /// Adds instructions for a person who wants to land the work by hand.
    pub(super) fn with_the_way_out(self, branch: &str, task: &TaskId) -> LandingResult {
        let LandingResult::Hindered(why) = self else { return self };
        let way = format!(
            "After you fix that, land the work with `git merge {branch}` and `windlass tasks set {task} done`; \
             another run does the task again"
        );
        LandingResult::Hindered(joined(&why, &way))
    }

    /// Returns the event of the landing. `checks` says which of the checks that ran could start.
    pub(super) fn event(self, effect: EffectId, checks: BTreeMap<String, bool>) -> Event {
        let end = match self {
            LandingResult::Landed(what) => LandingEnd::Landed { what, is_empty: false },
            LandingResult::NothingToLand => LandingEnd::Landed { what: NOTHING.to_owned(), is_empty: true },
            LandingResult::Refused(why) => LandingEnd::Refused { why, checks },
            LandingResult::Conflict { files, commit, why } => LandingEnd::Conflict { files, commit, why },
            LandingResult::Hindered(why) => LandingEnd::Hindered { why },
        };
        Event::Landed { effect, end }
    }
}

/// Joins two sentences, however the first one ends.
fn joined(why: &str, more: &str) -> String {
    let why = why.trim_end().trim_end_matches('.');
    let join = if why.contains('\n') { "\n" } else { ". " };
    format!("{why}{join}{more}")
}

/// Lands the commits of a branch. `checks` gets the position of the commit, from 0, and returns a description
/// of the failed checks.
pub(super) fn bring_back(
    course: &LandingJob<'_>,
    is_given_up: impl Fn() -> bool,
    mut checks: impl FnMut(u32) -> Result<Option<String>, LandingStop>,
) -> Result<LandingResult, LandingStop> {
    let branch = course.branch;
    let mut record = match LandingRecord::read(course.notes) {
        Some(record) => record,
        // Recorded, because the workspace may be on another branch when the landing is repeated.
        None => match course.target() {
            Ok(target) => LandingRecord::new(target),
            Err(why) => return Ok(LandingResult::Hindered(joined(&why, &kept(course)))),
        },
    };
    if let Err(error) = record.write(course.notes) {
        return failed(&error, course);
    }
    let worktree = match find(course) {
        Ok(worktree) => worktree,
        Err(error) => return failed(&error, course),
    };
    if let Some(what) = &record.landed {
        remove_worktree(worktree.as_ref(), &record.target);
        return Ok(match record.is_empty {
            true => LandingResult::NothingToLand,
            false => LandingResult::Landed(what.clone()),
        });
    }
    let Some(worktree) = worktree else {
        return Ok(LandingResult::Refused(format!(
            "branch `{branch}` has no worktree any more, so it cannot land; its commits are kept"
        )));
    };
    if let Some(why) = cut_off(&worktree) {
        return Ok(LandingResult::Refused(joined(&why, &kept(course))));
    }
    let mut is_red = None;
    let target = record.target.clone();
    let landing = loop_until_its_turn(&worktree, &target, &is_given_up, |path| {
        is_red = check(course, &mut record, path, &mut checks)?;
        Ok(is_red.is_none())
    });
    let landing = match landing {
        Ok(landing) => landing,
        Err(LandError::Checks(LandingHalt::Stop(stop))) => return Err(stop),
        Err(LandError::Checks(LandingHalt::Notes(error))) => return failed(&error, course),
        Err(LandError::Worktree(error)) => match cut_off(&worktree) {
            Some(why) => return Ok(LandingResult::Refused(joined(&why, &kept(course)))),
            None => return failed(&error, course),
        },
        Err(error) => return Ok(hindrance(&error).and(&kept(course))),
    };
    let told = outcome(course, &worktree, &record, landing, is_red);
    record.landed = match &told {
        LandingResult::Landed(what) => Some(what.clone()),
        LandingResult::NothingToLand => Some(NOTHING.to_owned()),
        _ => return Ok(told.and(&kept(course))),
    };
    record.is_empty = told == LandingResult::NothingToLand;
    // The record tells a repeated landing why the worktree is missing, so it comes first.
    if record.write(course.notes).is_ok() {
        remove_worktree(Some(&worktree), &target);
    }
    Ok(told)
}

/// Describes a conflict that the agent was to resolve, and did not.
pub(super) fn unresolved(course: &LandingJob<'_>, files: Vec<String>) -> LandingResult {
    let (branch, files_listed) = (course.branch, listed(&files));
    let why = format!(
        "the conflict of branch `{branch}` in {files_listed} is not resolved: the agent committed nothing"
    );
    LandingResult::Conflict { files, commit: None, why: joined(&why, &kept(course)) }
}

/// Keeps a branch and adds to the reason where it is. Removes a branch without any work.
pub(super) fn keep_out(course: &LandingJob<'_>, why: String) -> String {
    let Ok(Some(worktree)) = find(course) else { return why };
    if let Some(elsewhere) = strayed(course, &worktree) {
        return joined(&why, &elsewhere);
    }
    let target = course.target().ok().filter(|_| cut_off(&worktree).is_none());
    let removed = target.and_then(|target| git::remove(&worktree, &target).ok());
    match removed {
        Some(Removal::Removed) => why,
        _ => {
            let (branch, at) = (course.branch, worktree.path.display());
            joined(&why, &format!("The work is kept on branch `{branch}`, in {at}"))
        }
    }
}

/// Returns an error if an agent removed the `.git` file of its worktree: git would search the folders above
/// it for a repository.
pub(super) fn cut_off(worktree: &Worktree) -> Option<String> {
    let link = worktree.path.join(".git");
    link.symlink_metadata().is_err().then(|| {
        format!("{} was removed, so git no longer knows that folder; do not remove this file", link.display())
    })
}

/// Describes where the commits are. An agent may have renamed its branch or switched to another.
fn kept(course: &LandingJob<'_>) -> String {
    let branch = course.branch;
    let is_there =
        git::git(course.repo, &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]);
    let worktree = find(course).ok().flatten().filter(|worktree| cut_off(worktree).is_none());
    if is_there.is_ok() {
        let elsewhere = worktree.as_ref().and_then(|worktree| strayed(course, worktree));
        return elsewhere.unwrap_or_else(|| format!("Branch `{branch}` is kept with all its commits"));
    }
    let commit = worktree.as_ref().and_then(|worktree| git::head(&worktree.path).ok().flatten());
    let (Some(worktree), Some(commit)) = (worktree, commit) else {
        return format!("There is no branch `{branch}` any more");
    };
    let at = checked_out(&worktree);
    format!("There is no branch `{branch}` any more: its commits are {at}, at {}", short(&commit))
}

/// Describes commits that an agent made outside its branch.
fn strayed(course: &LandingJob<'_>, worktree: &Worktree) -> Option<String> {
    if cut_off(worktree).is_some() {
        return None;
    }
    let head = git::head(&worktree.path).ok().flatten()?;
    let beyond = format!("refs/heads/{}..{head}", course.branch);
    let more = git::git(course.repo, &["rev-list", "--max-count=1", &beyond]).ok()?;
    (!more.is_empty()).then(|| {
        let at = checked_out(worktree);
        format!(
            "The commits of the worktree are {at}, at {}, and not on branch `{}`",
            short(&head),
            course.branch
        )
    })
}

fn checked_out(worktree: &Worktree) -> String {
    match on_a_branch(&worktree.path) {
        Ok(now) => format!("on branch `{now}`"),
        Err(_) => format!("in {}", worktree.path.display()),
    }
}

/// Reports an error of git or the disk, which is never the agent's fault.
fn failed(
    error: &(dyn std::error::Error + 'static),
    course: &LandingJob<'_>,
) -> Result<LandingResult, LandingStop> {
    if let Some(error) = passing(error, course.notes) {
        return Err(LandingStop::ForNow(error));
    }
    let why = format!("branch `{}` cannot land: {}", course.branch, chain(error));
    Ok(LandingResult::Hindered(joined(&why, &kept(course))))
}

fn find(course: &LandingJob<'_>) -> Result<Option<Worktree>, WorktreeError> {
    Ok(git::list(course.repo)?.into_iter().find(|worktree| worktree.branch == course.branch))
}

/// Removes the worktree and its branch. `git::remove` keeps anything with unlanded work.
fn remove_worktree(worktree: Option<&Worktree>, target: &str) {
    if let Some(worktree) = worktree {
        // The commits have landed. Anything that is left stays for a person to inspect.
        let _ = git::remove(worktree, target);
    }
}

/// The reason why a landing stops during its checks.
enum LandingHalt {
    Stop(LandingStop),
    Notes(FileError),
}

fn check(
    course: &LandingJob<'_>,
    record: &mut LandingRecord,
    path: &Path,
    checks: &mut impl FnMut(u32) -> Result<Option<String>, LandingStop>,
) -> Result<Option<String>, LandingHalt> {
    let commit = git::head(path).ok().flatten().unwrap_or_default();
    let round = record.round_of(&commit);
    record.write(course.notes).map_err(LandingHalt::Notes)?;
    let is_red = checks(round).map_err(LandingHalt::Stop)?;
    if is_red.is_none() {
        // Recorded, so that a repeated landing that finds this commit on the target knows why.
        record.green = Some(commit);
        record.write(course.notes).map_err(LandingHalt::Notes)?;
    }
    Ok(is_red)
}

/// Lands once the earlier landings are over. Meanwhile checks whether the landing is still wanted.
fn loop_until_its_turn(
    worktree: &Worktree,
    target: &str,
    is_given_up: &impl Fn() -> bool,
    mut checks: impl FnMut(&Path) -> Result<bool, LandingHalt>,
) -> Result<Landing, LandError<LandingHalt>> {
    let begun = Instant::now();
    loop {
        if is_given_up() {
            return Err(LandError::Checks(LandingHalt::Stop(LandingStop::GivenUp)));
        }
        let patience = LandingTimeouts { turn: LOOK_EVERY, ..LandingTimeouts::default() };
        match git::land_within(patience, worktree, target, &mut checks) {
            Err(LandError::Worktree(WorktreeError::Lock(LockError::Held { .. })))
                if begun.elapsed() < TURN => {}
            landing => return landing,
        }
    }
}

/// Describes how a landing ended.
fn outcome(
    course: &LandingJob<'_>,
    worktree: &Worktree,
    record: &LandingRecord,
    landing: Landing,
    is_red: Option<String>,
) -> LandingResult {
    let (branch, target, at) = (&worktree.branch, &record.target, worktree.path.display());
    match landing {
        Landing::Landed { commit } => LandingResult::Landed(on_target(branch, target, &commit)),
        Landing::NothingToLand => nothing(worktree, record),
        Landing::Uncommitted { files } => LandingResult::Refused(uncommitted(worktree, &files)),
        Landing::Conflict { files } => LandingResult::Conflict {
            why: format!(
                "branch `{branch}` is in conflict with `{target}` in {}: both changed the same lines; the \
                 branch is unchanged, in {at}",
                listed(&files)
            ),
            commit: git::head(&worktree.path).ok().flatten(),
            files,
        },
        Landing::ChecksFailed { commit } => LandingResult::Refused(format!(
            "the checks are red for branch `{branch}` on top of `{target}` ({}), in {at}:\n{}\n",
            short(&commit),
            is_red.unwrap_or_default()
        )),
        Landing::InTheWay { files } => LandingResult::Refused(format!(
            "`{target}` brings files where {at} has ignored ones, which would be overwritten: {}; move them away",
            listed(&files)
        )),
        Landing::TargetMoved => LandingResult::Hindered(format!(
            "`{target}` got new commits during every attempt, so branch `{branch}` could not land"
        )),
        Landing::TargetDirty { path, files } if is_among(course.tasks, &path, &files) => {
            LandingResult::Refused(format!(
                "branch `{branch}` changes the task file, which Windlass updates itself: leave it out of the \
                 commits"
            ))
        }
        Landing::TargetDirty { path, files } => LandingResult::Hindered(format!(
            "the checkout of `{target}` in {} has changes of its own in files that branch `{branch}` changes: {}; \
             commit or stash them",
            path.display(),
            listed(&files)
        )),
        Landing::TargetBusy { path } => LandingResult::Hindered(format!(
            "`{target}` cannot be moved: it is being rebased in {path}, or that folder is gone; finish that, or \
             `git worktree prune`",
            path = path.display()
        )),
    }
}

fn is_among(file: Option<&Path>, checkout: &Path, files: &[String]) -> bool {
    file.is_some_and(|file| files.iter().any(|name| checkout.join(name) == file))
}

fn on_target(branch: &str, target: &str, commit: &str) -> String {
    format!("branch `{branch}` is on `{target}` now, at {}", short(commit))
}

/// Handles a target that already contains the branch: either there was nothing to land, or a crash came right
/// after the landing.
fn nothing(worktree: &Worktree, record: &LandingRecord) -> LandingResult {
    let head = git::head(&worktree.path).ok().flatten();
    if let Some(commit) = head.filter(|head| record.green.as_ref() == Some(head)) {
        return LandingResult::Landed(on_target(&worktree.branch, &record.target, &commit));
    }
    match git::work(&worktree.path) {
        Ok(files) if files.is_empty() => LandingResult::NothingToLand,
        Ok(files) => LandingResult::Refused(uncommitted(worktree, &files)),
        Err(error) => LandingResult::Hindered(chain(&error)),
    }
}

fn uncommitted(worktree: &Worktree, files: &[String]) -> String {
    format!(
        "the agent left uncommitted changes in {}: {}; only commits land, so it must commit what belongs \
         to the task and remove the rest",
        worktree.path.display(),
        listed(files)
    )
}

fn hindrance(error: &LandError<LandingHalt>) -> LandingResult {
    match error {
        LandError::NoSuchTarget { target } => {
            LandingResult::Hindered(format!("the target branch `{target}` no longer exists; create it again"))
        }
        LandError::NotOnBranch { path, branch } => LandingResult::Refused(format!(
            "{} is no longer on branch `{branch}`, so it is not clear what to land; \
             `git switch` to it there",
            path.display()
        )),
        LandError::InTheMiddle { path, of } => LandingResult::Refused(format!(
            "{} is in the middle of {of}, which somebody began there; finish it or abort it",
            path.display()
        )),
        LandError::ChangedMeanwhile { branch } => LandingResult::Refused(format!(
            "branch `{branch}` got other commits while it was checked: somebody is still at work there"
        )),
        LandError::Checks(_) => LandingResult::Hindered("the checks could not be run".to_owned()),
        LandError::Worktree(error) => LandingResult::Hindered(chain(error)),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// Lists file names on one line, at most [`LISTED`]. Agents choose these names, so control characters are
/// replaced.
pub(super) fn listed(files: &[String]) -> String {
    let plain = |name: &String| -> String {
        name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
    };
    let names: Vec<String> = files.iter().take(LISTED).map(plain).collect();
    let more = files.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}
