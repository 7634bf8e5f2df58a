//! Starts every child process: hosts of long children, and short programs.
//!
//! No other module starts processes. A host runs detached; later calls into this module reap it. The
//! state of its child is in the child's folder ([`crate::child`]). A short program has a deadline and
//! bounded output, and is ended by SIGTERM, a grace period and SIGKILL. Windlass never uses a shell
//! here.

mod adopt;
pub mod env;
mod short;

use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::{CommandExt, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use windlass_core::hook::wire::env::HOST;
use windlass_core::launch::{Launch, files};

use crate::files::{FileError, FileMode, create_new, make_private_dir};
pub(crate) use adopt::owns_all_below;
pub use adopt::{adopt_orphans, end_adopted, end_all_adopted};
pub(crate) use short::run_short_fed;
pub use short::{
    ProgramOutput, ShortEnv, ShortProgram, end_short, end_short_of, run_short, run_short_for, run_short_with,
};

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
    let mut command = command(windlass_exe);
    // In its own process group, so that Ctrl-C at the terminal does not reach it.
    command.arg("host").arg(&dir).env_clear().current_dir("/").process_group(0);
    command.envs(crash_env.iter().map(|(k, v)| (k, v)));
    command.env(HOST, &launch.cookie);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = spawn(&mut command).map_err(failed)?;
    Ok(keep_for_reaping(child, dir))
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
    let log = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(log).map_err(failed)?;
    let mut command = command(program);
    command.args(args).env_clear().envs(env.iter().map(|(k, v)| (k, v))).current_dir(cwd).process_group(0);
    command.stdin(Stdio::null()).stdout(log.try_clone().map_err(failed)?).stderr(log);
    Ok(spawn(&mut command).map_err(failed)?.id())
}

/// Time to wait while another process has the program open for writing.
const BUSY: Duration = Duration::from_secs(5);

/// Starts our own binary. Another process may just have installed it: while that process, or a child
/// that it is starting, has the file open for writing, the kernel refuses to run it.
fn spawn(command: &mut Command) -> io::Result<Child> {
    let until = Instant::now() + BUSY;
    loop {
        match adopt::born(|| command.spawn()) {
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

#[expect(clippy::disallowed_methods, reason = "the only place that starts child processes")]
fn command(program: &Path) -> Command {
    Command::new(program)
}

/// A started host and its folder.
struct Host {
    child: Child,
    dir: PathBuf,
    gone: Arc<AtomicBool>,
}

static HOSTS: Mutex<Vec<Host>> = Mutex::new(Vec::new());

fn keep_for_reaping(child: Child, dir: PathBuf) -> HostStart {
    let gone = Arc::new(AtomicBool::new(false));
    let start = HostStart { pid: child.id(), gone: Arc::clone(&gone) };
    reap();
    HOSTS.lock().unwrap_or_else(PoisonError::into_inner).push(Host { child, dir, gone });
    start
}

/// Reaps hosts that have ended, so that none stays a zombie. The watcher of [`crate::tail`] calls it
/// regularly.
pub fn reap() {
    let mut hosts = HOSTS.lock().unwrap_or_else(PoisonError::into_inner);
    hosts.retain_mut(|Host { child, dir, gone }| {
        let ended = match child.try_wait() {
            Ok(None) => false,
            Ok(Some(status)) => {
                adopt::reaped(child.id());
                if status.signal().is_some() {
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
        let busy = command(&exe).spawn().unwrap_err().kind();
        assert_eq!(busy, io::ErrorKind::ExecutableFileBusy);
        let closer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(writer);
        });
        assert!(spawn(&mut command(&exe)).unwrap().wait().unwrap().success());
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
            deadline_ms: None,
            grace_ms: 1,
            merge_stderr: false,
            output_max: None,
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
