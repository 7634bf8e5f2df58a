//! Checks that a value can equal the literal it is compared with.
//!
//! The possible values of an answer, an input, a status or a value are often known before a run. A
//! comparison with any other literal always has the same result, so it is a mistake.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::origin::origin;
use super::suggest::{did_you_mean, shown};
use super::values::referred;
use super::{CheckContext, outline::Outline};
use crate::engine::node::shape::{FieldKind, GivenValue};
use crate::graph::schema::admits_in;
use crate::graph::template::names::{
    ComparedSide, Comparison, Filter, ITEM, Pair, Relation, SideKnowledge, TemplateNames, ValueKind,
};
use crate::graph::template::order;
use crate::graph::walk::MAX_DEPTH;
use crate::graph::workflow::{AskNode, Expression, InputKind, Node, NodeKind, Workflow, WorkflowInput};
use crate::run::FinalStatus;
use crate::tasks::TaskStatus;

/// The most words in a hint.
const LISTED: usize = 8;

/// Returns a diagnostic for each literal that the value can never equal.
pub(super) fn look(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    comparison: &Comparison,
    found: &mut GraphDiagnostics,
) -> Vec<GraphDiagnostic> {
    let Some((root, rest)) = form(outline, known, &comparison.path) else { return Vec::new() };
    let Some(schema) = inside(&root, &root, &rest, 0) else { return Vec::new() };
    let form = PossibleValues { root: &root, schema: &schema };
    let wrong = comparison.with.iter().filter(|(value, _)| !form.can_be(comparison, value));
    wrong.map(|(value, at)| form.finding(comparison, value, found).at(Some(*at))).collect()
}

/// Returns a diagnostic if two compared values are of different kinds.
pub(super) fn look_at_pair(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    pair: &Pair,
) -> Option<GraphDiagnostic> {
    let left = kind(outline, known, &pair.left)?;
    let right = kind(outline, known, &pair.right)?;
    let is_alike = |one, other| one == ValueKind::Truth && other == ValueKind::Number;
    if left == right || (pair.sign.is_none() && (is_alike(left, right) || is_alike(right, left))) {
        return None;
    }
    let (this, that) = (shown(&pair.left.written), shown(&pair.right.written));
    let end = match pair.sign {
        Some(sign) => format!("`{sign}` cannot compare them"),
        None => "they are never equal".to_owned(),
    };
    let text = format!("{this} is {} and {that} is {}: {end}", left.word(), right.word());
    let sides = ((left.word(), pair.left.written.as_str()), (right.word(), pair.right.written.as_str()));
    let instead = order::hint(sides.0, sides.1, pair.sign.unwrap_or("=="));
    Some(GraphDiagnostic::error(None, "", text).maybe_hint(instead).at(Some(pair.at)))
}

/// Returns a diagnostic if the list of an `each` is a value that is no list.
pub(super) fn look_at_list(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    list: &Expression,
    names: &TemplateNames,
) -> Option<GraphDiagnostic> {
    let [used] = names.uses.as_slice() else { return None };
    let written = list.0.trim();
    if written != used.path.join(".") {
        return None;
    }
    let (root, rest) = form(outline, known, &used.path)?;
    let kind = kind_in(&root, inside(&root, &root, &rest, 0)?.as_ref())?;
    (kind != ValueKind::List).then(|| {
        let text = format!("`in` needs a list, and {} is {}", shown(written), kind.word());
        let hint = match kind {
            ValueKind::Text => "give the node before it a `schema`, or split the text: `NAME | lines`",
            _ => "name a list, or write one out: `[a, b]`",
        };
        GraphDiagnostic::error(None, "", text).hint(hint).at(Some(used.at))
    })
}

