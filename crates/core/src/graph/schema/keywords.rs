//! The supported keywords, and the errors in a schema.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::numbers::{plain, whole};
use super::{MAX_DEPTH, Path, resolve};

/// The form of the value of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordShape {
    Any,
    Text,
    List,
    /// The name of a type, or a list of them.
    Types,
    /// A non-empty list of distinct values.
    Values,
    /// A list of distinct names.
    Names,
    Flag,
    Number,
    /// A number above 0.
    Step,
    /// A whole number, 0 or more.
    Count,
    Schema,
    Schemas,
    /// Schemas by name.
    Named,
    /// A reference to another schema in the same document.
    Reference,
}

/// Every supported keyword. Those from `format` on do not restrict a value.
pub const KEYWORDS: &[(&str, KeywordShape)] = &[
    ("type", KeywordShape::Types),
    ("enum", KeywordShape::Values),
    ("const", KeywordShape::Any),
    ("properties", KeywordShape::Named),
    ("required", KeywordShape::Names),
    ("additionalProperties", KeywordShape::Schema),
    ("minProperties", KeywordShape::Count),
    ("maxProperties", KeywordShape::Count),
    ("items", KeywordShape::Schema),
    ("prefixItems", KeywordShape::Schemas),
    ("minItems", KeywordShape::Count),
    ("maxItems", KeywordShape::Count),
    ("uniqueItems", KeywordShape::Flag),
    ("minimum", KeywordShape::Number),
    ("maximum", KeywordShape::Number),
    ("exclusiveMinimum", KeywordShape::Number),
    ("exclusiveMaximum", KeywordShape::Number),
    ("multipleOf", KeywordShape::Step),
    ("minLength", KeywordShape::Count),
    ("maxLength", KeywordShape::Count),
    ("anyOf", KeywordShape::Schemas),
    ("oneOf", KeywordShape::Schemas),
    ("allOf", KeywordShape::Schemas),
    ("not", KeywordShape::Schema),
    ("$ref", KeywordShape::Reference),
    ("$defs", KeywordShape::Named),
    ("definitions", KeywordShape::Named),
    ("format", KeywordShape::Text),
    ("title", KeywordShape::Text),
    ("description", KeywordShape::Text),
    ("default", KeywordShape::Any),
    ("examples", KeywordShape::List),
    ("$schema", KeywordShape::Text),
    ("$id", KeywordShape::Text),
    ("$comment", KeywordShape::Text),
    ("deprecated", KeywordShape::Flag),
    ("readOnly", KeywordShape::Flag),
    ("writeOnly", KeywordShape::Flag),
];

pub(super) const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// An error in a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// The path of the inner schema with the error: `$.properties.steps`.
    pub path: String,
    /// The names on the path, including the keyword: `properties/steps/pattern`.
    pub names: String,
    /// The keyword; empty if the schema itself is wrong.
    pub keyword: String,
    pub kind: SchemaErrorKind,
}

/// The kind of an error in a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaErrorKind {
    /// Windlass does not support the keyword.
    Unknown,
    /// The value has the wrong form; the text names the right one.
    Shape(&'static str),
    /// The schema is nested too deeply.
    TooDeep,
}

const A_SCHEMA: &str = "a schema: a mapping, true or false";

/// The most errors reported for one schema.
const MAX_SCHEMA_ERRORS: usize = 20;

/// Returns the unsupported keywords of a schema, each with the path of its schema.
pub fn unsupported(schema: &Value) -> Vec<(String, String)> {
    let unknown = schema_errors(schema).into_iter().filter(|flaw| flaw.kind == SchemaErrorKind::Unknown);
    unknown.map(|flaw| (flaw.path, flaw.keyword)).collect()
}

/// Returns the first errors in a schema.
pub fn schema_errors(schema: &Value) -> Vec<SchemaError> {
    let mut reading = SchemaReader { root: schema, errors: Vec::new() };
    reading.schema(schema, &Path::Root, 0);
    reading.errors
}

struct SchemaReader<'s> {
    root: &'s Value,
    errors: Vec<SchemaError>,
}

