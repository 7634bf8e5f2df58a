//! The task that a run takes, and its status after the work.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::deadlock::Deadlock;
use super::task::{TaskId, TaskStatus};

/// The result of asking for a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// A task, now marked as in progress.
    Task {
        id: TaskId,
        /// The task's entry in the file.
        task: Value,
    },
    /// No task is ready now, but others are in progress.
    Working,
    /// Every task is passing or skipped, or the run may not take any of the rest.
    AllDone,
    /// Tasks are open, but `select` matches no task at all.
    NoneSelected {
        /// The number of open tasks.
        open: usize,
    },
    /// The remaining tasks failed and may not be tried again.
    Failed {
        /// The failed tasks, in order of priority.
        ids: Vec<TaskId>,
    },
    /// The remaining tasks can never become ready.
    Deadlock(Deadlock),
    /// A person must first decide about tasks that someone skipped or removed.
    Unproven {
        /// The tasks concerned, and what to do.
        why: String,
    },
    /// The file cannot be used.
    Unreadable {
        /// The reason, and what to do.
        why: String,
    },
}

/// The author of a status in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusWriter {
    Person,
    /// Unknown: perhaps the agent that works on the task.
    Anybody,
}

/// Returns the status of a task after the work, and the reason if the agent's report is why it fails.
///
/// A task passes only if the work succeeded and, with `needs_word`, the agent reported it as done. A status
/// in the file counts as a report. Settling the resulting status again gives the same status.
pub fn settle(
    ok: bool,
    needs_word: bool,
    said: Option<TaskStatus>,
    in_file: TaskStatus,
    by: StatusWriter,
) -> (TaskStatus, Option<&'static str>) {
    match (said, in_file) {
        // Windlass does not overrule a person who skips a task.
        (_, TaskStatus::Skipped) if by == StatusWriter::Person => (TaskStatus::Skipped, None),
        _ if !ok => (TaskStatus::Failing, None),
        (Some(TaskStatus::Passing), _) | (None, TaskStatus::Passing) => (TaskStatus::Passing, None),
        (None, TaskStatus::InProgress) if !needs_word => (TaskStatus::Passing, None),
        (Some(TaskStatus::Failing), _) => {
            (TaskStatus::Failing, Some("the agent said that the task is not done"))
        }
        (Some(TaskStatus::Skipped), _) | (None, TaskStatus::Skipped) => {
            (TaskStatus::Failing, Some("the agent wants to skip the task, which only a person may do"))
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
