//! `cargo xtask sweep`: kills the process at every crash point and prints the results.
//!
//! The sweeps are tests of the crate `windlass`, in `tests/sim`.

use crate::cargo::{self, cargo};
use crate::{Outcome, Verdict, say};

/// The number of crash points to try.
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
