//! Finds the schema of a value that a text uses: of an input, of an output, or of an item of a list.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::CheckContext;
use super::comparisons::PossibleValues;
use super::origin::origin;
use super::outline::{Outline, OutlineNode};
use super::values::referred;
use crate::engine::node::shape::{FieldKind, GivenValue};
use crate::graph::template::names::{ITEM, ValueKind, named_item, splits_a_text};
use crate::graph::walk::MAX_DEPTH;
use crate::graph::workflow::{AskNode, InputKind, ListSource, Node, NodeKind, Workflow, WorkflowInput};
use crate::run::FinalStatus;
use crate::tasks::TaskStatus;

/// Returns the schema for the start of a path in a text of `user`, and the remaining parts that lead into the
/// schema.
pub(super) fn form<'w>(
    outline: &Outline<'w>,
    known: &'w CheckContext<'_>,
    user: &OutlineNode<'_>,
    path: &[String],
) -> Option<(Cow<'w, Value>, Vec<String>)> {
    let mut at = UsedPath { user: user.at, path: path.to_vec() };
    // A list may lead to itself.
    for _ in 0..MAX_DEPTH {
        at = match item_of(outline, &at) {
            None => return of_path(outline, known, &at.path),
            Some(ItemOrigin::Schema(schema, rest)) => return Some((Cow::Owned(schema), rest)),
            Some(ItemOrigin::Path(list)) => list,
        };
    }
    None
}

/// A path in a text of a node.
struct UsedPath {
    /// The position of the node.
    user: usize,
    path: Vec<String>,
}

/// The origin of an item of a list, or of a part of it.
enum ItemOrigin {
    /// The schema of the items, and the parts that lead into it.
    Schema(Value, Vec<String>),
    /// The value that the item is a part of.
    Path(UsedPath),
}

/// Returns the origin of a path if it starts with an item of an `each`.
fn item_of(outline: &Outline<'_>, used: &UsedPath) -> Option<ItemOrigin> {
    let parts: Vec<&str> = used.path.iter().map(String::as_str).collect();
    let (node, each, named) = match parts.as_slice() {
        ["outputs", id, "value", "items", ITEM, "item", ..] => {
            let node = outline.find(id)?;
            let NodeKind::Each(each) = &node.node.kind else { return None };
            (node, each, 6)
        }
        [name, ..] => {
            let (node, each) = outline.each_named(outline.nodes.get(used.user)?, name)?;
            (node, each, 1)
        }
        [] => return None,
    };
    let rest = used.path.get(named..).unwrap_or_default();
    let schema = match &each.items {
        ListSource::Literal(items) => of_literals(items).unwrap_or_else(|| json!({})),
        ListSource::Expression(list) if splits_a_text(list) => json!({"type": "string"}),
        ListSource::Expression(list) => match named_item(list) {
            Some(item) => {
                let path = [item, rest.to_vec()].concat();
                return Some(ItemOrigin::Path(UsedPath { user: node.at, path }));
            }
            None => json!({}),
        },
    };
    Some(ItemOrigin::Schema(schema, rest.to_vec()))
}

/// Does the same for a path that does not start with an item of an `each`.
fn of_path<'w>(
    outline: &Outline<'w>,
    known: &'w CheckContext<'_>,
    path: &[String],
) -> Option<(Cow<'w, Value>, Vec<String>)> {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    let text = || Cow::Owned(json!({"type": "string"}));
    let (schema, used) = match parts.as_slice() {
        ["input" | "feedback"] => (text(), 1),
        ["iteration"] => (Cow::Owned(json!({"type": "integer", "minimum": 1})), 1),
        ["task", "status"] => (Cow::Owned(json!({"enum": TaskStatus::ALL.map(TaskStatus::word)})), 2),
        ["task", "id" | "name" | "description"] => (text(), 2),
        ["task", "priority"] => (Cow::Owned(json!({"type": ["number", "null"]})), 2),
        ["run", "status"] => (Cow::Owned(statuses_at_the_end()), 2),
        ["inputs", name, ..] => {
            let input = outline.workflow.inputs.iter().find(|input| input.name == *name)?;
            (Cow::Owned(of_input(input)), 2)
        }
        ["outputs", id] | ["outputs", id, "text"] => {
            (of_text(outline, outline.find(id)?.node).map_or_else(text, Cow::Owned), parts.len())
        }
        ["outputs", id, "status"] => {
            outline.find(id)?;
            (Cow::Owned(statuses()), 3)
        }
        ["outputs", id, "failed"] => {
            outline.find(id)?;
            (Cow::Owned(json!({"type": "boolean"})), 3)
        }
        ["outputs", id, "exit_code"] if outline.find(id)?.node.kind.shape().is_command() => {
            (Cow::Owned(json!({"type": ["integer", "null"]})), 3)
        }
        ["outputs", id, "stdout"] if outline.find(id)?.node.kind.shape().is_command() => (text(), 3),
        ["outputs", id, "value", ..] => {
            let origin = origin(outline, known, id, path.get(3..).unwrap_or_default())?;
            return Some((of_value(origin.workflow, known, &origin.node.kind)?, origin.parts));
        }
        _ => return None,
    };
    Some((schema, path.get(used..).unwrap_or_default().to_vec()))
}

