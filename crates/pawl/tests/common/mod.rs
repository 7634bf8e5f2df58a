//! Helpers for the tests of the small programs: the programs themselves, and waiting.
//!
//! The programs are the example `pawl`, which `cargo test` builds before it runs any test.
#![expect(clippy::expect_used, clippy::panic, reason = "a test ends where it cannot go on")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::process::Command;
use std::time::{Duration, Instant};

/// `pawl NAME`, in an empty environment.
pub(crate) fn pawl(name: &str) -> Command {
    let test = std::env::current_exe().expect("the test's own path");
    let program = test.ancestors().nth(2).expect("a target folder").join("examples/pawl");
    assert!(program.exists(), "{} is not built: run `cargo build --example pawl`", program.display());
    #[expect(clippy::disallowed_methods, reason = "the test starts the program it tests")]
    let mut command = Command::new(program);
    command.env_clear().arg(name);
    command
}

/// Looks until there is something, for at most twenty seconds.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(20) {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what} did not happen");
}
