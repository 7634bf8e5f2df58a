//! Decides, after a turn, whether a loop ends and why.
//!
//! Pure. [`judge`] asks its questions in a fixed order. The runtime reads the tracker, and
//! [`marker`](super::marker) finds the markers in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LoopRules;
use super::prose::{open_lines, plain};
use super::same_error::{CheckStreak, stuck};
use crate::run::{EndReason, FinalStatus, Outcome};

/// The facts that were collected after a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inspection {
    pub tracker: TrackerInspection,
    /// True if the final message contains the promise.
    #[serde(default)]
    pub promised: bool,
    /// True if the final message contains the signal.
    #[serde(default)]
    pub signalled: bool,
    /// A digest of everything that counts as progress: tracker body, HEAD, changed files.
    pub fingerprint: String,
}

impl Inspection {
    /// Ignores a blocked marker with this reason, because a person has dealt with it.
    pub fn forget_block(&mut self, dealt_with: Option<&str>) {
        if let TrackerInspection::Read { blocked, .. } = &mut self.tracker {
            blocked.take_if(|reason| Some(reason.as_str()) == dealt_with);
        }
    }
}

/// The state of the tracker after a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackerInspection {
    /// The loop has no tracker.
    None,
    /// The tracker no longer exists.
    Missing,
    /// The tracker exists but cannot be read.
    Unreadable { why: String },
    /// The tracker was read.
    Read {
        /// True if it contains the completion marker.
        complete: bool,
        /// The reason of a blocked marker, if it contains one.
        blocked: Option<String>,
    },
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CheckResult {
    pub name: String,
    pub passed: bool,
    /// A description of the failure; empty if the check passed.
    pub how: String,
    /// The end of the check's output.
    pub output: String,
    /// The shell could not start the command: exit code 126 or 127, and its first program does not exist or is
    /// not executable.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cannot_start: bool,
    /// The digest of the error, if the check failed and printed one ([`error_digest`](super::same_error)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The decision after a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The loop ends.
    End(Outcome),
    /// The loop continues with another turn.
    Next {
        /// The failed checks, for the next prompt.
        feedback: Option<String>,
    },
}

/// Decides whether the tracker alone ends the loop, whatever the checks say.
pub fn ends_before_checks(sight: &Inspection) -> Option<Outcome> {
    match &sight.tracker {
        TrackerInspection::Missing => Some(
            Outcome::new(FinalStatus::Failed, EndReason::MissingTracker)
                .because("the tracker is gone; the agent or somebody else deleted it"),
        ),
        TrackerInspection::Unreadable { why } => Some(
            Outcome::new(FinalStatus::Failed, EndReason::MissingTracker)
                .because(format!("the tracker cannot be read: {why}")),
        ),
        TrackerInspection::Read { complete: false, blocked: Some(reason) } if claim(sight).is_none() => {
            Some(blocked(reason))
        }
        TrackerInspection::None | TrackerInspection::Read { .. } => None,
    }
}

/// Returns the reason for which the agent claims to be done, if it does.
pub fn claim(sight: &Inspection) -> Option<EndReason> {
    if matches!(sight.tracker, TrackerInspection::Read { complete: true, .. }) {
        return Some(EndReason::Marker);
    }
    let promised = sight.promised.then_some(EndReason::Promise);
    promised.or(sight.signalled.then_some(EndReason::Signal))
}

/// Returns the output of the failed checks, for the agent or person who fixes them; `None` if all passed.
pub fn red(results: &[CheckResult]) -> Option<String> {
    let red = results.iter().filter(|check| !check.passed);
    let told: Vec<String> =
        red.map(|check| format!("{}: {}\n{}", check.name, check.how, check.output.trim_end())).collect();
    (!told.is_empty()).then(|| told.join("\n\n"))
}

/// Returns true if a signal is alone on a line of a message, outside code. It may be bold.
pub fn is_signalled(message: &str, signal: &str) -> bool {
    let signal = signal.trim();
    !signal.is_empty() && open_lines(message).any(|line| line == signal || plain(line) == signal)
}

