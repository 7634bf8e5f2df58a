//! Counts the instructions of `windlass hook` with callgrind. Unlike times, the count hardly varies.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::bench::engine::Engine;
use crate::cargo::could_not_start;

/// The most instructions of one hook call, from start to exit.
pub(crate) const LIMIT: u64 = 120_000;

/// Counts the instructions and fails if there are more than [`LIMIT`].
pub(crate) fn check(bin: &Path) -> Result<u64, String> {
    let count = count(bin)?;
    match count <= LIMIT {
        true => Ok(count),
        false => Err(format!("`windlass hook` takes {count} instructions, more than {LIMIT}")),
    }
}

/// Counts the instructions of one hook call that the engine answers at once.
pub(crate) fn count(bin: &Path) -> Result<u64, String> {
    let engine = Engine::start()?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(bin);
    valgrind.args(["hook", "PreToolUse", "--closed"]).env_clear().env("PATH", "/usr/bin:/bin");
    valgrind.env("WINDLASS_SOCKET", engine.socket()).env("WINDLASS_SESSION", Engine::COOKIE);
    valgrind.stdin(Stdio::from(engine.payload()?));
    let output = valgrind.output().map_err(|error| could_not_start(&valgrind, &error))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if String::from_utf8_lossy(&output.stdout) != Engine::ANSWER {
        return Err(format!("`windlass hook` did not pass the answer on: {said}"));
    }
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    let number = collected.and_then(|(_, number)| number.trim().parse().ok());
    number.ok_or_else(|| format!("callgrind counted nothing: {said}"))
}
