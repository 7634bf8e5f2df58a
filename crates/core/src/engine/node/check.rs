//! `check`: runs checks that must pass.

use serde::{Deserialize, Serialize};

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeRole, NodeShape};
use serde_json::{Value, json};

use crate::effect::Effect;
use crate::engine::output::give_value;
use crate::engine::rehearsal::StubField;
use crate::engine::{DecisionCx, done};
use crate::event::Event;
use crate::id::Verb;
use crate::looping::verdict::{CheckResult, red};
use crate::run::{Activity, EndReason, FinalStatus, Outcome, Waiting};

/// Checks that must pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckNode {
    /// The checks to run. Empty means all of them.
    pub names: Vec<String>,
}

impl NodeShape for CheckNode {
    fn word(&self) -> &'static str {
        "check"
    }

    fn output_tells_failure(&self) -> bool {
        true
    }

    fn label(&self) -> String {
        if self.names.is_empty() {
            "check all".to_owned()
        } else {
            format!("check {}", self.names.join(", "))
        }
    }

    fn role(&self) -> NodeRole {
        NodeRole::Gate
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::Checks(&self.names)
    }

    fn stub_fields(&self) -> &'static [StubField] {
        &[StubField::Status, StubField::Value, StubField::Text]
    }
}

/// The state of an active node of this kind, which has no data.
pub(crate) struct CheckState;

impl ActiveState for CheckState {
    fn word(&self) -> &'static str {
        "checks"
    }

    fn waits(&self, _site: &WaitSite<'_>, _into: &mut Vec<Waiting>) -> bool {
        true
    }
}

impl NodeRun for CheckNode {
    type State<'s> = ();

    fn state(activity: &mut Activity) -> Option<()> {
        matches!(activity, Activity::Check).then_some(())
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        let is_unknown = |name: &&String| !cx.spec.checks.iter().any(|check| check.name == **name);
        if let Some(name) = self.names.iter().find(is_unknown) {
            let why = format!("`{}` needs the check `{name}`, which is not defined", site.node.id);
            return NodeOpening::NotBegun(
                Outcome::new(FinalStatus::Failed, EndReason::ChecksFailed).because(why),
            );
        }
        if cx.spec.checks.is_empty() {
            return NodeOpening::NotBegun(done(EndReason::AllDone).because("there are no checks"));
        }
        let env = match site.frame.env(cx, site.node) {
            Ok(env) => env,
            Err(outcome) => return NodeOpening::NotBegun(outcome),
        };
        let (names, workspace) = (self.names.clone(), site.frame.workspace.clone());
        cx.plan_once(site.instance, Verb::Checks, Effect::RunChecks { names, workspace, env });
        NodeOpening::UnderWay(Activity::Check)
    }

    fn apply(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>, (): (), event: &Event) -> Delivered {
        match (event, site.cut) {
            (Event::ChecksFinished { results, .. }, None) => Delivered::Over(finished(cx, site, results)),
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

fn finished(cx: &mut DecisionCx<'_>, site: &NodeSite<'_>, results: &[CheckResult]) -> Outcome {
    let id = &site.node.id;
    if results.is_empty() {
        let why = format!("the checks of `{id}` did not run");
        return Outcome::new(FinalStatus::Failed, EndReason::ChecksFailed).because(why);
    }
    let text = red(results).unwrap_or_default();
    let by_name: serde_json::Map<String, Value> =
        results.iter().map(|check| (check.name.clone(), json!(check.passed))).collect();
    give_value(cx, id, &text, Some(Value::Object(by_name)));
    let red: Vec<&str> =
        results.iter().filter(|check| !check.passed).map(|check| check.name.as_str()).collect();
    if red.is_empty() {
        return done(EndReason::AllDone);
    }
    Outcome::new(FinalStatus::Failed, EndReason::ChecksFailed)
        .because(format!("checks failed: {}", red.join(", ")))
}
