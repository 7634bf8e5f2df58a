//! `cargo xtask ci`: runs everything that a change must pass.

use crate::cargo::{self, cargo};
use crate::test::{self, Options};
use crate::{Outcome, Verdict, say};

pub(crate) fn run() -> Outcome {
    let format = ["fmt", "--all", "--check"];
    // Uses the release profile like the tests, so that build scripts (mostly SQLite) run once for both.
    let clippy = ["clippy", "--workspace", "--all-targets", "--release", "--", "-D", "warnings"];
    for (name, words) in [("format", format.as_slice()), ("clippy", clippy.as_slice())] {
        if !say::timed(name, || cargo::succeeds(&mut cargo(words)))? {
            return Ok(Verdict::Bad);
        }
    }
    test::run(&Options::everything())
}
