//! The prices of models, from which Windlass computes a cost that an agent CLI does not report.
//!
//! Pure. A run keeps the prices that applied when it started, so a later price changes nothing about it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::usage::{ModelUsage, Usage};

/// The end of a name that stands for all models that begin with it.
const ANY_END: char = '*';
/// The number of tokens that a price is for.
const PER: f64 = 1_000_000.0;

/// The price of a model, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ModelPrice {
    pub input: f64,
    pub output: f64,
    /// Input that came from a cache.
    pub cached_input: f64,
    /// Input that was written to a cache.
    pub cache_write: f64,
}

impl ModelPrice {
    fn cost_of(&self, usage: &Usage) -> f64 {
        let part = |tokens: u64, price: f64| tokens as f64 * price / PER;
        part(usage.input_tokens, self.input)
            + part(usage.output_tokens, self.output)
            + part(usage.cache_read_tokens, self.cached_input)
            + part(usage.cache_write_tokens, self.cache_write)
    }
}

/// Prices by the name of a model, or by the beginning of names: `gpt-5*`, `*`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceTable(pub BTreeMap<String, ModelPrice>);

impl PriceTable {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the price of a model: the one for its whole name, else the one for the longest beginning of its
    /// name. A model whose name nobody knows has the price for `*`.
    pub fn of(&self, model: Option<&str>) -> Option<&ModelPrice> {
        let model = model.unwrap_or_default();
        let exact = self.0.get(model).filter(|_| !model.is_empty());
        let beginning =
            |name: &str| name.strip_suffix(ANY_END).filter(|start| model.starts_with(start)).map(str::len);
        let patterns = self.0.iter().filter_map(|(name, price)| Some((beginning(name)?, price)));
        exact.or_else(|| patterns.max_by_key(|(length, _)| *length).map(|(_, price)| price))
    }

    /// Adds the cost to the usage of a turn. `models` divides the usage by model; without it, all of the usage is
    /// that of `model`. A cost that the CLI reports stays as it is.
    pub fn settle(&self, usage: Usage, models: &[ModelUsage], model: Option<&str>) -> Usage {
        if usage.cost_usd.is_some() || !usage.may_cost() {
            return usage;
        }
        let whole = [ModelUsage { model: model.unwrap_or_default().to_owned(), usage }];
        let parts = if models.is_empty() { &whole[..] } else { models };
        let mut settled = Usage { is_cost_partial: usage.is_partial, ..usage };
        for part in parts.iter().filter(|part| part.usage.may_cost()) {
            let named = Some(part.model.as_str()).filter(|name| !name.is_empty()).or(model);
            match self.of(named) {
                Some(price) => {
                    settled.is_cost_computed = true;
                    settled.cost_usd = Some(settled.cost_usd.unwrap_or(0.0) + price.cost_of(&part.usage));
                }
                None => settled.is_cost_partial = true,
            }
        }
        settled
    }

    /// Returns the models of a usage that have no price.
    pub fn missing<'a>(&self, models: &'a [ModelUsage], model: Option<&'a str>) -> Option<&'a str> {
        let mut named = models.iter().filter(|part| part.usage.may_cost()).map(|part| part.model.as_str());
        let unpriced = |name: &&str| self.of(Some(name)).is_none();
        named.find(unpriced).filter(|name| !name.is_empty()).or(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(names: &[(&str, f64)]) -> PriceTable {
        let price = |input: f64| ModelPrice { input, output: 10.0, cached_input: 0.1, cache_write: 2.0 };
        PriceTable(names.iter().map(|(name, input)| ((*name).to_owned(), price(*input))).collect())
    }

    fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
        Usage { input_tokens, output_tokens, ..Usage::default() }
    }

    #[test]
    fn the_whole_name_wins_over_the_longest_beginning() {
        let prices = table(&[("gpt-5", 1.0), ("gpt-5*", 2.0), ("gpt-5.3-*", 3.0), ("*", 4.0)]);
        let rows = [
            (Some("gpt-5"), 1.0),
            (Some("gpt-5-pro"), 2.0),
            (Some("gpt-5.3-codex"), 3.0),
            (Some("gemini"), 4.0),
            (Some(""), 4.0),
            (None, 4.0),
        ];
        for (model, input) in rows {
            assert_eq!(prices.of(model).map(|price| price.input), Some(input), "{model:?}");
        }
        assert_eq!(table(&[("gpt-5", 1.0)]).of(Some("gpt-5-pro")), None);
        assert_eq!(table(&[("gpt-5", 1.0)]).of(None), None);
    }

    #[test]
    fn every_kind_of_token_has_its_price() {
        let read =
            Usage { cache_read_tokens: 2_000_000, cache_write_tokens: 500_000, ..usage(1_000_000, 100_000) };
        let settled = table(&[("m", 1.25)]).settle(read, &[], Some("m"));
        assert_eq!(settled, Usage { cost_usd: Some(1.25 + 1.0 + 0.2 + 1.0), is_cost_computed: true, ..read });
    }

    #[test]
    fn a_reported_cost_stays() {
        let reported = Usage { cost_usd: Some(0.5), ..usage(10, 10) };
        assert_eq!(table(&[("*", 1.0)]).settle(reported, &[], None), reported);
    }

    #[test]
    fn a_turn_without_tokens_has_no_unknown_cost() {
        assert_eq!(table(&[]).settle(Usage::default(), &[], None), Usage::default());
    }

    #[test]
    fn tokens_without_a_price_make_the_cost_partial() {
        let spent = usage(1_000_000, 0);
        let unknown = Usage { is_cost_partial: true, ..spent };
        assert_eq!(table(&[("other", 1.0)]).settle(spent, &[], Some("m")), unknown);
        let parts = [("m", 0), ("n", 1_000_000)]
            .map(|(model, input)| ModelUsage { model: model.to_owned(), usage: usage(input, 100_000) });
        let both = usage(1_000_000, 200_000);
        let settled = table(&[("n", 2.0)]).settle(both, &parts, None);
        let expected = Usage { cost_usd: Some(3.0), is_cost_computed: true, is_cost_partial: true, ..both };
        assert_eq!(settled, expected);
        assert_eq!(table(&[("n", 2.0)]).missing(&parts, None), Some("m"));
    }

    #[test]
    fn usage_that_the_cli_did_not_report_whole_has_at_least_this_cost() {
        let partial = Usage { is_partial: true, ..usage(1_000_000, 0) };
        let settled = table(&[("m", 1.0)]).settle(partial, &[], Some("m"));
        let expected =
            Usage { cost_usd: Some(1.0), is_cost_computed: true, is_cost_partial: true, ..partial };
        assert_eq!(settled, expected);
    }
}
