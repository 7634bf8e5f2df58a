//! Makes a different fitting value in each round, for a simulated agent: a loop that waits for one of
//! them then ends.
//!
//! [`example`] makes the first value. Here its booleans, choices, numbers and lists change from round to
//! round, and only values that fit the schema are used.

use serde_json::{Value, json};

use super::{example, resolve, validate};

/// The most places of a value that change.
const MAX_PLACES: usize = 32;
/// The most schemas that are visited on the way to one place.
const MAX_DEPTH: usize = 16;

/// A place in a value, with the values that are tried there.
struct VaryingPlace {
    pointer: String,
    values: Vec<Value>,
}

/// Makes a value that fits the schema, for a round counted from 1. In the first round booleans are true.
/// In the next rounds every place takes its next value, and after that all combinations follow.
pub fn example_in_round(schema: &Value, round: u32) -> Value {
    let base = example(schema);
    let mut places = Vec::new();
    Finder { root: schema, places: &mut places }.find(schema, &base, String::new(), MAX_DEPTH);
    let round = usize::try_from(round.saturating_sub(1)).unwrap_or(0);
    let longest = places.iter().map(|place| place.values.len()).max().unwrap_or(1);
    let mut left = round.saturating_sub(longest);
    let mut made = base.clone();
    for place in &places {
        let count = place.values.len();
        let at = if round < longest { round % count } else { left % count };
        left /= count;
        // A list that is empty in this round has no items to change.
        if let (Some(spot), Some(value)) = (made.pointer_mut(&place.pointer), place.values.get(at)) {
            let before = std::mem::replace(spot, value.clone());
            if !validate(schema, &made).is_empty()
                && let Some(spot) = made.pointer_mut(&place.pointer)
            {
                *spot = before;
            }
        }
    }
    made
}

struct Finder<'a> {
    root: &'a Value,
    places: &'a mut Vec<VaryingPlace>,
}

impl Finder<'_> {
    fn find(&mut self, schema: &Value, value: &Value, pointer: String, depth: usize) {
        if depth == 0 || self.places.len() >= MAX_PLACES {
            return;
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|to| resolve(self.root, to))
        {
            self.find(&target.clone(), value, pointer.clone(), depth - 1);
        }
        for part in
            ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array()).flatten()
        {
            self.find(part, value, pointer.clone(), depth - 1);
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            return self.add(pointer, choices.clone());
        }
        match value {
            Value::Bool(_) => self.add(pointer, vec![json!(true), json!(false)]),
            Value::Number(_) => {
                let most = schema.get("maximum").filter(|most| *most != value).cloned();
                self.add(pointer, std::iter::once(value.clone()).chain(most).collect());
            }
            Value::Array(items) if !items.is_empty() => {
                self.add(pointer.clone(), vec![value.clone(), json!([])]);
                let Some(schema) = schema.get("items") else { return };
                for (index, item) in items.iter().enumerate() {
                    self.find(schema, item, format!("{pointer}/{index}"), depth - 1);
                }
            }
            Value::Object(members) => {
                for (name, member) in members {
                    let name_in_pointer = name.replace('~', "~0").replace('/', "~1");
                    let schema = schema.get("properties").and_then(|properties| properties.get(name));
                    if let Some(schema) = schema {
                        self.find(schema, member, format!("{pointer}/{name_in_pointer}"), depth - 1);
                    }
                }
            }
            Value::Array(_) | Value::String(_) | Value::Null => {}
        }
    }

    fn add(&mut self, pointer: String, values: Vec<Value>) {
        let is_known = self.places.iter().any(|place| place.pointer == pointer);
        if values.len() > 1 && !is_known {
            self.places.push(VaryingPlace { pointer, values });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_gives_a_value_that_fits() {
        let schema = json!({
            "type": "object", "required": ["ok", "verdict", "score", "issues", "kind"],
            "properties": {
                "ok": {"type": "boolean"},
                "verdict": {"enum": ["reject", "approve"]},
                "score": {"type": "number", "minimum": 0, "maximum": 1},
                "issues": {"type": "array", "items": {"type": "string"}},
                "kind": {"$ref": "#/$defs/kind"},
            },
            "$defs": {"kind": {"enum": ["a", "b", "c"]}},
        });
        let rounds: Vec<Value> = (1..=60).map(|round| example_in_round(&schema, round)).collect();
        for (index, value) in rounds.iter().enumerate() {
            assert_eq!(validate(&schema, value), Vec::new(), "round {}: {value}", index + 1);
        }
        assert_eq!(
            rounds[0],
            json!({"ok": true, "verdict": "reject", "score": 0, "issues": ["text"], "kind": "a"})
        );
        assert_eq!(
            rounds[1],
            json!({"ok": false, "verdict": "approve", "score": 1, "issues": [], "kind": "b"})
        );
        assert_eq!(rounds[2]["kind"], "c");
        let is_both = |value: &Value| value["ok"] == true && value["verdict"] == "approve";
        assert!(rounds.iter().any(is_both), "every combination comes");
    }

    #[test]
    fn a_place_that_may_not_change_stays() {
        let schema = json!({
            "type": "array", "minItems": 1, "items": {"const": 3},
        });
        for round in 1..5 {
            assert_eq!(example_in_round(&schema, round), json!([3]), "round {round}");
        }
        assert_eq!(example_in_round(&json!({"type": "boolean"}), 0), json!(true));
        assert_eq!(example_in_round(&json!(true), 7), example(&json!(true)));
    }
}
