//! `workflow`: runs another workflow as a child run, with its own inputs and budget.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeRole, NodeShape};
use crate::effect::Effect;
use crate::engine::allowance::left_to;
use crate::engine::frame::Frame;
use crate::engine::output::give_value;
use crate::engine::rehearsal::{StubField, invented_input};
use crate::engine::{DecisionCx, InputError, done, settle_inputs};
use crate::event::{Event, RunEnd};
use crate::graph::check::outline::Text;
use crate::graph::ids::named;
use crate::graph::workflow::{Budget, Expression, InputKind, Template};
use crate::id::{NodeId, RunId, Verb, derive_run};
use crate::run::{Activity, EndReason, FinalStatus, Outcome, Spent, Waiting};
use crate::spec::{MAX_DEPTH, Parent, Spec};

/// The length to which an error message cuts a value, in characters.
const SHOWN: usize = 80;

/// A node that runs another workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowNode {
    pub name: String,
    pub inputs: BTreeMap<String, Template>,
}

/// The state of a child run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubRunState {
    pub run: RunId,
    /// The spending that the child run has reported.
    pub spent: Spent,
    /// The first turn is reserved, but the child run has reported none yet.
    #[serde(default)]
    pub is_ahead: bool,
}

impl NodeShape for WorkflowNode {
    fn word(&self) -> &'static str {
        "workflow"
    }

    fn default_id(&self) -> String {
        named("workflow", &self.name)
    }

    fn label(&self) -> String {
        format!("workflow {}", self.name)
    }

    fn texts(&self) -> Vec<Text> {
        let text = |value| Text::template("with", value);
        self.inputs.iter().map(|(name, value)| Text { key: Some(name.clone()), ..text(value) }).collect()
    }

    fn role(&self) -> NodeRole {
        NodeRole::Work
    }

    fn calls(&self) -> Option<&WorkflowNode> {
        Some(self)
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::Called(&self.name)
    }

    fn stub_fields(&self) -> &'static [StubField] {
        &[StubField::Text, StubField::Value, StubField::Status]
    }
}

impl ActiveState for SubRunState {
    fn word(&self) -> &'static str {
        "a run of another workflow"
    }

    fn waits(&self, site: &WaitSite<'_>, _into: &mut Vec<Waiting>) -> bool {
        site.is_open(Verb::Run)
    }
}

impl NodeRun for WorkflowNode {
    type State<'s> = &'s mut SubRunState;

    fn state(activity: &mut Activity) -> Option<&mut SubRunState> {
        if let Activity::Run(state) = activity { Some(state) } else { None }
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        match self.start(cx, site) {
            Ok(state) => NodeOpening::UnderWay(Activity::Run(state)),
            Err(outcome) => NodeOpening::NotBegun(outcome),
        }
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut SubRunState,
        event: &Event,
    ) -> Delivered {
        match event {
            Event::RunSpent { spent, .. } => {
                state.spends(cx, spent);
                Delivered::UnderWay
            }
            Event::RunEnded { end, .. } => {
                state.spends(cx, &end.spent);
                state.took_no_turn(cx);
                match site.cut {
                    // A node that is being ended waits for the end of the cleanup.
                    Some(_) => Delivered::UnderWay,
                    None => Delivered::Over(ended(cx, site, state, end)),
                }
            }
            Event::CleanedUp { .. } => {
                state.took_no_turn(cx);
                site.cut.cloned().into()
            }
            _ => site.unexpected(cx, event),
        }
    }

    /// A child run that someone cancelled is over for good, so the node starts a new one.
    fn can_reopen(&self, _state: &mut SubRunState, before: Option<&Outcome>) -> bool {
        before.is_none_or(|outcome| outcome.status != FinalStatus::Cancelled)
    }

    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut SubRunState,
        _before: Option<&Outcome>,
    ) -> Option<Outcome> {
        match self.start(cx, site) {
            Ok(again) => {
                // The child run reports its whole spending, which is counted up to here.
                *state = SubRunState { spent: state.spent, ..again };
                None
            }
            Err(outcome) => Some(outcome),
        }
    }

    /// Keeps counting the spending of the child run until it ends.
    fn cancel(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        _state: &mut SubRunState,
        _outcome: &Outcome,
    ) -> Option<Outcome> {
        site.clean_up(cx)
    }
}

