//! Builds workflows in Rust. The result is the same graph that a document produces.
//!
//! ```no_run
//! use windlass_core::graph::builder::{Builder, LoopRounds, agent, check, prompt, skill, task_loop};
//! use windlass_core::graph::workflow::Workflow;
//!
//! let workflow: Workflow = Builder::new("fix-tests")
//!     .start(skill("research").args("{{ input }}"))
//!     .then(agent("planner").prompt("Plan: {{ outputs.skill_research.text }}").id("plan"))
//!     .if_(
//!         "outputs.plan.text | length > 400",
//!         |big| big.then(task_loop().each(|task| task.then(prompt("Do {{ task.name }}")))),
//!         |small| small.then(prompt("Do it: {{ outputs.plan.text }}")),
//!     )
//!     .loop_(LoopRounds::until("not outputs.tests.failed").max(5), |round| {
//!         round
//!             .then(prompt("Make the tests green. {{ feedback }}"))
//!             .then(check(["test"]).id("tests").continue_on_failure())
//!     })
//!     .end()
//!     .expect("a workflow");
//!
//! let ids: Vec<&str> = workflow.body.iter().map(|node| node.id.as_str()).collect();
//! assert_eq!(ids, ["skill-research", "plan", "if", "loop"]);
//! ```
//!
//! [`Builder::end`] reports mistakes in the structure of the workflow. To check names of entities,
//! other workflows and outputs, use [`check`](mod@crate::graph::check).

mod node;
mod own;
mod steps;
#[cfg(test)]
mod tests;

pub use node::{
    NodeBuilder, agent, ask, check, check_all, clear_context, command, criteria_loop, each, each_of, fail,
    kind, land, prompt, pull_request, review, shell, skill, task_loop, turns, wait, wait_for, workflow,
};
pub use steps::{LoopRounds, ParallelBranches, Steps};

use super::check::{GraphDiagnostic, structure};
use super::ids::name_nodes;
use super::workflow::{
    Budget, Expression, FINALLY_ID, FINALLY_MS, FinallyNode, InputKind, Node, NodeKind, NodeNumber,
    SessionOptions, ShellProgram, Template, Workflow, WorkflowInput,
};
use crate::id::NodeId;
use serde_json::Value;

/// A workflow under construction.
#[derive(Debug, Clone)]
pub struct Builder {
    workflow: Workflow,
    steps: Steps,
    starts: usize,
    is_first: bool,
    /// The `finally` node.
    last: Option<Node>,
}

impl Builder {
    /// Starts a workflow with this name.
    pub fn new(name: impl Into<String>) -> Builder {
        let workflow = Workflow {
            name: name.into(),
            description: None,
            inputs: Vec::new(),
            settings: SessionOptions::default(),
            budget: Budget::default(),
            plugins: Vec::new(),
            checks: Default::default(),
            env: Default::default(),
            gives: None,
            body: Vec::new(),
        };
        Builder { workflow, steps: Steps::default(), starts: 0, is_first: true, last: None }
    }

    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Builder {
        self.workflow.description = Some(text.into());
        self
    }

    /// Declares an input that every run must provide.
    #[must_use]
    pub fn required(self, name: impl Into<String>, kind: InputKind) -> Builder {
        self.input(WorkflowInput {
            name: name.into(),
            description: None,
            kind,
            required: true,
            default: None,
            choices: Vec::new(),
            range: Default::default(),
        })
    }

