//! The tables of docs/workflow-reference.md describe the keys of the published schema.
//!
//! A table is between the lines `<!-- keys: NAME -->` and `<!-- /keys -->`. NAME is `workflow` for the
//! keys at the top of a document, the name of another mapping, or `node KIND` for the keys of a kind of
//! node. With `WINDLASS_TEST_UPDATE` set, the first test writes the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use serde_json::value::RawValue;
use windlass_forms::workflow::document::schema;

const PAGE: &str = "docs/workflow-reference.md";
const UPDATE: &str = "WINDLASS_TEST_UPDATE=1 cargo test -p windlass-forms --test forms workflow_reference";

const OPENING: &str = "<!-- keys: ";
const CLOSING: &str = "<!-- /keys -->";

/// A table as the page has it.
struct TableOnPage {
    name: String,
    /// The heading above it, without `#`.
    heading: String,
}

fn page_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE)
}

fn page() -> String {
    fs::read_to_string(page_file()).unwrap()
}

fn table_name(line: &str) -> Option<&str> {
    line.strip_prefix(OPENING)?.strip_suffix(" -->")
}

fn tables_on(page: &str) -> Vec<TableOnPage> {
    let mut heading = String::new();
    let mut tables = Vec::new();
    for line in page.lines() {
        if line.starts_with('#') {
            heading = line.trim_start_matches('#').trim().to_owned();
        }
        tables.extend(
            table_name(line).map(|name| TableOnPage { name: name.to_owned(), heading: heading.clone() }),
        );
    }
    tables
}

/// Returns the page with these tables in place of its own. Leaves a table of another name as it is.
fn with_tables(page: &str, tables: &BTreeMap<String, String>) -> String {
    let mut written = String::new();
    let mut is_old_table = false;
    for line in page.lines() {
        is_old_table &= line != CLOSING;
        if !is_old_table {
            written.push_str(&format!("{line}\n"));
        }
        if let Some(table) = table_name(line).and_then(|name| tables.get(name)) {
            written.push_str(table);
            is_old_table = true;
        }
    }
    written
}

/// Returns the part of a link after `#` that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()
}

/// The published schema.
struct Schema {
    text: String,
    root: Value,
    /// The anchor of the section that describes each mapping.
    anchors: BTreeMap<String, String>,
}

/// A mapping of the schema, or a kind of node.
struct KeyTable {
    name: String,
    keys: Vec<String>,
    required: Vec<String>,
    properties: Value,
}

impl Schema {
    fn read(page: &str) -> Schema {
        let text = schema(&[]);
        let anchors = tables_on(page).into_iter().map(|table| (table.name, anchor(&table.heading))).collect();
        Schema { root: serde_json::from_str(&text).unwrap(), text, anchors }
    }

    fn definition(&self, name: &str) -> &Value {
        &self.root["$defs"][name]
    }