impl SchemaReader<'_> {
    fn add(&mut self, path: &Path<'_>, keyword: &str, wrong: SchemaErrorKind) {
        if self.errors.len() < MAX_SCHEMA_ERRORS {
            let below = Path::Member(path, keyword);
            let names = if keyword.is_empty() { path.names() } else { below.names() };
            self.errors.push(SchemaError {
                path: path.to_string(),
                names,
                keyword: keyword.to_owned(),
                kind: wrong,
            });
        }
    }

    fn schema(&mut self, schema: &Value, path: &Path<'_>, depth: usize) {
        if self.errors.len() >= MAX_SCHEMA_ERRORS {
            return;
        }
        match schema {
            _ if depth > MAX_DEPTH => self.add(path, "", SchemaErrorKind::TooDeep),
            Value::Object(map) => self.keywords(map, path, depth),
            Value::Bool(_) => {}
            _ => self.add(path, "", SchemaErrorKind::Shape(A_SCHEMA)),
        }
    }

    fn keywords(&mut self, map: &Map<String, Value>, path: &Path<'_>, depth: usize) {
        for (keyword, value) in map {
            match KEYWORDS.iter().find(|(known, _)| known == keyword) {
                None => self.add(path, keyword, SchemaErrorKind::Unknown),
                Some((_, shape)) => self.shape(*shape, keyword, value, path, depth),
            }
        }
    }

    fn shape(&mut self, shape: KeywordShape, keyword: &str, value: &Value, path: &Path<'_>, depth: usize) {
        let below = Path::Member(path, keyword);
        match (shape, value) {
            (KeywordShape::Schema, _) => self.schema(value, &below, depth + 1),
            (KeywordShape::Schemas, Value::Array(all)) if !all.is_empty() => {
                for (index, schema) in all.iter().enumerate() {
                    self.schema(schema, &Path::Item(&below, index), depth + 1);
                }
            }
            (KeywordShape::Named, Value::Object(all)) => {
                for (name, schema) in all {
                    self.schema(schema, &Path::Member(&below, name), depth + 1);
                }
            }
            (KeywordShape::Reference, Value::String(to)) if resolve(self.root, to).is_some() => {}
            _ => {
                if let Some(wanted) = wanted(shape, value) {
                    self.add(path, keyword, SchemaErrorKind::Shape(wanted));
                }
            }
        }
    }
}

/// Returns the form that the value should have, if it has another.
fn wanted(shape: KeywordShape, value: &Value) -> Option<&'static str> {
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let list_of =
        |is_good: &dyn Fn(&Value) -> bool| value.as_array().is_some_and(|all| all.iter().all(is_good));
    let all = value.as_array().map_or(&[][..], Vec::as_slice);
    let is_filled = !all.is_empty();
    let is_unique = all.iter().map(plain).collect::<HashSet<_>>().len() == all.len();
    let (is_good, text) = match shape {
        KeywordShape::Any => (true, ""),
        KeywordShape::Text => (value.is_string(), "text"),
        KeywordShape::List => (value.is_array(), "a list"),
        KeywordShape::Types => (
            is_type(value) || (is_filled && is_unique && list_of(&is_type)),
            "object, array, string, number, integer, boolean or null, or a list of these",
        ),
        KeywordShape::Values => (is_filled && is_unique, "a list of values, each once"),
        KeywordShape::Names => (is_unique && list_of(&Value::is_string), "a list of names, each once"),
        KeywordShape::Flag => (value.is_boolean(), "true or false"),
        KeywordShape::Number => (value.is_number(), "a number"),
        KeywordShape::Step => (value.as_f64().is_some_and(|node| node > 0.0), "a number above 0"),
        KeywordShape::Count => (count(value).is_some(), "a whole number from 0"),
        KeywordShape::Schema => (false, A_SCHEMA),
        KeywordShape::Schemas => (false, "a list of schemas"),
        KeywordShape::Named => (false, "a mapping of names to schemas"),
        KeywordShape::Reference => (false, "`#/$defs/NAME` of a schema that is there"),
    };
    (!is_good).then_some(text)
}

/// Reads a count, also one written as `3.0`.
pub(super) fn count(value: &Value) -> Option<usize> {
    let Value::Number(number) = value else { return None };
    usize::try_from(whole(number)?).ok()
}
