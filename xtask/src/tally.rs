//! Counts passed, failed and skipped tests in the output of the test runners.

use std::fmt;
use std::ops::AddAssign;

/// The totals of one or more test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Tally {
    /// Reads nextest's summary or a `test result:` line of the standard runner. Other lines give `None`.
    pub(crate) fn read(line: &str) -> Option<Tally> {
        let counts = if line.trim_start().starts_with("Summary [") {
            line.split_once(" run:")?.1
        } else {
            // An indented line is output of a failed test, which the summary already counts.
            line.strip_prefix("test result:")?.split_once(". ")?.1
        };
        let mut tally = Tally::default();
        for part in counts.split([',', ';', '(', ')']) {
            tally.count(part.trim());
        }
        Some(tally)
    }

    fn count(&mut self, part: &str) {
        let Some((number, word)) = part.split_once(' ') else { return };
        let Ok(number) = number.parse::<usize>() else { return };
        match word {
            "passed" => self.passed += number,
            "failed" | "timed out" | "exec failed" => self.failed += number,
            "skipped" | "ignored" => self.skipped += number,
            _ => {}
        }
    }

    /// Moves tests from passed to skipped. The runner counts a test that skips itself as passed.
    pub(crate) fn move_to_skipped(&mut self, count: usize) {
        self.passed = self.passed.saturating_sub(count);
        self.skipped += count;
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: usize, failed: usize, skipped: usize) -> Option<Tally> {
        Some(Tally { passed, failed, skipped })
    }

    #[test]
    fn nextest_is_read_from_its_summary() {
        let lines = [
            (
                "     Summary [   7.912s] 30 tests run: 28 passed (1 slow), 2 failed, 3 skipped",
                tally(28, 2, 3),
            ),
            ("     Summary [   0.012s] 1 test run: 1 passed, 0 skipped", tally(1, 0, 0)),
            (
                "     Summary [  60.1s] 5/9 tests run: 3 passed (1 leaky), 1 failed, 1 timed out, 0 skipped",
                tally(3, 2, 0),
            ),
            ("        PASS [   0.012s] a test run: 1 passed", None),
            ("    test result: FAILED. 0 passed; 1 failed; 0 ignored; finished in 0.01s", None),
        ];
        for (line, expected) in lines {
            assert_eq!(Tally::read(line), expected, "{line}");
        }
    }

    #[test]
    fn the_standard_runner_is_read_from_its_result() {
        let line = "test result: FAILED. 7 passed; 1 failed; 2 ignored; 0 measured; 4 filtered out; finished in 6.41s";
        assert_eq!(Tally::read(line), tally(7, 1, 2));
    }

    #[test]
    fn what_could_not_run_has_not_passed() {
        let mut count = Tally { passed: 5, failed: 0, skipped: 1 };
        count.move_to_skipped(2);
        assert_eq!(count.to_string(), "3 passed, 0 failed, 3 skipped");
    }
}
