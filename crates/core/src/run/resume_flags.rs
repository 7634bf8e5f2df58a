//! Says how a run that has ended can continue.

use super::{EndReason, FinalStatus, Outcome};

impl Outcome {
    /// Returns the flags of `resume` with which the run continues, or `None` if it cannot, or would end in the same
    /// way again.
    pub fn resume_flags(&self) -> Option<&'static str> {
        match self.status {
            FinalStatus::Completed | FinalStatus::Cancelled => None,
            FinalStatus::Interrupted => Some(""),
            FinalStatus::Exhausted | FinalStatus::Blocked | FinalStatus::Failed => self.needed_flags(),
        }
    }

    fn needed_flags(&self) -> Option<&'static str> {
        // Another command corrects it, although nothing else would.
        if self.root.unwrap_or(self.reason) == EndReason::CheckCannotStart {
            return Some(" --check COMMAND");
        }
        // A `fail` node fails again with the results that made it run.
        if self.fixed().is_some() || self.reason == EndReason::FailNode {
            return None;
        }
        Some(match self.reason {
            EndReason::MaxIterations => " --max-iterations +10",
            EndReason::Budget => match self.detail.as_deref().unwrap_or_default() {
                // No flag raises a budget of the day.
                detail if detail.contains("`budgets.") => "",
                detail if detail.contains("token") => " --budget tokens=+100000",
                detail if detail.contains("turn") => " --budget turns=+10",
                _ => " --budget cost=+5",
            },
            EndReason::Timeout => " --budget time=+1h",
            EndReason::Question => " --on-question wait",
            EndReason::Permission => " --on-permission ask",
            EndReason::BlockedMarker | EndReason::Stuck => " --message \"what to do\"",
            _ => "",
        })
    }
}
