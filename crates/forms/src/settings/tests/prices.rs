//! Tests for the prices of models.

use windlass_core::price::ModelPrice;

use super::*;

#[test]
fn layers_complete_each_other_and_cached_input_costs_as_much_as_input() {
    let own = "[prices.\"gpt-5.3-codex\"]\ninput = 2\noutput = 10.0\n[prices.'*']\ninput = 1\noutput = 1\ncache_write = 3";
    let theirs = "[prices.\"gpt-5.3-codex\"]\ncached_input = 0.125\n";
    let resolved = resolve(vec![user(own), trusted(theirs)]);
    assert_eq!(resolved.diagnostics, []);
    let table = resolved.settings.price_table();
    let codex = ModelPrice { input: 2.0, output: 10.0, cached_input: 0.125, cache_write: 2.0 };
    let other = ModelPrice { input: 1.0, output: 1.0, cached_input: 1.0, cache_write: 3.0 };
    assert_eq!(table.of(Some("gpt-5.3-codex")), Some(&codex));
    assert_eq!(table.of(Some("gpt-5.3-codex-mini")), Some(&other));
    let shown: Vec<String> =
        resolved.show().iter().map(|line| format!("{}={}", line.key, line.source)).collect();
    assert!(shown.contains(&"prices.\"gpt-5.3-codex\".cached_input=project.toml:2".to_owned()), "{shown:?}");
}

#[test]
fn no_price_is_built_in() {
    assert!(resolve(Vec::new()).settings.price_table().is_empty());
}

#[test]
fn a_project_makes_nothing_cheaper_until_it_is_trusted() {
    let own = "[prices.m]\ninput = 2\noutput = 10\n";
    let theirs = "[prices.m]\ninput = 0\n[prices.n]\ninput = 0\noutput = 0\n";
    let resolved = resolve(vec![user(own), project(theirs)]);
    assert_eq!(resolved.settings.price_table().of(Some("m")).map(|price| price.input), Some(2.0));
    assert_eq!(resolved.settings.price_table().of(Some("n")), None);
    let why = "it decides what your runs seem to cost";
    assert_eq!(
        requests(vec![user(own), project(theirs)]),
        [
            format!("2 prices.\"m\".input = 0: {why}"),
            format!("4 prices.\"n\".input = 0: {why}"),
            format!("5 prices.\"n\".output = 0: {why}"),
        ]
    );
}

#[test]
fn mistakes_are_errors_with_place_and_hint() {
    let whole = "input = 1\noutput = 1\n";
    for (text, said) in [
        (
            "[prices.m]\ninput = -1\noutput = 1\n",
            "user.toml:2:9 error: `prices.\"m\".input` must be a price in dollars for a million tokens, found `-1` (write a number such as `5` or `0.5`)",
        ),
        (
            "[prices.m]\ninput = \"1\"\noutput = 1\n",
            "user.toml:2:9 error: `prices.\"m\".input` must be a price in dollars for a million tokens, found a string (write a number without quotes, such as `1.25`)",
        ),
        (
            "[prices.m]\ninput = nan\noutput = 1\n",
            "user.toml:2:9 error: `prices.\"m\".input` must be a price in dollars for a million tokens, found `nan` (write a number such as `5` or `0.5`)",
        ),
        (
            "[prices.m]\nouput = 1\ninput = 1\noutput = 1\n",
            "user.toml:2:1 error: unknown key `prices.\"m\".ouput`: ignoring it could drop a limit (did you mean `output`?)",
        ),
        (
            "[prices.m]\ncolour = 1\ninput = 1\noutput = 1\n",
            "user.toml:2:1 error: unknown key `prices.\"m\".colour`: ignoring it could drop a limit (a price has the keys `input`, `output`, `cached_input`, `cache_write`)",
        ),
        (
            "[prices.\"a*b\"]\ninput = 1\n",
            "user.toml:2:9 error: `prices.\"a*b\".input` has a `*` inside (a `*` at the end stands for the rest of the name)",
        ),
        (
            "[prices]\nm = 1\n",
            "user.toml:2:1 error: unknown key `prices.\"m\"`: ignoring it could drop a limit (set prices in a settings file, in a table `[prices.\"MODEL\"]`)",
        ),
        (
            "[prices.m]\ncached_input = 1\noutput = 1\n",
            "user.toml:3 error: the price of model `m` has no `input` (a price needs both, in dollars for a million tokens; 0 means that they cost nothing)",
        ),
    ] {
        assert_eq!(complaints(vec![user(text)]), [said], "{text}");
    }
    assert_eq!(complaints(vec![user(&format!("[price.m]\n{whole}"))]).len(), 1);
    assert_eq!(
        complaints(vec![Layer::Environment(pairs(&[("WINDLASS_PRICES_M_INPUT", "0")]))]),
        [
            "WINDLASS_PRICES_M_INPUT error: this variable is not a setting: ignoring it could drop a limit (set prices in a settings file, in a table `[prices.\"MODEL\"]`)"
        ]
    );
}
