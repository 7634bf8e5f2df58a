//! Checks that the branches of a parallel block, and the items of an `each`, can run at the same time.

use std::collections::HashMap;
use std::ops::Range;

use super::context::CheckContext;
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{Outline, OutlineNode};
use crate::entity::EntityKind;
use crate::graph::walk;
use crate::graph::workflow::{
    EachNode, Node, NodeKind, NodeNumber, ParallelBranch, ParallelNode, PromptSource, Session, WorkflowNode,
};
use crate::id::NodeId;
use crate::looping::LoopMode;
use crate::registry::limits::{may_change_files, may_change_files_with};
use crate::spec::MAX_DEPTH;

pub(super) fn look(outline: &Outline<'_>, known: &CheckContext<'_>, found: &mut GraphDiagnostics) {
    let mut writers_below = Writers { known, of: HashMap::new() };
    for node in &outline.nodes {
        if let NodeKind::Each(each) = &node.node.kind
            && let Some(finding) = writing_items(outline, node, each, &mut writers_below)
        {
            found.node(node, finding);
        }
        if let NodeKind::Parallel(ParallelNode { limit, branches, .. }) = &node.node.kind {
            let writing = writing(outline, node, branches, &mut writers_below);
            form(node, *limit, branches, &writing, found);
            if *limit != 1 {
                writers(node, &writing, found);
                if let Some((looping, beside)) = beside_a_plugins_loop(branches, &is_in_plugin_mode) {
                    let text = format!("`{looping}` loops by a plugin, which would also loop `{beside}`");
                    let finding = GraphDiagnostic::error(None, "branches", text);
                    found.node(
                        node,
                        finding.hint("run the branches in turn with `limit: 1`, or choose another `mode`"),
                    );
                }
            }
        }
    }
}

fn is_in_plugin_mode(node: &Node) -> bool {
    matches!(&node.kind, NodeKind::Session(Session { turns: Some(turns), .. }) if turns.mode == Some(LoopMode::Plugin))
}

/// Finds a node whose turns a plugin repeats, and a node with a session in another branch that runs at
/// the same time. The plugin would repeat that session, too: it acts on every session in the folder.
pub fn beside_a_plugins_loop<'w>(
    branches: &'w [ParallelBranch],
    is_looped: &dyn Fn(&Node) -> bool,
) -> Option<(&'w NodeId, &'w NodeId)> {
    let has_session = |node: &Node| matches!(node.kind, NodeKind::Session(_) | NodeKind::Workflow(_));
    branches.iter().enumerate().find_map(|(at, branch)| {
        let looping = find(&branch.body, is_looped)?;
        let mut others = branches.iter().enumerate().filter(|(other, _)| *other != at);
        let beside = others.find_map(|(_, other)| find(&other.body, &has_session))?;
        Some((&looping.id, &beside.id))
    })
}

fn find<'w>(body: &'w [Node], is_it: &dyn Fn(&Node) -> bool) -> Option<&'w Node> {
    let inside = |node: &'w Node| node.kind.blocks().into_iter().find_map(|block| find(block.body, is_it));
    body.iter().find_map(|node| if is_it(node) { Some(node) } else { inside(node) })
}

fn form(
    node: &OutlineNode<'_>,
    limit: u32,
    branches: &[ParallelBranch],
    writing: &[&str],
    found: &mut GraphDiagnostics,
) {
    if branches.len() == 1 {
        let finding = GraphDiagnostic::warning(None, "branches", "there is only one branch");
        found.node(node, finding.hint("take its nodes out of `parallel`"));
    } else if limit == 1 {
        // Branches that change files, or that a plugin would repeat, should run one after the other.
        if writing.len() > 1 || beside_a_plugins_loop(branches, &is_in_plugin_mode).is_some() {
            return;
        }
        let finding =
            GraphDiagnostic::warning(None, "parallel.limit", "the branches run one after the other");
        found.node(node, finding.hint("leave `limit` out to run all of them at once"));
    } else if usize::try_from(limit).is_ok_and(|limit| limit > branches.len())
        && !branches.is_empty()
        && !node.node.computed.contains_key(&NodeNumber::Limit)
    {
        found.warning(node, "parallel.limit", format!("there are only {} branches", branches.len()));
    }
}