/// Returns the schema of the items of a list that is written out. `None` if they are not alike.
fn of_literals(items: &[Value]) -> Option<Value> {
    let is_plain = |item: &Value| !item.is_object() && !item.is_array();
    if items.is_empty() {
        return None;
    }
    if items.iter().all(is_plain) {
        return Some(json!({ "enum": items }));
    }
    let mut values: BTreeMap<&String, Vec<Value>> = BTreeMap::new();
    for item in items {
        for (name, value) in item.as_object()? {
            values.entry(name).or_default().push(value.clone());
        }
    }
    let properties: serde_json::Map<String, Value> = values
        .into_iter()
        .map(|(name, values)| (name.clone(), of_literals(&values).unwrap_or_else(|| json!({}))))
        .collect();
    Some(json!({"type": "object", "properties": properties, "additionalProperties": false}))
}

fn statuses() -> Value {
    json!({"enum": FinalStatus::ALL.map(FinalStatus::word)})
}

/// Returns the statuses that `finally` can see: it does not run when a run is interrupted.
fn statuses_at_the_end() -> Value {
    let words = FinalStatus::ALL.into_iter().filter(|status| *status != FinalStatus::Interrupted);
    json!({"enum": words.map(FinalStatus::word).collect::<Vec<_>>()})
}

fn of_input(input: &WorkflowInput) -> Value {
    match (input.kind, input.choices.is_empty()) {
        (InputKind::List, _) => json!({"type": "array", "items": {"type": "string"}}),
        (_, false) => json!({"enum": input.choices}),
        (InputKind::Text, true) => json!({"type": "string"}),
        (InputKind::Number, true) => json!({"type": "number"}),
        (InputKind::Integer, true) => json!({"type": "integer"}),
        (InputKind::Boolean, true) => json!({"type": "boolean"}),
    }
}

/// Returns the schema of the text of a node, if not every text is possible.
pub(super) fn of_text(outline: &Outline<'_>, node: &Node) -> Option<Value> {
    let is_sure = outline.shows_only_completed();
    match &node.kind {
        NodeKind::Ask(AskNode { choices, default, .. }) if !choices.is_empty() => {
            // A failed question, which no one answered, has an empty text.
            let empty = (!is_sure).then_some("");
            let all = choices.iter().map(String::as_str).chain(default.as_deref()).chain(empty);
            Some(json!({"enum": all.collect::<Vec<_>>()}))
        }
        // If the answer is a string, it is also the text of the node.
        NodeKind::Session(session) if is_sure => {
            let schema = session.schema.as_ref()?;
            let form = PossibleValues { root: schema, schema };
            form.words().filter(|_| !form.admits(&Value::Null)).map(|words| json!({"enum": words}))
        }
        _ => None,
    }
}

