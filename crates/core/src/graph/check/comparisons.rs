//! Checks that a value can equal the literal it is compared with.
//!
//! The possible values of an answer, an input, a status or a value are often known before a run. A
//! comparison with any other literal always has the same result, so it is a mistake.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::CheckContext;
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{Outline, OutlineNode};
use super::suggest::{did_you_mean, shown};
use super::value_schemas::{form, inside, kind_in};
use super::values::referred;
use crate::graph::schema::admits_in;
use crate::graph::template::names::{
    ComparedSide, Comparison, Filter, ITEM, Pair, Relation, SideKnowledge, TemplateNames, ValueKind,
};
use crate::graph::template::{names_in, order};
use crate::graph::workflow::{Expression, NodeNumber};

/// The most words in a hint.
const LISTED: usize = 8;

/// Returns a diagnostic for each literal that the value can never equal.
pub(super) fn look(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    user: &OutlineNode<'_>,
    comparison: &Comparison,
    found: &mut GraphDiagnostics,
) -> Vec<GraphDiagnostic> {
    let Some((root, rest)) = form(outline, known, user, &comparison.path) else { return Vec::new() };
    let Some(schema) = inside(&root, &root, &rest, 0) else { return Vec::new() };
    let form = PossibleValues { root: &root, schema: &schema };
    let wrong = comparison.with.iter().filter(|(value, _)| !form.can_be(comparison, value));
    wrong.map(|(value, at)| form.finding(comparison, value, found).at(Some(*at))).collect()
}

/// Returns a diagnostic if two compared values are of different kinds.
pub(super) fn look_at_pair(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    user: &OutlineNode<'_>,
    pair: &Pair,
) -> Option<GraphDiagnostic> {
    let left = kind(outline, known, user, &pair.left)?;
    let right = kind(outline, known, user, &pair.right)?;
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
    user: &OutlineNode<'_>,
    list: &Expression,
    names: &TemplateNames,
) -> Option<GraphDiagnostic> {
    let [used] = names.uses.as_slice() else { return None };
    let written = list.0.trim();
    if written != used.path.join(".") {
        return None;
    }
    let (root, rest) = form(outline, known, user, &used.path)?;
    let kind = kind_in(&root, inside(&root, &root, &rest, 0)?.as_ref())?;
    (kind != ValueKind::List).then(|| {
        let text = format!("`in` needs a list, and {} is {}", shown(written), kind.word());
        let hint = match kind {
            ValueKind::Text if used.path.get(2).is_some_and(|part| part == "value") => {
                "make it a list in the `schema`, or split the text: `NAME | lines`"
            }
            ValueKind::Text => "give the node before it a `schema`, or split the text: `NAME | lines`",
            _ => "name a list, or write one out: `[a, b]`",
        };
        GraphDiagnostic::error(None, "", text).hint(hint).at(Some(used.at))
    })
}

/// Returns a diagnostic if a number that a run computes comes from a value that is no number.
pub(super) fn look_at_number(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    user: &OutlineNode<'_>,
    (field, number): (&'static str, NodeNumber),
    from: &Expression,
) -> Option<GraphDiagnostic> {
    let names = names_in(from).ok()?;
    let [used] = names.uses.as_slice() else { return None };
    let written = from.0.trim();
    if written != used.path.join(".") {
        return None;
    }
    let (root, rest) = form(outline, known, user, &used.path)?;
    let kind = kind_in(&root, inside(&root, &root, &rest, 0)?.as_ref())?;
    let is_right = kind == ValueKind::Number || kind == ValueKind::Text && number.is_time();
    (!is_right).then(|| {
        let text = format!("`{field}` needs a number, and {} is {}", shown(written), kind.word());
        let hint = match kind {
            ValueKind::Text => format!("make it one: `{written} | int`"),
            ValueKind::List => format!("count its items: `{written} | length`"),
            ValueKind::Number | ValueKind::Truth | ValueKind::Object => "name a number".to_owned(),
        };
        GraphDiagnostic::error(None, field, text).hint(hint).at(Some(used.at))
    })
}

/// Returns the kind of a side, if it is known.
fn kind(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    user: &OutlineNode<'_>,
    side: &ComparedSide,
) -> Option<ValueKind> {
    match &side.what {
        SideKnowledge::Kind(kind) => Some(*kind),
        SideKnowledge::Path(path) => {
            let (root, rest) = form(outline, known, user, path)?;
            kind_in(&root, inside(&root, &root, &rest, 0)?.as_ref())
        }
    }
}

/// The possible values of an expression, as a schema.
#[derive(Clone, Copy)]
pub(super) struct PossibleValues<'s> {
    pub(super) root: &'s Value,
    pub(super) schema: &'s Value,
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

    pub(super) fn admits(self, value: &Value) -> bool {
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
    pub(super) fn words(self) -> Option<Vec<&'s str>> {
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
