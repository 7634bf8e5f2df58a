//! Refuses sessions that run beside a node that a plugin loops: the plugin loops every session in the folder.
//! The check of a document knows only the modes written there; this one knows those of flags and settings,
//! too.

use windlass_core::graph::check::beside_a_plugins_loop;
use windlass_core::graph::workflow::{EachNode, Node, NodeKind, ParallelNode, WorkflowNode};
use windlass_core::id::NodeId;
use windlass_core::looping::LoopMode;
use windlass_core::spec::Spec;

use crate::user_error::{UserError, UserErrorKind};

/// Refuses parallel branches if a plugin loops in one of them.
pub(super) fn refuse(spec: &Spec) -> Result<(), UserError> {
    let all = || std::iter::once(spec).chain(spec.others.values());
    all().try_for_each(|part| {
        let is_looped = |node: &Node| match &node.kind {
            NodeKind::Session(_) => {
                let rules =
                    part.sessions.get(&node.id).and_then(|session_settings| session_settings.rules.as_ref());
                rules.is_some_and(|rules| rules.mode == LoopMode::Plugin)
            }
            NodeKind::Workflow(WorkflowNode { name, .. }) => {
                spec.others.get(name).is_some_and(Spec::has_plugin_mode)
            }
            _ => false,
        };
        let Some((looping, beside)) = find(&part.body, &is_looped) else { return Ok(()) };
        let text = format!(
            "workflow `{}`: `{looping}` loops by a plugin, and the plugin would also loop `{beside}`, which \
             runs beside it",
            part.workflow
        );
        Err(UserError::new(UserErrorKind::Configuration, text).hint(
            "let the branches run one after the other (`limit: 1`), or choose another mode: --mode fresh",
        ))
    })
}

/// Returns the first node that a plugin loops.
fn first_looped<'n>(body: &'n [Node], is_looped: &dyn Fn(&Node) -> bool) -> Option<&'n NodeId> {
    body.iter().find_map(|node| match is_looped(node) {
        true => Some(&node.id),
        false => node.kind.blocks().into_iter().find_map(|block| first_looped(block.body, is_looped)),
    })
}

fn find(body: &[Node], is_looped: &dyn Fn(&Node) -> bool) -> Option<(String, String)> {
    body.iter().find_map(|node| {
        let here = match &node.kind {
            NodeKind::Parallel(ParallelNode { limit, branches, .. }) if *limit != 1 => {
                beside_a_plugins_loop(branches, is_looped)
            }
            NodeKind::Each(EachNode { jobs: 2.., body, .. }) => {
                first_looped(body, is_looped).map(|id| (id, id))
            }
            _ => None,
        };
        let here = here.map(|(looping, beside)| (looping.to_string(), beside.to_string()));
        here.or_else(|| node.kind.blocks().into_iter().find_map(|block| find(block.body, is_looped)))
    })
}
