//! Checks that every node is reachable and that no condition is constant.

use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{Outline, OutlineNode, is_bound};
use crate::graph::template::names::IterationRange;
use crate::graph::template::{constant, names_in};
use crate::graph::workflow::{
    Expression, IfNode, LoopNode, Node, NodeKind, OnFailure, SessionOptions, TaskLoopNode, TryNode,
};

pub(super) fn look(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    for node in &outline.nodes {
        when(node, found);
        bounded(outline, node, found);
        repeated(outline, node, found);
        check_node(outline, node, found);
    }
    behind_endless(outline, 0..outline.nodes.len(), found);
}

fn when(node: &OutlineNode<'_>, found: &mut GraphDiagnostics) {
    match node.when {
        Some(false) => found.warning(node, "when", "this node never runs: `when` is never true"),
        Some(true) if node.node.when.is_some() => found.warning(node, "when", "`when` is always true"),
        _ => {}
    }
}

/// Reports conditions on `iteration` that no iteration of the loop or list meets.
fn bounded(outline: &Outline<'_>, node: &OutlineNode<'_>, found: &mut GraphDiagnostics) {
    let possible = |condition: &Expression| {
        let possible = names_in(condition).ok().map(|names| names.if_true.iterations);
        possible.filter(|possible| ![IterationRange::NONE, IterationRange::ALL].contains(possible))
    };
    let is_beyond =
        |possible: IterationRange, most: u32| possible.and(IterationRange::up_to(most)).is_empty();
    let iterations = |most: u32| format!("there are at most {most} iterations");
    if let NodeKind::Loop(LoopNode { until, max, .. }) = &node.node.kind {
        // A `max` of 1 may stand for one that could not be read.
        let never = |until: &&Expression| {
            *max > 1 && possible(until).is_some_and(|possible| is_beyond(possible, *max))
        };
        for index in until.iter().enumerate().filter(|(_, until)| never(until)).map(|(index, _)| index) {
            let text = format!("`until` is never true: {}", iterations(*max));
            found.node(node, GraphDiagnostic::warning(None, "loop.until", text).item(index));
        }
    }
    for (field, condition) in [("when", node.node.when.as_ref()), ("if", condition_of(&node.node.kind))] {
        // The search for the block looks at all nodes before, so only a condition on iterations pays for it.
        let Some(possible) = condition.and_then(possible) else { continue };
        let most = around(outline, node).and_then(|block| most_iterations(&block.node.kind));
        let Some(most) = most else { continue };
        if node.when != Some(false) && is_beyond(possible, most) {
            let text = match field {
                "when" => format!("this node never runs: {}", iterations(most)),
                _ => format!("the condition is never true: {}", iterations(most)),
            };
            found.warning(node, field, text);
        }
    }
}

/// Returns the innermost block around a node that counts iterations.
fn around<'o, 'w>(outline: &'o Outline<'w>, node: &OutlineNode<'_>) -> Option<&'o OutlineNode<'w>> {
    let counts = |kind: &NodeKind| {
        matches!(
            kind,
            NodeKind::Loop(_) | NodeKind::CriteriaLoop(_) | NodeKind::TaskLoop(_) | NodeKind::Each(_)
        )
    };
    let before = outline.nodes.get(..node.at).unwrap_or_default().iter().rev();
    before.filter(|other| node.at < other.end).find(|other| counts(&other.node.kind))
}

/// Returns the most iterations of a block, if it has a limit.
fn most_iterations(kind: &NodeKind) -> Option<u32> {
    match kind {
        NodeKind::Loop(LoopNode { max, .. }) => Some(*max).filter(|max| *max > 1),
        NodeKind::Each(each) => Some(each.most_items()).filter(|most| *most > 1),
        _ => None,
    }
}

fn condition_of(kind: &NodeKind) -> Option<&Expression> {
    match kind {
        NodeKind::If(IfNode { condition, .. }) => Some(condition),
        _ => None,
    }
}

/// Reports a `when` that repeats the condition of an `if` around it, which only inputs decide.
fn repeated(outline: &Outline<'_>, node: &OutlineNode<'_>, found: &mut GraphDiagnostics) {
    let NodeKind::If(IfNode { condition, .. }) = &node.node.kind else { return };
    let Ok(names) = names_in(condition) else { return };
    // Other values may change before the node inside asks again.
    if names.uses.is_empty() || !names.uses.iter().all(|used| ["input", "inputs"].contains(&used.root())) {
        return;
    }
    for (range, field) in outline.blocks(node).into_iter().zip(["then", "else"]) {
        for inner in outline.nodes.get(range).unwrap_or_default() {
            let Some(when) = inner.node.when.as_ref() else { continue };
            if when.0.trim() != condition.0.trim() {
                continue;
            }
            let text = match field {
                "else" => "this node never runs: it is in `else` of an `if` with the same condition",
                _ => "`when` is always true: it is in `then` of an `if` with the same condition",
            };
            found.warning(inner, "when", text);
        }
    }
}

