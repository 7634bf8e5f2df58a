//! Reads the typed inputs of a workflow into values of the declared kinds.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_core::graph::check::uses_input;
use windlass_core::graph::workflow::{
    InputKind, InputRange, NodeKind, Workflow, WorkflowInput, WorkflowNode,
};

use super::{RunRequest, WantedWorkflow, nodes};
use crate::user_error::{UserError, UserErrorKind};

/// Returns the default of each input, or an empty value.
pub(super) fn defaults(workflow: &Workflow) -> BTreeMap<String, Value> {
    let value =
        |input: &WorkflowInput| (input.name.clone(), input.default.clone().unwrap_or_else(|| unsaid(input)));
    workflow.inputs.iter().map(value).collect()
}

/// Returns the kind of each input.
pub(super) fn kinds(workflow: &Workflow) -> BTreeMap<String, InputKind> {
    workflow.inputs.iter().map(|input| (input.name.clone(), input.kind)).collect()
}

/// Returns the allowed numbers of each input that has bounds.
pub(super) fn ranges(workflow: &Workflow) -> BTreeMap<String, InputRange> {
    let bounded = workflow.inputs.iter().filter(|input| !input.range.is_open());
    bounded.map(|input| (input.name.clone(), input.range)).collect()
}

/// Returns null; for a required input without a default, a placeholder of its kind.
fn unsaid(input: &WorkflowInput) -> Value {
    match input.kind {
        _ if !input.required => Value::Null,
        InputKind::Text => Value::Null,
        InputKind::Number | InputKind::Integer => json!(0),
        InputKind::Boolean => json!(false),
        InputKind::List => json!([]),
    }
}

/// Returns the value of each input: as typed, else its default, else null. Reports all errors at once.
pub(super) fn given(request: &RunRequest, parts: &[&Workflow]) -> Result<BTreeMap<String, Value>, UserError> {
    let Some(workflow) = parts.first() else { return Ok(BTreeMap::new()) };
    let mut wrong = strangers(workflow, &request.inputs);
    let mut values = BTreeMap::new();
    for input in &workflow.inputs {
        match one(workflow, input, &request.inputs) {
            Ok(value) => {
                values.insert(input.name.clone(), value);
            }
            Err(problem) => wrong.push(problem),
        }
    }
    wrong.extend(empty(request, parts));
    UserError::all(wrong).map_or(Ok(values), Err)
}

/// Reports typed inputs that the workflow does not have.
fn strangers(workflow: &Workflow, given: &[(String, String)]) -> Vec<UserError> {
    let names: Vec<&str> = workflow.inputs.iter().map(|input| input.name.as_str()).collect();
    let there =
        if names.is_empty() { "it has none".to_owned() } else { format!("it has: {}", names.join(", ")) };
    let mut unknown: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
    unknown.retain(|name| !names.contains(name));
    unknown.dedup();
    let problem = |name: &str| {
        let text = format!("workflow `{}` has no input `{name}`", workflow.name);
        UserError::new(UserErrorKind::Usage, text).hint(there.clone())
    };
    unknown.into_iter().map(problem).collect()
}

fn one(workflow: &Workflow, input: &WorkflowInput, given: &[(String, String)]) -> Result<Value, UserError> {
    let usage = |text: String| UserError::new(UserErrorKind::Usage, text);
    let mut said = given.iter().filter(|(name, _)| *name == input.name);
    match (said.next(), said.next()) {
        (Some(_), Some(_)) if input.kind != InputKind::List => {
            Err(usage(format!("input `{}` is given twice", input.name)))
        }
        (Some(_), _) => value(input, given),
        (None, _) if input.required && input.default.is_none() => {
            let text = format!("workflow `{}` needs the input `{}`", workflow.name, input.name);
            Err(usage(text).hint(format!("give it: --input {}=VALUE", input.name)))
        }
        (None, _) => Ok(input.default.clone().unwrap_or(Value::Null)),
    }
}

/// Converts the typed text to the kind of the input. A list is typed once per item.
fn value(input: &WorkflowInput, given: &[(String, String)]) -> Result<Value, UserError> {
    let texts: Vec<&String> =
        given.iter().filter(|(name, _)| *name == input.name).map(|(_, text)| text).collect();
    let Some(text) = texts.first() else { return Ok(Value::Null) };
    let wrong = |what: &str| {
        UserError::new(
            UserErrorKind::Usage,
            format!("input `{}` must be {what}, and is `{text}`", input.name),
        )
    };
    let value = match input.kind {
        InputKind::Text => json!(text),
        InputKind::List => json!(texts),
        InputKind::Integer => json!(text.trim().parse::<i64>().map_err(|_| wrong("a whole number"))?),
        InputKind::Number => {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            json!(number.ok_or_else(|| wrong("a number"))?)
        }
        InputKind::Boolean => input.kind.read(text).ok_or_else(|| wrong(input.kind.wanted()))?,
    };
    if let Some(wanted) = input.range.wanted(&value) {
        return Err(wrong(&wanted));
    }
    if input.choices.is_empty() || input.choices.contains(&value) {
        return Ok(value);
    }
    let words: Vec<String> = input
        .choices
        .iter()
        .map(|choice| choice.as_str().map_or(choice.to_string(), str::to_owned))
        .collect();
    Err(wrong(&format!("one of {}", words.join(", "))))
}

/// Refuses an empty input if the workflow uses its input without testing it first.
fn empty(request: &RunRequest, parts: &[&Workflow]) -> Option<UserError> {
    let main = parts.first()?;
    if request.want.name().is_none() || !request.input.trim().is_empty() {
        return None;
    }
    if !reached(parts).into_iter().any(|workflow| uses_input(workflow) && !asks(workflow)) {
        return None;
    }
    let text = format!("workflow `{}` needs an input", main.name);
    Some(
        UserError::new(UserErrorKind::Usage, text)
            .hint("give it: windlass run --workflow NAME \"what to work on\""),
    )
}

/// Returns a warning if an input was typed that no node uses.
pub(super) fn unused(request: &RunRequest, parts: &[&Workflow]) -> Option<String> {
    let name = &parts.first()?.name;
    let is_workflow = !matches!(request.want, WantedWorkflow::Entity { .. });
    let is_used = || reached(parts).into_iter().any(uses_input);
    (is_workflow && !request.input.trim().is_empty() && !is_used())
        .then(|| format!("workflow `{name}` does not use its input, so the given input is ignored"))
}

/// Returns the main workflow and the workflows that inherit its input because their node sets none.
fn reached<'w>(parts: &[&'w Workflow]) -> Vec<&'w Workflow> {
    let mut reached: Vec<&Workflow> = parts.first().copied().into_iter().collect();
    let mut at = 0;
    while let Some(workflow) = reached.get(at) {
        let heirs: Vec<&str> = nodes::each(workflow)
            .into_iter()
            .filter_map(|node| match &node.node.kind {
                NodeKind::Workflow(WorkflowNode { name, inputs }) if !inputs.contains_key("input") => {
                    Some(name.as_str())
                }
                _ => None,
            })
            .collect();
        for part in parts.iter().filter(|part| heirs.contains(&part.name.as_str())) {
            if !reached.iter().any(|other| other.name == part.name) {
                reached.push(part);
            }
        }
        at += 1;
    }
    reached
}

/// Decides whether a workflow tests for an input.
fn asks(workflow: &Workflow) -> bool {
    let body = serde_json::to_string(&workflow.body).unwrap_or_default();
    let words: Vec<&str> = body.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').collect();
    words.windows(2).any(|pair| matches!(pair, ["if" | "when" | "not", "input"]))
}
