//! `pull_request`: a pull request for the branch of the run. Runs cannot carry it out yet.

use serde::{Deserialize, Serialize};

use crate::graph::workflow::Template;

use super::pair::{Delivered, NodeRun, Opening, Site};
use super::shape::{NodeShape, Role};
use crate::engine::{Cx, not_yet};
use crate::event::Event;
use crate::graph::check::outline::Text;
use crate::run::Doing;

/// A pull request for the branch of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequestNode {
    /// Its title.
    pub title: Template,
    /// Its text.
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

    fn role(&self) -> Role {
        Role::Proposal
    }
}

impl NodeRun for PullRequestNode {
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