fn check_node(outline: &Outline<'_>, node: &OutlineNode<'_>, found: &mut GraphDiagnostics) {
    match &node.node.kind {
        NodeKind::If(IfNode { then, otherwise, .. }) => {
            let (never, field, holds) = match node.condition {
                Some(true) => (otherwise, "else", "always"),
                Some(false) => (then, "then", "never"),
                None => return,
            };
            let finding = GraphDiagnostic::warning(None, "if", format!("the condition is {holds} true"));
            // Such an `if` often stands for a block whose failure the run survives.
            let hint = (holds == "always").then(|| "to catch a failure, use `try` with `catch`".to_owned());
            found.node(node, finding.maybe_hint(hint));
            let ranges = outline.blocks(node);
            let range = if field == "then" { ranges.first() } else { ranges.last() };
            if let (false, Some(first)) =
                (never.is_empty(), range.and_then(|range| outline.nodes.get(range.start)))
            {
                found.warning(
                    first,
                    first.node.kind.word(),
                    format!("this node is never reached: it is in `{field}` of an `if` that is {holds} true"),
                );
            }
        }
        NodeKind::Loop(LoopNode { until, max, .. }) => {
            for (index, until) in until.iter().enumerate() {
                let Some(holds) = constant(until) else { continue };
                let text = match holds {
                    true => "`until` is always true: the loop runs once",
                    // `bounds` reports that nothing ends the loop.
                    false if *max == 0 && never_ends(node) => continue,
                    false => "`until` is never true",
                };
                found.node(node, GraphDiagnostic::warning(None, "loop.until", text).item(index));
            }
        }
        NodeKind::Try(TryNode { catch, .. }) => {
            let is_plain = node.node.on_failure == OnFailure::Fail && !is_group(node.node);
            if catch.is_empty() && is_plain {
                let finding = GraphDiagnostic::warning(None, "try", "this `try` catches nothing");
                let hint = "add `catch: [ … ]`, or `on_failure: continue` to go on after a failure";
                found.node(node, finding.hint(hint));
            }
        }
        NodeKind::TaskLoop(TaskLoopNode { until, select, .. }) => {
            decided(node, "task_loop.until", until.as_ref(), found);
            decided(node, "task_loop.select", select.as_ref(), found);
        }
        _ => {}
    }
}

/// Returns whether a node sets something for all nodes in it, so that a block which only groups them is useful.
fn is_group(node: &Node) -> bool {
    let Node { id: _, kind: _, when, settings, retry, budget, on_failure: _, env, computed } = node;
    when.is_some()
        || *settings != SessionOptions::default()
        || retry.times > 0
        || is_bound(budget)
        || !env.is_empty()
        || !computed.is_empty()
}

fn decided(
    node: &OutlineNode<'_>,
    field: &'static str,
    condition: Option<&Expression>,
    found: &mut GraphDiagnostics,
) {
    if let Some(holds) = condition.and_then(constant) {
        let key = field.rsplit('.').next().unwrap_or(field);
        let holds = if holds { "always" } else { "never" };
        found.warning(node, field, format!("`{key}` is {holds} true"));
    }
}

/// Reports nodes after a loop that nothing ends.
fn behind_endless(outline: &Outline<'_>, range: std::ops::Range<usize>, found: &mut GraphDiagnostics) {
    let mut barrier: Option<String> = None;
    let mut at = range.start;
    while let Some(node) = outline.nodes.get(at).filter(|_| at < range.end) {
        // `finally` runs whatever happens before it.
        let is_last = matches!(node.node.kind, NodeKind::Finally(_));
        if let Some(why) = barrier.take().filter(|_| !is_last) {
            let text = format!("this node is never reached: {why}");
            found.node(node, GraphDiagnostic::error(None, node.node.kind.word(), text));
        }
        for block in outline.blocks(node) {
            behind_endless(outline, block, found);
        }
        barrier = barrier_of(node);
        at = node.end;
    }
}

/// Describes a node that no run gets past.
fn barrier_of(node: &OutlineNode<'_>) -> Option<String> {
    let id = &node.node.id;
    let fails = matches!(node.node.kind, NodeKind::Fail(_)) && node.node.on_failure == OnFailure::Fail;
    if fails && !node.is_optional() {
        return Some(format!("`{id}` before it always fails"));
    }
    never_ends(node).then(|| format!("the loop `{id}` before it never ends"))
}

/// Returns whether a loop has no `max` and no condition that can be true.
pub(super) fn never_ends(node: &OutlineNode<'_>) -> bool {
    match &node.node.kind {
        // Its budget ends it, and the run may go on after that.
        NodeKind::Loop(LoopNode { forever: true, .. }) if node.node.on_failure == OnFailure::Continue => {
            false
        }
        NodeKind::Loop(LoopNode { until, max: 0, .. }) => {
            !node.is_optional() && until.iter().all(|until| constant(until) == Some(false))
        }
        _ => false,
    }
}
