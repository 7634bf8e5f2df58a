//! Runs a command line of the workflow's author under a host.
//!
//! A command whose outcome is known from before a crash does not run again. An interrupted command runs again
//! only if its author declares it idempotent; otherwise its outcome is unknown.

use std::path::Path;
use std::sync::Arc;

use windlass_core::event::{Event, ShellEnd};
use windlass_core::id::EffectId;
use windlass_core::launch::{ExitFile, Launch, files as names};
use windlass_core::time::Moment;
use windlass_peers::files;

use super::child::{self, ChildEnd, Errors, HostStarter};
use super::{RunContext, StartFailure};
use crate::clock::now;
use crate::error::RunError;

/// The number of bytes of output to keep.
const OUTPUT_TAIL: u64 = 64 << 10;
/// The maximum number of starts of an interrupted command.
const TRIES: u32 = 5;

/// Permission to run a command again when it may have run already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RerunPolicy {
    May,
    MustNot,
}

/// Runs the command or adopts the running one, and reports how it ended.
pub(super) async fn perform(
    context: Arc<RunContext>,
    effect: EffectId,
    command: String,
    workspace: String,
    idempotent: bool,
    deadline: Option<Moment>,
) {
    let again = if idempotent { RerunPolicy::May } else { RerunPolicy::MustNot };
    if again == RerunPolicy::MustNot && context.is_orphaned(&effect) {
        return context.report(Event::ShellEnded { effect, end: ShellEnd::Unknown }).await;
    }
    let launch = |dir: &Path| Launch {
        deadline_ms: deadline.map(|deadline| deadline.since(now()).max(1)),
        ..child::launch(&context, dir, &command, &workspace, Errors::Apart)
    };
    match run(&HostStarter::of(&context, &effect.node), &context.child_dir(&effect), launch, again).await {
        Ok(end) => context.report(Event::ShellEnded { effect, end }).await,
        Err(error) => context.give_up(error).await,
    }
}

async fn run(
    hosts: &HostStarter<'_>,
    dir: &Path,
    launch: impl Fn(&Path) -> Launch,
    again: RerunPolicy,
) -> Result<ShellEnd, RunError> {
    let mut place = 1;
    for _ in 0..TRIES {
        let dir = dir.join(format!("1-{place}"));
        match child::see_through(hosts, &dir, &launch(&dir)).await {
            Ok(ChildEnd::Exited(exit)) => return Ok(ended(&dir, &exit)),
            Ok(ChildEnd::NotStarted) => {}
            Ok(ChildEnd::Lost) if again == RerunPolicy::May => place += 1,
            Ok(ChildEnd::Lost) => return Ok(ShellEnd::Unknown),
            Err(StartFailure::NoRoom(error)) => return Err(error),
            Err(StartFailure::Failed(how)) => return Ok(failed(how)),
        }
    }
    Ok(failed(format!("cut off {TRIES} times")))
}

fn failed(how: String) -> ShellEnd {
    ShellEnd::Exited { passed: false, how, output: String::new() }
}

fn ended(dir: &Path, exit: &ExitFile) -> ShellEnd {
    let passed = child::has_passed(exit);
    let tail =
        |name: &str, max: u64| files::read_tail(&dir.join(name), max).trim_end_matches('\n').to_owned();
    let output = match passed {
        // Later nodes read this output, so it contains standard output alone.
        true => tail(names::STDOUT, OUTPUT_TAIL),
        // A person or an agent looks for the error here, so it contains both streams.
        false => {
            let both = [names::STDOUT, names::STDERR].map(|name| tail(name, OUTPUT_TAIL / 2));
            both.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
    };
    ShellEnd::Exited { passed, how: child::how(exit), output }
}

#[cfg(test)]
mod tests;
