//! Holds a run to the budgets of the day.
//!
//! Pure: the runtime knows what all runs spent today. Before a run decides, it records the share that is
//! left to this run, so that the decision follows from the log.

use std::collections::BTreeMap;

use super::DecisionCx;
use super::allowance::Allowance;
use crate::event::Event;
use crate::graph::workflow::Budget;
use crate::run::{
    Bookkeeping, DayAllowance, DayLimit, DaySpent, EndReason, FinalStatus, Outcome, RunState, SessionWork,
    Spent,
};
use crate::time::written;
use crate::usage::{Usage, dollars};

/// Smaller amounts are rounding errors.
const CENT_OF_A_CENT: f64 = 0.000_1;

/// Returns the event that a run must apply before it decides anything else: its share of the day's budgets, if
/// that changed. `today` is what all runs spent today, by driver.
pub fn day_news(
    state: &RunState,
    day: &str,
    limits: &[DayLimit],
    today: &BTreeMap<String, DaySpent>,
) -> Option<Event> {
    let book = &state.bookkeeping;
    let budgets: Vec<DayAllowance> = limits.iter().map(|limit| share(book, limit, today)).collect();
    let is_same = |(old, new): (&DayAllowance, &DayAllowance)| {
        let cost = |most: &Budget| most.cost_usd.unwrap_or(0.0);
        let is_same_cost = (cost(&old.most) - cost(&new.most)).abs() < CENT_OF_A_CENT;
        let (old_most, new_most) = (old.most, new.most);
        old.limit == new.limit
            && is_same_cost
            && (old_most.turns, old_most.tokens, old_most.time_ms)
                == (new_most.turns, new_most.tokens, new_most.time_ms)
    };
    let is_known = book.day.len() == budgets.len() && book.day.iter().zip(&budgets).all(is_same);
    (!is_known).then(|| Event::DayAllowed { day: day.to_owned(), budgets })
}

/// Returns what the sessions of a run spent, by driver, since they had spent `before`.
pub fn day_spending(before: &BTreeMap<String, Spent>, after: &RunState) -> BTreeMap<String, DaySpent> {
    let mut added = BTreeMap::new();
    for (driver, spent) in &after.bookkeeping.spent_on {
        let earlier = before.get(driver).copied().unwrap_or_default();
        let new = DaySpent::of(&spent.since(&earlier));
        if new != DaySpent::default() {
            added.insert(driver.clone(), new);
        }
    }
    added
}

fn share(book: &Bookkeeping, limit: &DayLimit, today: &BTreeMap<String, DaySpent>) -> DayAllowance {
    let own = DaySpent::of(&own_spent(book, limit));
    let mut all = DaySpent::default();
    today.iter().filter(|(driver, _)| covers(limit, driver)).for_each(|(_, spent)| all.add(spent));
    let DayLimit { budget, .. } = limit;
    let left = |own: u64, most: u64, all: u64| own.saturating_add(most).saturating_sub(all);
    let turns = |most: u32| u32::try_from(left(own.turns, u64::from(most), all.turns)).unwrap_or(u32::MAX);
    let cost = |most: f64| (own.cost_usd + most - all.cost_usd).max(0.0);
    let most = Budget {
        turns: budget.turns.map(turns),
        tokens: budget.tokens.map(|most| left(own.tokens, most, all.tokens)),
        cost_usd: budget.cost_usd.map(cost).map(|cost| (cost / CENT_OF_A_CENT).round() * CENT_OF_A_CENT),
        time_ms: budget.time_ms.map(|most| left(own.time_ms, most, all.time_ms)),
    };
    DayAllowance { limit: limit.clone(), most }
}

fn covers(limit: &DayLimit, driver: &str) -> bool {
    limit.driver.as_deref().is_none_or(|only| only == driver)
}

/// Returns what the sessions of the run spent that a limit covers.
fn own_spent(book: &Bookkeeping, limit: &DayLimit) -> Spent {
    let mut sum = Spent::default();
    book.spent_on.iter().filter(|(driver, _)| covers(limit, driver)).for_each(|(_, spent)| sum.add(spent));
    sum
}

/// The kind of turn that a session wants to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WantedTurn {
    New,
    /// A repeated turn is not a new turn, but it costs tokens and money.
    Again,
}

