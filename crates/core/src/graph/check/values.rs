//! Whether a value has what is used of it.
//!
//! What a text, a number or a list is has no names in it, and what a node gives is known before
//! it runs. Whoever asks first whether something is there may use what is not.

use serde_json::{Map, Value};

use super::context::CheckContext;
use super::diagnostic::GraphDiagnostic;
use super::outline::{Outline, OutlineNode};
use super::suggest::{did_you_mean, shown};
use crate::engine::node::shape::{FieldKind, GivenValue};
use crate::graph::schema::resolve;
use crate::graph::template::Use;
use crate::graph::workflow::{Node, NodeKind, ParallelBranch, Workflow};
use crate::spec::MAX_DEPTH;

/// What an output has.
const PARTS: [&str; 4] = ["text", "value", "failed", "status"];
/// References that lead to references are followed so far.
const MOST_REFERENCES: usize = 10;

/// Whether something is used of a value that has no names in it, whose own name has so many parts.
pub(super) fn inside_plain(used: &Use, parts: usize, what: &str) -> Option<GraphDiagnostic> {
    let member = used.path.get(parts).filter(|_| !used.is_asked_for(parts + 1))?;
    let whole = used.path.get(..parts).unwrap_or_default().join(".");
    Some(error(format!("{} has no {}: it is {what}", shown(&whole), shown(member))))
}

/// Whether an output has the part that is used of it. This is sure of every node.
pub(super) fn part(source: &OutlineNode<'_>, used: &Use) -> Option<GraphDiagnostic> {
    let part = used.path.get(2)?;
    match part.as_str() {
        "text" => inside_plain(used, 3, "text"),
        "status" => inside_plain(used, 3, "a word"),
        "failed" => inside_plain(used, 3, "true or false"),
        "value" => None,
        _ => {
            let near = did_you_mean(part, PARTS);
            let hint = near.unwrap_or_else(|| format!("an output has {}", PARTS.join(", ")));
            let id = shown(source.node.id.as_str());
            Some(error(format!("the output of {id} has no {}", shown(part))).hint(hint))
        }
    }
}

/// Whether the value of a node has what is used of it.
pub(super) fn value(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    source: &OutlineNode<'_>,
    used: &Use,
) -> Option<GraphDiagnostic> {
    used.path.get(2).filter(|part| *part == "value")?;
    of_act(outline.workflow, known, source.node.id.as_str(), &source.node.kind, used)
}

fn of_act(
    workflow: &Workflow,
    known: &CheckContext<'_>,
    id: &str,
    kind: &NodeKind,
    used: &Use,
) -> Option<GraphDiagnostic> {
    match kind.shape().value() {
        GivenValue::Unknown => None,
        GivenValue::OnlyText => nothing(used, format!("{} gives no value, only text", shown(id))),
        GivenValue::Answer(None) => {
            let text = format!("{} gives no value: it has no `schema`", shown(id));
            nothing(used, text).map(|finding| finding.hint("say in `schema` what it must answer"))
        }
        GivenValue::Answer(Some(schema)) => in_schema(id, schema, used),
        GivenValue::Called(name) => {
            let (workflow, last) = called(known, name)?;
            let finding = of_act(workflow, known, id, &last.kind, used)?;
            let place = format!("it is what `{}`, the last node of workflow {}, gives", last.id, shown(name));
            let hint = finding.hint.clone().unwrap_or(place);
            Some(finding.hint(hint))
        }
        GivenValue::Checks(names) => {
            let own = workflow.checks.keys();
            let all = || known.checks.iter().chain(own.clone()).map(String::as_str);
            let names: Vec<&str> =
                if names.is_empty() { all().collect() } else { names.iter().map(String::as_str).collect() };
            let names: Vec<_> = names.into_iter().map(|name| (name, FieldKind::Truth)).collect();
            // Without any, nobody knows what checks there will be.
            if names.is_empty() { None } else { among(id, &names, used) }
        }
        GivenValue::Fields(fields) => among(id, fields, used),
        GivenValue::Branches(branches) => in_branches(id, branches, used),
    }
}

