//! The budgets of the day: the tables `[budgets.day]` and `[budgets.DRIVER]`.

use std::time::Duration;

use windlass_core::graph::workflow::Budget;
use windlass_core::run::DayLimit;

use super::key::TakenValue;
use super::setting_value::{SettingValue, written};
use super::value::Settings;
use super::words::DRIVERS;
use crate::tracker::yaml::quote;
use crate::words::did_you_mean;

/// The table of the budget for all drivers together.
const ALL_DRIVERS: &str = "day";

pub(super) const BUDGET_KEYS: &[&str] = &["turns", "tokens", "cost", "time"];

impl Settings {
    /// Returns the budgets of the day, the one for all drivers together first.
    pub fn day_limits(&self) -> Vec<DayLimit> {
        let limit = |(name, budget): (&String, &Budget)| DayLimit {
            driver: (name != ALL_DRIVERS).then(|| name.clone()),
            budget: *budget,
        };
        let mut limits: Vec<DayLimit> = self.budgets.iter().map(limit).collect();
        limits.sort_by_key(|limit| limit.driver.is_some());
        limits
    }
}

pub(super) fn take(settings: &mut Settings, name: &str, field: &str, given: &SettingValue) -> TakenValue {
    let is_driver = DRIVERS.meaning(name).is_some();
    if name != ALL_DRIVERS && !is_driver {
        let names = DRIVERS.0.iter().map(|(word, _)| *word).chain([ALL_DRIVERS]);
        return TakenValue::Refused(did_you_mean(name, names));
    }
    let mut budget = settings.budgets.get(name).copied().unwrap_or_default();
    let taken = match field {
        "turns" => given.count().map(|turns| budget.turns = Some(turns)),
        "tokens" => given.whole().map(|tokens| budget.tokens = Some(tokens)),
        "cost" => given.dollars().map(|cost| budget.cost_usd = Some(cost)),
        "time" => given.time().map(|time| budget.time_ms = Some(milliseconds(time))),
        _ => return TakenValue::Refused(did_you_mean(field, BUDGET_KEYS.iter().copied())),
    };
    taken.map(|()| *settings.budgets.entry(name.to_owned()).or_default() = budget).into()
}

pub(super) fn show(settings: &Settings, shown: &mut Vec<(String, String)>) {
    for (name, budget) in &settings.budgets {
        let values = [
            budget.turns.map(|turns| turns.to_string()),
            budget.tokens.map(|tokens| tokens.to_string()),
            budget.cost_usd.map(|cost| cost.to_string()),
            budget.time_ms.map(|time| quote(&written(Duration::from_millis(time)))),
        ];
        let values = BUDGET_KEYS.iter().zip(values);
        shown.extend(values.filter_map(|(key, value)| Some((format!("budgets.{name}.{key}"), value?))));
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
