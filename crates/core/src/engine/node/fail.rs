//! `fail`: ends the sequence as failed, with a reason from the workflow.

use serde::{Deserialize, Serialize};

use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::NodeShape;
use crate::engine::DecisionCx;
use crate::event::Event;
use crate::graph::check::outline::Text;
use crate::graph::workflow::Template;
use crate::run::{Activity, EndReason, FinalStatus, Outcome};

/// A node that always fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailNode {
    /// The reason, for people and as feedback.
    pub reason: Template,
}

impl NodeShape for FailNode {
    fn word(&self) -> &'static str {
        "fail"
    }

    fn label(&self) -> String {
        format!("fail: {}", self.reason.0)
    }

    fn always_fails(&self) -> bool {
        true
    }

    fn texts(&self) -> Vec<Text> {
        vec![Text::template("fail", &self.reason)]
    }
}

impl NodeRun for FailNode {
    type State<'s> = ();

    fn state(_activity: &mut Activity) -> Option<()> {
        None
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        let outcome = match site.frame.render(cx, &self.reason) {
            Ok(reason) => Outcome::new(FinalStatus::Failed, EndReason::FailNode).because(reason.trim()),
            Err(outcome) => outcome,
        };
        NodeOpening::NotBegun(outcome)
    }

    fn apply(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>, (): (), event: &Event) -> Delivered {
        site.unexpected(cx, event)
    }
}
