//! Numbers with JSON semantics: `1` and `1.0` are equal.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Larger floats do not count as whole numbers.
const EXACT: f64 = 1e30;

/// Returns the number as an integer if it is whole.
#[expect(clippy::cast_possible_truncation, reason = "it is whole, and far inside the range")]
pub(super) fn whole(number: &Number) -> Option<i128> {
    if let Some(whole) = number.as_i64() {
        return Some(whole.into());
    }
    if let Some(whole) = number.as_u64() {
        return Some(whole.into());
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() < EXACT).then_some(float as i128)
}

/// Compares two numbers, exactly if both are whole.
pub(super) fn compare(one: &Number, other: &Number) -> Ordering {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => float(one).partial_cmp(&float(other)).unwrap_or(Ordering::Equal),
    }
}

/// Converts to a float, which may round.
pub(super) fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

/// Returns whether the number is a multiple of the step.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (whole(number), whole(step)) {
        return number.checked_rem(step).is_none_or(|rest| rest == 0);
    }
    let steps = float(number) / float(step);
    // With floats, 0.3 is not exactly three times 0.1.
    steps.is_finite() && (steps - steps.round()).abs() <= 1e-9 * steps.abs().clamp(1.0, 1e3)
}

/// Returns whether two values are equal.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare(one, other) == Ordering::Equal,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_there = |(key, one)| other.get(key).is_some_and(|other| is_same(one, other));
            one.len() == other.len() && one.iter().all(is_there)
        }
        _ => one == other,
    }
}

/// Normalizes the numbers in a value, so that equal values compare equal with `==`.
pub(super) fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => whole(number)
            .and_then(|whole| i64::try_from(whole).ok())
            .map_or_else(|| value.clone(), Value::from),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
    }
}
