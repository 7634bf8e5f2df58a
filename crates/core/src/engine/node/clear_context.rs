//! `clear_context`: starts the next session without the context of earlier ones. Only a session with
//! `continue` has any, so the node closes the sessions that it could continue.

use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::NodeShape;
use crate::engine::{DecisionCx, done};
use crate::event::Event;
use crate::run::{Activity, EndReason};

/// A node that starts the next session without the context of earlier ones.
pub(super) struct ClearContextNode;

impl NodeShape for ClearContextNode {
    fn word(&self) -> &'static str {
        "clear_context"
    }

    fn is_step(&self) -> bool {
        false
    }
}

impl NodeRun for ClearContextNode {
    type State<'s> = ();

    fn state(_doing: &mut Activity) -> Option<()> {
        None
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        cx.bookkeeping.clear_sessions(site.frame.session_scope().as_deref());
        NodeOpening::NotBegun(done(EndReason::AllDone))
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        _state: (),
        event: &Event,
    ) -> Delivered {
        site.unexpected(cx, event)
    }
}
