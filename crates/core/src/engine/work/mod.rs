//! The work of one node with an agent: its turns, their verdicts, and hook calls.
//!
//! Each family of events has its own file.

mod cost;
pub(super) mod ending;
pub(in crate::engine) mod hand_over;
pub(super) mod hooks;
pub(super) mod reopening;
mod session;
mod turn;

use super::DecisionCx;
use super::node::pair::{Delivered, NodeSite};
use crate::effect::Effect;
use crate::event::Event;
use crate::graph::SessionPrompt;
use crate::id::{EffectId, Verb};
use crate::run::{News, SessionPhase, SessionWork};
use crate::time::Moment;

/// Starts the work with the preparation of everything that it needs.
pub(super) fn begin(cx: &mut DecisionCx<'_>, work: &mut SessionWork, args: Option<String>) {
    work.message = cx.bookkeeping.message.take();
    plan(work, cx, Verb::Prepare, Effect::Prepare { args, hand_over: false });
}

/// Returns the initial work of a node.
pub(super) fn new(node: SessionPrompt, step: &crate::id::NodeId, workspace: &str) -> SessionWork {
    SessionWork {
        node,
        step: step.clone(),
        workspace: workspace.to_owned(),
        schema: None,
        checked: false,
        phase: SessionPhase::Preparing,
        turns: 0,
        is_turn_open: false,
        attempt: 1,
        transient: 0,
        interrupted: 0,
        rate_limits: 0,
        unfit: 0,
        session: None,
        turn: None,
        feedback: None,
        fingerprint: String::new(),
        idle_turns: 0,
        usage: Default::default(),
        last_message: None,
        value: None,
        deadline: None,
        is_resumable: false,
        is_judged: false,
        ended_in: None,
        message: None,
        unblocked: None,
        streaks: Default::default(),
        resumes: None,
        env: Default::default(),
        models: Vec::new(),
        models_failed: 0,
        driver: None,
        drivers_failed: Vec::new(),
        hand_over: None,
        is_continuing: false,
        is_forked: false,
    }
}

/// Applies an event to the work that it concerns. The caller has already settled the effect.
pub(super) fn apply(
    cx: &mut DecisionCx<'_>,
    site: &NodeSite<'_>,
    work: &mut SessionWork,
    event: &Event,
) -> Delivered {
    match event {
        Event::Prepared { end, base, odd: odd_of, .. } => {
            let odd = |what: &String| News::Odd { node: work.node.id.clone(), what: what.clone() };
            cx.decision.news.extend(odd_of.iter().map(odd));
            if cx.bookkeeping.base.is_none() {
                cx.bookkeeping.base.clone_from(base);
            }
            turn::prepared(work, cx, end);
        }
        Event::SessionStarted { effect, session } => session::started(work, cx, effect, session),
        Event::SessionEnded { effect, end } => session::ended(work, cx, effect, end),
        Event::HookAsked { call } => hooks::asked(work, cx, call),
        Event::Inspected { sight, .. } => turn::inspected(work, cx, sight),
        Event::ChecksFinished { results, .. } => turn::checked(work, cx, results),
        Event::WaitOver { .. } => turn::wait_over(work, cx),
        Event::CleanedUp { .. } => return ending::cleaned_up(work, cx).into(),
        _ => return site.unexpected(cx, event),
    }
    Delivered::UnderWay
}

/// Plans an effect of the current turn.
fn plan(work: &SessionWork, cx: &mut DecisionCx<'_>, verb: Verb, effect: Effect) -> EffectId {
    let id = EffectId { node: work.node.id.clone(), iteration: work.turns + 1, attempt: work.attempt, verb };
    cx.plan(id, effect)
}

/// Plans a wait. A run that ended while an agent was closing may continue with a turn of the same number, which
/// may wait too, so the number of continuations is part of the id.
fn plan_wait(work: &SessionWork, cx: &mut DecisionCx<'_>, until: Moment) {
    let attempt = work.attempt.saturating_add(cx.bookkeeping.continued);
    let (node, iteration) = (work.node.id.clone(), work.turns + 1);
    cx.plan(EffectId { node, iteration, attempt, verb: Verb::Wait }, Effect::WaitUntil { until });
}
