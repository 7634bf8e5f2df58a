//! The host with real processes: that nothing is left below it, and what is left when it dies itself.
#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod common;
#[path = "common/hosted.rs"]
mod hosted;

use std::process::{Child, Command};

use common::eventually;
use hosted::{Folder, Host, is_alive, shell};
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

/// Counts the processes that carry exactly this cookie.
fn stranger_count(cookie: &str) -> usize {
    let entry = format!("WINDLASS_SESSION={cookie}");
    let folders = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let environs = folders.filter_map(|folder| std::fs::read(folder.path().join("environ")).ok());
    environs.filter(|environ| environ.split(|byte| *byte == 0).any(|line| line == entry.as_bytes())).count()
}

#[test]
fn whoever_carries_the_cookie_is_killed_and_whoever_carries_another_is_not() {
    let folder = shell(": > begun; while [ ! -e go ]; do sleep 0.01; done");
    let mut host = folder.start_host();
    folder.await_work("begun");
    // As an outside service would start them for the child.
    let mut ours = stranger(&folder.launch.cookie);
    let mut longer = stranger(&format!("{}0", folder.launch.cookie));
    std::fs::write(folder.work("go"), "").unwrap();
    assert!(host.wait().success());
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

/// A child that leaves processes behind in every way, and goes on.
fn hiding() -> Folder {
    shell(
        "env -i PATH=$PATH setsid sh -c 'echo $$ > session; exec sleep 300' &
        ( ( env -i PATH=$PATH setsid sh -c 'trap \"\" TERM HUP; echo $$ > stubborn; while :; do sleep 1; done' & ) & )
        env -i PATH=$PATH nohup sh -c '( sh -c \"echo \\$\\$ > deep; exec sleep 300\" & )' >/dev/null 2>&1 &
        while :; do sleep 0.01; done",
    )
}

const HIDDEN: [&str; 3] = ["session", "stubborn", "deep"];

/// A host of such a child, with a group for it and without.
fn hosts_of_hiding() -> Vec<(Folder, Host)> {
    let (grouped, plain) = (hiding(), hiding());
    let with_group = grouped.start_host();
    let without = plain.start_host_without_group();
    let mut all = vec![(grouped, with_group)];
    all.extend(without.map(|host| (plain, host)));
    all
}

#[test]
fn what_hides_below_a_host_that_is_killed_is_gone_before_the_lock_is_free() {
    for (folder, mut host) in hosts_of_hiding() {
        let hidden = HIDDEN.map(|name| folder.pid_in(name));
        host.signal(Signal::KILL);
        eventually("a free lock", || folder.lock_is_free().then_some(()));
        assert_eq!(hidden.map(is_running), [false; 3]);
        host.wait_for_crash();
        assert!(!folder.has(files::EXIT) && !folder.has(files::CGROUP));
    }
}

#[test]
fn a_host_whose_guard_is_killed_goes_on_to_its_end() {
    let folder = shell("echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done; exit 4");
    let host = folder.start_host();
    folder.pid_in("pid");
    rustix::process::kill_process(host.guard(), Signal::KILL).unwrap();
    std::fs::write(folder.work("go"), "").unwrap();
    assert_eq!(folder.exit().code, Some(4));
}

#[test]
fn a_guard_gives_on_what_it_is_asked_and_is_not_taken_for_the_host() {
    let folder = shell("trap ': > asked; exit' TERM; echo $$ > pid; while :; do sleep 0.01; done");
    let mut host = folder.start_host();
    folder.pid_in("pid");
    assert_ne!(host.pid(), host.guard());
    let word = |pid: Pid| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
        line.split('\0').nth(1).unwrap().to_owned()
    };
    assert_eq!((word(host.pid()), word(host.guard())), ("host".to_owned(), "keep".to_owned()));
    rustix::process::kill_process(host.guard(), Signal::TERM).unwrap();
    folder.await_work("asked");
    assert!(host.wait().success());
}

#[test]
fn a_child_is_in_a_group_of_its_own_which_is_gone_when_it_has_ended() {
    let folder =
        shell("cat /proc/self/cgroup > groups; echo $$ > pid; while [ ! -e go ]; do sleep 0.01; done");
    let name = windlass_core::launch::cgroup_name(&folder.launch.cookie);
    let mut host = folder.start_host();
    folder.pid_in("pid");
    if !folder.has(files::CGROUP) {
        eprintln!("SKIPPED: a group of its own: none can be made here");
        return;
    }
    let path = folder.read(files::CGROUP);
    assert!(path.ends_with(&name) && folder.read("work/groups").contains(&name), "{path}");
    // It may make groups in its own.
    std::fs::create_dir(format!("{path}/inner")).unwrap();
    std::fs::write(folder.work("go"), "").unwrap();
    assert!(host.wait().success());
    assert!(!folder.has(files::CGROUP) && !std::path::Path::new(&path).exists());
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
