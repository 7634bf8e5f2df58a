//! Reads the nodes of a workflow: their ids and the fields common to all kinds.
//!
//! [`kinds`](super::kinds) reads the fields of each kind.

use std::mem;

use std::collections::BTreeMap;
use windlass_core::graph::ids::is_id;

use windlass_core::graph::workflow::{
    Budget, Effort, FINALLY_ID, FINALLY_MS, FinallyNode, Node, NodeKind, NodeNumber, OnFailure, RetryPolicy,
    SessionOptions, ShellProgram, Template, input_name,
};
use windlass_core::id::NodeId;

use super::field_reader::{FieldReader, Map, join, kind};
use super::keys::{BUDGET, COMMON, FINALLY, KIND_KEYS, RETRY, is_slip_for, own, owners};
use super::kinds;
use super::positions::DocumentPart;
use crate::json::{JsonMember, JsonNode, JsonValue};
use crate::settings::words::ISOLATIONS;
use crate::words::{WordTable, quoted};

/// The most nodes in a workflow.
const MOST: usize = 20_000;
/// The deepest nesting of blocks.
const DEEPEST: usize = 32;
/// The default pause before the first retry.
const DELAY_MS: u64 = 1_000;
/// The largest budgets, in tokens and in dollars.
const MOST_TOKENS: u64 = 1_000_000_000_000;
const MOST_COST: f64 = 1_000_000.0;

pub(super) const SHELLS: WordTable<ShellProgram> = WordTable(&ShellProgram::WORDS);
pub(super) const EFFORTS: WordTable<Effort> = WordTable(&Effort::WORDS);

pub(super) const ON_FAILURE: WordTable<OnFailure> = WordTable(&OnFailure::WORDS);

/// The key that defines a node's kind, and its value.
pub(super) struct StatedKind<'n> {
    pub(super) kind: &'static str,
    pub(super) node: &'n JsonNode,
}

