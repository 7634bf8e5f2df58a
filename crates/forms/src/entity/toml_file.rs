//! Reads a TOML file with one entity in it: Codex's agents, Gemini's commands.

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_core::entity::Kind;

use super::draft::{Dialect, Draft};
use super::read::{Origin, Read};
use crate::findings::Findings;
use crate::json::{Member, Node, Value};

const BOM: char = '\u{feff}';
/// Deeper than any of these files.
const DEEPEST: usize = 32;

/// Reads a file.
pub(super) fn read(origin: &Origin<'_>, kind: Kind, dialect: Dialect, text: &str) -> Read {
    let mut findings = Findings::in_text(text, Some(origin.path));
    let entity = members(text, &mut findings).and_then(|members| {
        let draft = Draft { origin, kind, name: origin.name, at: 0, line: 1, dialect, written: None };
        draft.entity(members, None, &mut findings)
    });
    Read { entities: entity.into_iter().collect(), diagnostics: findings.finish(), ..Read::default() }
}

fn members(text: &str, findings: &mut Findings<'_>) -> Option<Vec<Member>> {
    let inner = text.strip_prefix(BOM).unwrap_or(text);
    let base = text.len() - inner.len();
    if inner.trim().is_empty() {
        let hint = "write what is to be done, or remove the file";
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

/// A table's keys, in the order of the text.
fn table_members(table: DeTable<'_>, base: usize, depth: usize) -> Vec<Member> {
    let member = |(key, value): (Spanned<_>, Spanned<DeValue<'_>>)| {
        let key_at = base + key.span().start;
        let key: std::borrow::Cow<'_, str> = key.into_inner();
        Member { key: key.into_owned(), key_at, node: node(value, base, depth) }
    };
    let mut members: Vec<Member> = table.into_iter().map(member).collect();
    members.sort_by_key(|member| member.key_at);
    members
}

fn node(value: Spanned<DeValue<'_>>, base: usize, depth: usize) -> Node {
    let at = base + value.span().start;
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => Value::Number(decimal(number.as_str(), number.radix())),
        DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Boolean(flag),
        DeValue::Datetime(time) => Value::Text(time.to_string()),
        DeValue::Array(_) | DeValue::Table(_) if depth == DEEPEST => Value::Null,
        DeValue::Array(items) => {
            Value::List(items.into_iter().map(|item| node(item, base, depth + 1)).collect())
        }
        DeValue::Table(table) => Value::Object(table_members(table, base, depth + 1)),
    };
    Node { at, value }
}

/// `0xff` as `255`; what is too large stays as it is.
fn decimal(digits: &str, radix: u32) -> String {
    i128::from_str_radix(digits, radix).map_or_else(|_| digits.to_owned(), |number| number.to_string())
}
