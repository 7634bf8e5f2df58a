//! One landing: under which conditions, and what came of it in words.
//!
//! Whatever stands in the way leaves the branch and its worktree where they are, and says so.

use std::path::Path;
use std::time::{Duration, Instant};

use windlass_peers::files::FileError;
use windlass_peers::git::{self, LandError, Landing, LockError, Patience, Removal, Worktree, WorktreeError};

use super::on_a_branch;
use super::record::Record;
use crate::error::{RunError, chain, want_of_room};

/// How long the landings before this one may take, each with its checks.
const TURN: Duration = Duration::from_secs(24 * 3600);
/// How often a landing that waits looks whether anybody still wants it.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// So many files are named.
const LISTED: usize = 10;

/// What is brought back, and to where.
pub(super) struct Course<'a> {
    /// The run's workspace.
    pub(super) repo: &'a Path,
    /// Where it is written down how far it is.
    pub(super) notes: &'a Path,
    /// The branch of the worktree.
    pub(super) branch: &'a str,
}

impl Course<'_> {
    /// It was begun before, and is finished whatever is said meanwhile.
    pub(super) fn is_begun(&self) -> bool {
        Record::read(self.notes).is_some()
    }
}

/// Why a landing came to no end.
#[derive(Debug)]
pub(super) enum Stop {
    /// There is no room; it is begun anew when there is.
    NoRoom(RunError),
    /// Nobody waits for it any more; it is taken up by whoever resumes the run.
    GivenUp,
}

/// Whether the commits are on the target, and how, in words.
type Told = (bool, String);

/// Brings the commits of a branch back. The checks are told the count of the commit they are for,
/// from 0, and say what is red.
pub(super) fn bring_back(
    course: &Course<'_>,
    is_given_up: impl Fn() -> bool,
    mut checks: impl FnMut(u32) -> Result<Option<String>, Stop>,
) -> Result<Told, Stop> {
    let branch = course.branch;
    let mut record = match Record::read(course.notes) {
        Some(record) => record,
        // Written down: a person may be on another branch when it is taken up again.
        None => match on_a_branch(course.repo) {
            Ok(target) => Record::new(target),
            Err(why) => return no(format!("{why}. {}", kept(branch))),
        },
    };
    if let Err(error) = record.write(course.notes) {
        return failed(branch, &error, course);
    }
    let worktree = match find(course) {
        Ok(worktree) => worktree,
        Err(error) => return failed(branch, &error, course),
    };
    if let Some(what) = &record.landed {
        put_away(worktree.as_ref(), &record.target);
        return Ok((true, what.clone()));
    }
    let Some(worktree) = worktree else {
        return no(format!(
            "branch `{branch}` has no worktree any more, so that it cannot be brought back; what it holds is left \
             as it is"
        ));
    };
    let mut is_red = None;
    let target = record.target.clone();
    let landing = loop_until_its_turn(&worktree, &target, &is_given_up, |path| {
        is_red = check(course, &mut record, path, &mut checks)?;
        Ok(is_red.is_none())
    });
    let landing = match landing {
        Ok(landing) => landing,
        Err(LandError::Checks(Halt::Stop(stop))) => return Err(stop),
        Err(LandError::Checks(Halt::Notes(error))) => return failed(branch, &error, course),
        Err(LandError::Worktree(error)) => return failed(branch, &error, course),
        Err(error) => return no(format!("{}. {}", hindrance(&error), kept(branch))),
    };
    let what = match outcome(&worktree, &record, landing, is_red) {
        Ok(what) => what,
        Err(why) => return no(format!("{why}. {}", kept(branch))),
    };
    record.landed = Some(what.clone());
    // Only then is it known after a crash where a worktree went that is not there.
    if record.write(course.notes).is_ok() {
        put_away(Some(&worktree), &target);
    }
    Ok((true, what))
}

/// Leaves a branch where it is, and says where; one without any work is put away.
pub(super) fn keep_out(course: &Course<'_>, why: String) -> String {
    let Ok(Some(worktree)) = find(course) else { return why };
    let target = on_a_branch(course.repo).ok();
    let removed = target.and_then(|target| git::remove(&worktree, &target).ok());
    match removed {
        Some(Removal::Removed) => why,
        _ => {
            let (branch, at) = (course.branch, worktree.path.display());
            let join = if why.contains('\n') { "\n" } else { ". " };
            format!("{why}{join}What was done is kept on branch `{branch}`, in {at}")
        }
    }
}

fn no(why: String) -> Result<Told, Stop> {
    Ok((false, why))
}

fn kept(branch: &str) -> String {
    format!("Branch `{branch}` is kept with all its commits")
}