/// Returns the kind of a side, if it is known.
fn kind(outline: &Outline<'_>, known: &CheckContext<'_>, side: &ComparedSide) -> Option<ValueKind> {
    match &side.what {
        SideKnowledge::Kind(kind) => Some(*kind),
        SideKnowledge::Path(path) => {
            let (root, rest) = form(outline, known, path)?;
            kind_in(&root, inside(&root, &root, &rest, 0)?.as_ref())
        }
    }
}

/// Returns the kind that a schema allows, if it is only one apart from null.
fn kind_in(root: &Value, schema: &Value) -> Option<ValueKind> {
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

/// The possible values of an expression, as a schema.
#[derive(Clone, Copy)]
struct PossibleValues<'s> {
    root: &'s Value,
    schema: &'s Value,
}

impl<'s> PossibleValues<'s> {
    fn can_be(self, comparison: &Comparison, value: &Value) -> bool {
        match comparison.relation {
            Relation::Equals => match self.words_after(&comparison.filters) {
                Some(words) if !comparison.filters.is_empty() => words.iter().any(|word| value == word),
                _ => self.equals(&comparison.filters, value),
            },
            Relation::Holds if !comparison.filters.is_empty() => true,
            Relation::Holds => self.holds(value),
            Relation::PartOf => match (self.words_after(&comparison.filters), value.as_str()) {
                (Some(words), Some(text)) => words.iter().any(|word| text.contains(word.as_str())),
                _ => true,
            },
        }
    }

    fn equals(self, filters: &[Filter], value: &Value) -> bool {
        let is_default = |filter: &Filter| matches!(filter, Filter::Default(default) if default == value);
        // Other filters have a known result only for a known list of words.
        let is_known = filters.iter().all(|filter| matches!(filter, Filter::Default(_)));
        !is_known || filters.iter().any(is_default) || self.admits(value)
    }

    fn admits(self, value: &Value) -> bool {
        alike(value).iter().any(|value| admits_in(self.root, self.schema, value))
    }

    /// Returns whether it can contain the value: as an item of a list or a part of a text.
    fn holds(self, value: &Value) -> bool {
        if let (Some(words), Some(part)) = (self.words(), value.as_str()) {
            return words.iter().any(|word| word.contains(part));
        }
        let Some(schema) = referred(self.root, self.schema) else { return true };
        let is_list = schema.get("type").is_some_and(|kind| kind == "array");
        match schema.get("items").filter(|_| is_list && schema.get("prefixItems").is_none()) {
            Some(items) => PossibleValues { schema: items, ..self }.admits(value),
            None => true,
        }
    }

