//! What only some kinds of nodes may have. What a node cannot have cannot be written.

use serde_json::Value;

use super::node::NodeBuilder;
use super::node::kind::{
    AgentMarker, AskMarker, CriteriaLoopMarker, EntityCallMarker, SessionMarker, ShellMarker, TaskLoopMarker,
    WorkflowMarker,
};
use super::steps::Steps;
use crate::graph::workflow::{
    AskNode, CriteriaLoopNode, Expression, NodeKind, PromptSource, Session, ShellNode, TaskLoopNode,
    Template, TurnLoop, WorkflowNode,
};

impl<K: SessionMarker> NodeBuilder<K> {
    fn with_session(self, change: impl FnOnce(&mut Session)) -> Self {
        self.with_act(|kind| {
            if let NodeKind::Session(session) = kind {
                change(session);
            }
        })
    }

    /// Turns until it is done.
    #[must_use]
    pub fn turns(self, turns: TurnLoop) -> Self {
        self.with_session(|session| session.turns = Some(turns))
    }

    /// The JSON Schema of what it must answer.
    #[must_use]
    pub fn schema(self, schema: Value) -> Self {
        self.with_session(|session| session.schema = Some(schema))
    }
}

impl NodeBuilder<EntityCallMarker> {
    /// Its arguments, a template.
    #[must_use]
    pub fn args(self, text: impl Into<String>) -> Self {
        self.with_session(|session| {
            if let PromptSource::Skill { args, .. } | PromptSource::Command { args, .. } = &mut session.source
            {
                *args = Some(Template(text.into()));
            }
        })
    }
}

impl NodeBuilder<AgentMarker> {
    /// What it is asked, a template.
    #[must_use]
    pub fn prompt(self, text: impl Into<String>) -> Self {
        self.with_session(|session| {
            if let PromptSource::Agent { prompt, .. } = &mut session.source {
                *prompt = Template(text.into());
            }
        })
    }
}

impl NodeBuilder<ShellMarker> {
    /// It may be run again when nobody knows whether it was.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.with_act(|kind| {
            if let NodeKind::Shell(ShellNode { idempotent, .. }) = kind {
                *idempotent = true;
            }
        })
    }
}

impl NodeBuilder<TaskLoopMarker> {
    /// The file, a template.
    #[must_use]
    pub fn path(self, file: impl Into<String>) -> Self {
        self.with_act(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { path, .. }) = kind {
                *path = Some(Template(file.into()));
            }
        })
    }

    /// The loop is over when it holds, whatever tasks are left.
    #[must_use]
    pub fn until(self, condition: impl Into<String>) -> Self {
        self.with_act(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { until, .. }) = kind {
                *until = Some(Expression(condition.into()));
            }
        })
    }

    /// Which of the ready tasks may be taken.
    #[must_use]
    pub fn select(self, condition: impl Into<String>) -> Self {
        self.with_act(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { select, .. }) = kind {
                *select = Some(Expression(condition.into()));
            }
        })
    }

    /// Rounds at most.
    #[must_use]
    pub fn max(self, rounds: u32) -> Self {
        self.with_act(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { max, .. }) = kind {
                *max = rounds;
            }
        })
    }

    /// How many tasks at once, each in a worktree of its own where there are several.
    #[must_use]
    pub fn jobs(self, tasks: u32) -> Self {
        self.with_act(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { jobs, .. }) = kind {
                *jobs = tasks;
            }
        })
    }

    /// How often a task is tried before it counts as failed.
    #[must_use]
    pub fn attempts(self, tries: u32) -> Self {
        self.with_act(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { attempts, .. }) = kind {
                *attempts = tries;
            }
        })
    }

    /// Done before each task.
    #[must_use]
    pub fn before_each(self, steps: impl FnOnce(Steps) -> Steps) -> Self {
        self.with_act(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { before_each, .. }) = kind {
                *before_each = steps(Steps::default()).body;
            }
        })
    }

    /// Done for each task.
    #[must_use]
    pub fn each(self, steps: impl FnOnce(Steps) -> Steps) -> Self {
        self.with_act(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { body, .. }) = kind {
                *body = steps(Steps::default()).body;
            }
        })
    }
}

impl NodeBuilder<CriteriaLoopMarker> {
    /// Rounds at most.
    #[must_use]
    pub fn max(self, rounds: u32) -> Self {
        self.with_act(|kind| {
            if let NodeKind::CriteriaLoop(CriteriaLoopNode { max, .. }) = kind {
                *max = rounds;
            }
        })
    }

    /// Done in each round.
    #[must_use]
    pub fn each(self, steps: impl FnOnce(Steps) -> Steps) -> Self {
        self.with_act(|kind| {
            if let NodeKind::CriteriaLoop(CriteriaLoopNode { body, .. }) = kind {
                *body = steps(Steps::default()).body;
            }
        })
    }
}

impl NodeBuilder<WorkflowMarker> {
    /// What it is told, a template.
    #[must_use]
    pub fn with_input(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with_act(|kind| {
            if let NodeKind::Workflow(WorkflowNode { inputs, .. }) = kind {
                inputs.insert(name.into(), Template(value.into()));
            }
        })
    }
}

impl NodeBuilder<AskMarker> {
    /// The only answers.
    #[must_use]
    pub fn choices<C: Into<String>>(self, answers: impl IntoIterator<Item = C>) -> Self {
        self.with_act(|kind| {
            if let NodeKind::Ask(AskNode { choices, .. }) = kind {
                *choices = answers.into_iter().map(Into::into).collect();
            }
        })
    }

    /// The answer where nobody is asked.
    #[must_use]
    pub fn default(self, answer: impl Into<String>) -> Self {
        self.with_act(|kind| {
            if let NodeKind::Ask(AskNode { default, .. }) = kind {
                *default = Some(answer.into());
            }
        })
    }
}
