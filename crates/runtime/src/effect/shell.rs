//! Runs a command line of the workflow's author under a host.
//!
//! A command whose outcome is known from before a crash does not run again. An interrupted command runs again
//! only if its author declares it idempotent; otherwise its outcome is unknown.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use windlass_core::effect::ShellPlan;
use windlass_core::event::{Event, ShellEnd};
use windlass_core::graph::workflow::ShellProgram;
use windlass_core::id::EffectId;
use windlass_core::launch::{ExitFile, Launch, files as names};
use windlass_peers::agent::doctor::find_program;
use windlass_peers::files;

use super::child::{self, ChildEnd, Errors, HostStarter};
use super::{RunContext, StartFailure};
use crate::artifacts::make_mentioned;
use crate::clock::now;
use crate::error::RunError;

/// The number of bytes of output to keep.
const OUTPUT_TAIL: u64 = 64 << 10;
/// The maximum number of bytes of a JSON output. The log keeps it.
const JSON_MAX: u64 = 1 << 20;
/// The file with the standard input of a command.
const STDIN: &str = "stdin";
/// The maximum number of starts of an interrupted command.
const TRIES: u32 = 5;

/// Permission to run a command again when it may have run already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RerunPolicy {
    May,
    MustNot,
}

/// Runs the command or adopts the running one, and reports how it ended.
pub(super) async fn perform(context: Arc<RunContext>, effect: EffectId, plan: ShellPlan) {
    let again = if plan.idempotent { RerunPolicy::May } else { RerunPolicy::MustNot };
    if again == RerunPolicy::MustNot && context.is_orphaned(&effect) {
        return context.report(Event::ShellEnded { effect, end: ShellEnd::Unknown }).await;
    }
    make_mentioned(&context.spec, plan.texts());
    let launch = |dir: &Path| Launch {
        deadline_ms: plan.deadline.map(|deadline| deadline.since(now()).max(1)),
        argv: argv(&context, &plan),
        stdin: plan.stdin.as_ref().map(|_| dir.join(STDIN).display().to_string()),
        ..child::launch(&context, dir, &plan.command, &plan.workspace, &plan.env, Errors::Apart)
    };
    let starter = HostStarter::of(&context, &effect.node);
    match run(&starter, &context.child_dir(&effect), &plan, launch, again).await {
        Ok(end) => context.report(Event::ShellEnded { effect, end }).await,
        Err(error) => context.give_up(error).await,
    }
}

async fn run(
    hosts: &HostStarter<'_>,
    dir: &Path,
    plan: &ShellPlan,
    launch: impl Fn(&Path) -> Launch,
    again: RerunPolicy,
) -> Result<ShellEnd, RunError> {
    let mut place = 1;
    for _ in 0..TRIES {
        let dir = dir.join(format!("1-{place}"));
        if let Err(error) = write_stdin(&dir, plan.stdin.as_deref()) {
            match StartFailure::of(&error, &dir, hosts.exe) {
                StartFailure::NoRoom(error) => return Err(error),
                StartFailure::Failed(how) => return Ok(failed(how)),
            }
        }
        match child::see_through(hosts, &dir, &launch(&dir)).await {
            Ok(ChildEnd::Exited(exit)) => return Ok(ended(&dir, &exit, plan.json)),
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
    ShellEnd::exited(false, how, "")
}

/// Writes the standard input of a command, unless an earlier owner did.
fn write_stdin(dir: &Path, stdin: Option<&str>) -> Result<(), files::FileError> {
    let Some(stdin) = stdin.filter(|_| !dir.join(STDIN).exists()) else { return Ok(()) };
    files::make_private_dir(dir)?;
    files::write_spare(dir, &dir.join(STDIN), files::FileMode::Private, |out| out.write_all(stdin.as_bytes()))
}

/// Returns the program and its arguments.
fn argv(context: &RunContext, plan: &ShellPlan) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match plan.shell {
        ShellProgram::Sh => words(&["/bin/sh", "-c", &plan.command]),
        ShellProgram::Bash => {
            let path = context.home.var("PATH").unwrap_or_default();
            let found = find_program("bash", path, Path::new(&plan.workspace));
            let bash = found.map_or_else(|| "/bin/bash".to_owned(), |bash| bash.display().to_string());
            words(&[&bash, "-euo", "pipefail", "-c", &plan.command])
        }
    }
}

fn ended(dir: &Path, exit: &ExitFile, json: bool) -> ShellEnd {
    let passed = child::has_passed(exit);
    let tail =
        |name: &str, max: u64| files::read_tail(&dir.join(name), max).trim_end_matches('\n').to_owned();
    let how = child::how(exit);
    let printed = tail(names::STDOUT, OUTPUT_TAIL);
    if !passed {
        // A person or an agent looks for the error here, so it contains both streams.
        let both = [names::STDOUT, names::STDERR].map(|name| tail(name, OUTPUT_TAIL / 2));
        let output = both.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        let stdout = (printed != output).then_some(printed);
        return ShellEnd::Exited { passed, how, output, stdout };
    }
    // Later nodes read this output, so it contains standard output alone.
    let size = dir.join(names::STDOUT).metadata().map_or(0, |meta| meta.len());
    if !json || size <= OUTPUT_TAIL {
        return ShellEnd::exited(passed, how, printed);
    }
    match files::read_bounded(&dir.join(names::STDOUT), JSON_MAX) {
        Ok(whole) if size <= JSON_MAX => {
            let stdout = Some(String::from_utf8_lossy(&whole).into_owned());
            ShellEnd::Exited { passed, how, output: printed, stdout }
        }
        _ => ShellEnd::exited(false, format!("its JSON is longer than {} MB", JSON_MAX >> 20), printed),
    }
}

#[cfg(test)]
mod tests;
