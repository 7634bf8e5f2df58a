//! Reads numbers and times that a run may compute: `5`, `inputs.rounds`, or `{ from: …, at_most: 5 }`.
//!
//! Each returns the number itself or, for a computed one, its upper bound; the expression goes to
//! [`FieldReader::computed`].

use windlass_core::graph::workflow::{Expression, InputKind, NodeNumber, input_name};

use super::field_reader::FieldReader;
use super::keys::FROM;
use crate::json::{JsonNode, JsonValue};
use crate::words::quoted;

impl FieldReader<'_> {
    /// Reads a count. `written` reads one that is written out.
    pub(super) fn count_or_computed(
        &mut self,
        (path, node): (&str, &JsonNode),
        number: NodeNumber,
        written: impl FnOnce(&mut Self, &str, &JsonNode) -> Option<u32>,
    ) -> Option<u32> {
        match self.computed_number((path, node), number, "at_most: 10", Self::some) {
            Some(bound) => bound,
            None => {
                if self.has_braces((path, node), "at_most: 10") {
                    return None;
                }
                if let JsonValue::Text(text) = &node.value
                    && text.parse::<u64>().is_err()
                    && !text.trim().is_empty()
                {
                    let hint = format!("to compute it, write `{{ from: {}, at_most: 10 }}`", text.trim());
                    self.wrong_with(path, "a whole number", node, Some(hint));
                    return None;
                }
                written(self, path, node)
            }
        }
    }

    /// Reads a time in milliseconds. `written` reads one that is written out.
    pub(super) fn time_or_computed(
        &mut self,
        (path, node): (&str, &JsonNode),
        number: NodeNumber,
        written: impl FnOnce(&mut Self, &str, &JsonNode) -> Option<u64>,
    ) -> Option<u64> {
        match self.computed_number((path, node), number, "at_most: 1h", Self::time) {
            Some(bound) => bound,
            None if self.has_braces((path, node), "at_most: 1h") => None,
            None => written(self, path, node),
        }
    }

    /// Reports a template where an expression is meant.
    fn has_braces(&mut self, (path, node): (&str, &JsonNode), example: &str) -> bool {
        let JsonValue::Text(text) = &node.value else { return false };
        if !text.contains("{{") {
            return false;
        }
        let bare = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).map(str::trim);
        let hint = match bare.filter(|bare| !bare.contains("{{")) {
            Some(bare) if input_name(bare).is_some() => format!("write {}", quoted(bare)),
            Some(bare) => format!("write `{{ from: {bare}, {example} }}`"),
            None => format!("write `{{ from: EXPRESSION, {example} }}`"),
        };
        self.error(node.at, &format!("`{path}` is an expression, which has no braces"), Some(hint));
        true
    }

    /// Reads a computed number and returns its bound. The outer `None` means that the number is written out.
    fn computed_number<T: FromBound>(
        &mut self,
        (path, node): (&str, &JsonNode),
        number: NodeNumber,
        example: &str,
        read_bound: impl FnOnce(&mut Self, &str, &JsonNode) -> Option<T>,
    ) -> Option<Option<T>> {
        match &node.value {
            JsonValue::Object(_) => Some(self.read_map((path, node), number, example, read_bound)),
            JsonValue::Text(text) => {
                let name = input_name(text)?;
                Some(self.read_input(path, node, (number, text.trim(), name), example))
            }
            JsonValue::Null | JsonValue::Boolean(_) | JsonValue::Number(_) | JsonValue::List(_) => None,
        }
    }

    fn read_map<T: FromBound>(
        &mut self,
        (path, node): (&str, &JsonNode),
        number: NodeNumber,
        example: &str,
        read_bound: impl FnOnce(&mut Self, &str, &JsonNode) -> Option<T>,
    ) -> Option<T> {
        let map = self.map(path, node, FROM)?;
        let from = self.need(&map, "from", FieldReader::expression);
        let bound = self.take(&map, "at_most", read_bound);
        if map.get("at_most").is_none() && !self.is_open(map.at) && map.get("from").is_some() {
            self.error(node.at, &format!("`{path}` has no upper bound"), Some(format!("add `{example}`")));
        }
        if let Some(member) = map.get("from") {
            // A mistake in the expression is a mistake of the field.
            self.mark_first(path, member.key_at, member.node.at);
        }
        self.computed.insert(number, from?);
        // A value is not compared with a bound that is missing.
        bound.or_else(|| T::from_maximum(LARGE))
    }

    fn read_input<T: FromBound>(
        &mut self,
        path: &str,
        node: &JsonNode,
        (number, text, name): (NodeNumber, &str, &str),
        example: &str,
    ) -> Option<T> {
        let input = self.inputs.iter().find(|input| input.name == name);
        let (kind, most) = match input {
            Some(input) => (input.kind, input.range.maximum),
            // The check reports an unknown input.
            None => (InputKind::Integer, Some(1.0)),
        };
        let with_map = format!("{{ from: {text}, {example} }}");
        if !matches!(kind, InputKind::Integer | InputKind::Number) {
            let wanted = if number.is_time() { "a number of seconds" } else { "a number" };
            let message = format!("`{path}` must be {wanted}, and input `{name}` is {}", kind.wanted());
            let hint = match kind {
                InputKind::Text if number.is_time() => {
                    format!("write `{with_map}`, or give the input another type")
                }
                InputKind::Text => {
                    format!("give the input `type: integer`, or write `{{ from: {text} | int, {example} }}`")
                }
                _ => "give the input `type: integer`".to_owned(),
            };
            self.error(node.at, &message, Some(hint));
            return None;
        }
        let Some(bound) = most.and_then(T::from_maximum) else {
            let message = format!("`{path}` has no upper bound: input `{name}` has no `maximum`");
            let hint = format!("give the input a `maximum` of at least 1, or write `{with_map}`");
            self.error(node.at, &message, Some(hint));
            return None;
        };
        self.computed.insert(number, Expression(text.to_owned()));
        Some(bound)
    }

    /// Records a position that replaces the one of the same path.
    fn mark_first(&mut self, path: &str, key_at: usize, at: usize) {
        self.current_part.fields.retain(|field| *field.path != *path);
        self.mark(path, key_at, at);
    }
}

/// Stands for a bound that is missing.
const LARGE: f64 = 1e6;

/// A bound that the `maximum` of an input gives.
trait FromBound: Sized {
    fn from_maximum(most: f64) -> Option<Self>;
}

impl FromBound for u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is in range")]
    fn from_maximum(most: f64) -> Option<u32> {
        (1.0..=f64::from(u32::MAX)).contains(&most).then(|| most.floor() as u32)
    }
}

/// A time, of which an input gives the seconds.
impl FromBound for u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is in range")]
    fn from_maximum(most: f64) -> Option<u64> {
        (0.001..1e12).contains(&most).then(|| (most * 1000.0).round() as u64)
    }
}