    /// Declares an input with a default.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, kind: InputKind, default: impl Into<Value>) -> Builder {
        self.input(WorkflowInput {
            name: name.into(),
            description: None,
            kind,
            required: false,
            default: Some(default.into()),
            choices: Vec::new(),
            range: Default::default(),
        })
    }

    /// Declares an input with all its fields.
    #[must_use]
    pub fn input(mut self, input: WorkflowInput) -> Builder {
        self.workflow.inputs.push(input);
        self
    }

    /// Sets the defaults for all sessions.
    #[must_use]
    pub fn settings(mut self, settings: SessionOptions) -> Builder {
        self.workflow.settings = settings;
        self
    }

    /// Limits the spending of the whole run.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Builder {
        self.workflow.budget = budget;
        self
    }

    /// Adds a plugin that the workflow needs.
    #[must_use]
    pub fn plugin(mut self, name: impl Into<String>) -> Builder {
        self.workflow.plugins.push(name.into());
        self
    }

    /// Defines a check, which passes when its command succeeds.
    #[must_use]
    pub fn check(mut self, name: impl Into<String>, command: impl Into<String>) -> Builder {
        self.workflow.checks.insert(name.into(), command.into());
        self
    }

    /// Adds the first node. [`end`](Builder::end) requires exactly one call, before all other nodes.
    #[must_use]
    pub fn start(mut self, node: impl Into<Node>) -> Builder {
        self.starts += 1;
        self.is_first &= self.starts > 1 || self.steps.body.is_empty();
        self.steps = self.steps.then(node);
        self
    }

    /// Adds the next node.
    #[must_use]
    pub fn then(mut self, node: impl Into<Node>) -> Builder {
        self.steps = self.steps.then(node);
        self
    }

    /// Adds an `if` with its two blocks.
    #[must_use]
    pub fn if_(
        mut self,
        condition: impl Into<String>,
        then: impl FnOnce(Steps) -> Steps,
        otherwise: impl FnOnce(Steps) -> Steps,
    ) -> Builder {
        self.steps = self.steps.if_(condition, then, otherwise);
        self
    }

    /// Adds nodes that may fail, and the nodes that run then.
    #[must_use]
    pub fn try_(mut self, body: impl FnOnce(Steps) -> Steps, catch: impl FnOnce(Steps) -> Steps) -> Builder {
        self.steps = self.steps.try_(body, catch);
        self
    }

    /// Adds a loop.
    #[must_use]
    pub fn loop_(mut self, rounds: LoopRounds, body: impl FnOnce(Steps) -> Steps) -> Builder {
        self.steps = self.steps.loop_(rounds, body);
        self
    }

    /// Adds a block whose branches run at the same time.
    #[must_use]
    pub fn parallel(mut self, lanes: impl FnOnce(ParallelBranches) -> ParallelBranches) -> Builder {
        self.steps = self.steps.parallel(lanes);
        self
    }

    /// Sets the nodes that run at the end of a run, whatever the end.
    #[must_use]
    pub fn finally(mut self, body: impl FnOnce(Steps) -> Steps) -> Builder {
        let mut node = steps::bare(NodeKind::Finally(FinallyNode { body: body(Steps::default()).body }));
        node.id = NodeId::new(FINALLY_ID);
        node.settings.timeout_ms = Some(FINALLY_MS);
        self.last = Some(node);
        self
    }

    /// Sets an environment variable of every command, check and session; the value is a template.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Builder {
        self.workflow.env.insert(name.into(), Template(value.into()));
        self
    }

    /// Sets the shell that runs the command lines of the workflow.
    #[must_use]
    pub fn shell_program(mut self, shell: ShellProgram) -> Builder {
        self.workflow.settings.shell = Some(shell);
        self
    }

    /// Sets the value that the workflow gives to the node that runs it.
    #[must_use]
    pub fn gives(mut self, expression: impl Into<String>) -> Builder {
        self.workflow.gives = Some(Expression(expression.into()));
        self
    }

    /// Computes the time limit of a run from its inputs, up to `at_most` milliseconds.
    #[must_use]
    pub fn timeout_from(mut self, expression: impl Into<String>, at_most: u64) -> Builder {
        self.workflow.settings.timeout_ms = Some(at_most);
        self.workflow.settings.timeout_from = Some(Expression(expression.into()));
        self
    }

    /// Computes a number of the node that was added last when it starts, up to `at_most`.
    #[must_use]
    pub fn computed(mut self, number: NodeNumber, from: impl Into<String>, at_most: u64) -> Builder {
        self.steps = self.steps.computed(number, from, at_most);
        self
    }

    /// Names the node that was added last.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Builder {
        self.steps = self.steps.id(id);
        self
    }

    /// Returns the workflow, or all mistakes in its structure. Nodes without an id get a default id.
    pub fn end(mut self) -> Result<Workflow, Vec<GraphDiagnostic>> {
        self.workflow.body = self.steps.body;
        self.workflow.body.extend(self.last);
        let mut findings = Vec::new();
        if self.starts != 1 || !self.is_first {
            let text = match self.starts {
                0 => "`start` was not called: it adds the first node".to_owned(),
                1 => "`start` must come before all other nodes".to_owned(),
                times => format!("`start` was called {times} times"),
            };
            findings.push(GraphDiagnostic::error(None, "nodes", text));
        }
        let too_deep = structure::too_deep(&self.workflow);
        if !too_deep.is_empty() {
            return Err(too_deep);
        }
        name_nodes(&mut self.workflow.body);
        let form = structure::form(&self.workflow);
        findings.extend(form.into_iter().filter(GraphDiagnostic::is_error));
        if findings.is_empty() { Ok(self.workflow) } else { Err(findings) }
    }
}
