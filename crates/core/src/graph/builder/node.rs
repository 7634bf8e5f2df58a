//! Single nodes under construction, and the options that all kinds share.
//!
//! [`own`](super::own) has the options of particular kinds.

use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value;

use super::steps::bare;
use crate::graph::workflow::{
    AskNode, Budget, CheckNode, CriteriaLoopNode, EachNode, Effort, Expression, FailNode, Join, LandNode,
    ListSource, ListenNode, Node, NodeKind, NodeNumber, OnFailure, PromptSource, PullRequestNode,
    RetryPolicy, ReviewNode, Session, ShellNode, SleepNode, TaskLoopNode, Template, TurnLoop, WaitUntil,
    WorkflowNode,
};
use crate::hook::permission::Isolation;
use crate::id::NodeId;

/// A node under construction. `K` decides which options it has.
#[derive(Debug, Clone)]
pub struct NodeBuilder<K> {
    node: Node,
    kind: PhantomData<K>,
}

/// Marker types, one for each group of nodes with the same options.
pub mod kind {
    /// A skill or a command, which has arguments.
    #[derive(Debug, Clone)]
    pub struct EntityCallMarker;
    /// An agent, which has a prompt.
    #[derive(Debug, Clone)]
    pub struct AgentMarker;
    #[derive(Debug, Clone)]
    pub struct PromptMarker;
    #[derive(Debug, Clone)]
    pub struct ShellMarker;
    #[derive(Debug, Clone)]
    pub struct TaskLoopMarker;
    #[derive(Debug, Clone)]
    pub struct EachMarker;
    #[derive(Debug, Clone)]
    pub struct CriteriaLoopMarker;
    #[derive(Debug, Clone)]
    pub struct WorkflowMarker;
    #[derive(Debug, Clone)]
    pub struct AskMarker;
    /// Any other node, which has no options of its own.
    #[derive(Debug, Clone)]
    pub struct PlainMarker;

    /// A kind of node that runs a session.
    pub trait SessionMarker {}
    impl SessionMarker for EntityCallMarker {}
    impl SessionMarker for AgentMarker {}
    impl SessionMarker for PromptMarker {}
}

use kind::{
    AgentMarker, AskMarker, CriteriaLoopMarker, EachMarker, EntityCallMarker, PlainMarker, PromptMarker,
    ShellMarker, TaskLoopMarker, WorkflowMarker,
};

fn node<K>(act: NodeKind) -> NodeBuilder<K> {
    NodeBuilder { node: bare(act), kind: PhantomData }
}

fn session<K>(source: PromptSource) -> NodeBuilder<K> {
    node(NodeKind::Session(Session::new(source)))
}

/// Runs a skill.
pub fn skill(name: impl Into<String>) -> NodeBuilder<EntityCallMarker> {
    session(PromptSource::Skill { name: name.into(), args: None })
}

/// Runs a command (an entity; [`shell`] runs a command line).
pub fn command(name: impl Into<String>) -> NodeBuilder<EntityCallMarker> {
    session(PromptSource::Command { name: name.into(), args: None })
}

/// Runs an agent. Its prompt is the input of the run, unless you set another one.
pub fn agent(name: impl Into<String>) -> NodeBuilder<AgentMarker> {
    session(PromptSource::Agent { name: name.into(), prompt: Template("{{ input }}".into()) })
}

/// Sends a prompt to an agent CLI.
pub fn prompt(text: impl Into<String>) -> NodeBuilder<PromptMarker> {
    session(PromptSource::Prompt { prompt: Template(text.into()) })
}

/// Runs a command line.
pub fn shell(line: impl Into<String>) -> NodeBuilder<ShellMarker> {
    node(NodeKind::Shell(ShellNode {
        command: Template(line.into()),
        idempotent: false,
        stdin: None,
        schema: None,
    }))
}

/// Requires the named checks to pass.
pub fn check<N: Into<String>>(names: impl IntoIterator<Item = N>) -> NodeBuilder<PlainMarker> {
    node(NodeKind::Check(CheckNode { names: names.into_iter().map(Into::into).collect() }))
}

/// Requires all checks to pass.
pub fn check_all() -> NodeBuilder<PlainMarker> {
    node(NodeKind::Check(CheckNode { names: Vec::new() }))
}

/// Runs a block for each task of the default task file, with at most three tries for a task and a
/// hundred iterations in total.
pub fn task_loop() -> NodeBuilder<TaskLoopMarker> {
    node(NodeKind::TaskLoop(TaskLoopNode {
        path: None,
        until: None,
        select: None,
        max: 100,
        jobs: 1,
        attempts: 3,
        keeps_branches: false,
        before_each: Vec::new(),
        body: Vec::new(),
    }))
}

/// Repeats a block until a session's last message contains the signal.
pub fn criteria_loop(signal: impl Into<String>) -> NodeBuilder<CriteriaLoopMarker> {
    node(NodeKind::CriteriaLoop(CriteriaLoopNode { signal: signal.into(), max: 0, body: Vec::new() }))
}

/// Runs another workflow.
pub fn workflow(name: impl Into<String>) -> NodeBuilder<WorkflowMarker> {
    node(NodeKind::Workflow(WorkflowNode { name: name.into(), inputs: Default::default() }))
}

/// Asks a person.
pub fn ask(question: impl Into<String>) -> NodeBuilder<AskMarker> {
    node(NodeKind::Ask(AskNode { question: Template(question.into()), choices: Vec::new(), default: None }))
}

/// Waits for a fixed time.
pub fn wait(time: Duration) -> NodeBuilder<PlainMarker> {
    node(NodeKind::Wait(WaitUntil::Elapsed(SleepNode { ms: in_ms(time) })))
}

