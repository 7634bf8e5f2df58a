//! A child's folder with a launch in it, and the host that is started on it.
#![expect(clippy::expect_used, reason = "a test ends where it cannot go on")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use windlass_core::launch::{ExitFile, LAUNCH_VERSION, Launch, files};

use crate::common::{eventually, pawl};

/// A folder before its host. `launch` can be changed until a host is started.
pub(crate) struct Folder {
    dir: TempDir,
    pub(crate) launch: Launch,
}

/// A child that runs `script` in `sh`, in a working folder of its own.
pub(crate) fn shell(script: &str) -> Folder {
    program(&["/bin/sh", "-c", script])
}

/// A child that runs this program.
pub(crate) fn program(argv: &[&str]) -> Folder {
    let dir = TempDir::new().expect("a temporary folder");
    let work = dir.path().join("work");
    fs::create_dir(&work).expect("a working folder");
    let launch = Launch {
        v: LAUNCH_VERSION,
        cookie: format!("cookie-of-{}", dir.path().display()),
        argv: argv.iter().map(ToString::to_string).collect(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: work.display().to_string(),
        stdin: None,
        stdin_until: None,
        linger_ms: None,
        deadline_ms: None,
        grace_ms: 60_000,
        merge_stderr: false,
        output_max: None,
        writes_in: None,
    };
    Folder { dir, launch }
}

impl Folder {
    /// A file in the child's folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A file in the child's working folder.
    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.file("work").join(name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).expect("a readable file")
    }

    pub(crate) fn write_launch(&self) {
        let text = serde_json::to_vec(&self.launch).expect("a launch in JSON");
        fs::write(self.file(files::LAUNCH), text).expect("launch.json");
    }

    pub(crate) fn start_host(&self) -> Host {
        self.start_host_with(&[])
    }

    pub(crate) fn start_host_with(&self, variables: &[(&str, &str)]) -> Host {
        self.write_launch();
        let mut command = pawl("host");
        command.arg(self.dir.path()).envs(variables.iter().copied());
        Host { child: command.spawn().expect("a host"), lock: self.file(files::LOCK) }
    }

    /// A host that may make no group of processes; none where the test cannot arrange that.
    #[expect(clippy::print_stderr, reason = "the count of tests includes what was skipped")]
    pub(crate) fn start_host_without_group(&self) -> Option<Host> {
        self.write_launch();
        let within = "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"";
        let unshare = |command: &mut Command| {
            command.args(["--user", "--map-root-user", "--mount", "sh", "-c", within, "sh"]);
        };
        #[expect(clippy::disallowed_methods, reason = "the test starts the program it tests")]
        let mut probe = Command::new("unshare");
        unshare(&mut probe);
        if !probe.arg("true").status().is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED: a host without a group: no namespaces here");
            return None;
        }
        let pawl = pawl("host");
        #[expect(clippy::disallowed_methods, reason = "the test starts the program it tests")]
        let mut command = Command::new("unshare");
        unshare(&mut command);
        command.env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
        command.arg(pawl.get_program()).arg("host").arg(self.dir.path());
        Some(Host { child: command.spawn().expect("a host"), lock: self.file(files::LOCK) })
    }

    /// Runs a host from beginning to end.
    pub(crate) fn run_host(&self) -> ExitFile {
        let status = self.start_host().wait();
        assert!(status.success(), "the host ended with {status}");
        self.exit()
    }

    /// Waits for the exit file of the child, and returns it.
    pub(crate) fn exit(&self) -> ExitFile {
        eventually("an exit file", || {
            let text = fs::read(self.file(files::EXIT)).ok()?;
            Some(serde_json::from_slice(&text).expect("exit.json is whole"))
        })
    }

    /// The process id that the child wrote to a file of its working folder.
    pub(crate) fn pid_in(&self, name: &str) -> Pid {
        eventually("a process id", || {
            let text = fs::read_to_string(self.work(name)).ok()?;
            Pid::from_raw(text.strip_suffix('\n')?.parse().ok()?)
        })
    }

    /// Waits for a file in the child's working folder.
    pub(crate) fn await_work(&self, name: &str) {
        eventually(name, || self.work(name).exists().then_some(()));
    }

    pub(crate) fn lock_is_free(&self) -> bool {
        let file = fs::File::open(self.file(files::LOCK)).expect("a lock file");
        flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }
}

/// A host that was started, with its guard.
pub(crate) struct Host {
    child: Child,
    lock: PathBuf,
}

impl Host {
    /// The host itself.
    pub(crate) fn pid(&self) -> Pid {
        eventually("the host's id", || {
            let text = fs::read_to_string(&self.lock).ok()?;
            Pid::from_raw(text.parse().ok()?)
        })
    }

    /// Its guard, which is what was started.
    pub(crate) fn guard(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("a living host");
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        eventually("the host's end", || self.child.try_wait().expect("a host to wait for"))
    }

    /// Waits for a host that kills itself.
    pub(crate) fn wait_for_crash(&mut self) {
        assert_eq!(self.wait().signal(), Some(Signal::KILL.as_raw()));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A failed test leaves nothing running: the guard ends all that is below.
        if matches!(self.child.try_wait(), Ok(None)) {
            let host = fs::read_to_string(&self.lock).ok().and_then(|text| Pid::from_raw(text.parse().ok()?));
            let _ = kill_process(host.unwrap_or(self.guard()), Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Decides whether a process exists. A killed process counts until it is reaped.
pub(crate) fn is_alive(pid: Pid) -> bool {
    rustix::process::test_kill_process(pid).is_ok()
}
