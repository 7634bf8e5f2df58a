//! Finds the errors in a value.
//!
//! Validation ignores malformed keywords: [`schema_errors`](super::schema_errors) reports them before
//! a run starts.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use super::keywords::count;
use super::numbers::{compare, is_multiple, is_same, plain, whole};
use super::{MAX_DEPTH, Path, ValidationError, brief, resolve};
use crate::graph::check::suggest::shown;

/// The most errors reported for one value.
pub const MAX_VALIDATION_ERRORS: usize = 20;
/// The most pairs of a value and a schema that are checked.
const MAX_STEPS: usize = 200_000;
/// The most characters of a message about the alternatives of an `anyOf`.
const MAX_TELLING: usize = 300;

type Keywords = Map<String, Value>;
/// A keyword, its words in a message, and the required order of the number and the limit.
type NumberKeyword = (&'static str, &'static str, fn(Ordering) -> bool);

/// Returns the first [`MAX_FAULTS`] errors in a value; none if it fits.
///
/// A value or schema that takes too much work to check is an error.
pub fn validate(schema: &Value, value: &Value) -> Vec<ValidationError> {
    validate_in(schema, schema, value)
}

/// Validates against a schema inside `root`, which resolves its references.
pub(super) fn validate_in(root: &Value, schema: &Value, value: &Value) -> Vec<ValidationError> {
    let mut look = Validation { root, faults: Vec::new(), steps: MAX_STEPS, has_given_up: false };
    look.at(schema, value, &Path::Root, 0);
    if look.has_given_up {
        look.faults.truncate(MAX_VALIDATION_ERRORS - 1);
        let what =
            "takes too much work to check: it is too large, or the schema refers to itself without end";
        look.faults.push(ValidationError { path: Path::Root.to_string(), what: what.to_owned() });
    }
    look.faults
}

/// Returns whether a value could fit a schema inside `root`. If the check takes too much work, the
/// answer is yes.
pub(in crate::graph) fn admits_in(root: &Value, schema: &Value, value: &Value) -> bool {
    let mut look = Validation { root, faults: Vec::new(), steps: MAX_STEPS, has_given_up: false };
    look.at(schema, value, &Path::Root, 0);
    look.has_given_up || look.faults.is_empty()
}

struct Validation<'s> {
    root: &'s Value,
    faults: Vec<ValidationError>,
    steps: usize,
    has_given_up: bool,
}

impl<'s> Validation<'s> {
    fn add(&mut self, path: &Path<'_>, what: impl Into<String>) {
        if self.faults.len() < MAX_VALIDATION_ERRORS {
            self.faults.push(ValidationError { path: path.to_string(), what: what.into() });
        }
    }

    /// Pays for a step of work. Returns whether to continue: within the limit and with room for errors.
    fn goes_on(&mut self, cost: usize) -> bool {
        match self.steps.checked_sub(cost) {
            Some(left) => self.steps = left,
            None => self.has_given_up = true,
        }
        !self.has_given_up && self.faults.len() < MAX_VALIDATION_ERRORS
    }