    /// Returns all texts that it can be, if the schema lists them.
    fn words(self) -> Option<Vec<&'s str>> {
        let schema = referred(self.root, self.schema)?;
        if let Some(only) = schema.get("const") {
            return only.as_str().map(|word| vec![word]);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values.iter().filter(|value| !value.is_null()).map(Value::as_str).collect();
        }
        let ways = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
        let words: Option<Vec<Vec<&str>>> =
            ways.iter().map(|way| PossibleValues { schema: way, ..self }.words()).collect();
        words.map(|words| words.concat())
    }

    /// Returns all texts that it can be after the filters.
    fn words_after(self, filters: &[Filter]) -> Option<Vec<String>> {
        let mut words: Vec<String> = self.words()?.into_iter().map(str::to_owned).collect();
        for filter in filters {
            match filter {
                Filter::Lower => words.iter_mut().for_each(|word| *word = word.to_lowercase()),
                Filter::Upper => words.iter_mut().for_each(|word| *word = word.to_uppercase()),
                Filter::Trim => words.iter_mut().for_each(|word| *word = word.trim().to_owned()),
                Filter::Capitalize => words.iter_mut().for_each(|word| *word = capitalized(word)),
                Filter::Default(default) => words.push(default.as_str()?.to_owned()),
            }
        }
        let mut known = BTreeSet::new();
        words.retain(|word| known.insert(word.clone()));
        Some(words)
    }

    fn finding(
        self,
        comparison: &Comparison,
        value: &Value,
        found: &mut GraphDiagnostics,
    ) -> GraphDiagnostic {
        let filters: String =
            comparison.filters.iter().map(|filter| format!(" | {}", filter.word())).collect();
        let path = comparison.path.join(".").replace(&format!(".{ITEM}"), ITEM);
        let name = shown(&format!("{path}{filters}"));
        let written = match value.as_str() {
            Some("") => "an empty text".to_owned(),
            Some(text) => shown(text),
            None => value.to_string(),
        };
        let text = match comparison.relation {
            Relation::Equals => format!("{name} is never {written}"),
            Relation::Holds => format!("{name} never contains {written}"),
            Relation::PartOf => format!("{name} is never part of {written}"),
        };
        let finding = GraphDiagnostic::error(None, "", text);
        let is_input = comparison.path.first().is_some_and(|first| first == "inputs");
        if is_input && value.as_str() == Some("") && comparison.relation == Relation::Equals {
            // An input without a value is null, not an empty text.
            let hint = format!("to ask whether it has a value, write `not {}`", comparison.path.join("."));
            return finding.maybe_hint(Some(hint));
        }
        if comparison.path.first().is_some_and(|first| first == "iteration") && value == &json!(0) {
            return finding.hint("the first iteration is 1");
        }
        let words = match comparison.relation {
            Relation::Equals | Relation::PartOf => self.words_after(&comparison.filters),
            Relation::Holds => self.items().and_then(|items| items.words_after(&[])),
        };
        let near = words.as_deref().and_then(|words| {
            let words = words.iter().map(String::as_str);
            value.as_str().and_then(|value| found.guess(|| did_you_mean(value, words)))
        });
        finding
            .maybe_hint(near.or_else(|| self.otherwise(value)).or_else(|| words.as_deref().and_then(listed)))
    }

    /// Returns the possible values of the items of a list, or `self` if it is not a list.
    fn items(self) -> Option<PossibleValues<'s>> {
        let schema = referred(self.root, self.schema)?;
        Some(schema.get("items").map_or(self, |items| PossibleValues { schema: items, ..self }))
    }

    /// Suggests the literal with or without quotes, if that is possible.
    fn otherwise(self, value: &Value) -> Option<String> {
        let other = match value {
            Value::String(text) => {
                serde_json::from_str(text).ok().filter(|value: &Value| !value.is_string())?
            }
            plain => Value::from(plain.to_string()),
        };
        let quotes = if other.is_string() { "in" } else { "without" };
        let form = self.items()?;
        form.admits(&other).then(|| format!("did you mean `{other}`, {quotes} quotes?"))
    }
}

/// Returns the values that equal this one in templates, where true is 1 and false is 0.
fn alike(value: &Value) -> Vec<Value> {
    let other = match value {
        Value::Bool(value) => Some(json!(u8::from(*value))),
        Value::Number(number) if number.as_f64() == Some(1.0) => Some(json!(true)),
        Value::Number(number) if number.as_f64() == Some(0.0) => Some(json!(false)),
        _ => None,
    };
    std::iter::once(value.clone()).chain(other).collect()
}

/// Writes the first letter large and the others small, as the filter does.
fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + &letters.as_str().to_lowercase()
}

fn listed(words: &[String]) -> Option<String> {
    let some: Vec<String> =
        words.iter().filter(|word| !word.is_empty()).take(LISTED).map(|word| shown(word)).collect();
    let more = if words.len() > LISTED { ", …" } else { "" };
    (!some.is_empty()).then(|| format!("it is one of {}{more}", some.join(", ")))
}

/// Returns the schema for the start of a path, and the remaining parts that lead into the schema.
fn form<'w>(
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
        ["inputs", name] => {
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

fn statuses() -> Value {
    json!({"enum": FinalStatus::ALL.map(FinalStatus::word)})
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
                "properties": {"index": {"type": "integer"}, "status": statuses(), "text": {"type": "string"}},
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
