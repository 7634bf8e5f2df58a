//! `clear_context`: starts the next session without the context of earlier ones. Every session starts so, and the
//! node does nothing.

use super::pair::{Delivered, NodeRun, Opening, Site};
use super::shape::NodeShape;
use crate::engine::{Cx, done};
use crate::event::Event;
use crate::run::{Doing, Reason};

/// A node that starts the next session without the context of earlier ones.
pub(super) struct ClearContextNode;

impl NodeShape for ClearContextNode {
    fn word(&self) -> &'static str {
        "clear_context"
    }
}

impl NodeRun for ClearContextNode {
    type State<'s> = ();

    fn state(_doing: &mut Doing) -> Option<()> {
        None
    }

    fn begin(&self, _cx: &mut Cx<'_>, _site: &mut Site<'_>) -> Opening {
        Opening::NotBegun(done(Reason::AllDone))
    }

    fn apply(&self, cx: &mut Cx<'_>, site: &mut Site<'_>, _state: (), event: &Event) -> Delivered {
        site.unexpected(cx, event)
    }
}
