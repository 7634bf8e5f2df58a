//! The status of a run, and the words for it.

use windlass_core::run::{FinalStatus, Progress, Waiting};

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStatus {
    /// A node works.
    Running,
    /// It waits for a person, a time, an event or another run.
    Waiting,
    /// A person paused it, and no node is in progress any more.
    Paused,
    /// It is not over and has no owner. It can be resumed once its folder exists.
    Crashed,
    Ended(FinalStatus),
    /// Another version of Windlass listed it with a word that this one does not know.
    Unknown,
}

impl RunStatus {
    /// Returns the word for output and JSON. A paused run waits for a person.
    pub fn word(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Waiting | RunStatus::Paused => "waiting",
            RunStatus::Crashed => "crashed",
            RunStatus::Ended(status) => status.word(),
            RunStatus::Unknown => "unknown",
        }
    }

    /// Returns true if a process owns the run and it is not over.
    pub fn is_owned(self) -> bool {
        match self {
            RunStatus::Running | RunStatus::Waiting | RunStatus::Paused => true,
            RunStatus::Crashed | RunStatus::Ended(_) | RunStatus::Unknown => false,
        }
    }

    /// Returns true if the run is not over: a process owns it or can resume it.
    pub fn is_open(self) -> bool {
        self.is_owned() || self.is_crashed()
    }

    /// Returns true if the run lost its owner.
    pub fn is_crashed(self) -> bool {
        self == RunStatus::Crashed
    }

    /// Returns true if the run is over.
    pub fn is_over(self) -> bool {
        !self.is_open()
    }

    /// Reads the word from a list. Lists do not know owners, nor what a run waits for.
    pub(crate) fn of_word(word: &str) -> RunStatus {
        let ended = || FinalStatus::ALL.into_iter().find(|status| status.word() == word);
        match word {
            "running" => RunStatus::Running,
            "waiting" => RunStatus::Waiting,
            _ => ended().map_or(RunStatus::Unknown, RunStatus::Ended),
        }
    }

    /// Returns the status of a run that has an owner or is over.
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

    /// Returns `Crashed` if the status needs an owner and there is none.
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
