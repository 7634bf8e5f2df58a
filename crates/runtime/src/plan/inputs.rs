//! The inputs of a workflow: what was typed for them, as what they are.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_core::graph::workflow::{Input, InputKind, Workflow};

use super::{Request, Want};
use crate::problem::{Class, Problem};

/// What each input is where nobody says: its default, or nothing.
pub(super) fn defaults(workflow: &Workflow) -> BTreeMap<String, Value> {
    let value = |input: &Input| (input.name.clone(), input.default.clone().unwrap_or_else(|| unsaid(input)));
    workflow.inputs.iter().map(value).collect()
}

/// What each input must be.
pub(super) fn kinds(workflow: &Workflow) -> BTreeMap<String, InputKind> {
    workflow.inputs.iter().map(|input| (input.name.clone(), input.kind)).collect()
}

/// Nothing; of an input that whoever runs the workflow must say, of which kind it will be.
fn unsaid(input: &Input) -> Value {
    match input.kind {
        _ if !input.required => Value::Null,
        InputKind::Text => Value::Null,
        InputKind::Number | InputKind::Integer => json!(0),
        InputKind::Boolean => json!(false),
        InputKind::List => json!([]),
    }
}

/// What each input is: as given, else its default; nothing where neither is said.
pub(super) fn given(
    workflow: &Workflow,
    given: &[(String, String)],
) -> Result<BTreeMap<String, Value>, Problem> {
    let usage = |text: String| Problem::new(Class::Usage, text);
    let names = || workflow.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>().join(", ");
    let unknown = |name: &String| !workflow.inputs.iter().any(|input| input.name == *name);
    if let Some((name, _)) = given.iter().find(|(name, _)| unknown(name)) {
        let text = format!("workflow `{}` has no input `{name}`", workflow.name);
        let there = if workflow.inputs.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has: {}", names())
        };
        return Err(usage(text).hint(there));
    }
    let mut values = BTreeMap::new();
    for input in &workflow.inputs {
        let mut said = given.iter().filter(|(name, _)| *name == input.name).map(|(_, text)| text);
        let value = match (said.next(), said.next()) {
            (Some(_), Some(_)) if input.kind != InputKind::List => {
                return Err(usage(format!("input `{}` is given twice", input.name)));
            }
            (Some(_), _) => value(input, given)?,
            (None, _) if input.required && input.default.is_none() => {
                let text = format!("workflow `{}` needs the input `{}`", workflow.name, input.name);
                return Err(usage(text).hint(format!("give it: --input {}=VALUE", input.name)));
            }
            (None, _) => input.default.clone().unwrap_or(Value::Null),
        };
        values.insert(input.name.clone(), value);
    }
    Ok(values)
}

/// What was typed, as what the input is. A list is given once an item.
fn value(input: &Input, given: &[(String, String)]) -> Result<Value, Problem> {
    let texts: Vec<&String> =
        given.iter().filter(|(name, _)| *name == input.name).map(|(_, text)| text).collect();
    let Some(text) = texts.first() else { return Ok(Value::Null) };
    let wrong = |what: &str| {
        Problem::new(Class::Usage, format!("input `{}` must be {what}, and is `{text}`", input.name))
    };
    let value = match input.kind {
        InputKind::Text => json!(text),
        InputKind::List => json!(texts),
        InputKind::Integer => json!(text.trim().parse::<i64>().map_err(|_| wrong("a whole number"))?),
        InputKind::Number => {
            let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            json!(number.ok_or_else(|| wrong("a number"))?)
        }
        InputKind::Boolean => match text.trim().to_lowercase().as_str() {
            "true" | "yes" | "1" => json!(true),
            "false" | "no" | "0" => json!(false),
            _ => return Err(wrong("true or false")),
        },
    };
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

/// A workflow that works on its input needs one; one that looks whether there is any does not.
pub(super) fn not_empty(request: &Request, workflow: &Workflow) -> Result<(), Problem> {
    let is_named = matches!(request.want, Want::Workflow(Some(_)));
    if !is_named || !request.input.trim().is_empty() {
        return Ok(());
    }
    let body = serde_json::to_string(&workflow.body).unwrap_or_default();
    let words: Vec<&str> = body.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').collect();
    let is_tested = words.windows(2).any(|pair| matches!(pair, ["if" | "when" | "not", "input"]));
    if is_tested || !words.contains(&"input") {
        return Ok(());
    }
    let text = format!("workflow `{}` works on its input, and there is none", workflow.name);
    Err(Problem::new(Class::Usage, text).hint("give it: windlass run --workflow NAME \"what to work on\""))
}
