//! The output of a node for later nodes, and of a run for its parent.

use serde_json::Value;

use super::DecisionCx;
use crate::graph::template::NodeOutput;
use crate::id::NodeId;
use crate::run::RunState;

/// Sets the text that a node outputs, before the node ends.
pub(super) fn give(cx: &mut DecisionCx<'_>, node: &NodeId, text: &str) {
    give_value(cx, node, text, None);
}

/// Sets the text and the value that a node outputs, before the node ends.
pub(super) fn give_value(cx: &mut DecisionCx<'_>, node: &NodeId, text: &str, value: Option<Value>) {
    let output = NodeOutput { text: text.to_owned(), value, failed: false, status: String::new() };
    cx.bookkeeping.outputs.insert(node.clone(), output);
}

/// Returns what an unfinished node has set. Its output in an earlier iteration does not count.
pub(super) fn put_down(cx: &DecisionCx<'_>, node: &NodeId) -> (String, Option<Value>) {
    let output = cx.bookkeeping.outputs.get(node).filter(|output| output.status.is_empty());
    output.map(|output| (output.text.clone(), output.value.clone())).unwrap_or_default()
}

/// Returns the output of a finished run: that of its last node that was not skipped. If the text is
/// empty, the last message of an agent replaces it.
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
