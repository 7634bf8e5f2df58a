//! Prints the progress of a chore as short lines on standard error.

use std::time::Instant;

/// Prints the step that starts now.
pub(crate) fn step(what: &str) {
    eprintln!("==> {what}");
}

/// Prints a detail of the current step.
pub(crate) fn note(what: &str) {
    eprintln!("    {what}");
}

/// Prints an error.
pub(crate) fn wrong(what: &str) {
    eprintln!("error: {what}");
}

/// Prints a step, runs it, and prints the time it took.
pub(crate) fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    step(what);
    let start = Instant::now();
    let done = work();
    note(&format!("{:.1} s", start.elapsed().as_secs_f64()));
    done
}
