//! Tests for the budgets of the day, which all runs share.

use super::*;
use crate::graph::builder::{prompt, turns};
use crate::run::{DayLimit, DaySpent};

const DAY: &str = "2026-11-19";

fn of_turns(turns: u32) -> Budget {
    Budget { turns: Some(turns), ..Budget::default() }
}

fn of_cost(cost: f64) -> Budget {
    Budget { cost_usd: Some(cost), ..Budget::default() }
}

fn limit(driver: Option<&str>, budget: Budget) -> DayLimit {
    DayLimit { driver: driver.map(str::to_owned), budget }
}

fn today(driver: &str, turns: u64, cost_usd: f64) -> BTreeMap<String, DaySpent> {
    BTreeMap::from([(driver.to_owned(), DaySpent { turns, cost_usd, ..DaySpent::default() })])
}

fn looping() -> Story {
    Story::drawn(Builder::new("w").start(prompt("x").turns(turns(9)).id("a")))
}

impl Story {
    fn on(&mut self, limits: &[DayLimit], today: &BTreeMap<String, DaySpent>) -> &mut Story {
        if let Some(event) = day_news(&self.state, DAY, limits, today) {
            self.tell(event);
        }
        self
    }

    fn driver(&self) -> String {
        self.state.spec.sessions.values().next().expect("a session").driver.name.clone()
    }
}

#[test]
fn a_run_starts_no_turn_once_others_spent_the_budget_of_the_day() {
    let mut story = looping();
    let driver = story.driver();
    story.on(&[limit(None, of_turns(2))], &today(&driver, 2, 0.0)).prepared("a");
    assert_eq!(story.cleaned("a").ended(), (FinalStatus::Exhausted, EndReason::Budget));
    assert_eq!(story.detail(), "today's budget of 2 turns is spent (`budgets.day` in the settings)");
    assert_eq!(story.state.outcome().and_then(Outcome::resume_flags), Some(""));
    assert_eq!(story.state.spent.turns, 0);
}

#[test]
fn the_turns_of_the_run_itself_count_and_so_do_those_of_other_runs() {
    let mut story = looping();
    let (driver, limits) = (story.driver(), [limit(None, of_turns(3))]);
    story.on(&limits, &today(&driver, 1, 0.0)).prepared("a");
    let known = today(&driver, 2, 0.0);
    assert_eq!(day_news(&story.state, DAY, &limits, &known), None, "its own turn is no news");
    story.session_ends(SessionVerdict::Completed).seen(false);
    assert_eq!(story.state.spent.turns, 2, "one turn is left to it");
    story.session_ends(SessionVerdict::Completed).seen(false);
    assert_eq!(story.cleaned("a").ended(), (FinalStatus::Exhausted, EndReason::Budget));
}

#[test]
fn the_next_day_gives_the_whole_budget_again() {
    let mut story = looping();
    let (driver, limits) = (story.driver(), [limit(None, of_turns(1))]);
    story.on(&limits, &BTreeMap::new()).prepared("a");
    assert!(day_news(&story.state, DAY, &limits, &today(&driver, 1, 0.0)).is_none());
    story.on(&limits, &BTreeMap::new());
    story.session_ends(SessionVerdict::Completed).seen(false);
    assert_eq!(story.state.spent.turns, 2);
}

#[test]
fn the_budget_of_a_driver_stops_no_other_driver() {
    let mut story = looping();
    story.on(&[limit(Some("codex"), of_cost(1.0))], &today("codex", 9, 5.0)).prepared("a");
    assert_eq!(story.state.spent.turns, 1);
    let driver = story.driver();
    story.on(&[limit(Some(&driver), of_cost(1.0))], &today(&driver, 1, 5.0));
    story.session_ends(SessionVerdict::Completed).seen(false);
    assert_eq!(story.cleaned("a").ended(), (FinalStatus::Exhausted, EndReason::Budget));
    let words = format!("today's budget of $1.00 for {driver} is spent (`budgets.{driver}` in the settings)");
    assert_eq!(story.detail(), words);
}

#[test]
fn a_repeated_turn_needs_money_and_is_no_new_turn() {
    let mut story = looping();
    let driver = story.driver();
    story.on(&[limit(None, of_turns(1))], &BTreeMap::new()).prepared("a");
    story.session_ends(SessionVerdict::Interrupted { what: "killed".into() });
    assert!(story.plan().resume);
    story.on(&[limit(None, of_cost(1.0))], &today(&driver, 1, 1.0));
    story.session_ends(SessionVerdict::Interrupted { what: "killed".into() });
    assert_eq!(story.cleaned("a").ended(), (FinalStatus::Exhausted, EndReason::Budget));
}

#[test]
fn what_a_run_spent_is_counted_by_driver_and_once() {
    let mut story = looping();
    story.prepared("a");
    let (driver, before) = (story.driver(), story.state.bookkeeping.spent_on.clone());
    assert_eq!(day_spending(&BTreeMap::new(), &story.state), today(&driver, 1, 0.0));
    let effect = story.open(Verb::Session);
    let usage = Usage { input_tokens: 3, output_tokens: 4, cost_usd: Some(0.5), ..Usage::default() };
    let end = SessionEnd { usage, ..session_end(SessionVerdict::Completed) };
    story.tell(Event::SessionEnded { effect, end });
    let spent = DaySpent { tokens: 7, cost_usd: 0.5, ..DaySpent::default() };
    assert_eq!(day_spending(&before, &story.state), BTreeMap::from([(driver, spent)]));
    assert_eq!(day_spending(&story.state.bookkeeping.spent_on, &story.state), BTreeMap::new());
}

#[test]
fn a_day_has_so_much_time_for_turns() {
    let mut story = looping();
    let hours = |hours: u64| Budget { time_ms: Some(hours * 3_600_000), ..Budget::default() };
    let (driver, limits) = (story.driver(), [limit(None, hours(6))]);
    let spent = |hours: u64| {
        BTreeMap::from([(driver.clone(), DaySpent { time_ms: hours * 3_600_000, ..DaySpent::default() })])
    };
    story.on(&limits, &spent(3)).prepared("a");
    let before = story.state.bookkeeping.spent_on.clone();
    let effect = story.open(Verb::Session);
    let end = SessionEnd { took_ms: 2 * 3_600_000, ..session_end(SessionVerdict::Completed) };
    story.tell(Event::SessionEnded { effect, end: end.clone() });
    assert_eq!(day_spending(&before, &story.state)[&driver].time_ms, 2 * 3_600_000);
    story.on(&limits, &spent(5)).seen(false);
    assert_eq!(story.state.spent.turns, 2, "an hour is left");
    let effect = story.open(Verb::Session);
    story.tell(Event::SessionEnded { effect, end }).on(&limits, &spent(7)).seen(false);
    assert_eq!(story.cleaned("a").ended(), (FinalStatus::Exhausted, EndReason::Budget));
    assert_eq!(story.detail(), "today's budget of 6h is spent (`budgets.day` in the settings)");
}
