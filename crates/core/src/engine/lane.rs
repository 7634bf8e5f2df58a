//! Runs the nodes of a sequence in order and decides what follows when one ends.

use super::frame::Frame;
use super::node::pair::{Delivered, NodeSite};
use super::node::tell_repeat;
use super::start::{Attempt, NodeStart, begin, own_time};
use super::{Allowance, DecisionCx, cancel, output};
use crate::effect::Effect;
use crate::event::Event;
use crate::graph::template::NodeOutput;
use crate::graph::workflow::{Node, NodeNumber, OnFailure};
use crate::id::{EffectId, NodeId, SessionId, Verb};
use crate::run::{
    ActiveNode, Activity, EndReason, FinalStatus, KeptSession, Lane, News, NodeCause, NodeHistory, Outcome,
    SessionClosing, SessionWork,
};

/// The next action after a node ended.
enum AfterNode {
    Next,
    Wait,
    End(Outcome),
}

/// Starts the nodes of a sequence until one takes time. Returns the outcome if the sequence ended.
pub(super) fn proceed(
    cx: &mut DecisionCx<'_>,
    steps: &[Node],
    lane: &mut Lane,
    frame: &Frame<'_>,
) -> Option<Outcome> {
    loop {
        if let Some(outcome) = &lane.cut {
            return Some(outcome.clone());
        }
        let Some(node) = steps.get(lane.at) else {
            return Some(completed(cx, steps));
        };
        let cause = cause(steps, lane);
        match begin(cx, node, lane, frame, Attempt::first(cause)) {
            NodeStart::Skipped => lane.skip(),
            NodeStart::UnderWay => return None,
            NodeStart::Over(outcome) => match wrap_up(cx, node, lane, frame, outcome) {
                AfterNode::Next => {}
                AfterNode::Wait => return None,
                AfterNode::End(outcome) => return Some(outcome),
            },
        }
    }
}

/// Returns the outcome of a sequence whose last node ended: all done, unless a task loop found no
/// matching task.
fn completed(cx: &DecisionCx<'_>, steps: &[Node]) -> Outcome {
    let mut outcomes = steps
        .iter()
        .filter_map(|node| cx.bookkeeping.nodes.get(&node.id).and_then(|seen| seen.outcome.as_ref()));
    let idle = outcomes.find(|outcome| outcome.reason == EndReason::NoneSelected);
    idle.cloned().unwrap_or_else(|| Outcome::new(FinalStatus::Completed, EndReason::AllDone))
}

/// Returns the attempt that starts with this event, at the end of a pause of the run or of the
/// pause after a failure.
fn due(active: &ActiveNode, event: &Event) -> Option<Attempt> {
    let Event::WaitOver { effect } = event else { return None };
    let (spent, numbers) = (active.spent, active.numbers.clone());
    match (&active.activity, effect.verb) {
        (Activity::Deferred { cause }, Verb::Defer) => {
            let (tries, old_tries) = (active.tries, active.old_tries);
            Some(Attempt {
                tries,
                old_tries,
                cause: cause.clone(),
                spent,
                numbers,
                kept: active.kept.clone(),
            })
        }
        (Activity::WaitingToRetry { what, .. }, Verb::Retry) => {
            let (tries, old_tries) = (active.tries + 1, active.old_tries);
            let cause = NodeCause::Retried { what: what.clone(), attempt: tries };
            Some(Attempt { tries, old_tries, cause, spent, numbers, kept: active.kept.clone() })
        }
        _ => None,
    }
}

/// Starts a node that waited, and the nodes after it until one takes time. Returns the outcome if
/// the sequence ended.
fn begin_due(
    cx: &mut DecisionCx<'_>,
    steps: &[Node],
    lane: &mut Lane,
    frame: &Frame<'_>,
    this: Attempt,
) -> Option<Outcome> {
    // A retried node gets the failure as feedback.
    let told = match &this.cause {
        NodeCause::Retried { what, .. } => Frame { feedback: what.clone(), ..frame.clone() },
        NodeCause::First | NodeCause::After { .. } | NodeCause::Continued | NodeCause::WhenFalse { .. } => {
            frame.clone()
        }
    };
    begin_told(cx, steps, lane, (frame, &told), this)
}

