//! Makes a value that fits a schema, for a dry run without an agent.
//!
//! First, references, `allOf` and one alternative each of `anyOf` and `oneOf` are merged into plain
//! schemas. Each plain schema yields a few candidates, and the first that fits wins. For a schema
//! that is too hard, the result only resembles a fitting value.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value, json};

use super::keywords::count;
use super::numbers::{compare, float, is_same, whole};
use super::resolve;
use super::validate::validate_in;

/// Depths to try, shallow first: a recursive schema then gets a small example.
const DEPTHS: [usize; 4] = [4, 8, 16, 32];
/// The most schemas visited in total.
const MAX_STEPS: usize = 2_000;
/// The most plain schemas for one schema.
const MAX_WAYS: usize = 16;
/// The most `enum` values, items or properties that are tried or made.
const MANY: usize = 100;
/// The longest text that is made.
const LONGEST: usize = 10_000;

type Keywords = Map<String, Value>;

/// Makes a small value that fits the schema, or at least resembles one that does.
pub fn example(schema: &Value) -> Value {
    let mut made = Value::Null;
    // Prefer lists with one item, so that templates have something to use; else take empty lists.
    for (items, depth) in [1, 0].into_iter().flat_map(|items| DEPTHS.map(|depth| (items, depth))) {
        made = Maker { root: schema, steps: MAX_STEPS, items }.make(schema, depth);
        if fits(schema, schema, &made) {
            break;
        }
    }
    made
}

fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    validate_in(root, schema, value).is_empty()
}

struct Maker<'s> {
    root: &'s Value,
    steps: usize,
    /// The least number of items in a list.
    items: usize,
}

impl Maker<'_> {
    fn has_leave(&mut self, depth: usize) -> bool {
        self.steps = self.steps.saturating_sub(1);
        depth > 0 && self.steps > 0
    }

    fn make(&mut self, schema: &Value, depth: usize) -> Value {
        let mut first = None;
        for way in self.ways(schema, depth) {
            for candidate in self.candidates(&way, depth) {
                if fits(self.root, schema, &candidate) {
                    return candidate;
                }
                first.get_or_insert(candidate);
            }
        }
        first.unwrap_or(Value::Null)
    }

    /// Resolves references and alternatives: a value that fits any of the results fits this schema.
    fn ways(&mut self, schema: &Value, depth: usize) -> Vec<Keywords> {
        let keywords = match schema {
            Value::Object(keywords) if self.has_leave(depth) => keywords,
            Value::Bool(true) => return vec![Keywords::new()],
            _ => return Vec::new(),
        };
        let is_own = |key: &str| !["$ref", "allOf", "anyOf", "oneOf", "$defs", "definitions"].contains(&key);
        let own = keywords.iter().filter(|(key, _)| is_own(key));
        let mut ways = vec![own.map(|(key, value)| (key.clone(), value.clone())).collect()];
        let target = keywords.get("$ref").and_then(Value::as_str).map(|to| resolve(self.root, to));
        if let Some(target) = target {
            let target = target.map(|target| self.ways(target, depth - 1)).unwrap_or_default();
            ways = product(&ways, &target);
        }
        for part in list(keywords, "allOf") {
            ways = product(&ways, &self.ways(part, depth - 1));
        }
        for choice in ["anyOf", "oneOf"].map(|keyword| list(keywords, keyword)) {
            if !choice.is_empty() {
                let all: Vec<_> = choice.iter().flat_map(|way| self.ways(way, depth - 1)).collect();
                ways = product(&ways, &all);
            }
        }
        ways
    }

    fn candidates(&mut self, way: &Keywords, depth: usize) -> Vec<Value> {
        let noted = way.get("default").into_iter().chain(list(way, "examples").iter().take(3));
        let given = way.get("const").into_iter().chain(list(way, "enum").iter().take(MANY));
        let mut all: Vec<Value> = noted.chain(given).cloned().collect();
        if way.contains_key("const") || way.contains_key("enum") {
            return all;
        }
        for name in types(way) {
            match name {
                "object" => all.push(self.object(way, depth)),
                "array" => {
                    let least = way.get("minItems").and_then(count).unwrap_or(0).min(MANY);
                    let more = if depth > 0 { self.items } else { 0 };
                    let mut sizes = vec![least.max(more), least];
                    sizes.dedup();
                    all.extend(sizes.into_iter().map(|size| self.array(way, size, depth)));
                }
                "number" | "integer" => all.extend(numbers(way)),
                "boolean" => all.extend([json!(false), json!(true)]),
                "null" => all.push(Value::Null),
                _ => all.push(text(way).into()),
            }
        }
        all
    }

    fn object(&mut self, way: &Keywords, depth: usize) -> Value {
        let mut names: Vec<&str> = list(way, "required").iter().filter_map(Value::as_str).collect();
        let properties = way.get("properties").and_then(Value::as_object);
        let least = way.get("minProperties").and_then(count).unwrap_or(0).min(MANY);
        let spare = properties.into_iter().flat_map(Map::keys).map(String::as_str);
        let more: Vec<&str> = spare.filter(|name| !names.contains(name)).collect();
        names.extend(more.into_iter().take(least.saturating_sub(names.len())));
        let made_up: Vec<String> = (names.len()..least).map(|index| format!("property{index}")).collect();
        names.extend(made_up.iter().map(String::as_str));
        let others = way.get("additionalProperties").unwrap_or(&Value::Bool(true));
        let members = names.into_iter().map(|name| {
            let schema = properties.and_then(|properties| properties.get(name)).unwrap_or(others);
            (name.to_owned(), self.make(schema, depth - 1))
        });
        Value::Object(members.collect())
    }

    fn array(&mut self, way: &Keywords, size: usize, depth: usize) -> Value {
        let (first, rest) = (list(way, "prefixItems"), way.get("items").unwrap_or(&Value::Bool(true)));
        let is_unique = way.get("uniqueItems") == Some(&Value::Bool(true));
        let mut items: Vec<Value> = Vec::new();
        for index in 0..size {
            let schema = first.get(index).unwrap_or(rest);
            let item = self.make(schema, depth - 1);
            items.push(if is_unique { self.apart(schema, item, &items, depth - 1) } else { item });
        }
        Value::Array(items)
    }

    /// Returns the item, or a variation of it that is not in the list yet.
    fn apart(&mut self, schema: &Value, item: Value, there: &[Value], depth: usize) -> Value {
        let is_new = |value: &Value| !there.iter().any(|other| is_same(other, value));
        if is_new(&item) {
            return item;
        }
        let ways = self.ways(schema, depth);
        let others: Vec<Value> = ways.iter().flat_map(|way| self.candidates(way, depth)).collect();
        let varied = (1..=MANY).flat_map(|by| varied(&item, by));
        let found =
            others.into_iter().chain(varied).find(|value| is_new(value) && fits(self.root, schema, value));
        found.unwrap_or(item)
    }
}

