//! One landing: under which conditions, and what came of it in words.
//!
//! Whatever stands in the way leaves the branch and its worktree where they are, and says so.

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

/// How long the landings before this one may take, each with its checks.
const TURN: Duration = Duration::from_secs(24 * 3600);
/// How often a landing that waits looks whether anybody still wants it.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// So many files are named.
const LISTED: usize = 10;

/// What is brought back, and to where.
pub(super) struct LandingJob<'a> {
    /// The run's workspace.
    pub(super) repo: &'a Path,
    /// Where it is written down how far it is.
    pub(super) notes: &'a Path,
    /// The branch of the worktree.
    pub(super) branch: &'a str,
    /// The branch it goes to; that of the workspace where none is named.
    pub(super) target: Option<&'a str>,
    /// The file of the tasks.
    pub(super) tasks: Option<&'a Path>,
}

impl LandingJob<'_> {
    /// It was begun before, and is finished whatever is said meanwhile.
    pub(super) fn is_begun(&self) -> bool {
        LandingRecord::read(self.notes).is_some()
    }

    fn target(&self) -> Result<String, String> {
        self.target.map_or_else(|| on_a_branch(self.repo), |target| Ok(target.to_owned()))
    }
}

/// Why a landing came to no end.
#[derive(Debug)]
pub(super) enum LandingStop {
    /// There is no room, or git is killed again and again; it is begun anew when that is over.
    ForNow(RunError),
    /// Nobody waits for it any more; it is taken up by whoever resumes the run.
    GivenUp,
}

/// What came of a landing, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LandingResult {
    /// The commits are on the target.
    Landed(String),
    /// They are not, for something that another try can do better.
    Refused(String),
    /// They are not, for something that only a person can put right.
    Hindered(String),
}

impl LandingResult {
    /// The same, with one more sentence.
    fn and(self, more: &str) -> LandingResult {
        match self {
            LandingResult::Landed(what) => LandingResult::Landed(what),
            LandingResult::Refused(what) => LandingResult::Refused(joined(&what, more)),
            LandingResult::Hindered(what) => LandingResult::Hindered(joined(&what, more)),
        }
    }

    /// Says to a person how what was done can still be had.
    pub(super) fn with_the_way_out(self, branch: &str, task: &TaskId) -> LandingResult {
        let LandingResult::Hindered(why) = self else { return self };
        let way = format!(
            "When that is put right, `git merge {branch}` and `windlass tasks set {task} done` bring it back; to run \
             again does the task anew"
        );
        LandingResult::Hindered(joined(&why, &way))
    }

    /// The fact for the log.
    pub(super) fn event(self, effect: EffectId) -> Event {
        let end = match self {
            LandingResult::Landed(what) => LandingEnd::Landed { what },
            LandingResult::Refused(why) => LandingEnd::Refused { why },
            LandingResult::Hindered(why) => LandingEnd::Hindered { why },
        };
        Event::Landed { effect, end }
    }
}

/// Two sentences, however the first one ends.
fn joined(why: &str, more: &str) -> String {
    let why = why.trim_end().trim_end_matches('.');
    let join = if why.contains('\n') { "\n" } else { ". " };
    format!("{why}{join}{more}")
}

