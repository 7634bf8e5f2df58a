//! The host with real processes: what it starts, when it ends it, what it writes.
//!
//! What it leaves behind, and what happens when it dies itself, is in `host_sweep.rs`.
#![expect(clippy::expect_used, reason = "a test ends where it cannot go on")]

mod common;
#[path = "common/hosted.rs"]
mod hosted;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use hosted::{Folder, program, shell};
use rustix::process::Signal;
use windlass_core::launch::{EndedBy, ExitFile, LAUNCH_VERSION, LineMark, files};

fn exited(code: i32) -> ExitFile {
    ExitFile {
        v: LAUNCH_VERSION,
        code: Some(code),
        signal: None,
        ended_by: None,
        spawn_error: None,
        too_much_output: false,
    }
}

fn killed(signal: i32) -> ExitFile {
    ExitFile { code: None, signal: Some(signal), ..exited(0) }
}

fn spawn_error(folder: &Folder) -> String {
    folder.run_host().spawn_error.expect("a child that does not start")
}

#[test]
fn the_exit_code_is_recorded() {
    assert_eq!(shell("exit 7").run_host(), exited(7));
}

#[test]
fn a_signal_that_ended_the_child_is_recorded() {
    assert_eq!(shell("kill -SEGV $$").run_host(), killed(11));
}

