//! Which nodes a run has, and which one a line is about.

use serde_json::{Value, json};
use windlass_core::effect::Effect;
use windlass_core::event::{Event, Record};
use windlass_core::graph::workflow::Node;
use windlass_core::id::{HookId, NodeId};
use windlass_core::run::{News, Waiting};

use super::super::steps::task_name;

/// The nodes of a workflow in its order, with how many blocks are around each.
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

/// Adds what only matters where there are several nodes: which one, and what its task is called.
pub(super) fn name(data: &mut Value, news: &News, record: &Record) {
    let Value::Object(map) = data else { return };
    if let (News::Round { task: Some(_), .. }, Some(name)) = (news, task_name(&record.event)) {
        map.insert("name".to_owned(), name.into());
    }
    let node = match news {
        News::SessionStarted { node, .. } | News::IterationFinished { node, .. } => Some(node),
        News::Retrying { node, .. } => Some(node),
        News::Waiting(Waiting::Person(ask)) => Some(&ask.node),
        News::HookDecided { hook, .. } => answered(hook, record),
        _ => None,
    };
    if let Some(node) = node {
        map.insert("node".to_owned(), node.as_str().into());
    }
}

/// The node whose hook is answered. A call may be decided long after it came, when its tracker
/// was read or a person has spoken, so it is told by the answer. A call that says not whose it
/// is has none.
fn answered<'a>(hook: &HookId, record: &'a Record) -> Option<&'a NodeId> {
    if matches!(&record.event, Event::HookAsked { call } if call.from.is_none()) {
        return None;
    }
    let is_answer =
        |effect: &Effect| matches!(effect, Effect::AnswerHook { hook: answered, .. } if answered == hook);
    record.effects.iter().find(|planned| is_answer(&planned.effect)).map(|planned| &planned.id.node)
}
