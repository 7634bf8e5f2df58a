//! Decides whether a value may be text that the author of the workflow does not know: the words of an
//! agent, a person or a program.

use serde_json::Value;

use crate::engine::node::shape::GivenValue;
use crate::graph::check::comparisons::{of_text, of_value};
use crate::graph::check::context::CheckContext;
use crate::graph::check::outline::{Outline, OutlineNode};
use crate::graph::check::values::referred;
use crate::graph::template::names::ITEM;
use crate::graph::walk::{MAX_DEPTH, NodeBlock};
use crate::graph::workflow::{Node, NodeKind, WaitUntil, WorkflowNode};

/// The author of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Agent,
    Person,
    /// A person or a program that sends an event to the run.
    Event,
    /// The nodes of another workflow.
    Workflow,
    /// The message about a failure, which may repeat what an agent wrote.
    Feedback,
}

/// Returns the author of a value, if the value may be any text. The inputs of the run do not count: the
/// person who runs the workflow writes them.
pub(super) fn speaker(outline: &Outline<'_>, known: &CheckContext<'_>, path: &[String]) -> Option<Speaker> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["feedback", ..] => Some(Speaker::Feedback),
        ["outputs", id] | ["outputs", id, "text" | ITEM, ..] => {
            let node = outline.find(id)?.node;
            if of_text(outline, node).is_some() { None } else { text_speaker(known, node) }
        }
        ["outputs", id, "value", ..] => {
            let node = outline.find(id)?.node;
            let speaker = value_speaker(known, node)?;
            let schema = of_value(outline.workflow, known, &node.kind);
            let is_harmless = schema.is_some_and(|schema| is_harmless_at(&schema, &schema, path.get(3..), 0));
            (!is_harmless).then_some(speaker)
        }
        [item, ..] => item_speaker(outline, known, item, path),
        [] => None,
    }
}

/// Returns who says what an item of a list contains.
fn item_speaker(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    name: &str,
    path: &[String],
) -> Option<Speaker> {
    let is_it =
        |node: &&OutlineNode<'_>| matches!(&node.node.kind, NodeKind::Each(each) if each.name == name);
    let lists = outline.nodes.iter().filter(is_it).flat_map(|node| &node.texts);
    let mut uses = lists.filter(|text| text.field == "each.in").flat_map(|text| text.uses());
    uses.find_map(|used| {
        let inside = path.iter().skip(1).cloned();
        let whole: Vec<String> = used.path.iter().cloned().chain([ITEM.to_owned()]).chain(inside).collect();
        if used.root() == "outputs" { speaker(outline, known, &whole) } else { None }
    })
}

fn text_speaker(known: &CheckContext<'_>, node: &Node) -> Option<Speaker> {
    match &node.kind {
        NodeKind::Session(_) | NodeKind::Review(_) => Some(Speaker::Agent),
        NodeKind::Ask(_) => Some(Speaker::Person),
        NodeKind::Wait(WaitUntil::Event(_)) => Some(Speaker::Event),
        NodeKind::Workflow(WorkflowNode { name, .. }) => speaks(known, name, 0).then_some(Speaker::Workflow),
        // The text of a block is the last message of a session in it.
        kind => kind.blocks().iter().any(|block| has_speaker(known, block.body, 0)).then_some(Speaker::Agent),
    }
}

fn value_speaker(known: &CheckContext<'_>, node: &Node) -> Option<Speaker> {
    match &node.kind {
        NodeKind::Session(_) => Some(Speaker::Agent),
        NodeKind::Workflow(WorkflowNode { name, .. }) => speaks(known, name, 0).then_some(Speaker::Workflow),
        kind => match kind.shape().value() {
            GivenValue::Unknown => text_speaker(known, node),
            GivenValue::Items => {
                let has_speaker = |block: &NodeBlock<'_>| has_speaker(known, block.body, 0);
                kind.blocks().iter().any(has_speaker).then_some(Speaker::Agent)
            }
            GivenValue::OnlyText
            | GivenValue::Answer(_)
            | GivenValue::Fields(_)
            | GivenValue::Checks(_)
            | GivenValue::Branches(_)
            | GivenValue::Called(_) => None,
        },
    }
}

/// Returns whether an agent, a person or an event can say something in a workflow. An unknown workflow
/// may.
fn speaks(known: &CheckContext<'_>, name: &str, depth: usize) -> bool {
    match known.workflows.get(name) {
        Some(Some(workflow)) if depth < MAX_DEPTH => has_speaker(known, &workflow.body, depth + 1),
        _ => true,
    }
}

fn has_speaker(known: &CheckContext<'_>, body: &[Node], depth: usize) -> bool {
    depth > MAX_DEPTH
        || body.iter().any(|node| match &node.kind {
            NodeKind::Session(_) | NodeKind::Ask(_) | NodeKind::Review(_) => true,
            NodeKind::Wait(until) => matches!(until, WaitUntil::Event(_)),
            NodeKind::Workflow(WorkflowNode { name, .. }) => speaks(known, name, depth),
            kind => kind.blocks().iter().any(|block| has_speaker(known, block.body, depth + 1)),
        })
}

/// Returns whether the part of a value at the end of a path is harmless.
fn is_harmless_at(root: &Value, schema: &Value, path: Option<&[String]>, depth: usize) -> bool {
    let Some((part, rest)) = path.and_then(<[String]>::split_first) else {
        return is_harmless(root, schema, depth);
    };
    let Some(schema) = referred(root, schema).filter(|_| depth < MAX_DEPTH) else { return false };
    let inside = |schema: &Value| is_harmless_at(root, schema, Some(rest), depth + 1);
    let same = |schema: &Value| is_harmless_at(root, schema, path, depth + 1);
    if let Some(ways) = ways(schema) {
        return !ways.is_empty() && ways.iter().all(same);
    }
    if is_harmless(root, schema, depth) {
        return true;
    }
    match part.as_str() {
        ITEM => {
            let first = schema.get("prefixItems").and_then(Value::as_array);
            let others = schema.get("items");
            others.is_some_and(inside) && first.is_none_or(|first| first.iter().all(inside))
        }
        name => schema.get("properties").and_then(|properties| properties.get(name)).is_some_and(inside),
    }
}

/// Returns whether each value of a schema is a number, true, false, or a text that the schema lists.
fn is_harmless(root: &Value, schema: &Value, depth: usize) -> bool {
    let Some(schema) = referred(root, schema).filter(|_| depth < MAX_DEPTH) else { return false };
    if schema.get("const").is_some() || schema.get("enum").is_some() {
        return true;
    }
    if let Some(ways) = ways(schema) {
        return !ways.is_empty() && ways.iter().all(|way| is_harmless(root, way, depth + 1));
    }
    let kind_is_harmless = |kind: &Value| match kind.as_str() {
        Some("integer" | "number" | "boolean" | "null") => true,
        Some("array") => {
            let first = schema.get("prefixItems").and_then(Value::as_array);
            let others = schema.get("items").is_some_and(|items| is_harmless(root, items, depth + 1));
            others && first.is_none_or(|first| first.iter().all(|item| is_harmless(root, item, depth + 1)))
        }
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
            is_closed
                && properties.is_none_or(|all| all.values().all(|part| is_harmless(root, part, depth + 1)))
        }
        _ => false,
    };
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().all(kind_is_harmless),
        Some(kind) => kind_is_harmless(kind),
        None => false,
    }
}

fn ways(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()
}
