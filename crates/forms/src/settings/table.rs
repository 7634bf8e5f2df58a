//! Splits a TOML text into keys and values with their positions.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key::TABLES;
use super::prices::PRICES;
use super::setting_value::SettingValue;
use crate::diagnostics::Diagnostics;

/// A key of a layer with its value.
pub(super) struct TableEntry {
    pub(super) path: Vec<String>,
    pub(super) key_at: usize,
    pub(super) value_at: usize,
    pub(super) given: SettingValue,
}

/// Reads a text into entries in their order in the text. Reports invalid TOML and skips it.
pub(super) fn read(text: &str, findings: &mut Diagnostics<'_>) -> Vec<TableEntry> {
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().map_or(0, |span| span.start);
        findings.error(at, &format!("not TOML: {}", error.message()), None);
    }
    let mut entries = Vec::new();
    walk(table.get_ref(), &mut Vec::new(), &mut entries);
    entries.sort_by_key(|entry| entry.key_at);
    entries
}

/// Decides whether a path is a table of settings (`[checks]`, `[permissions]`, `[entities]`,
/// `[notify]`, `[agents.<driver>]`, `[budgets.<driver>]`, `[prices.<model>]`) and not a value.
fn is_table(path: &[String]) -> bool {
    match path {
        [first] => TABLES.contains(&first.as_str()),
        [first, _] => matches!(first.as_str(), "agents" | "budgets" | PRICES),
        _ => false,
    }
}

fn walk(table: &DeTable<'_>, path: &mut Vec<String>, entries: &mut Vec<TableEntry>) {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(inner) if is_table(path) => walk(inner, path, entries),
            _ => entries.push(entry(path, key.span().start, value)),
        }
        path.pop();
    }
}

fn entry(path: &[String], key_at: usize, value: &Spanned<DeValue<'_>>) -> TableEntry {
    TableEntry { path: path.to_vec(), key_at, value_at: value.span().start, given: given(value.get_ref()) }
}

fn given(value: &DeValue<'_>) -> SettingValue {
    match value {
        DeValue::String(text) => SettingValue::Text(text.to_string()),
        DeValue::Integer(number) => SettingValue::Integer(decimal(number.as_str(), number.radix())),
        DeValue::Boolean(flag) => SettingValue::Boolean(*flag),
        DeValue::Float(number) => SettingValue::Fraction(number.as_str().to_owned()),
        DeValue::Datetime(_) => SettingValue::Other("a date"),
        DeValue::Table(_) => SettingValue::Other("a table"),
        DeValue::Array(items) => SettingValue::List(
            items.iter().map(|item| (item.span().start, item_given(item.get_ref()))).collect(),
        ),
    }
}

/// Converts an item of a list. Every list is of strings, so a nested list is not read.
fn item_given(value: &DeValue<'_>) -> SettingValue {
    match value {
        DeValue::Array(_) => SettingValue::Other("a list"),
        value => given(value),
    }
}

/// Returns `0xff` as `255`. A number that is too large keeps its digits, for the error message.
fn decimal(digits: &str, radix: u32) -> String {
    i128::from_str_radix(digits, radix).map_or_else(|_| digits.to_owned(), |number| number.to_string())
}
