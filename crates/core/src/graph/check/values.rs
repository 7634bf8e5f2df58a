//! Checks that a value has the parts that templates use.
//!
//! A text, a number or a list has no named parts, and the form of a node's output is known before it
//! runs. A text that tests for a part first may use one that does not exist.

use serde_json::{Map, Value};

use super::context::CheckContext;
use super::diagnostic::GraphDiagnostic;
use super::origin::{ValueOrigin, origin};
use super::outline::{Outline, OutlineNode};
use super::suggest::{did_you_mean, shown};
use super::value_schemas::{form, inside, kind_in};
use crate::engine::node::shape::{FieldKind, GivenValue};
use crate::graph::schema::resolve;
use crate::graph::template::Use;
use crate::graph::template::names::{ITEM, ValueKind};
use crate::graph::workflow::{NodeKind, ParallelBranch, Workflow};

/// The parts of an output.
const PARTS: [&str; 4] = ["text", "value", "failed", "status"];
/// The further parts of the output of a command.
const COMMAND_PARTS: [&str; 2] = ["exit_code", "stdout"];
/// The longest chain of references that is followed.
const MOST_REFERENCES: usize = 10;

/// Reports a use of a part of a plain value, such as text. `parts` is the length of the path to the
/// value itself.
pub(super) fn inside_plain(used: &Use, parts: usize, what: &str) -> Option<GraphDiagnostic> {
    let member = used.path.get(parts).filter(|_| !used.is_asked_for(parts + 1))?;
    let whole = used.path.get(..parts).unwrap_or_default().join(".");
    Some(error(format!("{} has no {}: it is {what}", shown(&whole), shown(member))))
}

/// Reports a part that no output has. This is certain for every kind of node.
pub(super) fn part(source: &OutlineNode<'_>, used: &Use) -> Option<GraphDiagnostic> {
    let part = used.path.get(2)?;
    match part.as_str() {
        "text" => inside_plain(used, 3, "text"),
        "status" => inside_plain(used, 3, "a word"),
        "failed" => inside_plain(used, 3, "true or false"),
        "value" => None,
        "exit_code" if source.node.kind.shape().is_command() => inside_plain(used, 3, "a number"),
        "stdout" if source.node.kind.shape().is_command() => inside_plain(used, 3, "text"),
        _ => {
            let more = if source.node.kind.shape().is_command() { &COMMAND_PARTS[..] } else { &[] };
            let parts: Vec<&str> = PARTS.iter().chain(more).copied().collect();
            let near = did_you_mean(part, parts.iter().copied());
            let hint = match COMMAND_PARTS.contains(&part.as_str()) {
                true => "only a `shell` node has it".to_owned(),
                false => near.unwrap_or_else(|| format!("its output has {}", parts.join(", "))),
            };
            let id = shown(source.node.id.as_str());
            Some(error(format!("the output of {id} has no {}", shown(part))).hint(hint))
        }
    }
}

/// Reports a part that the value of a node does not have.
pub(super) fn value(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    source: &OutlineNode<'_>,
    used: &Use,
) -> Option<GraphDiagnostic> {
    used.path.get(2).filter(|part| *part == "value")?;
    let id = source.node.id.as_str();
    let origin = origin(outline, known, id, &[])?;
    if std::ptr::eq(origin.node, source.node) {
        return check_kind(origin.workflow, known, id, &origin.node.kind, used);
    }
    let finding = match origin.parts.is_empty() {
        true => check_kind(origin.workflow, known, id, &origin.node.kind, used),
        false => in_part(id, &origin, used),
    }?;
    let (node, workflow) = (&origin.node.id, shown(&origin.workflow.name));
    let place = match origin.workflow.gives {
        Some(_) => format!("it comes from `{node}` of workflow {workflow}"),
        None => format!("it comes from `{node}`, the last node of workflow {workflow}"),
    };
    let hint = finding.hint.clone().unwrap_or(place);
    Some(finding.hint(hint))
}

/// Reports a part that an item of a list does not have.
pub(super) fn item(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    user: &OutlineNode<'_>,
    used: &Use,
) -> Option<GraphDiagnostic> {
    let (root, parts) = form(outline, known, user, &used.path)?;
    let root = root.as_ref();
    let mut schema = root;
    for (at, member) in parts.iter().enumerate() {
        schema = referred(root, schema)?;
        if member == ITEM {
            schema = schema.get("items").filter(|_| schema.get("prefixItems").is_none())?;
            continue;
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some(next) = properties.and_then(|properties| properties.get(member)) {
            schema = next;
            continue;
        }
        // The last parts are those of the use. Earlier ones are in the text of another workflow.
        let index = (used.path.len() + at).checked_sub(parts.len())?;
        if used.is_asked_for(index + 1) {
            return None;
        }
        let whole = used.path.get(..index)?.join(".").replace(&format!(".{ITEM}"), ITEM);
        let (whole, member) = (shown(&whole), shown(member));
        if let Some(kind) = kind_in(root, schema).filter(|kind| *kind != ValueKind::Object) {
            return Some(error(format!("{whole} has no {member}: it is {}", kind.word())));
        }
        let names = || properties.into_iter().flat_map(|properties| properties.keys()).map(String::as_str);
        let near = did_you_mean(parts.get(at)?, names());
        if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            let listed = || names().collect::<Vec<_>>().join(", ");
            let hint =
                near.or_else(|| Some(format!("it has {}", listed())).filter(|_| names().next().is_some()));
            return Some(error(format!("{whole} has no {member}")).maybe_hint(hint));
        }
        // A value may have properties that its schema does not mention, so this is no error.
        properties?;
        let text = format!("the schema of {whole} does not mention {member}");
        return Some(GraphDiagnostic::warning(None, "", text).maybe_hint(near));
    }
    None
}

