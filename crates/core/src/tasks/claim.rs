//! Which task a run takes, and how far a task is when the work on it is over.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::deadlock::Deadlock;
use super::task::{Status, TaskId};

/// What there is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// This task, which is marked as begun.
    Task {
        /// Which.
        id: TaskId,
        /// All that the file says of it.
        task: Value,
    },
    /// Nothing now: others are in progress, and no other is ready.
    Working,
    /// Nothing: every task is passing or skipped, or none that is left may be taken.
    AllDone,
    /// Nothing: tasks are open, and `select` matches no task at all.
    NoneSelected {
        /// How many are open.
        open: usize,
    },
    /// Nothing: these failed and may not be tried again.
    Failed {
        /// In the order of their turn.
        ids: Vec<TaskId>,
    },
    /// Nothing: what is left can never be ready.
    Deadlock(Deadlock),
    /// Nothing, until a person has decided about tasks that somebody left out or took away.
    Unproven {
        /// Which, and what to do.
        why: String,
    },
    /// The file cannot be used.
    Unreadable {
        /// Why, and what to do.
        why: String,
    },
}

/// Who wrote into the file how far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A person.
    Person,
    /// Perhaps the agent that works on it.
    Anybody,
}

/// How far a task is after work on it: only what succeeded, and was said to be done by the agent that did it,
/// is passing. What the file says when the work is over counts as said. Decided again on what was
/// written for it, it is the same, reason and all.
pub fn settle(
    ok: bool,
    needs_word: bool,
    said: Option<Status>,
    in_file: Status,
    by: By,
) -> (Status, Option<&'static str>) {
    match (said, in_file) {
        // It is not overruled.
        (_, Status::Skipped) if by == By::Person => (Status::Skipped, None),
        _ if !ok => (Status::Failing, None),
        (Some(Status::Passing), _) | (None, Status::Passing) => (Status::Passing, None),
        (None, Status::InProgress) if !needs_word => (Status::Passing, None),
        (Some(Status::Failing), _) => (Status::Failing, Some("the agent said that the task is not done")),
        (Some(Status::Skipped), _) | (None, Status::Skipped) => {
            (Status::Failing, Some("the agent wants to leave the task out, which only a person decides"))
        }
        (None | Some(Status::InProgress | Status::Pending), _) => {
            (Status::Failing, Some("the agent did not say that the task is done"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_succeeded_and_was_claimed_is_passing() {
        let far = |ok, needs, said, file| settle(ok, needs, said, file, By::Anybody).0;
        assert_eq!(far(true, true, Some(Status::Passing), Status::InProgress), Status::Passing);
        assert_eq!(far(true, true, None, Status::Passing), Status::Passing, "an edit of the file is a claim");
        assert_eq!(far(false, true, Some(Status::Passing), Status::Passing), Status::Failing);
        assert_eq!(far(true, true, None, Status::InProgress), Status::Failing);
        assert_eq!(far(true, false, None, Status::InProgress), Status::Passing, "nobody could say so");
        assert_eq!(far(true, true, Some(Status::Failing), Status::Passing), Status::Failing);
        assert_eq!(far(true, true, Some(Status::Skipped), Status::InProgress), Status::Failing);
        let skipped = settle(false, true, None, Status::Skipped, By::Person);
        assert_eq!(skipped, (Status::Skipped, None), "a person skipped it meanwhile");
        assert_eq!(far(true, true, None, Status::Skipped), Status::Failing, "which no agent does");
        assert_eq!(far(true, false, None, Status::Skipped), Status::Failing, "nor a command");
        assert_eq!(far(true, true, Some(Status::Passing), Status::Skipped), Status::Passing);
    }

    #[test]
    fn settled_again_after_a_crash_it_is_the_same() {
        let said = Status::ALL.map(Some).into_iter().chain([None]);
        for (said, in_file) in said.flat_map(|said| Status::ALL.map(|in_file| (said, in_file))) {
            for (ok, needs) in [(true, true), (true, false), (false, true), (false, false)] {
                let once = settle(ok, needs, said, in_file, By::Person);
                let again = settle(ok, needs, said, once.0, By::Person);
                assert_eq!(again, once, "{ok} {needs} {said:?} {in_file:?}");
                let once = settle(ok, needs, said, in_file, By::Anybody);
                let again = settle(ok, needs, said, once.0, By::Anybody);
                assert_eq!(again.0, once.0, "{ok} {needs} {said:?} {in_file:?}");
            }
        }
    }
}
