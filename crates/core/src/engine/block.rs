//! Nodes with others in them: one of two ways, rounds, several at once.

use super::begin::{done, forget_outputs};
use super::frame::Frame;
use super::{Cx, cut, lane};
use crate::graph::workflow::{Act, Join, Step};
use crate::looping::verdict::is_signalled;
use crate::run::{Active, Doing, Lane, News, Outcome, Reason, Slot, Status};

/// Rounds one fact may begin: a loop whose rounds take no time would never let the run go on.
const ROUNDS_AT_ONCE: u32 = 1_000;

/// One of two ways.
pub(super) fn begin_if(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    inside: &Frame<'_>,
) -> Option<Outcome> {
    let Act::If { condition, then: yes, otherwise } = &step.act else { return None };
    let then = match inside.holds(cx, condition) {
        Ok(then) => then,
        Err(outcome) => return Some(outcome),
    };
    let (taken, left) = if then { (yes, otherwise) } else { (otherwise, yes) };
    forget_outputs(cx, left);
    let mut inner = Lane::default();
    let over = lane::proceed(cx, taken, &mut inner, inside);
    active.doing = Doing::If { then, lane: inner };
    over
}

/// The first round of a loop.
pub(super) fn begin_loop(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    inside: &Frame<'_>,
) -> Option<Outcome> {
    active.doing = Doing::Loop { round: 0, feedback: String::new(), lane: Lane::default() };
    rounds(cx, step, active, inside)
}

/// What stands around the nodes of a round.
pub(super) fn round_frame<'a>(step: &'a Step, inside: &Frame<'a>, round: u32, feedback: &str) -> Frame<'a> {
    let mut framed = inside.in_round(round, feedback);
    if let Act::CriteriaLoop { signal, .. } = &step.act {
        framed.signal = Some(signal);
    }
    framed
}

/// Begins rounds until one takes time; while the run is paused, none.
pub(super) fn rounds(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    inside: &Frame<'_>,
) -> Option<Outcome> {
    let (Act::Loop { body, .. } | Act::CriteriaLoop { body, .. }) = &step.act else { return None };
    loop {
        if cx.book.paused {
            cx.hold(&active.instance);
            return None;
        }
        if cx.rounds >= ROUNDS_AT_ONCE {
            let why = format!("the rounds of `{}` do nothing that takes time, and none is the last", step.id);
            return Some(Outcome::new(Status::Exhausted, Reason::MaxIterations).because(why));
        }
        cx.rounds += 1;
        let Doing::Loop { round, feedback, lane: inner } = &mut active.doing else { return None };
        *round += 1;
        *feedback = std::mem::take(&mut inner.wrong);
        *inner = Lane::default();
        cx.tell(News::Round { node: active.instance.clone(), round: *round, task: None });
        let framed = round_frame(step, inside, *round, feedback);
        let outcome = lane::proceed(cx, body, inner, &framed)?;
        if let Some(over) = judge(cx, step, active, inside, outcome) {
            return Some(over);
        }
    }
}

/// A round is over: so is the loop, or another one begins.
pub(super) fn round_over(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    inside: &Frame<'_>,
    outcome: Outcome,
) -> Option<Outcome> {
    match judge(cx, step, active, inside, outcome) {
        Some(over) => Some(over),
        None => rounds(cx, step, active, inside),
    }
}

/// How the loop ended, when this round was its last.
fn judge(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &Active,
    inside: &Frame<'_>,
    outcome: Outcome,
) -> Option<Outcome> {
    let Doing::Loop { round, feedback, lane: inner } = &active.doing else { return Some(outcome) };
    if outcome.status != Status::Completed {
        return Some(outcome);
    }
    let framed = round_frame(step, inside, *round, feedback);
    let (most, is_bare) = match &step.act {
        Act::Loop { until, max, .. } => {
            for condition in until {
                match framed.holds(cx, condition) {
                    Ok(true) => {
                        return Some(done(Reason::Until).because(format!("`{}` holds", condition.0.trim())));
                    }
                    Ok(false) => {}
                    Err(outcome) => return Some(outcome),
                }
            }
            (*max, until.is_empty())
        }
        Act::CriteriaLoop { signal, max, .. } => {
            if inner.word.as_ref().is_some_and(|word| is_signalled(word.text(), signal)) {
                return Some(done(Reason::Signal));
            }
            (*max, false)
        }
        _ => return Some(outcome),
    };
    if most == 0 || *round < most {
        return None;
    }
    if is_bare {
        return Some(done(Reason::MaxIterations));
    }
    let rounds = if most == 1 { "1 round".to_owned() } else { format!("{most} rounds") };
    let why = format!("`{}` is not done after {rounds}", step.id);
    Some(Outcome::new(Status::Exhausted, Reason::MaxIterations).because(why))
}

