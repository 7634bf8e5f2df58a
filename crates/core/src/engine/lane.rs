//! One node after the other: begins the next, and decides what comes of one that is over.

use super::begin::{Begun, Try, begin};
use super::frame::Frame;
use super::{Cx, Purse, block, call, cut, leaf, tasks, work};
use crate::effect::Effect;
use crate::event::Event;
use crate::graph::template::Output;
use crate::graph::workflow::{Act, Join, OnFailure, Step};
use crate::id::{EffectId, NodeId, Verb};
use crate::run::{Active, Cause, Doing, Lane, News, Outcome, Phase, Reason, Seen, Slot, Status};

/// What comes of a node that is over.
enum Then {
    /// The next one.
    Next,
    /// It is tried again.
    Wait,
    /// The sequence is over.
    End(Outcome),
}

/// Begins the nodes of a sequence until one takes time. How the sequence ended, when it has.
pub(super) fn proceed(
    cx: &mut Cx<'_>,
    steps: &[Step],
    lane: &mut Lane,
    frame: &Frame<'_>,
) -> Option<Outcome> {
    loop {
        if let Some(outcome) = &lane.cut {
            return Some(outcome.clone());
        }
        let Some(step) = steps.get(lane.at) else {
            return Some(completed(cx, steps));
        };
        let cause = cause(cx, steps, lane.at);
        match begin(cx, step, lane, frame, Try::first(cause)) {
            Begun::Skipped => lane.at += 1,
            Begun::UnderWay => return None,
            Begun::Over(outcome) => match wrap_up(cx, step, lane, outcome) {
                Then::Next => {}
                Then::Wait => return None,
                Then::End(outcome) => return Some(outcome),
            },
        }
    }
}

/// How a sequence ends when its last node is over: all is done, unless a task loop found no task for it.
fn completed(cx: &Cx<'_>, steps: &[Step]) -> Outcome {
    let mut outcomes =
        steps.iter().filter_map(|step| cx.book.nodes.get(&step.id).and_then(|seen| seen.outcome.as_ref()));
    let idle = outcomes.find(|outcome| outcome.reason == Reason::NoneSelected);
    idle.cloned().unwrap_or_else(|| Outcome::new(Status::Completed, Reason::AllDone))
}

/// The try of a node that begins by this fact: a pause is over, the run's or the one after a failure.
fn due(active: &Active, event: &Event) -> Option<Try> {
    let Event::WaitOver { effect } = event else { return None };
    let spent = active.spent;
    match (&active.doing, effect.verb) {
        (Doing::Held { cause }, Verb::Hold) => Some(Try { tries: active.tries, cause: cause.clone(), spent }),
        (Doing::Pausing { what, .. }, Verb::Retry) => {
            let tries = active.tries + 1;
            Some(Try { tries, cause: Cause::Retried { what: what.clone(), attempt: tries }, spent })
        }
        _ => None,
    }
}

/// Begins the node that waited to, in its place, and those after it until one takes time. How the sequence
/// ended, when it has.
fn begin_due(
    cx: &mut Cx<'_>,
    steps: &[Step],
    lane: &mut Lane,
    frame: &Frame<'_>,
    this: Try,
) -> Option<Outcome> {
    let step = steps.get(lane.at)?;
    lane.now = None;
    // One that is tried again is told what went wrong.
    let told = match &this.cause {
        Cause::Retried { what, .. } => Frame { feedback: what.clone(), ..frame.clone() },
        Cause::First | Cause::After { .. } | Cause::WhenFalse { .. } => frame.clone(),
    };
    match begin(cx, step, lane, &told, this) {
        Begun::UnderWay => None,
        Begun::Over(outcome) => after(cx, steps, lane, frame, outcome),
        Begun::Skipped => {
            lane.at += 1;
            proceed(cx, steps, lane, frame)
        }
    }
}

/// Why the node at this place is next.
fn cause(cx: &Cx<'_>, steps: &[Step], at: usize) -> Cause {
    let before = at.checked_sub(1).and_then(|at| steps.get(at));
    let Some(before) = before else { return Cause::First };
    let seen = cx.book.nodes.get(&before.id).and_then(|seen| seen.outcome.as_ref());
    let status = seen.map_or("skipped", |outcome| outcome.status.word());
    Cause::After { node: before.id.clone(), status: status.to_owned() }
}

