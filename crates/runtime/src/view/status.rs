//! How a run is doing, as one value, and the one place that turns it into a word.

use windlass_core::run::{FinalStatus, Progress, Waiting};

/// How a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// Something works in it.
    Running,
    /// It waits for a person, a time, an event or another run.
    Waiting,
    /// A person paused it, and nothing is in progress any more.
    Paused,
    /// It is not over and no process owns it: it can be resumed, as soon as its folder is there.
    Crashed,
    /// It is over.
    Ended(FinalStatus),
    /// Another version of Windlass listed it with a word that this one does not know.
    Unknown,
}

impl RunStatus {
    /// Returns the word used in output and JSON. A paused run waits for whoever paused it.
    pub fn word(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Waiting | RunStatus::Paused => "waiting",
            RunStatus::Crashed => "crashed",
            RunStatus::Ended(status) => status.word(),
            RunStatus::Unknown => "unknown",
        }
    }

    /// Whether a process owns the run and it is not over.
    pub fn is_owned(self) -> bool {
        match self {
            RunStatus::Running | RunStatus::Waiting | RunStatus::Paused => true,
            RunStatus::Crashed | RunStatus::Ended(_) | RunStatus::Unknown => false,
        }
    }

    /// Whether the run is not over: a process owns it, or one can resume it.
    pub fn is_open(self) -> bool {
        self.is_owned() || self.is_crashed()
    }

    /// Whether the run lost its owner.
    pub fn is_crashed(self) -> bool {
        self == RunStatus::Crashed
    }

    /// Whether the run is over.
    pub fn is_over(self) -> bool {
        !self.is_open()
    }

    /// Reads the word of a list, which says nothing about owners or what a run waits for.
    pub(crate) fn of_word(word: &str) -> RunStatus {
        let ended = || FinalStatus::ALL.into_iter().find(|status| status.word() == word);
        match word {
            "running" => RunStatus::Running,
            "waiting" => RunStatus::Waiting,
            _ => ended().map_or(RunStatus::Unknown, RunStatus::Ended),
        }
    }

    /// Returns the status of a run that has an owner, or is over.
    pub(crate) fn of(standing: &Progress) -> RunStatus {
        match standing {
            Progress::Running => RunStatus::Running,
            Progress::Waiting(Waiting::Paused) => RunStatus::Paused,
            Progress::Waiting(
                Waiting::Person(_)
                | Waiting::RateLimit { .. }
                | Waiting::Retry { .. }
                | Waiting::Time { .. }
                | Waiting::Event { .. },
            ) => RunStatus::Waiting,
            Progress::Finished(outcome) => RunStatus::Ended(outcome.status),
        }
    }

    /// Asks for an owner where the status needs one; a run that has none has crashed.
    pub(crate) fn unless_lost(self, has_owner: impl FnOnce() -> bool) -> RunStatus {
        if self.is_owned() && !has_owner() { RunStatus::Crashed } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_list_is_read_back() {
        for status in FinalStatus::ALL.map(RunStatus::Ended).into_iter().chain([RunStatus::Running]) {
            assert_eq!(RunStatus::of_word(status.word()), status);
        }
        assert_eq!(RunStatus::of_word("waiting"), RunStatus::Waiting);
        assert_eq!(RunStatus::of_word("dreaming"), RunStatus::Unknown);
    }

    #[test]
    fn only_a_run_that_needs_an_owner_crashes_without_one() {
        let lost = |status: RunStatus| status.unless_lost(|| false);
        assert_eq!(lost(RunStatus::Paused), RunStatus::Crashed);
        assert_eq!(lost(RunStatus::Ended(FinalStatus::Failed)), RunStatus::Ended(FinalStatus::Failed));
        assert_eq!(RunStatus::Waiting.unless_lost(|| true), RunStatus::Waiting);
    }
}