    /// Returns the definition that this part of the schema refers to, with its name.
    fn referred<'s>(&'s self, part: &'s Value) -> Option<(&'s str, &'s Value)> {
        let name = part["$ref"].as_str()?.strip_prefix("#/$defs/")?;
        Some((name, self.definition(name)))
    }

    fn tables(&self) -> Vec<KeyTable> {
        let mappings = members(self.definition_text()).into_iter().map(|(name, _)| name);
        let mappings =
            mappings.filter(|name| *name != "node" && self.definition(name)["properties"].is_object());
        let mappings: Vec<KeyTable> = mappings.map(|name| self.mapping(name)).collect();
        [vec![self.workflow()], mappings, self.kinds()].into_iter().flatten().collect()
    }

    fn workflow(&self) -> KeyTable {
        KeyTable {
            name: "workflow".to_owned(),
            keys: keys(&self.text),
            required: texts(&self.root["required"]),
            properties: self.root["properties"].clone(),
        }
    }

    fn mapping(&self, name: &str) -> KeyTable {
        let definition = self.definition(name);
        KeyTable {
            name: name.to_owned(),
            keys: keys(member(self.definition_text(), name)),
            required: texts(&definition["required"]),
            properties: definition["properties"].clone(),
        }
    }

    /// The kinds of node. `oneOf` names the kinds, and `dependentSchemas` the kinds that a key belongs to.
    fn kinds(&self) -> Vec<KeyTable> {
        let node = self.definition("node");
        let ways = node["oneOf"].as_array().unwrap();
        let owners = node["dependentSchemas"].as_object().unwrap();
        let in_order = keys(member(self.definition_text(), "node"));
        let table = |way: &Value| {
            let words = texts(&way["required"]);
            let (kind, required) = words.split_first().unwrap();
            let belongs = |key: &String| {
                let owners = owners.get(key).and_then(|owners| owners["anyOf"].as_array());
                let is_owned =
                    owners.is_some_and(|owners| owners.iter().any(|way| way["required"][0] == **kind));
                // `prompt` is a kind of its own, unless the node has an `agent`.
                let is_shared =
                    |way: &Value| way["required"][0] == **key && way["not"]["required"][0] == **kind;
                is_owned || ways.iter().any(is_shared)
            };
            let own = in_order.iter().filter(|key| belongs(key)).cloned();
            KeyTable {
                name: format!("node {kind}"),
                keys: std::iter::once(kind.clone()).chain(own).collect(),
                required: required.to_vec(),
                properties: node["properties"].clone(),
            }
        };
        ways.iter().map(table).collect()
    }

    fn definition_text(&self) -> &str {
        member(&self.text, "$defs")
    }

    fn description(&self, property: &Value) -> String {
        let own = property["description"].as_str();
        let referred =
            || self.referred(property).and_then(|(_, definition)| definition["description"].as_str());
        own.or_else(referred).unwrap_or_default().to_owned()
    }

    fn table_text(&self, table: &KeyTable) -> String {
        let row = |key: &String| {
            let property = &table.properties[key];
            let required = if table.required.contains(key) { "Required. " } else { "" };
            let meaning = format!("{required}{}{}", self.description(property), default(property));
            let value = listed(&self.values(property));
            format!("| `{key}` | {value} | {} |\n", meaning.replace('|', "\\|"))
        };
        let rows: String = table.keys.iter().map(row).collect();
        format!("| key | value | meaning |\n|---|---|---|\n{rows}")
    }

    /// Describes the values that a part of the schema allows: the alternatives in words.
    fn values(&self, part: &Value) -> Vec<String> {
        if let Some((name, definition)) = self.referred(part) {
            return self.named(name, definition);
        }
        if let Some(ways) = part["anyOf"].as_array() {
            return ways.iter().flat_map(|way| self.values(way)).collect();
        }
        if let Some(words) = part["enum"].as_array() {
            return words.iter().map(code).collect();
        }
        if let Some(word) = part.get("const") {
            return vec![code(word)];
        }
        match &part["type"] {
            Value::Array(types) => types.iter().map(|name| simple(name.as_str().unwrap())).collect(),
            Value::String(name) => self.of_type(name, part),
            _ => vec!["any value".to_owned()],
        }
    }

    fn named(&self, name: &str, definition: &Value) -> Vec<String> {
        let word = match name {
            "template" | "condition" | "id" => name.to_owned(),
            "duration" => "time".to_owned(),
            "input_number" => "`inputs.NAME`".to_owned(),
            "input_driver" => return vec!["driver".to_owned(), "`inputs.NAME`".to_owned()],
            "computed_count" | "computed_time" => self.link("`{ from, at_most }`", name),
            _ if definition["properties"].is_object() => self.link("mapping", name),
            _ => return self.values(definition),
        };
        vec![word]
    }

    fn of_type(&self, name: &str, part: &Value) -> Vec<String> {
        let each = part.get("additionalProperties").filter(|each| each.is_object());
        let named =
            part["patternProperties"].as_object().and_then(|ways| ways.values().find(|way| way.is_object()));
        let one = match (name, each.or(named)) {
            ("boolean", _) => return vec!["`true`".to_owned(), "`false`".to_owned()],
            ("integer", _) if part["minimum"] == 1 => "whole number from 1".to_owned(),
            ("number", _) if part["maximum"].is_number() => {
                format!("number from {} to {}", part["minimum"], part["maximum"])
            }
            ("array", _) => self.list(part),
            ("object", Some(value)) => format!("for each name: {}", listed(&self.values(value))),
            _ => simple(name),
        };
        vec![one]
    }

    fn list(&self, part: &Value) -> String {
        let Some(items) = part.get("items") else { return "list".to_owned() };
        let plural: Vec<String> = self.named_items(items).iter().map(|word| format!("{word}s")).collect();
        format!("list of {}", listed(&plural))
    }

    fn named_items(&self, items: &Value) -> Vec<String> {
        match self.referred(items) {
            Some(("node", _)) => vec!["node".to_owned()],
            _ => self.values(items),
        }
    }

    fn link(&self, text: &str, name: &str) -> String {
        match self.anchors.get(name) {
            Some(anchor) => format!("[{text}](#{anchor})"),
            None => text.to_owned(),
        }
    }
}

