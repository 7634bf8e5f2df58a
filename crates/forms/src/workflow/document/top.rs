//! Reads the top level of a workflow: its name, inputs, settings, plugins and checks.

use std::collections::BTreeMap;

use windlass_core::graph::workflow::{
    InputKind, InputRange, NodeNumber, SessionOptions, Workflow, WorkflowInput,
};

use super::NAMELESS;
use super::field_reader::{FieldReader, Map, join};
use super::keys::{INPUT, SETTINGS, TOP};
use super::node::{SHELLS, budget, env, finally, settings, steps};
use super::value::meant_flag;
use crate::json::{JsonMember, JsonNode, JsonValue};
use crate::words::{WordTable, is_label, quoted};
use crate::workflow::parse_plugin_ref;
use crate::yaml::to_json;

pub(super) const INPUT_KINDS: WordTable<InputKind> = WordTable(&InputKind::WORDS);

/// The names of input types in JSON Schema and other tools.
const KINDS_ELSEWHERE: &[(&str, &str)] = &[
    ("string", "text"),
    ("str", "text"),
    ("int", "integer"),
    ("float", "number"),
    ("bool", "boolean"),
    ("array", "list"),
];

/// Reads a workflow as far as possible. Nodes without an id get an empty one.
pub(super) fn workflow(form: &mut FieldReader<'_>, root: &JsonNode) -> Option<Workflow> {
    if matches!(root.value, JsonValue::Null) {
        if !form.is_open(root.at) {
            form.error(root.at, "the document is empty", Some("it begins with `name: …`".to_owned()));
        }
        return None;
    }
    if !matches!(root.value, JsonValue::Object(_)) {
        let hint = Some("it begins with `name: …` and `nodes:`".to_owned());
        form.error(root.at, "the document must be a mapping", hint);
        return None;
    }
    let map = form.any_map("", root)?;
    refuse_strangers(form, &map);
    let name = form.need(&map, "name", name);
    let description = form.take(&map, "description", FieldReader::text);
    let inputs = form.take(&map, "inputs", inputs).unwrap_or_default();
    form.inputs.clone_from(&inputs);
    let settings = form.take(&map, "settings", |form, path, node| {
        let map = form.map(path, node, SETTINGS)?;
        let settings = settings(form, &map);
        let timeout_from = form.computed.remove(&NodeNumber::Timeout);
        let shell = form.take(&map, "shell", |form, path, node| form.word(path, node, &SHELLS));
        Some(SessionOptions { shell, timeout_from, ..settings })
    });
    let budget = budget(form, &map);
    let plugins = form.take(&map, "plugins", plugins).unwrap_or_default();
    let checks = form.take(&map, "checks", checks).unwrap_or_default();
    let env = form.take(&map, "env", env).unwrap_or_default();
    let gives = form.take(&map, "gives", FieldReader::expression);
    let body = form.need(&map, "nodes", steps);
    let last = form.take(&map, "finally", finally);
    let body = body.map(|mut body| {
        body.extend(last);
        body
    });
    let settings = settings.unwrap_or_default();
    // A document that breaks off may have more nodes than these.
    form.is_lost |= form.is_open(root.at);
    // A mistake in the name does not affect the graph.
    let name = name.unwrap_or_else(|| NAMELESS.to_owned());
    Some(Workflow { name, description, inputs, settings, budget, plugins, checks, env, gives, body: body? })
}

fn refuse_strangers(form: &mut FieldReader<'_>, map: &Map<'_>) {
    for member in map.members.iter().filter(|member| !TOP.contains(&member.key.as_str())) {
        let key = member.key.as_str();
        if matches!(key, "promptTemplate" | "requiredPlugins" | "loop") {
            let hint = Some("a prompt is a node: `nodes:` with `- prompt: …`".to_owned());
            form.error(member.key_at, &format!("`{key}` belongs to the `workflow.json` of a plugin"), hint);
        } else if SETTINGS.contains(&key) {
            let hint = Some(format!("put it in `settings`: `settings: {{ {key}: … }}`"));
            form.error(member.key_at, &format!("unknown key `{key}`"), hint);
        } else {
            form.unknown("", member, TOP);
        }
    }
}