/// Reports a part that a part of an answer does not have.
fn in_part(id: &str, origin: &ValueOrigin<'_>, used: &Use) -> Option<GraphDiagnostic> {
    let GivenValue::Answer(Some(root)) = origin.node.kind.shape().value() else { return None };
    let start = inside(root, root, &origin.parts, 0)?;
    in_schema(id, root, &start, used)
}

fn check_kind(
    workflow: &Workflow,
    known: &CheckContext<'_>,
    id: &str,
    kind: &NodeKind,
    used: &Use,
) -> Option<GraphDiagnostic> {
    match kind.shape().value() {
        GivenValue::Unknown | GivenValue::Called(_) => None,
        GivenValue::OnlyText => nothing(used, format!("{} gives no value, only text", shown(id))),
        GivenValue::Answer(None) => {
            let text = format!("{} gives no value: it has no `schema`", shown(id));
            nothing(used, text).map(|finding| finding.hint("describe the answer in `schema`"))
        }
        GivenValue::Answer(Some(schema)) => in_schema(id, schema, schema, used),
        GivenValue::Checks(names) => {
            let own = workflow.checks.keys();
            let all = || known.checks.iter().chain(own.clone()).map(String::as_str);
            let names: Vec<&str> =
                if names.is_empty() { all().collect() } else { names.iter().map(String::as_str).collect() };
            let names: Vec<_> = names.into_iter().map(|name| (name, FieldKind::Truth)).collect();
            // With no checks known yet, any name may become one.
            if names.is_empty() { None } else { among(id, &names, used) }
        }
        GivenValue::Fields(fields) => among(id, fields, used),
        GivenValue::Branches(branches) => in_branches(id, branches, used),
        GivenValue::Items => {
            missing(&format!("the value of {}", shown(id)), &["items", "completed"], used, 3)
        }
    }
}

fn error(text: String) -> GraphDiagnostic {
    GraphDiagnostic::error(None, "", text)
}

/// Reports any use of a value that the node does not have.
fn nothing(used: &Use, text: String) -> Option<GraphDiagnostic> {
    let is_asked_for = used.is_asked_for(3) || used.is_asked_for(4);
    (!is_asked_for).then(|| error(text))
}

/// Reports a part that is not one of these names.
fn among(id: &str, names: &[(&str, FieldKind)], used: &Use) -> Option<GraphDiagnostic> {
    let member = used.path.get(3)?;
    if let Some((_, what)) = names.iter().find(|(name, _)| name == member) {
        return inside_plain(used, 4, what.words());
    }
    let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    missing(&format!("the value of {}", shown(id)), &names, used, 3)
}

/// Reports a branch that the parallel block does not have.
fn in_branches(id: &str, branches: &[ParallelBranch], used: &Use) -> Option<GraphDiagnostic> {
    let names: Vec<&str> = branches.iter().map(|branch| branch.name.as_str()).collect();
    missing(&format!("the value of {}", shown(id)), &["branches"], used, 3)
        .or_else(|| missing(&format!("the value `branches` of {}", shown(id)), &names, used, 4))
        .or_else(|| inside_plain(used, 5, "a word"))
}

/// Reports the part at index `at` of the path if it is none of these names.
fn missing(whole: &str, names: &[&str], used: &Use, at: usize) -> Option<GraphDiagnostic> {
    let member = used.path.get(at)?;
    if names.contains(&member.as_str()) || used.is_asked_for(at + 1) {
        return None;
    }
    let hint = did_you_mean(member, names.iter().copied());
    let hint = hint.unwrap_or_else(|| format!("it has {}", names.join(", ")));
    Some(error(format!("{whole} has no {}", shown(member))).hint(hint))
}

/// Reports a part that no answer with this schema can have. `root` is the schema that references of
/// `schema` lead into.
fn in_schema(id: &str, root: &Value, schema: &Value, used: &Use) -> Option<GraphDiagnostic> {
    let mut schema = schema;
    for (index, member) in used.path.iter().enumerate().skip(3) {
        schema = referred(root, schema)?;
        let is_asked_for = used.is_asked_for(index + 1);
        let name = used.path.get(3..=index).unwrap_or_default().join(".");
        let cannot = |near: Option<String>| {
            let text = format!("the schema of {} does not allow {}", shown(id), shown(&name));
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
        // An answer may have properties that its schema does not mention, so this is no error.
        properties?;
        let text = format!("the schema of {} does not mention {}", shown(id), shown(&name));
        return Some(GraphDiagnostic::warning(None, "", text).maybe_hint(near));
    }
    None
}

fn nearest(member: &str, properties: &Map<String, Value>) -> Option<String> {
    did_you_mean(member, properties.keys().map(String::as_str))
}

/// Returns the schema, or the target if it is a reference.
pub(super) fn referred<'s>(root: &'s Value, mut schema: &'s Value) -> Option<&'s Value> {
    for _ in 0..MOST_REFERENCES {
        let Some(reference) = schema.get("$ref") else { return Some(schema) };
        schema = resolve(root, reference.as_str()?)?;
    }
    None
}

/// Returns whether the schema excludes objects.
fn has_no_names(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind != "object",
        Some(Value::Array(kinds)) => kinds.iter().all(|kind| kind != "object"),
        _ => false,
    }
}