impl WorkflowNode {
    fn start(&self, cx: &mut DecisionCx<'_>, site: &NodeSite<'_>) -> Result<SubRunState, Outcome> {
        let name = &self.name;
        let depth = cx.spec.parent.as_ref().map_or(0, |parent| parent.depth) + 1;
        if depth > MAX_DEPTH {
            let why = format!("runs are nested more than {MAX_DEPTH} levels deep");
            return Err(failed(EndReason::TooDeep, why));
        }
        let Some(other) = cx.spec.others.get(name) else {
            let why = format!("the run has no settings for the workflow `{name}`");
            return Err(failed(EndReason::NotYet, why));
        };
        let mut spec = Spec { input: cx.spec.input.clone(), ..other.clone() };
        tell(cx, &site.node.id, site.frame, &self.inputs, &mut spec)?;
        settle_inputs(&mut spec).map_err(unsettled)?;
        spec.seed = format!("{}/{}", cx.bookkeeping.seed, site.instance);
        spec.workspace.clone_from(&site.frame.workspace);
        spec.parent_env = site.frame.env(cx, site.node)?;
        spec.runs.clone_from(&cx.spec.runs);
        spec.others.clone_from(&cx.spec.others);
        spec.parent = Some(Parent { run: cx.run.clone(), node: site.instance.clone(), depth });
        let own_time = site.deadline.map(|deadline| deadline.since(cx.at));
        let left = Budget { time_ms: own_time, ..left_to(&cx.allowances, &Spent::default()) };
        spec.budget = spec.budget.least(&left);
        let run = derive_run(&cx.bookkeeping.seed, site.instance);
        let is_ahead = count_first_turn(cx, &spec)?;
        let more = cx.more.as_ref().map(|more| Box::new(more.asked.clone()));
        let effect = Effect::StartRun { run: run.clone(), spec: Box::new(spec), more };
        cx.plan_once(site.instance, Verb::Run, effect);
        Ok(SubRunState { run, spent: Spent::default(), is_ahead })
    }
}

fn unsettled(error: InputError) -> Outcome {
    let reason = match error {
        InputError::Value(_) => EndReason::Template,
        InputError::MissingDriver { .. } => EndReason::PrepareFailed,
    };
    failed(reason, error.to_string())
}

/// Reserves the first turn of a child run that takes turns. Otherwise child runs that start at the
/// same moment would all claim the last turn of a budget.
fn count_first_turn(cx: &mut DecisionCx<'_>, spec: &Spec) -> Result<bool, Outcome> {
    if spec.sessions.is_empty() {
        return Ok(false);
    }
    cx.cannot_afford().map_or(Ok(()), Err)?;
    cx.count_turns(1);
    Ok(true)
}

impl SubRunState {
    /// Records the total spending that the child run reports.
    fn spends(&mut self, cx: &mut DecisionCx<'_>, now: &Spent) {
        let mut fresh = now.since(&self.spent);
        // A report that arrives after a newer one adds nothing.
        self.spent.add(&fresh);
        if self.is_ahead && fresh.turns > 0 {
            self.is_ahead = false;
            fresh.turns -= 1;
        }
        cx.spend_all(&fresh);
    }

    /// Returns the reserved turn of a child run that ended or never started.
    fn took_no_turn(&mut self, cx: &mut DecisionCx<'_>) {
        if std::mem::take(&mut self.is_ahead) {
            cx.give_back_turn();
        }
    }
}

fn ended(cx: &mut DecisionCx<'_>, site: &NodeSite<'_>, state: &SubRunState, end: &RunEnd) -> Outcome {
    give_value(cx, &site.node.id, &end.text, end.value.clone());
    if end.outcome.status == FinalStatus::Completed {
        return done(EndReason::AllDone);
    }
    let detail = end.outcome.why();
    let how = match end.outcome.status {
        FinalStatus::Completed => "has completed",
        FinalStatus::Failed => "has failed",
        FinalStatus::Blocked => "is blocked",
        FinalStatus::Exhausted => "is exhausted",
        FinalStatus::Interrupted => "was interrupted",
        FinalStatus::Cancelled => "was cancelled",
    };
    let why = format!("run {} {how}: {detail}", state.run);
    // A budget that the child run shares with this run may be spent for both.
    let reason =
        if end.outcome.reason == EndReason::Budget { EndReason::Budget } else { EndReason::ChildFailed };
    Outcome::new(end.outcome.status, reason).because(why).from(&end.outcome)
}

