//! `land`: lands the commits of the worktree on the target branch. Runs do not support it yet.

use serde::{Deserialize, Serialize};

use crate::graph::workflow::Template;

use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{NodeRole, NodeShape, StandIn};
use crate::engine::rehearsal::StubField;
use crate::engine::{DecisionCx, not_yet};
use crate::event::Event;
use crate::graph::check::outline::Text;
use crate::run::Activity;

/// A landing of the worktree's commits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandNode {
    /// The target branch. `None` means the branch on which the run started.
    pub target: Option<Template>,
}

impl NodeShape for LandNode {
    fn word(&self) -> &'static str {
        "land"
    }

    fn can_run(&self) -> bool {
        false
    }

    fn label(&self) -> String {
        self.target.as_ref().map_or_else(|| "land".to_owned(), |target| format!("land on {}", target.0))
    }

    fn texts(&self) -> Vec<Text> {
        self.target.iter().map(|target| Text::template("land.target", target)).collect()
    }

    fn role(&self) -> NodeRole {
        NodeRole::Landing
    }

    fn stub_fields(&self) -> &'static [StubField] {
        &[StubField::Text, StubField::Status]
    }

    fn stand_in(&self) -> StandIn {
        let texts = self.target.iter().map(|target| ("target", target.clone()));
        StandIn { texts: texts.collect(), value: None }
    }
}

impl NodeRun for LandNode {
    type State<'s> = ();

    fn state(_doing: &mut Activity) -> Option<()> {
        None
    }

    fn begin(&self, _cx: &mut DecisionCx<'_>, _site: &mut NodeSite<'_>) -> NodeOpening {
        NodeOpening::NotBegun(not_yet(self.word()))
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
