//! The surroundings of a node: its iteration, its task, its workspace, and the values that its
//! templates see.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::DecisionCx;
use crate::graph::ids::folded;
use crate::graph::template::{self, Scope, TemplateError};
use crate::graph::workflow::{Expression, Node, Template};
use crate::id::{NodeId, RunId, SessionId};
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
    /// The environment variables of the run and of the blocks around it, outermost first.
    pub(super) env: Vec<&'a BTreeMap<String, Template>>,
    /// The items of the lists around it, by the name that the workflow gave them, outermost first.
    pub(super) items: Vec<(&'a str, &'a Value)>,
    /// The iterations and attempts around the nodes of the innermost item, which tell it from others.
    pub(super) item_scope: Option<String>,
}

/// The longest value of an environment variable, in bytes. Linux starts no program with a value of 128 KB.
const ENV_VALUE_MAX: usize = 100_000;
/// The most bytes of all environment variables together.
const ENV_MAX: usize = 500_000;

impl<'a> Frame<'a> {
    pub(super) fn of(spec: &'a Spec, deadline: Option<Moment>) -> Frame<'a> {
        Frame {
            mark: String::new(),
            task: None,
            iteration: None,
            feedback: String::new(),
            workspace: spec.workspace.clone(),
            deadline,
            signal: None,
            resumed: None,
            env: if spec.env.is_empty() { Vec::new() } else { vec![&spec.env] },
            items: Vec::new(),
            item_scope: None,
        }
    }

    /// Returns the surroundings of the `finally` node, at one of the ends of the run.
    pub(super) fn of_finally(spec: &'a Spec, ends: u32) -> Frame<'a> {
        let mut frame = Frame::of(spec, None);
        if ends > 1 {
            frame.mark = format!("@{ends}");
        }
        frame
    }

    /// Returns the instance id of a node.
    pub(super) fn name(&self, node: &Node, tries: u32) -> NodeId {
        let again = if tries > 1 { format!("~{tries}") } else { String::new() };
        NodeId::new(format!("{}{}{again}", node.id, self.mark))
    }

    /// Returns the surroundings of the nodes in a block.
    pub(super) fn inside(&self, node: &'a Node, tries: u32, deadline: Option<Moment>) -> Frame<'a> {
        let mut inside = Frame { deadline, resumed: None, ..self.clone() };
        if !node.env.is_empty() {
            inside.env.push(&node.env);
        }
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

    /// Returns the surroundings for one item of a list.
    pub(super) fn for_item(&self, number: u32, name: &'a str, item: &'a Value) -> Frame<'a> {
        let mut inside = self.in_round(number, "");
        inside.items.push((name, item));
        inside.item_scope = Some(inside.mark.clone());
        inside
    }

    /// Fills in the environment variables of a node. A variable of an inner block replaces the one of an
    /// outer block.
    pub(super) fn env(&self, cx: &DecisionCx<'_>, node: &Node) -> Result<BTreeMap<String, String>, Outcome> {
        self.env_with(cx, Some(&node.env))
    }

    /// Fills in the environment variables of the run and of the blocks around.
    pub(super) fn env_around(&self, cx: &DecisionCx<'_>) -> Result<BTreeMap<String, String>, Outcome> {
        self.env_with(cx, None)
    }

    fn env_with(
        &self,
        cx: &DecisionCx<'_>,
        own: Option<&BTreeMap<String, Template>>,
    ) -> Result<BTreeMap<String, String>, Outcome> {
        let mut all = cx.spec.parent_env.clone();
        for (name, value) in self.env.iter().copied().chain(own).flatten() {
            let text = self.render(cx, value)?;
            if text.len() > ENV_VALUE_MAX || text.contains('\0') {
                let what = if text.contains('\0') { "contains a zero byte" } else { "is too long" };
                let why = format!(
                    "the value of the variable {name} {what}; pass it with `stdin`, or write it to a file"
                );
                return Err(Outcome::new(FinalStatus::Failed, EndReason::Template).because(why));
            }
            all.insert(name.clone(), text);
        }
        if all.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > ENV_MAX {
            let why = format!("the variables in `env` have more than {ENV_MAX} bytes together");
            return Err(Outcome::new(FinalStatus::Failed, EndReason::Template).because(why));
        }
        Ok(all)
    }

    /// Returns the name of the task and the items that the node works on. Sessions of one task or item are
    /// continued only there.
    pub(super) fn session_scope(&self) -> Option<String> {
        let task = self.task.and_then(|task| task.get("id")).map(|id| match id {
            Value::String(id) => id.clone(),
            id => id.to_string(),
        });
        match (task, &self.item_scope) {
            (Some(task), Some(item)) => Some(format!("{task} {item}")),
            (task, item) => task.or_else(|| item.clone()),
        }
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
        scope.set_run(&about_run(cx.spec, cx.run, cx.ending));
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
        for (name, item) in &self.items {
            scope.set_item(name, item);
        }
        scope
    }
}

/// Returns the values that the expressions of a run see now, outside of every loop.
pub fn scope(state: &RunState) -> Scope {
    let spec = &state.spec;
    let mut scope = Scope::new(&spec.input, &spec.inputs);
    scope.set_run(&about_run(spec, &state.run, None));
    for (node, output) in &state.bookkeeping.outputs {
        scope.set_output(node, output.clone());
    }
    scope
}

/// Returns the facts about the run itself. In `finally`, `ending` is its outcome.
fn about_run(spec: &Spec, run: &RunId, ending: Option<&Outcome>) -> Value {
    let ended = ending.map(|outcome| {
        let reason = outcome.why();
        [("status", outcome.status.word().to_owned()), ("reason", reason)]
    });
    let known =
        [("id", run.to_string()), ("workflow", spec.workflow.clone()), ("workspace", spec.workspace.clone())];
    let facts = known.into_iter().chain(spec.artifacts(run).map(|path| ("artifacts", path)));
    facts.chain(ended.into_iter().flatten()).map(|(name, fact)| (name.to_owned(), json!(fact))).collect()
}

fn failed(text: &str, error: &TemplateError) -> Outcome {
    let text: String = text.trim().chars().take(120).collect();
    Outcome::new(FinalStatus::Failed, EndReason::Template).because(format!("{error}, in: {text}"))
}