fn list<'s>(way: &'s Keywords, keyword: &str) -> &'s [Value] {
    way.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Merges each schema of one list with each of the other.
fn product(one: &[Keywords], other: &[Keywords]) -> Vec<Keywords> {
    let pairs = one.iter().flat_map(|one| other.iter().map(move |other| merge(one.clone(), other)));
    pairs.take(MAX_WAYS).collect()
}

/// Merges two schemas into one that requires both, as far as one schema can express that.
fn merge(mut one: Keywords, other: &Keywords) -> Keywords {
    for (key, value) in other {
        let both = match one.get(key) {
            Some(before) => both(key, before, value),
            None => value.clone(),
        };
        one.insert(key.clone(), both);
    }
    one
}

fn both(key: &str, one: &Value, other: &Value) -> Value {
    match (key, one, other) {
        ("properties", Value::Object(one), Value::Object(other)) => {
            Value::Object(merge_properties(one, other))
        }
        ("required", Value::Array(one), Value::Array(other)) => {
            let more = other.iter().filter(|name| !one.contains(name));
            one.iter().chain(more).cloned().collect()
        }
        ("type", _, _) => {
            let is_in = |name: &str, all: &[&str]| {
                all.contains(&name) || (name == "integer" && all.contains(&"number"))
            };
            let (one, other) = (names(one), names(other));
            let first = one.iter().filter(|name| is_in(name, &other));
            let second = other.iter().filter(|name| is_in(name, &one) && !one.contains(name));
            second.chain(first).map(|name| json!(name)).collect()
        }
        (_, Value::Number(first), Value::Number(second)) => {
            let narrower = if key.starts_with("max") || key == "exclusiveMaximum" {
                Ordering::Less
            } else {
                Ordering::Greater
            };
            if compare(second, first) == narrower { other.clone() } else { one.clone() }
        }
        _ => one.clone(),
    }
}

