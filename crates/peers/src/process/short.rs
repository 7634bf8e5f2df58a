//! Runs short programs to their end or their deadline, with bounded output. Leaves no process of their
//! group behind.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, waitpid};

use windlass_core::hook::wire::env::{HOST, OWN_PROGRAM};

use super::SpawnError;
use super::adopt::{born, reaped};
use crate::os::{HeldProcess, NewProgram};

/// The environment of a short program.
#[derive(Debug, Clone, Copy)]
pub enum ShortEnv<'a> {
    /// Only these variables.
    Only(&'a [(&'a str, &'a str)]),
    /// The environment of this process without the variables that start with a prefix in `without`, plus
    /// the variables in `with`.
    Inherit {
        /// Prefixes of names to remove.
        without: &'a [&'a str],
        /// Names to keep although they match a prefix.
        but: &'a [&'a str],
        /// Names and values to set.
        with: &'a [(&'a str, &'a str)],
    },
}

#[derive(Debug, Clone, Copy)]
pub struct ShortProgram<'a> {
    /// An absolute path, or a name to find on `PATH`.
    pub program: &'a Path,
    pub args: &'a [&'a OsStr],
    pub cwd: &'a Path,
    pub env: ShortEnv<'a>,
    pub deadline: Duration,
    /// The number of bytes to keep of each output stream.
    pub max_output: usize,
}

/// The exit and the output of a short program.
#[derive(Debug)]
pub struct ProgramOutput {
    /// `None` if a signal ended the program.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Set if output beyond the limit was dropped.
    pub truncated: bool,
    /// Set if Windlass ended the program at its deadline.
    pub timed_out: bool,
}

impl ProgramOutput {
    /// Decides whether the program ended by itself with exit code 0.
    pub fn succeeded(&self) -> bool {
        self.code == Some(0) && !self.timed_out
    }
}

/// The standard input of a short program.
pub(crate) enum ShortInput {
    Nothing,
    File(File),
    Text(Vec<u8>),
}

const GRACE: Duration = Duration::from_millis(500);

/// Runs a short program to its end or its deadline, without input.
pub fn run_short(short: &ShortProgram<'_>) -> Result<ProgramOutput, SpawnError> {
    run_short_fed(short, ShortInput::Nothing)
}

/// Runs a short program with this text on its standard input. The program need not read it.
pub fn run_short_with(short: &ShortProgram<'_>, input: Vec<u8>) -> Result<ProgramOutput, SpawnError> {
    run_short_fed(short, ShortInput::Text(input))
}

/// Runs a short program like [`run_short`], with any input.
pub(crate) fn run_short_fed(
    short: &ShortProgram<'_>,
    input: ShortInput,
) -> Result<ProgramOutput, SpawnError> {
    let failed = |source| SpawnError::Start { program: short.program.to_owned(), source };
    if ENDING.load(Ordering::SeqCst) || is_scope_ended() {
        return Err(failed(io::ErrorKind::Interrupted.into()));
    }
    let (child, pipes) = start(short, input).map_err(failed)?;
    let running = RunningProgram::note(child);
    let watched = watch_short(child, pipes, short);
    drop(running);
    // Whatever happened above, no process of the group may stay behind, and the child must be reaped.
    signal_group(child, Signal::KILL);
    let ended = retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()));
    reaped(child);
    let (_, status) = ended.ok().flatten().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    watched.map(|seen| seen.into_output(status)).map_err(failed)
}

/// Starts a short program. Returns the pipes of its output and its errors.
fn start(short: &ShortProgram<'_>, input: ShortInput) -> io::Result<(Pid, [PipeReader; 2])> {
    let env = env_of(short.env);
    let ((output, theirs), (errors, their_errors)) = (io::pipe()?, io::pipe()?);
    let (stdin, text): (OwnedFd, _) = match input {
        ShortInput::Nothing => (File::open("/dev/null")?.into(), None),
        ShortInput::File(file) => (file.into(), None),
        ShortInput::Text(text) => {
            let (reader, writer) = io::pipe()?;
            (reader.into(), Some((writer, text)))
        }
    };
    let child = born(&NewProgram {
        program: short.program,
        args: short.args,
        env: &env,
        cwd: short.cwd,
        streams: [stdin.as_fd(), theirs.as_fd(), their_errors.as_fd()],
        // The program may run code that an agent wrote (a git hook, a filter), so it is marked as one of a
        // session.
        is_marked: true,
    })?;
    if let Some((mut pipe, text)) = text {
        // In a thread of its own, which nobody waits for: a program that does not read must not outlive its
        // deadline. The write ends when no process has the pipe any more.
        std::thread::spawn(move || pipe.write_all(&text));
    }
    Ok((child, [output, errors]))
}

