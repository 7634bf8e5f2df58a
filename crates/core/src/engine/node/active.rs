//! The answers of an active node's state about itself, one implementation in the file of each kind.
//!
//! [`Activity`](crate::run::Activity) asks through [`ActiveState`] instead of matching on the kinds.

use crate::id::{NodeId, Verb};
use crate::run::{Bookkeeping, Lane, Waiting};

/// The state of an active node of one kind.
pub(crate) trait ActiveState {
    /// Returns the activity in words, for internal errors.
    fn word(&self) -> &'static str;

    /// Collects what the node waits for. Returns whether it is busy.
    fn waits(&self, site: &WaitSite<'_>, into: &mut Vec<Waiting>) -> bool;

    /// Returns true if the node itself waits for a person, a time or an event.
    fn is_waiting(&self) -> bool {
        false
    }

    /// Returns the lanes inside the node.
    fn lanes(&self) -> Vec<&Lane> {
        Vec::new()
    }

    /// Returns the lanes inside the node with which a continued run goes on.
    fn left_lanes(&self) -> Vec<&Lane> {
        self.lanes()
    }

    /// Returns the lanes inside the node.
    fn lanes_mut(&mut self) -> Vec<&mut Lane> {
        Vec::new()
    }
}

/// An active node and the open effects of its run.
pub(crate) struct WaitSite<'a> {
    pub(crate) instance: &'a NodeId,
    pub(crate) bookkeeping: &'a Bookkeeping,
}

impl WaitSite<'_> {
    /// Returns true if an effect of this node is being performed.
    pub(crate) fn is_open(&self, verb: Verb) -> bool {
        let here = self.bookkeeping.open.iter().filter(|planned| planned.id.node == *self.instance);
        here.filter(|planned| planned.id.verb == verb)
            .any(|planned| !self.bookkeeping.deferred.contains(&planned.id))
    }
}