/// Reads the name, which users type after `--workflow` and see in lists.
/// Reads the name of the workflow.
pub(super) fn name(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<String> {
    let name = form.one_line(path, node)?;
    let is_usable = !name.starts_with(['-', '.']) && !name.contains(['/', '\\']);
    if is_usable && name.chars().count() <= 100 {
        return Some(name);
    }
    let message = "`name` must be at most 100 characters without slashes, and not start with `-` or `.`";
    form.error(node.at, message, None);
    None
}

fn inputs(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<Vec<WorkflowInput>> {
    let map = form.any_map(path, node);
    form.is_lost |= map.is_none();
    let mut inputs = Vec::new();
    for member in &map?.members {
        inputs.push(input(form, path, member));
    }
    Some(inputs)
}

/// Reads one input; returns at least its name if the rest has mistakes.
fn input(form: &mut FieldReader<'_>, path: &str, member: &JsonMember) -> WorkflowInput {
    let mut input = WorkflowInput {
        name: member.key.clone(),
        description: None,
        kind: InputKind::Text,
        required: false,
        default: None,
        choices: Vec::new(),
        range: Default::default(),
    };
    let path = join(path, &member.key);
    if !is_input_name(&member.key) {
        let hint = Some("letters, digits and `_`, beginning with a letter".to_owned());
        form.error(member.key_at, &format!("{} cannot be the name of an input", quoted(&member.key)), hint);
        return input;
    }
    let Some(map) = form.map(&path, &member.node, INPUT) else { return input };
    let kind = form.take(&map, "type", input_kind);
    input.description = form.take(&map, "description", FieldReader::text);
    input.kind = kind.unwrap_or(InputKind::Text);
    input.required = form.take(&map, "required", FieldReader::flag).unwrap_or_default();
    input.default = map.get("default").map(|member| to_json(member.node.clone()));
    if kind.is_some() || map.get("type").is_none() {
        input.range = InputRange {
            minimum: form.take(&map, "minimum", |form, path, node| bound(form, path, node, input.kind)),
            maximum: form.take(&map, "maximum", |form, path, node| bound(form, path, node, input.kind)),
        };
        input.choices = form
            .take(&map, "choices", |form, path, node| choices(form, path, node, input.kind))
            .unwrap_or_default();
        default(form, &map, &path, &input);
    }
    input
}

/// Reads the smallest or largest number of an input.
fn bound(form: &mut FieldReader<'_>, path: &str, node: &JsonNode, kind: InputKind) -> Option<f64> {
    if !matches!(kind, InputKind::Number | InputKind::Integer) {
        let hint = Some("give the input the type `integer` or `number`".to_owned());
        form.error(
            node.at,
            &format!("`{path}` belongs to a number, and this input is {}", kind.wanted()),
            hint,
        );
        return None;
    }
    if !fits(form, path, node, kind) {
        return None;
    }
    to_json(node.clone()).as_f64()
}

fn input_kind(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<InputKind> {
    let here = match &node.value {
        JsonValue::Text(word) => KINDS_ELSEWHERE.iter().find(|(there, _)| there == word),
        _ => None,
    };
    let Some((there, here)) = here else { return form.word(path, node, &INPUT_KINDS) };
    form.error(
        node.at,
        &format!("`{path}` cannot be `{there}`"),
        Some(format!("it is called `{here}` here")),
    );
    None
}

fn is_input_name(name: &str) -> bool {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    starts_well && name.len() <= 60 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn choices(
    form: &mut FieldReader<'_>,
    path: &str,
    node: &JsonNode,
    kind: InputKind,
) -> Option<Vec<serde_json::Value>> {
    let mut choices = Vec::new();
    for (index, item) in form.list(path, "a list", node)?.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if fits(form, &path, item, kind) {
            let choice = to_json(item.clone());
            if choices.contains(&choice) {
                form.error(
                    item.at,
                    &format!("`{path}` repeats the choice `{choice}`"),
                    Some("leave it out".to_owned()),
                );
            }
            choices.push(choice);
        }
    }
    Some(choices)
}

/// Checks that the default of an input is a value it accepts.
fn default(form: &mut FieldReader<'_>, map: &Map<'_>, path: &str, input: &WorkflowInput) {
    let Some(member) = map.get("default") else { return };
    if input.required {
        let hint = Some("remove `required: true` or the default".to_owned());
        form.error(member.key_at, &format!("`{path}` is required and has a default"), hint);
    }
    let path = join(path, "default");
    let is_choice = |value| input.choices.is_empty() || input.choices.contains(value);
    let wanted = input.default.as_ref().and_then(|default| input.range.wanted(default));
    if let Some(wanted) = wanted {
        form.error(member.node.at, &format!("`{path}` must be {wanted}"), None);
    }
    if fits(form, &path, &member.node, input.kind) && !input.default.as_ref().is_none_or(is_choice) {
        let listed: Vec<String> = input.choices.iter().map(|choice| format!("`{choice}`")).collect();
        form.error(member.node.at, &format!("`{path}` must be one of {}", listed.join(", ")), None);
    }
}

/// Decides whether a value has the type of its input, and reports it if not.
fn fits(form: &mut FieldReader<'_>, path: &str, node: &JsonNode, kind: InputKind) -> bool {
    if kind.admits(&to_json(node.clone())) {
        return true;
    }
    let hint = match (kind, &node.value) {
        (InputKind::Text, JsonValue::Number(_) | JsonValue::Boolean(_)) => Some("put it in quotes"),
        (InputKind::Boolean, _) => meant_flag(node),
        _ => None,
    };
    form.wrong_with(path, kind.wanted(), node, hint.map(str::to_owned));
    false
}

fn plugins(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<Vec<String>> {
    let mut plugins = Vec::new();
    for (index, item) in form.list(path, "a list of plugins", node)?.iter().enumerate() {
        form.mark(&format!("{path}.{index}"), item.at, item.at);
        let path = format!("{path}[{index}]");
        let Some(text) = form.one_line(&path, item) else { continue };
        match parse_plugin_ref(&text) {
            Ok(_) => plugins.push(text),
            Err(error) => {
                let hint = Some("a plugin is named `name` or `name@owner/repo`".to_owned());
                form.error(item.at, &format!("`{path}`: {error}"), hint);
            }
        }
    }
    Some(plugins)
}

fn checks(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<BTreeMap<String, String>> {
    let map = form.any_map(path, node);
    form.is_lost |= map.is_none();
    let mut checks = BTreeMap::new();
    for member in &map?.members {
        if !is_label(&member.key) {
            form.error(member.key_at, "a check needs a name of at most 60 characters on one line", None);
            continue;
        }
        let command = form.text(&join(path, &member.key), &member.node);
        checks.insert(member.key.clone(), command.unwrap_or_default());
    }
    Some(checks)
}
