//! Why a run ended, in the words of people. The word that programs read is beside the enum.

use super::Reason;

impl Reason {
    /// What it means to a person, as a sentence without its full stop.
    pub fn sentence(self) -> &'static str {
        match self {
            Reason::Marker => "the completion marker stands in the tracker",
            Reason::Promise => "the agent kept its completion promise",
            Reason::Signal => "the agent gave the signal that it is done",
            Reason::TurnDone => "the turn is done",
            Reason::BlockedMarker => "the agent says it cannot go on",
            Reason::Stuck => "nothing changed for several iterations",
            Reason::Question => "there is a question and nobody may answer",
            Reason::Permission => "a tool needed a permission and nobody may give it",
            Reason::MaxIterations => "all iterations are spent",
            Reason::MissingTracker => "the tracker is gone or cannot be read",
            Reason::HookTransport => "tools were used and no hook arrived",
            Reason::ChecksFailed => "the checks failed",
            Reason::AgentFailed => "the agent failed",
            Reason::TransientErrors => "an error that should pass did not",
            Reason::Interrupted => "the agent's process was cut off again and again",
            Reason::Timeout => "time is up",
            Reason::PrepareFailed => "the run could not be prepared",
            Reason::PluginStopped => "the plugin ended its loop before it was done",
            Reason::User => "somebody cancelled it",
            Reason::OuterRun => "the run that started it ended it",
            Reason::AllDone => "everything is done",
            Reason::NoneSelected => "`select` matched none of the open tasks",
            Reason::Until => "the condition of the loop holds",
            Reason::ShellFailed => "a command failed",
            Reason::ShellUnknown => "nobody knows whether a command did its work",
            Reason::Template => "a template or a condition has no value",
            Reason::Schema => "the answer does not fit its schema",
            Reason::Budget => "the budget is spent",
            Reason::NotNeeded => "something else was enough",
            Reason::NoBranch => "no branch succeeded",
            Reason::TasksFailed => "tasks failed",
            Reason::Deadlock => "what is left of the tasks can never begin",
            Reason::TasksUnproven => "somebody left tasks out or took them away, and only a person may",
            Reason::TasksUnreadable => "the file of the tasks cannot be used",
            Reason::TooDeep => "runs start runs too deep",
            Reason::ChildFailed => "a run that was started from it did not end well",
            Reason::Git => "a worktree could not be made or brought back",
            Reason::NotYet => "a node of it cannot be run yet",
            Reason::InternalError => "Windlass itself broke",
        }
    }
}