/// The node whose value a run of another workflow gives: the last one of that workflow, or of those that it
/// ends with. Nobody knows it where the workflow is not known, or where that node may be left out.
pub(super) fn called<'k>(known: &'k CheckContext<'_>, name: &str) -> Option<(&'k Workflow, &'k Node)> {
    let mut name = name;
    for _ in 0..MAX_DEPTH {
        let workflow = known.workflows.get(name)?.as_ref()?;
        let last = workflow.body.last().filter(|node| node.when.is_none())?;
        match last.kind.shape().calls() {
            Some(inner) => name = &inner.name,
            None => return Some((workflow, last)),
        }
    }
    None
}

fn error(text: String) -> GraphDiagnostic {
    GraphDiagnostic::error(None, "", text)
}

/// There is no value, and so nothing in it.
fn nothing(used: &Use, text: String) -> Option<GraphDiagnostic> {
    let is_asked_for = used.is_asked_for(3) || used.is_asked_for(4);
    (!is_asked_for).then(|| error(text))
}

/// Whether what is used is one of a few names.
fn among(id: &str, names: &[(&str, FieldKind)], used: &Use) -> Option<GraphDiagnostic> {
    let member = used.path.get(3)?;
    if let Some((_, what)) = names.iter().find(|(name, _)| name == member) {
        return inside_plain(used, 4, what.words());
    }
    let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    missing(&format!("the value of {}", shown(id)), &names, used, 3)
}

/// Whether a parallel block has the branch whose end is used.
fn in_branches(id: &str, branches: &[ParallelBranch], used: &Use) -> Option<GraphDiagnostic> {
    let names: Vec<&str> = branches.iter().map(|branch| branch.name.as_str()).collect();
    missing(&format!("the value of {}", shown(id)), &["branches"], used, 3)
        .or_else(|| missing(&format!("the value `branches` of {}", shown(id)), &names, used, 4))
        .or_else(|| inside_plain(used, 5, "a word"))
}

/// Whether the part at a place of what is used is none of these names.
fn missing(whole: &str, names: &[&str], used: &Use, at: usize) -> Option<GraphDiagnostic> {
    let member = used.path.get(at)?;
    if names.contains(&member.as_str()) || used.is_asked_for(at + 1) {
        return None;
    }
    let hint = did_you_mean(member, names.iter().copied());
    let hint = hint.unwrap_or_else(|| format!("it has {}", names.join(", ")));
    Some(error(format!("{whole} has no {}", shown(member))).hint(hint))
}

/// Whether an answer that fits a schema can have what is used of it.
fn in_schema(id: &str, root: &Value, used: &Use) -> Option<GraphDiagnostic> {
    let mut schema = root;
    for (index, member) in used.path.iter().enumerate().skip(3) {
        schema = referred(root, schema)?;
        let is_asked_for = used.is_asked_for(index + 1);
        let name = used.path.get(3..=index).unwrap_or_default().join(".");
        let cannot = |near: Option<String>| {
            let text = format!("the schema of {} allows no {}", shown(id), shown(&name));
            error(text).maybe_hint(near)
        };
        if has_no_names(schema) {
            return (!is_asked_for).then(|| cannot(None));
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        if let Some(next) = properties.and_then(|properties| properties.get(member)) {
            schema = next;
            continue;
        }
        if is_asked_for {
            return None;
        }
        let near = properties.and_then(|properties| nearest(member, properties));
        if is_closed {
            return Some(cannot(near));
        }
        properties?;
        let text = format!("the schema of {} does not speak of {}", shown(id), shown(&name));
        return Some(GraphDiagnostic::warning(None, "", text).maybe_hint(near));
    }
    None
}

fn nearest(member: &str, properties: &Map<String, Value>) -> Option<String> {
    did_you_mean(member, properties.keys().map(String::as_str))
}

/// A schema, or the one that it refers to.
pub(super) fn referred<'s>(root: &'s Value, mut schema: &'s Value) -> Option<&'s Value> {
    for _ in 0..MOST_REFERENCES {
        let Some(reference) = schema.get("$ref") else { return Some(schema) };
        schema = resolve(root, reference.as_str()?)?;
    }
    None
}

/// Whether no value that fits is an object.
fn has_no_names(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind != "object",
        Some(Value::Array(kinds)) => kinds.iter().all(|kind| kind != "object"),
        _ => false,
    }
}