/// Reads a list of nodes that run in order.
pub(super) fn steps(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<Vec<Node>> {
    if matches!(node.value, JsonValue::Object(_)) {
        let hint = Some("begin each node with `- `".to_owned());
        form.wrong_with(path, "a list of nodes", node, hint);
        return None;
    }
    if matches!(&node.value, JsonValue::List(items) if items.is_empty()) && !form.is_open(node.at) {
        // An empty list is complete: no nodes are missing.
        form.is_part = true;
        form.list(path, "a list of nodes", node);
        return Some(Vec::new());
    }
    let items = form.list(path, "a list of nodes", node)?;
    if form.depth == DEEPEST {
        let message = format!("nodes are nested more than {DEEPEST} levels deep");
        form.error(node.at, &message, Some("move the inner nodes into a workflow of their own".into()));
        return None;
    }
    form.depth += 1;
    let mut steps = Vec::with_capacity(items.len());
    for item in items {
        if form.nodes.len() == MOST {
            refuse_more(form, item.at);
            break;
        }
        let outer =
            mem::replace(&mut form.current_part, DocumentPart { at: item.at, ..DocumentPart::default() });
        let place = form.nodes.len();
        form.nodes.push(DocumentPart::default());
        steps.push(step(form, item));
        let inner = mem::replace(&mut form.current_part, outer);
        if let Some(spot) = form.nodes.get_mut(place) {
            *spot = inner;
        }
    }
    form.depth -= 1;
    Some(steps)
}

/// Reports that there are too many nodes. Reports it once, however many blocks are cut off.
fn refuse_more(form: &mut FieldReader<'_>, at: usize) {
    if !mem::replace(&mut form.is_full, true) {
        let hint = Some("split it into several workflows".to_owned());
        form.error(at, &format!("a workflow has at most {MOST} nodes"), hint);
    }
    form.nodes_are_missing();
}

/// Returns a placeholder for a node of unknown kind, so that the other nodes keep their positions.
fn stand_in() -> Node {
    Node {
        id: NodeId::new(""),
        kind: NodeKind::ClearContext,
        when: None,
        settings: SessionOptions::default(),
        retry: RetryPolicy::default(),
        budget: Budget::default(),
        on_failure: OnFailure::default(),
        env: Default::default(),
        computed: Default::default(),
    }
}

fn step(form: &mut FieldReader<'_>, item: &JsonNode) -> Node {
    let mut step = stand_in();
    let outer = mem::take(&mut form.computed);
    if !matches!(item.value, JsonValue::Object(_)) {
        no_node(form, item);
        form.unread.nodes = true;
    } else if let Some(map) = form.any_map("", item) {
        let said = what(form, &map);
        refuse_strangers(form, &map, said.as_ref());
        step.id = id(form, &map);
        step.when = form.take(&map, "when", FieldReader::expression);
        step.settings = settings(form, &map);
        step.env = form.take(&map, "env", env).unwrap_or_default();
        step.retry = form.take(&map, "retry", retry).unwrap_or_default();
        step.budget = budget(form, &map);
        let on_failure = form.take(&map, "on_failure", |form, path, node| form.word(path, node, &ON_FAILURE));
        step.on_failure = on_failure.unwrap_or_default();
        let begun = form.nodes.len();
        // The nodes inside this one have computed numbers of their own.
        if let Some(act) = said.and_then(|said| kinds::read(form, &map, &said)) {
            return Node { kind: act, computed: mem::replace(&mut form.computed, outer), ..step };
        }
        // Nodes that were read inside it have no place without it.
        form.unread.nodes |= form.nodes.len() > begun;
        form.nodes.truncate(begun);
    }
    form.is_part = true;
    form.computed = outer;
    step
}

fn no_node(form: &mut FieldReader<'_>, item: &JsonNode) {
    let hint = match &item.value {
        JsonValue::Text(word) if is_id(word) => {
            Some(format!("`skill: {word}`, perhaps, or `command: {word}`"))
        }
        JsonValue::Text(_) => Some("a prompt is written `prompt: …`".to_owned()),
        _ => None,
    };
    form.error(item.at, &format!("a node must be a mapping, found {}", kind(&item.value)), hint);
}

/// Finds the one key that defines the node's kind.
fn what<'n>(form: &mut FieldReader<'_>, map: &Map<'n>) -> Option<StatedKind<'n>> {
    let has_agent = map.get("agent").is_some();
    let mut said = map.members.iter().filter_map(|member| {
        let (act, _) = KIND_KEYS.iter().find(|(act, _)| *act == member.key)?;
        // With `agent`, `prompt` is the agent's prompt and not a kind.
        (!has_agent || *act != "prompt").then_some((*act, *member))
    });
    let Some((act, member)) = said.next() else { return guess(form, map) };
    let others: Vec<(&str, &JsonMember)> = said.collect();
    for (other, second) in others {
        form.values_are_unsure();
        let hint = match (act, other) {
            ("skill" | "command", "prompt") | ("prompt", "skill" | "command") => {
                "write the text for a skill or a command in `args`"
            }
            _ => "split it into two nodes",
        };
        let message = format!("`{act}` and `{other}` both say what this node does");
        form.error(second.key_at, &message, Some(hint.to_owned()));
    }
    Some(StatedKind { kind: act, node: &member.node })
}

/// Guesses the kind of a node whose key is misspelt. [`refuse_strangers`] reports the key itself.
fn guess<'n>(form: &mut FieldReader<'_>, map: &Map<'n>) -> Option<StatedKind<'n>> {
    let is_free =
        |member: &&&JsonMember| !COMMON.contains(&member.key.as_str()) && owners(&member.key).is_empty();
    for member in map.members.iter().filter(is_free).filter(|_| !form.is_flooded()) {
        let meant = KIND_KEYS.iter().find(|(act, _)| is_slip_for(&member.key, act));
        if let Some((act, _)) = meant {
            // Marks the value and not the key, so that the mistake in the key does not hide
            // mistakes in the value.
            form.mark(act, member.node.at, member.node.at);
            return Some(StatedKind { kind: act, node: &member.node });
        }
    }
    if !form.is_open(map.at) {
        let acts: Vec<String> = KIND_KEYS.iter().map(|(act, _)| format!("`{act}`")).collect();
        let hint = Some(format!("add one of {}", acts.join(", ")));
        form.error(map.at, "this node does not say what it does", hint);
    }
    None
}

/// Reports keys that are unknown or belong to other kinds of node.
fn refuse_strangers(form: &mut FieldReader<'_>, map: &Map<'_>, said: Option<&StatedKind<'_>>) {
    let acts = || KIND_KEYS.iter().map(|(act, _)| *act);
    let own = said.map(|said| own(said.kind));
    for member in &map.members {
        let key = member.key.as_str();
        let is_known = COMMON.contains(&key) || acts().any(|act| act == key);
        if is_known || own.is_some_and(|own| own.contains(&key)) {
            continue;
        }
        let owners = owners(key);
        match said {
            Some(said) if !owners.is_empty() => {
                let owners: Vec<String> = owners.iter().map(|act| format!("`{act}`")).collect();
                let hint = Some(format!("it belongs to {}", owners.join(", ")));
                form.error(member.key_at, &format!("`{key}` does not belong to `{}`", said.kind), hint);
            }
            None if !owners.is_empty() => {}
            Some(_) | None => {
                let near = COMMON.iter().chain(own.unwrap_or_default()).copied();
                // Of two equally near keys, the one of this node is meant.
                let known: Vec<&str> =
                    own.unwrap_or_default().iter().copied().chain(acts()).chain(near).collect();
                form.unknown("", member, &known);
                // An unknown key may contain nodes.
                let is_read = known.iter().any(|known| is_slip_for(key, known));
                if holds_something(&member.node) && (form.is_flooded() || !is_read) {
                    form.nodes_are_missing();
                }
            }
        }
    }
}

fn holds_something(node: &JsonNode) -> bool {
    match &node.value {
        JsonValue::List(items) => !items.is_empty(),
        JsonValue::Object(members) => !members.is_empty(),
        JsonValue::Null | JsonValue::Boolean(_) | JsonValue::Number(_) | JsonValue::Text(_) => false,
    }
}

/// Returns the id that the author chose, or an empty one to be filled in later.
fn id(form: &mut FieldReader<'_>, map: &Map<'_>) -> NodeId {
    let Some(member) = map.get("id") else { return NodeId::new("") };
    let id = chosen_id(form, &member.key, &member.node);
    NodeId::new(id.unwrap_or_default())
}

fn chosen_id(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<String> {
    let id = match &node.value {
        JsonValue::Number(number) => Some(number.clone()),
        _ => form.one_line(path, node),
    };
    let Some(id) = id else {
        form.nodes_are_missing();
        return None;
    };
    if !is_id(&id) {
        form.nodes_are_missing();
        let hint =
            "letters from a to z, digits, `-` and `_`, beginning with a letter or a digit, 100 at most";
        form.error(node.at, &format!("{} is not an id", quoted(&id)), Some(hint.to_owned()));
        return None;
    }
    let Err(first) = form.chosen.take(&id, node.at) else { return Some(id) };
    let line = form.line(first.at).map(|line| format!("the first one is in line {line}"));
    let message = if first.id == id {
        format!("two nodes are called `{id}`")
    } else {
        format!("`{id}` and `{}` are the same in templates, where a dash is an underscore", first.id)
    };
    form.error(node.at, &message, line);
    form.values_are_unsure();
    None
}

/// Reads the session settings.
pub(super) fn settings(form: &mut FieldReader<'_>, map: &Map<'_>) -> SessionOptions {
    let mut models = form.take(map, "model", models).unwrap_or_default().into_iter();
    SessionOptions {
        driver: form.take(map, "driver", FieldReader::one_line),
        model: models.next(),
        fallbacks: models.collect(),
        effort: form.take(map, "effort", |form, path, node| form.word(path, node, &EFFORTS)),
        isolation: form.take(map, "isolation", |form, path, node| form.word(path, node, &ISOLATIONS)),
        timeout_ms: form.take(map, "timeout", |form, path, node| {
            form.time_or_computed((path, node), NodeNumber::Timeout, FieldReader::time)
        }),
        shell: None,
        timeout_from: None,
    }
}

/// Reads one model or a list of models, each of which may be a template or `inputs.NAME`.
fn models(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<Vec<String>> {
    let template = |model: String| match input_name(&model) {
        Some(name) => format!("{{{{ inputs.{name} }}}}"),
        None => model,
    };
    if !matches!(node.value, JsonValue::List(_)) {
        return form.one_line(path, node).map(|model| vec![template(model)]);
    }
    let mut models = Vec::new();
    for (index, item) in form.list(path, "a model or a list of models", node)?.iter().enumerate() {
        form.mark(&format!("{path}.{index}"), item.at, item.at);
        models.extend(form.one_line(&format!("{path}[{index}]"), item).map(template));
    }
    Some(models)
}

/// Reads environment variables. The values are templates.
pub(super) fn env(
    form: &mut FieldReader<'_>,
    path: &str,
    node: &JsonNode,
) -> Option<BTreeMap<String, Template>> {
    let mut env = BTreeMap::new();
    for member in &form.any_map(path, node)?.members {
        let value = form.word_of_any_kind(&join(path, &member.key), &member.node);
        env.extend(value.map(|value| (member.key.clone(), Template(value))));
    }
    Some(env)
}

/// Reads the nodes that run at the end: a list, or a mapping with their time.
pub(super) fn finally(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<Node> {
    let place = form.nodes.len();
    form.nodes.push(DocumentPart::default());
    let outer = mem::replace(&mut form.current_part, DocumentPart { at: node.at, ..DocumentPart::default() });
    form.mark(path, node.at, node.at);
    let (body, timeout_ms) = match node.value {
        JsonValue::Object(_) => match form.map(path, node, FINALLY) {
            Some(map) => (form.need(&map, "do", steps), form.take(&map, "timeout", FieldReader::time)),
            None => (None, None),
        },
        _ => (steps(form, path, node), None),
    };
    if form.chosen.take(FINALLY_ID, node.at).is_err() {
        let hint = Some("choose another id for that node".to_owned());
        form.error(node.at, &format!("a node is called `{FINALLY_ID}`, which is the id of this block"), hint);
        form.values_are_unsure();
    }
    let inner = mem::replace(&mut form.current_part, outer);
    if let Some(spot) = form.nodes.get_mut(place) {
        *spot = inner;
    }
    let Some(body) = body else {
        form.nodes.truncate(place);
        form.nodes_are_missing();
        return None;
    };
    let mut last = stand_in();
    last.id = NodeId::new(FINALLY_ID);
    last.kind = NodeKind::Finally(FinallyNode { body });
    last.settings.timeout_ms = Some(timeout_ms.unwrap_or(FINALLY_MS));
    Some(last)
}

fn retry(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<RetryPolicy> {
    if matches!(node.value, JsonValue::Number(_)) {
        return Some(RetryPolicy { times: form.count(path, node)?, delay_ms: DELAY_MS });
    }
    let map = form.map_or_number(path, node, RETRY, "times")?;
    let times = form.need(&map, "times", |form, path, node| {
        form.count_or_computed((path, node), NodeNumber::Times, FieldReader::count)
    });
    let delay_ms = form
        .take(&map, "delay", |form, path, node| {
            form.time_or_computed((path, node), NodeNumber::Delay, FieldReader::duration)
        })
        .unwrap_or(DELAY_MS);
    Some(RetryPolicy { times: times?, delay_ms })
}

/// Reads a budget. If it is unreadable, returns one that is still a bound, so that the checks do
/// not also report an endless loop.
pub(super) fn budget(form: &mut FieldReader<'_>, map: &Map<'_>) -> Budget {
    let before = form.error_count();
    let budget = form.take(map, "budget", amounts).unwrap_or_default();
    if form.error_count() > before && budget == Budget::default() {
        return Budget { time_ms: Some(u64::MAX), ..budget };
    }
    budget
}

fn amounts(form: &mut FieldReader<'_>, path: &str, node: &JsonNode) -> Option<Budget> {
    let map = form.map(path, node, BUDGET)?;
    Some(Budget {
        turns: form.take(&map, "turns", FieldReader::some),
        tokens: form.take(&map, "tokens", |form, path, node| form.whole(path, node, MOST_TOKENS)),
        cost_usd: form.take(&map, "cost", |form, path, node| form.amount(path, node, MOST_COST)),
        time_ms: form.take(&map, "time", FieldReader::time),
    })
}
