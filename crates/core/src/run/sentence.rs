//! Why a run ended, in the words of people. The word that programs read is beside the enum.

use super::EndReason;

impl EndReason {
    /// What it means to a person, as a sentence without its full stop.
    pub fn sentence(self) -> &'static str {
        match self {
            EndReason::Marker => "the completion marker stands in the tracker",
            EndReason::Promise => "the agent kept its completion promise",
            EndReason::Signal => "the agent gave the signal that it is done",
            EndReason::TurnDone => "the turn is done",
            EndReason::BlockedMarker => "the agent says it cannot go on",
            EndReason::Stuck => "nothing changed for several iterations",
            EndReason::Question => "there is a question and nobody may answer",
            EndReason::Permission => "a tool needed a permission and nobody may give it",
            EndReason::MaxIterations => "all iterations are spent",
            EndReason::MissingTracker => "the tracker is gone or cannot be read",
            EndReason::HookTransport => "tools were used and no hook arrived",
            EndReason::ChecksFailed => "the checks failed",
            EndReason::AgentFailed => "the agent failed",
            EndReason::TransientErrors => "an error that should pass did not",
            EndReason::Interrupted => "the agent's process was cut off again and again",
            EndReason::Timeout => "time is up",
            EndReason::PrepareFailed => "the run could not be prepared",
            EndReason::PluginStopped => "the plugin ended its loop before it was done",
            EndReason::User => "somebody cancelled it",
            EndReason::OuterRun => "the run that started it ended it",
            EndReason::AllDone => "everything is done",
            EndReason::NoneSelected => "`select` matched none of the open tasks",
            EndReason::Until => "the condition of the loop holds",
            EndReason::ShellFailed => "a command failed",
            EndReason::ShellUnknown => "nobody knows whether a command did its work",
            EndReason::Template => "a template or a condition has no value",
            EndReason::Schema => "the answer does not fit its schema",
            EndReason::Budget => "the budget is spent",
            EndReason::NotNeeded => "something else was enough",
            EndReason::NoBranch => "no branch succeeded",
            EndReason::TasksFailed => "tasks failed",
            EndReason::Deadlock => "what is left of the tasks can never begin",
            EndReason::TasksUnproven => "somebody left tasks out or took them away, and only a person may",
            EndReason::TasksUnreadable => "the file of the tasks cannot be used",
            EndReason::TooDeep => "runs start runs too deep",
            EndReason::ChildFailed => "a run that was started from it did not end well",
            EndReason::Git => "a worktree could not be made or brought back",
            EndReason::NotYet => "a node of it cannot be run yet",
            EndReason::InternalError => "Windlass itself broke",
        }
    }
}
