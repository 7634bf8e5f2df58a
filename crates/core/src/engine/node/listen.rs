//! `wait` for an event that someone sends to the run.

use serde::{Deserialize, Serialize};

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeShape};
use crate::effect::Effect;
use crate::engine::rehearsal::StubField;
use crate::engine::{DecisionCx, answered};
use crate::event::Event;
use crate::id::{EffectId, Verb};
use crate::run::{Activity, News, Waiting};

/// A wait for an event that someone sends to the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenNode {
    /// The name of the event.
    pub name: String,
    /// The time after which the wait fails.
    pub timeout_ms: Option<u64>,
}

/// The state of a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenState {
    /// The name of the event.
    pub name: String,
}

impl NodeShape for ListenNode {
    fn word(&self) -> &'static str {
        "wait"
    }

    fn label(&self) -> String {
        format!("wait for {}", self.name)
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::OnlyText
    }

    fn stub_fields(&self) -> &'static [StubField] {
        &[StubField::Text]
    }
}

impl ActiveState for ListenState {
    fn word(&self) -> &'static str {
        "a wait for an event"
    }

    fn waits(&self, _site: &WaitSite<'_>, into: &mut Vec<Waiting>) -> bool {
        into.push(Waiting::Event { name: self.name.clone() });
        false
    }

    fn is_waiting(&self) -> bool {
        true
    }
}

impl NodeRun for ListenNode {
    type State<'s> = &'s mut ListenState;

    fn state(activity: &mut Activity) -> Option<&mut ListenState> {
        if let Activity::Listen(state) = activity { Some(state) } else { None }
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        if let Some(text) = cx.bookkeeping.take_received(&self.name) {
            return NodeOpening::NotBegun(answered(cx, &site.node.id, &text));
        }
        cx.decision.news.push(News::Waiting(Waiting::Event { name: self.name.clone() }));
        if let Some(ms) = self.timeout_ms {
            let until = cx.at.plus_ms(ms);
            // Iteration 1 is the timeout of the node itself.
            let id = EffectId { node: site.instance.clone(), iteration: 2, attempt: 1, verb: Verb::Timeout };
            cx.plan(id, Effect::WaitUntil { until });
        }
        NodeOpening::UnderWay(Activity::Listen(ListenState { name: self.name.clone() }))
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        _state: &mut ListenState,
        event: &Event,
    ) -> Delivered {
        match event {
            Event::EventReceived { text, .. } => {
                cx.wait_is_over();
                Delivered::Over(answered(cx, &site.node.id, text))
            }
            _ => site.unexpected(cx, event),
        }
    }
}
