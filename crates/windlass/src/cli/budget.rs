//! Reads `--budget`: limits such as `cost=5` and additions such as `cost=+5`.

use windlass_core::graph::workflow::Budget;
use windlass_core::run::{BudgetRaise, Raise};

use super::run_flags::milliseconds;

/// The form of a budget, for error messages.
const FORM: &str = "write it like turns=20,tokens=500000,cost=5,time=2h";

/// Parses the limits of a new run.
pub(super) fn limits(text: &str) -> Result<Budget, String> {
    let raise = raises(text)?;
    if text.contains('+') {
        return Err("a new run has no limit to add to: leave out the `+`".to_owned());
    }
    Ok(raise.applied(&Budget::default()))
}

/// Parses limits, and additions with a `+`, for a run that continues.
pub(super) fn raises(text: &str) -> Result<BudgetRaise, String> {
    let mut budget = BudgetRaise::default();
    for part in text.split(',') {
        let (name, amount) = part.split_once('=').ok_or_else(|| FORM.to_owned())?;
        let (name, amount) = (name.trim(), amount.trim());
        let (is_added, amount) = match amount.strip_prefix('+') {
            Some(amount) => (true, amount),
            None => (false, amount),
        };
        let is_new = match name {
            "turns" => set(&mut budget.turns, whole(amount)?, is_added),
            "tokens" => set(&mut budget.tokens, whole(amount)?, is_added),
            "cost" => set(&mut budget.cost_usd, dollars(amount)?, is_added),
            "time" => set(&mut budget.time_ms, milliseconds(amount)?, is_added),
            _ => return Err(format!("there is no limit `{name}`: {FORM}")),
        };
        if !is_new {
            return Err(format!("`{name}` is given twice"));
        }
    }
    Ok(budget)
}

/// Sets a limit. Returns false if it was set already.
fn set<T>(slot: &mut Option<Raise<T>>, amount: T, is_added: bool) -> bool {
    let raise = if is_added { Raise::Add(amount) } else { Raise::Total(amount) };
    slot.replace(raise).is_none()
}

/// Parses `20` or `+5`, a number of iterations.
pub(super) fn iterations(text: &str) -> Result<Raise<u32>, String> {
    let form = "write it like 20 for a total, or +5 for five more";
    match text.strip_prefix('+') {
        Some(more) => whole(more).map(Raise::Add),
        None => whole(text).map(Raise::Total),
    }
    .map_err(|why| format!("{why}: {form}"))
}

fn whole<T: std::str::FromStr + PartialEq + Default>(text: &str) -> Result<T, String> {
    match text.parse::<T>() {
        Ok(number) if number == T::default() => Err("it must be more than 0".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err(format!("`{text}` is not a whole number")),
    }
}

/// Parses `5`, `0.50` or `$5`.
fn dollars(text: &str) -> Result<f64, String> {
    match text.strip_prefix('$').unwrap_or(text).parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(amount),
        _ => Err(format!("`{text}` is not an amount of US dollars")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_additions_are_told_apart() {
        let all = raises("turns=20,tokens=+500,cost=+$0.50,time=2h").unwrap();
        assert_eq!(all.turns, Some(Raise::Total(20)));
        assert_eq!(all.tokens, Some(Raise::Add(500)));
        assert_eq!(all.cost_usd, Some(Raise::Add(0.5)));
        assert_eq!(all.time_ms, Some(Raise::Total(7_200_000)));
        assert_eq!(iterations("+2"), Ok(Raise::Add(2)));
        assert_eq!(iterations("9"), Ok(Raise::Total(9)));
        let new = limits("cost=5").unwrap();
        assert_eq!((new.cost_usd, new.turns), (Some(5.0), None));
    }

    #[test]
    fn a_limit_that_is_not_understood_is_an_error() {
        for text in ["", "cost", "cost=", "cost=-1", "cost=nan", "turns=0", "turns=1.5", "time=soon", "x=1"] {
            assert!(raises(text).is_err(), "{text}");
        }
        assert!(raises("cost=1,cost=2").unwrap_err().contains("twice"));
        assert!(limits("cost=+5").unwrap_err().contains("leave out"));
        assert!(iterations("+0").is_err() && iterations("0").is_err() && iterations("-3").is_err());
    }
}
