//! Tests for the cost of turns whose agent CLI reports none.

use super::*;
use crate::graph::builder::{prompt, turns};
use crate::price::{ModelPrice, PriceTable};
use crate::run::{BudgetRaise, Continuation, News, Raise};
use crate::usage::{Cost, ModelUsage};

fn prices(model: &str, output: f64) -> PriceTable {
    let price = ModelPrice { input: 1.0, output, cached_input: 0.0, cache_write: 0.0 };
    PriceTable([(model.to_owned(), price)].into())
}

/// A loop with a budget of money, by these prices.
fn looping(most: f64, prices: PriceTable) -> Story {
    let mut spec = drawn(Builder::new("w").start(prompt("x").turns(turns(9)).id("a")));
    spec.budget = Budget { cost_usd: Some(most), ..Budget::default() };
    spec.prices = prices;
    let mut story = Story::of(spec);
    story.prepared("a");
    story
}

fn written(output_tokens: u64) -> Usage {
    Usage { output_tokens, ..Usage::default() }
}

fn of_model(model: &str, usage: Usage) -> ModelUsage {
    ModelUsage { model: model.to_owned(), usage }
}

impl Story {
    fn turn_ends(&mut self, end: SessionEnd) -> &mut Story {
        let effect = self.open(Verb::Session);
        self.tell(Event::SessionEnded { effect, end })
    }

    fn spends(&mut self, models: Vec<ModelUsage>) -> &mut Story {
        let mut usage = Usage::default();
        models.iter().for_each(|part| usage.add(&part.usage));
        self.turn_ends(SessionEnd { usage, models, ..session_end(SessionVerdict::Completed) })
    }

    /// Returns the warnings of the last event.
    fn odd(&self) -> Vec<&str> {
        let mut all = Vec::new();
        for news in &self.step.news {
            if let News::Odd { what, .. } = news {
                all.push(what.as_str());
            }
        }
        all
    }

    fn cost(&self) -> Cost {
        self.state.spent.usage.cost()
    }
}

fn computed(usd: f64) -> Cost {
    Cost { usd: Some(usd), is_computed: true, is_partial: false }
}

#[test]
fn a_computed_cost_spends_the_budget_of_the_run_and_of_the_day() {
    let mut story = looping(1.0, prices("m", 10.0));
    story.spends(vec![of_model("m", written(50_000))]).seen(false);
    assert_eq!(story.cost(), computed(0.5));
    assert_eq!(story.state.bookkeeping.spent_on["sim"].usage.cost(), computed(0.5), "the day counts it, too");
    story.spends(vec![of_model("m", written(50_000))]).seen(false).cleaned("a");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
    assert_eq!(story.detail(), "the budget of $1.00 is spent: it cost $1.00");
}

#[test]
fn the_model_that_the_turn_asked_for_has_the_price_if_the_cli_reports_none() {
    let mut spec = drawn(Builder::new("w").start(prompt("x").id("a")));
    spec.prices = prices("asked", 10.0);
    for settings in spec.sessions.values_mut() {
        settings.driver.model = Some("asked".into());
    }
    let mut story = Story::of(spec);
    story
        .prepared("a")
        .turn_ends(SessionEnd { usage: written(100_000), ..session_end(SessionVerdict::Completed) });
    assert_eq!(story.cost(), computed(1.0));
}

#[test]
fn a_reported_cost_wins_over_the_price() {
    let mut story = looping(9.0, prices("*", 10.0));
    let usage = Usage { cost_usd: Some(0.25), ..written(50_000) };
    story.spends(vec![of_model("m", usage)]);
    assert_eq!(story.cost(), Cost { usd: Some(0.25), ..Cost::default() });
}

#[test]
fn a_budget_that_misses_a_cost_says_so_once() {
    let mut story = looping(1.0, prices("other", 10.0));
    story.spends(vec![of_model("m", written(50))]);
    let odd = story.odd().join("\n");
    assert!(odd.contains("does not count all of the cost") && odd.contains("`[prices.\"m\"]`"), "{odd}");
    assert_eq!(story.cost(), Cost { usd: None, is_computed: false, is_partial: true });
    story.seen(false).spends(vec![of_model("m", written(50))]);
    assert_eq!(story.odd(), [""; 0]);
}

#[test]
fn nobody_is_told_of_an_unknown_cost_without_a_budget_of_money() {
    let mut story = Story::drawn(Builder::new("w").start(prompt("x").id("a")));
    story.prepared("a").spends(vec![of_model("m", written(50))]);
    assert_eq!((story.odd(), story.cost().is_partial), (Vec::new(), true));
}

#[test]
fn a_conversation_that_counts_all_of_its_turns_is_paid_once_for_each_model() {
    let mut story = looping(9.0, prices("m", 10.0));
    let whole = |m: u64, n: u64| {
        let models = vec![of_model("m", written(m)), of_model("n", written(n))];
        SessionEnd {
            usage: written(m + n),
            models,
            usage_is_cumulative: true,
            ..session_end(SessionVerdict::Interrupted { what: "cut off".into() })
        }
    };
    story.turn_ends(whole(100_000, 0));
    assert_eq!(story.cost(), computed(1.0));
    story.turn_ends(whole(150_000, 10));
    let known = Cost { is_partial: true, ..computed(1.5) };
    assert_eq!((story.cost(), story.state.spent.usage.output_tokens), (known, 150_010));
}

#[test]
fn a_person_who_continues_a_run_brings_the_prices_of_that_day() {
    let mut story = looping(0.5, prices("m", 10.0));
    story.spends(vec![of_model("m", written(50_000))]).seen(false).cleaned("a");
    assert_eq!(story.ended(), (FinalStatus::Exhausted, EndReason::Budget));
    let budget = BudgetRaise { cost_usd: Some(Raise::Total(9.0)), ..BudgetRaise::default() };
    let more = Continuation { budget, prices: Some(prices("m", 20.0)), ..Continuation::default() };
    let (inbox, by) = (InboxId::new("i"), "me".to_owned());
    story.tell(Event::Continued { inbox, by, more: Box::new(more) });
    story.spends(vec![of_model("m", written(50_000))]);
    assert_eq!(story.cost(), computed(1.5), "the turns before keep their price");
    let again = fold(story.state.run.clone(), &story.records).expect("a run");
    assert_eq!(again, story.state, "a replay finds the same");
}
