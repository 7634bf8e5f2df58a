//! Single nodes that are being written, and what all of them may have.
//!
//! What only some may have is [`own`](super::own)'s.

use std::marker::PhantomData;
use std::time::Duration;

use super::steps::bare;
use crate::graph::workflow::{
    AskNode, Budget, CheckNode, CriteriaLoopNode, Expression, LandNode, ListenNode, Node, NodeKind,
    OnFailure, PromptSource, PullRequestNode, RetryPolicy, ReviewNode, Session, ShellNode, SleepNode,
    TaskLoopNode, Template, TurnLoop, WaitUntil, WorkflowNode,
};
use crate::hook::permission::Isolation;
use crate::id::NodeId;

/// A node of some kind, with what is common to all of them.
#[derive(Debug, Clone)]
pub struct NodeBuilder<K> {
    node: Node,
    kind: PhantomData<K>,
}

/// Kinds of nodes, as far as they have something of their own.
pub mod kind {
    /// A skill or a command: it has arguments.
    #[derive(Debug, Clone)]
    pub struct EntityCallMarker;
    /// An agent: it has a prompt.
    #[derive(Debug, Clone)]
    pub struct AgentMarker;
    /// A prompt.
    #[derive(Debug, Clone)]
    pub struct PromptMarker;
    /// A command line.
    #[derive(Debug, Clone)]
    pub struct ShellMarker;
    /// A task loop.
    #[derive(Debug, Clone)]
    pub struct TaskLoopMarker;
    /// A criteria loop.
    #[derive(Debug, Clone)]
    pub struct CriteriaLoopMarker;
    /// A sub-workflow.
    #[derive(Debug, Clone)]
    pub struct WorkflowMarker;
    /// A question.
    #[derive(Debug, Clone)]
    pub struct AskMarker;
    /// Any other.
    #[derive(Debug, Clone)]
    pub struct PlainMarker;

    /// What is a session.
    pub trait SessionMarker {}
    impl SessionMarker for EntityCallMarker {}
    impl SessionMarker for AgentMarker {}
    impl SessionMarker for PromptMarker {}
}

use kind::{
    AgentMarker, AskMarker, CriteriaLoopMarker, EntityCallMarker, PlainMarker, PromptMarker, ShellMarker,
    TaskLoopMarker, WorkflowMarker,
};

fn node<K>(act: NodeKind) -> NodeBuilder<K> {
    NodeBuilder { node: bare(act), kind: PhantomData }
}

fn session<K>(source: PromptSource) -> NodeBuilder<K> {
    node(NodeKind::Session(Session { source, turns: None, schema: None }))
}

/// A skill, by name.
pub fn skill(name: impl Into<String>) -> NodeBuilder<EntityCallMarker> {
    session(PromptSource::Skill { name: name.into(), args: None })
}

/// A command, by name.
pub fn command(name: impl Into<String>) -> NodeBuilder<EntityCallMarker> {
    session(PromptSource::Command { name: name.into(), args: None })
}

/// An agent, by name; it is asked what the run was asked, where nothing is said.
pub fn agent(name: impl Into<String>) -> NodeBuilder<AgentMarker> {
    session(PromptSource::Agent { name: name.into(), prompt: Template("{{ input }}".into()) })
}

/// A prompt.
pub fn prompt(text: impl Into<String>) -> NodeBuilder<PromptMarker> {
    session(PromptSource::Prompt { prompt: Template(text.into()) })
}

/// A command line.
pub fn shell(line: impl Into<String>) -> NodeBuilder<ShellMarker> {
    node(NodeKind::Shell(ShellNode { command: Template(line.into()), idempotent: false }))
}

/// Checks that must be green, by name.
pub fn check<N: Into<String>>(names: impl IntoIterator<Item = N>) -> NodeBuilder<PlainMarker> {
    node(NodeKind::Check(CheckNode { names: names.into_iter().map(Into::into).collect() }))
}

/// All checks.
pub fn check_all() -> NodeBuilder<PlainMarker> {
    node(NodeKind::Check(CheckNode { names: Vec::new() }))
}

/// Once for each task of the file in the usual place, three tries each, a hundred rounds at most.
pub fn task_loop() -> NodeBuilder<TaskLoopMarker> {
    node(NodeKind::TaskLoop(TaskLoopNode {
        path: None,
        until: None,
        select: None,
        max: 100,
        jobs: 1,
        attempts: 3,
        before_each: Vec::new(),
        body: Vec::new(),
    }))
}