/// Brings the commits of a branch back. The checks are told the count of the commit they are for,
/// from 0, and say what is red.
pub(super) fn bring_back(
    course: &LandingJob<'_>,
    is_given_up: impl Fn() -> bool,
    mut checks: impl FnMut(u32) -> Result<Option<String>, LandingStop>,
) -> Result<LandingResult, LandingStop> {
    let branch = course.branch;
    let mut record = match LandingRecord::read(course.notes) {
        Some(record) => record,
        // Written down: a person may be on another branch when it is taken up again.
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
        return Ok(LandingResult::Landed(what.clone()));
    }
    let Some(worktree) = worktree else {
        return Ok(LandingResult::Refused(format!(
            "branch `{branch}` has no worktree any more, so that it cannot be brought back; what it holds is left \
             as it is"
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
    let what = match outcome(course, &worktree, &record, landing, is_red) {
        LandingResult::Landed(what) => what,
        told => return Ok(told.and(&kept(course))),
    };
    record.landed = Some(what.clone());
    // Only then is it known after a crash where a worktree went that is not there.
    if record.write(course.notes).is_ok() {
        remove_worktree(Some(&worktree), &target);
    }
    Ok(LandingResult::Landed(what))
}

/// Leaves a branch where it is, and says where; one without any work is put away.
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
            joined(&why, &format!("What was done is kept on branch `{branch}`, in {at}"))
        }
    }
}

/// That a worktree is none any more, since its agent took away what ties it to the repository: git
/// would look for one in the folders above it.
fn cut_off(worktree: &Worktree) -> Option<String> {
    let link = worktree.path.join(".git");
    link.symlink_metadata().is_err().then(|| {
        format!("{} was removed, so that git knows nothing of that folder: leave it there", link.display())
    })
}

/// Where the commits are: an agent may have renamed its branch, or left it.
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

/// What an agent committed somewhere else than on its branch.
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
            "What was committed there is {at}, at {}, and not on branch `{}`",
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

/// What git or the disk says is nothing that an agent did.
fn failed(
    error: &(dyn std::error::Error + 'static),
    course: &LandingJob<'_>,
) -> Result<LandingResult, LandingStop> {
    if let Some(error) = passing(error, course.notes) {
        return Err(LandingStop::ForNow(error));
    }
    let why = format!("branch `{}` cannot be brought back: {}", course.branch, chain(error));
    Ok(LandingResult::Hindered(joined(&why, &kept(course))))
}

fn find(course: &LandingJob<'_>) -> Result<Option<Worktree>, WorktreeError> {
    Ok(git::list(course.repo)?.into_iter().find(|worktree| worktree.branch == course.branch))
}

/// Takes the worktree away, and the branch with it. What holds work is kept by the library.
fn remove_worktree(worktree: Option<&Worktree>, target: &str) {
    if let Some(worktree) = worktree {
        // Its commits are where they belong: what is left lies there for a person to look at.
        let _ = git::remove(worktree, target);
    }
}

/// What ends a landing in the middle of its checks.
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
        // Whoever finds it on the target after a crash knows that it was brought there.
        record.green = Some(commit);
        record.write(course.notes).map_err(LandingHalt::Notes)?;
    }
    Ok(is_red)
}

/// Lands when the landings before it are over, and looks meanwhile whether it is still wanted.
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

/// How it was brought back, or what stood in the way.
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
        Landing::Conflict { files } => LandingResult::Refused(format!(
            "branch `{branch}` is in conflict with `{target}` in {}: both changed the same; it was left as it \
             was, in {at}",
            listed(&files)
        )),
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
            "`{target}` got new commits at every try, so that branch `{branch}` never was on top of it"
        )),
        Landing::TargetDirty { path, files } if is_among(course.tasks, &path, &files) => {
            LandingResult::Refused(format!(
                "branch `{branch}` changes the file of the tasks, which is written for it: leave that out of the \
                 commits"
            ))
        }
        Landing::TargetDirty { path, files } => LandingResult::Hindered(format!(
            "the checkout of `{target}` in {} has changes of its own in files that branch `{branch}` changes: {}; \
             commit them or put them away",
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

/// The target has all of the branch: as there was nothing, or as it was brought there just before
/// a crash.
fn nothing(worktree: &Worktree, record: &LandingRecord) -> LandingResult {
    let head = git::head(&worktree.path).ok().flatten();
    if let Some(commit) = head.filter(|head| record.green.as_ref() == Some(head)) {
        return LandingResult::Landed(on_target(&worktree.branch, &record.target, &commit));
    }
    match git::work(&worktree.path) {
        Ok(files) if files.is_empty() => LandingResult::Landed("nothing to bring back".to_owned()),
        Ok(files) => LandingResult::Refused(uncommitted(worktree, &files)),
        Err(error) => LandingResult::Hindered(chain(&error)),
    }
}

fn uncommitted(worktree: &Worktree, files: &[String]) -> String {
    format!(
        "the agent left uncommitted changes in {}: {}; only commits are brought back, so it must commit what belongs \
         to the task and put the rest away",
        worktree.path.display(),
        listed(files)
    )
}

fn hindrance(error: &LandError<LandingHalt>) -> LandingResult {
    match error {
        LandError::NoSuchTarget { target } => LandingResult::Hindered(format!(
            "`{target}`, where the commits were to go, is no branch any more; make it again"
        )),
        LandError::NotOnBranch { path, branch } => LandingResult::Refused(format!(
            "{} is no longer on branch `{branch}`, so that it is not known what is to be brought back; \
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

/// Names of files, which are anybody's: on one line, and not all of very many.
fn listed(files: &[String]) -> String {
    let plain = |name: &String| -> String {
        name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
    };
    let names: Vec<String> = files.iter().take(LISTED).map(plain).collect();
    let more = files.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}
