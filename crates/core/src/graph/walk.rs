//! What is common to all ways through a workflow: the word of a node, and the blocks inside it.

use super::workflow::{Act, Source, Step};
use crate::id::NodeId;

/// How deep blocks may nest. A check refuses more, and everything here stops there.
pub const MAX_DEPTH: usize = 40;

/// A sequence of nodes inside a node.
#[derive(Debug, Clone, Copy)]
pub struct Block<'w> {
    /// The key it stands under: `then`, `else`, `do`, `before_each`, `branches`.
    pub field: &'static str,
    /// The branch's name.
    pub name: Option<&'w str>,
    /// What is done.
    pub body: &'w [Step],
}

impl Act {
    /// The key that says it in a document.
    pub fn word(&self) -> &'static str {
        match self {
            Act::Session(session) => match session.source {
                Source::Prompt { .. } => "prompt",
                Source::Skill { .. } => "skill",
                Source::Command { .. } => "command",
                Source::Agent { .. } => "agent",
            },
            Act::Shell { .. } => "shell",
            Act::Check { .. } => "check",
            Act::If { .. } => "if",
            Act::Loop { .. } => "loop",
            Act::TaskLoop { .. } => "task_loop",
            Act::CriteriaLoop { .. } => "criteria_loop",
            Act::Parallel { .. } => "parallel",
            Act::Workflow { .. } => "workflow",
            Act::Ask { .. } => "ask",
            Act::Wait(_) => "wait",
            Act::Review { .. } => "review",
            Act::Land { .. } => "land",
            Act::PullRequest { .. } => "pull_request",
            Act::ClearContext => "clear_context",
        }
    }

    /// The blocks inside it, in the order of the text.
    pub fn blocks(&self) -> Vec<Block<'_>> {
        let block = |field, body| Block { field, name: None, body };
        match self {
            Act::If { then, otherwise, .. } => vec![block("then", then), block("else", otherwise)],
            Act::Loop { body, .. } | Act::CriteriaLoop { body, .. } => vec![block("do", body)],
            Act::TaskLoop { before_each, body, .. } => {
                vec![block("before_each", before_each), block("do", body)]
            }
            Act::Parallel { branches, .. } => branches
                .iter()
                .map(|branch| Block { field: "branches", name: Some(&branch.name), body: &branch.body })
                .collect(),
            Act::Session(_)
            | Act::Shell { .. }
            | Act::Check { .. }
            | Act::Workflow { .. }
            | Act::Ask { .. }
            | Act::Wait(_)
            | Act::Review { .. }
            | Act::Land { .. }
            | Act::PullRequest { .. }
            | Act::ClearContext => Vec::new(),
        }
    }

    /// The blocks inside it, to change them.
    pub fn blocks_mut(&mut self) -> Vec<&mut Vec<Step>> {
        match self {
            Act::If { then, otherwise, .. } => vec![then, otherwise],
            Act::Loop { body, .. } | Act::CriteriaLoop { body, .. } => vec![body],
            Act::TaskLoop { before_each, body, .. } => vec![before_each, body],
            Act::Parallel { branches, .. } => branches.iter_mut().map(|branch| &mut branch.body).collect(),
            Act::Session(_)
            | Act::Shell { .. }
            | Act::Check { .. }
            | Act::Workflow { .. }
            | Act::Ask { .. }
            | Act::Wait(_)
            | Act::Review { .. }
            | Act::Land { .. }
            | Act::PullRequest { .. }
            | Act::ClearContext => Vec::new(),
        }
    }
}

/// The ids of these nodes and of all nodes inside them.
pub fn ids_in(steps: &[Step]) -> Vec<NodeId> {
    let mut ids = Vec::new();
    let mut left: Vec<&Step> = steps.iter().collect();
    while let Some(step) = left.pop() {
        ids.push(step.id.clone());
        left.extend(step.act.blocks().iter().flat_map(|block| block.body));
    }
    ids
}

/// A node by its id, among these and those inside them.
pub fn find<'w>(steps: &'w [Step], id: &NodeId) -> Option<&'w Step> {
    steps.iter().find_map(|step| {
        if step.id == *id {
            return Some(step);
        }
        step.act.blocks().into_iter().find_map(|block| find(block.body, id))
    })
}

/// How many blocks are around a node.
pub fn depth_of(steps: &[Step], id: &NodeId) -> Option<usize> {
    steps.iter().find_map(|step| {
        if step.id == *id {
            return Some(0);
        }
        step.act.blocks().iter().find_map(|block| depth_of(block.body, id)).map(|depth| depth + 1)
    })
}
