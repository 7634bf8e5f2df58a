//! `wait` for a duration.

use serde::{Deserialize, Serialize};

use crate::time::Moment;

use super::active::{ActiveState, WaitSite};
use super::pair::{Delivered, NodeOpening, NodeRun, NodeSite};
use super::shape::{GivenValue, NodeShape};
use crate::effect::Effect;
use crate::engine::{DecisionCx, done};
use crate::event::Event;
use crate::graph::check::lower_bound::LowerBound;
use crate::id::Verb;
use crate::run::{Activity, EndReason, News, Outcome, Waiting};

/// A wait for a duration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SleepNode {
    /// The duration in milliseconds.
    pub ms: u64,
}

/// The state of a wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SleepState {
    pub until: Moment,
}

impl NodeShape for SleepNode {
    fn word(&self) -> &'static str {
        "wait"
    }

    fn label(&self) -> String {
        format!("wait {} s", self.ms / 1000)
    }

    fn least(&self) -> LowerBound {
        LowerBound { turns: 0, ms: self.ms }
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::OnlyText
    }
}

impl ActiveState for SleepState {
    fn word(&self) -> &'static str {
        "a wait for a time"
    }

    fn waits(&self, _site: &WaitSite<'_>, into: &mut Vec<Waiting>) -> bool {
        into.push(Waiting::Time { until: self.until });
        false
    }

    fn is_waiting(&self) -> bool {
        true
    }
}

impl NodeRun for SleepNode {
    type State<'s> = &'s mut SleepState;

    fn state(activity: &mut Activity) -> Option<&mut SleepState> {
        if let Activity::Sleep(state) = activity { Some(state) } else { None }
    }

    fn begin(&self, cx: &mut DecisionCx<'_>, site: &mut NodeSite<'_>) -> NodeOpening {
        let until = cx.at.plus_ms(self.ms);
        cx.decision.news.push(News::Waiting(Waiting::Time { until }));
        cx.plan_once(site.instance, Verb::Wait, Effect::WaitUntil { until });
        NodeOpening::UnderWay(Activity::Sleep(SleepState { until }))
    }

    fn apply(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        _state: &mut SleepState,
        event: &Event,
    ) -> Delivered {
        match event {
            Event::WaitOver { .. } => {
                cx.wait_is_over();
                Delivered::Over(done(EndReason::AllDone))
            }
            _ => site.unexpected(cx, event),
        }
    }

    fn can_reopen(&self, _state: &mut SleepState, _before: Option<&Outcome>) -> bool {
        true
    }

    /// Waits until the same moment as before.
    fn reopen(
        &self,
        cx: &mut DecisionCx<'_>,
        site: &mut NodeSite<'_>,
        state: &mut SleepState,
        _before: Option<&Outcome>,
    ) -> Option<Outcome> {
        let until = state.until;
        cx.decision.news.push(News::Waiting(Waiting::Time { until }));
        cx.plan_once(site.instance, Verb::Wait, Effect::WaitUntil { until });
        None
    }
}
