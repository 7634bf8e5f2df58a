//! Reads a Markdown file with frontmatter, which is what most formats are.

use windlass_core::entity::EntityKind;

use super::entity_draft::{EntityDraft, KeyMeanings};
use super::frontmatter::{self, FrontmatterText};
use super::lenient_yaml::LenientYaml;
use super::read::{Origin, ReadEntities};
use super::yaml::{self, YamlRefusal};
use crate::diagnostics::Diagnostics;
use crate::json::{JsonError, JsonMember, JsonNode, JsonValue, kind as kind_of};

/// Reads a file.
pub(super) fn read(origin: &Origin<'_>, kind: EntityKind, dialect: KeyMeanings, text: &str) -> ReadEntities {
    let mut findings = Diagnostics::in_text(text, Some(origin.path));
    if text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() {
        let hint = "write what is to be done, or remove the file";
        findings.error(0, "the file is empty", Some(hint.to_owned()));
        return ReadEntities { diagnostics: findings.finish(), ..ReadEntities::default() };
    }
    let parts = frontmatter::split(text);
    let members = parts.head.as_ref().map(|head| keys(head, &mut findings));
    // Something that is no frontmatter is the text's.
    let (members, body) = match members {
        Some(FrontmatterKeys::These(members)) => (members, parts.body),
        Some(FrontmatterKeys::Text) | None => (Vec::new(), text.strip_prefix('\u{feff}').unwrap_or(text)),
        Some(FrontmatterKeys::Broken) => {
            return ReadEntities { diagnostics: findings.finish(), ..ReadEntities::default() };
        }
    };
    let draft = EntityDraft { origin, kind, name: origin.name, at: 0, line: 1, dialect, written: Some(text) };
    let entity = draft.entity(members, Some(frontmatter::prompt(body)), &mut findings);
    ReadEntities {
        entities: entity.into_iter().collect(),
        diagnostics: findings.finish(),
        ..ReadEntities::default()
    }
}

/// What frontmatter says.
enum FrontmatterKeys {
    These(Vec<JsonMember>),
    /// It is no frontmatter, only text between two lines.
    Text,
    /// Nothing can be made of it, which has been said.
    Broken,
}

fn keys(head: &FrontmatterText<'_>, findings: &mut Diagnostics<'_>) -> FrontmatterKeys {
    if head.text.len() > frontmatter::LONGEST {
        let hint = "move what is not for the tools below the second `---`";
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
        let hint = "write the keys out: Windlass does not put others in the place of `<<`";
        findings.error(
            at,
            "`<<` takes over keys from elsewhere, and a limit would be lost",
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

/// Where a key takes over what another mapping says, at any depth.
fn merge(node: &JsonNode) -> Option<usize> {
    match &node.value {
        JsonValue::Object(members) => members
            .iter()
            .find_map(|member| if member.key == "<<" { Some(member.key_at) } else { merge(&member.node) }),
        JsonValue::List(items) => items.iter().find_map(merge),
        JsonValue::Null | JsonValue::Boolean(_) | JsonValue::Number(_) | JsonValue::Text(_) => None,
    }
}

/// The same in what is not quite YAML: a line that begins so.
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

/// A second try, with a warning at least.
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
    let hint = "write `key: value`, or use `***` for a line across the page";
    findings.warn(node.at, &message, Some(hint.to_owned()));
    FrontmatterKeys::Text
}
