//! The budgets of the day: reads what all runs spent today, and adds what one run spends.
//!
//! `core::engine` decides with it. The store counts the spending in the commit that records it.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use windlass_core::effect::BeginsTurn;
use windlass_core::engine::{Decision, day_news, day_spending};
use windlass_core::event::Event;
use windlass_core::run::{DayLimit, DaySpent, RunState, Spent};
use windlass_core::time::Moment;
use windlass_store::{SpendingChange, Store};

use crate::config;
use crate::error::RunError;
use crate::home::Home;

/// Returns the budgets of the day from the settings as they are now. A run that continues follows new ones. If
/// the settings cannot be read, the budgets that the run knows still hold.
pub(crate) fn limits(home: &Home, state: &RunState) -> Vec<DayLimit> {
    match config::read(home, Path::new(&state.spec.workspace), Vec::new()) {
        Ok(resolved) => resolved.settings.day_limits(),
        Err(_) => state.bookkeeping.day.iter().map(|day| day.limit.clone()).collect(),
    }
}

/// The spending of all runs on the day of a decision.
pub(crate) struct Today {
    day: String,
    spent: BTreeMap<String, DaySpent>,
}

impl Today {
    /// Reads the spending if there are budgets, because nothing else depends on it.
    pub(crate) fn read(store: &Store, at: Moment, limits: &[DayLimit]) -> Result<Today, RunError> {
        let day = calendar_day(at);
        let spent = if limits.is_empty() { BTreeMap::new() } else { store.spent_on(&day)? };
        Ok(Today { day, spent })
    }

    /// Returns the event that a run must apply before it decides anything else.
    pub(crate) fn news(&self, state: &RunState, limits: &[DayLimit]) -> Option<Event> {
        day_news(state, &self.day, limits, &self.spent)
    }

    /// Returns what a run spent with its decisions since `before`. If a turn starts under a budget, the commit
    /// depends on what was spent until now, so that no other run spends the same amount.
    pub(crate) fn change(
        self,
        before: &BTreeMap<String, Spent>,
        after: &RunState,
        steps: &[Decision],
    ) -> Option<SpendingChange> {
        let added = day_spending(before, after);
        let effects = steps.iter().flat_map(|step| &step.effects);
        let is_turn = effects.into_iter().any(|planned| planned.effect.traits().turn != BeginsTurn::Never);
        let based_on = (is_turn && !after.bookkeeping.day.is_empty()).then_some(self.spent);
        let is_something = !added.is_empty() || based_on.is_some();
        is_something.then_some(SpendingChange { day: self.day, added, based_on })
    }
}

/// Returns what a fork spends with the records that it starts with: the turns that it starts. The original run
/// paid for their usage so far.
pub(crate) fn of_fork(state: &RunState, at: Moment) -> SpendingChange {
    let mut added = day_spending(&BTreeMap::new(), state);
    for spent in added.values_mut() {
        *spent = DaySpent { turns: spent.turns, ..DaySpent::default() };
    }
    SpendingChange { day: calendar_day(at), added, based_on: None }
}

/// Returns the local calendar day of a moment, as `2026-11-19`.
fn calendar_day(at: Moment) -> String {
    let stamp = Timestamp::from_millisecond(at.0).unwrap_or_default();
    stamp.to_zoned(TimeZone::system()).date().to_string()
}