/// Returns the first two branches that may change files.
fn writing<'w>(
    outline: &Outline<'_>,
    node: &OutlineNode<'_>,
    branches: &'w [ParallelBranch],
    writers: &mut Writers<'_>,
) -> Vec<&'w str> {
    let ranges = outline.blocks(node).into_iter().zip(branches);
    let writing = ranges.filter(|(range, _)| writes(outline, range.clone(), writers));
    writing.map(|(_, branch)| branch.name.as_str()).take(2).collect()
}

fn writers(node: &OutlineNode<'_>, writing: &[&str], found: &mut GraphDiagnostics) {
    if let [one, other, ..] = writing {
        let text =
            format!("`{one}` and `{other}` both have sessions that may change files, in one workspace");
        let finding = GraphDiagnostic::warning(None, "branches", text).key(Some((*other).to_owned()));
        found.node(
            node,
            finding.hint(
                "run them one after the other with `limit: 1`, or give sessions that only look `tools: read`",
            ),
        );
    }
}

/// Reports items that run at once in one workspace and have sessions that may change files.
fn writing_items(
    outline: &Outline<'_>,
    node: &OutlineNode<'_>,
    each: &EachNode,
    writers: &mut Writers<'_>,
) -> Option<GraphDiagnostic> {
    let at_once = each.jobs.min(each.most_items());
    let is_alone = at_once < 2 || each.worktree;
    if is_alone || !writes(outline, node.at + 1..node.end, writers) {
        return None;
    }
    let text = "items that run at once have sessions that may change files, in one workspace";
    let hint = "give each item its own with `worktree: true`, or give sessions that only look `tools: read`";
    Some(GraphDiagnostic::warning(None, "each.jobs", text).hint(hint))
}

fn writes(outline: &Outline<'_>, range: Range<usize>, writers: &mut Writers<'_>) -> bool {
    let nodes = outline.nodes.get(range).unwrap_or_default();
    nodes.iter().any(|node| writers.writes(node.node, 0))
}

/// The workflows whose sessions may change files, computed once for each.
struct Writers<'k> {
    known: &'k CheckContext<'k>,
    of: HashMap<&'k str, bool>,
}

impl<'k> Writers<'k> {
    /// Returns whether a session of the node itself, or of the workflow that it runs, may change files.
    fn writes(&mut self, node: &Node, depth: u32) -> bool {
        match &node.kind {
            NodeKind::Session(session) => {
                session.tools.as_ref().is_none_or(may_change_files_with)
                    && source_writes(&session.source, self.known)
            }
            NodeKind::Workflow(WorkflowNode { name, .. }) => self.workflow_writes(name, depth + 1),
            _ => false,
        }
    }

    /// Returns whether a session of a workflow may change files. Nothing is said of an unknown workflow.
    fn workflow_writes(&mut self, name: &str, depth: u32) -> bool {
        let Some((name, Some(workflow))) = self.known.workflows.get_key_value(name) else { return false };
        if depth > MAX_DEPTH {
            return false;
        }
        if let Some(writes) = self.of.get(name.as_str()) {
            return *writes;
        }
        // Workflows that run each other add nothing new the second time.
        self.of.insert(name, false);
        let writes = self.any(&workflow.body, depth, 0);
        self.of.insert(name, writes);
        writes
    }

    fn any(&mut self, body: &'k [Node], depth: u32, nesting: usize) -> bool {
        nesting <= walk::MAX_DEPTH
            && body.iter().any(|node| {
                self.writes(node, depth)
                    || node.kind.blocks().iter().any(|block| self.any(block.body, depth, nesting + 1))
            })
    }
}

/// Returns whether a session may change files. An entity without a tool that changes files only reads.
fn source_writes(source: &PromptSource, known: &CheckContext<'_>) -> bool {
    let (kind, name) = match source {
        PromptSource::Prompt { .. } => return true,
        PromptSource::Skill { name, .. } => (EntityKind::Skill, name),
        PromptSource::Command { name, .. } => (EntityKind::Command, name),
        PromptSource::Agent { name, .. } => (EntityKind::Agent, name),
    };
    known.registry.get(kind, name).is_none_or(may_change_files)
}
