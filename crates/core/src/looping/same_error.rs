//! Recognises a check that fails with the same error again and again.
//!
//! Pure. The runtime computes the digest of each failure, and the log keeps it, so that a run recorded without
//! digests is decided as before.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::LoopRules;
use super::verdict::CheckResult;
use crate::run::{EndReason, FinalStatus, Outcome};

/// The number of turns in a row with the same error after which a loop is stuck.
const SAME_ERRORS: u32 = 3;

/// The errors of one check in the turns of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckStreak {
    /// The check passed in some turn.
    #[serde(default)]
    pub was_green: bool,
    /// The digest of the last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The number of turns in a row with that error.
    #[serde(default)]
    pub turns: u32,
}

impl CheckStreak {
    /// Counts the result of another turn.
    pub fn count(&mut self, result: &CheckResult) {
        self.was_green |= result.passed;
        let is_same = result.error.is_some() && result.error == self.error;
        self.turns = if is_same { self.turns.saturating_add(1) } else { u32::from(result.error.is_some()) };
        self.error.clone_from(&result.error);
    }

    /// Forgets the errors, because a person continues the run.
    pub fn restart(&mut self) {
        *self = CheckStreak { was_green: self.was_green, ..CheckStreak::default() };
    }

    fn is_stuck(&self) -> bool {
        !self.was_green && self.turns >= SAME_ERRORS
    }
}

/// Returns the outcome of a loop in which a check that never passed keeps failing with the same error.
pub fn stuck<'s>(
    rules: &LoopRules,
    streaks: impl IntoIterator<Item = (&'s String, &'s CheckStreak)>,
) -> Option<Outcome> {
    if rules.stuck_after == 0 {
        return None;
    }
    let (name, streak) = streaks.into_iter().find(|(_, streak)| streak.is_stuck())?;
    let why = format!("check `{name}` never passed and failed with the same error in {} turns", streak.turns);
    Some(Outcome::new(FinalStatus::Blocked, EndReason::Stuck).because(why))
}

/// Returns the digest of a failure; `None` if the check printed nothing, because then nothing shows whether
/// the error is the same.
pub fn error_digest(how: &str, output: &str) -> Option<String> {
    let output = output.trim();
    if output.is_empty() {
        return None;
    }
    let text = format!("{how}\n{}", masked(output));
    Some(Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes()).to_string())
}

/// Masks what differs between two runs of the same command: durations, process ids, addresses, dates and
/// temporary paths. A number without such a meaning stays, because `3 failed` is not `2 failed`.
fn masked(output: &str) -> String {
    let lines: Vec<String> = output.lines().map(|line| masked_line(line.trim_end())).collect();
    lines.join("\n")
}

fn masked_line(line: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || "()[]{}<>\"'`,;=".contains(c);
    let mut out = String::with_capacity(line.len());
    let mut before = String::new();
    for part in line.split_inclusive(is_end) {
        let word = part.trim_end_matches(is_end);
        let end = part.get(word.len()..).unwrap_or_default();
        if is_passing(word, &before) {
            out.push('#');
        } else {
            out.push_str(word);
        }
        out.push_str(end);
        if !word.is_empty() {
            before = word.to_lowercase();
        }
    }
    out
}

/// Decides whether a word may differ although the error is the same. `before` is the word before it.
fn is_passing(word: &str, before: &str) -> bool {
    let word = word.trim_end_matches(['.', ':', '!']);
    is_duration(word)
        || is_address(word)
        || is_clock(word)
        || ["/tmp/", "/var/tmp/", "/var/folders/", "/private/"].iter().any(|folder| word.contains(folder))
        || (is_number(word)
            && matches!(
                before.trim_end_matches(':'),
                "pid" | "process" | "port" | "thread" | "seed" | "in" | "after"
            ))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Recognises `0.03s`, `12ms`, `1m` and `2.5min`.
fn is_duration(word: &str) -> bool {
    const UNITS: [&str; 13] =
        ["ns", "µs", "us", "ms", "s", "sec", "secs", "second", "seconds", "m", "min", "mins", "h"];
    let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
    let (number, unit) = word.split_at(digits);
    is_number(number) && UNITS.contains(&unit)
}

/// Recognises `0x7ffe12` and long hexadecimal ids.
fn is_address(word: &str) -> bool {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let is_hex = digits.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    is_hex && (word.starts_with("0x") || digits.len() >= 16)
}

/// Recognises `12:30:05`, `2026-11-18` and both together.
fn is_clock(word: &str) -> bool {
    let marks = word.chars().filter(|c| "-:".contains(*c)).count();
    let digits = word.chars().filter(char::is_ascii_digit).count();
    marks >= 2 && digits >= 6 && word.chars().all(|c| c.is_ascii_digit() || "-:.+TZ/".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(one: &str, two: &str) -> bool {
        error_digest("exit code 1", one) == error_digest("exit code 1", two)
    }

    #[test]
    fn times_ids_and_temporary_paths_do_not_make_another_error() {
        assert!(is_same("FAILED in 0.03s", "FAILED in 1.20s"));
        assert!(is_same("took 12ms (pid 4711)", "took 9ms (pid 4712)"));
        assert!(is_same("open /tmp/a1/x: denied", "open /tmp/b2/x: denied"));
        assert!(is_same("at 0x7ffe01, 12:30:05", "at 0x7ffe02, 12:31:06"));
        assert!(is_same("boom  \n", "boom"));
    }

    #[test]
    fn another_error_is_told_from_the_same_one() {
        assert!(!is_same("3 tests failed", "2 tests failed"));
        assert!(!is_same("src/a.rs:12: unknown name", "src/a.rs:14: unknown name"));
        assert_ne!(error_digest("exit code 1", "x"), error_digest("exit code 2", "x"));
    }

    #[test]
    fn a_silent_failure_has_no_error_to_compare() {
        assert_eq!(error_digest("exit code 1", " \n"), None);
    }

    #[test]
    fn three_equal_errors_count_only_if_the_check_never_passed() {
        let red = CheckResult { error: Some("e".into()), ..CheckResult::default() };
        let green = CheckResult { passed: true, ..CheckResult::default() };
        let after = |results: &[&CheckResult]| {
            let mut streak = CheckStreak::default();
            results.iter().for_each(|result| streak.count(result));
            streak.is_stuck()
        };
        assert!(!after(&[&red, &red]));
        assert!(after(&[&red, &red, &red]));
        assert!(!after(&[&green, &red, &red, &red]));
        let other = CheckResult { error: Some("f".into()), ..CheckResult::default() };
        assert!(!after(&[&red, &red, &other, &red]));
        let silent = CheckResult::default();
        assert!(!after(&[&silent, &silent, &silent]));
    }
}