    fn at(&mut self, schema: &'s Value, value: &Value, path: &Path<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            self.has_given_up = true;
        }
        if !self.goes_on(1) {
            return;
        }
        match schema {
            Value::Bool(true) => {}
            Value::Bool(false) => self.add(path, "must not be there"),
            Value::Object(keywords) => self.keywords(keywords, value, path, depth + 1),
            _ => self.add(path, "has no schema to be held to"),
        }
    }

    fn keywords(&mut self, keywords: &'s Keywords, value: &Value, path: &Path<'_>, depth: usize) {
        self.kind(keywords, value, path);
        self.given(keywords, value, path);
        match value {
            Value::Object(members) => self.object(keywords, members, path, depth),
            Value::Array(items) => self.array(keywords, items, path, depth),
            Value::Number(number) => self.number(keywords, number, path),
            Value::String(text) => self.text(keywords, text, path),
            Value::Null | Value::Bool(_) => {}
        }
        self.ways(keywords, value, path, depth);
    }

    fn kind(&mut self, keywords: &Keywords, value: &Value, path: &Path<'_>) {
        let types: Vec<&str> = match keywords.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => return,
        };
        if !types.iter().any(|name| is_of(value, name)) {
            let wanted: Vec<&str> = types.iter().map(|name| with_article(name)).collect();
            self.add(path, format!("must be {}, not {}", wanted.join(" or "), with_article(type_of(value))));
        }
    }

    /// Checks `const` and `enum`.
    fn given(&mut self, keywords: &Keywords, value: &Value, path: &Path<'_>) {
        if let Some(only) = keywords.get("const").filter(|only| !is_same(only, value)) {
            self.add(path, format!("must be {}, not {}", brief(only), brief(value)));
        }
        let Some(Value::Array(allowed)) = keywords.get("enum") else { return };
        if self.goes_on(allowed.len()) && !allowed.iter().any(|one| is_same(one, value)) {
            let some: Vec<String> = allowed.iter().take(8).map(brief).collect();
            let more = if allowed.len() > some.len() { ", …" } else { "" };
            self.add(path, format!("must be one of {}{more}, not {}", some.join(", "), brief(value)));
        }
    }

    fn object(
        &mut self,
        keywords: &'s Keywords,
        members: &Map<String, Value>,
        path: &Path<'_>,
        depth: usize,
    ) {
        for name in keywords.get("required").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = name.as_str().filter(|name| !members.contains_key(*name)) {
                self.add(path, format!("has no {}", shown(name)));
            }
        }
        self.size(keywords, ["minProperties", "maxProperties"], members.len(), "properties", path);
        let properties = keywords.get("properties").and_then(Value::as_object);
        let others = keywords.get("additionalProperties");
        for (name, value) in members {
            let below = Path::Member(path, name);
            match (properties.and_then(|properties| properties.get(name)), others) {
                (Some(schema), _) => self.at(schema, value, &below, depth),
                (None, Some(Value::Bool(false))) => self.add(&below, not_a_property(properties)),
                (None, Some(schema)) => self.at(schema, value, &below, depth),
                (None, None) => {}
            }
        }
    }

    fn array(&mut self, keywords: &'s Keywords, items: &[Value], path: &Path<'_>, depth: usize) {
        self.size(keywords, ["minItems", "maxItems"], items.len(), "items", path);
        let first = keywords.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let rest = keywords.get("items");
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(index).or(rest) {
                self.at(schema, item, &Path::Item(path, index), depth);
            }
        }
        if keywords.get("uniqueItems") == Some(&Value::Bool(true)) && self.goes_on(items.len()) {
            let mut seen = HashSet::new();
            if let Some(again) = items.iter().position(|item| !seen.insert(plain(item))) {
                self.add(&Path::Item(path, again), "is there twice");
            }
        }
    }

    fn number(&mut self, keywords: &Keywords, number: &Number, path: &Path<'_>) {
        let bounds: [NumberKeyword; 4] = [
            ("minimum", "at least", Ordering::is_ge),
            ("maximum", "at most", Ordering::is_le),
            ("exclusiveMinimum", "more than", Ordering::is_gt),
            ("exclusiveMaximum", "less than", Ordering::is_lt),
        ];
        for (keyword, words, holds) in bounds {
            if let Some(Value::Number(bound)) = keywords.get(keyword)
                && !holds(compare(number, bound))
            {
                self.add(path, format!("must be {words} {bound}, not {number}"));
            }
        }
        if let Some(Value::Number(step)) = keywords.get("multipleOf")
            && !is_multiple(number, step)
        {
            self.add(path, format!("must be a multiple of {step}, not {number}"));
        }
    }

    fn text(&mut self, keywords: &Keywords, text: &str, path: &Path<'_>) {
        if keywords.contains_key("minLength") || keywords.contains_key("maxLength") {
            self.size(keywords, ["minLength", "maxLength"], text.chars().count(), "characters", path);
        }
    }

    fn size(&mut self, keywords: &Keywords, bounds: [&str; 2], size: usize, of: &str, path: &Path<'_>) {
        let [least, most] = bounds.map(|keyword| keywords.get(keyword).and_then(count));
        if let Some(least) = least.filter(|least| size < *least) {
            self.add(path, format!("must have at least {least} {of}, not {size}"));
        }
        if let Some(most) = most.filter(|most| size > *most) {
            self.add(path, format!("must have at most {most} {of}, not {size}"));
        }
    }

    /// Checks the keywords that apply other schemas to the same value.
    fn ways(&mut self, keywords: &'s Keywords, value: &Value, path: &Path<'_>, depth: usize) {
        if let Some(Value::String(to)) = keywords.get("$ref") {
            match resolve(self.root, to) {
                Some(schema) => self.at(schema, value, path, depth),
                None => self.add(path, format!("has no schema to be held to: there is no {}", shown(to))),
            }
        }
        for schema in list(keywords, "allOf") {
            self.at(schema, value, path, depth);
        }
        self.any_of(list(keywords, "anyOf"), value, path, depth);
        self.one_of(list(keywords, "oneOf"), value, path, depth);
        if let Some(schema) = keywords.get("not")
            && self.apart(schema, value, path, depth).is_empty()
        {
            self.add(path, "must not fit the schema in `not`");
        }
    }

    fn any_of(&mut self, schemas: &'s [Value], value: &Value, path: &Path<'_>, depth: usize) {
        let mut why = Vec::new();
        for schema in schemas {
            let faults = self.apart(schema, value, path, depth);
            if faults.is_empty() {
                return;
            }
            why.push(faults);
        }
        if !why.is_empty() {
            self.add(path, format!("fits nothing of `anyOf`: {}", telling(&why)));
        }
    }

    fn one_of(&mut self, schemas: &'s [Value], value: &Value, path: &Path<'_>, depth: usize) {
        let all: Vec<_> = schemas.iter().map(|schema| self.apart(schema, value, path, depth)).collect();
        match all.iter().filter(|faults| faults.is_empty()).count() {
            1 => {}
            0 if all.is_empty() => {}
            0 => self.add(path, format!("fits nothing of `oneOf`: {}", telling(&all))),
            fitting => self.add(path, format!("must fit one of `oneOf`, but fits {fitting}")),
        }
    }

    /// Returns the errors against one schema without recording them.
    fn apart(
        &mut self,
        schema: &'s Value,
        value: &Value,
        path: &Path<'_>,
        depth: usize,
    ) -> Vec<ValidationError> {
        let before = std::mem::take(&mut self.faults);
        self.at(schema, value, path, depth);
        std::mem::replace(&mut self.faults, before)
    }
}

