//! `cargo xtask sweep`: kills the process at every crash point and prints what came of it.
//!
//! The sweeps themselves are tests of the binary's crate, in `tests/sim`.

use crate::cargo::{self, cargo};
use crate::{Outcome, Verdict, say};

/// How many points are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    Short,
    Full,
}

pub(crate) fn run(depth: Depth) -> Outcome {
    let word = match depth {
        Depth::Short => "short",
        Depth::Full => "full",
    };
    let words = ["test", "--release", "--package", "windlass", "--test", "sim", "sweep", "--"];
    let mut command = cargo(&words);
    command.args(["--nocapture", "--include-ignored"]).env("WINDLASS_SWEEP", word);
    let good = say::timed(&format!("sweep ({word})"), || cargo::succeeds(&mut command))?;
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}
