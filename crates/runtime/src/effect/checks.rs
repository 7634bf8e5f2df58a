//! Runs checks one after the other, each under its own host.
//!
//! A check whose outcome is known from before a crash does not run again; an interrupted check always does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use windlass_core::event::Event;
use windlass_core::hook::first_program;
use windlass_core::id::EffectId;
use windlass_core::launch::{ExitFile, Launch, files as names};
use windlass_core::looping::same_error::error_digest;
use windlass_core::looping::verdict::{CheckResult, red};
use windlass_core::spec::Check;
use windlass_peers::agent::doctor::find_program;
use windlass_peers::{files, git};

use super::child::{self, ChildEnd, Errors, HostStarter};
use super::{RunContext, StartFailure};
use crate::artifacts::make_mentioned;
use crate::error::RunError;
use crate::supervise::blocking;

/// The number of bytes of a check's output that go into the next prompt.
const OUTPUT_TAIL: u64 = 6_000;
/// The maximum number of starts of an interrupted check.
const TRIES: u32 = 5;

/// Runs the checks and reports their results.
pub(super) async fn perform(
    context: Arc<RunContext>,
    effect: EffectId,
    names: Vec<String>,
    workspace: String,
    env: BTreeMap<String, String>,
) {
    make_mentioned(&context.spec, env.values().map(String::as_str));
    let is_named = |check: &&Check| names.is_empty() || names.contains(&check.name);
    let checks: Vec<Check> = context.spec.checks.iter().filter(is_named).cloned().collect();
    let is_all = checks.len() == context.spec.checks.len();
    let commit = if is_all { commit_to_be_checked(&context, &effect, &workspace).await } else { None };
    let (name, folder) = (effect.to_string(), PathBuf::from(&workspace));
    // If this fails, files that the checks write count as somebody's work and are kept.
    drop(blocking(move || git::checks_begin(&folder, &name)).await);
    let ended = run_all(&context, &effect, &checks, &workspace, &env).await;
    let folder = PathBuf::from(&workspace);
    drop(blocking(move || git::checks_end(&folder)).await);
    match ended {
        Ok(results) => {
            if let Some(commit) = commit.filter(|_| red(&results).is_none()) {
                context.green.lock().unwrap_or_else(PoisonError::into_inner).insert(workspace, commit);
            }
            context.report(Event::ChecksFinished { effect, results }).await;
        }
        Err(error) => context.give_up(error).await,
    }
}

/// Returns the commit that the checks are about to test. Returns nothing if some checks may have run before a
/// crash, because they may have tested another commit.
async fn commit_to_be_checked(context: &RunContext, effect: &EffectId, workspace: &str) -> Option<String> {
    if workspace == context.spec.workspace || context.child_dir(effect).exists() {
        return None;
    }
    let folder = PathBuf::from(workspace);
    blocking(move || commit_alone(&folder)).await
}

/// Returns the commit of a folder without uncommitted changes.
fn commit_alone(folder: &Path) -> Option<String> {
    git::changes(folder).ok().filter(Vec::is_empty)?;
    git::head(folder).ok().flatten()
}

/// Decides whether all checks passed on the commit that the worktree is at. A crash loses this knowledge, and
/// the checks run once more.
pub(super) fn are_known_to_be_green(context: &RunContext, workspace: &str) -> bool {
    let known = context.green.lock().unwrap_or_else(PoisonError::into_inner).get(workspace).cloned();
    let folder = Path::new(workspace);
    known.is_some()
        && known == git::head(folder).ok().flatten()
        && git::work(folder).is_ok_and(|files| files.is_empty())
}

/// Runs checks in a folder, one after the other.
pub(super) async fn run_all(
    context: &RunContext,
    effect: &EffectId,
    checks: &[Check],
    workspace: &str,
    env: &BTreeMap<String, String>,
) -> Result<Vec<CheckResult>, RunError> {
    let mut results = Vec::new();
    for (place, check) in checks.iter().enumerate() {
        results.push(run(context, effect, place, check, workspace, env).await?);
    }
    Ok(results)
}

async fn run(
    context: &RunContext,
    effect: &EffectId,
    place: usize,
    check: &Check,
    workspace: &str,
    env: &BTreeMap<String, String>,
) -> Result<CheckResult, RunError> {
    for attempt in 1..=TRIES {
        let dir = context.child_dir(effect).join(format!("{}-{attempt}", place + 1));
        let mut launch = child::launch(context, &dir, &check.command, workspace, env, Errors::Merged);
        launch.deadline_ms = Some(context.spec.limits.check_ms);
        match child::see_through(&HostStarter::of(context, &effect.node), &dir, &launch).await {
            Ok(ChildEnd::Exited(exit)) => {
                let output = files::read_tail(&dir.join(names::STDOUT), OUTPUT_TAIL);
                let cannot_start = cannot_start(check, &exit, &launch);
                return Ok(CheckResult { cannot_start, ..judged(check, &exit, output) });
            }
            Ok(ChildEnd::Lost | ChildEnd::NotStarted) => {}
            Err(StartFailure::NoRoom(error)) => return Err(error),
            Err(StartFailure::Failed(what)) => return Ok(result(check, false, what, String::new())),
        }
    }
    Ok(result(check, false, format!("cut off {TRIES} times"), String::new()))
}

/// Describes the end of a check that ran.
fn judged(check: &Check, exit: &ExitFile, output: String) -> CheckResult {
    let (passed, how) = (child::has_passed(exit), child::how(exit));
    let error = if passed { None } else { error_digest(&how, &output) };
    CheckResult { error, ..result(check, passed, how, output) }
}

/// Decides whether the shell could not start the command itself. A command that did start may end with the
/// same exit codes, because it starts a program that the agent has not built yet.
fn cannot_start(check: &Check, exit: &ExitFile, launch: &Launch) -> bool {
    if exit.ended_by.is_some() || !matches!(exit.code, Some(126 | 127)) {
        return false;
    }
    let path = launch.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path);
    let (Some(program), Some(path)) = (first_program(&check.command), path) else { return false };
    let folder = Path::new(&launch.cwd);
    // The shell looks into relative folders of the `PATH`, too.
    let folders = std::env::split_paths(path).map(|dir| folder.join(dir));
    let path = std::env::join_paths(folders).unwrap_or_default();
    path.to_str().is_some_and(|path| find_program(&program, path, folder).is_none())
}

fn result(check: &Check, passed: bool, how: String, output: String) -> CheckResult {
    CheckResult { name: check.name.clone(), passed, how, output, ..CheckResult::default() }
}
