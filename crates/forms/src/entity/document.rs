//! Reads a JSON document with several entities: one section per kind, one key per entity.

use std::collections::BTreeMap;

use windlass_core::entity::{Entity, EntityKind, ToolRule};

use super::entity_draft::{EntityDraft, KeyMeanings, almost_a_limit};
use super::read::{DefaultLimits, Origin, ReadEntities};
use super::tools::{LimitReader, harmless};
use crate::diagnostic::Diagnostic;
use crate::diagnostics::Diagnostics;
use crate::json::{self, JsonMember, JsonValue, kind as kind_of};
use crate::words::quoted;

/// The most entities and mistakes in one document.
const MOST: usize = 1000;

pub(super) fn read(
    origin: &Origin<'_>,
    sections: &[(&str, EntityKind)],
    meanings: KeyMeanings,
    text: &str,
) -> ReadEntities {
    let mut findings = Diagnostics::in_text(text, Some(origin.path));
    let mut all = ReadEntities::default();
    let mut lines = LineCounter { text, at: 0, line: 1 };
    let root = root(text, &mut findings);
    refuse_slips(&root, sections, &mut findings);
    all.default_agent = default_agent(&root, &mut findings);
    if findings.has_errors() {
        // The limits of an unreadable document are unknown, so its agents must not be used.
        all.default_limits.push(DefaultLimits { agent: None, rules: None });
    }
    let limits = root.iter().filter(|member| is_limit(&member.key));
    all.default_limits.extend(ground(origin, None, limits, &mut findings));
    for entry in entries(root, sections, &mut findings) {
        if all.entities.len() + all.diagnostics.len() >= MOST {
            let message = format!("more than {MOST} entities and mistakes; the rest is left out");
            findings.warn(entry.member.key_at, &message, Some("write them as files of their own".to_owned()));
            break;
        }
        let line = lines.of(entry.member.key_at);
        let (entity, diagnostics) = entity(origin, meanings, text, line, entry, &mut all.default_limits);
        all.entities.extend(entity);
        all.diagnostics.extend(diagnostics);
    }
    all.diagnostics.splice(0..0, findings.finish());
    all
}

/// Returns the agent for commands that name none.
fn default_agent(root: &[JsonMember], findings: &mut Diagnostics<'_>) -> Option<String> {
    let member = root.iter().rfind(|member| member.key == "default_agent")?;
    match &member.node.value {
        JsonValue::Text(name) if !name.trim().is_empty() => Some(name.trim().to_owned()),
        other => {
            let message = format!("`default_agent` must name an agent, found {}", kind_of(other));
            findings.error(member.node.at, &message, Some("write its name, or remove the line".to_owned()));
            None
        }
    }
}

/// An entity of the document that has not been read yet.
struct DocumentEntry {
    kind: EntityKind,
    member: JsonMember,
}

/// Returns the entities of all sections in the order of the text. The last of several with one name
/// wins.
fn entries(
    root: Vec<JsonMember>,
    sections: &[(&str, EntityKind)],
    findings: &mut Diagnostics<'_>,
) -> Vec<DocumentEntry> {
    let mut named = BTreeMap::new();
    for section in root {
        let Some((_, kind)) = sections.iter().find(|(name, _)| *name == section.key) else { continue };
        let members = match section.node.value {
            JsonValue::Object(members) => members,
            JsonValue::Null => continue,
            other => {
                let message = format!("`{}` must be an object, found {}", section.key, kind_of(&other));
                findings.error(section.node.at, &message, None);
                continue;
            }
        };
        for member in members {
            let at = member.key_at;
            let before = named.insert((*kind, member.key.clone()), DocumentEntry { kind: *kind, member });
            if let Some(DocumentEntry { member, .. }) = before {
                let message = format!("{} is defined above as well; this one is used", quoted(&member.key));
                findings.warn(at, &message, Some("remove one of the two".to_owned()));
            }
        }
    }
    let mut entries: Vec<DocumentEntry> = named.into_values().collect();
    entries.sort_by_key(|entry| entry.member.key_at);
    entries
}

fn root(text: &str, findings: &mut Diagnostics<'_>) -> Vec<JsonMember> {
    match json::read_commented(text) {
        Ok(json::JsonNode { value: JsonValue::Object(members), .. }) => members,
        Ok(root) => {
            findings.error(root.at, &format!("expected an object, found {}", kind_of(&root.value)), None);
            Vec::new()
        }
        Err(broken) => {
            findings.error(broken.at, &broken.message, broken.hint.map(str::to_owned));
            Vec::new()
        }
    }
}