/// Waits for an event that a person or program sends to the run.
pub fn wait_for(event: impl Into<String>, timeout: Option<Duration>) -> NodeBuilder<PlainMarker> {
    node(NodeKind::Wait(WaitUntil::Event(ListenNode { name: event.into(), timeout_ms: timeout.map(in_ms) })))
}

/// Reviews the work so far.
pub fn review(agent: Option<&str>, max_cycles: u32) -> NodeBuilder<PlainMarker> {
    node(NodeKind::Review(ReviewNode { agent: agent.map(str::to_owned), max_cycles, threshold: None }))
}

/// Puts the commits of the worktree onto the target branch, by default the branch that the run
/// started on.
pub fn land(target: Option<&str>) -> NodeBuilder<PlainMarker> {
    node(NodeKind::Land(LandNode { target: target.map(|target| Template(target.to_owned())) }))
}

/// Opens a pull request for the branch of the run.
pub fn pull_request(title: impl Into<String>, body: Option<&str>) -> NodeBuilder<PlainMarker> {
    node(NodeKind::PullRequest(PullRequestNode {
        title: Template(title.into()),
        body: body.map(|body| Template(body.to_owned())),
    }))
}

/// Runs nodes once for each item of a list that an expression gives. `name` is the item in templates.
pub fn each(name: impl Into<String>, list: impl Into<String>) -> NodeBuilder<EachMarker> {
    each_in(name, ListSource::Expression(Expression(list.into())))
}

/// Runs nodes once for each of these items.
pub fn each_of(name: impl Into<String>, items: Vec<Value>) -> NodeBuilder<EachMarker> {
    each_in(name, ListSource::Literal(items))
}

fn each_in(name: impl Into<String>, items: ListSource) -> NodeBuilder<EachMarker> {
    node(NodeKind::Each(EachNode {
        items,
        name: name.into(),
        jobs: 1,
        join: Join::All,
        worktree: false,
        max: EachNode::MAX,
        body: Vec::new(),
    }))
}

/// Fails with a reason.
pub fn fail(reason: impl Into<String>) -> NodeBuilder<PlainMarker> {
    node(NodeKind::Fail(FailNode { reason: Template(reason.into()) }))
}

/// Makes the next session start without the earlier conversation.
pub fn clear_context() -> NodeBuilder<PlainMarker> {
    node(NodeKind::ClearContext)
}

/// Allows at most `max` turns with a tracker. `TurnLoop::default()` takes the number from the
/// settings.
pub fn turns(max: u32) -> TurnLoop {
    TurnLoop { max: Some(max), ..TurnLoop::default() }
}

fn in_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl<K> From<NodeBuilder<K>> for Node {
    fn from(node: NodeBuilder<K>) -> Node {
        node.node
    }
}

impl<K> NodeBuilder<K> {
    fn with(mut self, change: impl FnOnce(&mut Node)) -> Self {
        change(&mut self.node);
        self
    }

    pub(super) fn with_kind(mut self, change: impl FnOnce(&mut NodeKind)) -> Self {
        change(&mut self.node.kind);
        self
    }

    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        self.with(|step| step.id = NodeId::new(id))
    }

    /// Skips the node when the condition is false.
    #[must_use]
    pub fn when(self, condition: impl Into<String>) -> Self {
        self.with(|step| step.when = Some(Expression(condition.into())))
    }

    /// Chooses the agent CLI.
    #[must_use]
    pub fn driver(self, name: impl Into<String>) -> Self {
        self.with(|step| step.settings.driver = Some(name.into()))
    }

    #[must_use]
    pub fn model(self, name: impl Into<String>) -> Self {
        self.with(|step| step.settings.model = Some(name.into()))
    }

    /// Adds a model to try when the models before it are not available.
    #[must_use]
    pub fn fallback(self, name: impl Into<String>) -> Self {
        self.with(|step| step.settings.fallbacks.push(name.into()))
    }

    #[must_use]
    pub fn effort(self, effort: Effort) -> Self {
        self.with(|step| step.settings.effort = Some(effort))
    }

    #[must_use]
    pub fn isolation(self, isolation: Isolation) -> Self {
        self.with(|step| step.settings.isolation = Some(isolation))
    }

    /// Limits the time of the node.
    #[must_use]
    pub fn timeout(self, time: Duration) -> Self {
        self.with(|step| step.settings.timeout_ms = Some(in_ms(time)))
    }

    /// Retries the node after a failure. Each pause is twice as long as the one before.
    #[must_use]
    pub fn retry(self, times: u32, delay: Duration) -> Self {
        self.with(|step| step.retry = RetryPolicy { times, delay_ms: in_ms(delay) })
    }

    /// Computes a number when the node starts, up to `at_most`. Times are in milliseconds.
    #[must_use]
    pub fn computed(self, number: NodeNumber, from: impl Into<String>, at_most: u64) -> Self {
        self.with(|step| step.compute(number, Expression(from.into()), at_most))
    }

    #[must_use]
    pub fn budget(self, budget: Budget) -> Self {
        self.with(|step| step.budget = budget)
    }

    /// Sets an environment variable of the commands, checks and sessions in the node; the value is a template.
    #[must_use]
    pub fn env(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with(|step| drop(step.env.insert(name.into(), Template(value.into()))))
    }

    /// Lets the run continue when the node fails; `outputs.ID.failed` is then true.
    #[must_use]
    pub fn continue_on_failure(self) -> Self {
        self.with(|step| step.on_failure = OnFailure::Continue)
    }
}
