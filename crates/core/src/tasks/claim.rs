//! Which task a run takes, and how far a task is when the work on it is over.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::deadlock::Deadlock;
use super::task::{TaskId, TaskStatus};

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
pub enum StatusWriter {
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
    said: Option<TaskStatus>,
    in_file: TaskStatus,
    by: StatusWriter,
) -> (TaskStatus, Option<&'static str>) {
    match (said, in_file) {
        // It is not overruled.
        (_, TaskStatus::Skipped) if by == StatusWriter::Person => (TaskStatus::Skipped, None),
        _ if !ok => (TaskStatus::Failing, None),
        (Some(TaskStatus::Passing), _) | (None, TaskStatus::Passing) => (TaskStatus::Passing, None),
        (None, TaskStatus::InProgress) if !needs_word => (TaskStatus::Passing, None),
        (Some(TaskStatus::Failing), _) => {
            (TaskStatus::Failing, Some("the agent said that the task is not done"))
        }
        (Some(TaskStatus::Skipped), _) | (None, TaskStatus::Skipped) => {
            (TaskStatus::Failing, Some("the agent wants to leave the task out, which only a person decides"))
        }
        (None | Some(TaskStatus::InProgress | TaskStatus::Pending), _) => {
            (TaskStatus::Failing, Some("the agent did not say that the task is done"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_succeeded_and_was_claimed_is_passing() {
        let far = |ok, needs, said, file| settle(ok, needs, said, file, StatusWriter::Anybody).0;
        assert_eq!(far(true, true, Some(TaskStatus::Passing), TaskStatus::InProgress), TaskStatus::Passing);
        assert_eq!(
            far(true, true, None, TaskStatus::Passing),
            TaskStatus::Passing,
            "an edit of the file is a claim"
        );
        assert_eq!(far(false, true, Some(TaskStatus::Passing), TaskStatus::Passing), TaskStatus::Failing);
        assert_eq!(far(true, true, None, TaskStatus::InProgress), TaskStatus::Failing);
        assert_eq!(
            far(true, false, None, TaskStatus::InProgress),
            TaskStatus::Passing,
            "nobody could say so"
        );
        assert_eq!(far(true, true, Some(TaskStatus::Failing), TaskStatus::Passing), TaskStatus::Failing);
        assert_eq!(far(true, true, Some(TaskStatus::Skipped), TaskStatus::InProgress), TaskStatus::Failing);
        let skipped = settle(false, true, None, TaskStatus::Skipped, StatusWriter::Person);
        assert_eq!(skipped, (TaskStatus::Skipped, None), "a person skipped it meanwhile");
        assert_eq!(far(true, true, None, TaskStatus::Skipped), TaskStatus::Failing, "which no agent does");
        assert_eq!(far(true, false, None, TaskStatus::Skipped), TaskStatus::Failing, "nor a command");
        assert_eq!(far(true, true, Some(TaskStatus::Passing), TaskStatus::Skipped), TaskStatus::Passing);
    }

    #[test]
    fn settled_again_after_a_crash_it_is_the_same() {
        let said = TaskStatus::ALL.map(Some).into_iter().chain([None]);
        for (said, in_file) in said.flat_map(|said| TaskStatus::ALL.map(|in_file| (said, in_file))) {
            for (ok, needs) in [(true, true), (true, false), (false, true), (false, false)] {
                let once = settle(ok, needs, said, in_file, StatusWriter::Person);
                let again = settle(ok, needs, said, once.0, StatusWriter::Person);
                assert_eq!(again, once, "{ok} {needs} {said:?} {in_file:?}");
                let once = settle(ok, needs, said, in_file, StatusWriter::Anybody);
                let again = settle(ok, needs, said, once.0, StatusWriter::Anybody);
                assert_eq!(again.0, once.0, "{ok} {needs} {said:?} {in_file:?}");
            }
        }
    }
}
