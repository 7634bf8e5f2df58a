//! Starts, watches and ends the child: terminate, grace, kill.
//!
//! Signals only the child's own process group. `sweep` finds processes that left the group.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, setsid, wait};
use windlass_core::hook::wire::env;
use windlass_core::launch::{EndedBy, Launch, limit_tag};

use super::folder::Streams;
use super::input::OpenInput;
use crate::os::{self, Signals, Wake, WriteLimit};

/// The interval for checking the output size, if it has a limit.
const OUTPUT_EVERY: Duration = Duration::from_millis(50);

/// The way a child ended.
pub(super) struct ChildExit {
    pub(super) status: WaitStatus,
    pub(super) ended_by: Option<EndedBy>,
    pub(super) too_much_output: bool,
}

/// A child that runs.
pub(super) struct StartedChild {
    pid: Pid,
    /// Its standard input, if that stays open.
    input: Option<OpenInput>,
}

/// Starts the child in a new session, with exactly the environment of the launch file.
pub(super) fn spawn(launch: &Launch, streams: Streams) -> Result<StartedChild, String> {
    let (program, arguments) = launch.argv.split_first().ok_or("there is no program to start")?;
    if !Path::new(&launch.cwd).is_dir() {
        return Err(format!("the working folder {} does not exist", launch.cwd));
    }
    #[expect(clippy::disallowed_methods, reason = "the host starts every long child here and nowhere else")]
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&launch.cwd);
    command.env_clear().envs(launch.env.iter().map(|(name, value)| (name, value)));
    command.env(env::SESSION, &launch.cookie);
    command.stdin(streams.stdin).stdout(streams.stdout).stderr(streams.stderr);
    let limit = write_limit(launch)?;
    run_before_exec(&mut command, getpid(), limit_tag(&launch.cookie), limit);
    let child = command.spawn().map_err(|error| format!("`{program}` could not be started: {error}"))?;
    Ok(StartedChild { pid: Pid::from_child(&child), input: streams.input })
}

/// Makes the limit of the folders in which the child may write. A child without its limit does not start.
fn write_limit(launch: &Launch) -> Result<Option<WriteLimit>, String> {
    let Some(places) = &launch.writes_in else { return Ok(None) };
    if !os::can_limit_writes() {
        return Err("this kernel cannot limit where a program writes (it has no Landlock)".to_owned());
    }
    let limit = WriteLimit::new(places.iter().map(String::as_str));
    limit.map(Some).map_err(|error| format!("cannot limit where the program writes: {error}"))
}

#[expect(unsafe_code, reason = "a session and a parent-death signal can only be set in the child itself")]
fn run_before_exec(command: &mut Command, host: Pid, tag: u64, limit: Option<WriteLimit>) {
    // SAFETY: between fork and exec the closure makes a few system calls; it takes no lock and
    // allocates nothing.
    unsafe {
        command.pre_exec(move || be_born(host, tag, limit.as_ref()));
    }
}

fn be_born(host: Pid, tag: u64, limit: Option<&WriteLimit>) -> io::Result<()> {
    setsid()?;
    os::mark(tag);
    os::end_with_parent(host)?;
    os::unblock_all()?;
    limit.map_or(Ok(()), WriteLimit::apply)
}

/// Waits for the child's end. Ends the child on request, at its deadline, or when it has `printed` too much.
pub(super) fn watch(
    child: StartedChild,
    launch: &Launch,
    born: Instant,
    signals: &Signals,
    printed: &dyn Fn() -> u64,
) -> io::Result<ChildExit> {
    let StartedChild { pid: child, mut input } = child;
    let mut watch = EndWatch {
        child,
        grace: Duration::from_millis(launch.grace_ms),
        timer: launch.deadline_ms.and_then(|ms| born.checked_add(Duration::from_millis(ms))),
        timer_means: EndedBy::Deadline,
        ended_by: None,
        requests: 0,
        output_max: launch.output_max,
        too_much_output: false,
    };
    loop {
        if let Some(status) = reap(child)? {
            let EndWatch { ended_by, too_much_output, .. } = watch;
            return Ok(ChildExit { status, ended_by, too_much_output });
        }
        if watch.output_max.is_some_and(|max| printed() > max) {
            watch.printed_too_much();
        }
        // A child whose input fails sees its end, and may still finish its work.
        let had_input = input.is_some();
        input = input.and_then(|input| input.advance().ok().flatten());
        if had_input
            && input.is_none()
            && let Some(ms) = launch.linger_ms
        {
            watch.input_is_over(Duration::from_millis(ms));
        }
        let ready = input.as_ref().map(OpenInput::ready).unwrap_or_default();
        match signals.wait_beside(watch.patience(), &ready)? {
            Wake::Terminate => watch.asked(),
            Wake::Timeout if watch.is_due() => watch.time_is_over(),
            Wake::Timeout | Wake::Look => {}
        }
    }
}

/// Reaps all ended processes: as a subreaper, the host inherits every orphan below the child.
fn reap(child: Pid) -> io::Result<Option<WaitStatus>> {
    while let Some((pid, status)) = wait(WaitOptions::NOHANG)? {
        if pid == child {
            return Ok(Some(status));
        }
    }
    Ok(None)
}

/// The state of watching and ending the child.
struct EndWatch {
    child: Pid,
    grace: Duration,
    /// The deadline. Once the child is being ended, the end of the grace.
    timer: Option<Instant>,
    /// The reason to end the child when the timer is over.
    timer_means: EndedBy,
    ended_by: Option<EndedBy>,
    requests: u32,
    /// The output limit, or `None` once the child was killed for exceeding it.
    output_max: Option<u64>,
    too_much_output: bool,
}

impl EndWatch {
    /// Returns the time until the next check is needed.
    fn patience(&self) -> Option<Duration> {
        let left = self.timer.map(|timer| timer.saturating_duration_since(Instant::now()));
        match self.output_max {
            Some(_) => Some(left.map_or(OUTPUT_EVERY, |left| left.min(OUTPUT_EVERY))),
            None => left,
        }
    }

    fn is_due(&self) -> bool {
        self.timer.is_some_and(|timer| timer <= Instant::now())
    }

    /// Kills without grace: a child that fills the disk would use the grace to write more.
    fn printed_too_much(&mut self) {
        self.too_much_output = true;
        self.output_max = None;
        self.kill();
    }

    /// Gives a child without input some time to end, within its deadline.
    fn input_is_over(&mut self, linger: Duration) {
        let end = Instant::now().checked_add(linger);
        if self.ended_by.is_none()
            && let Some(end) = end.filter(|end| self.timer.is_none_or(|timer| *end < timer))
        {
            self.timer = Some(end);
            self.timer_means = EndedBy::Linger;
        }
    }

    fn asked(&mut self) {
        self.requests += 1;
        if self.requests > 1 {
            self.kill();
        } else if self.ended_by.is_none() {
            self.terminate(EndedBy::Request);
        }
    }

    fn time_is_over(&mut self) {
        match self.ended_by {
            None => self.terminate(self.timer_means),
            Some(_) => self.kill(),
        }
    }

    fn terminate(&mut self, cause: EndedBy) {
        self.ended_by = Some(cause);
        self.timer = Instant::now().checked_add(self.grace);
        self.signal(Signal::TERM);
        // A stopped child must run to receive the signal.
        self.signal(Signal::CONT);
    }

    fn kill(&mut self) {
        self.timer = None;
        self.signal(Signal::KILL);
    }

    /// Signals the child's group. The child is not reaped meanwhile, so the group id still belongs to it.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.child, signal);
    }
}
