//! Writes an entity in Windlass's own format.
//!
//! What the format can say comes back when it is read: where a file lies, and with it the kind,
//! the level and the plugin, is the reader's to know.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use windlass_core::entity::{Entity, Tool};

use super::draft::Meaning;
use super::windlass;
use crate::tracker::yaml;

/// An entity as a Markdown file of Windlass.
pub fn print(entity: &Entity) -> String {
    let mut head = String::new();
    line(&mut head, "name", &quote(&entity.name));
    if !entity.description.is_empty() {
        line(&mut head, "description", &quote(&entity.description));
    }
    if !entity.aliases.is_empty() {
        line(&mut head, "aliases", &list(entity.aliases.iter().map(String::as_str)));
    }
    if let Some(hint) = &entity.argument_hint {
        line(&mut head, "argument-hint", &quote(hint));
    }
    model(&mut head, entity);
    tools(&mut head, entity);
    for (key, value) in &entity.extra {
        if windlass::meaning(entity.kind, key) == Meaning::Other {
            line(&mut head, &quote(key), &json(value));
        }
    }
    format!("---\n{head}---\n\n{}\n", entity.prompt)
}

/// Text in double quotes, without the two characters that YAML allows only by their number.
fn quote(text: &str) -> String {
    let quoted = yaml::quote(text);
    match quoted.contains(['\u{fffe}', '\u{ffff}']) {
        true => quoted.replace('\u{fffe}', "\\ufffe").replace('\u{ffff}', "\\uffff"),
        false => quoted,
    }
}

fn line(head: &mut String, key: &str, value: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(head, "{key}: {value}");
}

/// A list of models says more than the first of them.
fn model(head: &mut String, entity: &Entity) {
    let all = entity.extra.get("model").filter(|all| all.is_array());
    match (all, &entity.model) {
        (Some(all), _) => line(head, "model", &json(all)),
        (None, Some(model)) => line(head, "model", &quote(&model.original)),
        (None, None) => {}
    }
}

/// A map of switches says more than the tools that are on, where it says the same of them.
fn tools(head: &mut String, entity: &Entity) {
    let maps = ["tools", "allowed-tools"].into_iter().filter_map(|key| Some((key, entity.extra.get(key)?)));
    let map = maps.into_iter().find(|(_, map)| switched_on(map).is_some_and(|on| is_same(&on, entity)));
    match (map, &entity.tools) {
        (Some((key, map)), _) => line(head, key, &json(map)),
        (None, Some(tools)) => {
            let written = tools.iter().map(|tool| tool.pattern.as_deref().unwrap_or(&tool.name));
            line(head, "tools", &list(written));
        }
        (None, None) => {}
    }
}

/// The tools that a map switches on, if it is one that switches any off.
fn switched_on(map: &serde_json::Value) -> Option<Vec<Tool>> {
    let map = map.as_object()?;
    let mut on = Vec::new();
    for (key, value) in &sorted(map) {
        match (value.as_bool(), value.as_str()) {
            (Some(true), _) | (_, Some("allow" | "ask")) => on.push(Tool::named(key)),
            (Some(false), _) | (_, Some("deny")) => {}
            _ if value.is_null() => {}
            _ => return None,
        }
    }
    (on.len() < map.len()).then_some(on)
}

/// In the order in which a map of switches is read.
fn sorted(map: &serde_json::Map<String, serde_json::Value>) -> BTreeMap<&str, &serde_json::Value> {
    map.iter().map(|(key, value)| (key.as_str(), value)).collect()
}

fn is_same(on: &[Tool], entity: &Entity) -> bool {
    entity
        .tools
        .as_ref()
        .map_or(on.is_empty(), |tools| tools.len() == on.len() && on.iter().all(|tool| tools.contains(tool)))
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", items.map(quote).collect::<Vec<_>>().join(", "))
}

/// A JSON value on one line, as YAML reads it.
fn json(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => quote(text),
        serde_json::Value::Array(items) => {
            format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(", "))
        }
        serde_json::Value::Object(members) => {
            let pairs: Vec<String> =
                members.iter().map(|(key, value)| format!("{}: {}", quote(key), json(value))).collect();
            format!("{{{}}}", pairs.join(", "))
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            value.to_string()
        }
    }
}
