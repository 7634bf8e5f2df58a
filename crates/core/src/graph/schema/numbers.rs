//! Numbers as JSON means them: `1` and `1.0` are the same.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Beyond this a float is not taken for a whole number that could be reckoned with.
const EXACT: f64 = 1e30;

/// The whole number it is, if it is one.
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

/// Which is larger.
pub(super) fn compare(one: &Number, other: &Number) -> Ordering {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => float(one).partial_cmp(&float(other)).unwrap_or(Ordering::Equal),
    }
}

/// As a float; exact enough where it is not exact.
pub(super) fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

/// Whether it is a whole number of steps.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    if let (Some(number), Some(step)) = (whole(number), whole(step)) {
        return number.checked_rem(step).is_none_or(|rest| rest == 0);
    }
    let steps = float(number) / float(step);
    // 0.3 is three times 0.1 for everybody but a float.
    steps.is_finite() && (steps - steps.round()).abs() <= 1e-9 * steps.abs().clamp(1.0, 1e3)
}

/// Whether two values are the same.
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

/// The value with each number written in one way, so that what is the same is equal.
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
