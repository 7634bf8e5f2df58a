//! A schema as Claude Code takes it in `--json-schema`.
//!
//! The CLI makes it the input of a tool, so only an object can be asked for. It is read twice: the
//! CLI knows draft 7 and ends at a word it does not know, the service wants draft 2020-12 and
//! takes no choice at the top. What one of them refuses is told to the agent in words instead;
//! that the answer fits all of the schema is for the caller to see.

use serde_json::{Map, Value};
use windlass_core::graph::schema::{KEYWORDS, KeywordShape, example};

/// An argument may not be longer than 128 KB.
const LONGEST: usize = 100_000;

/// Refused at the top by the service.
const CHOICES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// The argument, if the CLI can ask for such an answer. Without it the answer is in the text.
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
        asked.insert("description".to_owned(), told(keywords, schema).into());
    }
    Some(Value::Object(asked).to_string()).filter(|text| text.len() <= LONGEST)
}

fn told(keywords: &Map<String, Value>, schema: &Value) -> String {
    let before = keywords.get("description").and_then(Value::as_str).map(|text| format!("{text}\n\n"));
    format!("{}It must fit this JSON Schema: {schema}", before.unwrap_or_default())
}

/// Leaves out what the CLI or the service refuses wherever it stands.
struct Passing {
    /// Something was left out that an answer is held to.
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
            // It speaks of the items behind the first ones.
            "items" => !has_first,
            _ => true,
        };
        let kept = keywords.iter().filter(|(keyword, _)| is_kept(keyword));
        kept.map(|(keyword, value)| (keyword.clone(), self.below(keyword, value))).collect()
    }

    /// The schemas behind a keyword. Only they are schemas: a property may be called `$id`.
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
