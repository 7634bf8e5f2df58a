//! Checks the structure of a workflow: names, nesting, empty blocks.

use std::collections::HashMap;

use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{Outline, OutlineNode};
use super::suggest::shown;
use crate::graph::ids::{folded, is_id};
use crate::graph::walk::MAX_DEPTH;
use crate::graph::workflow::{
    CriteriaLoopNode, IfNode, LoopNode, Node, NodeKind, ParallelNode, TaskLoopNode, TryNode, Workflow,
};

/// Reports blocks that nest too deeply. The other rules need a workflow that passes this one.
pub fn too_deep(workflow: &Workflow) -> Vec<GraphDiagnostic> {
    first_too_deep(&workflow.body, 1).into_iter().collect()
}

fn first_too_deep(body: &[Node], depth: usize) -> Option<GraphDiagnostic> {
    body.iter().find_map(|node| {
        if depth > MAX_DEPTH {
            let text = format!("blocks are nested more than {MAX_DEPTH} levels deep");
            return Some(
                GraphDiagnostic::error(Some(&node.id), "nodes", text)
                    .hint("move the inner blocks to another workflow"),
            );
        }
        node.kind.blocks().into_iter().find_map(|block| first_too_deep(block.body, depth + 1))
    })
}

/// Checks only the structure of a workflow, which must not be too deep.
pub fn form(workflow: &Workflow) -> Vec<GraphDiagnostic> {
    let mut found = GraphDiagnostics::default();
    look(&Outline::of(workflow), &mut found);
    found.in_order()
}

pub(super) fn look(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    if outline.workflow.name.trim().is_empty() {
        found.whole(GraphDiagnostic::error(None, "name", "the workflow has no name"));
    }
    if outline.workflow.body.is_empty() {
        found.whole(GraphDiagnostic::error(None, "nodes", "the workflow has no nodes"));
    }
    ids(outline, found);
    for node in &outline.nodes {
        blocks(node, found);
    }
}

fn ids(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for node in &outline.nodes {
        let id = node.node.id.as_str();
        if !is_id(id) {
            let rule = "an id has lowercase letters, digits, `-` and `_`, and starts with a letter or digit";
            let text = format!("{} is not an id", shown(id));
            found.node(node, GraphDiagnostic::error(None, "id", text).hint(rule));
        }
        match seen.insert(folded(id), id) {
            Some(other) if other == id => {
                found.error(node, "id", format!("two nodes are called {}", shown(id)))
            }
            Some(other) => {
                let text = format!("{} and {} are the same in templates", shown(other), shown(id));
                found.node(
                    node,
                    GraphDiagnostic::error(None, "id", text)
                        .hint("templates may write a dash as an underscore"),
                );
            }
            None => {}
        }
    }
}

fn blocks(node: &OutlineNode<'_>, found: &mut GraphDiagnostics) {
    match &node.node.kind {
        NodeKind::If(IfNode { then, otherwise, .. }) => match (then.is_empty(), otherwise.is_empty()) {
            (true, true) => found.warning(node, "then", "both branches of the `if` are empty"),
            (true, false) => {
                let finding = GraphDiagnostic::warning(None, "then", "`then` is empty");
                found.node(node, finding.hint("negate the condition and use `then`"));
            }
            (false, _) => {}
        },
        NodeKind::Loop(LoopNode { body, .. }) | NodeKind::CriteriaLoop(CriteriaLoopNode { body, .. })
            if body.is_empty() =>
        {
            found.error(node, "do", "the loop has no nodes");
        }
        NodeKind::Try(TryNode { body, .. }) if body.is_empty() => {
            found.error(node, "try", "the `try` block has no nodes");
        }
        NodeKind::TaskLoop(TaskLoopNode { body, .. }) if body.is_empty() => {
            found.error(node, "do", "the task loop has no nodes");
        }
        NodeKind::CriteriaLoop(CriteriaLoopNode { signal, .. }) if signal.trim().is_empty() => {
            found.error(node, "criteria_loop.signal", "the signal is empty: every text contains it");
        }
        NodeKind::Parallel(ParallelNode { branches, .. }) => {
            if branches.is_empty() {
                found.error(node, "branches", "there are no branches");
            }
            let mut names = std::collections::HashSet::new();
            for branch in branches {
                let key = Some(branch.name.clone());
                if !names.insert(&branch.name) {
                    let text = format!("two branches are called {}", shown(&branch.name));
                    found.node(node, GraphDiagnostic::error(None, "branches", text).key(key.clone()));
                }
                if branch.body.is_empty() {
                    let text = format!("branch {} is empty", shown(&branch.name));
                    found.node(node, GraphDiagnostic::warning(None, "branches", text).key(key));
                }
            }
        }
        _ => {}
    }
}
