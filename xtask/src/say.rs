//! What a person reads while a chore runs: short lines on standard error.

use std::time::Instant;

/// What is done now.
pub(crate) fn step(what: &str) {
    eprintln!("==> {what}");
}

/// A detail of it.
pub(crate) fn note(what: &str) {
    eprintln!("    {what}");
}

/// What went wrong.
pub(crate) fn wrong(what: &str) {
    eprintln!("error: {what}");
}

/// Says a step, does it, and says how long it took.
pub(crate) fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    step(what);
    let start = Instant::now();
    let done = work();
    note(&format!("{:.1} s", start.elapsed().as_secs_f64()));
    done
}
