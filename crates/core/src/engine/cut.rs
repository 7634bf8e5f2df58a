//! How nodes are ended before they are done: nothing new begins, what is under way is put away.

use super::frame::Frame;
use super::lane::in_purse;
use super::{Cx, block, tasks, work};
use crate::effect::Effect;
use crate::graph::workflow::{Act, Step};
use crate::id::Verb;
use crate::run::{Active, Doing, Lane, Outcome, Phase, Slot};

/// Ends a sequence. How it ended, when that takes no time.
pub(super) fn lane(
    cx: &mut Cx<'_>,
    steps: &[Step],
    lane: &mut Lane,
    frame: &Frame<'_>,
    outcome: &Outcome,
) -> Option<Outcome> {
    if lane.cut.is_none() {
        lane.cut = Some(outcome.clone());
    }
    let (Some(step), Some(active)) = (steps.get(lane.at), lane.now.as_mut()) else {
        return lane.cut.clone();
    };
    let over = in_purse(cx, step, active, |cx, active| node(cx, step, active, frame, outcome))?;
    super::lane::after(cx, steps, lane, frame, over)
}

/// Ends a node. How it ended, when that takes no time.
pub(super) fn node(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    frame: &Frame<'_>,
    outcome: &Outcome,
) -> Option<Outcome> {
    if active.cut.is_some() {
        return None;
    }
    active.cut = Some(outcome.clone());
    let inside = frame.inside(step, active.tries, active.deadline);
    match (&step.act, &mut active.doing) {
        (_, Doing::Session(work)) => {
            if !matches!(work.phase, Phase::Ending { .. }) {
                work::ending::end(work, cx, outcome.clone());
            }
            None
        }
        (_, Doing::Shell | Doing::Check) => {
            cx.forget(&active.instance);
            cx.plan_once(&active.instance, Verb::CleanUp, Effect::CleanUp { iteration: 0 });
            None
        }
        // What it spends until it is over still counts.
        (_, Doing::Run { .. }) => {
            cx.plan_once(&active.instance, Verb::CleanUp, Effect::CleanUp { iteration: 0 });
            None
        }
        (Act::If { then: yes, otherwise, .. }, Doing::If { then, lane: inner }) => {
            lane(cx, if *then { yes } else { otherwise }, inner, &inside, outcome)
        }
        (
            Act::Loop { body, .. } | Act::CriteriaLoop { body, .. },
            Doing::Loop { round, feedback, lane: inner },
        ) => {
            let framed = block::round_frame(step, &inside, *round, feedback);
            lane(cx, body, inner, &framed, outcome)
        }
        (Act::Parallel { branches, .. }, Doing::Parallel { slots }) => {
            for (slot, branch) in slots.iter_mut().zip(branches) {
                let over = match slot {
                    Slot::Waiting => Some(outcome.clone()),
                    Slot::Over(_) => None,
                    Slot::Open(inner) => lane(cx, &branch.body, inner, &inside, outcome),
                };
                if let Some(over) = over {
                    *slot = Slot::Over(over);
                }
            }
            slots.iter().all(|slot| matches!(slot, Slot::Over(_))).then(|| outcome.clone())
        }
        (Act::TaskLoop { .. }, Doing::Tasks(_)) => tasks::cut(cx, step, active, &inside, outcome),
        (_, _) => Some(outcome.clone()),
    }
}