/// Judges a finished turn: tracker → complete → blocked → checks → stuck → exhausted → next.
///
/// The agent's claim to be complete counts only if all checks pass. Otherwise the next turn gets their
/// output as feedback, and the claim is judged again after it.
pub fn judge(
    rules: &LoopRules,
    turns: u32,
    idle_turns: u32,
    sight: &Inspection,
    checks: &[CheckResult],
    streaks: &BTreeMap<String, CheckStreak>,
) -> Verdict {
    if let Some(outcome) = ends_before_checks(sight) {
        return Verdict::End(outcome);
    }
    let feedback = feedback(checks, claim(sight).is_some());
    if let (Some(reason), None) = (claim(sight), &feedback) {
        let outcome = Outcome::new(FinalStatus::Completed, reason);
        return Verdict::End(if checks.is_empty() { outcome } else { outcome.because("all checks pass") });
    }
    if let TrackerInspection::Read { blocked: Some(reason), .. } = &sight.tracker {
        return Verdict::End(blocked(reason));
    }
    if rules.stuck_after > 0 && idle_turns >= rules.stuck_after {
        let why = format!("nothing changed in {idle_turns} turns, neither tracker nor repository");
        return Verdict::End(Outcome::new(FinalStatus::Blocked, EndReason::Stuck).because(why));
    }
    match stuck(rules, streaks).or_else(|| used_up(rules, turns, checks)) {
        Some(outcome) => Verdict::End(outcome),
        None => Verdict::Next { feedback },
    }
}

/// Returns the outcome if a loop has no turn left.
pub fn used_up(rules: &LoopRules, turns: u32, checks: &[CheckResult]) -> Option<Outcome> {
    if rules.max_iterations == 0 || turns < rules.max_iterations {
        return None;
    }
    let spent = if turns == 1 {
        "used the only iteration".to_owned()
    } else {
        format!("used all {turns} iterations")
    };
    let why = match checks.iter().all(|check| check.passed) {
        true if checks.is_empty() => spent,
        true => format!("{spent}; all checks pass, but the agent did not say that the work is done"),
        false => format!("{spent}, checks still failing: {}", names_of_red(checks)),
    };
    Some(Outcome::new(FinalStatus::Exhausted, EndReason::MaxIterations).because(why))
}

/// Joins the names of the failed checks.
fn names_of_red(checks: &[CheckResult]) -> String {
    let red: Vec<&str> = checks.iter().filter(|c| !c.passed).map(|c| c.name.as_str()).collect();
    red.join(", ")
}

fn blocked(reason: &str) -> Outcome {
    let why = if reason.is_empty() { "the agent says that it is blocked" } else { reason };
    Outcome::new(FinalStatus::Blocked, EndReason::BlockedMarker).because(why)
}

