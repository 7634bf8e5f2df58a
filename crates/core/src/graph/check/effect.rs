//! Finds keys of a node that have no effect: settings of sessions where no session runs, and `env` where nothing
//! reads it.

use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{Outline, OutlineNode};
use crate::graph::upper_bound::UpperBound;
use crate::graph::workflow::NodeKind;

pub(super) fn look(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    for node in &outline.nodes {
        let inside = outline.nodes.get(node.at..node.end).unwrap_or_default();
        if !inside.iter().any(has_session) {
            for field in settings_of_sessions(node) {
                let text = format!("`{field}` has no effect: no session runs in this node");
                found.node(node, GraphDiagnostic::warning(None, field, text).hint("leave it out"));
            }
        }
        if !node.node.env.is_empty() && !inside.iter().any(reads_env) {
            let text = "`env` has no effect: no command and no session runs in this node";
            found.node(node, GraphDiagnostic::warning(None, "env", text).hint("leave it out"));
        }
    }
}

fn has_session(node: &OutlineNode<'_>) -> bool {
    let shape = node.node.kind.shape();
    shape.calls().is_some() || shape.most_turns(node.node) != UpperBound::AtMost(0)
}

fn settings_of_sessions(node: &OutlineNode<'_>) -> Vec<&'static str> {
    let settings = &node.node.settings;
    let given = [
        ("driver", settings.driver.is_some()),
        ("model", settings.model.is_some()),
        ("effort", settings.effort.is_some()),
        ("isolation", settings.isolation.is_some()),
    ];
    given.into_iter().filter(|(_, is_given)| *is_given).map(|(field, _)| field).collect()
}

/// Returns whether a node itself may start a program.
fn reads_env(node: &OutlineNode<'_>) -> bool {
    let is_block = !node.node.kind.blocks().is_empty() && !matches!(node.node.kind, NodeKind::TaskLoop(_));
    let is_quiet = matches!(
        node.node.kind,
        NodeKind::Ask(_) | NodeKind::Wait(_) | NodeKind::Fail(_) | NodeKind::ClearContext
    );
    !is_block && !is_quiet
}
