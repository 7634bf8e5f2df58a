//! The life of a host, from the lock to the exit file.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::{Pid, setsid};
use windlass_core::launch::{ExitFile, LAUNCH_VERSION, Launch};

use super::child::{self, ChildExit, StartedChild};
use super::crash::{CrashPoints, HostCrashPoint};
use super::folder::ChildFolder;
use super::guard::{self, ForkSide};
use super::sweep;
use crate::os::{self, Cgroup, PidCount, Signals};

/// The exit code if an earlier host died after it started the child: starting again could do the work twice.
const FORMER_HOST_DIED: u8 = 3;
const USAGE: u8 = 2;

/// Runs the host with the arguments after `host`: the child's folder.
pub fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let (Some(folder), None) = (args.next(), args.next()) else {
        complain("usage: windlass host DIR");
        return ExitCode::from(USAGE);
    };
    os::close_inherited();
    match live(&ChildFolder::new(PathBuf::from(&folder))) {
        Ok(exit) => exit,
        Err(error) => {
            complain(&format!("{}: {error}", folder.display()));
            ExitCode::FAILURE
        }
    }
}

fn live(folder: &ChildFolder) -> io::Result<ExitCode> {
    let Some(mut lock) = folder.lock()? else {
        return Ok(ExitCode::SUCCESS);
    };
    if folder.has_ended() {
        return Ok(ExitCode::SUCCESS);
    }
    if folder.has_started() {
        return Ok(ExitCode::from(FORMER_HOST_DIED));
    }
    let signals = stand_alone()?;
    let launch = folder.read_launch();
    let group = launch.as_ref().ok().and_then(|launch| Cgroup::for_child(&launch.cookie));
    if let Ok(launch) = &launch
        && let Some(ForkSide::Guard { host }) = split(folder, group.as_ref())
    {
        return keep_host(host, folder, launch, group.as_ref(), &signals);
    }
    os::adopt_orphans()?;
    lock.sign()?;
    let crash = CrashPoints::from_env();
    crash.pass(HostCrashPoint::Locked);
    let exit = match launch {
        // A child that cannot start is an outcome, not an error of the host.
        Err(why) => not_started(why),
        Ok(launch) => keep_child(folder, &launch, group.as_ref(), &signals, &crash)?,
    };
    folder.write_exit(&exit)?;
    crash.pass(HostCrashPoint::ExitWritten);
    folder.publish_exit()?;
    crash.pass(HostCrashPoint::ExitRenamed);
    Ok(ExitCode::SUCCESS)
}

/// Leaves the engine's session and becomes the parent of every orphan below.
fn stand_alone() -> io::Result<Signals> {
    let signals = Signals::take_over()?;
    // Fails only for a process group leader, and then it is not needed.
    let _ = setsid();
    os::adopt_orphans()?;
    Ok(signals)
}

/// Forks into host and guard, with the host in its own cgroup if possible. Continues without a cgroup or
/// without a guard if one cannot be made.
fn split(folder: &ChildFolder, group: Option<&Cgroup>) -> Option<ForkSide> {
    if let Some(group) = group
        && folder.note_cgroup(group.path()).is_ok()
    {
        // Recorded before it is made, so that a sweep always finds it.
        match group.make().and_then(|made| guard::split(Some(&made))) {
            Ok(side) => return Some(side),
            Err(_) => {
                group.remove();
                folder.forget_cgroup();
            }
        }
    }
    guard::split(None).ok()
}

/// Runs the guard: waits for the host, and ends the remaining processes if the host did not exit normally.
fn keep_host(
    host: Pid,
    folder: &ChildFolder,
    launch: &Launch,
    group: Option<&Cgroup>,
    signals: &Signals,
) -> io::Result<ExitCode> {
    let status = guard::watch(host, signals)?;
    if status.exit_status() != Some(0) {
        clear(launch, group, signals, None)?;
    }
    if let Some(group) = group {
        group.remove();
        folder.forget_cgroup();
    }
    Ok(guard::end_alike(status))
}

/// Ends every process that is left of the child.
fn clear(
    launch: &Launch,
    group: Option<&Cgroup>,
    signals: &Signals,
    since: Option<&PidCount>,
) -> io::Result<()> {
    let grace = Duration::from_millis(launch.grace_ms);
    if !sweep::sweep(&launch.cookie, grace, group, signals, since)? {
        complain("cannot kill every process below the child");
    }
    Ok(())
}

/// Runs the child from start to end.
fn keep_child(
    folder: &ChildFolder,
    launch: &Launch,
    group: Option<&Cgroup>,
    signals: &Signals,
    crash: &CrashPoints,
) -> io::Result<ExitFile> {
    let since = PidCount::now();
    let child = match start(folder, launch, crash)? {
        Ok(child) => child,
        Err(why) => return Ok(not_started(why)),
    };
    crash.pass(HostCrashPoint::Spawned);
    let printed = || folder.printed();
    let ending = child::watch(child, launch, Instant::now(), signals, &printed)?;
    crash.pass(HostCrashPoint::Ended);
    clear(launch, group, signals, since.as_ref())?;
    if ending.too_much_output
        && let Some(max) = launch.output_max
    {
        folder.cut_output(max)?;
    }
    Ok(ended(&ending))
}

fn start(
    folder: &ChildFolder,
    launch: &Launch,
    crash: &CrashPoints,
) -> io::Result<Result<StartedChild, String>> {
    let streams = match folder.open_streams(launch) {
        Ok(streams) => streams,
        Err(why) => return Ok(Err(why)),
    };
    folder.mark_started()?;
    crash.pass(HostCrashPoint::Started);
    Ok(child::spawn(launch, streams))
}

fn not_started(why: String) -> ExitFile {
    ExitFile {
        v: LAUNCH_VERSION,
        code: None,
        signal: None,
        ended_by: None,
        spawn_error: Some(why),
        too_much_output: false,
    }
}

fn ended(ending: &ChildExit) -> ExitFile {
    ExitFile {
        v: LAUNCH_VERSION,
        code: ending.status.exit_status(),
        signal: ending.status.terminating_signal(),
        ended_by: ending.ended_by,
        spawn_error: None,
        too_much_output: ending.too_much_output,
    }
}

/// Writes to the host's standard error.
fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "windlass host: {text}");
}
