//! The reason for which a run ended, as a sentence for people.
//!
//! The word that programs read is beside the enum.

use super::EndReason;

impl EndReason {
    /// Returns the reason as a sentence without a full stop.
    pub fn sentence(self) -> &'static str {
        match self {
            EndReason::Marker => "the agent marked it done",
            EndReason::Promise => "the agent gave its completion promise",
            EndReason::Signal => "the agent signalled that it is done",
            EndReason::TurnDone => "the agent finished its turn",
            EndReason::BlockedMarker => "the agent says that it is blocked",
            EndReason::Stuck => "no progress in several turns",
            EndReason::Question => "a question needs a person",
            EndReason::Permission => "a tool needs a person's permission",
            EndReason::MaxIterations => "used all iterations",
            EndReason::MissingTracker => "the tracker is missing or unreadable",
            EndReason::HookTransport => "hooks of the agent did not arrive",
            EndReason::ChecksFailed => "checks failed",
            EndReason::CheckCannotStart => "the command of a check cannot start",
            EndReason::AgentFailed => "the agent failed",
            EndReason::TransientErrors => "a transient error persisted",
            EndReason::Interrupted => "the agent was interrupted too often",
            EndReason::Timeout => "out of time",
            EndReason::PrepareFailed => "could not prepare the session",
            EndReason::PluginStopped => "the plugin ended its loop before the work was done",
            EndReason::User => "by the user",
            EndReason::OuterRun => "its parent run ended it",
            EndReason::AllDone => "everything is done",
            EndReason::NothingRan => "every node of it was skipped",
            EndReason::NoneSelected => "`select` matched none of the open tasks",
            EndReason::Until => "the end condition of the loop is true",
            EndReason::ShellFailed => "a command failed",
            EndReason::ShellUnknown => "it is unknown whether a command finished",
            EndReason::Template => "a template or condition could not be evaluated",
            EndReason::Schema => "the answer does not fit its schema",
            EndReason::Budget => "the budget is spent",
            EndReason::NotNeeded => "it was no longer needed",
            EndReason::NoBranch => "no branch or item succeeded",
            EndReason::TooManyItems => "a list has too many items",
            EndReason::TasksFailed => "tasks failed",
            EndReason::Deadlock => "the remaining tasks can never start",
            EndReason::TasksUnproven => "tasks were skipped or removed, which only a person may do",
            EndReason::TasksUnreadable => "the task file cannot be used",
            EndReason::TooDeep => "runs are nested too deep",
            EndReason::ChildFailed => "a child run did not succeed",
            EndReason::Git => "a worktree could not be created or landed",
            EndReason::FailNode => "the workflow failed it",
            EndReason::FinallyFailed => "`finally` failed",
            EndReason::NotYet => "one of its nodes cannot run yet",
            EndReason::InternalError => "internal error in Windlass",
        }
    }
}
