//! Writes an entity in Windlass's own format.
//!
//! Reading the file gives back everything that the format can express. The kind, the level and the
//! plugin are not in the file: the reader knows them from its location.

use std::fmt::Write as _;

use windlass_core::entity::{Entity, ToolRule};

use super::entity_draft::Meaning;
use super::windlass;
use crate::tracker::yaml;

/// Renders an entity as a Markdown file in Windlass's format.
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
    for agent in &entity.agents {
        line(&mut head, "agent", &quote(agent));
    }
    if !entity.agents.is_empty() && !entity.extra.contains_key("context") {
        line(&mut head, "context", "fork");
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

/// Quotes a text, and escapes the two characters that YAML allows only in escaped form.
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

/// Writes the model, or the whole list of models if the entity came with one.
fn model(head: &mut String, entity: &Entity) {
    let all = entity.extra.get("model").filter(|all| all.is_array());
    match (all, &entity.model) {
        (Some(all), _) => line(head, "model", &json(all)),
        (None, Some(model)) => line(head, "model", &quote(&model.original)),
        (None, None) => {}
    }
}

fn tools(head: &mut String, entity: &Entity) {
    if let Some(tools) = &entity.tools {
        let written = tools.iter().map(|tool| tool.pattern.as_deref().unwrap_or(&tool.name));
        line(head, "tools", &list(written));
    }
    if !entity.limits.is_empty() {
        let rule = |rule: &ToolRule| {
            let resource = rule.pattern.as_deref().unwrap_or("*");
            format!(
                "{{action: {}, resource: {}, effect: {}}}",
                quote(&rule.tool),
                quote(resource),
                rule.effect.word()
            )
        };
        let rules: Vec<String> = entity.limits.iter().map(rule).collect();
        line(head, "permissions", &format!("[{}]", rules.join(", ")));
    }
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", items.map(quote).collect::<Vec<_>>().join(", "))
}

/// Writes a JSON value as YAML on one line.
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
