//! `review`: a look at what was done so far, by a session of its own. Runs cannot carry it out yet.

use serde::{Deserialize, Serialize};

use super::pair::{Delivered, NodeRun, Opening, Site};
use super::shape::{NodeShape, Role};
use crate::engine::{Cx, not_yet};
use crate::event::Event;
use crate::graph::check::least::Least;
use crate::graph::workflow::Step;
use crate::graph::worst::Bound;
use crate::run::Doing;

/// A review of what was done so far, by a session of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewNode {
    /// The agent that reviews, by name.
    pub agent: Option<String>,
    /// Rejections after which a person is asked.
    pub max_cycles: u32,
    /// The confidence an approval needs, from 0 to 1.
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

    fn role(&self) -> Role {
        Role::Gate
    }

    /// A review and what mends it, each time, and a last review.
    fn most_turns(&self, _step: &Step) -> Bound {
        Bound::AtMost(2 * u64::from(self.max_cycles) + 1)
    }

    fn least(&self) -> Least {
        Least { turns: 1, ms: 0 }
    }

    fn names_entity(&self) -> bool {
        self.agent.is_some()
    }
}

impl NodeRun for ReviewNode {
    type State<'s> = ();

    fn state(_doing: &mut Doing) -> Option<()> {
        None
    }

    fn begin(&self, _cx: &mut Cx<'_>, _site: &mut Site<'_>) -> Opening {
        Opening::NotBegun(not_yet(self.word()))
    }

    fn apply(&self, cx: &mut Cx<'_>, site: &mut Site<'_>, _state: (), event: &Event) -> Delivered {
        site.unexpected(cx, event)
    }
}
