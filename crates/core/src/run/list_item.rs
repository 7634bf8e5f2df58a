//! An item of a list as people see it: its place, and a short label that tells it from the others.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest name of an item, in characters.
const NAME: usize = 24;
/// The most characters of a block in the label of an item without a name.
const BLOCK: usize = 18;
/// The fields that name an item, in the order in which they are tried.
const NAMING: [&str; 5] = ["id", "name", "number", "title", "key"];

/// An item of a list, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListItem {
    /// Its place in the list, counted from 1.
    pub place: u32,
    /// The length of the list.
    pub of: u32,
    /// Its name, or the block and its number: `parser`, `probes 2`.
    pub label: String,
    /// The label is the name of the item.
    pub is_named: bool,
}

impl ListItem {
    /// Describes an item at an index of a list of this length. `shared` are the names that several items have.
    pub(crate) fn at(item: &Value, (index, of): (usize, usize), shared: &BTreeSet<String>) -> ListItem {
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let name = name(item).filter(|name| !shared.contains(name.as_ref()));
        ListItem {
            place: count(index.saturating_add(1)),
            of: count(of),
            is_named: name.is_some(),
            label: name.map(Cow::into_owned).unwrap_or_default(),
        }
    }

    /// Labels an item without a name by its block and its number there.
    pub(crate) fn numbered(self, block: &str, number: u32) -> ListItem {
        let label = if self.is_named { self.label } else { numbered(block, number) };
        ListItem { label, ..self }
    }
}

/// Labels an item by its number. A long block is cut, and not the number.
fn numbered(block: &str, number: u32) -> String {
    let block: String = block.chars().take(BLOCK).collect();
    format!("{block} {number}")
}

/// Returns the names that several items have.
pub(crate) fn shared_names<'v>(items: impl Iterator<Item = &'v Value>) -> BTreeSet<String> {
    let (mut seen, mut shared) = (BTreeSet::new(), BTreeSet::new());
    for name in items.filter_map(name) {
        if seen.contains(name.as_ref()) {
            shared.insert(name.into_owned());
        } else {
            seen.insert(name.into_owned());
        }
    }
    shared
}

/// Returns the name of an item: a short plain value, or a field that names it.
fn name(item: &Value) -> Option<Cow<'_, str>> {
    let Value::Object(fields) = item else { return short(item) };
    let named = NAMING.iter().find_map(|field| short(fields.get(*field)?));
    // The result of an item of an earlier list has the name of that item.
    named.or_else(|| fields.get("item").filter(|_| fields.contains_key("index")).and_then(name))
}

fn short(value: &Value) -> Option<Cow<'_, str>> {
    let text = match value {
        Value::String(text) => Cow::Borrowed(text.trim()),
        Value::Number(_) | Value::Bool(_) => Cow::Owned(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    let is_short = !text.is_empty() && text.chars().count() <= NAME && !text.contains(char::is_control);
    is_short.then_some(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels(items: &Value) -> Vec<String> {
        let items = items.as_array().unwrap();
        let shared = shared_names(items.iter());
        let label = |(index, item)| {
            let number = u32::try_from(index).unwrap() + 1;
            ListItem::at(item, (index, items.len()), &shared).numbered("probes", number).label
        };
        items.iter().enumerate().map(label).collect()
    }

    #[test]
    fn an_item_is_called_by_its_name_or_by_its_block_and_number() {
        let items = json!([
            "parser",
            7,
            {"title": "Add a cart", "id": "cart"},
            {"number": 12, "title": "x"},
            {"id": "x".repeat(40), "title": "Add a till"},
            {"name": "two\nlines"},
            {"kind": "bug"},
            "a sentence that is much too long for a label",
            ["a"],
            {"item": {"id": "gift"}, "index": 0, "status": "completed"},
        ]);
        let expected = [
            "parser",
            "7",
            "cart",
            "12",
            "Add a till",
            "probes 6",
            "probes 7",
            "probes 8",
            "probes 9",
            "gift",
        ];
        assert_eq!(labels(&items), expected);
    }

    #[test]
    fn a_name_that_two_items_have_names_neither() {
        let items = json!([{"name": "x"}, {"name": "y"}, {"name": "x"}]);
        assert_eq!(labels(&items), ["probes 1", "y", "probes 3"]);
    }
}