/// Starts the current node with other feedback than the nodes after it.
fn begin_told(
    cx: &mut DecisionCx<'_>,
    steps: &[Node],
    lane: &mut Lane,
    (frame, told): (&Frame<'_>, &Frame<'_>),
    this: Attempt,
) -> Option<Outcome> {
    let node = steps.get(lane.at)?;
    lane.now = None;
    match begin(cx, node, lane, told, this) {
        NodeStart::UnderWay => None,
        NodeStart::Over(outcome) => after(cx, steps, lane, frame, outcome),
        NodeStart::Skipped => {
            lane.skip();
            proceed(cx, steps, lane, frame)
        }
    }
}

/// Continues a sequence of a run that had ended, from the node in which the sequence ended. Returns
/// the outcome if the sequence ended again.
pub(super) fn reopen(
    cx: &mut DecisionCx<'_>,
    steps: &[Node],
    lane: &mut Lane,
    frame: &Frame<'_>,
) -> Option<Outcome> {
    lane.cut = None;
    let (Some(node), Some(mut active)) = (steps.get(lane.at), lane.left.take()) else {
        return proceed(cx, steps, lane, frame);
    };
    let before = active.cut.take();
    active.earlier = active.spent;
    active.began = cx.at;
    // The node was done when the sequence was stopped.
    if let Some(outcome) = before.clone().filter(|outcome| outcome.status == FinalStatus::Completed) {
        lane.now = Some(active);
        return after(cx, steps, lane, frame, outcome);
    }
    if !node.kind.node().can_reopen(&mut active.activity, before.as_ref()) {
        tell_repeat(cx, node, &active, before.as_ref());
        let told = Frame { feedback: feedback(cx, before.as_ref(), frame), ..frame.clone() };
        let is_unused = matches!(active.activity, Activity::Deferred { .. } | Activity::Ended);
        let this = Attempt {
            tries: if is_unused { active.tries } else { active.tries + 1 },
            old_tries: if is_unused { active.old_tries } else { active.tries },
            cause: NodeCause::Continued,
            spent: active.spent,
            kept: active.kept.take(),
            numbers: active.numbers.clone(),
        };
        return begin_told(cx, steps, lane, (frame, &told), this);
    }
    seen(cx, node, &active.instance, NodeCause::Continued);
    let (kind, about) = (node.kind.word().to_owned(), node.kind.shape().about());
    cx.tell(News::NodeStarted { node: active.instance.clone(), kind, about });
    let own = own_time(node, &active.numbers).map(|ms| cx.at.plus_ms(ms));
    if let Some(until) = own {
        cx.plan_once(&active.instance, Verb::Timeout, Effect::WaitUntil { until });
    }
    active.deadline = [frame.deadline, own].into_iter().flatten().min();
    let over = in_purse(cx, node, &mut active, |cx, active| {
        let (mut site, activity) = NodeSite::of(node, frame, active);
        node.kind.node().reopen(cx, &mut site, activity, before.as_ref())
    });
    lane.now = Some(active);
    after(cx, steps, lane, frame, over?)
}

/// Returns the feedback for a node that starts again because a person continued the run.
fn feedback(cx: &DecisionCx<'_>, before: Option<&Outcome>, frame: &Frame<'_>) -> String {
    let failed = before.filter(|outcome| outcome.status != FinalStatus::Interrupted);
    let failed = failed.and_then(|outcome| outcome.detail.clone());
    let message = cx.more.as_ref().and_then(|more| more.asked.message.clone());
    let parts: Vec<String> = failed.into_iter().chain(message).collect();
    if parts.is_empty() { frame.feedback.clone() } else { parts.join("\n\n") }
}

/// Returns the reason why the node at this index is next.
fn cause(steps: &[Node], lane: &Lane) -> NodeCause {
    let before = lane.at.checked_sub(1).and_then(|at| steps.get(at));
    let Some(before) = before else { return NodeCause::First };
    let status = lane.before.map_or("skipped", FinalStatus::word);
    NodeCause::After { node: before.id.clone(), status: status.to_owned() }
}

