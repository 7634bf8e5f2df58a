//! Reads a Markdown file with frontmatter, the form of most formats.

use windlass_core::entity::EntityKind;

use super::entity_draft::{EntityDraft, KeyMeanings};
use super::frontmatter::{self, FrontmatterText};
use super::lenient_yaml::LenientYaml;
use super::read::{Origin, ReadEntities};
use super::yaml::{self, YamlRefusal};
use crate::diagnostics::Diagnostics;
use crate::json::{JsonError, JsonMember, JsonNode, JsonValue, kind as kind_of};

pub(super) fn read(origin: &Origin<'_>, kind: EntityKind, dialect: KeyMeanings, text: &str) -> ReadEntities {
    let mut findings = Diagnostics::in_text(text, Some(origin.path));
    if text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() {
        let hint = "write a prompt, or remove the file";
        findings.error(0, "the file is empty", Some(hint.to_owned()));
        return ReadEntities { diagnostics: findings.finish(), ..ReadEntities::default() };
    }
    let parts = frontmatter::split(text);
    let members = parts.head.as_ref().map(|head| keys(head, &mut findings));
    // Text between `---` lines that is not frontmatter belongs to the body.
    let (members, body) = match members {
        Some(FrontmatterKeys::These(members)) => (members, parts.body),
        Some(FrontmatterKeys::Text) | None => (Vec::new(), text.strip_prefix('\u{feff}').unwrap_or(text)),
        Some(FrontmatterKeys::Broken) => {
            return ReadEntities { diagnostics: findings.finish(), ..ReadEntities::default() };
        }
    };
    let draft = EntityDraft {
        origin,
        kind,
        name: origin.name,
        at: 0,
        line: 1,
        meanings: dialect,
        written: Some(text),
    };
    let entity = draft.entity(members, Some(frontmatter::prompt(body)), &mut findings);
    ReadEntities {
        entities: entity.into_iter().collect(),
        diagnostics: findings.finish(),
        ..ReadEntities::default()
    }
}

/// The result of reading the frontmatter.
enum FrontmatterKeys {
    These(Vec<JsonMember>),
    /// Ordinary text between two `---` lines, and no frontmatter.
    Text,
    /// Unreadable; the error has been reported.
    Broken,
}

fn keys(head: &FrontmatterText<'_>, findings: &mut Diagnostics<'_>) -> FrontmatterKeys {
    if head.text.len() > frontmatter::LONGEST {
        let hint = "move text that is not configuration below the second `---`";
        findings.error(head.opens, "the frontmatter is longer than 64 KB", Some(hint.to_owned()));
        return FrontmatterKeys::Broken;
    }
    if !head.is_closed {
        let hint = "add a line `---` where the text begins";
        findings.warn(head.opens, "the frontmatter is never closed", Some(hint.to_owned()));
    }
    let read = yaml::read(head.text, head.at);
    let merged = match &read {
        Ok(node) => merge(node),
        Err(_) => written_merge(head),
    };
    if let Some(at) = merged {
        let hint = "write the keys out: Windlass does not expand `<<`";
        findings.error(
            at,
            "`<<` copies keys from elsewhere, and a limit would be lost",
            Some(hint.to_owned()),
        );
        return FrontmatterKeys::Broken;
    }
    match read {
        Ok(JsonNode { value: JsonValue::Object(members), .. }) => FrontmatterKeys::These(members),
        Ok(JsonNode { value: JsonValue::Null, .. }) => FrontmatterKeys::These(Vec::new()),
        Ok(node) => LenientYaml::new(head.text, head.at, findings)
            .read()
            .map_or_else(|| text(&node, findings), FrontmatterKeys::These),
        Err(YamlRefusal::Excess(broken)) => error(broken, findings),
        Err(YamlRefusal::Broken(broken)) => loose(head, broken, findings),
    }
}

/// Finds a merge key (`<<`) at any depth.
fn merge(node: &JsonNode) -> Option<usize> {
    match &node.value {
        JsonValue::Object(members) => members
            .iter()
            .find_map(|member| if member.key == "<<" { Some(member.key_at) } else { merge(&member.node) }),
        JsonValue::List(items) => items.iter().find_map(merge),
        JsonValue::Null | JsonValue::Boolean(_) | JsonValue::Number(_) | JsonValue::Text(_) => None,
    }
}

/// Finds a line that begins with a merge key, for text that is not quite YAML.
fn written_merge(head: &FrontmatterText<'_>) -> Option<usize> {
    let mut at = head.at;
    for line in head.text.split_inclusive('\n') {
        let key = line.trim_start();
        let rest = ["<<", "\"<<\"", "'<<'"].into_iter().find_map(|merge| key.strip_prefix(merge));
        if rest.is_some_and(|rest| rest.trim_start().starts_with(':')) {
            return Some(at + line.len() - key.len());
        }
        at += line.len();
    }
    None
}

/// Retries with the lenient reader and reports at least a warning.
fn loose(head: &FrontmatterText<'_>, broken: JsonError, findings: &mut Diagnostics<'_>) -> FrontmatterKeys {
    let mut loose = LenientYaml::new(head.text, head.at, findings);
    let Some(members) = loose.read() else { return error(broken, findings) };
    if !loose.has_warned() {
        findings.warn(broken.at, &broken.message, broken.hint.map(str::to_owned));
    }
    FrontmatterKeys::These(members)
}

fn error(broken: JsonError, findings: &mut Diagnostics<'_>) -> FrontmatterKeys {
    findings.error(broken.at, &broken.message, broken.hint.map(str::to_owned));
    FrontmatterKeys::Broken
}

fn text(node: &JsonNode, findings: &mut Diagnostics<'_>) -> FrontmatterKeys {
    let found = kind_of(&node.value);
    let message = format!("expected `key: value` between the `---` lines, found {found}; it is read as text");
    let hint = "write `key: value`, or use `***` for a horizontal rule";
    findings.warn(node.at, &message, Some(hint.to_owned()));
    FrontmatterKeys::Text
}