/// The process groups of the running short programs, and the scope of each.
static RUNNING: Mutex<Vec<(Pid, Option<String>)>> = Mutex::new(Vec::new());

/// The scopes in which no program may start any more.
static ENDED: Mutex<Vec<String>> = Mutex::new(Vec::new());

thread_local! {
    /// The scope in which this thread runs short programs.
    static SCOPE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs a function on this thread in a scope, so that [`end_short_of`] can end its short programs.
pub fn run_short_for<T>(whom: &str, act: impl FnOnce() -> T) -> T {
    let before = SCOPE.replace(Some(whom.to_owned()));
    let result = act();
    SCOPE.replace(before);
    ENDED.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| other != whom);
    result
}

/// Ends the running short programs of a scope and prevents new ones until the scope is over.
pub fn end_short_of(whom: &str) {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let theirs = running.iter().filter(|(_, other)| other.as_deref() == Some(whom));
    let mut is_running = false;
    for (group, _) in theirs {
        is_running = true;
        let _ = kill_process_group(*group, Signal::KILL);
    }
    if is_running {
        ENDED.lock().unwrap_or_else(PoisonError::into_inner).push(whom.to_owned());
    }
}

fn is_scope_ended() -> bool {
    SCOPE.with_borrow(|scope| {
        let ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
        scope.as_ref().is_some_and(|scope| ended.contains(scope))
    })
}

/// Set when this process is ending, so that new programs end at once.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Ends every running short program with its group, and every later one. For a process that was asked to
/// end and would leave them behind.
pub fn end_short() {
    ENDING.store(true, Ordering::SeqCst);
    for (group, _) in RUNNING.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// A running short program. It is listed until its end is seen, so that a reused id is never signalled.
struct RunningProgram(Pid);

impl RunningProgram {
    fn note(child: Pid) -> RunningProgram {
        let whom = SCOPE.with_borrow(Clone::clone);
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push((child, whom));
        if ENDING.load(Ordering::SeqCst) {
            signal_group(child, Signal::KILL);
        }
        RunningProgram(child)
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|(pid, _)| *pid != self.0);
    }
}

/// Returns the environment of a program, each variable once.
fn env_of(env: ShortEnv<'_>) -> Vec<(OsString, OsString)> {
    let (kept, set) = match env {
        ShortEnv::Only(pairs) => (Vec::new(), pairs),
        ShortEnv::Inherit { without, but, with } => {
            let is_kept = |(name, _): &(OsString, OsString)| {
                let begins = |n: &str| without.iter().any(|prefix| n.starts_with(prefix));
                !name.to_str().is_some_and(|n| begins(n) && !but.contains(&n))
            };
            (std::env::vars_os().filter(is_kept).collect(), with)
        }
    };
    // The last of several values counts.
    let mut env: BTreeMap<OsString, OsString> = kept.into_iter().collect();
    env.extend(set.iter().map(|(name, value)| (name.into(), value.into())));
    env.insert(HOST.into(), OWN_PROGRAM.into());
    env.into_iter().collect()
}

#[derive(Default)]
struct SeenOutput {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    truncated: bool,
    timed_out: bool,
}

impl SeenOutput {
    fn into_output(self, status: WaitStatus) -> ProgramOutput {
        ProgramOutput {
            code: status.exit_status(),
            signal: status.terminating_signal(),
            stdout: self.stdout,
            stderr: self.stderr,
            truncated: self.truncated,
            timed_out: self.timed_out,
        }
    }
}

/// Reads until the program has ended and its output is drained. Does not wait for a grandchild that
/// keeps the pipes open.
fn watch_short(
    child: Pid,
    [output, errors]: [PipeReader; 2],
    short: &ShortProgram<'_>,
) -> io::Result<SeenOutput> {
    let mut seen = SeenOutput::default();
    let (mut out, mut err) = (Some(output), Some(errors));
    let ended = HeldProcess::open(child.as_raw_nonzero().get())?;
    let mut until = Instant::now() + short.deadline;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let [has_ended, out_ready, err_ready] = wait_for(
            [Some(ended.as_fd()), out.as_ref().map(AsFd::as_fd), err.as_ref().map(AsFd::as_fd)],
            left,
        )?;
        if out_ready {
            out = read_some(out, &mut seen.stdout, short.max_output, &mut seen.truncated)?;
        }
        if err_ready {
            err = read_some(err, &mut seen.stderr, short.max_output, &mut seen.truncated)?;
        }
        if has_ended && !out_ready && !err_ready {
            return Ok(seen);
        }
        if Instant::now() < until {
            continue;
        }
        if seen.timed_out {
            return Ok(seen);
        }
        seen.timed_out = true;
        until = Instant::now() + GRACE;
        signal_group(child, Signal::TERM);
    }
}

