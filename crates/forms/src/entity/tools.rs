//! What an entity may use, in the ways people write it: a list, a string, a map of switches, a
//! map of permissions.
//!
//! A limit that cannot be understood is an error and never no limit.

use std::collections::BTreeMap;

use windlass_core::entity::Tool;

use crate::findings::Findings;
use crate::json::{Member, Node, Value, kind};

/// The tools that a value names; `None` where it sets no limit.
pub(super) enum Limit {
    /// It says nothing, or names everything.
    Open,
    /// These and no others.
    Only(Vec<Tool>),
    /// The tools that are switched on, where others are switched off: the map says more than the
    /// list and is kept beside it. `None` where it only switches off, which limits nothing else.
    Switches(Option<Vec<Tool>>),
    /// It cannot be understood, which has been said.
    Unclear,
}

/// Reads the value of `tools` or `allowed-tools`.
pub(super) fn named(key: &str, node: &Node, findings: &mut Findings<'_>) -> Limit {
    match &node.value {
        Value::Null => Limit::Open,
        Value::Text(text) => written(key, text, node.at, findings),
        Value::List(items) => listed(key, items, findings),
        Value::Object(members) => switched(key, members, findings),
        Value::Boolean(_) | Value::Number(_) => unclear(key, node, findings),
    }
}

/// The tools that OpenCode's `permission` leaves. What it does not name is allowed, so it is a
/// limit only where `*` is denied.
pub(super) fn permitted(node: &Node) -> Option<Vec<Tool>> {
    let Value::Object(members) = &node.value else { return None };
    if !members.iter().any(|member| member.key == "*" && !allows(&member.node)) {
        return None;
    }
    let allowed = members.iter().filter(|member| member.key != "*" && allows(&member.node));
    Some(allowed.map(|member| Tool::named(&harmless(&member.key))).collect())
}

/// Whether a permission lets anything through: `allow`, `ask`, or a map of patterns with one.
fn allows(node: &Node) -> bool {
    match &node.value {
        Value::Text(word) => matches!(word.as_str(), "allow" | "ask"),
        Value::Object(patterns) => patterns.iter().any(|pattern| allows(&pattern.node)),
        Value::Boolean(flag) => *flag,
        Value::Null | Value::Number(_) | Value::List(_) => false,
    }
}

fn unclear(key: &str, node: &Node, findings: &mut Findings<'_>) -> Limit {
    let message = format!("`{key}` must name tools, found {}", kind(&node.value));
    findings.error(node.at, &message, Some(format!("write it as `{key}: Read, Bash(git:*)`, or as a list")));
    Limit::Unclear
}

fn written(key: &str, text: &str, at: usize, findings: &mut Findings<'_>) -> Limit {
    let text = text.trim();
    // What is left of a list whose brackets did not match.
    let text = text.strip_prefix('[').unwrap_or(text);
    let text = text.strip_suffix(']').unwrap_or(text);
    let (words, is_balanced) = words(text);
    if !is_balanced {
        let hint = Some("close it, so that no tool is lost".to_owned());
        findings.warn(at, &format!("a bracket in `{key}` is never closed"), hint);
    }
    if words.is_empty() { Limit::Open } else { limit(words.into_iter().map(unquoted)) }
}

fn unquoted(word: &str) -> &str {
    let inner = |quote: char| word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(word)
}

/// The words of a text, parted by commas and spaces outside of brackets, and whether the brackets
/// match.
pub(super) fn words(text: &str) -> (Vec<&str>, bool) {
    let mut words = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if depth == 0 && (c == ',' || c.is_whitespace()) => {
                words.extend(text.get(start..at));
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    words.extend(text.get(start..));
    words.retain(|word| !word.is_empty());
    (words, depth == 0)
}

fn listed(key: &str, items: &[Node], findings: &mut Findings<'_>) -> Limit {
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        match &item.value {
            Value::Text(name) | Value::Number(name) => names.push(name.as_str()),
            Value::Null => {}
            Value::Boolean(_) | Value::List(_) | Value::Object(_) => return unclear(key, item, findings),
        }
    }
    limit(names.into_iter())
}

fn switched(key: &str, members: &[Member], findings: &mut Findings<'_>) -> Limit {
    let mut switches = BTreeMap::new();
    for member in members {
        let is_on = match &member.node.value {
            Value::Boolean(flag) => *flag,
            Value::Null => false,
            Value::Text(word) if matches!(word.as_str(), "allow" | "ask" | "deny") => allows(&member.node),
            Value::Text(_) | Value::Number(_) | Value::List(_) | Value::Object(_) => {
                let path = format!("{key}.{}", member.key);
                return unclear_switch(&path, &member.node, findings);
            }
        };
        switches.insert(member.key.as_str(), is_on);
    }
    let has_off = switches.values().any(|is_on| !is_on);
    let is_closed = switches.get("*") == Some(&false);
    match limit(switches.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| name)) {
        Limit::Only(tools) if has_off && tools.is_empty() && !is_closed => Limit::Switches(None),
        Limit::Only(tools) if has_off => Limit::Switches(Some(tools)),
        limit => limit,
    }
}

fn unclear_switch(path: &str, node: &Node, findings: &mut Findings<'_>) -> Limit {
    let message = format!("`{path}` must be true or false, found {}", kind(&node.value));
    findings.error(node.at, &message, None);
    Limit::Unclear
}

/// The limit that these names set; `*` among them sets none.
fn limit<'a>(names: impl Iterator<Item = &'a str>) -> Limit {
    let mut tools = Vec::new();
    for name in names.map(str::trim).filter(|name| !name.is_empty()) {
        if name == "*" {
            return Limit::Open;
        }
        tools.push(Tool::named(&harmless(name)));
    }
    Limit::Only(tools)
}

/// Text that a screen shows as it is: every hidden character becomes a mark.
pub(super) fn harmless(text: &str) -> std::borrow::Cow<'_, str> {
    let is_bad = |c: char| super::name::is_hidden(c) && c != '\n' && c != '\t';
    if !text.contains(is_bad) {
        return text.into();
    }
    text.chars().map(|c| if is_bad(c) { '\u{fffd}' } else { c }).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parted_outside_of_brackets_only() {
        assert_eq!(words("Bash(git:*), Edit"), (vec!["Bash(git:*)", "Edit"], true));
        assert_eq!(
            words("Read Bash(git add:*, git rm:*) ,Edit"),
            (vec!["Read", "Bash(git add:*, git rm:*)", "Edit"], true)
        );
        assert_eq!(words(" , "), (vec![], true));
        assert_eq!(words("Bash(git"), (vec!["Bash(git"], false));
        assert_eq!(words(")a("), (vec![")a("], false));
    }
}
