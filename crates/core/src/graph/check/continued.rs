//! Checks the sessions that a session continues: they exist, fit, and no two nodes continue one at the same time.
//!
//! [`order`](super::order) checks that the other session is there by then.

use super::context::CheckContext;
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{Outline, OutlineNode};
use super::suggest::{did_you_mean, shown};
use crate::engine::node::shape::Structure;
use crate::graph::workflow::{NodeKind, ParallelNode};
use crate::id::NodeId;

pub(super) fn look(outline: &Outline<'_>, known: &CheckContext<'_>, found: &mut GraphDiagnostics) {
    for node in &outline.nodes {
        if let Some(finding) = continues(node).and_then(|to| finding(outline, node, to, known, found)) {
            found.node(node, finding);
        }
        if let NodeKind::Parallel(ParallelNode { limit, .. }) = &node.node.kind
            && *limit != 1
        {
            at_once(outline, node, found);
        }
    }
}

/// Returns the node whose session a node continues.
pub(super) fn continues<'w>(node: &OutlineNode<'w>) -> Option<&'w NodeId> {
    node.node.kind.session()?.continues.as_ref()
}

/// Finds the node whose session is continued. Other than in templates, a dash is not an underscore here.
pub(super) fn continued<'o, 'w>(outline: &'o Outline<'w>, to: &NodeId) -> Option<&'o OutlineNode<'w>> {
    let other = outline.find(to.as_str())?;
    (other.node.id == *to && other.node.kind.session().is_some()).then_some(other)
}

fn finding(
    outline: &Outline<'_>,
    node: &OutlineNode<'_>,
    to: &NodeId,
    known: &CheckContext<'_>,
    found: &mut GraphDiagnostics,
) -> Option<GraphDiagnostic> {
    let error = |text: String| GraphDiagnostic::error(None, "continue", text);
    let id = shown(to.as_str());
    let Some(other) = continued(outline, to) else {
        let all = outline.nodes.iter().filter(|other| other.node.kind.session().is_some());
        let near = found.guess(|| did_you_mean(to.as_str(), all.map(|other| other.node.id.as_str())));
        let named = outline.find(to.as_str()).filter(|other| other.node.id == *to);
        let text = match named {
            Some(other) => format!("{id} has no session: its kind is `{}`", other.node.kind.word()),
            None => format!("there is no node {id}"),
        };
        return Some(error(text).maybe_hint(near));
    };
    let driver =
        |node: &OutlineNode<'_>| node.surroundings.driver.or(known.driver.as_deref()).map(str::to_owned);
    if let (Some(own), Some(others)) = (driver(node), driver(other))
        && own != others
    {
        let text = format!("the session of {id} is one of {}, not of {}", shown(&others), shown(&own));
        return Some(error(text).hint("give both nodes the same `driver`"));
    }
    let (around, around_other) = (own_sessions(outline, node), own_sessions(outline, other));
    if around.map(|around| around.at) == around_other.map(|around| around.at) {
        return None;
    }
    let (place, block) = match (around_other, around) {
        (Some(block), _) => ("in", block),
        (None, block) => ("outside of", block?),
    };
    let (part, word) = match block.node.kind.shape().structure() {
        Structure::Items(_) => ("item", "an `each`"),
        _ => ("task", "a `task_loop`"),
    };
    let word = if place == "in" {
        word.to_owned()
    } else {
        word.replacen("an ", "the ", 1).replacen("a ", "the ", 1)
    };
    let text = format!("{id} is {place} {word}, where each {part} has its own sessions");
    Some(error(text).hint(format!("continue a session of the same {part}, or pass on `outputs`")))
}

/// Returns the innermost block around a node in which each part has its own sessions.
fn own_sessions<'o, 'w>(outline: &'o Outline<'w>, node: &OutlineNode<'_>) -> Option<&'o OutlineNode<'w>> {
    let before = outline.nodes.get(..node.at).unwrap_or_default();
    let is_around = |other: &&OutlineNode<'_>| {
        let structure = || other.node.kind.shape().structure();
        other.end > node.at && matches!(structure(), Structure::Tasks(_) | Structure::Items(_))
    };
    before.iter().rev().find(is_around)
}

/// Finds two branches that continue the same session.
fn at_once(outline: &Outline<'_>, node: &OutlineNode<'_>, found: &mut GraphDiagnostics) {
    let mut seen: Vec<(usize, &NodeId, &NodeId)> = Vec::new();
    for (branch, range) in outline.blocks(node).into_iter().enumerate() {
        for inner in outline.nodes.get(range).unwrap_or_default() {
            let Some(to) = continues(inner) else { continue };
            let first = first(outline, to);
            let other = seen.iter().find(|(other, _, session)| *other != branch && *session == first);
            // A node that continues one of another branch is already a mistake.
            if let Some((_, other, _)) = other.filter(|(_, other, _)| *other != to) {
                let (one, other) = (shown(inner.node.id.as_str()), shown(other.as_str()));
                let text =
                    format!("{one} continues the same session as {other}, which runs at the same time");
                let finding = GraphDiagnostic::error(None, "continue", text);
                let hint = "continue it in one branch only, or run the branches in turn with `limit: 1`";
                found.node(inner, finding.hint(hint));
            }
            seen.push((branch, &inner.node.id, first));
        }
    }
}

/// Returns the node that started the session: the last one on the way back.
fn first<'w>(outline: &Outline<'w>, to: &'w NodeId) -> &'w NodeId {
    let mut first = to;
    for _ in 0..outline.nodes.len() {
        let next = continued(outline, first).and_then(continues);
        match next {
            Some(next) if next != first => first = next,
            _ => break,
        }
    }
    first
}
