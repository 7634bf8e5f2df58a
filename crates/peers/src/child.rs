//! Reads the state of a long child from its folder, ends its host, and sweeps up after a dead host.
//!
//! The host's lock shows that it lives, `started` that the child may have done something, and
//! `exit.json` how it ended. [`crate::process`] starts hosts; the engine decides what to do about a lost
//! child.

mod group;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::Signal;
use windlass_core::hook::wire::env::SESSION;
use windlass_core::id::HookId;
use windlass_core::launch::{ExitFile, files};

use crate::files::read_bounded;
use crate::orphan::is_zombie;
use crate::os::{self, HeldProcess};
pub use group::{clear_group, sweep_group};

/// The state of a child, read from its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildState {
    /// No host lives and the child was never started: it is safe to start a host.
    NotStarted,
    Running {
        /// The process id of the host, once it has written it down.
        host_pid: Option<u32>,
    },
    /// The child ended, and no process is left below the host.
    Ended(ExitFile),
    /// The host died. The child may have done something and may still run, and its exit is unknown. Must
    /// be swept.
    Lost,
}

/// Reads the state of a child from its folder.
pub fn child_state(dir: &Path) -> ChildState {
    if let Some(exit) = read_exit(dir) {
        return ChildState::Ended(exit);
    }
    if !dir.join(files::STARTED).exists() {
        return before_the_start(dir);
    }
    if is_locked(dir) {
        return ChildState::Running { host_pid: read_pid(dir) };
    }
    // The host may have written the exit file and exited between the two checks.
    read_exit(dir).map_or(ChildState::Lost, ChildState::Ended)
}

/// Finds the host by the process id it wrote down, while `started` is missing. Testing the lock here
/// could make a starting host believe that another host is active.
fn before_the_start(dir: &Path) -> ChildState {
    match read_pid(dir).filter(|pid| is_host_of(*pid, dir)) {
        Some(pid) => ChildState::Running { host_pid: Some(pid) },
        // The host may have started its child since the check.
        None if dir.join(files::STARTED).exists() => match is_locked(dir) {
            true => ChildState::Running { host_pid: read_pid(dir) },
            false => read_exit(dir).map_or(ChildState::Lost, ChildState::Ended),
        },
        // A failed spawn leaves an exit file and no `started`.
        None => read_exit(dir).map_or(ChildState::NotStarted, ChildState::Ended),
    }
}

