//! Checks that the branches of a parallel block can run at the same time.

use std::ops::Range;

use super::context::CheckContext;
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{Outline, OutlineNode};
use crate::entity::EntityKind;
use crate::graph::workflow::{Node, NodeKind, ParallelBranch, ParallelNode, PromptSource, Session};
use crate::id::NodeId;
use crate::looping::LoopMode;
use crate::registry::limits::may_change_files;

pub(super) fn look(outline: &Outline<'_>, known: &CheckContext<'_>, found: &mut GraphDiagnostics) {
    for node in &outline.nodes {
        if let NodeKind::Parallel(ParallelNode { limit, branches, .. }) = &node.node.kind {
            let writing = writing(outline, node, branches, known);
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
        // Branches that change files should run one after the other.
        if writing.len() > 1 {
            return;
        }
        let finding =
            GraphDiagnostic::warning(None, "parallel.limit", "the branches run one after the other");
        found.node(node, finding.hint("leave `limit` out to run all of them at once"));
    } else if usize::try_from(limit).is_ok_and(|limit| limit > branches.len()) && !branches.is_empty() {
        found.warning(node, "parallel.limit", format!("there are only {} branches", branches.len()));
    }
}

/// Returns the first two branches that may change files.
fn writing<'w>(
    outline: &Outline<'_>,
    node: &OutlineNode<'_>,
    branches: &'w [ParallelBranch],
    known: &CheckContext<'_>,
) -> Vec<&'w str> {
    let ranges = outline.blocks(node).into_iter().zip(branches);
    let writing = ranges.filter(|(range, _)| writes(outline, range.clone(), known));
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
                "run them one after the other with `limit: 1`, or use `agent` nodes whose agents list only tools \
                 that read, such as `tools: [read, grep, glob]`",
            ),
        );
    }
}

fn writes(outline: &Outline<'_>, range: Range<usize>, known: &CheckContext<'_>) -> bool {
    let nodes = outline.nodes.get(range).unwrap_or_default();
    nodes.iter().any(|node| match &node.node.kind {
        NodeKind::Session(session) => source_writes(&session.source, known),
        _ => false,
    })
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