/// Several at once, as many as may be.
pub(super) fn begin_parallel(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    inside: &Frame<'_>,
) -> Option<Outcome> {
    let Act::Parallel { branches, .. } = &step.act else { return None };
    active.doing = Doing::Parallel { slots: vec![Slot::Waiting; branches.len()] };
    fill(cx, step, active, inside)
}

/// A branch is over: others begin in its place, or are no longer needed.
pub(super) fn branch_over(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    inside: &Frame<'_>,
    place: usize,
    outcome: Outcome,
) -> Option<Outcome> {
    let Doing::Parallel { slots } = &mut active.doing else { return Some(outcome) };
    if let Some(slot) = slots.get_mut(place) {
        if let Slot::Open(Lane { said, word, .. }) = slot {
            active.said = said.take().or(active.said.take());
            // A branch that another one made needless was stopped, and takes no word away.
            if outcome.reason != Reason::NotNeeded {
                active.word = word.take().or(active.word.take());
            }
        }
        *slot = Slot::Over(outcome);
    }
    fill(cx, step, active, inside)
}

fn fill(cx: &mut Cx<'_>, step: &Step, active: &mut Active, inside: &Frame<'_>) -> Option<Outcome> {
    let Act::Parallel { limit, join, branches } = &step.act else { return None };
    loop {
        let Doing::Parallel { slots } = &mut active.doing else { return None };
        if active.cut.is_none()
            && let Some(outcome) = is_enough(*join, slots)
        {
            let cut_by = Outcome::new(Status::Cancelled, Reason::NotNeeded)
                .because(format!("another branch of `{}` was enough", step.id));
            for (slot, branch) in slots.iter_mut().zip(branches) {
                let over = match slot {
                    Slot::Waiting => Some(cut_by.clone()),
                    Slot::Over(_) => None,
                    Slot::Open(inner) if inner.cut.is_some() => None,
                    Slot::Open(inner) => cut::lane(cx, &branch.body, inner, inside, &cut_by),
                };
                if let Some(over) = over {
                    *slot = Slot::Over(over);
                }
            }
            let is_over = slots.iter().all(|slot| matches!(slot, Slot::Over(_)));
            return is_over.then_some(outcome);
        }
        if let Some(cut) = &active.cut {
            let is_over = slots.iter().all(|slot| matches!(slot, Slot::Over(_)));
            return is_over.then(|| cut.clone());
        }
        let open = slots.iter().filter(|slot| matches!(slot, Slot::Open(_))).count();
        let room = *limit == 0 || open < usize::try_from(*limit).unwrap_or(usize::MAX);
        let next = slots.iter().position(|slot| matches!(slot, Slot::Waiting)).filter(|_| room);
        let Some((place, branch)) = next.and_then(|place| Some((place, branches.get(place)?))) else {
            return (open == 0).then(|| joined(*join, slots));
        };
        let mut inner = Lane::default();
        let over = lane::proceed(cx, &branch.body, &mut inner, inside);
        if let Some(slot) = slots.get_mut(place) {
            *slot = over.map_or(Slot::Open(inner), Slot::Over);
        }
    }
}

/// How a parallel block ends before all of its branches have, where one is enough.
fn is_enough(join: Join, slots: &[Slot]) -> Option<Outcome> {
    let mut over = slots.iter().filter_map(|slot| match slot {
        Slot::Over(outcome) if outcome.reason != Reason::NotNeeded => Some(outcome),
        _ => None,
    });
    match join {
        Join::All => None,
        Join::Any => over.next().cloned(),
        Join::FirstSuccess => over.find(|outcome| outcome.status == Status::Completed).cloned(),
    }
}

/// How a parallel block ends when all of its branches have.
fn joined(join: Join, slots: &[Slot]) -> Outcome {
    let over = slots.iter().filter_map(|slot| match slot {
        Slot::Over(outcome) => Some(outcome),
        Slot::Waiting | Slot::Open(_) => None,
    });
    let bad: Vec<&Outcome> = over.filter(|outcome| outcome.status != Status::Completed).collect();
    match (join, bad.first()) {
        (_, None) => done(Reason::AllDone),
        (Join::FirstSuccess, Some(first)) => {
            let detail = first.detail.clone().unwrap_or_else(|| first.reason.sentence().to_owned());
            Outcome::new(Status::Failed, Reason::NoBranch).because(format!("no branch succeeded: {detail}"))
        }
        (Join::All | Join::Any, Some(first)) => (*first).clone(),
    }
}
