//! Computes the numbers of a node when it starts.
//!
//! A node keeps its numbers until it ends, so that a retry, a crash or a continued run changes none of them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::DecisionCx;
use super::frame::Frame;
use crate::graph::workflow::{Expression, Node, NodeNumber};
use crate::run::{EndReason, FinalStatus, Outcome};
use crate::time::{parse_span, written};

/// The computed numbers of a node.
pub(crate) type Numbers = BTreeMap<NodeNumber, u64>;

/// Computes the numbers of a node. Fails if one is not a number or is outside its bounds.
pub(super) fn resolve(cx: &DecisionCx<'_>, node: &Node, frame: &Frame<'_>) -> Result<Numbers, Outcome> {
    node.computed.iter().map(|(number, from)| Ok((*number, one(cx, node, frame, *number, from)?))).collect()
}

fn one(
    cx: &DecisionCx<'_>,
    node: &Node,
    frame: &Frame<'_>,
    number: NodeNumber,
    from: &Expression,
) -> Result<u64, Outcome> {
    let value = frame.evaluate(cx, from)?;
    let (field, from) = (number.field(&node.kind), from.0.trim());
    let failed = |wanted: String| {
        let why = format!("`{field}` must be {wanted}, and is {} (`{from}`)", shown(&value));
        Outcome::new(FinalStatus::Failed, EndReason::Template).because(why)
    };
    let read = if number.is_time() { span(&value) } else { whole(&value) };
    let Some(read) = read else {
        return Err(failed(match number.is_time() {
            true => "a time such as `30m`, or a number of seconds".to_owned(),
            false => "a whole number".to_owned(),
        }));
    };
    let words = |amount: u64| if number.is_time() { written(amount) } else { amount.to_string() };
    let most = node.bound(number).unwrap_or_default();
    match read {
        read if read < number.least() => Err(failed(if number.is_time() {
            "longer than zero".to_owned()
        } else {
            "at least 1".to_owned()
        })),
        read if read > most => Err(failed(format!("at most {}", words(most)))),
        read => Ok(read),
    }
}

fn whole(value: &Value) -> Option<u64> {
    let from_fraction =
        || value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number in range")]
    value.as_u64().or_else(|| from_fraction().map(|number| number as u64))
}

/// Reads a time in milliseconds. A number is a number of seconds.
pub(super) fn span(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => parse_span(text),
        value => {
            let seconds = value.as_f64().filter(|seconds| (0.0..1e12).contains(seconds))?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
            Some((seconds * 1000.0).round() as u64)
        }
    }
}

/// The number of characters of a wrong value that people see.
const SHOWN: usize = 60;

fn shown(value: &Value) -> String {
    let text = value.to_string();
    let cut: String = text.chars().take(SHOWN).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}
