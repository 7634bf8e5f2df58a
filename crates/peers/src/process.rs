//! Starts every child process: hosts of long children, and short programs.
//!
//! No other module starts processes. A host runs detached; later calls into this module reap it. The
//! state of its child is in the child's folder ([`crate::child`]). A short program has a deadline and
//! bounded output, and is ended by SIGTERM, a grace period and SIGKILL. Windlass never uses a shell
//! here.

mod adopt;
pub mod env;
mod short;

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, waitpid};
use windlass_core::hook::wire::env::HOST;
use windlass_core::launch::{Launch, files};

use crate::files::{FileError, FileMode, create_new, make_private_dir};
use crate::os::NewProgram;
pub(crate) use adopt::owns_all_below;
pub use adopt::{adopt_orphans, end_adopted, end_all_adopted};
pub use short::{
    ProgramOutput, ShortEnv, ShortProgram, end_short, end_short_of, run_short, run_short_for, run_short_with,
};
pub(crate) use short::{ShortInput, run_short_fed};

/// An error from starting a child.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("could not write the launch file")]
    Folder(#[from] FileError),
    #[error("could not encode the launch file")]
    Describe(#[from] serde_json::Error),
    #[error("could not start {program}", program = program.display())]
    Start {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// A host that this process started.
#[derive(Debug, Clone)]
pub struct HostStart {
    pub pid: u32,
    gone: Arc<AtomicBool>,
}

impl HostStart {
    /// Decides whether the host's process has ended. A host that finds another active host ends at once,
    /// so only the child's folder gives the state of the child.
    pub fn is_gone(&self) -> bool {
        reap();
        self.gone.load(Ordering::Acquire)
    }
}

/// Starts `windlass host DIR` for a launch. Starting twice is harmless: the first launch file stays, and
/// the second host finds the lock taken.
pub fn start_host(
    windlass_exe: &Path,
    dir: &Path,
    launch: &Launch,
    crash_env: &[(String, String)],
) -> Result<HostStart, SpawnError> {
    make_private_dir(dir)?;
    create_new(&dir.join(files::LAUNCH), &serde_json::to_vec(launch)?, FileMode::Private)?;
    let failed = |source| SpawnError::Start { program: windlass_exe.to_owned(), source };
    let dir = std::path::absolute(dir).map_err(failed)?;
    let null = OpenOptions::new().read(true).write(true).open("/dev/null").map_err(failed)?;
    let cookie = [(HOST.to_owned(), launch.cookie.clone())];
    let env: Vec<_> =
        crash_env.iter().chain(&cookie).map(|(name, value)| (name.into(), value.into())).collect();
    // In its own process group, so that Ctrl-C at the terminal does not reach it.
    let child = spawn(&NewProgram {
        program: windlass_exe,
        args: &[OsStr::new("host"), dir.as_os_str()],
        env: &env,
        cwd: Path::new("/"),
        streams: [null.as_fd(), null.as_fd(), null.as_fd()],
        is_marked: false,
    });
    Ok(keep_for_reaping(child.map_err(failed)?, dir))
}

/// Starts a program that outlives this process, in its own process group, with its output in a file.
pub fn start_detached(
    program: &Path,
    args: &[&str],
    env: &[(String, String)],
    cwd: &Path,
    log: &Path,
) -> Result<u32, SpawnError> {
    let failed = |source| SpawnError::Start { program: program.to_owned(), source };
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(log).map_err(failed)?;
    let null = File::open("/dev/null").map_err(failed)?;
    let args: Vec<_> = args.iter().map(OsStr::new).collect();
    let env: Vec<_> = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let streams = [null.as_fd(), log.as_fd(), log.as_fd()];
    let new = NewProgram { program, args: &args, env: &env, cwd, streams, is_marked: false };
    Ok(number(spawn(&new).map_err(failed)?))
}

/// Time to wait while another process has the program open for writing.
const BUSY: Duration = Duration::from_secs(5);

/// Starts our own binary. Another process may just have installed it: while that process, or a child
/// that it is starting, has the file open for writing, the kernel refuses to run it.
fn spawn(new: &NewProgram<'_>) -> io::Result<Pid> {
    let until = Instant::now() + BUSY;
    loop {
        match adopt::born(new) {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(2));
            }
            result => return result,
        }
    }
}

/// Ends this process as `kill -9` would.
pub fn kill_self() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}

fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().cast_unsigned()
}

/// A started host and its folder.
struct Host {
    child: Pid,
    dir: PathBuf,
    gone: Arc<AtomicBool>,
}

static HOSTS: Mutex<Vec<Host>> = Mutex::new(Vec::new());

fn keep_for_reaping(child: Pid, dir: PathBuf) -> HostStart {
    let gone = Arc::new(AtomicBool::new(false));
    let start = HostStart { pid: number(child), gone: Arc::clone(&gone) };
    reap();
    HOSTS.lock().unwrap_or_else(PoisonError::into_inner).push(Host { child, dir, gone });
    start
}

/// Reaps hosts that have ended, so that none stays a zombie. The watcher of [`crate::tail`] calls it
/// regularly.
pub fn reap() {
    let mut hosts = HOSTS.lock().unwrap_or_else(PoisonError::into_inner);
    hosts.retain_mut(|Host { child, dir, gone }| {
        let ended = match waitpid(Some(*child), WaitOptions::NOHANG) {
            Ok(None) | Err(Errno::INTR) => false,
            Ok(Some((_, status))) => {
                adopt::reaped(*child);
                if status.terminating_signal().is_some() {
                    // The killed process may have been only the guard.
                    adopt::lost_guard(dir.clone());
                }
                true
            }
            Err(_) => true,
        };
        gone.store(ended, Ordering::Release);
        !ended
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_program_that_is_still_open_for_writing_is_started_when_it_is_not() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().unwrap();
        let exe = temp.path().join("exe");
        std::fs::copy("/bin/true", &exe).unwrap();
        std::fs::set_permissions(&exe, std::fs::Permissions::from_mode(0o755)).unwrap();
        let writer = std::fs::OpenOptions::new().append(true).open(&exe).unwrap();
        let null = OpenOptions::new().read(true).write(true).open("/dev/null").unwrap();
        let new = NewProgram {
            program: &exe,
            args: &[],
            env: &[],
            cwd: Path::new("/"),
            streams: [null.as_fd(), null.as_fd(), null.as_fd()],
            is_marked: false,
        };
        let busy = crate::os::start(&new).unwrap_err().kind();
        assert_eq!(busy, io::ErrorKind::ExecutableFileBusy);
        let closer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(writer);
        });
        let (_, status) = waitpid(Some(spawn(&new).unwrap()), WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(0));
        closer.join().unwrap();
    }

    #[test]
    fn a_host_gets_a_clean_environment_its_own_group_and_is_reaped() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().unwrap();
        let (exe, dir) = (temp.path().join("exe"), temp.path().join("runs/r/loop.1.1.session"));
        std::fs::write(&exe, "#!/bin/sh\n{ env; echo ARGS \"$@\"; } >$2/seen.tmp\nmv $2/seen.tmp $2/seen\n")
            .unwrap();
        std::fs::set_permissions(&exe, std::fs::Permissions::from_mode(0o755)).unwrap();
        let launch = Launch {
            v: 1,
            cookie: "c".into(),
            argv: vec!["true".into()],
            env: vec![],
            cwd: "/".into(),
            stdin: None,
            stdin_until: None,
            linger_ms: None,
            deadline_ms: None,
            grace_ms: 1,
            merge_stderr: false,
            output_max: None,
            writes_in: None,
        };
        let crash = [
            ("WINDLASS_CRASH_AT".to_owned(), "host:1".to_owned()),
            ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
        ];
        let start = start_host(&exe, &dir, &launch, &crash).unwrap();
        let until = Instant::now() + LONG;
        while !start.is_gone() {
            assert!(Instant::now() < until);
            std::thread::yield_now();
        }
        let seen = std::fs::read_to_string(dir.join("seen")).unwrap();
        assert!(seen.contains(&format!("ARGS host {}", dir.display())), "{seen}");
        assert!(seen.contains("WINDLASS_HOST=c\n"), "{seen}");
        assert!(seen.contains("WINDLASS_CRASH_AT=host:1") && !seen.contains("CARGO"), "{seen}");
        let mode = |p: &Path| std::fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir), mode(&dir.join(files::LAUNCH))), (0o700, 0o600));
        assert!(!Path::new(&format!("/proc/{}", start.pid)).exists(), "left a zombie");
    }
}
