//! Finds the usage of a turn alone, and its cost by the prices of the run where the CLI reports none.

use crate::engine::DecisionCx;
use crate::event::SessionEnd;
use crate::id::SessionId;
use crate::run::{News, SessionWork};
use crate::usage::{ModelUsage, Usage};

/// Returns the usage of this turn alone, with its cost. Warns once if a budget cannot count the cost.
pub(super) fn of_turn(work: &SessionWork, cx: &mut DecisionCx<'_>, end: &SessionEnd) -> Usage {
    let session = work.session.as_ref().filter(|_| end.usage_is_cumulative);
    let (usage, models) = match session {
        Some(session) => since_last_turn(cx, session, end),
        None => (end.usage, end.models.clone()),
    };
    let model = wanted_model(work, cx).map(str::to_owned);
    let settled = cx.spec.prices.settle(usage, &models, model.as_deref());
    if settled.is_cost_partial && !usage.is_cost_partial {
        warn(work, cx, &models, model.as_deref());
    }
    settled
}

/// Returns the part of a conversation's usage that no earlier turn reported.
fn since_last_turn(
    cx: &mut DecisionCx<'_>,
    session: &SessionId,
    end: &SessionEnd,
) -> (Usage, Vec<ModelUsage>) {
    let before = cx.bookkeeping.conversations.insert(session.clone(), end.usage).unwrap_or_default();
    let models = cx.bookkeeping.conversation_models.remove(session).unwrap_or_default();
    let new = |now: &ModelUsage| {
        let known = models.iter().find(|known| known.model == now.model).map(|known| known.usage);
        ModelUsage { model: now.model.clone(), usage: now.usage.since(&known.unwrap_or_default()) }
    };
    let parts = end.models.iter().map(new).collect();
    if !end.models.is_empty() {
        cx.bookkeeping.conversation_models.insert(session.clone(), end.models.clone());
    }
    (end.usage.since(&before), parts)
}

/// Returns the model that the turn asked for, for a CLI that does not report its model.
fn wanted_model<'a>(work: &'a SessionWork, cx: &'a DecisionCx<'_>) -> Option<&'a str> {
    let settings = || cx.spec.sessions.get(&work.step).map(|own| own.with_driver(work.driver.as_deref()));
    work.model().or_else(|| settings()?.driver.model.as_ref()).map(String::as_str)
}

/// Tells people that a budget of money does not count all that the run spends.
fn warn(work: &SessionWork, cx: &mut DecisionCx<'_>, models: &[ModelUsage], model: Option<&str>) {
    if cx.bookkeeping.warned_of_cost || !cx.limits_cost(work) {
        return;
    }
    cx.bookkeeping.warned_of_cost = true;
    let table = match cx.spec.prices.missing(models, model) {
        Some(model) => format!("`[prices.\"{model}\"]`"),
        None => "`[prices.\"*\"]`".to_owned(),
    };
    let what = format!(
        "a budget does not count all of the cost: the agent did not report it. For later runs, set a price in the \
         table {table} of your settings, or limit tokens or turns"
    );
    cx.decision.news.push(News::Odd { node: work.node.id.clone(), what });
}
