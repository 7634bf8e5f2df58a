//! The output of a node for later nodes, and of a run for its parent.

use serde_json::Value;

use super::DecisionCx;
use crate::event::{EXIT_BY_WINDLASS, EXIT_TIMED_OUT};
use crate::graph::template::NodeOutput;
use crate::graph::workflow::Node;
use crate::id::NodeId;
use crate::run::{EndReason, Outcome, RunState};

/// Sets the text that a node outputs, before the node ends.
pub(super) fn give(cx: &mut DecisionCx<'_>, node: &NodeId, text: &str) {
    give_value(cx, node, text, None);
}

/// Sets the text and the value that a node outputs, before the node ends.
pub(super) fn give_value(cx: &mut DecisionCx<'_>, node: &NodeId, text: &str, value: Option<Value>) {
    give_output(cx, node, NodeOutput { text: text.to_owned(), value, ..NodeOutput::default() });
}

/// Sets everything that a node outputs, before the node ends.
pub(super) fn give_output(cx: &mut DecisionCx<'_>, node: &NodeId, output: NodeOutput) {
    cx.bookkeeping.outputs.insert(node.clone(), output);
}

/// Returns the exit code and the standard output that an unfinished node has set.
pub(super) fn command_facts(cx: &DecisionCx<'_>, node: &NodeId) -> (Option<i32>, Option<String>) {
    let output = cx.bookkeeping.outputs.get(node).filter(|output| output.status.is_empty());
    output.map(|output| (output.exit_code, output.stdout.clone())).unwrap_or_default()
}

/// Returns the exit code of a command that was ended before it exited.
pub(super) fn exit_code_without_end(node: &Node, outcome: &Outcome) -> Option<i32> {
    let code = if outcome.reason == EndReason::Timeout { EXIT_TIMED_OUT } else { EXIT_BY_WINDLASS };
    node.kind.shape().is_command().then_some(code)
}

/// Returns what an unfinished node has set. Its output in an earlier iteration does not count.
pub(super) fn put_down(cx: &DecisionCx<'_>, node: &NodeId) -> (String, Option<Value>) {
    let output = cx.bookkeeping.outputs.get(node).filter(|output| output.status.is_empty());
    output.map(|output| (output.text.clone(), output.value.clone())).unwrap_or_default()
}

/// Returns the output of a finished run: what the workflow gives, and otherwise that of its last node that was not skipped. If the text is
/// empty, the last message of an agent replaces it.
pub fn given_by(state: &RunState) -> (String, Option<Value>) {
    if let Some(value) = state.bookkeeping.given.clone().filter(|_| state.spec.gives.is_some()) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        return (text, Some(value));
    }
    let outputs = &state.bookkeeping.outputs;
    let last = state.spec.main_nodes().iter().rev().find_map(|node| outputs.get(&node.id));
    let words = || state.bookkeeping.last_message.clone().unwrap_or_default();
    match last {
        Some(output) if !output.text.is_empty() => (output.text.clone(), output.value.clone()),
        Some(output) => (words(), output.value.clone()),
        None => (words(), None),
    }
}