/// Describes the part of a day's budget that is used up.
fn is_spent(book: &Bookkeeping, allowance: &DayAllowance, turn: WantedTurn) -> Option<String> {
    let DayAllowance { limit, most } = allowance;
    let left = Allowance { budget: *most, spent: own_spent(book, limit) };
    let spent = left.spent;
    let is_out_of_time = most.time_ms.is_some_and(|most| spent.time_ms >= most);
    let is_other = match turn {
        WantedTurn::New => left.is_spent().is_some(),
        WantedTurn::Again => left.is_empty().is_some(),
    };
    if !is_other && !is_out_of_time {
        return None;
    }
    let is_out_of_turns = turn == WantedTurn::New && most.turns.is_some_and(|turns| spent.turns >= turns);
    let is_out_of_tokens =
        Allowance { budget: Budget { cost_usd: None, ..*most }, spent }.is_empty().is_some();
    let what = match limit.budget {
        Budget { turns: Some(1), .. } if is_out_of_turns => "1 turn".to_owned(),
        Budget { turns: Some(turns), .. } if is_out_of_turns => format!("{turns} turns"),
        Budget { tokens: Some(tokens), .. } if is_out_of_tokens => format!("{tokens} tokens"),
        Budget { time_ms: Some(time), .. } if !is_other => written(time),
        Budget { cost_usd, .. } => dollars(cost_usd.unwrap_or(0.0)),
    };
    let on = limit.driver.as_ref().map(|driver| format!(" for {driver}")).unwrap_or_default();
    Some(format!("today's budget of {what}{on} is spent (`{}` in the settings)", limit.setting()))
}

impl DecisionCx<'_> {
    /// Returns the outcome if no further turn of a session may start.
    pub(super) fn cannot_afford_turn(&self, work: &SessionWork) -> Option<Outcome> {
        self.cannot_afford().or_else(|| self.day_is_spent(Some(work), WantedTurn::New))
    }

    /// Returns the outcome if a session may not repeat its turn.
    pub(super) fn cannot_afford_repeat(&self, work: &SessionWork) -> Option<Outcome> {
        self.cannot_afford_again().or_else(|| self.day_is_spent(Some(work), WantedTurn::Again))
    }

    /// Decides whether a budget limits the cost of a session: one of the run, of a block around it or of the day.
    pub(super) fn limits_cost(&self, work: &SessionWork) -> bool {
        let driver = self.driver_of(work);
        let is_here = |day: &DayAllowance| driver.is_none_or(|driver| covers(&day.limit, driver));
        let mut days = self.bookkeeping.day.iter();
        self.allowances.iter().any(|purse| purse.budget.cost_usd.is_some())
            || days.any(|day| day.limit.budget.cost_usd.is_some() && is_here(day))
    }

    /// Decides whether a budget of the day is spent, of whichever driver.
    pub(super) fn is_day_over(&self) -> bool {
        self.day_is_spent(None, WantedTurn::New).is_some()
    }

    fn day_is_spent(&self, work: Option<&SessionWork>, turn: WantedTurn) -> Option<Outcome> {
        let book = &*self.bookkeeping;
        let driver = work.and_then(|work| self.driver_of(work));
        let is_limited = |day: &&DayAllowance| driver.is_none_or(|driver| covers(&day.limit, driver));
        let what = book.day.iter().filter(is_limited).find_map(|day| is_spent(book, day, turn))?;
        Some(Outcome::new(FinalStatus::Exhausted, EndReason::Budget).because(what))
    }

    /// Counts turns of a session that start or are known to have started.
    pub(super) fn count_turns_of(&mut self, work: &SessionWork, turns: u32) {
        self.count_turns(turns);
        self.spend_on_day(work, Spent { turns, ..Spent::default() });
    }

    /// Counts the usage of a session, and the time for which its process ran.
    pub(super) fn spend_for(&mut self, work: &SessionWork, usage: &Usage, time_ms: u64) {
        self.spend(usage);
        self.spend_on_day(work, Spent { turns: 0, usage: *usage, time_ms });
    }

    fn spend_on_day(&mut self, work: &SessionWork, spent: Spent) {
        let Some(driver) = self.driver_of(work).map(str::to_owned) else { return };
        self.bookkeeping.spent_on.entry(driver).or_default().add(&spent);
    }

    fn driver_of<'s>(&'s self, work: &'s SessionWork) -> Option<&'s str> {
        work.driver.as_deref().or_else(|| self.spec.driver_of(&work.node.id))
    }
}