fn read_exit(dir: &Path) -> Option<ExitFile> {
    let bytes = read_bounded(&dir.join(files::EXIT), 64 * 1024).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Removes the draft of an exit file that a dead host never renamed.
pub fn forget_half_exit(dir: &Path) {
    let _ = fs::remove_file(dir.join(files::EXIT_DRAFT));
}

fn read_pid(dir: &Path) -> Option<u32> {
    let bytes = read_bounded(&dir.join(files::LOCK), 64).ok()?;
    std::str::from_utf8(&bytes).ok()?.trim().parse().ok()
}

fn is_locked(dir: &Path) -> bool {
    let Ok(file) = File::open(dir.join(files::LOCK)) else { return false };
    // Closing the file releases the shared lock.
    flock(&file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
}

/// Decides whether a process is `… host DIR`. A zombie has no arguments, so it is not.
pub(crate) fn is_host_of(pid: u32, dir: &Path) -> bool {
    let line = os::arguments(i32::try_from(pid).unwrap_or_default());
    let mut args = line.strip_suffix(&[0]).unwrap_or(&line).rsplit(|b| *b == 0);
    let (Some(path), Some(word)) = (args.next(), args.next()) else { return false };
    word == b"host" && same_folder(std::str::from_utf8(path).unwrap_or_default(), dir)
}

fn same_folder(path: &str, dir: &Path) -> bool {
    match (Path::new(path).canonicalize(), dir.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// More hooks than an agent calls at once; further notes add no information.
const UNANSWERED_MAX: usize = 64;

/// Returns the hook calls of a session that no owner answered, by the notes in its folder.
pub fn unanswered(dir: &Path) -> Vec<HookId> {
    let is_id = |id: &&str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let ids = names.filter_map(|name| Some(name.strip_prefix(files::UNANSWERED).filter(is_id)?.to_owned()));
    let mut ids: Vec<String> = ids.take(UNANSWERED_MAX).collect();
    ids.sort_unstable();
    ids.into_iter().map(HookId::new).collect()
}

/// Returns the unanswered hook calls whose forwarder gave up or was killed. A live forwarder still
/// waits.
pub fn gave_up(dir: &Path) -> Vec<HookId> {
    let lives = |hook: &HookId| {
        // An id starts with the process id of the forwarder.
        let pid = hook.as_str().get(..8).and_then(|pid| u32::from_str_radix(pid, 16).ok());
        pid.is_some_and(os::exists)
    };
    unanswered(dir).into_iter().filter(|hook| !lives(hook)).collect()
}

/// The way in which a host ends its child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminate {
    /// SIGTERM, a grace period, then SIGKILL.
    WithGrace,
    /// SIGKILL.
    Now,
}

/// Asks the host of a child to end it and returns false if no host lives. Does not wait: the watcher
/// reports the end.
pub fn terminate_host(dir: &Path, how: Terminate) -> bool {
    let ChildState::Running { host_pid: Some(pid) } = child_state(dir) else { return false };
    let Some(host) = pin(pid) else { return false };
    // Checked after the process is pinned, so that its id cannot be reused.
    if !is_host_of(pid, dir) || !host.signal(Signal::TERM) {
        return false;
    }
    // A stopped host does not react to signals.
    host.signal(Signal::CONT);
    if how == Terminate::Now {
        // Two signals sent at once arrive as one. The host acts on the second signal it receives; more
        // signals do no harm.
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(15));
            if !host.signal(Signal::TERM) {
                break;
            }
        }
    }
    true
}

/// Kills a host without asking, for crash tests.
pub fn kill_host(dir: &Path) -> bool {
    let ChildState::Running { host_pid: Some(pid) } = child_state(dir) else { return false };
    pin(pid).is_some_and(|host| is_host_of(pid, dir) && host.signal(Signal::KILL))
}

fn pin(pid: u32) -> Option<HeldProcess> {
    HeldProcess::open(i32::try_from(pid).ok()?).ok()
}

/// The result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepResult {
    /// Processes that were asked to end or killed.
    pub killed: usize,
    /// Processes that were still alive at the time limit.
    pub left: usize,
}

const SWEEP_PATIENCE: Duration = Duration::from_secs(5);
/// Time for a process to clean up. Git removes its lock files on SIGTERM and leaves them on SIGKILL.
const SWEEP_GRACE: Duration = Duration::from_secs(2);

/// Ends every process that carries a child's cookie, or the resource limit that encodes it: first
/// SIGTERM, then SIGKILL, until no process is left. Works without a host, for children whose host died.
pub fn sweep_cookie(cookie: &str, how: Terminate) -> SweepResult {
    let mark = Cookie::new(cookie);
    let grace = if how == Terminate::Now { Duration::ZERO } else { SWEEP_GRACE };
    let (begun, until) = (Instant::now(), Instant::now() + grace + SWEEP_PATIENCE);
    let (mut asked, mut ended) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let found = carriers(&mark);
        if found.is_empty() || Instant::now() >= until {
            return SweepResult { killed: ended.len(), left: found.len() };
        }
        let signal = if begun.elapsed() < grace { Signal::TERM } else { Signal::KILL };
        for pid in found {
            let is_due = signal == Signal::KILL || asked.insert(pid);
            if is_due && signal_carrier(pid, &mark, signal) {
                ended.insert(pid);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The cookie that identifies the processes of a child.
struct Cookie<'a> {
    cookie: &'a str,
    /// The cookie as an environment entry.
    entry: String,
}

impl Cookie<'_> {
    fn new(cookie: &str) -> Cookie<'_> {
        Cookie { cookie, entry: format!("{SESSION}={cookie}") }
    }

    /// Decides whether a process carries the cookie. A zombie has no environment and carries nothing.
    fn is_carried_by(&self, pid: i32) -> bool {
        let Some(environ) = os::environment(pid) else { return false };
        environ.split(|b| *b == 0).any(|pair| pair == self.entry.as_bytes())
            || (os::is_of(pid, self.cookie) && !is_zombie(pid))
    }
}

fn carriers(mark: &Cookie<'_>) -> Vec<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    os::processes().into_iter().filter(|pid| *pid != own && mark.is_carried_by(*pid)).collect()
}

