//! The work of one node with an agent: turns, what is made of each, and hook calls.
//!
//! A family of events has a file each.

pub(super) mod ending;
pub(super) mod hooks;
mod session;
mod turn;

use super::Cx;
use super::node::pair::{Delivered, Site};
use crate::effect::Effect;
use crate::event::Event;
use crate::graph::Node;
use crate::id::{EffectId, Verb};
use crate::run::{News, Phase, Work};

/// Begins the work: everything it needs is made first.
pub(super) fn begin(cx: &mut Cx<'_>, work: &mut Work, args: Option<String>) {
    plan(work, cx, Verb::Prepare, Effect::Prepare { args });
}

/// New work of a node.
pub(super) fn new(node: Node, step: &crate::id::NodeId, workspace: &str) -> Work {
    Work {
        node,
        step: step.clone(),
        workspace: workspace.to_owned(),
        schema: None,
        checked: false,
        phase: Phase::Preparing,
        turns: 0,
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
    }
}

/// Applies a fact to the work it is about. Effects were settled before.
pub(super) fn apply(cx: &mut Cx<'_>, site: &Site<'_>, work: &mut Work, event: &Event) -> Delivered {
    match event {
        Event::Prepared { end, base, odd: odd_of, .. } => {
            let odd = |what: &String| News::Odd { node: work.node.id.clone(), what: what.clone() };
            cx.step.news.extend(odd_of.iter().map(odd));
            if cx.book.base.is_none() {
                cx.book.base.clone_from(base);
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

/// Plans an effect of the turn under way.
fn plan(work: &Work, cx: &mut Cx<'_>, verb: Verb, effect: Effect) -> EffectId {
    let id = EffectId { node: work.node.id.clone(), iteration: work.turns + 1, attempt: work.attempt, verb };
    cx.plan(id, effect)
}