/// The members of a JSON object, in the order of the text.
fn members(object: &str) -> Vec<(&str, &RawValue)> {
    let members: BTreeMap<&str, &RawValue> = serde_json::from_str(object).unwrap();
    let mut members: Vec<(&str, &RawValue)> = members.into_iter().collect();
    members.sort_by_key(|(_, value)| value.get().as_ptr());
    members
}

fn member<'t>(object: &'t str, name: &str) -> &'t str {
    members(object).into_iter().find(|(key, _)| *key == name).unwrap().1.get()
}

/// The keys of a mapping, in the order of the schema.
fn keys(mapping: &str) -> Vec<String> {
    members(member(mapping, "properties")).into_iter().map(|(key, _)| key.to_owned()).collect()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|item| item.as_str().unwrap().to_owned()).collect()
}

fn simple(type_name: &str) -> String {
    match type_name {
        "string" => "text",
        "integer" => "whole number",
        "object" => "mapping",
        "array" => "list",
        other => other,
    }
    .to_owned()
}

fn code(word: &Value) -> String {
    format!("`{}`", word.as_str().map_or_else(|| word.to_string(), str::to_owned))
}

fn default(property: &Value) -> String {
    property.get("default").map(|value| format!(" Default: {}.", code(value))).unwrap_or_default()
}

/// Joins alternatives: `a`, `a or b`, `a, b or c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[test]
fn every_table_of_the_page_is_the_one_of_the_schema() {
    let found = page();
    let schema = Schema::read(&found);
    let tables = schema.tables();
    let tables = tables.iter().map(|table| (table.name.clone(), schema.table_text(table))).collect();
    let expected = with_tables(&found, &tables);
    if std::env::var_os("WINDLASS_TEST_UPDATE").is_some() {
        fs::write(page_file(), &expected).unwrap();
        return;
    }
    assert!(found == expected, "{PAGE} is not what schema.json describes: run `{UPDATE}`");
}

#[test]
fn every_mapping_and_every_kind_of_node_has_exactly_one_table() {
    let page = page();
    let mut expected: Vec<String> =
        Schema::read(&page).tables().into_iter().map(|table| table.name).collect();
    let mut found: Vec<String> = tables_on(&page).into_iter().map(|table| table.name).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "the tables of {PAGE}");
    let closed = page.lines().filter(|line| *line == CLOSING).count();
    assert_eq!(closed, found.len(), "`{CLOSING}` ends each table");
}

#[test]
fn every_kind_of_node_has_a_section_of_its_own() {
    let mut sections = BTreeSet::new();
    for table in tables_on(&page()) {
        let Some(kind) = table.name.strip_prefix("node ") else { continue };
        assert!(table.heading.starts_with(&format!("`{kind}`: ")), "`{kind}` is below `{}`", table.heading);
        assert!(sections.insert(table.heading.clone()), "{} has two kinds", table.heading);
    }
}

#[test]
fn every_key_of_the_schema_has_a_description() {
    let schema = Schema::read("");
    for table in schema.tables() {
        for key in &table.keys {
            let description = schema.description(&table.properties[key]);
            assert!(
                description.ends_with('.'),
                "`{key}` of `{}`: {description:?} is no sentence",
                table.name
            );
        }
    }
}

#[test]
fn a_table_of_the_page_is_replaced_and_the_text_around_it_kept() {
    let page = "a\n<!-- keys: x -->\nold\n<!-- /keys -->\nb\n<!-- keys: y -->\nkept\n<!-- /keys -->\n";
    let tables = [("x".to_owned(), "new\n".to_owned())].into();
    let expected = "a\n<!-- keys: x -->\nnew\n<!-- /keys -->\nb\n<!-- keys: y -->\nkept\n<!-- /keys -->\n";
    assert_eq!(with_tables(page, &tables), expected);
}
