//! What a turn cost, by the user's prices: Codex reports tokens and no cost.

use serde_json::{Value, json};
use windlass_testkit::{Model, require_agent, say};

use crate::stage::{Ended, Stage};

const LOOP: &str = "  - id: work\n    prompt: build it\n    turns: { max: 5, mode: resume, promise: DONE }\n";
const PRICES: &str = "[prices.\"priced*\"]\ninput = 1000\ncached_input = 100\noutput = 10_000\n";

fn with_settings(codex: std::path::PathBuf, text: &str) -> Stage {
    let stage = Stage::new(codex);
    stage.sealed.write("config/windlass/config.toml", text);
    stage
}

fn cost(ended: &Ended) -> [Value; 3] {
    let finished = &ended.of("run.finished")[0];
    ["cost_usd", "is_cost_computed", "is_cost_partial"].map(|key| finished["usage"][key].clone())
}

/// A turn of 0.10 + 0.004 + 0.10 dollars.
fn turn(text: &str) -> windlass_testkit::Turn {
    say(text).tokens(100, 10).cached(40)
}

#[test]
fn each_turn_of_a_conversation_is_paid_once_and_the_budget_counts_it() {
    let stage = with_settings(require_agent!("codex"), PRICES);
    let model = Model::script([turn("one"), turn("two"), turn("three")]).start();
    let flags = ["--model", "priced-codex", "--budget", "cost=0.4"];
    let ended = stage.run(&model, LOOP, &flags);

    ended.assert_ended(9, "exhausted", "budget");
    let [usd, is_computed, is_partial] = cost(&ended);
    assert!((usd.as_f64().unwrap() - 0.408).abs() < 1e-9, "{usd}");
    assert_eq!((is_computed, is_partial), (json!(true), Value::Null));
    let detail = ended.of("run.finished")[0]["detail"].as_str().unwrap().to_owned();
    assert_eq!(detail, "the budget of $0.40 is spent: it cost $0.41");

    // Other prices change nothing about the run.
    stage.sealed.write("config/windlass/config.toml", "[prices.\"*\"]\ninput = 0\noutput = 0\n");
    let run = ended.run();
    let shown = stage.windlass(&model, &["show", &run]).stdout;
    assert!(shown.contains("$0.41 by your prices"), "{shown}");
    let listed = stage.windlass(&model, &["ps", "--all"]).stdout;
    assert!(listed.contains("~$0.41"), "{listed}");
    let page = stage.windlass(&model, &["export", &run, "--format", "markdown"]).stdout;
    assert!(page.contains("$0.41 by your prices"), "{page}");
    let replayed = stage.windlass(&model, &["replay", &run]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.story());
}

#[test]
fn a_budget_of_money_without_a_price_is_refused_before_an_agent_runs() {
    for (settings, flags, said) in [
        ("", ["--budget", "cost=1"].as_slice(), "the model that it chooses has no price"),
        (PRICES, &["--budget", "cost=1", "--model", "other"], "model `other` has no price"),
        ("[budgets.codex]\ncost = 1\n", &[], "`budgets.codex.cost` does not count"),
    ] {
        let stage = with_settings(require_agent!("codex"), settings);
        let model = Model::script([say("hello")]).start();
        let ended = stage.run(&model, LOOP, flags);
        assert_eq!(ended.code, Some(3), "{}", ended.story());
        let hint = "of your settings";
        assert!(ended.stderr.contains(said) && ended.stderr.contains(hint), "{}", ended.story());
        assert!(model.requests().is_empty(), "no agent ran: {}", ended.story());
    }
}

#[test]
fn a_run_whose_cost_nobody_knows_never_looks_complete() {
    let stage = with_settings(require_agent!("codex"), "[budgets.day]\ncost = 5\n");
    let model = Model::script([say("<promise>DONE</promise>")]).start();
    let ended = stage.run(&model, LOOP, &[]);

    ended.assert_ended(0, "completed", "promise");
    assert_eq!(cost(&ended), [Value::Null, Value::Null, json!(true)]);
    let warning = "the budget `budgets.day.cost` does not count the cost of driver `codex`";
    assert!(ended.stderr.contains(warning) || ended.stdout.contains(warning), "{}", ended.story());
    let shown = stage.windlass(&model, &["show", &ended.run()]).stdout;
    assert!(shown.contains("cost unknown"), "{shown}");
}

#[test]
fn a_person_who_raises_a_budget_of_money_needs_a_price() {
    let stage = with_settings(require_agent!("codex"), "");
    let model = Model::script([turn("one"), turn("two"), turn("<promise>DONE</promise>")]).start();
    let first = stage.run(&model, LOOP, &["--model", "priced-codex", "--budget", "turns=1"]);
    first.assert_ended(9, "exhausted", "budget");
    let run = first.run();
    let more = ["resume", &run, "--budget", "turns=+5,cost=0.3", "--json"];
    let refused = stage.windlass(&model, &more);
    assert_eq!(refused.code, Some(3), "{}", refused.story());
    assert!(refused.stderr.contains("model `priced-codex` has no price"), "{}", refused.story());

    stage.sealed.write("config/windlass/config.toml", PRICES);
    let ended = stage.windlass(&model, &more);
    ended.assert_ended(0, "completed", "promise");
    let [usd, is_computed, is_partial] = cost(&ended);
    assert!((usd.as_f64().unwrap() - 0.408).abs() < 1e-9, "the first turn had no price: {usd}");
    assert_eq!((is_computed, is_partial), (json!(true), json!(true)));
}
