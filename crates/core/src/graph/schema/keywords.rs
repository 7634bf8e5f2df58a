//! The keywords there are, and what is wrong with a schema.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::numbers::{plain, whole};
use super::{MAX_DEPTH, Path, resolve};

/// What a keyword says is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeywordShape {
    /// Any value.
    Any,
    /// Text.
    Text,
    /// A list of anything.
    List,
    /// The name of a type, or a list of them.
    Types,
    /// A list of values.
    Values,
    /// A list of names.
    Names,
    /// Yes or no.
    Flag,
    /// A number.
    Number,
    /// A number above 0.
    Step,
    /// A whole number from 0.
    Count,
    /// A schema.
    Schema,
    /// A list of schemas.
    Schemas,
    /// Schemas by name.
    Named,
    /// The way to another schema in the same one.
    Reference,
}

/// Every keyword that is known. From `format` on they say nothing about a value.
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

/// The types there are.
pub(super) const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// Something that is wrong with a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// The schema inside the schema: `$.properties.steps`.
    pub path: String,
    /// The names on the way to what is wrong, the keyword too: `properties/steps/pattern`.
    pub names: String,
    /// The keyword; empty where it is about the schema itself.
    pub keyword: String,
    /// What is wrong with it.
    pub kind: SchemaErrorKind,
}

/// What is wrong with a part of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaErrorKind {
    /// No answer would be held to it.
    Unknown,
    /// It must be this instead.
    Shape(&'static str),
    /// It is deeper than anybody follows.
    TooDeep,
}

const A_SCHEMA: &str = "a schema: a mapping, true or false";

/// More than this is not said of one schema.
const MAX_FLAWS: usize = 20;

/// The keywords of a schema that are not known, with the place of each.
pub fn unsupported(schema: &Value) -> Vec<(String, String)> {
    let unknown = schema_errors(schema).into_iter().filter(|flaw| flaw.kind == SchemaErrorKind::Unknown);
    unknown.map(|flaw| (flaw.path, flaw.keyword)).collect()
}

/// What is wrong with a schema, the first few.
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
        if self.errors.len() < MAX_FLAWS {
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
        if self.errors.len() >= MAX_FLAWS {
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

/// What a value should have been, if it is not.
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

/// A count, however it is written.
pub(super) fn count(value: &Value) -> Option<usize> {
    let Value::Number(number) = value else { return None };
    usize::try_from(whole(number)?).ok()
}