/// Waits until a descriptor is ready or the time is over, and returns which are ready. Leaves out closed
/// pipes, which would always count as ready.
fn wait_for(fds: [Option<BorrowedFd<'_>>; 3], left: Duration) -> io::Result<[bool; 3]> {
    let seconds = i64::try_from(left.as_secs()).unwrap_or(i64::MAX);
    let timeout = Timespec { tv_sec: seconds, tv_nsec: left.subsec_nanos().into() };
    let open = fds.iter().flatten();
    let mut polled: Vec<PollFd<'_>> = open.map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    match poll(&mut polled, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(e) => return Err(e.into()),
    }
    let mut ready = polled.iter().map(|fd| !fd.revents().is_empty());
    Ok(fds.map(|fd| fd.is_some() && ready.next().unwrap_or_default()))
}

/// Reads once and keeps the bytes that fit. Returns the pipe unless it is at its end.
fn read_some<P: Read>(
    pipe: Option<P>,
    kept: &mut Vec<u8>,
    max: usize,
    truncated: &mut bool,
) -> io::Result<Option<P>> {
    let Some(mut pipe) = pipe else { return Ok(None) };
    let mut buffer = [0_u8; 16 * 1024];
    let count = pipe.read(&mut buffer)?;
    let fits = count.min(max.saturating_sub(kept.len()));
    kept.extend_from_slice(buffer.get(..fits).unwrap_or_default());
    *truncated |= fits < count;
    Ok((count > 0).then_some(pipe))
}

fn signal_group(child: Pid, signal: Signal) {
    // Not reaped yet, so the id is still valid. A missing group needs no signal.
    let _ = kill_process_group(child, signal);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh<'a>(args: &'a [&'a OsStr], deadline: Duration, max_output: usize) -> ShortProgram<'a> {
        ShortProgram {
            program: Path::new("/bin/sh"),
            args,
            cwd: Path::new("/"),
            env: ShortEnv::Only(&[("PATH", "/usr/bin:/bin")]),
            deadline,
            max_output,
        }
    }

    fn run(script: &str, deadline: Duration, max: usize) -> ProgramOutput {
        run_short(&sh(&[OsStr::new("-c"), OsStr::new(script)], deadline, max)).unwrap()
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_short_program_gives_both_streams_and_its_code() {
        let output = run("echo out; echo err >&2; exit 3", LONG, 100);
        assert_eq!((output.code, output.stdout, output.stderr), (Some(3), b"out\n".into(), b"err\n".into()));
        assert!(!output.truncated);
    }

    #[test]
    fn output_is_bounded_and_the_rest_drained() {
        let output = run("head -c 1000000 /dev/zero; echo done >&2", LONG, 10);
        assert_eq!((output.code, output.stdout.len(), output.truncated), (Some(0), 10, true));
        assert_eq!(output.stderr, b"done\n");
    }

    #[test]
    fn a_program_that_ignores_terminate_is_killed_at_its_deadline() {
        let began = Instant::now();
        let output = run("trap '' TERM; while :; do sleep 0.05; done", Duration::from_millis(100), 10);
        assert!(output.timed_out && !output.succeeded());
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipe_does_not_keep_us() {
        let began = Instant::now();
        let output = run("sleep 300 & echo hi", LONG, 10);
        assert_eq!(output.stdout, b"hi\n");
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_program_gets_its_input_and_need_not_read_it() {
        let with = |script: &str, input: Vec<u8>| {
            run_short_with(&sh(&[OsStr::new("-c"), OsStr::new(script)], LONG, 100), input).unwrap()
        };
        assert_eq!(with("cat", b"hello".to_vec()).stdout, b"hello");
        let began = Instant::now();
        assert!(with("exit 0", vec![b'x'; 10 << 20]).succeeded());
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_missing_program_is_named() {
        let mut short = sh(&[], LONG, 1);
        short.program = Path::new("/no/such/program");
        let error = run_short(&short).unwrap_err();
        assert_eq!(error.to_string(), "could not start /no/such/program");
    }
}
