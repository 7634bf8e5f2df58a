//! Reads a TOML file with one entity: a Codex agent or a Gemini command.

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_core::entity::EntityKind;

use super::entity_draft::{EntityDraft, KeyMeanings};
use super::read::{Origin, ReadEntities};
use crate::diagnostics::Diagnostics;
use crate::json::{JsonMember, JsonNode, JsonValue};

const BOM: char = '\u{feff}';
/// Deeper than any valid file; keeps a hostile one from exhausting the stack.
const DEEPEST: usize = 32;

pub(super) fn read(origin: &Origin<'_>, kind: EntityKind, dialect: KeyMeanings, text: &str) -> ReadEntities {
    let mut findings = Diagnostics::in_text(text, Some(origin.path));
    let entity = members(text, &mut findings).and_then(|members| {
        let draft =
            EntityDraft { origin, kind, name: origin.name, at: 0, line: 1, meanings: dialect, written: None };
        draft.entity(members, None, &mut findings)
    });
    ReadEntities {
        entities: entity.into_iter().collect(),
        diagnostics: findings.finish(),
        ..ReadEntities::default()
    }
}

fn members(text: &str, findings: &mut Diagnostics<'_>) -> Option<Vec<JsonMember>> {
    let inner = text.strip_prefix(BOM).unwrap_or(text);
    let base = text.len() - inner.len();
    if inner.trim().is_empty() {
        let hint = "write a prompt, or remove the file";
        findings.error(0, "the file is empty", Some(hint.to_owned()));
        return None;
    }
    match DeTable::parse(inner) {
        Ok(table) => Some(table_members(table.into_inner(), base, 0)),
        Err(error) => {
            let at = base + error.span().map_or(0, |span| span.start);
            let hint = "text goes into quotes: `\"…\"` on one line, `\"\"\"…\"\"\"` on several";
            findings.error(at, &format!("not TOML: {}", error.message()), Some(hint.to_owned()));
            None
        }
    }
}

/// Returns a table's keys, in the order of the text.
fn table_members(table: DeTable<'_>, base: usize, depth: usize) -> Vec<JsonMember> {
    let member = |(key, value): (Spanned<_>, Spanned<DeValue<'_>>)| {
        let key_at = base + key.span().start;
        let key: std::borrow::Cow<'_, str> = key.into_inner();
        JsonMember { key: key.into_owned(), key_at, node: node(value, base, depth) }
    };
    let mut members: Vec<JsonMember> = table.into_iter().map(member).collect();
    members.sort_by_key(|member| member.key_at);
    members
}

fn node(value: Spanned<DeValue<'_>>, base: usize, depth: usize) -> JsonNode {
    let at = base + value.span().start;
    let value = match value.into_inner() {
        DeValue::String(text) => JsonValue::Text(text.into_owned()),
        DeValue::Integer(number) => JsonValue::Number(decimal(number.as_str(), number.radix())),
        DeValue::Float(number) => JsonValue::Number(number.as_str().to_owned()),
        DeValue::Boolean(flag) => JsonValue::Boolean(flag),
        DeValue::Datetime(time) => JsonValue::Text(time.to_string()),
        DeValue::Array(_) | DeValue::Table(_) if depth == DEEPEST => JsonValue::Null,
        DeValue::Array(items) => {
            JsonValue::List(items.into_iter().map(|item| node(item, base, depth + 1)).collect())
        }
        DeValue::Table(table) => JsonValue::Object(table_members(table, base, depth + 1)),
    };
    JsonNode { at, value }
}

/// Converts `0xff` to `255`; a number that is too large stays as it is.
fn decimal(digits: &str, radix: u32) -> String {
    i128::from_str_radix(digits, radix).map_or_else(|_| digits.to_owned(), |number| number.to_string())
}