/// Writes the output of the failed checks for the next prompt.
pub fn feedback(checks: &[CheckResult], claimed: bool) -> Option<String> {
    let mut failed = checks.iter().filter(|check| !check.passed).peekable();
    failed.peek()?;
    let mut text = String::from(if claimed {
        "You marked the task as complete, but these checks fail. It is complete only when they pass.\n"
    } else {
        "These checks fail after your last turn. Fix what they found.\n"
    });
    for check in failed {
        text.push_str(&format!(
            "\n## {} ({})\n```\n{}\n```\n",
            check.name,
            check.how,
            check.output.trim_end()
        ));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looping::{DEFAULT_CONTINUE, DEFAULT_TRACKER, LoopMode};

    fn rules() -> LoopRules {
        LoopRules {
            prompt: "do it".into(),
            mode: LoopMode::Fresh,
            marker: Some("DONE".into()),
            marker_match: Default::default(),
            promise: None,
            signal: None,
            blocked_marker: None,
            max_iterations: 3,
            continue_message: DEFAULT_CONTINUE.into(),
            tracker_body: DEFAULT_TRACKER.into(),
            tracker_path: Some("/w/t.md".into()),
            stuck_after: 2,
        }
    }

    fn seen(complete: bool, blocked: Option<&str>) -> Inspection {
        Inspection {
            tracker: TrackerInspection::Read { complete, blocked: blocked.map(str::to_owned) },
            promised: false,
            signalled: false,
            fingerprint: "f".into(),
        }
    }

    fn check(passed: bool) -> CheckResult {
        CheckResult {
            name: "test".into(),
            passed,
            how: "exit code 1".into(),
            output: "boom".into(),
            ..CheckResult::default()
        }
    }

    fn end(verdict: Verdict) -> (FinalStatus, EndReason) {
        match verdict {
            Verdict::End(outcome) => (outcome.status, outcome.reason),
            Verdict::Next { .. } => panic!("it goes on"),
        }
    }

    #[test]
    fn completing_on_the_last_turn_is_completed() {
        assert_eq!(
            end(judge(&rules(), 3, 0, &seen(true, None), &[], &BTreeMap::new())),
            (FinalStatus::Completed, EndReason::Marker)
        );
    }

    #[test]
    fn complete_is_asked_before_blocked_stuck_and_exhausted() {
        let verdict = judge(&rules(), 9, 9, &seen(true, Some("x")), &[check(true)], &BTreeMap::new());
        assert_eq!(end(verdict), (FinalStatus::Completed, EndReason::Marker));
    }

    #[test]
    fn a_missing_tracker_is_asked_first() {
        let sight = Inspection {
            tracker: TrackerInspection::Missing,
            promised: true,
            signalled: false,
            fingerprint: String::new(),
        };
        assert_eq!(
            end(judge(&rules(), 1, 0, &sight, &[], &BTreeMap::new())),
            (FinalStatus::Failed, EndReason::MissingTracker)
        );
    }

    #[test]
    fn blocked_is_asked_before_stuck() {
        assert_eq!(
            end(judge(&rules(), 3, 9, &seen(false, Some("no key")), &[], &BTreeMap::new())),
            (FinalStatus::Blocked, EndReason::BlockedMarker)
        );
    }

    #[test]
    fn stuck_is_asked_before_exhausted() {
        assert_eq!(
            end(judge(&rules(), 3, 2, &seen(false, None), &[], &BTreeMap::new())),
            (FinalStatus::Blocked, EndReason::Stuck)
        );
        assert_eq!(
            end(judge(&rules(), 3, 1, &seen(false, None), &[], &BTreeMap::new())),
            (FinalStatus::Exhausted, EndReason::MaxIterations)
        );
    }

    #[test]
    fn a_claim_with_failing_checks_goes_on_with_their_output() {
        let Verdict::Next { feedback: Some(text) } =
            judge(&rules(), 1, 0, &seen(true, None), &[check(false)], &BTreeMap::new())
        else {
            panic!("it goes on with feedback")
        };
        assert!(text.contains("marked the task as complete") && text.contains("boom"), "{text}");
    }

    #[test]
    fn a_claim_with_failing_checks_on_the_last_turn_is_exhausted() {
        let verdict = judge(&rules(), 3, 0, &seen(true, None), &[check(false)], &BTreeMap::new());
        let Verdict::End(outcome) = verdict else { panic!("it goes on") };
        assert_eq!((outcome.status, outcome.reason), (FinalStatus::Exhausted, EndReason::MaxIterations));
        assert_eq!(outcome.detail.as_deref(), Some("used all 3 iterations, checks still failing: test"));
    }

    #[test]
    fn passing_checks_without_a_claim_are_named_on_the_last_turn() {
        let verdict = judge(&rules(), 3, 0, &seen(false, None), &[check(true)], &BTreeMap::new());
        let Verdict::End(outcome) = verdict else { panic!("it goes on") };
        let expected =
            "used all 3 iterations; all checks pass, but the agent did not say that the work is done";
        assert_eq!(outcome.detail.as_deref(), Some(expected));
    }

    #[test]
    fn a_promise_completes_without_a_marker() {
        let sight = Inspection { promised: true, ..seen(false, None) };
        assert_eq!(
            end(judge(&rules(), 1, 0, &sight, &[], &BTreeMap::new())),
            (FinalStatus::Completed, EndReason::Promise)
        );
    }

    #[test]
    fn a_signal_counts_alone_on_a_line_outside_code() {
        let heard = [
            "S",
            "All is done.\n\n  S  \n",
            "```\ncode\n```\nS",
            "````md\n```\ncode\n```\n````\nS",
            "~~~\n```\n~~~\nS",
            "```code``` is what I ran\nS",
            "```rust\nfn main() {}\n```\n\nS\n\nBye.",
            "**S**",
            "S\nOn second thoughts I am not done.",
        ];
        for message in heard {
            assert!(is_signalled(message, " S"), "{message}");
        }
        let not_heard = [
            "",
            "I shall say S",
            "`S`",
            "**`S`**",
            "`\nS\n`",
            "- ```\n  S\n  ```",
            "<pre>\nS\n</pre>",
            "<!--\nS\n-->",
            "\\S",
            "> S",
            "```\nS\n```",
            "```text\nS\n```",
            "~~~\nS\n~~~",
            "~~~\n```\nS\n```\n~~~",
            "````md\n```\nS\n```\n````",
            "````\n```\nS",
            "    S",
            "\tS",
            "```\nnever closed\nS",
            "```\n``` not a closing fence\nS\n```",
        ];
        for message in not_heard {
            assert!(!is_signalled(message, "S"), "{message}");
        }
        assert!(!is_signalled("\n\n", " "), "an empty signal is none");
    }

    #[test]
    fn unlimited_turns_never_exhaust() {
        let rules = LoopRules { max_iterations: 0, stuck_after: 0, ..rules() };
        assert_eq!(
            judge(&rules, 5000, 5000, &seen(false, None), &[], &BTreeMap::new()),
            Verdict::Next { feedback: None }
        );
    }
}
