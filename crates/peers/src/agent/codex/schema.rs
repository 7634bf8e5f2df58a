//! Adapts a schema to Codex's `--output-schema`.
//!
//! The service follows such a schema to the letter and accepts only a part of JSON Schema: each object lists
//! all of its properties as required and allows no others. A schema that asks for less than that is not passed
//! on. The prompt contains every schema, and the caller checks the answer against all of it.

use serde_json::{Map, Value};

/// The keywords that the service accepts.
const ACCEPTED: &[&str] = &[
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "description",
    "title",
    "$ref",
    "$defs",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "pattern",
];
/// The deepest nesting that the service accepts.
const DEEPEST: usize = 10;

/// Returns the schema, if the service accepts it.
pub(super) fn accepted(schema: &Value) -> Option<&Value> {
    let is_object =
        schema.get("type").and_then(Value::as_str) == Some("object") && schema.get("anyOf").is_none();
    (is_object && is_accepted(schema, DEEPEST)).then_some(schema)
}

fn is_accepted(schema: &Value, depth: usize) -> bool {
    let Value::Object(keywords) = schema else { return false };
    let each = |value: &Value| match value {
        Value::Object(all) => all.values().all(|one| is_accepted(one, depth - 1)),
        Value::Array(all) => all.iter().all(|one| is_accepted(one, depth - 1)),
        _ => false,
    };
    let fits = |(keyword, value): (&String, &Value)| match keyword.as_str() {
        "properties" | "$defs" | "anyOf" => each(value),
        "items" => is_accepted(value, depth - 1),
        keyword => ACCEPTED.contains(&keyword),
    };
    depth > 0 && keywords.iter().all(fits) && is_closed(keywords)
}

/// Decides whether an object requires all of its properties and allows no others.
fn is_closed(keywords: &Map<String, Value>) -> bool {
    let is_object = keywords.get("type").is_some_and(|kind| match kind {
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
        kind => kind == "object",
    });
    if !is_object && !keywords.contains_key("properties") {
        return true;
    }
    let Some(Value::Object(properties)) = keywords.get("properties") else { return false };
    let required = keywords.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_required = |name: &String| required.iter().any(|required| required == name);
    properties.keys().all(is_required) && keywords.get("additionalProperties") == Some(&Value::Bool(false))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_passed_on_only_if_it_leaves_nothing_open() {
        let closed = json!({
            "type": "object", "required": ["a", "b"], "additionalProperties": false,
            "properties": {
                "a": { "type": "array", "items": { "$ref": "#/$defs/x" } },
                "b": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            },
            "$defs": { "x": { "enum": [1, 2] } },
        });
        assert_eq!(accepted(&closed), Some(&closed));
        let with = |key: &str, value: Value| {
            let mut schema = closed.clone();
            schema[key] = value;
            schema
        };
        for open in [
            json!({ "type": "string" }),
            json!({ "type": "object" }),
            with("required", json!(["a"])),
            with("additionalProperties", json!(true)),
            with("oneOf", json!([])),
            with("$defs", json!({ "x": { "type": "object", "properties": {} } })),
            with("properties", json!({ "a": true, "b": {} })),
        ] {
            assert_eq!(accepted(&open), None, "{open}");
        }
    }
}
