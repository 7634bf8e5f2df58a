//! Options that only some kinds of nodes have. The marker types keep an option off other kinds.

use serde_json::Value;

use super::node::NodeBuilder;
use super::node::kind::{
    AgentMarker, AskMarker, CriteriaLoopMarker, EachMarker, EntityCallMarker, SessionMarker, ShellMarker,
    TaskLoopMarker, WorkflowMarker,
};
use super::steps::Steps;
use crate::graph::workflow::{
    AskNode, CriteriaLoopNode, EachNode, Expression, Join, NodeKind, PromptSource, Session, SessionTools,
    ShellNode, TaskLoopNode, Template, TurnLoop, WorkflowNode,
};
use crate::id::NodeId;

impl<K: SessionMarker> NodeBuilder<K> {
    fn with_session(self, change: impl FnOnce(&mut Session)) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::Session(session) = kind {
                change(session);
            }
        })
    }

    /// Repeats the session turn by turn until it is done.
    #[must_use]
    pub fn turns(self, turns: TurnLoop) -> Self {
        self.with_session(|session| session.turns = Some(turns))
    }

    /// Continues the last session of a node, which may be this one, instead of starting a new session.
    #[must_use]
    pub fn continues(self, node: impl Into<String>) -> Self {
        self.with_session(|session| session.continues = Some(NodeId::new(node)))
    }

    /// Allows only the tools that read files and search in them.
    #[must_use]
    pub fn reads_only(self) -> Self {
        self.with_session(|session| session.tools = Some(SessionTools::Read))
    }

    /// Allows only these tools, each with an optional pattern: `Bash(git diff:*)`.
    #[must_use]
    pub fn tools<T: Into<String>>(self, tools: impl IntoIterator<Item = T>) -> Self {
        let tools = tools.into_iter().map(Into::into).collect();
        self.with_session(|session| session.tools = Some(SessionTools::These(tools)))
    }

    /// Sets the JSON Schema of the answer.
    #[must_use]
    pub fn schema(self, schema: Value) -> Self {
        self.with_session(|session| session.schema = Some(schema))
    }
}

impl NodeBuilder<EntityCallMarker> {
    /// Sets the arguments, a template.
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
    /// Sets the prompt, a template.
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
    /// Allows Windlass to run the command again if a crash leaves open whether it ran.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::Shell(ShellNode { idempotent, .. }) = kind {
                *idempotent = true;
            }
        })
    }
}

impl NodeBuilder<ShellMarker> {
    /// Sets the standard input of the command; the text is a template.
    #[must_use]
    pub fn stdin(self, text: impl Into<String>) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::Shell(ShellNode { stdin, .. }) = kind {
                *stdin = Some(Template(text.into()));
            }
        })
    }

    /// Requires JSON that fits this schema as standard output.
    #[must_use]
    pub fn output_schema(self, form: Value) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::Shell(ShellNode { schema, .. }) = kind {
                *schema = Some(form);
            }
        })
    }
}

impl NodeBuilder<TaskLoopMarker> {
    /// Sets the task file, a template.
    #[must_use]
    pub fn path(self, file: impl Into<String>) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { path, .. }) = kind {
                *path = Some(Template(file.into()));
            }
        })
    }

    /// Ends the loop when the condition is true, even if tasks are left.
    #[must_use]
    pub fn until(self, condition: impl Into<String>) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { until, .. }) = kind {
                *until = Some(Expression(condition.into()));
            }
        })
    }

    /// Restricts the loop to tasks for which the condition is true.
    #[must_use]
    pub fn select(self, condition: impl Into<String>) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { select, .. }) = kind {
                *select = Some(Expression(condition.into()));
            }
        })
    }

    /// Limits the iterations.
    #[must_use]
    pub fn max(self, rounds: u32) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { max, .. }) = kind {
                *max = rounds;
            }
        })
    }

    /// Sets how many tasks run at once. With more than one, each task has its own worktree.
    #[must_use]
    pub fn jobs(self, tasks: u32) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { jobs, .. }) = kind {
                *jobs = tasks;
            }
        })
    }

    /// Sets how many tries a task has before it counts as failed.
    #[must_use]
    pub fn attempts(self, tries: u32) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { attempts, .. }) = kind {
                *attempts = tries;
            }
        })
    }

    /// Keeps the branch of each passing task instead of landing it. Several tasks must run at once.
    #[must_use]
    pub fn keeps_branches(self) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { keeps_branches, .. }) = kind {
                *keeps_branches = true;
            }
        })
    }

    /// Sets the nodes that run before each task.
    #[must_use]
    pub fn before_each(self, steps: impl FnOnce(Steps) -> Steps) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { before_each, .. }) = kind {
                *before_each = steps(Steps::default()).body;
            }
        })
    }

    /// Sets the nodes that run for each task.
    #[must_use]
    pub fn each(self, steps: impl FnOnce(Steps) -> Steps) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::TaskLoop(TaskLoopNode { body, .. }) = kind {
                *body = steps(Steps::default()).body;
            }
        })
    }
}

impl NodeBuilder<EachMarker> {
    fn with_each(self, change: impl FnOnce(&mut EachNode)) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::Each(each) = kind {
                change(each);
            }
        })
    }

    /// Sets the maximum number of items at once.
    #[must_use]
    pub fn jobs(self, jobs: u32) -> Self {
        self.with_each(|each| each.jobs = jobs)
    }

    #[must_use]
    pub fn join(self, join: Join) -> Self {
        self.with_each(|each| each.join = join)
    }

    /// Gives each item its own worktree.
    #[must_use]
    pub fn worktree(self) -> Self {
        self.with_each(|each| each.worktree = true)
    }

    /// Sets the maximum number of items.
    #[must_use]
    pub fn max(self, items: u32) -> Self {
        self.with_each(|each| each.max = items)
    }

    /// Sets the nodes that run for each item.
    #[must_use]
    pub fn each(self, steps: impl FnOnce(Steps) -> Steps) -> Self {
        self.with_each(|each| each.body = steps(Steps::default()).body)
    }
}

impl NodeBuilder<CriteriaLoopMarker> {
    /// Limits the iterations.
    #[must_use]
    pub fn max(self, rounds: u32) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::CriteriaLoop(CriteriaLoopNode { max, .. }) = kind {
                *max = rounds;
            }
        })
    }

    /// Sets the nodes of an iteration.
    #[must_use]
    pub fn each(self, steps: impl FnOnce(Steps) -> Steps) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::CriteriaLoop(CriteriaLoopNode { body, .. }) = kind {
                *body = steps(Steps::default()).body;
            }
        })
    }
}

impl NodeBuilder<WorkflowMarker> {
    /// Passes an input to the workflow; the value is a template.
    #[must_use]
    pub fn with_input(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::Workflow(WorkflowNode { inputs, .. }) = kind {
                inputs.insert(name.into(), Template(value.into()));
            }
        })
    }
}

impl NodeBuilder<AskMarker> {
    /// Restricts the answer to these choices.
    #[must_use]
    pub fn choices<C: Into<String>>(self, answers: impl IntoIterator<Item = C>) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::Ask(AskNode { choices, .. }) = kind {
                *choices = answers.into_iter().map(Into::into).collect();
            }
        })
    }

    /// Sets the answer for runs that cannot ask a person.
    #[must_use]
    pub fn default(self, answer: impl Into<String>) -> Self {
        self.with_kind(|kind| {
            if let NodeKind::Ask(AskNode { default, .. }) = kind {
                *default = Some(answer.into());
            }
        })
    }
}