fn merge_properties(one: &Keywords, other: &Keywords) -> Keywords {
    let mut all = one.clone();
    for (name, schema) in other {
        let schema = match one.get(name) {
            Some(before) => json!({ "allOf": [before, schema] }),
            None => schema.clone(),
        };
        all.insert(name.clone(), schema);
    }
    all
}

fn names(types: &Value) -> Vec<&str> {
    match types {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Returns the types that a schema names or, without `type`, suggests by its other keywords.
fn types(way: &Keywords) -> Vec<&str> {
    if let Some(said) = way.get("type") {
        return names(said);
    }
    let speaking: [(&str, &[&str]); 4] = [
        ("object", &["properties", "required", "additionalProperties", "minProperties"]),
        ("array", &["items", "prefixItems", "minItems"]),
        ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
        ("string", &["minLength", "maxLength"]),
    ];
    let is_spoken_of = |keys: &[&str]| keys.iter().any(|key| way.contains_key(*key));
    let mut types: Vec<&str> =
        speaking.iter().filter(|(_, keys)| is_spoken_of(keys)).map(|(name, _)| *name).collect();
    types.extend(["string", "null", "number", "object", "array"]);
    types
}

fn text(way: &Keywords) -> String {
    let bound = |keyword| way.get(keyword).and_then(count);
    let longest = bound("maxLength").unwrap_or(LONGEST).min(LONGEST);
    let length = "text".len().max(bound("minLength").unwrap_or(0)).min(longest);
    "text".chars().cycle().take(length).collect()
}

/// Returns candidate numbers: zero, then numbers at and near the bounds.
fn numbers(way: &Keywords) -> Vec<Value> {
    let given = |keyword: &str| way.get(keyword).and_then(Value::as_number);
    let value = |keyword| given(keyword).map(float);
    let step = value("multipleOf").unwrap_or(1.0);
    let below = [value("minimum"), value("exclusiveMinimum")].into_iter().flatten().reduce(f64::max);
    let above = [value("maximum"), value("exclusiveMaximum")].into_iter().flatten().reduce(f64::min);
    let low = below.map(|low| [low.ceil(), low.floor() + 1.0, (low / step).ceil() * step, low + step]);
    let high = above.map(|high| [high.floor(), high.ceil() - 1.0, (high / step).floor() * step, high - step]);
    let middle = below.zip(above).map(|(low, high)| low + (high - low) / 2.0);
    let exact =
        ["minimum", "maximum"].iter().filter_map(|keyword| given(keyword)).cloned().map(Value::Number);
    let near = low.into_iter().chain(high).flatten().chain(middle).chain([step]).filter_map(number);
    std::iter::once(json!(0)).chain(exact).chain(near).collect()
}

/// Converts a float to JSON, whole numbers without a fraction.
fn number(float: f64) -> Option<Value> {
    let number = Number::from_f64(float)?;
    Some(
        whole(&number).and_then(|whole| i64::try_from(whole).ok()).map_or(Value::Number(number), Value::from),
    )
}

/// Returns variations of a value.
fn varied(value: &Value, by: usize) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(start) => {
            let by = u32::try_from(by).map_or(0.0, f64::from);
            [float(start) + by, float(start) - by].into_iter().filter_map(number).collect()
        }
        Value::String(text) => {
            let digits = by.to_string();
            let kept = text.chars().count().saturating_sub(digits.len());
            let same_length: String = text.chars().take(kept).chain(digits.chars()).collect();
            vec![json!(same_length), json!(format!("{text}{digits}"))]
        }
        Value::Array(items) => {
            let one = |(index, item): (usize, &Value)| {
                varied(item, by).into_iter().map(move |other| {
                    let other_items = items.iter().enumerate();
                    other_items.map(|(at, item)| if at == index { &other } else { item }.clone()).collect()
                })
            };
            items.iter().enumerate().take(4).flat_map(one).collect()
        }
        Value::Object(members) => {
            let one = |(name, member): (&String, &Value)| {
                let with = |other| {
                    let mut members = members.clone();
                    members.insert(name.clone(), other);
                    Value::Object(members)
                };
                varied(member, by).into_iter().map(with).collect::<Vec<_>>()
            };
            members.iter().take(4).flat_map(one).collect()
        }
    }
}
