//! The values that templates and expressions see: `input`, `inputs`, `outputs`, `run`, `task`,
//! `iteration` and `feedback`.
//!
//! A scope is kept and added to; using it costs the same however much is in it. A node that has
//! not run has no output: `outputs.ID` is undefined, and `outputs.ID is defined` asks. The id is
//! also found with its dashes as underscores. `outputs.ID` is a text, whatever is done with it;
//! see [`outputs`](super::outputs) for how it also has parts.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use minijinja::value::{Enumerator, Object, Serde};
use minijinja::{Error, ErrorKind, Value};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::environment;
use super::outputs::{OUTPUTS, PARTS, TEXTS};
use crate::graph::ids::folded;
use crate::id::NodeId;

/// What a node gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NodeOutput {
    /// The last words of its session, or what it printed.
    pub text: String,
    /// What it answered, where it has a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// Whether it failed; only seen where the run goes on all the same.
    pub failed: bool,
    /// How it ended, in a word.
    pub status: String,
}

/// The values that templates and expressions see.
#[derive(Debug, Clone)]
pub struct Scope {
    input: Value,
    inputs: Value,
    outputs: Arc<Outputs>,
    run: Value,
    task: Option<Value>,
    iteration: Option<u32>,
    feedback: Value,
}

impl Scope {
    /// What a run was told. An input that was not given, and has no default, is null.
    pub fn new(input: &str, inputs: &BTreeMap<String, Json>) -> Scope {
        Scope {
            input: Value::from(input),
            inputs: value_of(inputs),
            outputs: Arc::default(),
            run: value_of(&BTreeMap::<String, Json>::new()),
            task: None,
            iteration: None,
            feedback: Value::from(""),
        }
    }

    /// Facts about the run itself.
    pub fn set_run(&mut self, run: &Json) {
        self.run = value_of(run);
    }

    /// What a node gave; what it gave in an earlier round is forgotten.
    pub fn set_output(&mut self, node: &NodeId, output: NodeOutput) {
        let output = KnownOutputs::from(output);
        Arc::make_mut(&mut self.outputs).0.insert(folded(node.as_str()), (node.clone(), output));
    }

    /// A node has no output any more.
    pub fn forget_output(&mut self, node: &NodeId) {
        Arc::make_mut(&mut self.outputs).0.remove(&folded(node.as_str()));
    }

    /// The task of this round; undefined outside of a task loop.
    pub fn set_task(&mut self, task: Option<&Json>) {
        self.task = task.map(value_of);
    }

    /// The round, from 1; undefined outside of loops.
    pub fn set_iteration(&mut self, iteration: Option<u32>) {
        self.iteration = iteration;
    }

    /// What was wrong with the last try; empty where nothing was.
    pub fn set_feedback(&mut self, feedback: &str) {
        self.feedback = Value::from(feedback);
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
            "run" => Some(self.run.clone()),
            "task" => self.task.clone(),
            "iteration" => self.iteration.map(Value::from),
            "feedback" => Some(self.feedback.clone()),
            _ => None,
        }
    }
}

fn value_of<T: serde::Serialize>(json: &T) -> Value {
    Value::from(Serde(json))
}

/// By the id with its dashes as underscores.
#[derive(Debug, Clone, Default)]
struct Outputs(BTreeMap<String, (NodeId, KnownOutputs)>);

impl Outputs {
    fn find(&self, key: &Value) -> Option<&KnownOutputs> {
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

/// The text of each output; one that is not there is an error, whatever is done with it.
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

/// All that each node gave.
#[derive(Debug)]
struct OutputParts(Arc<Outputs>);

impl Object for OutputParts {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.find(key).map(|output| Value::from_object(output.clone()))
    }
}

#[derive(Debug, Clone)]
struct KnownOutputs {
    text: Value,
    value: Option<Value>,
    failed: bool,
    status: Value,
}

impl From<NodeOutput> for KnownOutputs {
    fn from(output: NodeOutput) -> KnownOutputs {
        KnownOutputs {
            text: Value::from(output.text),
            value: output.value.as_ref().map(value_of),
            failed: output.failed,
            status: Value::from(output.status),
        }
    }
}

impl Object for KnownOutputs {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        match key.as_str() {
            Some("text") => Some(self.text.clone()),
            Some("value") => Some(self.value.clone().unwrap_or_else(nothing)),
            Some("failed") => Some(Value::from(self.failed)),
            Some("status") => Some(self.status.clone()),
            Some(_) => None,
            // `outputs.ID[0]` is the first letter.
            None => self.text.get_item(key).ok().filter(|letter| !letter.is_undefined()),
        }
    }
}

/// What a node without a value has as one: not defined and not true, and written out as nothing.
fn nothing() -> Value {
    static NOTHING: OnceLock<Value> = OnceLock::new();
    let silent = || environment().compile_expression("1 if false")?.eval(());
    NOTHING.get_or_init(|| silent().unwrap_or_default()).clone()
}
