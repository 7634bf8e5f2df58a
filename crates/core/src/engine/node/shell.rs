//! `shell`: a command line of the workflow's author.

use serde::{Deserialize, Serialize};

use crate::graph::workflow::Template;

use super::pair::{Delivered, NodeRun, Opening, Site};
use super::shape::{GivenValue, NodeShape, Role};
use crate::effect::Effect;
use crate::engine::output::give;
use crate::engine::{Cx, done};
use crate::event::{Event, ShellEnd};
use crate::graph::check::outline::Text;
use crate::id::Verb;
use crate::run::{Doing, Outcome, Reason, Status};

/// A command line of the workflow's author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellNode {
    /// What is run by `sh -c`.
    pub command: Template,
    /// It may be run again when nobody knows whether it was.
    pub idempotent: bool,
}

impl NodeShape for ShellNode {
    fn word(&self) -> &'static str {
        "shell"
    }

    fn output_tells_failure(&self) -> bool {
        true
    }

    fn label(&self) -> String {
        format!("$ {}", self.command.0)
    }

    fn texts(&self) -> Vec<Text> {
        vec![Text::template("shell", &self.command)]
    }

    fn role(&self) -> Role {
        Role::Work
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::OnlyText
    }
}

impl NodeRun for ShellNode {
    type State<'s> = ();

    fn state(doing: &mut Doing) -> Option<()> {
        matches!(doing, Doing::Shell).then_some(())
    }

    fn begin(&self, cx: &mut Cx<'_>, site: &mut Site<'_>) -> Opening {
        let command = match site.around.render(cx, &self.command) {
            Ok(command) => command,
            Err(outcome) => return Opening::NotBegun(outcome),
        };
        let effect = Effect::RunShell {
            command,
            workspace: site.around.workspace.clone(),
            idempotent: self.idempotent,
            deadline: site.deadline,
        };
        cx.plan_once(site.instance, Verb::Shell, effect);
        Opening::UnderWay(Doing::Shell)
    }

    fn apply(&self, cx: &mut Cx<'_>, site: &mut Site<'_>, (): (), event: &Event) -> Delivered {
        match (event, site.cut) {
            (Event::ShellEnded { end, .. }, None) => Delivered::Over(ended(cx, site, end)),
            (Event::CleanedUp { .. }, Some(cut)) => Delivered::Over(cut.clone()),
            _ => site.unexpected(cx, event),
        }
    }

    fn cancel(&self, cx: &mut Cx<'_>, site: &mut Site<'_>, (): (), _outcome: &Outcome) -> Option<Outcome> {
        site.abandon(cx)
    }
}

fn ended(cx: &mut Cx<'_>, site: &Site<'_>, end: &ShellEnd) -> Outcome {
    let id = &site.step.id;
    match end {
        ShellEnd::Exited { passed, how, output } => {
            give(cx, id, output);
            if *passed {
                return done(Reason::AllDone);
            }
            Outcome::new(Status::Failed, Reason::ShellFailed)
                .because(format!("the command of `{id}` failed: {how}"))
        }
        ShellEnd::Unknown => Outcome::new(Status::Blocked, Reason::ShellUnknown).because(format!(
            "the command of `{id}` was cut off, and nobody knows whether it did its work; look, then \
             fork the run there, or mark the node `idempotent: true` where it may run twice"
        )),
    }
}
