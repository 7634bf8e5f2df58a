//! Stand-ins for the kinds of nodes that runs do not support yet, so that a rehearsal can walk them.
//!
//! A stand-in is a call of a workflow without nodes: it renders the templates of the node as its inputs, and
//! its stub result is the output.

use std::collections::BTreeMap;

use crate::graph::workflow::{Node, NodeKind, WorkflowNode};
use crate::spec::Spec;

/// The name of the workflow without nodes. No document can have it.
const NAME: &str = "(stub)";

/// Replaces every node of a kind that cannot run.
pub(super) fn replace(spec: &mut Spec) {
    if in_body(&mut spec.body) {
        let empty = Spec {
            workflow: NAME.to_owned(),
            inputs: BTreeMap::new(),
            kinds: BTreeMap::new(),
            body: Vec::new(),
            sessions: BTreeMap::new(),
            prices: Default::default(),
            others: BTreeMap::new(),
            ..spec.clone()
        };
        spec.others.insert(NAME.to_owned(), empty);
    }
}

/// Decides whether a run is that of a stand-in.
pub(super) fn is_one(spec: &Spec) -> bool {
    spec.workflow == NAME
}

fn in_body(body: &mut [Node]) -> bool {
    let mut has_any = false;
    for node in body {
        if !node.kind.can_run() {
            let texts = node.kind.shape().stand_in().texts.into_iter();
            let inputs = texts.map(|(name, template)| (name.to_owned(), template)).collect();
            node.kind = NodeKind::Workflow(WorkflowNode { name: NAME.to_owned(), inputs });
            has_any = true;
        }
        for block in node.kind.blocks_mut() {
            has_any |= in_body(block);
        }
    }
    has_any
}
