//! Runs that were started from the one that is looked at.

use windlass_core::effect::{Effect, Planned};
use windlass_core::id::RunId;

use super::super::margin::Margin;
use super::{Human, NARROWEST};
use crate::cli::plain::plain_short;
use crate::cli::screen::Tone;

impl Human {
    /// The lines of a run that was started from here, below the node that started it.
    pub(super) fn in_child(
        &mut self,
        run: &RunId,
        act: impl FnOnce(&mut Human) -> Vec<String>,
    ) -> Vec<String> {
        let (mut screen, style) = (self.screen, self.style);
        let child = self.children.entry(run.clone()).or_insert_with(|| {
            let child = Human::new(screen, style, run.clone());
            Human { is_child: true, stands: Margin::within(0, run.as_str()), ..child }
        });
        let margin = child.stands.clone();
        screen.width = screen.width.saturating_sub(margin.columns()).max(NARROWEST);
        child.screen = screen;
        child.answers_here = self.answers_here;
        margin.put(act(child))
    }

    /// A run that is started from here.
    pub(super) fn know_child(&mut self, planned: &Planned) -> Vec<String> {
        let Effect::StartRun { run, spec } = &planned.effect else { return Vec::new() };
        let node = &planned.id.node;
        let stands = Margin::within(self.nodes.depth(node) + 1, &self.nodes.name(node));
        self.in_child(run, |child| {
            child.stands = stands;
            child.begin(spec)
        });
        let line =
            format!("  run {run} of `{}` begins: windlass logs {run}", plain_short(&spec.workflow, 60));
        self.margin(&planned.id.node).put(vec![self.screen.paint(Tone::Faint, &line)])
    }
}
