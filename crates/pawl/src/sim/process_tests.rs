//! The program as a process of its own: signals, crashes and what is left behind.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use super::format::claude::shape_tests::assert_shaped;
use super::rehearsal::RehearsedScript;

const ARGS: &str = "SIM_TEST_ARGS";

/// Not a test: what the tests below start, as this very program.
#[test]
fn the_program() {
    let Ok(args) = std::env::var(ARGS) else { return };
    let args = serde_json::from_str(&args).unwrap();
    std::process::exit(super::run(args).into());
}

#[expect(clippy::disallowed_methods, reason = "the program under test")]
fn start(rehearsal: &RehearsedScript) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sim::process_tests::the_program", "--nocapture"]);
    command.env_clear().envs(rehearsal.env.iter().map(|(name, value)| (name, value)));
    command.env(ARGS, json!(rehearsal.args).to_string()).current_dir(rehearsal.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn end(child: &mut Child) -> (ExitStatus, Vec<Value>) {
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let events = out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    (child.wait().unwrap(), events)
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn steps(steps: Value) -> RehearsedScript {
    RehearsedScript::of_steps(steps).with(&["do it"])
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Starts a play whose shell command writes its process id and then sleeps; waits for that id.
fn start_sleeping() -> (RehearsedScript, Child, Pid) {
    let rehearsal = steps(json!([{"bash": "echo $$ > p.tmp; mv p.tmp pid; exec sleep 600"}]));
    let child = start(&rehearsal);
    wait_until("the tool runs", || rehearsal.path("pid").exists());
    let pid = Pid::from_raw(rehearsal.text("pid").trim().parse().unwrap()).unwrap();
    (rehearsal, child, pid)
}

#[test]
fn terminate_ends_it_with_its_tool_and_without_a_result() {
    let (_rehearsal, mut child, tool) = start_sleeping();
    signal(&child, Signal::TERM);
    let (status, events) = end(&mut child);
    assert_eq!(status.code(), Some(143));
    assert!(!events.iter().any(|event| event["type"] == "result"));
    wait_until("the tool is gone", || test_kill_process(tool).is_err());
}

#[test]
fn interrupt_ends_it_well_with_an_error_as_result() {
    let (_rehearsal, mut child, tool) = start_sleeping();
    signal(&child, Signal::INT);
    let (status, events) = end(&mut child);
    assert_eq!(status.code(), Some(0));
    let result = events.last().unwrap();
    assert_shaped(result, "result_interrupted");
    assert_eq!(
        (&result["subtype"], &result["terminal_reason"]),
        (&json!("error_during_execution"), &json!("aborted_tools"))
    );
    wait_until("the tool is gone", || test_kill_process(tool).is_err());
}

#[test]
fn kill_leaves_the_tool_running_as_the_real_one_does() {
    let (_rehearsal, mut child, tool) = start_sleeping();
    signal(&child, Signal::KILL);
    let (status, _) = end(&mut child);
    assert_eq!(status.signal(), Some(9));
    assert!(test_kill_process(tool).is_ok());
    kill_process(tool, Signal::KILL).unwrap();
}

#[test]
fn a_hang_ends_by_terminate_unless_it_is_deaf() {
    let rehearsal = steps(json!([{"bash": "touch ready"}, {"hang": true}]));
    let mut child = start(&rehearsal);
    wait_until("it hangs", || rehearsal.path("ready").exists());
    signal(&child, Signal::TERM);
    assert_eq!(end(&mut child).0.code(), Some(143));

    let deaf = steps(json!([{"hang": {"ignore_sigterm": true}}]));
    let mut child = start(&deaf);
    let ignored = || {
        std::fs::read_to_string(format!("/proc/{}/status", child.id())).is_ok_and(|s| ignores_terminate(&s))
    };
    wait_until("it is deaf", ignored);
    signal(&child, Signal::TERM);
    assert!(child.try_wait().unwrap().is_none());
    signal(&child, Signal::KILL);
    assert_eq!(end(&mut child).0.signal(), Some(9));
}

fn ignores_terminate(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & (1 << (Signal::TERM.as_raw() - 1)) != 0)
}

#[test]
fn a_crash_is_by_signal_or_by_code() {
    for (crash, signal, code) in
        [(json!("SIGKILL"), Some(9), None), (json!("SIGSEGV"), Some(11), None), (json!(7), None, Some(7))]
    {
        let (status, events) = end(&mut start(&steps(json!([{"say": "a"}, {"crash": crash}]))));
        assert_eq!((status.signal(), status.code()), (signal, code));
        assert_eq!(events.last().unwrap()["type"], "assistant");
    }
}

#[test]
fn a_grandchild_outlives_the_session_in_one_of_its_own() {
    let rehearsal = steps(json!([{"grandchild": {"pid_file": "left"}}]));
    assert_eq!(end(&mut start(&rehearsal)).0.code(), Some(0));
    let left = Pid::from_raw(rehearsal.text("left").parse().unwrap()).unwrap();
    assert!(test_kill_process(left).is_ok());
    assert_ne!(rustix::process::getsid(Some(left)).unwrap(), rustix::process::getsid(None).unwrap());
    kill_process(left, Signal::KILL).unwrap();
}

#[test]
fn a_play_waits_for_a_file() {
    let rehearsal = steps(json!([{"bash": "touch ready"}, {"wait_for": "go"}, {"say": "gone"}]));
    let mut child = start(&rehearsal);
    wait_until("it waits", || rehearsal.path("ready").exists());
    assert!(child.try_wait().unwrap().is_none());
    std::fs::write(rehearsal.path("go"), "").unwrap();
    assert_eq!(end(&mut child).1.last().unwrap()["result"], "gone");
}

#[test]
fn when_nobody_reads_it_ends_quietly() {
    let rehearsal = steps(json!([{"wait_for": "go"}, {"say": "into nothing"}, {"bash": "touch made"}]));
    let mut child = start(&rehearsal);
    wait_until("it began", || !rehearsal.text("log.jsonl").is_empty());
    drop(child.stdout.take());
    std::fs::write(rehearsal.path("go"), "").unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(1), ""));
    assert!(!rehearsal.path("made").exists());
}
