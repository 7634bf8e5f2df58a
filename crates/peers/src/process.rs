//! The one door where children are born: hosts of long children, and short programs.
//!
//! A host is started detached and reaped whenever somebody passes by here; what becomes of its
//! child is read from the child's folder ([`crate::child`]). A short program has a deadline,
//! bounded output, and is ended by terminate, grace, kill. Never a shell.

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
pub use short::{ProgramOutput, ShortEnv, ShortProgram, end_short, end_short_of, run_short, run_short_for};

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// Its folder could not be made ready.
    #[error("could not write the launch file")]
    Folder(#[from] FileError),
    /// The launch could not be written down.
    #[error("could not describe the launch")]
    Describe(#[from] serde_json::Error),
    /// The program did not start.
    #[error("could not start {program}", program = program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A host that was started.
#[derive(Debug, Clone)]
pub struct HostStart {
    /// Its process id.
    pub pid: u32,
    gone: Arc<AtomicBool>,
}

impl HostStart {
    /// Whether the host's process has ended. A host that found another one at work ends at
    /// once: the child's folder says what is true.
    pub fn is_gone(&self) -> bool {
        reap();
        self.gone.load(Ordering::Acquire)
    }
}

/// Starts `windlass host DIR` for a launch. Doing it twice is harmless: the launch file of the
/// first time stays, and the second host finds the lock held.
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
    // A group of its own: Ctrl-C at the terminal is for us, not for it.
    command.arg("host").arg(&dir).env_clear().current_dir("/").process_group(0);
    command.envs(crash_env.iter().map(|(k, v)| (k, v)));
    command.env(HOST, &launch.cookie);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = spawn(&mut command).map_err(failed)?;
    Ok(keep_for_reaping(child, dir))
}

/// Starts a program that goes on when this one ends, in a session of its own, with its output
/// in a file.
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

/// How long a program may be busy with being written.
const BUSY: Duration = Duration::from_secs(5);

/// Starts our own binary. Another process may have put it into place at this moment: as long as it, or
/// a child that it is just starting, has the file open for writing, the kernel refuses to run it.
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

#[expect(clippy::disallowed_methods, reason = "the one door where children are born")]
fn command(program: &Path) -> Command {
    Command::new(program)
}

/// A host that was started, by its folder.
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

/// Collects hosts that have ended, so that none stays a zombie. The watcher of [`crate::tail`]
/// calls it now and then.
pub fn reap() {
    let mut hosts = HOSTS.lock().unwrap_or_else(PoisonError::into_inner);
    hosts.retain_mut(|Host { child, dir, gone }| {
        let ended = match child.try_wait() {
            Ok(None) => false,
            Ok(Some(status)) => {
                adopt::reaped(child.id());
                if status.signal().is_some() {
                    // Perhaps it was only the guard.
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
