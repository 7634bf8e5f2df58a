//! Command lines under a host that is a process of its own: a small one, which keeps the files of
//! a child's folder as the real one does. The real one runs in `crates/windlass/tests`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use windlass_core::id::NodeId;
use windlass_core::launch::LAUNCH_VERSION;
use windlass_peers::tail::Watcher;

use super::super::gate::Gate;
use super::*;

/// `host DIR`: locks, says who it is, starts the child and writes down how it ended. The launch
/// file is read by `sed`, so that commands in here have no quotes in them.
const HOST: &str = r#"#!/bin/sh
cd "$2" || exit 1
exec 9>>host.lock
flock -n 9 || exit 0
echo $$ >host.lock
said() { sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/" launch.json; }
command=$(sed 's/.*"-c","\([^"]*\)".*/\1/' launch.json)
cwd=$(said cwd)
cookie=$(said cookie)
: >started
(cd "$cwd" && WINDLASS_SESSION=$cookie exec sh -c "$command") >>stdout 2>>stderr 9>&-
echo "{\"v\":1,\"code\":$?,\"signal\":null,\"ended_by\":null}" >exit.tmp
mv exit.tmp exit.json
"#;

struct Stage {
    dir: TempDir,
    exe: PathBuf,
    watcher: Watcher,
}

impl Stage {
    fn new() -> Stage {
        let dir = tempfile::tempdir().unwrap();
        let exe = dir.path().join("windlass");
        fs::write(&exe, HOST).unwrap();
        fs::set_permissions(&exe, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        Stage { dir, exe, watcher: Watcher::start().unwrap() }
    }

    fn work(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    /// Returns the contents of a file that a command wrote in the workspace.
    fn wrote(&self, name: &str) -> String {
        fs::read_to_string(self.work(name)).unwrap_or_default()
    }

    fn child(&self, place: u32) -> PathBuf {
        self.dir.path().join(format!("sh.1.1.shell/1-{place}"))
    }

    async fn run(&self, command: &str, again: RerunPolicy) -> ShellEnd {
        let (node, gate) = (NodeId::new("x"), &Gate::default());
        let hosts = HostStarter { exe: &self.exe, watcher: &self.watcher, env: Vec::new(), node, gate };
        let launch = |dir: &Path| Launch {
            v: LAUNCH_VERSION,
            // The folder makes it one that no other test has.
            cookie: dir.display().to_string(),
            argv: ["/bin/sh", "-c", command].map(str::to_owned).to_vec(),
            env: Vec::new(),
            cwd: self.work("").display().to_string(),
            stdin: None,
            stdin_until: None,
            linger_ms: None,
            deadline_ms: None,
            grace_ms: 100,
            merge_stderr: false,
            output_max: None,
            writes_in: None,
        };
        run(&hosts, &self.dir.path().join("sh.1.1.shell"), &ShellPlan::default(), launch, again)
            .await
            .unwrap()
    }
}

fn exited(passed: bool, code: i32, output: &str) -> ShellEnd {
    ShellEnd::exited(passed, format!("exit code {code}"), output)
}

async fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Decides whether a process is alive. `pid` is the text of the file that holds its id.
fn lives(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z ")
}

#[tokio::test]
async fn success_gives_what_it_printed_and_nothing_else() {
    let stage = Stage::new();
    let end = stage.run("echo one; echo oops >&2; printf two", RerunPolicy::MustNot).await;
    assert_eq!(end, exited(true, 0, "one\ntwo"));
    assert!(!stage.child(1).join(names::LAUNCH).exists(), "it may hold keys");
}

#[tokio::test]
async fn a_failure_gives_what_it_complained_about_too() {
    let stage = Stage::new();
    let end = stage.run("echo out; echo err >&2; exit 3", RerunPolicy::MustNot).await;
    let ShellEnd::Exited { passed, how, output, stdout } = end else { panic!("{end:?}") };
    assert_eq!((passed, how.as_str(), output.as_str()), (false, "exit code 3", "out\nerr"));
    assert_eq!(stdout.as_deref(), Some("out"));
}

#[tokio::test]
async fn of_very_much_output_the_end_is_kept() {
    let stage = Stage::new();
    let end = stage.run("yes | head -n 100000; echo end", RerunPolicy::MustNot).await;
    let ShellEnd::Exited { passed: true, output, .. } = end else { panic!("{end:?}") };
    assert!(output.ends_with("y\nend") && output.len() < 64 << 10, "{}", output.len());
}

#[tokio::test]
async fn what_is_known_is_not_run_again() {
    let stage = Stage::new();
    for _ in 0..2 {
        let end = stage.run("echo x >>ran; echo done", RerunPolicy::May).await;
        assert_eq!((end, stage.wrote("ran").as_str()), (exited(true, 0, "done"), "x\n"));
    }
}

#[tokio::test]
async fn what_still_runs_is_taken_up() {
    let stage = Stage::new();
    let command = "echo x >>ran; until test -e go; do sleep 0.01; done; echo end";
    tokio::select! {
        end = stage.run(command, RerunPolicy::MustNot) => panic!("{end:?}"),
        () = wait_until("it runs", || stage.wrote("ran") == "x\n") => {}
    }
    fs::write(stage.work("go"), "").unwrap();
    assert_eq!(stage.run(command, RerunPolicy::MustNot).await, exited(true, 0, "end"));
    assert_eq!(stage.wrote("ran"), "x\n");
}

#[tokio::test]
async fn of_what_was_cut_off_nobody_knows_what_it_did_and_nothing_is_left() {
    let stage = Stage::new();
    let command = "echo $$ >pid; echo x >>ran; kill -9 $PPID; exec sleep 1000";
    for _ in 0..2 {
        assert_eq!(stage.run(command, RerunPolicy::MustNot).await, ShellEnd::Unknown);
        assert!(!lives(&stage.wrote("pid")));
        assert_eq!(stage.wrote("ran"), "x\n");
    }
    assert!(!stage.child(1).join(names::LAUNCH).exists(), "it may hold keys");
}

#[tokio::test]
async fn what_may_run_twice_is_begun_anew_when_it_was_cut_off() {
    let stage = Stage::new();
    let command =
        "echo x >>ran; test -e again || { touch again; kill -9 $PPID; exec sleep 1000; }; echo fine";
    assert_eq!(stage.run(command, RerunPolicy::May).await, exited(true, 0, "fine"));
    assert_eq!(stage.wrote("ran"), "x\nx\n");
    assert_eq!(stage.run(command, RerunPolicy::May).await, exited(true, 0, "fine"));
    assert_eq!(stage.wrote("ran"), "x\nx\n", "its outcome is known");
}

#[tokio::test]
async fn what_is_always_cut_off_is_given_up() {
    let stage = Stage::new();
    let end = stage.run("echo x >>ran; kill -9 $PPID; exec sleep 1000", RerunPolicy::May).await;
    assert_eq!(end, failed("cut off 5 times".to_owned()));
    assert_eq!(stage.wrote("ran").lines().count(), 5);
}

#[tokio::test]
async fn a_host_that_cannot_be_started_is_a_failure_that_says_so() {
    let stage = Stage::new();
    fs::remove_file(&stage.exe).unwrap();
    let end = stage.run("true", RerunPolicy::MustNot).await;
    let ShellEnd::Exited { passed: false, how, .. } = end else { panic!("{end:?}") };
    assert!(how.starts_with("could not start "), "{how}");
}