/// Tells the node it is about what happened: nothing when it is none of these; else how the
/// sequence ended, when it has.
pub(super) fn deliver(
    cx: &mut Cx<'_>,
    steps: &[Step],
    lane: &mut Lane,
    frame: &Frame<'_>,
    to: &NodeId,
    event: &Event,
) -> Option<Option<Outcome>> {
    let step = steps.get(lane.at)?;
    let active = lane.now.as_mut()?;
    if active.instance == *to
        && let Some(this) = due(active, event)
    {
        if matches!(active.doing, Doing::Pausing { .. }) {
            cx.wait_is_over();
        }
        return Some(begin_due(cx, steps, lane, frame, this));
    }
    let over = in_purse(cx, step, active, |cx, active| node(cx, step, active, frame, to, event))?;
    Some(over.and_then(|outcome| after(cx, steps, lane, frame, outcome)))
}

/// Does something within what a node may spend.
pub(super) fn in_purse<T>(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    act: impl FnOnce(&mut Cx<'_>, &mut Active) -> T,
) -> T {
    cx.purses.push(Purse { budget: step.budget, spent: active.spent });
    let result = act(cx, active);
    if let Some(purse) = cx.purses.pop() {
        active.spent = purse.spent;
    }
    result
}

/// The node under way is over: what comes then, and how the sequence ended, when it has.
pub(super) fn after(
    cx: &mut Cx<'_>,
    steps: &[Step],
    lane: &mut Lane,
    frame: &Frame<'_>,
    outcome: Outcome,
) -> Option<Outcome> {
    let step = steps.get(lane.at)?;
    match wrap_up(cx, step, lane, outcome) {
        Then::Next => proceed(cx, steps, lane, frame),
        Then::Wait => None,
        Then::End(outcome) => Some(outcome),
    }
}

/// One node, or one in it, is told what happened.
fn node(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    frame: &Frame<'_>,
    to: &NodeId,
    event: &Event,
) -> Option<Option<Outcome>> {
    if active.instance == *to {
        return Some(itself(cx, step, active, frame, event));
    }
    let inside = frame.inside(step, active.tries, active.deadline);
    match (&step.act, &mut active.doing) {
        (Act::If { then: yes, otherwise, .. }, Doing::If { then, lane }) => {
            deliver(cx, if *then { yes } else { otherwise }, lane, &inside, to, event)
        }
        (Act::Loop { body, .. } | Act::CriteriaLoop { body, .. }, Doing::Loop { round, feedback, lane }) => {
            let framed = block::round_frame(step, &inside, *round, feedback);
            let over = deliver(cx, body, lane, &framed, to, event)?;
            Some(over.and_then(|outcome| block::round_over(cx, step, active, &inside, outcome)))
        }
        (Act::Parallel { branches, .. }, Doing::Parallel { slots }) => {
            let mut found = None;
            for (place, (slot, branch)) in slots.iter_mut().zip(branches).enumerate() {
                let Slot::Open(lane) = slot else { continue };
                if let Some(over) = deliver(cx, &branch.body, lane, &inside, to, event) {
                    found = Some((place, over));
                    break;
                }
            }
            let (place, over) = found?;
            Some(over.and_then(|outcome| block::branch_over(cx, step, active, &inside, place, outcome)))
        }
        (Act::TaskLoop { .. }, Doing::Tasks(_)) => tasks::deliver(cx, step, active, &inside, to, event),
        _ => None,
    }
}

/// What is about a node itself.
fn itself(
    cx: &mut Cx<'_>,
    step: &Step,
    active: &mut Active,
    frame: &Frame<'_>,
    event: &Event,
) -> Option<Outcome> {
    if let Event::WaitOver { effect } = event {
        match effect.verb {
            Verb::Timeout => {
                // An agent that is done and only has to stop is done.
                if let Doing::Session(work) = &mut active.doing
                    && let Phase::Closing { outcome } = work.phase.clone()
                {
                    work::ending::end(work, cx, outcome);
                    return None;
                }
                if let Some(outcome) = leaf::unanswered(cx, step, active) {
                    return Some(outcome);
                }
                let outcome = Outcome::new(Status::Failed, Reason::Timeout)
                    .because(format!("the time given to `{}` is spent", step.id));
                return cut::node(cx, step, active, frame, &outcome);
            }
            // The round that a pause of the run held back.
            Verb::Hold => {
                let inside = frame.inside(step, active.tries, active.deadline);
                return block::rounds(cx, step, active, &inside);
            }
            _ => {}
        }
    }
    if matches!(event, Event::CleanedUp { .. }) && !matches!(active.doing, Doing::Session(_)) {
        call::took_no_turn(cx, active);
        return active.cut.clone();
    }
    match &mut active.doing {
        Doing::Session(work) => work::apply(cx, work, event),
        Doing::Tasks(_) => tasks::apply(cx, step, active, frame, event),
        _ => leaf::apply(cx, step, active, event),
    }
}

/// A node is over: it is told and remembered, and tried again where it may be.
fn wrap_up(cx: &mut Cx<'_>, step: &Step, lane: &mut Lane, outcome: Outcome) -> Then {
    let Some(active) = lane.now.take() else { return Then::Next };
    cx.forget(&active.instance);
    let is_well = outcome.status == Status::Completed;
    let outcome = if is_well { outcome } else { with_root(step, &active, outcome) };
    remember(cx, &active, &outcome);
    if let Some(said) = leaf::said(&active) {
        lane.said = Some(said);
    }
    let is_tried_again = !is_well && lane.cut.is_none() && may_try_again(cx, step, &active, &outcome);
    if is_well && matches!(step.act, Act::Session(_)) {
        lane.forgive();
    }
    lane.hear(leaf::word(step, &active, &outcome).filter(|word| !is_tried_again || word.is_said()));
    if let Some(cut) = &lane.cut {
        return Then::End(cut.clone());
    }
    if is_tried_again {
        return pause(cx, step, lane, &active, &outcome);
    }
    cx.book.outputs.insert(step.id.clone(), output(cx, step, &active, &outcome));
    if !is_well {
        let told = wrong(step, &outcome, cx.book.outputs.get(&step.id));
        // What is spent around a node is spent for all that comes after it, too.
        // That somebody ended a run that was started from here is no wish to end this one.
        let is_ended = outcome.status == Status::Cancelled && outcome.reason != Reason::ChildFailed;
        let is_final = is_ended || cx.has_run_dry(&outcome);
        if step.on_failure == OnFailure::Fail || is_final {
            lane.wrong = told;
            return Then::End(outcome);
        }
        if !lane.wrong.is_empty() {
            lane.wrong.push_str("\n\n");
        }
        lane.wrong.push_str(&told);
    }
    lane.at += 1;
    Then::Next
}

/// Whether another try can help and does no harm.
fn may_try_again(cx: &Cx<'_>, step: &Step, active: &Active, outcome: &Outcome) -> bool {
    let own = Purse { budget: step.budget, spent: active.spent };
    let is_dry = outcome.reason == Reason::Budget && own.is_spent().is_some();
    // Who is blocked needs a person first: a command that was cut off may have done its work.
    !matches!(outcome.status, Status::Cancelled | Status::Blocked)
        && !is_dry
        && !cx.has_run_dry(outcome)
        && active.tries <= step.retry.times
        && outcome.fixed().is_none()
}

/// What no other try of a block can change, because it would find the same in it.
fn fixed_inside(step: &Step, active: &Active) -> Option<Outcome> {
    let is_fixed = |slot: &Slot| matches!(slot, Slot::Over(outcome) if outcome.fixed().is_some());
    match (&step.act, &active.doing) {
        // One branch that succeeds is enough.
        (Act::Parallel { join: Join::FirstSuccess | Join::Any, .. }, Doing::Parallel { slots })
            if !slots.iter().all(is_fixed) =>
        {
            None
        }
        (_, Doing::Parallel { slots }) => slots.iter().find(|slot| is_fixed(slot)).and_then(Slot::outcome),
        (_, Doing::Tasks(tasks)) => tasks.fixed.values().next().cloned(),
        _ => None,
    }
}

/// What another try cannot change carries that with it, and says so where tries are left.
fn with_root(step: &Step, active: &Active, outcome: Outcome) -> Outcome {
    const SAID: &str = "not tried again: another try would find the same";
    let outcome = match fixed_inside(step, active) {
        Some(inner) if outcome.fixed().is_none() => outcome.from(&inner),
        _ => outcome,
    };
    match outcome.detail.clone().filter(|detail| !detail.ends_with(SAID)) {
        Some(detail) if outcome.fixed().is_some() && step.retry.times > 0 => {
            outcome.because(format!("{detail}; {SAID}"))
        }
        _ => outcome,
    }
}

fn remember(cx: &mut Cx<'_>, active: &Active, outcome: &Outcome) {
    // It was told and counted when it failed, or it has not begun.
    if matches!(active.doing, Doing::Pausing { .. } | Doing::Held { .. }) {
        return;
    }
    let took_ms = cx.at.since(active.began);
    cx.tell(News::NodeFinished {
        node: active.instance.clone(),
        outcome: outcome.clone(),
        spent: active.spent.since(&active.earlier),
        took_ms,
    });
    if let Some(seen) = cx.book.nodes.get_mut(&active.step) {
        seen.ended = Some(cx.at);
        seen.outcome = Some(outcome.clone());
        seen.took_ms = seen.took_ms.saturating_add(took_ms);
        seen.spent.add(&active.spent.since(&active.earlier));
    }
}

/// The pause before a node is tried again; it doubles.
fn pause(cx: &mut Cx<'_>, step: &Step, lane: &mut Lane, active: &Active, outcome: &Outcome) -> Then {
    let what = outcome.detail.clone().unwrap_or_else(|| outcome.reason.word().to_owned());
    let delay = step.retry.delay_ms.saturating_mul(1 << (active.tries - 1).min(16));
    let until = cx.at.plus_ms(delay);
    let attempt = active.tries + 1;
    cx.step.news.push(News::Retrying {
        node: active.instance.clone(),
        what: what.clone(),
        attempt,
        of: Some(step.retry.times.saturating_add(1)),
        until: Some(until),
    });
    let id =
        EffectId { node: active.instance.clone(), iteration: 1, attempt: active.tries, verb: Verb::Retry };
    cx.plan(id, Effect::WaitUntil { until });
    // What it gave is known when its last try is over.
    cx.book.outputs.remove(&step.id);
    lane.now = Some(Box::new(Active {
        began: cx.at,
        deadline: None,
        cut: None,
        doing: Doing::Pausing { until, what },
        ..active.clone()
    }));
    Then::Wait
}

/// What a node gave.
fn output(cx: &Cx<'_>, step: &Step, active: &Active, outcome: &Outcome) -> Output {
    let failed = outcome.status != Status::Completed;
    let status = outcome.status.word().to_owned();
    let (text, value) = leaf::given(cx, step, active);
    Output { text, value, failed, status }
}

/// What the next round is told of a node that failed.
fn wrong(step: &Step, outcome: &Outcome, output: Option<&Output>) -> String {
    let detail = outcome.detail.as_deref().unwrap_or_else(|| outcome.reason.word());
    let text = output.map(|output| output.text.trim()).filter(|text| !text.is_empty());
    match (&step.act, text) {
        (Act::Shell { .. } | Act::Check { .. }, Some(text)) => format!("`{}`: {detail}\n{text}", step.id),
        _ => format!("`{}`: {detail}", step.id),
    }
}

/// That a node began, for whoever asks later.
pub(super) fn seen(cx: &mut Cx<'_>, step: &Step, instance: &NodeId, cause: Cause) {
    let at = cx.at;
    let fresh = Seen {
        instance: instance.clone(),
        times: 0,
        began: at,
        ended: None,
        outcome: None,
        earlier: None,
        took_ms: 0,
        spent: Default::default(),
        cause: Cause::First,
    };
    let seen = cx.book.nodes.entry(step.id.clone()).or_insert(fresh);
    seen.instance = instance.clone();
    seen.times = seen.times.saturating_add(1);
    seen.began = at;
    seen.ended = None;
    seen.outcome = None;
    seen.earlier = None;
    seen.cause = cause;
}
