//! Runs other programs for the sim: hooks and tools. No other module starts programs.
//!
//! Each runs in its own session, like the tools of the real CLI. Input and output are files in memory: no
//! program blocks on a full pipe, and no grandchild can keep one open.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::signals::{self, StopRequest};
use crate::os::{memory_file, pin};

/// The limit of output to read, in bytes.
const MAX_OUTPUT: u64 = 8 * 1024 * 1024;

/// The whole environment of a child.
pub(super) type Environment = Vec<(OsString, OsString)>;

/// A program to run to its end.
pub(super) struct SimProgram<'a> {
    pub(super) argv: &'a [OsString],
    pub(super) env: &'a Environment,
    pub(super) cwd: &'a Path,
    pub(super) stdin: &'a [u8],
    pub(super) limit: Duration,
    pub(super) stderr: Stderr,
}

/// The destination of a child's standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stderr {
    Apart,
    /// Mixed with its standard output, in order.
    Merged,
}

/// The way a program ended.
#[derive(Debug)]
pub(super) enum ProgramEnd {
    Ended {
        /// `None` if a signal ended it.
        code: Option<i32>,
        stdout: String,
        stderr: String,
    },
    TimedOut,
    /// This process was asked to end, and killed the program.
    Cut(StopRequest),
}

/// Runs a program to its end, or to the time limit.
pub(super) fn run(job: &SimProgram<'_>) -> io::Result<ProgramEnd> {
    let mut stdin = memory_file("stdin")?;
    stdin.write_all(job.stdin)?;
    stdin.rewind()?;
    let mut stdout = memory_file("stdout")?;
    let mut stderr = memory_file("stderr")?;
    let errors = if job.stderr == Stderr::Merged { stdout.try_clone()? } else { stderr.try_clone()? };
    let mut command = command(job.argv, job.env, job.cwd)?;
    command.stdin(stdin).stdout(stdout.try_clone()?).stderr(errors);
    let mut child = command.spawn()?;
    match wait(&mut child, job.limit)? {
        Waited::Ended(status) => Ok(ProgramEnd::Ended {
            code: status.code(),
            stdout: text(&mut stdout)?,
            stderr: text(&mut stderr)?,
        }),
        Waited::TimedOut => Ok(ProgramEnd::TimedOut),
        Waited::Cut(asked) => Ok(ProgramEnd::Cut(asked)),
    }
}

/// Leaves a sleeping process behind, in its own session and without a parent, and returns its id.
pub(super) fn leave_sleeper(env: &Environment, cwd: &Path) -> io::Result<String> {
    let argv = ["sh", "-c", "sleep 3600 </dev/null >/dev/null 2>&1 & echo $!"].map(OsString::from);
    let mut command = command(&argv, env, cwd)?;
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

enum Waited {
    Ended(ExitStatus),
    TimedOut,
    Cut(StopRequest),
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Waited> {
    let start = Instant::now();
    let held = pin(Pid::from_child(child))?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Waited::Ended(status));
        }
        if let Some(asked) = signals::asked() {
            end(child);
            return Ok(Waited::Cut(asked));
        }
        let left = limit.saturating_sub(start.elapsed());
        if left.is_zero() {
            end(child);
            return Ok(Waited::TimedOut);
        }
        signals::watch(held.as_fd(), left);
    }
}

/// Kills the program's whole group and reaps it.
fn end(child: &mut Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
}

#[expect(clippy::disallowed_methods, reason = "the sim starts every program here and nowhere else")]
fn command(argv: &[OsString], env: &Environment, cwd: &Path) -> io::Result<Command> {
    let (program, args) = argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(env.iter().map(|(name, value)| (name, value))).current_dir(cwd);
    #[expect(unsafe_code, reason = "std cannot start a session; setsid is async-signal-safe")]
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(io::Error::from));
    }
    Ok(command)
}

fn text(file: &mut File) -> io::Result<String> {
    file.rewind()?;
    let mut bytes = Vec::new();
    file.take(MAX_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(command: &str, limit: Duration, stderr: Stderr) -> ProgramEnd {
        let argv = ["sh", "-c", command].map(OsString::from);
        let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
        run(&SimProgram { argv: &argv, env: &env, cwd: Path::new("/"), stdin: b"in\n", limit, stderr })
            .unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn output_and_errors_are_kept_apart_or_merged_in_order() {
        let command = "cat; echo err >&2; echo out; exit 3";
        let ProgramEnd::Ended { code, stdout, stderr } = shell(command, LONG, Stderr::Apart) else {
            panic!()
        };
        assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(3), "in\nout\n", "err\n"));
        let ProgramEnd::Ended { stdout, .. } = shell(command, LONG, Stderr::Merged) else { panic!() };
        assert_eq!(stdout, "in\nerr\nout\n");
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended_with_its_children() {
        assert!(matches!(
            shell("sleep 600 & sleep 600", Duration::from_millis(50), Stderr::Apart),
            ProgramEnd::TimedOut
        ));
    }

    #[test]
    fn a_grandchild_that_keeps_the_output_open_is_not_waited_for() {
        let outcome = shell("sleep 5 & echo out", LONG, Stderr::Apart);
        assert!(matches!(outcome, ProgramEnd::Ended { stdout, .. } if stdout == "out\n"));
    }
}
