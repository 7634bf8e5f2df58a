//! The host with real processes: that nothing is left below it, and what is left when it dies itself.
#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod common;
#[path = "common/hosted.rs"]
mod hosted;

use std::process::{Child, Command};

use common::eventually;
use hosted::{is_alive, shell};
use rustix::process::{Pid, Signal};
use windlass_core::launch::files;

/// A process outside of any host, with this cookie.
fn stranger(cookie: &str) -> Child {
    #[expect(clippy::disallowed_methods, reason = "a process that no host has started")]
    let mut command = Command::new("/bin/sleep");
    command.arg("300").env_clear().env("WINDLASS_SESSION", cookie).spawn().unwrap()
}

#[test]
fn a_grandchild_in_a_session_of_its_own_is_gone_when_the_exit_file_appears() {
    let folder =
        shell("(setsid sh -c 'echo $$ > pid; exec sleep 300' &); while [ ! -s pid ]; do sleep 0.01; done");
    let mut host = folder.start_host();
    folder.exit();
    assert!(!is_alive(folder.pid_in("pid")));
    assert!(host.wait().success());
}

#[test]
fn a_grandchild_that_wiped_its_environment_and_ignores_sigterm_is_found_by_descent() {
    let script =
        "(setsid env -i PATH=$PATH sh -c 'trap \"\" TERM HUP; echo $$ > pid; while :; do sleep 1; done' &)
        while [ ! -s pid ]; do sleep 0.01; done";
    let folder = shell(script);
    folder.run_host();
    assert!(!is_alive(folder.pid_in("pid")));
}

#[test]
fn many_orphans_at_once_are_all_gone_and_the_childs_own_code_is_kept() {
    let script = "i=0; while [ $i -lt 40 ]; do (sh -c 'echo $$ >> pids; exec sleep 300' &); (exit 1 &); i=$((i+1)); done
        while [ $(wc -l < pids) -lt 40 ]; do sleep 0.01; done; exit 6";
    let folder = shell(script);
    assert_eq!(folder.run_host().code, Some(6));
    let pids = folder.read("work/pids");
    let alive: Vec<&str> =
        pids.lines().filter(|pid| is_alive(Pid::from_raw(pid.parse().unwrap()).unwrap())).collect();
    assert_eq!(alive, [""; 0]);
}

#[test]
fn a_process_that_forks_while_it_is_hunted_is_gone_in_the_end() {
    let folder = shell(
        "(setsid sh -c 'echo $$ > pid; i=0; while [ $i -lt 500 ]; do sleep 300 & i=$((i+1)); done' &); while [ ! -s pid ]; do :; done",
    );
    folder.run_host();
    assert!(!is_alive(folder.pid_in("pid")));
    let left = stranger_count(&folder.launch.cookie);
    assert_eq!(left, 0);
}

/// How many processes carry exactly this cookie.
fn stranger_count(cookie: &str) -> usize {
    let entry = format!("WINDLASS_SESSION={cookie}");
    let folders = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let environs = folders.filter_map(|folder| std::fs::read(folder.path().join("environ")).ok());
    environs.filter(|environ| environ.split(|byte| *byte == 0).any(|line| line == entry.as_bytes())).count()
}

#[test]
fn whoever_carries_the_cookie_is_killed_and_whoever_carries_another_is_not() {
    let folder = shell("exit 0");
    let mut ours = stranger(&folder.launch.cookie);
    let mut longer = stranger(&format!("{}0", folder.launch.cookie));
    folder.run_host();
    let status = eventually("the end of the cookie's bearer", || ours.try_wait().unwrap());
    assert!(!status.success());
    assert!(longer.try_wait().unwrap().is_none());
    longer.kill().unwrap();
    longer.wait().unwrap();
}

#[test]
fn orphans_below_a_child_that_had_to_be_killed_are_gone_too() {
    let script =
        "trap '' TERM; (setsid sh -c 'echo $$ > pid; exec sleep 300' &); while :; do sleep 0.01; done";
    let mut folder = shell(script);
    folder.launch.grace_ms = 50;
    let mut host = folder.start_host();
    let orphan = folder.pid_in("pid");
    host.signal(Signal::TERM);
    assert!(host.wait().success());
    assert_eq!(folder.exit().signal, Some(Signal::KILL.as_raw()));
    assert!(!is_alive(orphan));
}

#[test]
fn a_killed_host_takes_its_child_along_frees_the_lock_and_is_not_replaced() {
    let folder = shell("trap ': > asked; exit' TERM; echo $$ > pid; while :; do sleep 0.01; done");
    let mut host = folder.start_host();
    let child = folder.pid_in("pid");
    assert!(!folder.lock_is_free());
    host.signal(Signal::KILL);
    host.wait_for_crash();
    folder.await_work("asked");
    // Its new parent may be slow to reap it; what counts is that it runs no more.
    eventually("the child's end", || (!is_running(child)).then_some(()));
    assert!(folder.lock_is_free());
    assert!(!folder.has(files::EXIT));
    assert_eq!(folder.start_host().wait().code(), Some(3));
}

fn is_running(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[test]
fn a_host_dies_where_a_test_asks_it_to_and_only_once() {
    let left = |point: u64| {
        let folder = shell("exit 0");
        let mark = folder.file("mark").display().to_string();
        let at = format!("host:{point}");
        let variables = [("WINDLASS_CRASH_AT", at.as_str()), ("WINDLASS_CRASH_MARK", mark.as_str())];
        folder.start_host_with(&variables).wait_for_crash();
        let second = folder.start_host_with(&variables).wait();
        (folder.has(files::STARTED), folder.has(files::EXIT), second.code())
    };
    // Before the child may have done anything, the second host does it all.
    assert_eq!(left(1), (true, true, Some(0)));
    for point in 2..=5 {
        assert_eq!(left(point), (true, false, Some(3)), "point {point}");
    }
    assert_eq!(left(6), (true, true, Some(0)));
}

#[test]
fn crash_points_of_others_do_not_concern_the_host() {
    let folder = shell("exit 0");
    assert!(folder.start_host_with(&[("WINDLASS_CRASH_AT", "windlass:1")]).wait().success());
}
