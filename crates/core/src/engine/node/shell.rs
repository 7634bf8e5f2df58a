//! `shell`: runs a command line from the workflow.

use serde::{Deserialize, Serialize};

use crate::graph::workflow::Template;

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeRole, NodeShape};
use crate::effect::Effect;
use crate::engine::output::give;
use crate::engine::{DecisionCx, done};
use crate::event::{Event, ShellEnd};
use crate::graph::check::outline::Text;
use crate::id::Verb;
use crate::run::{Activity, EndReason, FinalStatus, Outcome, Waiting};

/// A command line from the workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellNode {
    /// The command line for `sh -c`.
    pub command: Template,
    /// The command may run again if it is unknown whether it ran.
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

    fn role(&self) -> NodeRole {
        NodeRole::Work
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::OnlyText
    }
}

/// The state of an active node of this kind, which has no data.
pub(crate) struct ShellState;

impl ActiveState for ShellState {
    fn word(&self) -> &'static str {
        "a command line"
    }

    fn waits(&self, site: &WaitSite<'_>, _into: &mut Vec<Waiting>) -> bool {
        site.is_open(Verb::Shell)
    }
}

impl NodeRun for ShellNode {
    type State<'s> = ();

    fn state(activity: &mut Activity) -> Option<()> {
        matches!(activity, Activity::Shell).then_some(())
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        let command = match site.frame.render(cx, &self.command) {
            Ok(command) => command,
            Err(outcome) => return NodeOpening::NotBegun(outcome),
        };
        let effect = Effect::RunShell {
            command,
            workspace: site.frame.workspace.clone(),
            idempotent: self.idempotent,
            deadline: site.deadline,
        };
        cx.plan_once(site.instance, Verb::Shell, effect);
        NodeOpening::UnderWay(Activity::Shell)
    }

    fn apply(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>, (): (), event: &Event) -> Delivered {
        match (event, site.cut) {
            (Event::ShellEnded { end, .. }, None) => Delivered::Over(ended(cx, site, end)),
            (Event::CleanedUp { .. }, Some(cut)) => Delivered::Over(cut.clone()),
            _ => site.unexpected(cx, event),
        }
    }

    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        (): (),
        _outcome: &Outcome,
    ) -> Option<Outcome> {
        site.abandon(cx)
    }
}

fn ended(cx: &mut DecisionCx<'_>, site: &NodeSite<'_>, end: &ShellEnd) -> Outcome {
    let id = &site.node.id;
    match end {
        ShellEnd::Exited { passed, how, output } => {
            give(cx, id, output);
            if *passed {
                return done(EndReason::AllDone);
            }
            Outcome::new(FinalStatus::Failed, EndReason::ShellFailed)
                .because(format!("the command of `{id}` failed: {how}"))
        }
        ShellEnd::Unknown => Outcome::new(FinalStatus::Blocked, EndReason::ShellUnknown).because(format!(
            "the command of `{id}` was interrupted, and it is unknown whether it finished; check its result, \
             then fork the run there, or set `idempotent: true` on the node if it may run twice"
        )),
    }
}
