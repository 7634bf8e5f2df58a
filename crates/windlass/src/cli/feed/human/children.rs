//! The lines of sub-runs within the feed.

use windlass_core::effect::{Effect, Planned};
use windlass_core::id::RunId;
use windlass_core::run::RunState;

use super::super::line_prefix::LinePrefix;
use super::{Human, NARROWEST};
use crate::cli::sanitize::plain_short;
use crate::cli::terminal::TextTone;

impl Human {
    /// Lets a sub-run produce lines and prefixes them with the node that started it.
    pub(super) fn in_child(
        &mut self,
        run: &RunId,
        act: impl FnOnce(&mut Human) -> Vec<String>,
    ) -> Vec<String> {
        let (mut screen, style) = (self.screen, self.style);
        let child = self.children.entry(run.clone()).or_insert_with(|| {
            let child = Human::new(screen, style, run.clone());
            Human { is_child: true, stands: LinePrefix::within(0, run.as_str()), ..child }
        });
        let margin = child.stands.clone();
        screen.width = screen.width.saturating_sub(margin.columns()).max(NARROWEST);
        child.screen = screen;
        child.answers_here = self.answers_here;
        margin.put(act(child))
    }

    /// Labels lines about a run below with the nodes on the path to it.
    pub(crate) fn labelled(&self, run: &RunId, lines: Vec<String>) -> Vec<String> {
        let way = self.way(run).unwrap_or_default();
        way.into_iter().rev().fold(lines, |lines, margin| margin.put(lines))
    }

    /// Returns the prefixes of a run below, from the outermost on.
    fn way(&self, run: &RunId) -> Option<Vec<&LinePrefix>> {
        if self.run == *run {
            return Some(Vec::new());
        }
        self.children.values().find_map(|child| {
            let below = child.way(run)?;
            Some(std::iter::once(&child.stands).chain(below).collect())
        })
    }

    /// Takes in the state of a run below.
    pub(crate) fn see_below(&mut self, state: &RunState) {
        if self.run == state.run {
            return self.see(state);
        }
        self.children.values_mut().for_each(|child| child.see_below(state));
    }

    /// Takes note of a run that this run starts.
    pub(super) fn know_child(&mut self, planned: &Planned) -> Vec<String> {
        let Effect::StartRun { run, spec, .. } = &planned.effect else { return Vec::new() };
        let node = &planned.id.node;
        let stands = match self.nodes.label(node) {
            Some(label) => LinePrefix::within(0, &label),
            None => LinePrefix::within(self.nodes.depth(node) + 1, &self.nodes.name(node)),
        };
        self.in_child(run, |child| {
            child.stands = stands;
            child.started_by = Some(node.clone());
            child.begin(spec)
        });
        let line =
            format!("  started run {run} of `{}`: windlass logs {run}", plain_short(&spec.workflow, 60));
        self.margin(&planned.id.node).put(vec![self.screen.paint(TextTone::Faint, &line)])
    }
}
