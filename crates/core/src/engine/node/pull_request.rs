//! `pull_request`: opens a pull request for the branch of the run. Runs do not support it yet.

use serde::{Deserialize, Serialize};

use crate::graph::workflow::Template;

use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{NodeRole, NodeShape, StandIn};
use crate::engine::rehearsal::StubField;
use crate::engine::{DecisionCx, not_yet};
use crate::event::Event;
use crate::graph::check::outline::Text;
use crate::run::Activity;

/// A pull request for the branch of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequestNode {
    pub title: Template,
    pub body: Option<Template>,
}

impl NodeShape for PullRequestNode {
    fn word(&self) -> &'static str {
        "pull_request"
    }

    fn can_run(&self) -> bool {
        false
    }

    fn label(&self) -> String {
        format!("pull request: {}", self.title.0)
    }

    fn texts(&self) -> Vec<Text> {
        let body = self.body.iter().map(|body| Text::template("pull_request.body", body));
        std::iter::once(Text::template("pull_request.title", &self.title)).chain(body).collect()
    }

    fn role(&self) -> NodeRole {
        NodeRole::Proposal
    }

    fn stub_fields(&self) -> &'static [StubField] {
        &[StubField::Text, StubField::Value, StubField::Status]
    }

    fn stand_in(&self) -> StandIn {
        let body = self.body.iter().map(|body| ("body", body.clone()));
        let texts = std::iter::once(("title", self.title.clone())).chain(body);
        StandIn { texts: texts.collect(), value: None }
    }
}

impl NodeRun for PullRequestNode {
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
