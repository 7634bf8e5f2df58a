//! Another workflow as a run of its own: what it is told, and what it may spend.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Cx;
use super::frame::Frame;
use super::purse::left_to;
use crate::effect::Effect;
use crate::graph::workflow::{Budget, Expression, InputKind, Template};
use crate::id::{NodeId, Verb, derive_run};
use crate::run::{Active, Doing, Outcome, Reason, Spent, Status};
use crate::spec::{MAX_DEPTH, Parent, Spec};

/// As much of a text is shown where it does not fit.
const SHOWN: usize = 80;

/// Begins it.
pub(super) fn run(
    cx: &mut Cx<'_>,
    active: &mut Active,
    frame: &Frame<'_>,
    name: &str,
    inputs: &BTreeMap<String, Template>,
) -> Option<Outcome> {
    let depth = cx.spec.parent.as_ref().map_or(0, |parent| parent.depth) + 1;
    if depth > MAX_DEPTH {
        return Some(failed(Reason::TooDeep, format!("runs start runs more than {MAX_DEPTH} deep")));
    }
    let Some(other) = cx.spec.others.get(name) else {
        return Some(failed(Reason::NotYet, format!("there are no orders for the workflow `{name}`")));
    };
    let mut spec = Spec { input: cx.spec.input.clone(), ..other.clone() };
    if let Err(outcome) = tell(cx, &active.step, frame, inputs, &mut spec) {
        return Some(outcome);
    }
    spec.seed = format!("{}/{}", cx.book.seed, active.instance);
    spec.workspace.clone_from(&frame.workspace);
    spec.others.clone_from(&cx.spec.others);
    spec.parent = Some(Parent { run: cx.run.clone(), node: active.instance.clone(), depth });
    let own_time = active.deadline.map(|deadline| deadline.since(cx.at));
    let left = Budget { time_ms: own_time, ..left_to(&cx.purses, &Spent::default()) };
    spec.budget = spec.budget.least(&left);
    let run = derive_run(&cx.book.seed, &active.instance);
    let is_ahead = match count_first_turn(cx, &spec) {
        Ok(is_ahead) => is_ahead,
        Err(outcome) => return Some(outcome),
    };
    active.doing = Doing::Run { run: run.clone(), spent: Spent::default(), is_ahead };
    cx.plan_once(&active.instance, Verb::Run, Effect::StartRun { run, spec: Box::new(spec) });
    None
}

/// Counts the first turn of a run that takes turns before it begins it: those that are started
/// at the same moment would each find it unspent.
fn count_first_turn(cx: &mut Cx<'_>, spec: &Spec) -> Result<bool, Outcome> {
    if spec.sessions.is_empty() {
        return Ok(false);
    }
    cx.cannot_afford().map_or(Ok(()), Err)?;
    cx.count_turns(1);
    Ok(true)
}

/// Another run tells what it spent in all.
pub(super) fn spends(cx: &mut Cx<'_>, active: &mut Active, now: &Spent) {
    let Doing::Run { spent, is_ahead, .. } = &mut active.doing else { return };
    let mut fresh = now.since(spent);
    if *is_ahead && fresh.turns > 0 {
        *is_ahead = false;
        fresh.turns -= 1;
    }
    // What was told before another, and comes after it, says nothing new.
    spent.add(&now.since(spent));
    cx.spend_all(&fresh);
}

/// Another run is over, or never begins: the turn that was counted for it is given back.
pub(super) fn took_no_turn(cx: &mut Cx<'_>, active: &mut Active) {
    let Doing::Run { is_ahead, .. } = &mut active.doing else { return };
    if std::mem::take(is_ahead) {
        cx.give_back_turn();
    }
}

fn failed(reason: Reason, why: String) -> Outcome {
    Outcome::new(Status::Failed, reason).because(why)
}

/// Fills in what the node says of the inputs.
fn tell(
    cx: &Cx<'_>,
    node: &NodeId,
    frame: &Frame<'_>,
    inputs: &BTreeMap<String, Template>,
    spec: &mut Spec,
) -> Result<(), Outcome> {
    for (input, template) in inputs {
        if input == "input" {
            spec.input = frame.render(cx, template)?;
            continue;
        }
        let value = match spec.kinds.get(input) {
            Some(kind) => value(cx, frame, template, *kind)?.map_err(|given| {
                failed(Reason::Template, misfit(node, &spec.workflow, input, *kind, &given))
            })?,
            None => like_planned(spec.inputs.get(input), frame.render(cx, template)?),
        };
        spec.inputs.insert(input.clone(), value);
    }
    Ok(())
}

/// What a template gives as this kind; what it gives instead, where that does not fit.
fn value(
    cx: &Cx<'_>,
    frame: &Frame<'_>,
    template: &Template,
    kind: InputKind,
) -> Result<Result<Value, String>, Outcome> {
    let text = match sole_expression(&template.0).filter(|_| kind != InputKind::Text) {
        // In a text, a list is no longer JSON, nor is what is true.
        Some(expression) => match frame.evaluate(cx, &Expression(expression.to_owned()))? {
            Value::String(text) => text,
            value => value.to_string(),
        },
        None => frame.render(cx, template)?,
    };
    Ok(kind.read(&text).ok_or(text))
}

/// What is between the braces of a template that is nothing else.
fn sole_expression(source: &str) -> Option<&str> {
    let inner = source.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner.trim_start_matches('-').trim_end_matches('-');
    let is_one = !["{{", "}}", "{%", "{#"].iter().any(|brace| inner.contains(brace));
    is_one.then_some(inner)
}

/// Of an input whose kind is not known: what was planned as another kind of value is read as one.
fn like_planned(planned: Option<&Value>, text: String) -> Value {
    match planned {
        Some(Value::Null | Value::String(_)) | None => json!(text),
        Some(_) => serde_json::from_str(text.trim()).unwrap_or_else(|_| json!(text)),
    }
}

/// Why what a node tells another workflow cannot be.
fn misfit(node: &NodeId, workflow: &str, input: &str, kind: InputKind, given: &str) -> String {
    let mut shown: String = given.chars().take(SHOWN).collect();
    if shown.len() < given.len() {
        shown.push('…');
    }
    let wanted = match kind {
        InputKind::List => "list, which is JSON: [\"one\", \"two\"]",
        kind => kind.word(),
    };
    format!(
        "`{node}` gives `{shown}` to the input `{input}` of workflow `{workflow}`, and that must be of kind {wanted}"
    )
}