fn failed(
    branch: &str,
    error: &(dyn std::error::Error + 'static),
    course: &Course<'_>,
) -> Result<Told, Stop> {
    match want_of_room(error, course.notes) {
        Some(error) => Err(Stop::NoRoom(error)),
        None => no(format!("branch `{branch}` cannot be brought back: {}. {}", chain(error), kept(branch))),
    }
}

fn find(course: &Course<'_>) -> Result<Option<Worktree>, WorktreeError> {
    Ok(git::list(course.repo)?.into_iter().find(|worktree| worktree.branch == course.branch))
}

/// Takes the worktree away, and the branch with it. What holds work is kept by the library.
fn put_away(worktree: Option<&Worktree>, target: &str) {
    if let Some(worktree) = worktree {
        // Its commits are where they belong: what is left lies there for a person to look at.
        let _ = git::remove(worktree, target);
    }
}

/// What ends a landing in the middle of its checks.
enum Halt {
    Stop(Stop),
    Notes(FileError),
}

fn check(
    course: &Course<'_>,
    record: &mut Record,
    path: &Path,
    checks: &mut impl FnMut(u32) -> Result<Option<String>, Stop>,
) -> Result<Option<String>, Halt> {
    let commit = git::head(path).ok().flatten().unwrap_or_default();
    let round = record.round_of(&commit);
    record.write(course.notes).map_err(Halt::Notes)?;
    let is_red = checks(round).map_err(Halt::Stop)?;
    if is_red.is_none() {
        // Whoever finds it on the target after a crash knows that it was brought there.
        record.green = Some(commit);
        record.write(course.notes).map_err(Halt::Notes)?;
    }
    Ok(is_red)
}

/// Lands when the landings before it are over, and looks meanwhile whether it is still wanted.
fn loop_until_its_turn(
    worktree: &Worktree,
    target: &str,
    is_given_up: &impl Fn() -> bool,
    mut checks: impl FnMut(&Path) -> Result<bool, Halt>,
) -> Result<Landing, LandError<Halt>> {
    let begun = Instant::now();
    loop {
        if is_given_up() {
            return Err(LandError::Checks(Halt::Stop(Stop::GivenUp)));
        }
        let patience = Patience { turn: LOOK_EVERY, ..Patience::default() };
        match git::land_within(patience, worktree, target, &mut checks) {
            Err(LandError::Worktree(WorktreeError::Lock(LockError::Held { .. })))
                if begun.elapsed() < TURN => {}
            landing => return landing,
        }
    }
}

/// How it was brought back, or what stood in the way.
fn outcome(
    worktree: &Worktree,
    record: &Record,
    landing: Landing,
    is_red: Option<String>,
) -> Result<String, String> {
    let (branch, target, at) = (&worktree.branch, &record.target, worktree.path.display());
    Err(match landing {
        Landing::Landed { commit } => return Ok(on_target(branch, target, &commit)),
        Landing::NothingToLand => return nothing(worktree, record),
        Landing::Uncommitted { files } => uncommitted(worktree, &files),
        Landing::Conflict { files } => format!(
            "branch `{branch}` is in conflict with `{target}` in {}: both changed the same; it was left as it \
             was, in {at}",
            listed(&files)
        ),
        Landing::ChecksFailed { commit } => format!(
            "the checks are red for branch `{branch}` on top of `{target}` ({}), in {at}:\n{}\n",
            short(&commit),
            is_red.unwrap_or_default()
        ),
        Landing::InTheWay { files } => format!(
            "`{target}` brings files where {at} has ignored ones, which would be overwritten: {}; move them away",
            listed(&files)
        ),
        Landing::TargetMoved => {
            format!(
                "`{target}` got new commits at every try, so that branch `{branch}` never was on top of it"
            )
        }
        Landing::TargetDirty { path, files } => format!(
            "the checkout of `{target}` in {} has changes of its own in files that branch `{branch}` changes: {}; \
             commit them or put them away",
            path.display(),
            listed(&files)
        ),
        Landing::TargetBusy { path } => format!(
            "`{target}` cannot be moved: it is being rebased in {path}, or that folder is gone; finish that, or \
             `git worktree prune`",
            path = path.display()
        ),
    })
}

fn on_target(branch: &str, target: &str, commit: &str) -> String {
    format!("branch `{branch}` is on `{target}` now, at {}", short(commit))
}

/// The target has all of the branch: as there was nothing, or as it was brought there just before
/// a crash.
fn nothing(worktree: &Worktree, record: &Record) -> Result<String, String> {
    let head = git::head(&worktree.path).ok().flatten();
    if let Some(commit) = head.filter(|head| record.green.as_ref() == Some(head)) {
        return Ok(on_target(&worktree.branch, &record.target, &commit));
    }
    match git::changes(&worktree.path) {
        Ok(files) if files.is_empty() => Ok("nothing to bring back".to_owned()),
        Ok(files) => Err(uncommitted(worktree, &files)),
        Err(error) => Err(chain(&error)),
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

fn hindrance(error: &LandError<Halt>) -> String {
    match error {
        LandError::NoSuchTarget { target } => {
            format!("`{target}`, where the commits were to go, is no branch any more; make it again")
        }
        LandError::NotOnBranch { path, branch } => format!(
            "{} is no longer on branch `{branch}`, so that it is not known what is to be brought back; \
             `git switch` to it there",
            path.display()
        ),
        LandError::InTheMiddle { path, of } => {
            format!(
                "{} is in the middle of {of}, which somebody began there; finish it or abort it",
                path.display()
            )
        }
        LandError::ChangedMeanwhile { branch } => {
            format!(
                "branch `{branch}` got other commits while it was checked: somebody is still at work there"
            )
        }
        LandError::Checks(_) => "the checks could not be run".to_owned(),
        LandError::Worktree(error) => chain(error),
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
