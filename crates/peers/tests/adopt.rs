//! A process that adopts orphans ends them, and takes no exit status away from whoever started a child.
//!
//! One test, because adopting is for the whole process.
#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windlass_peers::descent::{Descent, descent};
use windlass_peers::process::{
    ProgramOutput, ShortEnv, ShortProgram, adopt_orphans, end_adopted, end_all_adopted, run_short,
};
use windlass_testkit::{procs, wait::until};

const LIMIT: Duration = Duration::from_secs(40);

fn sh(script: &str) -> ProgramOutput {
    let args = [OsStr::new("-c"), OsStr::new(script)];
    let env = ShortEnv::Only(&[("PATH", "/usr/bin:/bin")]);
    let program = Path::new("/bin/sh");
    run_short(&ShortProgram {
        program,
        args: &args,
        cwd: Path::new("/"),
        env,
        deadline: LIMIT,
        max_output: 1000,
    })
    .unwrap()
}

/// Leaves a process behind that nobody above it is alive for, and gives its id.
fn leave(doing: &str) -> i32 {
    let inner = format!("{doing}; echo $$; exec >/dev/null; exec sleep 300");
    // It is away from the group of the short program before that ends.
    let left = sh(&format!("( env -i PATH=$PATH setsid sh -c '{inner}' & ) | head -n 1"));
    String::from_utf8(left.stdout).unwrap().trim().parse().unwrap()
}

#[test]
fn orphans_are_no_people_and_are_ended_and_no_exit_status_is_lost() {
    adopt_orphans();
    for doing in [":", "trap \"\" TERM", "sleep 300 & :"] {
        let pid = leave(doing);
        assert!(procs::is_alive(pid), "{doing}: the test shows nothing");
        assert!(matches!(descent(pid), Descent::Session { .. }), "{doing}: {:?}", descent(pid));
        assert!(end_all_adopted(), "{doing}");
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{doing}: not even a zombie stays");
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                end_adopted();
            }
        });
        let started: Vec<_> =
            (0..4).map(|_| scope.spawn(|| (0..50).map(|_| sh("exit 3").code).collect::<Vec<_>>())).collect();
        let codes: Vec<_> = started.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        is_over.store(true, Ordering::Release);
        assert_eq!(codes, vec![Some(3); 200]);
    });
    until(LIMIT, || end_adopted() == 0);
}