/// Returns the schema of the value of a node. That of a called workflow comes from the [`origin`] of the
/// value, and so do those of an item and its value.
pub(super) fn of_value<'w>(
    workflow: &'w Workflow,
    known: &'w CheckContext<'_>,
    act: &'w NodeKind,
) -> Option<Cow<'w, Value>> {
    let truth = || json!({"type": "boolean"});
    let object = |properties: Value| Some(Cow::Owned(json!({"type": "object", "properties": properties})));
    let all = |fields: serde_json::Map<String, Value>| object(Value::Object(fields));
    match act.shape().value() {
        GivenValue::Answer(schema) => schema.map(Cow::Borrowed),
        GivenValue::Fields(fields) => {
            let field =
                |(name, kind): &(&str, FieldKind)| ((*name).to_owned(), json!({"type": kind.schema_type()}));
            all(fields.iter().map(field).collect())
        }
        GivenValue::Checks(names) => {
            let names = names.iter().chain(&known.checks).chain(workflow.checks.keys());
            all(names.map(|name| (name.clone(), truth())).collect())
        }
        GivenValue::Branches(branches) => {
            let ends = branches.iter().map(|branch| (branch.name.clone(), statuses()));
            let ends = Value::Object(ends.collect());
            object(json!({"branches": {"type": "object", "properties": ends}}))
        }
        GivenValue::Items => {
            let item = json!({
                "type": "object",
                "properties": {
                    "index": {"type": "integer"},
                    "status": statuses(),
                    "text": {"type": "string"},
                    "item": {},
                    "value": {},
                    "branch": {"type": ["string", "null"]},
                },
                "additionalProperties": false,
            });
            object(json!({"items": {"type": "array", "items": item}, "completed": {"type": "integer"}}))
        }
        GivenValue::Unknown | GivenValue::OnlyText | GivenValue::Called(_) => None,
    }
}

/// Returns the part of a schema at the end of a path. If the path leads through alternatives, the part is
/// one of theirs.
pub(super) fn inside<'s>(
    root: &'s Value,
    schema: &'s Value,
    path: &[String],
    depth: usize,
) -> Option<Cow<'s, Value>> {
    let schema = referred(root, schema).filter(|_| depth < MAX_DEPTH)?;
    let Some((member, rest)) = path.split_first() else { return Some(Cow::Borrowed(schema)) };
    let whole = |schema: &'s Value| inside(root, schema, path, depth + 1);
    let own = match member.as_str() {
        // The index is not known here, so `prefixItems` cannot be resolved.
        ITEM if schema.get("prefixItems").is_some() => None,
        ITEM => schema.get("items"),
        name => schema.get("properties").and_then(|properties| properties.get(name)),
    };
    if let Some(part) = own {
        return inside(root, part, rest, depth + 1);
    }
    if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
        return all.iter().find_map(whole);
    }
    let ways = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
    // A value without parts is not the one that the path leads into.
    let ways = ways.iter().filter(|way| referred(root, way).is_none_or(|way| !is_plain_kind(way)));
    let parts: Option<Vec<Value>> = ways.map(|way| whole(way).map(Cow::into_owned)).collect();
    let parts = parts.filter(|parts| !parts.is_empty())?;
    Some(Cow::Owned(json!({ "anyOf": parts })))
}

/// Returns whether the values of a schema have no parts.
fn is_plain_kind(schema: &Value) -> bool {
    let plain = ["null", "boolean", "integer", "number", "string"];
    schema.get("type").and_then(Value::as_str).is_some_and(|kind| plain.contains(&kind))
}

/// Returns the kind that a schema allows, if it is only one apart from null.
pub(super) fn kind_in(root: &Value, schema: &Value) -> Option<ValueKind> {
    let schema = referred(root, schema)?;
    let mut kinds: Vec<Option<ValueKind>> = if let Some(only) = schema.get("const") {
        vec![ValueKind::of(only)]
    } else if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        values.iter().filter(|value| !value.is_null()).map(ValueKind::of).collect()
    } else {
        let named = |name: &Value| match name.as_str()? {
            "string" => Some(ValueKind::Text),
            "integer" | "number" => Some(ValueKind::Number),
            "boolean" => Some(ValueKind::Truth),
            "array" => Some(ValueKind::List),
            "object" => Some(ValueKind::Object),
            _ => None,
        };
        match schema.get("type")? {
            Value::Array(names) => names.iter().filter(|name| *name != "null").map(named).collect(),
            name => vec![named(name)],
        }
    };
    kinds.dedup();
    match kinds.as_slice() {
        [kind] => *kind,
        _ => None,
    }
}
