//! `review`: reviews the work so far in a separate session. Runs do not support it yet.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{NodeRole, NodeShape, StandIn};
use crate::engine::rehearsal::StubField;
use crate::engine::{DecisionCx, not_yet};
use crate::event::Event;
use crate::graph::check::lower_bound::LowerBound;
use crate::graph::upper_bound::UpperBound;
use crate::graph::workflow::Node;
use crate::run::Activity;

/// A review of the work so far in a separate session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewNode {
    /// The name of the reviewing agent.
    pub agent: Option<String>,
    /// The number of rejections after which a person is asked.
    pub max_cycles: u32,
    /// The confidence that an approval needs, from 0 to 1.
    pub threshold: Option<f64>,
}

impl NodeShape for ReviewNode {
    fn word(&self) -> &'static str {
        "review"
    }

    fn can_run(&self) -> bool {
        false
    }

    fn label(&self) -> String {
        self.agent.as_ref().map_or_else(|| "review".to_owned(), |agent| format!("review by {agent}"))
    }

    fn role(&self) -> NodeRole {
        NodeRole::Gate
    }

    /// Counts a review and a fix for each cycle, and a last review.
    fn most_turns(&self, _step: &Node) -> UpperBound {
        UpperBound::AtMost(2 * u64::from(self.max_cycles) + 1)
    }

    fn least(&self) -> LowerBound {
        LowerBound { turns: 1, ms: 0 }
    }

    fn names_entity(&self) -> bool {
        self.agent.is_some()
    }

    fn stub_fields(&self) -> &'static [StubField] {
        &[StubField::Text, StubField::Value, StubField::Status]
    }

    fn stand_in(&self) -> StandIn {
        StandIn { texts: Vec::new(), value: Some(json!({"verdict": "approve"})) }
    }
}

impl NodeRun for ReviewNode {
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
