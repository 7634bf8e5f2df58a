//! The turns of each node and their headings.

use windlass_core::id::NodeId;

use super::{Human, WORKING};
use crate::cli::terminal::TextTone;

/// The turns of one node.
#[derive(Default)]
pub(super) struct NodeTurns {
    pub(super) iteration: u32,
    /// An iteration that has started and has no line yet.
    pub(super) heading: Option<u32>,
}

impl Human {
    pub(super) fn session(
        &mut self,
        node: &NodeId,
        iteration: u32,
        attempt: u32,
        resumed: bool,
    ) -> Vec<String> {
        self.phase = WORKING;
        let turns = self.turns.entry(node.clone()).or_default();
        turns.heading = (iteration != turns.iteration).then_some(iteration);
        let lines = self.heading(node);
        if attempt == 1 || !lines.is_empty() {
            return lines;
        }
        let how = if resumed { "continuing the session" } else { "starting a new session" };
        vec![self.screen.paint(TextTone::Faint, &format!("  {how} (try {attempt})"))]
    }

    /// Returns the heading of an iteration, once. A node with only one turn has none, unless it is the whole
    /// run.
    pub(super) fn heading(&mut self, node: &NodeId) -> Vec<String> {
        let Some(turns) = self.turns.get_mut(node) else { return Vec::new() };
        let Some(iteration) = turns.heading.take() else { return Vec::new() };
        turns.iteration = iteration;
        self.phase = WORKING;
        let place = self.place(node, iteration);
        match self.nodes.is_one() {
            true => vec![String::new(), self.screen.paint(TextTone::Strong, &place)],
            false if self.nodes.most(node).is_some() => {
                vec![self.screen.paint(TextTone::Strong, &format!("  {place}"))]
            }
            false => Vec::new(),
        }
    }

    pub(super) fn place(&self, node: &NodeId, iteration: u32) -> String {
        match self.nodes.most(node) {
            None | Some(0) => format!("iteration {iteration}"),
            // A log that is read again: the run got more iterations later.
            Some(most) if iteration > most => format!("iteration {iteration}"),
            Some(most) => format!("iteration {iteration} of {most}"),
        }
    }
}
