//! `shell`: runs a command line from the workflow.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::graph::workflow::{Node, NodeKind, Template};

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeRole, NodeShape};
use crate::effect::{Effect, ShellPlan};
use crate::engine::output::give_output;
use crate::engine::rehearsal::StubField;
use crate::engine::{DecisionCx, done};
use crate::event::{Event, ShellEnd};
use crate::graph::check::outline::Text;
use crate::graph::schema;
use crate::graph::template::NodeOutput;
use crate::id::{NodeId, Verb};
use crate::run::{ActiveNode, Activity, EndReason, FinalStatus, News, Outcome, Waiting};

/// The most bytes that a template may give to a command as standard input. The log keeps them.
const STDIN_MAX: usize = 1 << 20;

/// A command line from the workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShellNode {
    /// The command line for the shell.
    pub command: Template,
    /// The command may run again if it is unknown whether it ran.
    pub idempotent: bool,
    /// The standard input. `None` means that it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<Template>,
    /// The JSON Schema of standard output. The value is `outputs.ID.value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

impl NodeShape for ShellNode {
    fn word(&self) -> &'static str {
        "shell"
    }

    fn output_tells_failure(&self) -> bool {
        true
    }

    fn is_command(&self) -> bool {
        true
    }

    fn label(&self) -> String {
        format!("$ {}", self.command.0)
    }

    fn texts(&self) -> Vec<Text> {
        let stdin = self.stdin.iter().map(|stdin| Text::template("stdin", stdin));
        [Text::template("shell", &self.command)].into_iter().chain(stdin).collect()
    }

    fn role(&self) -> NodeRole {
        NodeRole::Work
    }

    fn value(&self) -> GivenValue<'_> {
        match &self.schema {
            Some(schema) => GivenValue::Answer(Some(schema)),
            None => GivenValue::OnlyText,
        }
    }

    fn stub_fields(&self) -> &'static [StubField] {
        &[StubField::ExitCode, StubField::Stdout, StubField::Value, StubField::Status]
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
        let plan = match self.plan(cx, site) {
            Ok(plan) => plan,
            Err(outcome) => return NodeOpening::NotBegun(outcome),
        };
        cx.plan_once(site.instance, Verb::Shell, Effect::RunShell(plan));
        NodeOpening::UnderWay(Activity::Shell)
    }

    fn apply(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>, (): (), event: &Event) -> Delivered {
        match (event, site.cut) {
            (Event::ShellEnded { end, .. }, None) => Delivered::Over(self.ended(cx, &site.node.id, end)),
            (Event::CleanedUp { .. }, Some(cut)) => Delivered::Over(cut.clone()),
            _ => site.unexpected(cx, event),
        }
    }

    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        (): (),
        outcome: &Outcome,
    ) -> Option<Outcome> {
        // A person can still decide not to resume. `finally` names its own nodes.
        if outcome.status == FinalStatus::Interrupted && !self.idempotent && cx.ending.is_none() {
            let what = format!(
                "the command of `{}` was stopped before it ended; `resume` runs it again from its start",
                site.instance
            );
            cx.decision.news.push(News::Odd { node: site.instance.clone(), what });
        }
        site.abandon(cx)
    }
}

/// Says that a command runs again although an earlier run of it may have done part of its work. A person who
/// resumes the run decided that.
pub(in crate::engine) fn tell_repeat(
    cx: &mut DecisionCx<'_>,
    node: &Node,
    active: &ActiveNode,
    before: Option<&Outcome>,
) {
    let NodeKind::Shell(ShellNode { idempotent: false, .. }) = &node.kind else { return };
    let ended_itself =
        |outcome: &Outcome| matches!(outcome.reason, EndReason::ShellFailed | EndReason::Schema);
    if !matches!(active.activity, Activity::Shell) || before.is_none_or(ended_itself) {
        return;
    }
    let what = format!("the command of `{}` was interrupted, and runs again from its start", active.instance);
    cx.decision.news.push(News::Odd { node: active.instance.clone(), what });
}

impl ShellNode {
    fn plan(&self, cx: &DecisionCx<'_>, site: &NodeSite<'_>) -> Result<ShellPlan, Outcome> {
        let frame = site.frame;
        let stdin = self.stdin.as_ref().map(|stdin| frame.render(cx, stdin)).transpose()?;
        if stdin.as_ref().is_some_and(|stdin| stdin.len() > STDIN_MAX) {
            let why = format!(
                "`stdin` of `{}` has more than {} MB; write it to a file instead",
                site.node.id,
                STDIN_MAX >> 20
            );
            return Err(Outcome::new(FinalStatus::Failed, EndReason::Template).because(why));
        }
        Ok(ShellPlan {
            command: frame.render(cx, &self.command)?,
            workspace: frame.workspace.clone(),
            idempotent: self.idempotent,
            deadline: site.deadline,
            shell: cx.spec.shell,
            env: frame.env(cx, site.node)?,
            stdin,
            json: self.schema.is_some(),
        })
    }

    fn ended(&self, cx: &mut DecisionCx<'_>, id: &NodeId, end: &ShellEnd) -> Outcome {
        let ShellEnd::Exited { passed, how, output, stdout } = end else {
            return Outcome::new(FinalStatus::Blocked, EndReason::ShellUnknown).because(format!(
                "the command of `{id}` was interrupted, and it is unknown whether it finished; check what it did: \
                 `resume` runs it again from its start"
            ));
        };
        let printed = stdout.as_ref().unwrap_or(output);
        let value = match (&self.schema, passed) {
            (Some(schema), true) => read(schema, printed).map(Some),
            _ => Ok(None),
        };
        // The value says the same as a whole JSON output, which may be long.
        let stdout = stdout.clone().filter(|_| !*passed);
        give_output(
            cx,
            id,
            NodeOutput {
                text: output.clone(),
                value: value.as_ref().ok().cloned().flatten(),
                exit_code: end.exit_code(),
                stdout,
                ..NodeOutput::default()
            },
        );
        match value {
            _ if !*passed => Outcome::new(FinalStatus::Failed, EndReason::ShellFailed)
                .because(format!("the command of `{id}` failed: {how}")),
            Ok(_) => done(EndReason::AllDone),
            Err(why) => Outcome::new(FinalStatus::Failed, EndReason::Schema)
                .because(format!("the output of `{id}` does not fit its schema: {why}")),
        }
    }
}

/// Reads standard output as a value that fits a schema.
fn read(schema: &Value, printed: &str) -> Result<Value, String> {
    let text = printed.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err("it is empty, where JSON is wanted".to_owned());
    }
    let value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let errors = schema::validate(schema, &value);
    if errors.is_empty() {
        return Ok(value);
    }
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Err(errors.join("; "))
}