fn list<'s>(keywords: &'s Keywords, keyword: &str) -> &'s [Value] {
    keywords.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Joins the first error of each alternative.
fn telling(why: &[Vec<ValidationError>]) -> String {
    let first: Vec<String> =
        why.iter().take(4).filter_map(|faults| Some(faults.first()?.to_string())).collect();
    let text = first.join("; ");
    match text.char_indices().nth(MAX_TELLING) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn not_a_property(properties: Option<&Map<String, Value>>) -> String {
    let names: Vec<String> =
        properties.into_iter().flat_map(Map::keys).take(8).map(|name| shown(name)).collect();
    match names.as_slice() {
        [] => "must not be there: no properties are allowed".to_owned(),
        names => format!("must not be there: the properties are {}", names.join(", ")),
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match (name, value) {
        ("number", Value::Number(_)) => true,
        ("integer", Value::Number(number)) => {
            whole(number).is_some() || super::numbers::float(number).fract() == 0.0
        }
        _ => name != "number" && name == type_of(value),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn with_article(name: &str) -> &str {
    match name {
        "object" => "an object",
        "array" => "an array",
        "string" => "a string",
        "number" => "a number",
        "integer" => "an integer",
        "boolean" => "true or false",
        "null" => "null",
        _ => "something unknown",
    }
}
