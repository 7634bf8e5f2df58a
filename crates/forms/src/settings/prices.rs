//! The prices of models: the tables `[prices."MODEL"]`.
//!
//! Only files set them: the name of a model does not fit into a variable. There are no built-in prices.

use std::collections::BTreeMap;

use windlass_core::price::{ModelPrice, PriceTable};

use super::key::{TakenValue, dotted};
use super::layer::SettingSource;
use super::setting_value::{SettingError, SettingValue};
use super::value::Settings;
use crate::diagnostic::{Diagnostic, Severity};
use crate::tracker::yaml::quote;
use crate::words::{did_you_mean, quoted};

/// The name of the table, of a variable that is none, and of messages.
pub(super) const PRICES: &str = "prices";
pub(super) const PRICE_KEYS: &[&str] = &["input", "output", "cached_input", "cache_write"];

/// Tells what to do about a variable that looks like a price.
pub(super) const NO_VARIABLE: &str = "set prices in a settings file, in a table `[prices.\"MODEL\"]`";

/// The price of a model as the layers set it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PriceSetting {
    pub input: Option<f64>,
    pub output: Option<f64>,
    /// The price of input if unset.
    pub cached_input: Option<f64>,
    /// The price of input if unset.
    pub cache_write: Option<f64>,
}

impl PriceSetting {
    fn field(&mut self, name: &str) -> Option<&mut Option<f64>> {
        match name {
            "input" => Some(&mut self.input),
            "output" => Some(&mut self.output),
            "cached_input" => Some(&mut self.cached_input),
            "cache_write" => Some(&mut self.cache_write),
            _ => None,
        }
    }

    fn price(&self) -> Option<ModelPrice> {
        let (input, output) = (self.input?, self.output?);
        let (cached_input, cache_write) =
            (self.cached_input.unwrap_or(input), self.cache_write.unwrap_or(input));
        Some(ModelPrice { input, output, cached_input, cache_write })
    }

    fn set(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let mut own = *self;
        PRICE_KEYS.iter().filter_map(move |name| Some((*name, (*own.field(name)?)?)))
    }
}

impl Settings {
    /// Returns the prices of models.
    pub fn price_table(&self) -> PriceTable {
        let whole = |(model, price): (&String, &PriceSetting)| Some((model.clone(), price.price()?));
        PriceTable(self.prices.iter().filter_map(whole).collect())
    }
}

pub(super) fn take(settings: &mut Settings, model: &str, field: &str, given: &SettingValue) -> TakenValue {
    if let Some(error) = name_error(model) {
        return TakenValue::Wrong(error);
    }
    let mut price = settings.prices.get(model).copied().unwrap_or_default();
    let Some(part) = price.field(field) else {
        return TakenValue::Refused(
            did_you_mean(field, PRICE_KEYS.iter().copied()).or_else(|| Some(all_keys())),
        );
    };
    let taken = given.dollars().map_err(|error| SettingError {
        message: error.message.replace("an amount in dollars", "a price in dollars for a million tokens"),
        hint: error.hint.or_else(|| Some("write a number without quotes, such as `1.25`".to_owned())),
        ..error
    });
    taken
        .map(|amount| *part = Some(amount))
        .map(|()| *settings.prices.entry(model.to_owned()).or_default() = price)
        .into()
}

fn all_keys() -> String {
    let keys: Vec<String> = PRICE_KEYS.iter().map(|key| format!("`{key}`")).collect();
    format!("a price has the keys {}", keys.join(", "))
}

/// Refuses a name that can match no model.
fn name_error(model: &str) -> Option<SettingError> {
    let error = |what: &str, hint: &str| Some(SettingError::new(what.to_owned(), Some(hint)));
    if model.trim() != model || model.is_empty() || model.contains(char::is_control) {
        return error("names no model", "write the name that the agent CLI reports");
    }
    if model.strip_suffix('*').unwrap_or(model).contains('*') {
        return error("has a `*` inside", "a `*` at the end stands for the rest of the name");
    }
    None
}

/// Returns an error for each price that lacks a part.
pub(super) fn incomplete(settings: &Settings, sources: &BTreeMap<String, SettingSource>) -> Vec<Diagnostic> {
    let lacking = |(model, price): (&String, &PriceSetting)| {
        let lack = match (price.input, price.output) {
            (Some(_), Some(_)) => return None,
            (None, None) => "`input` and `output`",
            (None, Some(_)) => "`input`",
            (Some(_), None) => "`output`",
        };
        let (set, _) = price.set().next()?;
        let source = sources.get(&dotted(&[PRICES, model, set]));
        let place = source.map(ToString::to_string);
        let message = format!("the price of model {} has no {lack}", quoted(model));
        let hint = "a price needs both, in dollars for a million tokens; 0 means that they cost nothing";
        Some(Diagnostic::new(Severity::Error, &message).in_file(place.as_deref()).hint(Some(hint.to_owned())))
    };
    settings.prices.iter().filter_map(lacking).collect()
}

pub(super) fn show(settings: &Settings, shown: &mut Vec<(String, String)>) {
    for (model, price) in &settings.prices {
        shown.extend(price.set().map(|(key, amount)| (dotted(&[PRICES, model, key]), amount.to_string())));
    }
}

/// Returns the dotted key of a price.
pub(super) fn key_of(model: &str, rest: &[&str]) -> String {
    let parts =
        [PRICES.to_owned(), quote(model)].into_iter().chain(rest.iter().map(|part| (*part).to_owned()));
    parts.collect::<Vec<_>>().join(".")
}
