//! The surroundings of a node: its iteration, its task, its workspace, and the values that its
//! templates see.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::DecisionCx;
use crate::graph::ids::folded;
use crate::graph::template::{self, Scope, TemplateError};
use crate::graph::workflow::{Expression, Node, Template};
use crate::id::{NodeId, SessionId};
use crate::run::{EndReason, FinalStatus, Outcome, RunState};
use crate::spec::Spec;
use crate::time::Moment;

/// The surroundings of a node.
#[derive(Debug, Clone)]
pub(super) struct Frame<'a> {
    /// The iterations and attempts of the blocks around it, which become part of its instance id.
    pub(super) mark: String,
    pub(super) task: Option<&'a Value>,
    /// The iteration of the innermost loop, counted from 1.
    pub(super) iteration: Option<u32>,
    /// The failures of the last iteration or attempt.
    pub(super) feedback: String,
    pub(super) workspace: String,
    /// The earliest deadline of the blocks around it.
    pub(super) deadline: Option<Moment>,
    /// The signal with which its agents report that all is done.
    pub(super) signal: Option<&'a str>,
    /// The sessions that the nodes of a task resume to resolve a conflict. Their prompt is the
    /// feedback.
    pub(super) resumed: Option<&'a BTreeMap<NodeId, SessionId>>,
}

impl<'a> Frame<'a> {
    pub(super) fn of(spec: &Spec, deadline: Option<Moment>) -> Frame<'a> {
        Frame {
            mark: String::new(),
            task: None,
            iteration: None,
            feedback: String::new(),
            workspace: spec.workspace.clone(),
            deadline,
            signal: None,
            resumed: None,
        }
    }

    /// Returns the instance id of a node.
    pub(super) fn name(&self, node: &Node, tries: u32) -> NodeId {
        let again = if tries > 1 { format!("~{tries}") } else { String::new() };
        NodeId::new(format!("{}{}{again}", node.id, self.mark))
    }

    /// Returns the surroundings of the nodes in a block.
    pub(super) fn inside(&self, node: &Node, tries: u32, deadline: Option<Moment>) -> Frame<'a> {
        let mut inside = Frame { deadline, resumed: None, ..self.clone() };
        if node.retry.times > 0 {
            inside.mark.push_str(&format!("~{tries}"));
        }
        inside
    }

    /// Returns the surroundings in one iteration of a loop.
    pub(super) fn in_round(&self, round: u32, feedback: &str) -> Frame<'a> {
        let mut inside = Frame { iteration: Some(round), ..self.clone() };
        inside.mark.push_str(&format!("@{round}"));
        if !feedback.is_empty() {
            inside.feedback = feedback.to_owned();
        }
        inside
    }

    pub(super) fn render(&self, cx: &DecisionCx<'_>, text: &Template) -> Result<String, Outcome> {
        template::render(text, &self.scope(cx, &text.0)).map_err(|error| failed(&text.0, &error))
    }

    pub(super) fn is_true(&self, cx: &DecisionCx<'_>, condition: &Expression) -> Result<bool, Outcome> {
        template::is_true(condition, &self.scope(cx, &condition.0))
            .map_err(|error| failed(&condition.0, &error))
    }

    pub(super) fn evaluate(&self, cx: &DecisionCx<'_>, expression: &Expression) -> Result<Value, Outcome> {
        template::evaluate(expression, &self.scope(cx, &expression.0))
            .map_err(|error| failed(&expression.0, &error))
    }

    fn scope(&self, cx: &DecisionCx<'_>, text: &str) -> Scope {
        let mut scope = Scope::new(&cx.spec.input, &cx.spec.inputs);
        scope.set_run(&json!({"id": cx.run, "workflow": cx.spec.workflow, "workspace": cx.spec.workspace}));
        // Copies only outputs that the text may name. A large output is not copied in vain, and of
        // a thousand nodes not even the names are compared if none is used.
        let mut uses = text.split("outputs").skip(1).peekable();
        if uses.peek().is_some() {
            // `outputs[...]` or all outputs at once: only the evaluation knows which nodes it
            // needs.
            let may_be_any = uses.any(|rest| !rest.trim_start().starts_with('.'));
            let text = folded(text);
            for (node, output) in &cx.bookkeeping.outputs {
                if may_be_any || text.contains(&folded(node.as_str())) {
                    scope.set_output(node, output.clone());
                }
            }
        }
        scope.set_task(self.task);
        scope.set_iteration(self.iteration);
        scope.set_feedback(&self.feedback);
        scope
    }
}

/// Returns the values that the expressions of a run see now, outside of every loop.
pub fn scope(state: &RunState) -> Scope {
    let spec = &state.spec;
    let mut scope = Scope::new(&spec.input, &spec.inputs);
    scope.set_run(&json!({"id": state.run, "workflow": spec.workflow, "workspace": spec.workspace}));
    for (node, output) in &state.bookkeeping.outputs {
        scope.set_output(node, output.clone());
    }
    scope
}

fn failed(text: &str, error: &TemplateError) -> Outcome {
    let text: String = text.trim().chars().take(120).collect();
    Outcome::new(FinalStatus::Failed, EndReason::Template).because(format!("{error}, in: {text}"))
}