/// Delivers an event to the node that it concerns. Returns the outcome if the sequence ended.
pub(super) fn deliver(
    cx: &mut DecisionCx<'_>,
    steps: &[Node],
    lane: &mut Lane,
    frame: &Frame<'_>,
    to: &NodeId,
    event: &Event,
) -> Delivered {
    let (Some(step), Some(active)) = (steps.get(lane.at), lane.now.as_mut()) else {
        return Delivered::NotMine;
    };
    if active.instance == *to
        && let Some(this) = due(active, event)
    {
        if matches!(active.activity, Activity::WaitingToRetry { .. }) {
            cx.wait_is_over();
        }
        return begin_due(cx, steps, lane, frame, this).into();
    }
    let delivered = in_purse(cx, step, active, |cx, active| node(cx, step, active, frame, to, event));
    delivered.and_then(|outcome| after(cx, steps, lane, frame, outcome))
}

/// Runs a function with the node's allowance on the stack.
pub(super) fn in_purse<T>(
    cx: &mut DecisionCx<'_>,
    node: &Node,
    active: &mut ActiveNode,
    act: impl FnOnce(&mut DecisionCx<'_>, &mut ActiveNode) -> T,
) -> T {
    cx.allowances.push(Allowance { budget: node.budget, spent: active.spent });
    let result = act(cx, active);
    if let Some(purse) = cx.allowances.pop() {
        active.spent = purse.spent;
    }
    result
}

/// Continues the sequence after its current node. Returns the outcome if the sequence ended.
pub(super) fn after(
    cx: &mut DecisionCx<'_>,
    steps: &[Node],
    lane: &mut Lane,
    frame: &Frame<'_>,
    outcome: Outcome,
) -> Option<Outcome> {
    let node = steps.get(lane.at)?;
    match wrap_up(cx, node, lane, frame, outcome) {
        AfterNode::Next => proceed(cx, steps, lane, frame),
        AfterNode::Wait => None,
        AfterNode::End(outcome) => Some(outcome),
    }
}

/// Delivers an event to this node or to one inside it.
fn node(
    cx: &mut DecisionCx<'_>,
    step: &Node,
    active: &mut ActiveNode,
    frame: &Frame<'_>,
    to: &NodeId,
    event: &Event,
) -> Delivered {
    let is_itself = active.instance == *to;
    if is_itself && matches!(event, Event::WaitOver { effect } if effect.verb == Verb::Timeout) {
        return out_of_time(cx, step, active, frame);
    }
    let (mut site, activity) = NodeSite::of(step, frame, active);
    match is_itself {
        true => step.kind.node().apply(cx, &mut site, activity, event),
        false => step.kind.node().deliver(cx, &mut site, activity, to, event),
    }
}

/// Ends a node that ran out of time, unless its kind decides otherwise.
fn out_of_time(
    cx: &mut DecisionCx<'_>,
    step: &Node,
    active: &mut ActiveNode,
    frame: &Frame<'_>,
) -> Delivered {
    let (mut site, activity) = NodeSite::of(step, frame, active);
    if let Some(delivered) = step.kind.node().out_of_time(cx, &mut site, activity) {
        return delivered;
    }
    let outcome = Outcome::new(FinalStatus::Failed, EndReason::Timeout)
        .because(format!("`{}` ran out of time", step.id));
    cancel::node(cx, step, active, frame, &outcome).into()
}

/// Reports and records the end of a node, and retries it if allowed.
fn wrap_up(
    cx: &mut DecisionCx<'_>,
    node: &Node,
    lane: &mut Lane,
    frame: &Frame<'_>,
    outcome: Outcome,
) -> AfterNode {
    let Some(mut active) = lane.now.take() else {
        cx.break_off(format!("`{}` ended before it started", node.id));
        return AfterNode::Wait;
    };
    let kind = node.kind.node();
    cx.forget(&active.instance);
    let is_well = outcome.status == FinalStatus::Completed;
    let outcome = if is_well { outcome } else { with_root(node, &mut active, outcome) };
    remember(cx, &active, &outcome);
    if let Activity::Session(work) = &active.activity
        && let Some(session) = work.session.as_ref().filter(|_| work.is_resumable)
    {
        if frame.task.is_some() && work.driver.is_none() {
            lane.sessions.insert(node.id.clone(), session.clone());
        }
        keep_session(cx, work, session, frame);
    }
    let is_tried_again = !is_well && lane.cut.is_none() && may_try_again(cx, node, &active, &outcome);
    let (site, activity) = NodeSite::of(node, frame, &mut active);
    if let Some(said) = kind.said(&site, activity) {
        lane.said = Some(said);
    }
    if is_well && node.kind.session().is_some() {
        lane.forgive();
    }
    lane.hear(kind.last_word(&site, activity, &outcome).filter(|word| !is_tried_again || word.is_said()));
    if let Some(cut) = lane.cut.clone() {
        lane.leave(active, outcome);
        return AfterNode::End(cut);
    }
    if is_tried_again {
        return pause(cx, node, lane, active, &outcome);
    }
    let (text, value) = kind.gives(cx, &site, activity);
    let (exit_code, stdout) = output::command_facts(cx, &node.id);
    let exit_code = exit_code.or_else(|| output::exit_code_without_end(node, &outcome));
    let status = outcome.status.word().to_owned();
    let output = NodeOutput { text, value, failed: !is_well, status, exit_code, stdout };
    cx.bookkeeping.outputs.insert(node.id.clone(), output);
    if !is_well {
        let told = wrong(node, &outcome, cx.bookkeeping.outputs.get(&node.id));
        if node.on_failure == OnFailure::Fail || ends_everything(cx, &outcome) {
            lane.wrong = told;
            lane.leave(active, outcome.clone());
            return AfterNode::End(outcome);
        }
        if !lane.wrong.is_empty() {
            lane.wrong.push_str("\n\n");
        }
        lane.wrong.push_str(&told);
    }
    lane.at += 1;
    lane.before = Some(outcome.status);
    lane.has_run = true;
    AfterNode::Next
}

/// Decides whether a failure also ends the blocks around it, whatever they do about failures.
pub(super) fn ends_everything(cx: &DecisionCx<'_>, outcome: &Outcome) -> bool {
    // Someone who cancelled a child run did not ask to end this run.
    let is_ended = matches!(outcome.status, FinalStatus::Cancelled | FinalStatus::Interrupted)
        && outcome.reason != EndReason::ChildFailed;
    // A budget spent around a node is spent for all nodes after it too.
    is_ended || cx.has_run_dry(outcome)
}

/// Keeps the session of a node that ended, if another node continues it.
fn keep_session(cx: &mut DecisionCx<'_>, work: &SessionWork, session: &SessionId, frame: &Frame<'_>) {
    let driver = work.driver.as_deref().or_else(|| cx.spec.driver_of(&work.step));
    let Some(driver) = driver.filter(|_| is_continued(&cx.spec.body, &work.step)) else {
        return;
    };
    let kept = KeptSession {
        session: session.clone(),
        driver: driver.to_owned(),
        workspace: work.workspace.clone(),
        scope: frame.session_scope(),
        closed: work.is_forked.then_some(SessionClosing::Forked),
    };
    cx.bookkeeping.keep_session(&work.step, kept);
}

/// Decides whether one of these nodes, or a node inside them, continues the sessions of a node.
fn is_continued(steps: &[Node], node: &NodeId) -> bool {
    steps.iter().any(|step| {
        let continues = step.kind.session().and_then(|session| session.continues.as_ref());
        continues == Some(node) || step.kind.blocks().iter().any(|block| is_continued(block.body, node))
    })
}

/// Decides whether another attempt can help and does no harm.
fn may_try_again(cx: &DecisionCx<'_>, node: &Node, active: &ActiveNode, outcome: &Outcome) -> bool {
    let own = Allowance { budget: node.budget, spent: active.spent };
    let is_dry = outcome.reason == EndReason::Budget && own.is_spent().is_some();
    // A blocked node needs a person first. For example, an interrupted command may have done its
    // work.
    !matches!(outcome.status, FinalStatus::Cancelled | FinalStatus::Blocked | FinalStatus::Interrupted)
        && !is_dry
        && !cx.has_run_dry(outcome)
        && active.tries - active.old_tries.min(active.tries) <= retries(node, active)
        && outcome.fixed().is_none()
}

/// Returns the number of retries.
fn retries(node: &Node, active: &ActiveNode) -> u32 {
    let computed = active.numbers.get(&NodeNumber::Times);
    computed.map_or(node.retry.times, |times| u32::try_from(*times).unwrap_or(u32::MAX))
}

/// Adds the root cause that another attempt cannot change, and mentions it if attempts are left.
fn with_root(node: &Node, active: &mut ActiveNode, outcome: Outcome) -> Outcome {
    const SAID: &str = "not tried again: another try would end the same way";
    let outcome = match node.kind.node().fixed(&mut active.activity) {
        Some(inner) if outcome.fixed().is_none() => outcome.from(&inner),
        _ => outcome,
    };
    match outcome.detail.clone().filter(|detail| !detail.ends_with(SAID)) {
        Some(detail) if outcome.fixed().is_some() && node.retry.times > 0 => {
            outcome.because(format!("{detail}; {SAID}"))
        }
        _ => outcome,
    }
}

fn remember(cx: &mut DecisionCx<'_>, active: &ActiveNode, outcome: &Outcome) {
    // The news was sent when the attempt failed, or the node has not started.
    if matches!(active.activity, Activity::WaitingToRetry { .. } | Activity::Deferred { .. }) {
        return;
    }
    let took_ms = cx.at.since(active.began);
    cx.tell(News::NodeFinished {
        node: active.instance.clone(),
        outcome: outcome.clone(),
        spent: active.spent.since(&active.earlier),
        took_ms,
    });
    if let Some(seen) = cx.bookkeeping.nodes.get_mut(&active.step) {
        seen.failed = seen.failed.saturating_add(u32::from(outcome.status == FinalStatus::Failed));
        seen.ended = Some(cx.at);
        seen.outcome = Some(outcome.clone());
        seen.took_ms = seen.took_ms.saturating_add(took_ms);
        seen.spent.add(&active.spent.since(&active.earlier));
    }
}

/// Plans the pause before the next attempt. The pause doubles each time.
fn pause(
    cx: &mut DecisionCx<'_>,
    step: &Node,
    lane: &mut Lane,
    active: Box<ActiveNode>,
    outcome: &Outcome,
) -> AfterNode {
    let what = outcome.detail.clone().unwrap_or_else(|| outcome.reason.word().to_owned());
    let tries = active.tries.saturating_sub(active.old_tries).max(1);
    let delay = active.numbers.get(&NodeNumber::Delay).copied().unwrap_or(step.retry.delay_ms);
    let delay = delay.saturating_mul(1 << (tries - 1).min(16));
    let until = cx.at.plus_ms(delay);
    let attempt = tries + 1;
    cx.decision.news.push(News::Retrying {
        node: active.instance.clone(),
        what: what.clone(),
        attempt,
        of: Some(retries(step, &active).saturating_add(1)),
        until: Some(until),
    });
    let id =
        EffectId { node: active.instance.clone(), iteration: 1, attempt: active.tries, verb: Verb::Retry };
    cx.plan(id, Effect::WaitUntil { until });
    // The output is known only after the last attempt.
    cx.bookkeeping.outputs.remove(&step.id);
    let ActiveNode { activity, .. } = *active;
    lane.now = Some(Box::new(ActiveNode {
        began: cx.at,
        deadline: None,
        cut: None,
        kept: if let Activity::Each(state) = activity { Some(state) } else { None },
        activity: Activity::WaitingToRetry { until, what },
        ..*active
    }));
    AfterNode::Wait
}

/// Describes the failure of a node, as feedback for the next iteration.
fn wrong(node: &Node, outcome: &Outcome, output: Option<&NodeOutput>) -> String {
    let detail = outcome.detail.as_deref().unwrap_or_else(|| outcome.reason.word());
    let text = output.map(|output| output.text.trim()).filter(|text| !text.is_empty());
    match text.filter(|_| node.kind.shape().output_tells_failure()) {
        Some(text) => format!("`{}`: {detail}\n{text}", node.id),
        None => format!("`{}`: {detail}", node.id),
    }
}

/// Records the start of a node in its history.
pub(super) fn seen(cx: &mut DecisionCx<'_>, node: &Node, instance: &NodeId, cause: NodeCause) {
    let at = cx.at;
    let fresh = NodeHistory {
        instance: instance.clone(),
        times: 0,
        failed: 0,
        began: at,
        ended: None,
        outcome: None,
        earlier: None,
        took_ms: 0,
        spent: Default::default(),
        cause: NodeCause::First,
    };
    let seen = cx.bookkeeping.nodes.entry(node.id.clone()).or_insert(fresh);
    seen.instance = instance.clone();
    seen.times = seen.times.saturating_add(1);
    seen.began = at;
    seen.ended = None;
    seen.outcome = None;
    seen.earlier = None;
    seen.cause = cause;
}
