//! Lists the nodes of a run, and names the node of a line.

use serde_json::{Value, json};
use windlass_core::effect::Effect;
use windlass_core::event::{Event, Record};
use windlass_core::graph::workflow::Node;
use windlass_core::id::{HookId, NodeId};
use windlass_core::run::{News, Waiting};

use super::super::tasks::task_name;

/// Lists the nodes in the order of the workflow, each with its depth.
pub(super) fn list(body: &[Node]) -> Vec<Value> {
    let mut nodes = Vec::new();
    add(body, 0, &mut nodes);
    nodes
}

fn add(body: &[Node], depth: usize, into: &mut Vec<Value>) {
    for node in body {
        into.push(json!({"id": node.id, "kind": node.kind.word(), "depth": depth}));
        for block in node.kind.blocks() {
            add(block.body, depth + 1, into);
        }
    }
}

/// Adds the node and the name of its task. Only runs of several nodes need them.
pub(super) fn name(data: &mut Value, news: &News, record: &Record) {
    let Value::Object(map) = data else { return };
    if let (News::Round { task: Some(_), .. }, Some(name)) = (news, task_name(&record.event)) {
        map.insert("name".to_owned(), name.into());
    }
    let node = match news {
        News::SessionStarted { node, .. } | News::IterationFinished { node, .. } => Some(node),
        News::Retrying { node, .. } | News::HandedOver { node, .. } => Some(node),
        News::Waiting(Waiting::Person(ask)) => Some(&ask.node),
        News::HookDecided { hook, .. } => answered(hook, record),
        _ => None,
    };
    if let Some(node) = node {
        map.insert("node".to_owned(), node.as_str().into());
    }
}

/// Returns the node whose hook is answered. The decision may come long after the call, when the tracker was
/// read or a person answered, so this looks for the answer. A call without an origin has no node.
fn answered<'a>(hook: &HookId, record: &'a Record) -> Option<&'a NodeId> {
    if matches!(&record.event, Event::HookAsked { call } if call.from.is_none()) {
        return None;
    }
    let is_answer =
        |effect: &Effect| matches!(effect, Effect::AnswerHook { hook: answered, .. } if answered == hook);
    record.effects.iter().find(|planned| is_answer(&planned.effect)).map(|planned| &planned.id.node)
}
