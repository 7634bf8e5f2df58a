//! Reads a Markdown file with frontmatter, which is what most formats are.

use windlass_core::entity::Kind;

use super::draft::{Dialect, Draft};
use super::frontmatter::{self, Head};
use super::loose::Loose;
use super::read::{Origin, Read};
use super::yaml::{self, Refused};
use crate::findings::Findings;
use crate::json::{Broken, Member, Node, Value, kind as kind_of};

/// Reads a file.
pub(super) fn read(origin: &Origin<'_>, kind: Kind, dialect: Dialect, text: &str) -> Read {
    let mut findings = Findings::in_text(text, Some(origin.path));
    if text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() {
        let hint = "write what is to be done, or remove the file";
        findings.error(0, "the file is empty", Some(hint.to_owned()));
        return Read { diagnostics: findings.finish(), ..Read::default() };
    }
    let parts = frontmatter::split(text);
    let members = parts.head.as_ref().map(|head| keys(head, &mut findings));
    // Something that is no frontmatter is the text's.
    let (members, body) = match members {
        Some(Keys::These(members)) => (members, parts.body),
        Some(Keys::Text) | None => (Vec::new(), text.strip_prefix('\u{feff}').unwrap_or(text)),
        Some(Keys::Broken) => return Read { diagnostics: findings.finish(), ..Read::default() },
    };
    let draft = Draft { origin, kind, name: origin.name, at: 0, line: 1, dialect, written: Some(text) };
    let entity = draft.entity(members, Some(frontmatter::prompt(body)), &mut findings);
    Read { entities: entity.into_iter().collect(), diagnostics: findings.finish(), ..Read::default() }
}

/// What frontmatter says.
enum Keys {
    These(Vec<Member>),
    /// It is no frontmatter, only text between two lines.
    Text,
    /// Nothing can be made of it, which has been said.
    Broken,
}

fn keys(head: &Head<'_>, findings: &mut Findings<'_>) -> Keys {
    if head.text.len() > frontmatter::LONGEST {
        let hint = "move what is not for the tools below the second `---`";
        findings.error(head.opens, "the frontmatter is longer than 64 KB", Some(hint.to_owned()));
        return Keys::Broken;
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
        return Keys::Broken;
    }
    match read {
        Ok(Node { value: Value::Object(members), .. }) => Keys::These(members),
        Ok(Node { value: Value::Null, .. }) => Keys::These(Vec::new()),
        Ok(node) => {
            Loose::new(head.text, head.at, findings).read().map_or_else(|| text(&node, findings), Keys::These)
        }
        Err(Refused::Excess(broken)) => error(broken, findings),
        Err(Refused::Broken(broken)) => loose(head, broken, findings),
    }
}

/// Where a key takes over what another mapping says, at any depth.
fn merge(node: &Node) -> Option<usize> {
    match &node.value {
        Value::Object(members) => members
            .iter()
            .find_map(|member| if member.key == "<<" { Some(member.key_at) } else { merge(&member.node) }),
        Value::List(items) => items.iter().find_map(merge),
        Value::Null | Value::Boolean(_) | Value::Number(_) | Value::Text(_) => None,
    }
}

/// The same in what is not quite YAML: a line that begins so.
fn written_merge(head: &Head<'_>) -> Option<usize> {
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
fn loose(head: &Head<'_>, broken: Broken, findings: &mut Findings<'_>) -> Keys {
    let mut loose = Loose::new(head.text, head.at, findings);
    let Some(members) = loose.read() else { return error(broken, findings) };
    if !loose.has_warned() {
        findings.warn(broken.at, &broken.message, broken.hint.map(str::to_owned));
    }
    Keys::These(members)
}

fn error(broken: Broken, findings: &mut Findings<'_>) -> Keys {
    findings.error(broken.at, &broken.message, broken.hint.map(str::to_owned));
    Keys::Broken
}

fn text(node: &Node, findings: &mut Findings<'_>) -> Keys {
    let found = kind_of(&node.value);
    let message = format!("expected `key: value` between the `---` lines, found {found}; it is read as text");
    let hint = "write `key: value`, or use `***` for a line across the page";
    findings.warn(node.at, &message, Some(hint.to_owned()));
    Keys::Text
}
