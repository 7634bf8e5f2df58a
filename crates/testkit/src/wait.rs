//! Waits by polling with a deadline, never with a plain sleep.
//!
//! A missed deadline panics at the caller.

use std::time::{Duration, Instant};

const STEP: Duration = Duration::from_millis(10);

/// Returns the deadline for an event that is immediate unless the machine is busy.
pub fn soon() -> Duration {
    Duration::from_secs(20)
}

/// Polls until there is an answer. Panics at the caller after the deadline.
#[track_caller]
pub fn eventually<T>(deadline: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < deadline, "not so within {deadline:?}");
        std::thread::sleep(STEP);
    }
}

/// Like [`eventually`], for a condition.
#[track_caller]
pub fn until(deadline: Duration, mut holds: impl FnMut() -> bool) {
    eventually(deadline, || holds().then_some(()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_answer_is_returned() {
        let mut asked = 0;
        let answer = eventually(soon(), || {
            asked += 1;
            (asked == 3).then_some("there")
        });
        assert_eq!((answer, asked), ("there", 3));
    }

    #[test]
    #[should_panic(expected = "not so within")]
    fn a_missed_deadline_is_a_panic() {
        until(Duration::from_millis(1), || false);
    }
}