fn entity(
    origin: &Origin<'_>,
    dialect: KeyMeanings,
    text: &str,
    line: u32,
    entry: DocumentEntry,
    grounds: &mut Vec<DefaultLimits>,
) -> (Option<Entity>, Vec<Diagnostic>) {
    let mut findings = Diagnostics::in_text(text, Some(origin.path));
    let DocumentEntry { kind, member: JsonMember { key: name, key_at: at, node } } = entry;
    let JsonValue::Object(members) = node.value else {
        let message =
            format!("the {kind} {} must be an object, found {}", quoted(&name), kind_of(&node.value));
        findings.error(node.at, &message, None);
        return (None, findings.finish());
    };
    if kind == EntityKind::Agent && is_adjustment(&members) {
        refuse_slips(&members, &[], &mut findings);
        let limits = members.iter().filter(|member| is_limit(&member.key));
        let ground = ground(origin, Some(name.clone()), limits, &mut findings);
        let is_lost = findings.has_errors().then_some(DefaultLimits { agent: Some(name), rules: None });
        grounds.extend(is_lost.or(ground));
        return (None, findings.finish());
    }
    warn_of_files(&members, &mut findings);
    let draft = EntityDraft { origin, kind, name: &name, at, line, meanings: dialect, written: None };
    (draft.entity(members, None, &mut findings), findings.finish())
}

/// Reports keys that are almost a key for limits, so that no limit is lost.
fn refuse_slips(members: &[JsonMember], sections: &[(&str, EntityKind)], findings: &mut Diagnostics<'_>) {
    for JsonMember { key, key_at, .. } in members.iter().filter(|member| !is_limit(&member.key)) {
        let section = sections.iter().find(|section| key.strip_suffix('s') == Some(section.0));
        let near = section.map(|section| format!("did you mean `{}`?", section.0));
        if let Some(near) = near.or_else(|| almost_a_limit(key)) {
            let message = format!("unknown key {}: a limit would not apply", quoted(&harmless(key)));
            findings.error(*key_at, &message, Some(near));
        }
    }
}

fn is_limit(key: &str) -> bool {
    matches!(key, "tools" | "permission" | "permissions")
}

/// Reads these limits, if there are any.
fn ground<'m>(
    origin: &Origin<'_>,
    agent: Option<String>,
    limits: impl Iterator<Item = &'m JsonMember>,
    findings: &mut Diagnostics<'_>,
) -> Option<DefaultLimits> {
    let mut found: Option<Vec<ToolRule>> = None;
    let before = findings.has_errors();
    for member in limits {
        let mut reader = LimitReader { provider: origin.provider, findings: &mut *findings };
        found.get_or_insert_default().extend(reader.permitted(&member.key, &member.node));
    }
    let is_broken = findings.has_errors() && !before;
    found.map(|rules| DefaultLimits { agent, rules: (!is_broken).then_some(rules) })
}

/// Decides whether an agent only adjusts one that comes with OpenCode: it has neither a prompt nor
/// a description.
fn is_adjustment(members: &[JsonMember]) -> bool {
    !members.iter().any(|member| matches!(member.key.as_str(), "prompt" | "description"))
}

/// Warns about `{file:…}`: OpenCode inserts the file there, but Windlass does not.
fn warn_of_files(members: &[JsonMember], findings: &mut Diagnostics<'_>) {
    for member in members {
        let JsonValue::Text(text) = &member.node.value else { continue };
        if matches!(member.key.as_str(), "prompt" | "template") && text.contains("{file:") {
            let message = format!("the file in `{}` is only read by OpenCode itself", member.key);
            let hint = "write the text here, or as a Markdown file in .opencode";
            findings.warn(member.node.at, &message, Some(hint.to_owned()));
        }
    }
}

/// A line counter that only moves forward.
struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl LineCounter<'_> {
    fn of(&mut self, at: usize) -> u32 {
        let passed = self.text.get(self.at..at).unwrap_or_default().matches('\n').count();
        self.line = self.line.saturating_add(u32::try_from(passed).unwrap_or(u32::MAX));
        self.at = self.at.max(at);
        self.line
    }
}
