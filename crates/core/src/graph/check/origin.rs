//! Follows a value to the node that computes it: through the workflows that hand it on, and through the
//! results of `each`.

use super::context::CheckContext;
use super::outline::Outline;
use crate::engine::node::shape::GivenValue;
use crate::graph::ids::folded;
use crate::graph::template::names::{ITEM, named_item, named_value};
use crate::graph::walk::MAX_DEPTH;
use crate::graph::workflow::{EachNode, Join, ListSource, Node, NodeKind, OnFailure, Workflow};

/// The value of a node, or a part of it.
#[derive(Clone)]
pub(super) struct ValueOrigin<'w> {
    pub(super) workflow: &'w Workflow,
    pub(super) node: &'w Node,
    /// The parts that lead into the value of the node.
    pub(super) parts: Vec<String>,
}

/// Returns the origin of a part of the value of a node. `None` if it is unknown: it depends on the run, or
/// a workflow cannot be read.
pub(super) fn origin<'w>(
    outline: &Outline<'w>,
    known: &'w CheckContext<'_>,
    id: &str,
    parts: &[String],
) -> Option<ValueOrigin<'w>> {
    let node = outline.find(id)?.node;
    let mut at = ValueOrigin { workflow: outline.workflow, node, parts: parts.to_vec() };
    for _ in 0..MAX_DEPTH {
        at = match (at.node.kind.shape().value(), &at.node.kind) {
            (GivenValue::Called(name), _) => in_called(known, name, at.parts)?,
            (GivenValue::Items, NodeKind::Each(each)) => match in_items(outline, &at, each) {
                InItems::Own => return Some(at),
                InItems::Unknown => return None,
                InItems::Of(origin) => origin,
            },
            _ => return Some(at),
        };
    }
    None
}

/// Returns the value that a run of another workflow gives: what `gives` names, or the value of its last
/// node. `None` if the run may skip the last node.
fn in_called<'w>(known: &'w CheckContext<'_>, name: &str, parts: Vec<String>) -> Option<ValueOrigin<'w>> {
    let workflow = known.workflows.get(name)?.as_ref()?;
    let Some(gives) = &workflow.gives else {
        let node = workflow.main_nodes().last().filter(|node| node.when.is_none())?;
        return Some(ValueOrigin { workflow, node, parts });
    };
    let mut path = named_value(gives)?;
    path.extend(parts);
    of_output(workflow, &path, |id| find(&workflow.body, id, 0))
}

/// The origin of a part of the value of an `each` node.
enum InItems<'w> {
    /// The node itself.
    Own,
    Unknown,
    Of(ValueOrigin<'w>),
}

fn in_items<'w>(outline: &Outline<'w>, at: &ValueOrigin<'w>, each: &'w EachNode) -> InItems<'w> {
    let parts: Vec<&str> = at.parts.iter().map(String::as_str).collect();
    let rest = at.parts.get(3..).unwrap_or_default();
    let is_here = std::ptr::eq(outline.workflow, at.workflow);
    let origin = match parts.as_slice() {
        ["items", ITEM, "item", ..] => item_of(each).and_then(|mut path| {
            path.extend_from_slice(rest);
            of_output(at.workflow, &path, |id| match is_here {
                true => outline.find(id).map(|source| source.node),
                false => find(&at.workflow.body, id, 0),
            })
        }),
        ["items", ITEM, "value", ..] => {
            let is_complete = is_here && items_are_complete(outline, at.node, each);
            match last_of_item(each, is_complete).as_slice() {
                [node] => Some(ValueOrigin { workflow: at.workflow, node, parts: rest.to_vec() }),
                _ => None,
            }
        }
        _ => return InItems::Own,
    };
    origin.map_or(InItems::Unknown, InItems::Of)
}

fn item_of(each: &EachNode) -> Option<Vec<String>> {
    match &each.items {
        ListSource::Expression(list) => named_item(list),
        ListSource::Literal(_) => None,
    }
}

/// Returns the origin of the value that a path names, before it is followed further.
fn of_output<'w>(
    workflow: &'w Workflow,
    path: &[String],
    find: impl FnOnce(&str) -> Option<&'w Node>,
) -> Option<ValueOrigin<'w>> {
    let [root, id, value, parts @ ..] = path else { return None };
    if root != "outputs" || value != "value" {
        return None;
    }
    Some(ValueOrigin { workflow, node: find(id)?, parts: parts.to_vec() })
}

/// Returns the nodes whose output may be the result of an item: the last one of them that ran.
pub(super) fn last_of_item(each: &EachNode, is_complete: bool) -> Vec<&Node> {
    if !is_complete {
        // An item that fails at a node has the output of that node.
        return each.body.iter().collect();
    }
    let skipped = each.body.iter().rev().take_while(|node| node.when.is_some()).count();
    each.body.iter().rev().take(skipped + 1).collect()
}

/// Returns whether later nodes see only items that ran to their end.
pub(super) fn items_are_complete(outline: &Outline<'_>, node: &Node, each: &EachNode) -> bool {
    let goes_on = |node: &NodeKind| matches!(node, NodeKind::Try(_) | NodeKind::Finally(_));
    each.join == Join::All
        && node.on_failure == OnFailure::Fail
        && outline.shows_only_completed()
        && !outline.nodes.iter().any(|node| goes_on(&node.node.kind))
}

fn find<'w>(body: &'w [Node], id: &str, depth: usize) -> Option<&'w Node> {
    let inside =
        |node: &'w Node| node.kind.blocks().into_iter().find_map(|block| find(block.body, id, depth + 1));
    let is_it = |node: &'w Node| (folded(node.id.as_str()) == folded(id)).then_some(node);
    body.iter().filter(|_| depth <= MAX_DEPTH).find_map(|node| is_it(node).or_else(|| inside(node)))
}
