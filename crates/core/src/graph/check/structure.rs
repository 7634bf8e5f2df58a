//! Whether it is a workflow at all: names, depth, blocks with something in them.

use std::collections::HashMap;

use super::finding::{Finding, Found};
use super::near::shown;
use super::outline::{Node, Outline};
use crate::graph::ids::{folded, is_id};
use crate::graph::walk::MAX_DEPTH;
use crate::graph::workflow::{
    Act, CriteriaLoopNode, IfNode, LoopNode, ParallelNode, Step, TaskLoopNode, Workflow,
};

/// Blocks that nest deeper than anyone reads. Nothing else is looked at then.
pub fn too_deep(workflow: &Workflow) -> Vec<Finding> {
    first_too_deep(&workflow.body, 1).into_iter().collect()
}

fn first_too_deep(body: &[Step], depth: usize) -> Option<Finding> {
    body.iter().find_map(|step| {
        if depth > MAX_DEPTH {
            let text = format!("blocks are nested more than {MAX_DEPTH} deep");
            return Some(
                Finding::error(Some(&step.id), "nodes", text).hint("make a workflow of its own of it"),
            );
        }
        step.act.blocks().into_iter().find_map(|block| first_too_deep(block.body, depth + 1))
    })
}

/// What the form of a workflow alone tells. It must not be too deep.
pub fn form(workflow: &Workflow) -> Vec<Finding> {
    let mut found = Found::default();
    look(&Outline::of(workflow), &mut found);
    found.in_order()
}

pub(super) fn look(outline: &Outline<'_>, found: &mut Found) {
    if outline.workflow.name.trim().is_empty() {
        found.whole(Finding::error(None, "name", "the workflow has no name"));
    }
    if outline.workflow.body.is_empty() {
        found.whole(Finding::error(None, "nodes", "the workflow has no nodes"));
    }
    ids(outline, found);
    for node in &outline.nodes {
        blocks(node, found);
    }
}

fn ids(outline: &Outline<'_>, found: &mut Found) {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for node in &outline.nodes {
        let id = node.step.id.as_str();
        if !is_id(id) {
            let rule = "an id is small letters, digits, `-` and `_`, and begins with a letter or a digit";
            let text = format!("{} is no id", shown(id));
            found.node(node, Finding::error(None, "id", text).hint(rule));
        }
        match seen.insert(folded(id), id) {
            Some(other) if other == id => {
                found.error(node, "id", format!("two nodes are called {}", shown(id)))
            }
            Some(other) => {
                let text = format!("{} and {} are the same in templates", shown(other), shown(id));
                found.node(
                    node,
                    Finding::error(None, "id", text).hint("a dash may be written as an underscore there"),
                );
            }
            None => {}
        }
    }
}

fn blocks(node: &Node<'_>, found: &mut Found) {
    match &node.step.act {
        Act::If(IfNode { then, otherwise, .. }) => match (then.is_empty(), otherwise.is_empty()) {
            (true, true) => found.warning(node, "then", "both ways of the `if` are empty"),
            (true, false) => {
                let finding = Finding::warning(None, "then", "`then` is empty");
                found.node(node, finding.hint("turn the condition round and use `then`"));
            }
            (false, _) => {}
        },
        Act::Loop(LoopNode { body, .. }) | Act::CriteriaLoop(CriteriaLoopNode { body, .. })
            if body.is_empty() =>
        {
            found.error(node, "do", "the loop has nothing to do");
        }
        Act::TaskLoop(TaskLoopNode { body, .. }) if body.is_empty() => {
            found.error(node, "do", "the loop does nothing about its tasks");
        }
        Act::CriteriaLoop(CriteriaLoopNode { signal, .. }) if signal.trim().is_empty() => {
            found.error(node, "criteria_loop.signal", "the signal is empty: every text holds it");
        }
        Act::Parallel(ParallelNode { branches, .. }) => {
            if branches.is_empty() {
                found.error(node, "branches", "there are no branches");
            }
            let mut names = std::collections::HashSet::new();
            for branch in branches {
                let key = Some(branch.name.clone());
                if !names.insert(&branch.name) {
                    let text = format!("two branches are called {}", shown(&branch.name));
                    found.node(node, Finding::error(None, "branches", text).key(key.clone()));
                }
                if branch.body.is_empty() {
                    let text = format!("branch {} is empty", shown(&branch.name));
                    found.node(node, Finding::warning(None, "branches", text).key(key));
                }
            }
        }
        _ => {}
    }
}
