//! `ask`: asks a person a question.

use serde::{Deserialize, Serialize};

use crate::graph::workflow::Template;

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeRole, NodeShape};
use crate::graph::check::outline::Text;

use crate::engine::rehearsal::StubField;
use crate::engine::start::own_time;
use crate::engine::{DecisionCx, answered};
use crate::event::{Event, PersonReply};
use crate::hook::Question;
use crate::id::HookId;
use crate::run::{Activity, Ask, EndReason, FinalStatus, News, Outcome, Waiting};
use crate::spec::OnQuestion;
use crate::time::written;

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskNode {
    pub question: Template,
    /// The only valid answers. Empty means any text.
    pub choices: Vec<String>,
    /// The answer if no one can be asked or no one answers in time.
    pub default: Option<String>,
}

impl NodeShape for AskNode {
    fn word(&self) -> &'static str {
        "ask"
    }

    fn label(&self) -> String {
        format!("ask: {}", self.question.0)
    }

    fn texts(&self) -> Vec<Text> {
        vec![Text::template("ask", &self.question)]
    }

    fn role(&self) -> NodeRole {
        NodeRole::Answer
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::OnlyText
    }

    fn stub_fields(&self) -> &'static [StubField] {
        &[StubField::Answer]
    }
}

/// The state of an active node of this kind, which has no data.
pub(crate) struct AskState;

impl ActiveState for AskState {
    fn word(&self) -> &'static str {
        "a question"
    }

    fn waits(&self, _site: &WaitSite<'_>, _into: &mut Vec<Waiting>) -> bool {
        false
    }

    fn is_waiting(&self) -> bool {
        true
    }
}

impl NodeRun for AskNode {
    type State<'s> = ();

    fn state(activity: &mut Activity) -> Option<()> {
        matches!(activity, Activity::Ask).then_some(())
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        let question = match site.frame.render(cx, &self.question) {
            Ok(question) => question,
            Err(outcome) => return NodeOpening::NotBegun(outcome),
        };
        if cx.spec.policy.on_question != OnQuestion::Wait {
            return NodeOpening::NotBegun(self.unasked(cx, site, &question));
        }
        let hook = HookId::new(format!("ask/{}", site.instance));
        let questions = vec![Question::of_workflow(&question, &self.choices)];
        let ask = Ask::question(site.instance.clone(), hook, questions);
        cx.decision.news.push(News::Waiting(Waiting::Person(ask.clone())));
        cx.bookkeeping.asks.push(ask);
        NodeOpening::UnderWay(Activity::Ask)
    }

    fn apply(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>, (): (), event: &Event) -> Delivered {
        match event {
            Event::PersonAnswered { reply, origin, .. } => {
                let outcome = self.answer(cx, site, reply);
                // Logs from before answers had an origin must give the same outcomes as then.
                let reason = origin.as_ref().and_then(|_| reply.reason());
                outcome.map(|outcome| with_reason(outcome, reason)).into()
            }
            _ => site.unexpected(cx, event),
        }
    }

    /// Takes the default of a question that no one answered in time.
    fn out_of_time(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>, (): ()) -> Option<Delivered> {
        let default = self.default.as_deref()?;
        cx.bookkeeping.asks.retain(|ask| ask.node != *site.instance);
        cx.wait_is_over();
        let waited = own_time(site.node, site.numbers)
            .map_or_else(String::new, |ms| format!(" within {}", written(ms)));
        let outcome = answered(cx, &site.node.id, default);
        Some(Delivered::Over(
            outcome.because(format!("no one answered{waited}: used the default `{default}`")),
        ))
    }
}

impl AskNode {
    /// Returns the outcome of a question that the policy lets no one answer.
    fn unasked(&self, cx: &mut DecisionCx<'_>, site: &NodeSite<'_>, question: &str) -> Outcome {
        let id = &site.node.id;
        let asks = format!("nobody was there to answer `{id}`: {}", question.trim_end());
        match (self.default.as_deref(), cx.spec.policy.on_question) {
            (Some(answer), _) => {
                answered(cx, id, answer).because(format!("{asks} (used the default `{answer}`)"))
            }
            (None, OnQuestion::Empty) => {
                answered(cx, id, "").because(format!("{asks} (the answer is empty)"))
            }
            (None, OnQuestion::Fail | OnQuestion::Wait) => {
                let way = "use `--on-question wait`, fork the run there with that flag, or give the node a `default`";
                Outcome::new(FinalStatus::Blocked, EndReason::Question).because(format!("{asks} ({way})"))
            }
        }
    }

    /// Accepts a person's answer. Returns `None` for a text that is not one of the choices.
    fn answer(&self, cx: &mut DecisionCx<'_>, site: &NodeSite<'_>, reply: &PersonReply) -> Option<Outcome> {
        let place = cx.bookkeeping.asks.iter().position(|ask| ask.node == *site.instance)?;
        let ask = cx.bookkeeping.asks.get(place)?;
        let is_asked = |text: &String| ask.questions.iter().any(|question| question.text == *text);
        let text = match reply {
            PersonReply::Approve => "yes",
            PersonReply::Reject { .. } => "no",
            PersonReply::Answers { answers } => {
                let named = |(asked, _): &&(String, String)| asked.is_empty() || is_asked(asked);
                answers.iter().find(named).map(|(_, answer)| answer.as_str())?
            }
        };
        let is_choice = |choice: &&String| choice.trim().eq_ignore_ascii_case(text.trim());
        let answer = match self.choices.iter().find(is_choice) {
            Some(choice) => choice.clone(),
            None if self.choices.is_empty() => text.to_owned(),
            None => return None,
        };
        cx.bookkeeping.asks.remove(place);
        cx.wait_is_over();
        Some(answered(cx, &site.node.id, &answer))
    }
}

/// Adds the reason that a person gave for a no.
fn with_reason(outcome: Outcome, reason: Option<&str>) -> Outcome {
    match reason {
        Some(reason) => outcome.because(format!("the answer is no: {reason}")),
        None => outcome,
    }
}
