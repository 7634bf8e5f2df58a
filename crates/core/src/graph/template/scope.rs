//! The values that templates and expressions can use: `input`, `inputs`, `outputs`, `run`, `task`,
//! `iteration` and `feedback`.
//!
//! A run keeps one scope and updates it; the cost of a lookup does not grow with its size. A node
//! that has not run has no output: `outputs.ID` is undefined, and `outputs.ID is defined` is false.
//! Templates may write the dashes of an id as underscores. `outputs.ID` is always a text;
//! [`outputs`](super::outputs) explains how it can have parts, too.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use minijinja::value::{Enumerator, Object, Serde};
use minijinja::{Error, ErrorKind, Value};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::environment;
use super::outputs::{MAYBE, OUTPUTS, PARTS, TEXTS};
use crate::graph::ids::folded;
use crate::id::NodeId;

/// The output of a node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NodeOutput {
    /// The last message of the session, or the printed text.
    pub text: String,
    /// The structured answer, if the node has a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// True after a failure. Templates see it only if the run continues.
    pub failed: bool,
    /// The final status, as a word.
    pub status: String,
    /// The exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The standard output of a command, if it is not the same as the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
}

/// The values that templates and expressions can use.
#[derive(Debug, Clone)]
pub struct Scope {
    input: Value,
    inputs: Value,
    outputs: Arc<Outputs>,
    run: Value,
    task: Option<Value>,
    iteration: Option<u32>,
    feedback: Value,
    /// The items of the lists around the node, by name.
    items: Vec<(String, Value)>,
}

impl Scope {
    /// Starts a scope with the inputs of a run. A missing input without a default is null.
    pub fn new(input: &str, inputs: &BTreeMap<String, Json>) -> Scope {
        Scope {
            input: Value::from(input),
            inputs: value_of(inputs),
            outputs: Arc::default(),
            run: value_of(&BTreeMap::<String, Json>::new()),
            task: None,
            iteration: None,
            feedback: Value::from(""),
            items: Vec::new(),
        }
    }

    /// Sets the facts about the run itself.
    pub fn set_run(&mut self, run: &Json) {
        self.run = value_of(run);
    }

    /// Sets the output of a node and replaces the one of an earlier iteration.
    pub fn set_output(&mut self, node: &NodeId, output: NodeOutput) {
        let output = KnownOutput::from(output);
        Arc::make_mut(&mut self.outputs).0.insert(folded(node.as_str()), (node.clone(), output));
    }

    /// Removes the output of a node.
    pub fn forget_output(&mut self, node: &NodeId) {
        Arc::make_mut(&mut self.outputs).0.remove(&folded(node.as_str()));
    }

    /// Sets the current task; undefined outside of a task loop.
    pub fn set_task(&mut self, task: Option<&Json>) {
        self.task = task.map(value_of);
    }

    /// Sets the iteration, from 1; undefined outside of loops.
    pub fn set_iteration(&mut self, iteration: Option<u32>) {
        self.iteration = iteration;
    }

    /// Sets the feedback: the problems of the last try, or an empty text.
    pub fn set_feedback(&mut self, feedback: &str) {
        self.feedback = Value::from(feedback);
    }

    /// Sets the item of a list around the node.
    pub fn set_item(&mut self, name: &str, item: &Json) {
        self.items.push((name.to_owned(), value_of(item)));
    }

    pub(super) fn value(&self) -> Value {
        Value::from_object(self.clone())
    }
}

impl Object for Scope {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str()? {
            "input" => Some(self.input.clone()),
            "inputs" => Some(self.inputs.clone()),
            OUTPUTS => Some(Value::from_dyn_object(Arc::clone(&self.outputs))),
            TEXTS => Some(Value::from_object(OutputTexts(Arc::clone(&self.outputs)))),
            PARTS => Some(Value::from_object(OutputParts(Arc::clone(&self.outputs)))),
            MAYBE => Some(Value::from_object(MaybeParts(Arc::clone(&self.outputs)))),
            "run" => Some(self.run.clone()),
            "task" => self.task.clone(),
            "iteration" => self.iteration.map(Value::from),
            "feedback" => Some(self.feedback.clone()),
            name => self.items.iter().rev().find(|(known, _)| known == name).map(|(_, item)| item.clone()),
        }
    }
}

fn value_of<T: serde::Serialize>(json: &T) -> Value {
    Value::from(Serde(json))
}

/// Outputs by id, with dashes as underscores.
#[derive(Debug, Clone, Default)]
struct Outputs(BTreeMap<String, (NodeId, KnownOutput)>);

impl Outputs {
    fn find(&self, key: &Value) -> Option<&KnownOutput> {
        let name = key.as_str()?;
        let (id, output) = self.0.get(&folded(name))?;
        (name == id.as_str() || name == folded(id.as_str())).then_some(output)
    }
}

impl Object for Outputs {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.find(key).map(|output| output.text.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.values().map(|(id, _)| Value::from(id.as_str())).collect())
    }
}

/// The text of each output. Any use of a missing output is an error.
#[derive(Debug)]
struct OutputTexts(Arc<Outputs>);

impl Object for OutputTexts {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let missing = || {
            let what = format!("`{OUTPUTS}.{key}` is undefined");
            Value::from(Error::new(ErrorKind::UndefinedError, what))
        };
        Some(self.0.find(key).map_or_else(missing, |output| output.text.clone()))
    }
}

/// The outputs with all their parts.
#[derive(Debug)]
struct OutputParts(Arc<Outputs>);

impl Object for OutputParts {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.find(key).map(|output| Value::from_object(output.clone()))
    }
}

/// Parts of outputs, by their paths as JSON lists.
#[derive(Debug)]
struct MaybeParts(Arc<Outputs>);

impl Object for MaybeParts {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let keys: Vec<Json> = serde_json::from_str(key.as_str()?).ok()?;
        let (id, parts) = keys.split_first()?;
        let mut value = Value::from_object(self.0.find(&value_of(id))?.clone());
        for part in parts {
            // Nothing has no parts.
            value = value.get_item(&value_of(part)).ok()?;
        }
        Some(value)
    }
}

#[derive(Debug, Clone)]
struct KnownOutput {
    text: Value,
    value: Option<Value>,
    failed: bool,
    status: Value,
    exit_code: Option<i32>,
    stdout: Option<Value>,
}

impl From<NodeOutput> for KnownOutput {
    fn from(output: NodeOutput) -> KnownOutput {
        KnownOutput {
            text: Value::from(output.text),
            value: output.value.as_ref().map(value_of),
            failed: output.failed,
            status: Value::from(output.status),
            exit_code: output.exit_code,
            stdout: output.stdout.map(Value::from),
        }
    }
}

impl Object for KnownOutput {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str() {
            Some("text") => Some(self.text.clone()),
            Some("value") => Some(self.value.clone().unwrap_or_else(nothing)),
            Some("failed") => Some(Value::from(self.failed)),
            Some("status") => Some(self.status.clone()),
            Some("exit_code") => self.exit_code.map(Value::from),
            Some("stdout") => self.stdout.clone().or_else(|| self.exit_code.map(|_| self.text.clone())),
            Some(_) => None,
            // `outputs.ID[0]` is the first character.
            None => self.text.get_item(key).ok().filter(|letter| !letter.is_undefined()),
        }
    }
}

/// Returns the `value` of a node without one: undefined and false, but it renders as nothing instead
/// of failing.
fn nothing() -> Value {
    static NOTHING: OnceLock<Value> = OnceLock::new();
    let silent = || environment().compile_expression("1 if false")?.eval(());
    NOTHING.get_or_init(|| silent().unwrap_or_default()).clone()
}
