//! Runs a command line of the workflow's author under a host.
//!
//! One whose outcome is known from before a crash is not run again. One that was cut off is run
//! again only where its author says that it may; otherwise nobody knows what it did, and that is
//! its outcome.

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

/// How much of its output is kept.
const OUTPUT_TAIL: u64 = 64 << 10;
/// How often one that was cut off is begun anew.
const TRIES: u32 = 5;

/// Whether it may be run once more when nobody knows whether it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RerunPolicy {
    May,
    MustNot,
}

/// Runs it, or takes it up, and reports how it ended.
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
        // What others go on with: nothing but what was meant for them.
        true => tail(names::STDOUT, OUTPUT_TAIL),
        // What a person or an agent finds the mistake in.
        false => {
            let both = [names::STDOUT, names::STDERR].map(|name| tail(name, OUTPUT_TAIL / 2));
            both.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
    };
    ShellEnd::Exited { passed, how: child::how(exit), output }
}

#[cfg(test)]
mod tests;
