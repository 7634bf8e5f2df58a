//! Gives the work of one driver to another: at a usage limit, or after repeated errors of the provider.
//!
//! The turn in progress is repeated, so it is counted once. The next driver starts a new session with the same
//! prompt and a description of the work so far.

use crate::effect::Effect;
use crate::engine::DecisionCx;
use crate::graph::SessionPromptKind;
use crate::id::{EffectId, Verb};
use crate::run::{HandOver, News, SessionPhase, SessionWork};
use crate::spec::SessionSettings;
use crate::time::Moment;

/// The longest usage limit for which Windlass waits although another driver could do the work.
const SHORT_MS: u64 = 60_000;

/// Gives the work to the next driver that can do it. Returns false if there is none.
pub(super) fn give(work: &mut SessionWork, cx: &mut DecisionCx<'_>, why: &str) -> bool {
    let Some(to) = next(work, cx) else { return false };
    work.attempt += 1;
    give_to(work, cx, &to, why);
    true
}

/// Gives the work to another driver after an error that will not pass soon. Returns false if each driver has
/// failed in this turn.
pub(super) fn give_after_error(work: &mut SessionWork, cx: &mut DecisionCx<'_>, why: &str) -> bool {
    if let Some(current) = driver(work, cx).map(str::to_owned) {
        work.drivers_failed.push(current);
    }
    give(work, cx, why)
}

/// Notes a usage limit of the current driver. Returns true if the work waits for its end.
pub(super) fn is_waited_for(
    work: &SessionWork,
    cx: &mut DecisionCx<'_>,
    until: Moment,
    is_known: bool,
) -> bool {
    let Some(driver) = driver(work, cx).map(str::to_owned) else { return true };
    cx.bookkeeping.limited.insert(driver, until);
    is_known && until.since(cx.at) <= SHORT_MS
}

/// Returns the moment at which the first driver of the work accepts work again.
pub(super) fn first_reset(work: &SessionWork, cx: &DecisionCx<'_>, own: Moment) -> Moment {
    let usable = drivers(work, cx).filter(|name| !has_failed(work, name));
    usable.filter_map(|name| cx.bookkeeping.limited.get(name)).copied().fold(own, Moment::min)
}

/// Decides whether the current driver accepts no work now.
pub(super) fn is_limited(work: &SessionWork, cx: &DecisionCx<'_>) -> bool {
    driver(work, cx).is_some_and(|name| is_limited_now(cx, name))
}

/// Gives the work back to an earlier driver if that was asked for and its limit has reset. Returns true if
/// another driver starts the next turn.
pub(super) fn give_back(work: &mut SessionWork, cx: &mut DecisionCx<'_>) -> bool {
    let Some(settings) = settings(work, cx).filter(|settings| settings.switch_back) else { return false };
    let current = work.driver.as_deref().unwrap_or(&settings.driver.name);
    let mut earlier = settings.drivers().take_while(|name| *name != current);
    let Some(to) = earlier.find(|name| !is_limited_now(cx, name)) else { return false };
    give_to(work, cx, to, "its limit has reset");
    true
}

/// Notes that the current driver finished a turn.
pub(super) fn has_worked(work: &mut SessionWork, cx: &mut DecisionCx<'_>) {
    work.hand_over = None;
    work.drivers_failed.clear();
    if let Some(driver) = driver(work, cx).map(str::to_owned) {
        cx.bookkeeping.limited.remove(&driver);
    }
}

/// Chooses the driver of a node that starts: its own, or the first other one if its own accepts no work.
pub(in crate::engine) fn choose<'s>(settings: &'s SessionSettings, cx: &DecisionCx<'_>) -> Option<&'s str> {
    let mut others = settings.drivers().skip(1).filter(|_| is_limited_now(cx, &settings.driver.name));
    others.find(|name| !is_limited_now(cx, name))
}

fn give_to(work: &mut SessionWork, cx: &mut DecisionCx<'_>, to: &str, why: &str) {
    let Some(settings) = settings(work, cx) else { return };
    let own = settings.driver.name.as_str();
    let from = work.driver.take().unwrap_or_else(|| own.to_owned());
    work.driver = (to != own).then(|| to.to_owned());
    if let (SessionPromptKind::Loop(rules), Some(others)) =
        (&mut work.node.kind, &settings.with_driver(Some(to)).rules)
    {
        rules.mode = others.mode;
    }
    cx.decision.news.push(News::HandedOver {
        node: work.node.id.clone(),
        from: from.clone(),
        to: to.to_owned(),
        why: why.to_owned(),
    });
    // The next driver cannot read the conversation.
    work.session = None;
    (work.is_resumable, work.is_continuing, work.is_forked) = (false, false, false);
    (work.transient, work.rate_limits) = (0, 0);
    work.hand_over = Some(Box::new(HandOver { from, work: None }));
    look(work, cx);
}

/// Looks at the work for the driver that takes it over. A run that ended meanwhile may look again for the same
/// turn, so the number of continuations is part of the id.
pub(super) fn look(work: &mut SessionWork, cx: &mut DecisionCx<'_>) {
    work.phase = SessionPhase::Preparing;
    let attempt = work.attempt.saturating_add(cx.bookkeeping.continued);
    let (node, iteration) = (work.node.id.clone(), work.turns + 1);
    let effect = Effect::Prepare { args: None, hand_over: true };
    cx.plan(EffectId { node, iteration, attempt, verb: Verb::Prepare }, effect);
}

/// Returns the first driver that accepts work and is not the current one.
fn next(work: &SessionWork, cx: &DecisionCx<'_>) -> Option<String> {
    let current = driver(work, cx)?;
    let can_work = |name: &&str| *name != current && !has_failed(work, name) && !is_limited_now(cx, name);
    drivers(work, cx).find(can_work).map(str::to_owned)
}

fn drivers<'s>(work: &SessionWork, cx: &DecisionCx<'s>) -> impl Iterator<Item = &'s str> + use<'s> {
    settings(work, cx).into_iter().flat_map(SessionSettings::drivers)
}

fn driver<'s>(work: &'s SessionWork, cx: &DecisionCx<'s>) -> Option<&'s str> {
    work.driver.as_deref().or_else(|| drivers(work, cx).next())
}

fn settings<'s>(work: &SessionWork, cx: &DecisionCx<'s>) -> Option<&'s SessionSettings> {
    cx.spec.sessions.get(&work.step)
}

fn has_failed(work: &SessionWork, name: &str) -> bool {
    work.drivers_failed.iter().any(|failed| failed == name)
}

fn is_limited_now(cx: &DecisionCx<'_>, name: &str) -> bool {
    cx.bookkeeping.limited.get(name).is_some_and(|until| *until > cx.at)
}