fn signal_carrier(pid: i32, mark: &Cookie<'_>, signal: Signal) -> bool {
    HeldProcess::open(pid).is_ok_and(|process| mark.is_carried_by(pid) && process.signal(signal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    struct Reaped(Child);
    impl Drop for Reaped {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a stand-in for a host")]
    fn sh(args: &[&str], env: &[(&str, &str)]) -> Reaped {
        let mut command = Command::new("/bin/sh");
        command.args(args).envs(env.iter().copied()).stdout(Stdio::null());
        Reaped(command.spawn().unwrap())
    }

    fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
        let until = Instant::now() + Duration::from_secs(20);
        while !holds() {
            assert!(Instant::now() < until, "{what}");
            std::thread::yield_now();
        }
    }

    const EXIT: &str = r#"{"v":1,"code":0,"signal":null,"ended_by":null}"#;

    #[test]
    fn the_folder_tells_the_state_step_by_step() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path();
        assert_eq!(child_state(dir), ChildState::NotStarted);
        fs::write(dir.join(files::LOCK), "999999999").unwrap();
        assert_eq!(child_state(dir), ChildState::NotStarted);
        fs::write(dir.join(files::STARTED), "").unwrap();
        assert_eq!(child_state(dir), ChildState::Lost);
        let lock = File::open(dir.join(files::LOCK)).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(child_state(dir), ChildState::Running { host_pid: Some(999_999_999) });
        fs::write(dir.join(files::EXIT), EXIT).unwrap();
        assert!(matches!(child_state(dir), ChildState::Ended(exit) if exit.code == Some(0)));
    }

    #[test]
    fn a_child_that_could_not_be_spawned_has_ended() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(files::EXIT), EXIT).unwrap();
        assert!(matches!(child_state(temp.path()), ChildState::Ended(_)));
    }

    #[test]
    fn a_host_that_lives_but_has_not_started_its_child_is_found_and_terminated() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().to_str().unwrap();
        let mut host = sh(&["-c", "while :; do sleep 0.01; done", "host", dir], &[]);
        fs::write(temp.path().join(files::LOCK), host.0.id().to_string()).unwrap();
        wait_until("running", || child_state(temp.path()) != ChildState::NotStarted);
        assert!(terminate_host(temp.path(), Terminate::Now));
        host.0.wait().unwrap();
        assert_eq!(child_state(temp.path()), ChildState::NotStarted);
    }

    #[test]
    fn a_process_id_that_belongs_to_another_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let mut other = sh(&["-c", "while :; do sleep 0.01; done"], &[]);
        fs::write(temp.path().join(files::LOCK), other.0.id().to_string()).unwrap();
        fs::write(temp.path().join(files::STARTED), "").unwrap();
        let lock = File::open(temp.path().join(files::LOCK)).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert!(!terminate_host(temp.path(), Terminate::Now));
        assert!(other.0.try_wait().unwrap().is_none());
    }

    #[test]
    fn a_sweep_kills_every_carrier_of_the_cookie_and_no_other() {
        let script = "setsid sh -c 'while :; do sleep 0.01; done' & while :; do sleep 0.01; done";
        let mut ours = sh(&["-c", script], &[(SESSION, "run.sweep-test")]);
        let mut other = sh(&["-c", "while :; do sleep 0.01; done"], &[(SESSION, "run.sweep-test.2")]);
        let mark = Cookie::new("run.sweep-test");
        wait_until("two", || carriers(&mark).len() >= 2);
        let swept = sweep_cookie("run.sweep-test", Terminate::WithGrace);
        assert!(swept.killed >= 2 && swept.left == 0, "{swept:?}");
        ours.0.wait().unwrap();
        assert!(other.0.try_wait().unwrap().is_none());
    }

    #[test]
    fn a_sweep_lets_a_process_put_its_things_away_and_kills_one_that_will_not_end() {
        let temp = tempfile::tempdir().unwrap();
        let (tidied, ready) = (temp.path().join("tidied"), temp.path().join("ready"));
        // The shell itself writes the file: a program that it starts now would get the signal, too.
        let script = format!(
            "(trap '' TERM; while :; do sleep 0.01; done) & trap ': > {tidied}; exit' TERM; : > {ready}; \
             while :; do sleep 0.01; done",
            tidied = tidied.display(),
            ready = ready.display(),
        );
        let mut polite = sh(&["-c", &script], &[(SESSION, "run.grace-test")]);
        wait_until("ready", || ready.exists());
        let swept = sweep_cookie("run.grace-test", Terminate::WithGrace);
        assert_eq!((swept.left, tidied.exists()), (0, true));
        polite.0.wait().unwrap();
    }
}
