//! What a node gives to those after it, and a run to the one that started it.

use serde_json::Value;

use super::DecisionCx;
use crate::graph::template::NodeOutput;
use crate::id::NodeId;
use crate::run::RunState;

/// Puts down the text that a node gives, before it is over.
pub(super) fn give(cx: &mut DecisionCx<'_>, node: &NodeId, text: &str) {
    give_value(cx, node, text, None);
}

/// Puts down the text and the value that a node gives, before it is over.
pub(super) fn give_value(cx: &mut DecisionCx<'_>, node: &NodeId, text: &str, value: Option<Value>) {
    let output = NodeOutput { text: text.to_owned(), value, failed: false, status: String::new() };
    cx.book.outputs.insert(node.clone(), output);
}

/// Returns what was put down for a node that is not over; what it gave in an earlier round does not count.
pub(super) fn put_down(cx: &DecisionCx<'_>, node: &NodeId) -> (String, Option<Value>) {
    let output = cx.book.outputs.get(node).filter(|output| output.status.is_empty());
    output.map(|output| (output.text.clone(), output.value.clone())).unwrap_or_default()
}

/// What a run gives that is over: what the last of its nodes gave that was not left out. Where that said
/// nothing, its text is the last words of an agent.
pub fn given_by(state: &RunState) -> (String, Option<Value>) {
    let outputs = &state.bookkeeping.outputs;
    let last = state.spec.body.iter().rev().find_map(|node| outputs.get(&node.id));
    let words = || state.bookkeeping.last_message.clone().unwrap_or_default();
    match last {
        Some(output) if !output.text.is_empty() => (output.text.clone(), output.value.clone()),
        Some(output) => (words(), output.value.clone()),
        None => (words(), None),
    }
}
