//! Adapts a schema to Claude Code's `--json-schema`.
//!
//! The CLI turns the schema into the input of a tool, so it supports only objects. Two parsers read the
//! schema: the CLI supports draft 7 and exits at an unknown keyword; the service expects draft 2020-12
//! and rejects a choice at the top level. A part that either rejects goes into the description as text
//! instead. The caller checks the answer against the whole schema.

use serde_json::{Map, Value};
use windlass_core::graph::schema::{KEYWORDS, KeywordShape, example};

/// An argument is limited to 128 KB.
const LONGEST: usize = 100_000;

/// Keywords that the service rejects at the top level.
const CHOICES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Returns the argument, if the CLI supports such an answer. Without it, the answer is in the text.
pub(super) fn argument(schema: &Value) -> Option<String> {
    let Value::Object(keywords) = schema else { return None };
    let is_object = match keywords.get("type") {
        Some(Value::String(name)) => name == "object",
        _ => example(schema).is_object(),
    };
    if !is_object {
        return None;
    }
    let mut passing = Passing { has_lost: CHOICES.iter().any(|choice| keywords.contains_key(*choice)) };
    let mut asked = passing.keywords(keywords);
    asked.retain(|keyword, _| !CHOICES.contains(&keyword.as_str()));
    asked.insert("type".to_owned(), "object".into());
    if passing.has_lost {
        asked.insert("description".to_owned(), describe(keywords, schema).into());
    }
    Some(Value::Object(asked).to_string()).filter(|text| text.len() <= LONGEST)
}

fn describe(keywords: &Map<String, Value>, schema: &Value) -> String {
    let before = keywords.get("description").and_then(Value::as_str).map(|text| format!("{text}\n\n"));
    format!("{}It must fit this JSON Schema: {schema}", before.unwrap_or_default())
}

/// A copier that drops the keywords that the CLI or the service rejects at any level.
struct Passing {
    /// Set if a dropped keyword constrains the answer.
    has_lost: bool,
}

impl Passing {
    fn schema(&mut self, schema: &Value) -> Value {
        match schema {
            Value::Object(keywords) => Value::Object(self.keywords(keywords)),
            _ => schema.clone(),
        }
    }

    fn keywords(&mut self, keywords: &Map<String, Value>) -> Map<String, Value> {
        let has_first = keywords.contains_key("prefixItems");
        self.has_lost |= has_first;
        let is_kept = |keyword: &str| match keyword {
            "$schema" | "$id" | "prefixItems" => false,
            // It describes the items after the first ones.
            "items" => !has_first,
            _ => true,
        };
        let kept = keywords.iter().filter(|(keyword, _)| is_kept(keyword));
        kept.map(|(keyword, value)| (keyword.clone(), self.below(keyword, value))).collect()
    }

    /// Copies the schemas below a keyword. Everything else is copied unchanged: a property may be named
    /// `$id`.
    fn below(&mut self, keyword: &str, value: &Value) -> Value {
        let shape = KEYWORDS.iter().find(|(known, _)| *known == keyword).map(|(_, shape)| *shape);
        match (shape, value) {
            (Some(KeywordShape::Schema), _) => self.schema(value),
            (Some(KeywordShape::Schemas), Value::Array(all)) => {
                all.iter().map(|one| self.schema(one)).collect()
            }
            (Some(KeywordShape::Named), Value::Object(all)) => {
                all.iter().map(|(name, one)| (name.clone(), self.schema(one))).collect()
            }
            _ => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(schema: Value) -> Option<Value> {
        argument(&schema).map(|text| serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn a_schema_of_an_object_is_passed_on_as_it_is() {
        let schema = json!({
            "type": "object", "description": "d", "required": ["$id"], "additionalProperties": false,
            "properties": { "$id": { "type": "string", "format": "uuid" }, "prefixItems": { "anyOf": [true, false] } },
        });
        assert_eq!(asked(schema.clone()), Some(schema));
        let plain =
            json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/a" } }, "$defs": { "a": {} } });
        assert_eq!(asked(plain.clone()), Some(plain));
    }

    #[test]
    fn only_an_object_can_be_asked_for() {
        for schema in [json!(true), json!({}), json!({ "type": "array" }), json!({ "enum": ["a"] })] {
            assert_eq!(asked(schema.clone()), None, "{schema}");
        }
        assert_eq!(asked(json!({ "required": [] })), Some(json!({ "type": "object", "required": [] })));
        let by_name = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "type": "object" } } });
        let expected =
            json!({ "type": "object", "$ref": "#/$defs/a", "$defs": { "a": { "type": "object" } } });
        assert_eq!(asked(by_name), Some(expected));
    }

    #[test]
    fn what_would_be_refused_is_told_in_words() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "oneOf": [{ "type": "object", "required": ["a"] }, { "type": "object", "required": ["b"] }],
            "properties": { "a": { "type": "array", "prefixItems": [true], "items": { "type": "null" }, "minItems": 1 } },
        });
        let expected = json!({
            "type": "object",
            "description": format!("It must fit this JSON Schema: {schema}"),
            "properties": { "a": { "type": "array", "minItems": 1 } },
        });
        assert_eq!(asked(schema), Some(expected));
    }

    #[test]
    fn what_is_too_long_for_an_argument_is_left_out() {
        let schema = |length| json!({ "type": "object", "title": "x".repeat(length) });
        assert!(argument(&schema(99_000)).is_some());
        assert_eq!(argument(&schema(100_000)), None);
    }
}
