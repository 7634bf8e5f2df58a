//! Stub results: what people say that a node gives, instead of running it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::words;

words! {
    /// A field of a stub result, as people write it.
    #[derive(PartialOrd, Ord)]
    pub enum StubField {
        /// The words of an agent, of a run within the run, or of an event.
        Text = "text",
        /// The value, which fits the schema of the node.
        Value = "value",
        /// The exit code of a command.
        ExitCode = "exit_code",
        /// The output of a command.
        Stdout = "stdout",
        /// `completed` or `failed`.
        Status = "status",
        /// The answer to a question.
        Answer = "answer",
        /// The tasks that a task loop finds.
        Tasks = "tasks",
    }
}

words! {
    /// The end of a node with a stub.
    #[derive(Default)]
    pub enum StubStatus {
        #[default]
        Completed = "completed",
        Failed = "failed",
    }
}

/// The stub result of one start of a node.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stub {
    pub text: Option<String>,
    pub value: Option<Value>,
    pub exit_code: Option<i32>,
    pub stdout: Option<String>,
    pub status: Option<StubStatus>,
    pub answer: Option<String>,
    pub tasks: Option<Vec<Value>>,
}

impl Stub {
    /// Returns the stub of a node that fails.
    pub(super) fn failing() -> Stub {
        Stub { status: Some(StubStatus::Failed), ..Stub::default() }
    }

    pub(super) fn is_failure(&self) -> bool {
        self.status == Some(StubStatus::Failed)
    }

    /// Returns the fields that it has.
    pub fn fields(&self) -> Vec<StubField> {
        let has = |field: &StubField| match field {
            StubField::Text => self.text.is_some(),
            StubField::Value => self.value.is_some(),
            StubField::ExitCode => self.exit_code.is_some(),
            StubField::Stdout => self.stdout.is_some(),
            StubField::Status => self.status.is_some(),
            StubField::Answer => self.answer.is_some(),
            StubField::Tasks => self.tasks.is_some(),
        };
        StubField::ALL.into_iter().filter(has).collect()
    }

    /// Returns the exit code of a command.
    pub(super) fn code(&self) -> i32 {
        self.exit_code.unwrap_or(i32::from(self.is_failure()))
    }

    /// Returns what a command prints: its output, else its value as JSON.
    pub(super) fn printed(&self) -> String {
        let value = || self.value.as_ref().map(Value::to_string);
        self.stdout.clone().or_else(value).unwrap_or_default()
    }
}

/// The stub results of a workflow, by node. A node of a workflow that is called is `CALLER/NODE`. Of several
/// results, each start of the node takes the next one, and the last one repeats.
pub type Stubs = BTreeMap<String, Vec<Stub>>;

/// The stub results while a rehearsal uses them up.
pub(super) struct StubBook<'a> {
    stubs: &'a Stubs,
    /// The starts of each node so far, by their names.
    starts: BTreeMap<String, Vec<String>>,
}

impl StubBook<'_> {
    pub(super) fn of(stubs: &Stubs) -> StubBook<'_> {
        StubBook { stubs, starts: BTreeMap::new() }
    }

    /// Decides whether a node fails at one of its starts.
    pub(super) fn fails(&self, node: &str) -> bool {
        self.stubs.get(node).is_some_and(|results| results.iter().any(Stub::is_failure))
    }

    /// Returns the result for a start of a node, the same each time for the same start.
    pub(super) fn result(&mut self, node: &str, instance: &str) -> Option<Stub> {
        let results = self.stubs.get(node)?;
        let starts = self.starts.entry(node.to_owned()).or_default();
        let known = starts.iter().position(|start| start == instance);
        let at = known.unwrap_or_else(|| {
            starts.push(instance.to_owned());
            starts.len() - 1
        });
        results.get(at).or(results.last()).cloned()
    }
}

/// Returns a task with all fields that templates may name, of which some may be given.
pub(super) fn whole_task(given: Value) -> Value {
    let mut task = json!({
        "id": "1", "name": "a task from the file", "description": "its description", "status": "pending",
        "priority": null, "dependencies": [], "metadata": {},
    });
    if let (Value::Object(all), Value::Object(given)) = (&mut task, given) {
        all.extend(given);
    }
    task
}
