//! Runs the checks of a turn, one after the other, each under a host of its own.
//!
//! A check whose outcome is known from before a crash is not run again; one that was cut off
//! always is.

use std::path::Path;
use std::sync::Arc;

use crate::error::RunError;
use windlass_core::event::Event;
use windlass_core::id::EffectId;
use windlass_core::launch::{EndedBy, Exit, LAUNCH_VERSION, Launch, files as names};
use windlass_core::looping::verdict::CheckResult;
use windlass_core::spec::Check;
use windlass_peers::agent::claude::launch::plain_env;
use windlass_peers::child::{ChildState, child_state, sweep_cookie};
use windlass_peers::files;
use windlass_peers::process::start_host;
use windlass_peers::tail::TailEvent;

use super::{Ground, Unstarted};

/// How much of a check's output goes into the next prompt.
const OUTPUT_TAIL: u64 = 6_000;
/// What a check may print before it is taken for one that never ends.
const OUTPUT_MAX_MB: u64 = 64;
/// How often a check that was cut off is begun anew.
const TRIES: u32 = 5;

/// Runs all checks and reports their results.
pub(super) async fn perform(ground: Arc<Ground>, effect: EffectId) {
    let mut results = Vec::new();
    for (place, check) in ground.spec.checks.iter().enumerate() {
        match run(&ground, &effect, place, check).await {
            Ok(result) => results.push(result),
            Err(error) => return ground.give_up(error).await,
        }
    }
    ground.report(Event::ChecksFinished { effect, results }).await;
}

async fn run(
    ground: &Ground,
    effect: &EffectId,
    place: usize,
    check: &Check,
) -> Result<CheckResult, RunError> {
    for attempt in 1..=TRIES {
        let dir = ground.child_dir(effect).join(format!("{}-{attempt}", place + 1));
        let exit = match child_state(&dir) {
            ChildState::Ended(exit) => Some(exit),
            ChildState::Lost => None,
            ChildState::NotStarted | ChildState::Running { .. } => match one_try(ground, &dir, check).await {
                Ok(exit) => exit,
                Err(Unstarted::NoRoom(error)) => return Err(error),
                Err(Unstarted::Failed(what)) => return Ok(result(check, false, what, String::new())),
            },
        };
        if let Some(exit) = exit {
            // It held the environment, and with it perhaps keys.
            let _ = std::fs::remove_file(dir.join(names::LAUNCH));
            let output = files::read_tail(&dir.join(names::STDOUT), OUTPUT_TAIL);
            return Ok(result(check, exit.code == Some(0), how(&exit), output));
        }
    }
    Ok(result(check, false, format!("cut off {TRIES} times"), String::new()))
}

/// One try: its exit, or nothing when its host died.
async fn one_try(ground: &Ground, dir: &Path, check: &Check) -> Result<Option<Exit>, Unstarted> {
    let cookie = ground.cookie(&ground.child_name(dir).unwrap_or_default());
    let host = match child_state(dir) {
        ChildState::NotStarted => Some(
            start_host(&ground.exe, dir, &launch(ground, cookie.clone(), check), &ground.home.crash_env())
                .map_err(|error| Unstarted::of(&error, dir))?,
        ),
        _ => None,
    };
    let mut events = ground.watcher.watch(dir, 0, host);
    while let Some(event) = events.recv().await {
        if let TailEvent::Ended(ChildState::Ended(exit)) = event {
            return Ok(Some(exit));
        }
    }
    sweep_cookie(&cookie);
    Ok(None)
}

fn launch(ground: &Ground, cookie: String, check: &Check) -> Launch {
    Launch {
        v: LAUNCH_VERSION,
        cookie,
        argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), check.command.clone()],
        env: plain_env(&ground.home.env, &ground.run),
        cwd: ground.spec.workspace.clone(),
        stdin: None,
        deadline_ms: Some(ground.spec.limits.check_ms),
        grace_ms: ground.spec.limits.grace_ms,
        merge_stderr: true,
        output_max: Some(OUTPUT_MAX_MB << 20),
    }
}

fn how(exit: &Exit) -> String {
    if exit.too_much_output {
        return format!("printed more than {OUTPUT_MAX_MB} MB and was ended");
    }
    match (exit.ended_by, exit.code, exit.signal) {
        (Some(EndedBy::Deadline), ..) => "timed out".to_owned(),
        (Some(EndedBy::Request), ..) => "stopped".to_owned(),
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None, None) => exit.spawn_error.clone().unwrap_or_else(|| "unknown end".to_owned()),
    }
}

fn result(check: &Check, passed: bool, how: String, output: String) -> CheckResult {
    CheckResult { name: check.name.clone(), passed, how, output }
}
