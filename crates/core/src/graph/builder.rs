//! Workflows written in Rust: the same graph that a document becomes.
//!
//! ```no_run
//! use windlass_core::graph::builder::{Builder, Rounds, agent, check, prompt, skill, task_loop};
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
//!     .loop_(Rounds::until("not outputs.tests.failed").max(5), |round| {
//!         round
//!             .then(prompt("Make the tests green. {{ feedback }}"))
//!             .then(check(["test"]).id("tests").continue_on_failure())
//!     })
//!     .end()
//!     .expect("a workflow");
//!
//! let ids: Vec<&str> = workflow.body.iter().map(|step| step.id.as_str()).collect();
//! assert_eq!(ids, ["skill-research", "plan", "if", "loop"]);
//! ```
//!
//! What a single workflow can tell is found by [`Builder::end`]; whether names mean anything is
//! [`check`](mod@crate::graph::check)'s.

mod node;
mod own;
mod steps;
#[cfg(test)]
mod tests;

pub use node::{
    NodeBuilder, agent, ask, check, check_all, clear_context, command, criteria_loop, kind, land, prompt,
    pull_request, review, shell, skill, task_loop, turns, wait, wait_for, workflow,
};
pub use steps::{LoopRounds, ParallelBranches, Steps};

use super::check::{GraphDiagnostic, structure};
use super::ids::name_nodes;
use super::workflow::{Budget, InputKind, Node, SessionOptions, Workflow, WorkflowInput};
use serde_json::Value;

/// A workflow that is being written.
#[derive(Debug, Clone)]
pub struct Builder {
    workflow: Workflow,
    steps: Steps,
    starts: usize,
    is_first: bool,
}

impl Builder {
    /// A workflow of that name.
    pub fn new(name: impl Into<String>) -> Builder {
        let workflow = Workflow {
            name: name.into(),
            description: None,
            inputs: Vec::new(),
            settings: SessionOptions::default(),
            budget: Budget::default(),
            plugins: Vec::new(),
            checks: Default::default(),
            body: Vec::new(),
        };
        Builder { workflow, steps: Steps::default(), starts: 0, is_first: true }
    }

    /// What it is for.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Builder {
        self.workflow.description = Some(text.into());
        self
    }

    /// Something it must be told.
    #[must_use]
    pub fn required(self, name: impl Into<String>, kind: InputKind) -> Builder {
        self.input(WorkflowInput {
            name: name.into(),
            description: None,
            kind,
            required: true,
            default: None,
            choices: Vec::new(),
        })
    }

    /// Something it may be told.
    #[must_use]
    pub fn optional(self, name: impl Into<String>, kind: InputKind, default: impl Into<Value>) -> Builder {
        self.input(WorkflowInput {
            name: name.into(),
            description: None,
            kind,
            required: false,
            default: Some(default.into()),
            choices: Vec::new(),
        })
    }

    /// Something it is told, in full.
    #[must_use]
    pub fn input(mut self, input: WorkflowInput) -> Builder {
        self.workflow.inputs.push(input);
        self
    }

    /// How its sessions are run.
    #[must_use]
    pub fn settings(mut self, settings: SessionOptions) -> Builder {
        self.workflow.settings = settings;
        self
    }

    /// What all of it may spend.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Builder {
        self.workflow.budget = budget;
        self
    }

    /// A plugin it needs.
    #[must_use]
    pub fn plugin(mut self, name: impl Into<String>) -> Builder {
        self.workflow.plugins.push(name.into());
        self
    }

    /// A command that must succeed, for `check` nodes.
    #[must_use]
    pub fn check(mut self, name: impl Into<String>, command: impl Into<String>) -> Builder {
        self.workflow.checks.insert(name.into(), command.into());
        self
    }

    /// The first node.
    #[must_use]
    pub fn start(mut self, node: impl Into<Node>) -> Builder {
        self.starts += 1;
        self.is_first &= self.starts > 1 || self.steps.body.is_empty();
        self.steps = self.steps.then(node);
        self
    }

    /// The next node.
    #[must_use]
    pub fn then(mut self, node: impl Into<Node>) -> Builder {
        self.steps = self.steps.then(node);
        self
    }

    /// One of two ways.
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

    /// The same again.
    #[must_use]
    pub fn loop_(mut self, rounds: LoopRounds, body: impl FnOnce(Steps) -> Steps) -> Builder {
        self.steps = self.steps.loop_(rounds, body);
        self
    }

    /// Several things at once.
    #[must_use]
    pub fn parallel(mut self, lanes: impl FnOnce(ParallelBranches) -> ParallelBranches) -> Builder {
        self.steps = self.steps.parallel(lanes);
        self
    }

    /// Names the node that was added last.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Builder {
        self.steps = self.steps.id(id);
        self
    }

    /// The workflow, or all that is wrong with its form. Nodes without a name get the default.
    pub fn end(mut self) -> Result<Workflow, Vec<GraphDiagnostic>> {
        self.workflow.body = self.steps.body;
        let mut findings = Vec::new();
        if self.starts != 1 || !self.is_first {
            let text = match self.starts {
                0 => "no node was given to `start`".to_owned(),
                1 => "`start` comes first".to_owned(),
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