fn failed(reason: EndReason, why: String) -> Outcome {
    Outcome::new(FinalStatus::Failed, reason).because(why)
}

/// Fills in the inputs of the child run.
fn tell(
    cx: &DecisionCx<'_>,
    node: &NodeId,
    frame: &Frame<'_>,
    inputs: &BTreeMap<String, Template>,
    spec: &mut Spec,
) -> Result<(), Outcome> {
    for (input, template) in inputs {
        if input == "input" {
            spec.input = frame.render(cx, template)?;
            continue;
        }
        let value = match spec.kinds.get(input) {
            Some(kind) => of_kind(cx, node, frame, (input, template), *kind, spec)?,
            None => like_planned(spec.inputs.get(input), frame.render(cx, template)?),
        };
        spec.inputs.insert(input.clone(), value);
    }
    Ok(())
}

/// Returns the value of an input of this kind. In a rehearsal, another one replaces an invented value that does
/// not fit.
fn of_kind(
    cx: &DecisionCx<'_>,
    node: &NodeId,
    frame: &Frame<'_>,
    (input, template): (&str, &Template),
    kind: InputKind,
    spec: &Spec,
) -> Result<Value, Outcome> {
    let workflow = &spec.workflow;
    let range = spec.ranges.get(input).copied().unwrap_or_default();
    let (given, why) = match value(cx, frame, template, kind)? {
        Err(given) => {
            let why = misfit(node, workflow, input, kind, &given);
            (given, why)
        }
        Ok(value) => {
            let Some(wanted) = range.wanted(&value) else { return Ok(value) };
            let why = format!(
                "`{node}` gives {value} to the input `{input}` of workflow `{workflow}`, but it must be {wanted}"
            );
            (value.to_string(), why)
        }
    };
    let invented = invented_input(cx.bookkeeping.results, kind, range, &given);
    invented.ok_or_else(|| failed(EndReason::Template, why))
}

/// Renders a template as a value of this kind. The inner error is the text that does not fit.
fn value(
    cx: &DecisionCx<'_>,
    frame: &Frame<'_>,
    template: &Template,
    kind: InputKind,
) -> Result<Result<Value, String>, Outcome> {
    let text = match sole_expression(&template.0).filter(|_| kind != InputKind::Text) {
        // Rendered as text, a list or a boolean would no longer be JSON.
        Some(expression) => match frame.evaluate(cx, &Expression(expression.to_owned()))? {
            Value::String(text) => text,
            value => value.to_string(),
        },
        None => frame.render(cx, template)?,
    };
    Ok(kind.read(&text).ok_or(text))
}

/// Returns the expression of a template that consists of nothing else.
fn sole_expression(source: &str) -> Option<&str> {
    let inner = source.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner.trim_start_matches('-').trim_end_matches('-');
    let is_one = !["{{", "}}", "{%", "{#"].iter().any(|brace| inner.contains(brace));
    is_one.then_some(inner)
}

/// Reads the text of an input without a known kind as JSON if its planned value is not a text.
fn like_planned(planned: Option<&Value>, text: String) -> Value {
    match planned {
        Some(Value::Null | Value::String(_)) | None => json!(text),
        Some(_) => serde_json::from_str(text.trim()).unwrap_or_else(|_| json!(text)),
    }
}

/// Describes a value that does not fit the kind of an input.
fn misfit(node: &NodeId, workflow: &str, input: &str, kind: InputKind, given: &str) -> String {
    let mut shown: String = given.chars().take(SHOWN).collect();
    if shown.len() < given.len() {
        shown.push('…');
    }
    let wanted = match kind {
        InputKind::List => "list, which is JSON: [\"one\", \"two\"]",
        kind => kind.word(),
    };
    format!(
        "`{node}` gives `{shown}` to the input `{input}` of workflow `{workflow}`, but the input must be of kind {wanted}"
    )
}
