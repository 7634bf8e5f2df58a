//! Checks that the defaults and choices of inputs fit their types, and that inputs are used.

use std::collections::HashSet;

use serde_json::Value;

use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::Outline;
use super::suggest::shown;
use crate::graph::workflow::{InputKind, InputRange, WorkflowInput};

pub(super) fn look(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    let mut names = HashSet::new();
    for input in &outline.workflow.inputs {
        if !names.insert(&input.name) {
            found.whole(about(
                input,
                GraphDiagnostic::error,
                format!("two inputs are called {}", shown(&input.name)),
            ));
        }
        values(input, found);
    }
    unused(outline, found);
}

fn values(input: &WorkflowInput, found: &mut GraphDiagnostics) {
    range(input, found);
    for choice in &input.choices {
        if !input.kind.admits(choice) {
            let text =
                format!("choice {choice} of {} is not of type {}", shown(&input.name), input.kind.word());
            found.whole(about(input, GraphDiagnostic::error, text));
        }
    }
    let Some(default) = &input.default else { return };
    if !input.kind.admits(default) {
        let text =
            format!("the default {default} of {} is not of type {}", shown(&input.name), input.kind.word());
        found.whole(about(input, GraphDiagnostic::error, text));
    } else if let Some(wanted) = input.range.wanted(default) {
        let text = format!("the default {default} of {} must be {wanted}", shown(&input.name));
        found.whole(about(input, GraphDiagnostic::error, text));
    } else if !input.choices.is_empty() && !input.choices.contains(default) {
        let text = format!("the default {default} of {} is not among its choices", shown(&input.name));
        let choices: Vec<String> = input.choices.iter().map(Value::to_string).collect();
        found.whole(
            about(input, GraphDiagnostic::error, text).hint(format!("choices are {}", choices.join(", "))),
        );
    }
    if input.required {
        let text = format!("{} is required, so its default is never used", shown(&input.name));
        found.whole(about(input, GraphDiagnostic::warning, text));
    }
}

fn range(input: &WorkflowInput, found: &mut GraphDiagnostics) {
    let InputRange { minimum, maximum } = input.range;
    let is_number = matches!(input.kind, InputKind::Number | InputKind::Integer);
    let name = shown(&input.name);
    if !input.range.is_open() && !is_number {
        let text =
            format!("only a number has a `minimum` and a `maximum`, and {name} is {}", input.kind.wanted());
        found.whole(about(input, GraphDiagnostic::error, text));
    }
    if let (Some(least), Some(most)) = (minimum, maximum)
        && least > most
    {
        let text = format!("the `minimum` of {name} is larger than its `maximum`");
        found.whole(about(input, GraphDiagnostic::error, text));
    }
    for choice in &input.choices {
        if let Some(wanted) = input.range.wanted(choice) {
            let text = format!("choice {choice} of {name} must be {wanted}");
            found.whole(about(input, GraphDiagnostic::error, text));
        }
    }
}

fn unused(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    let uses = outline.texts().flat_map(|text| text.uses());
    let used: HashSet<Option<&str>> =
        uses.filter(|used| used.root() == "inputs").map(|used| used.name()).collect();
    // Some template uses all inputs at once, or computes the name of one.
    if used.contains(&None) {
        return;
    }
    let models: Vec<&String> = outline.workflow.settings.models().collect();
    let is_in_model = |name: &str| models.iter().any(|model| model.contains(&format!("inputs.{name}")));
    for input in outline.workflow.inputs.iter().filter(|input| !is_in_model(&input.name)) {
        if !used.contains(&Some(input.name.as_str())) {
            let text = format!("input {} is never used", shown(&input.name));
            found.whole(about(input, GraphDiagnostic::warning, text));
        }
    }
}

fn about(
    input: &WorkflowInput,
    kind: fn(Option<&crate::id::NodeId>, &'static str, String) -> GraphDiagnostic,
    text: String,
) -> GraphDiagnostic {
    kind(None, "inputs", text).key(Some(input.name.clone()))
}

impl InputKind {
    /// Returns the form of a value, in words for a message.
    pub fn wanted(self) -> &'static str {
        match self {
            InputKind::Text => "text",
            InputKind::Number => "a number",
            InputKind::Integer => "a whole number",
            InputKind::Boolean => "true or false",
            InputKind::List => "a list of texts",
        }
    }

    /// Returns whether a value can be an input of this kind.
    pub fn admits(self, value: &Value) -> bool {
        match self {
            InputKind::Text => value.is_string(),
            InputKind::Number => value.is_number(),
            InputKind::Integer => value.is_i64() || value.is_u64(),
            InputKind::Boolean => value.is_boolean(),
            InputKind::List => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
        }
    }

    /// Reads a text as an input of this kind. Numbers and lists are JSON; numbers and booleans in a list
    /// become text.
    pub fn read(self, text: &str) -> Option<Value> {
        if self == InputKind::Text {
            return Some(Value::from(text));
        }
        if self == InputKind::Boolean {
            return match text.trim().to_lowercase().as_str() {
                "true" | "yes" | "1" => Some(Value::from(true)),
                "false" | "no" | "0" => Some(Value::from(false)),
                _ => None,
            };
        }
        let mut value: Value = serde_json::from_str(text.trim()).ok()?;
        for item in value.as_array_mut().into_iter().flatten() {
            if item.is_number() || item.is_boolean() {
                *item = Value::from(item.to_string());
            }
        }
        self.admits(&value).then_some(value)
    }
}