#[test]
fn output_goes_to_private_files_and_is_appended() {
    let folder = shell("echo out; echo err >&2");
    fs::write(folder.file(files::STDOUT), "before\n").unwrap();
    folder.run_host();
    assert_eq!(folder.read(files::STDOUT), "before\nout\n");
    assert_eq!(folder.read(files::STDERR), "err\n");
    for name in [files::STDERR, files::LOCK, files::STARTED, files::EXIT] {
        let mode = fs::metadata(folder.file(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn standard_error_can_share_the_file_of_standard_output() {
    let mut folder = shell("echo one; echo two >&2; echo three");
    folder.launch.merge_stderr = true;
    folder.run_host();
    assert_eq!(folder.read(files::STDOUT), "one\ntwo\nthree\n");
    assert!(!folder.has(files::STDERR));
}

#[test]
fn standard_input_comes_from_the_file_or_is_empty() {
    let mut folder = program(&["/bin/cat"]);
    let input = folder.file("input");
    fs::write(&input, "line one\nline two").unwrap();
    folder.launch.stdin = Some(input.display().to_string());
    folder.run_host();
    assert_eq!(folder.read(files::STDOUT), "line one\nline two");

    let folder = program(&["/bin/cat"]);
    assert_eq!(folder.run_host(), exited(0));
    assert_eq!(folder.read(files::STDOUT), "");
}

#[test]
fn the_environment_is_exactly_what_the_launch_says() {
    let mut folder = program(&["env"]);
    folder.launch.env.push(("ODD".into(), "a=b $HOME \"'".into()));
    folder.launch.env.push(("WINDLASS_SESSION".into(), "of somebody else".into()));
    folder.start_host_with(&[("SECRET", "of the engine")]).wait();
    assert_eq!(folder.exit(), exited(0));
    let output = folder.read(files::STDOUT);
    let mut lines: Vec<&str> = output.lines().collect();
    lines.sort_unstable();
    let session = format!("WINDLASS_SESSION={}", folder.launch.cookie);
    assert_eq!(lines, ["ODD=a=b $HOME \"'", "PATH=/usr/bin:/bin", session.as_str()]);
}

#[test]
fn the_child_inherits_no_signal_settings_of_the_host() {
    let folder = program(&["/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]);
    folder.run_host();
    let output = folder.read(files::STDOUT);
    let masks: Vec<u64> = output
        .lines()
        .map(|line| u64::from_str_radix(line.split_whitespace().next_back().unwrap(), 16).unwrap())
        .collect();
    // The real-time signals beyond are nobody's here.
    assert_eq!(masks.iter().map(|mask| mask & 0x7fff_ffff).collect::<Vec<_>>(), [0, 0], "{output}");
}

#[test]
fn the_child_inherits_no_descriptor_of_the_host() {
    let folder = program(&["/bin/ls", "/proc/self/fd"]);
    folder.run_host();
    // The last one is the folder that `ls` reads.
    assert_eq!(folder.read(files::STDOUT), "0\n1\n2\n3\n");
}

#[test]
fn arguments_and_the_working_folder_arrive_as_they_are() {
    let folder =
        program(&["/bin/sh", "-c", "pwd; printf '%s|' \"$@\"", "sh", "$HOME", "-x", "a b", "line\nbreak"]);
    folder.run_host();
    let work = fs::canonicalize(&folder.launch.cwd).unwrap();
    assert_eq!(folder.read(files::STDOUT), format!("{}\n$HOME|-x|a b|line\nbreak|", work.display()));
}

#[test]
fn a_second_host_on_the_same_folder_exits_at_once() {
    let folder = shell("echo $PPID > host; echo born; exec sleep 60");
    let mut first = folder.start_host();
    let host = folder.pid_in("host");
    assert!(folder.start_host().wait().success());
    assert_eq!(folder.read(files::LOCK), host.to_string());
    first.signal(Signal::TERM);
    assert!(first.wait().success());
    assert_eq!(folder.read(files::STDOUT), "born\n");
}

#[test]
fn a_host_on_a_finished_folder_does_nothing() {
    let folder = shell("echo ran");
    folder.run_host();
    assert!(folder.start_host().wait().success());
    assert_eq!(folder.read(files::STDOUT), "ran\n");
}

// The deadlines are long enough for a shell on a busy machine to have set its trap.

#[test]
fn a_child_past_its_deadline_is_asked_to_end_and_has_time_for_it() {
    let mut folder = shell("trap 'echo bye; exit 3' TERM; while :; do sleep 0.01; done");
    folder.launch.deadline_ms = Some(2_000);
    assert_eq!(folder.run_host(), ExitFile { ended_by: Some(EndedBy::Deadline), ..exited(3) });
    assert_eq!(folder.read(files::STDOUT), "bye\n");
}

#[test]
fn a_child_that_ignores_the_request_is_killed_after_the_grace() {
    let mut folder = shell("trap '' TERM; while :; do sleep 0.01; done");
    folder.launch.deadline_ms = Some(2_000);
    folder.launch.grace_ms = 100;
    assert_eq!(folder.run_host(), ExitFile { ended_by: Some(EndedBy::Deadline), ..killed(9) });
}

#[test]
fn a_stopped_child_past_its_deadline_ends_without_the_grace() {
    let mut folder = shell("kill -STOP $$");
    folder.launch.deadline_ms = Some(100);
    assert_eq!(folder.run_host(), ExitFile { ended_by: Some(EndedBy::Deadline), ..killed(15) });
}

#[test]
fn a_child_that_does_not_end_after_its_input_is_asked_to_end() {
    let mut folder = shell("trap 'exit 3' TERM; cat; while :; do sleep 0.01; done");
    fs::write(folder.file("input"), "all of it\n\u{4}").expect("an input");
    folder.launch.stdin = Some(folder.file("input").display().to_string());
    folder.launch.stdin_until = Some(LineMark { key: "type".into(), value: "result".into() });
    folder.launch.linger_ms = Some(500);
    assert_eq!(folder.run_host(), ExitFile { ended_by: Some(EndedBy::Linger), ..exited(3) });
    assert_eq!(folder.read(files::STDOUT), "all of it\n");
}

#[test]
fn a_child_that_prints_more_than_it_may_is_killed_and_what_it_printed_is_cut() {
    let mut folder = shell("trap '' TERM; (exec setsid yes) & exec yes");
    folder.launch.output_max = Some(100_000);
    assert_eq!(folder.run_host(), ExitFile { too_much_output: true, ..killed(9) });
    assert_eq!(folder.read(files::STDOUT).len(), 100_000);
}

#[test]
fn a_child_that_prints_as_much_as_it_may_ends_by_itself() {
    let mut folder = shell("head -c 100000 /dev/zero; sleep 0.2; echo >&2");
    folder.launch.output_max = Some(100_000);
    assert_eq!(folder.run_host(), exited(0));
    assert_eq!(folder.read(files::STDOUT).len(), 100_000);
}

#[test]
fn a_deadline_that_is_not_reached_changes_nothing() {
    let mut folder = shell("exit 0");
    folder.launch.deadline_ms = Some(u64::MAX);
    folder.launch.grace_ms = u64::MAX;
    assert_eq!(folder.run_host(), exited(0));
}

#[test]
fn sigterm_to_the_host_ends_the_child() {
    let folder = shell("trap 'exit 5' TERM; : > ready; while :; do sleep 0.01; done");
    let mut host = folder.start_host();
    folder.await_work("ready");
    host.signal(Signal::TERM);
    assert!(host.wait().success());
    assert_eq!(folder.exit(), ExitFile { ended_by: Some(EndedBy::Request), ..exited(5) });
}

#[test]
fn a_second_sigterm_kills_at_once() {
    let folder = shell("trap ': > asked' TERM; : > ready; while :; do sleep 0.01; done");
    let mut host = folder.start_host();
    folder.await_work("ready");
    host.signal(Signal::TERM);
    folder.await_work("asked");
    host.signal(Signal::TERM);
    assert!(host.wait().success());
    assert_eq!(folder.exit(), ExitFile { ended_by: Some(EndedBy::Request), ..killed(9) });
}

#[test]
fn hangup_and_interrupt_do_not_reach_the_child_or_end_the_host() {
    let folder = shell("echo $PPID > host; while [ ! -e go ]; do sleep 0.01; done; exit 4");
    let mut host = folder.start_host();
    folder.pid_in("host");
    host.signal(Signal::HUP);
    host.signal(Signal::INT);
    fs::write(folder.work("go"), "").unwrap();
    assert!(host.wait().success());
    assert_eq!(folder.exit(), exited(4));
}

#[test]
fn a_program_that_is_not_there_is_a_spawn_error() {
    let why = spawn_error(&program(&["no-such-agent"]));
    assert_eq!(why, "`no-such-agent` could not be started: No such file or directory (os error 2)");
    assert_eq!(spawn_error(&program(&[])), "there is no program to start");
}

#[test]
fn a_working_folder_or_an_input_that_is_not_there_is_a_spawn_error() {
    let mut folder = shell("exit 0");
    folder.launch.cwd = "/no/such/folder".into();
    assert_eq!(spawn_error(&folder), "the working folder /no/such/folder does not exist");

    let mut folder = shell("exit 0");
    folder.launch.stdin = Some("/no/such/input".into());
    assert!(spawn_error(&folder).starts_with("standard input /no/such/input could not be opened"));
    assert!(!folder.has(files::STARTED), "nothing was started");
}

#[test]
fn a_launch_that_cannot_be_understood_is_a_spawn_error() {
    let mut folder = shell("exit 0");
    folder.launch.v = 2;
    assert_eq!(spawn_error(&folder), "launch.json has version 2, this host knows 1");

    let mut folder = shell("exit 0");
    folder.launch.cookie = String::new();
    assert_eq!(spawn_error(&folder), "launch.json has no usable cookie");

    let folder = shell("exit 0");
    fs::write(folder.file(files::LAUNCH), "{\"v\":1,").unwrap();
    let status = common::pawl("host").arg(folder.file("")).status().unwrap();
    assert!(status.success());
    assert!(folder.exit().spawn_error.unwrap().starts_with("launch.json cannot be parsed"));
}

#[test]
fn a_folder_that_is_not_there_is_an_error_of_the_host() {
    let output = common::pawl("host").arg("/no/such/folder").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("windlass host: /no/such/folder: "));
}

#[test]
fn a_child_writes_only_where_it_may() {
    let mut folder = shell(
        "echo x > made; echo x > ../outside/kept; rm ../outside/kept; mkdir ../outside/folder; mv made ../outside; \
         (cd ../outside && echo x > new); echo x > /dev/null && echo x > ../one && echo x >> made",
    );
    fs::create_dir(folder.file("outside")).unwrap();
    fs::write(folder.file("outside/kept"), "kept").unwrap();
    fs::write(folder.file("one"), "").unwrap();
    let places = ["work", "one", "is-not-there"].map(|name| folder.file(name).display().to_string());
    folder.launch.writes_in = Some([places.as_slice(), &["/dev/null".to_owned()]].concat());
    let exit = folder.run_host();
    if exit.spawn_error.as_ref().is_some_and(|why| why.contains("no Landlock")) {
        // A child that cannot be held is not started.
        return assert!(!folder.work("made").exists());
    }
    assert_eq!(exit, exited(0));
    let names = fs::read_dir(folder.file("outside")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["kept"], "{}", folder.read(files::STDERR));
    assert_eq!(folder.read("outside/kept"), "kept");
    assert_eq!(folder.read("one"), "x\n");
    assert_eq!(fs::read_to_string(folder.work("made")).unwrap(), "x\nx\n");
}
