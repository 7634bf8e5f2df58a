//! Runs the checks of a turn, one after the other, each under a host of its own.
//!
//! A check whose outcome is known from before a crash is not run again; one that was cut off
//! always is.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use windlass_core::event::Event;
use windlass_core::id::EffectId;
use windlass_core::launch::files as names;
use windlass_core::looping::verdict::{CheckResult, red};
use windlass_core::spec::Check;
use windlass_peers::{files, git};

use super::child::{self, ChildEnd, Errors, HostStarter};
use super::{RunContext, StartFailure};
use crate::error::RunError;
use crate::supervise::blocking;

/// How much of a check's output goes into the next prompt.
const OUTPUT_TAIL: u64 = 6_000;
/// How often a check that was cut off is begun anew.
const TRIES: u32 = 5;

/// Runs all checks and reports their results.
pub(super) async fn perform(
    context: Arc<RunContext>,
    effect: EffectId,
    names: Vec<String>,
    workspace: String,
) {
    let is_named = |check: &&Check| names.is_empty() || names.contains(&check.name);
    let checks: Vec<Check> = context.spec.checks.iter().filter(is_named).cloned().collect();
    let is_all = checks.len() == context.spec.checks.len();
    let commit = if is_all { commit_to_be_checked(&context, &effect, &workspace).await } else { None };
    let (name, folder) = (effect.to_string(), PathBuf::from(&workspace));
    // What cannot be noted is not known to be the checks' own, and is kept as somebody's work.
    drop(blocking(move || git::checks_begin(&folder, &name)).await);
    let ended = run_all(&context, &effect, &checks, &workspace).await;
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

/// The commit that checks in a worktree are about to say something of. Nothing where some may have
/// run before a crash: they may have been about another one.
async fn commit_to_be_checked(context: &RunContext, effect: &EffectId, workspace: &str) -> Option<String> {
    if workspace == context.spec.workspace || context.child_dir(effect).exists() {
        return None;
    }
    let folder = PathBuf::from(workspace);
    blocking(move || commit_alone(&folder)).await
}

/// The commit a folder is at, if it holds nothing else.
fn commit_alone(folder: &Path) -> Option<String> {
    git::changes(folder).ok().filter(Vec::is_empty)?;
    git::head(folder).ok().flatten()
}

/// Whether all checks were green here on the very commit that the worktree is at. What is
/// forgotten in a crash is only checked once more.
pub(super) fn are_known_to_be_green(context: &RunContext, workspace: &str) -> bool {
    let known = context.green.lock().unwrap_or_else(PoisonError::into_inner).get(workspace).cloned();
    let folder = Path::new(workspace);
    known.is_some()
        && known == git::head(folder).ok().flatten()
        && git::work(folder).is_ok_and(|files| files.is_empty())
}

/// Runs these checks in a folder, one after the other.
pub(super) async fn run_all(
    context: &RunContext,
    effect: &EffectId,
    checks: &[Check],
    workspace: &str,
) -> Result<Vec<CheckResult>, RunError> {
    let mut results = Vec::new();
    for (place, check) in checks.iter().enumerate() {
        results.push(run(context, effect, place, check, workspace).await?);
    }
    Ok(results)
}

async fn run(
    context: &RunContext,
    effect: &EffectId,
    place: usize,
    check: &Check,
    workspace: &str,
) -> Result<CheckResult, RunError> {
    for attempt in 1..=TRIES {
        let dir = context.child_dir(effect).join(format!("{}-{attempt}", place + 1));
        let mut launch = child::launch(context, &dir, &check.command, workspace, Errors::Merged);
        launch.deadline_ms = Some(context.spec.limits.check_ms);
        match child::see_through(&HostStarter::of(context, &effect.node), &dir, &launch).await {
            Ok(ChildEnd::Exited(exit)) => {
                let output = files::read_tail(&dir.join(names::STDOUT), OUTPUT_TAIL);
                return Ok(result(check, child::has_passed(&exit), child::how(&exit), output));
            }
            Ok(ChildEnd::Lost | ChildEnd::NotStarted) => {}
            Err(StartFailure::NoRoom(error)) => return Err(error),
            Err(StartFailure::Failed(what)) => return Ok(result(check, false, what, String::new())),
        }
    }
    Ok(result(check, false, format!("cut off {TRIES} times"), String::new()))
}

fn result(check: &Check, passed: bool, how: String, output: String) -> CheckResult {
    CheckResult { name: check.name.clone(), passed, how, output }
}