/// The same again until the last words of a session hold a signal.
pub fn criteria_loop(signal: impl Into<String>) -> NodeBuilder<CriteriaLoopMarker> {
    node(NodeKind::CriteriaLoop(CriteriaLoopNode { signal: signal.into(), max: 0, body: Vec::new() }))
}

/// A run of another workflow.
pub fn workflow(name: impl Into<String>) -> NodeBuilder<WorkflowMarker> {
    node(NodeKind::Workflow(WorkflowNode { name: name.into(), inputs: Default::default() }))
}

/// A question to a person.
pub fn ask(question: impl Into<String>) -> NodeBuilder<AskMarker> {
    node(NodeKind::Ask(AskNode { question: Template(question.into()), choices: Vec::new(), default: None }))
}

/// A wait for time to pass.
pub fn wait(time: Duration) -> NodeBuilder<PlainMarker> {
    node(NodeKind::Wait(WaitUntil::Elapsed(SleepNode { ms: in_ms(time) })))
}

/// A wait for something that is told to the run.
pub fn wait_for(event: impl Into<String>, timeout: Option<Duration>) -> NodeBuilder<PlainMarker> {
    node(NodeKind::Wait(WaitUntil::Event(ListenNode { name: event.into(), timeout_ms: timeout.map(in_ms) })))
}

/// A review of what was done so far.
pub fn review(agent: Option<&str>, max_cycles: u32) -> NodeBuilder<PlainMarker> {
    node(NodeKind::Review(ReviewNode { agent: agent.map(str::to_owned), max_cycles, threshold: None }))
}

/// The commits of the worktree onto the target branch; the one the run began on where none is said.
pub fn land(target: Option<&str>) -> NodeBuilder<PlainMarker> {
    node(NodeKind::Land(LandNode { target: target.map(|target| Template(target.to_owned())) }))
}

/// A pull request for the branch of the run.
pub fn pull_request(title: impl Into<String>, body: Option<&str>) -> NodeBuilder<PlainMarker> {
    node(NodeKind::PullRequest(PullRequestNode {
        title: Template(title.into()),
        body: body.map(|body| Template(body.to_owned())),
    }))
}

/// The next session begins anew.
pub fn clear_context() -> NodeBuilder<PlainMarker> {
    node(NodeKind::ClearContext)
}

/// So many turns with a tracker; `Turns::default()` are as many as the settings say.
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

    pub(super) fn with_act(mut self, change: impl FnOnce(&mut NodeKind)) -> Self {
        change(&mut self.node.kind);
        self
    }

    /// What it is called.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        self.with(|step| step.id = NodeId::new(id))
    }

    /// It is left out where this does not hold.
    #[must_use]
    pub fn when(self, condition: impl Into<String>) -> Self {
        self.with(|step| step.when = Some(Expression(condition.into())))
    }

    /// Which agent CLI.
    #[must_use]
    pub fn driver(self, name: impl Into<String>) -> Self {
        self.with(|step| step.settings.driver = Some(name.into()))
    }

    /// Which model.
    #[must_use]
    pub fn model(self, name: impl Into<String>) -> Self {
        self.with(|step| step.settings.model = Some(name.into()))
    }

    /// What it may use and load.
    #[must_use]
    pub fn isolation(self, isolation: Isolation) -> Self {
        self.with(|step| step.settings.isolation = Some(isolation))
    }

    /// How long it may take.
    #[must_use]
    pub fn timeout(self, time: Duration) -> Self {
        self.with(|step| step.settings.timeout_ms = Some(in_ms(time)))
    }

    /// How often it is tried again, after a pause that doubles.
    #[must_use]
    pub fn retry(self, times: u32, delay: Duration) -> Self {
        self.with(|step| step.retry = RetryPolicy { times, delay_ms: in_ms(delay) })
    }

    /// What it may spend.
    #[must_use]
    pub fn budget(self, budget: Budget) -> Self {
        self.with(|step| step.budget = budget)
    }

    /// The run goes on when it fails; `outputs.ID.failed` tells.
    #[must_use]
    pub fn continue_on_failure(self) -> Self {
        self.with(|step| step.on_failure = OnFailure::Continue)
    }
}
