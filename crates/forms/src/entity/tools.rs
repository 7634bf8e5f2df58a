//! Reads the limits on an entity's tools, in the forms people write them: a list, a string, a map
//! of switches, or a map or list of permissions. [`modes`](super::modes) reads modes and Codex's
//! own keys.
//!
//! An unreadable limit is an error; it never means no limit.

use windlass_core::entity::{EntityTool, Provider, ToolEffect, ToolRule};
use windlass_core::registry::limits::EXTERNAL;
use windlass_core::registry::tools::{self, Named};

use super::entity_draft::LimitKey;
use crate::diagnostics::Diagnostics;
use crate::json::{JsonMember, JsonNode, JsonValue, kind};
use crate::words::{did_you_mean, quoted};

/// The limits that the keys of an entity set.
#[derive(Default)]
pub(super) struct Stated {
    /// The only tools that may be used; `None` if no key lists tools.
    pub(super) only: Option<Vec<EntityTool>>,
    /// In order; the last rule that matches a call counts.
    pub(super) rules: Vec<ToolRule>,
    /// The agents whose limits also apply.
    pub(super) agents: Vec<String>,
}

/// A reader for limits that reports mistakes in them.
pub(super) struct LimitReader<'f, 'a> {
    pub(super) provider: Provider,
    pub(super) findings: &'f mut Diagnostics<'a>,
}

impl LimitReader<'_, '_> {
    /// Reads the value of a key. A value of a type that the limit does not accept is an error.
    pub(super) fn read(&mut self, limit: LimitKey, member: &JsonMember, stated: &mut Stated) {
        let JsonMember { key, key_at, node } = member;
        if node.value == JsonValue::Null {
            let message = format!("`{}` has no value", harmless(key));
            let hint = "write what it limits, `[]` for no tools, or remove the line";
            return self.findings.error(*key_at, &message, Some(hint.to_owned()));
        }
        let rules = match limit {
            LimitKey::Tools => return stated.only = self.listed(key, node),
            LimitKey::ToolsOrSwitches => match &node.value {
                // OpenCode ignores an empty map. For other providers its meaning is unclear, so it
                // is an error.
                JsonValue::Object(members) if !members.is_empty() || self.provider == Provider::Opencode => {
                    changing(self.switched(key, members))
                }
                _ => return stated.only = self.listed(key, node),
            },
            LimitKey::Permissions => self.permitted(key, node),
            LimitKey::Approval => self.approval(key, node),
            LimitKey::Sandbox => self.sandbox(key, node),
            LimitKey::Writable => self.writable(key, node),
            LimitKey::Profile => self.profile(key, node),
            LimitKey::WebSearch => self.web_search(key, node),
            LimitKey::CodexTools => self.codex_tools(key, node),
            LimitKey::Features => self.features(key, node),
            LimitKey::Servers => self.servers(key, node),
            LimitKey::Mode => self.mode(key, node),
            LimitKey::Agent | LimitKey::Chat => return stated.agents.extend(self.agent(key, node)),
            LimitKey::Subtask => self.subtask(key, node),
            LimitKey::Denied => self.denied(key, node),
            LimitKey::Unread => {
                let message =
                    format!("Windlass does not understand the limits in {}", quoted(&harmless(key)));
                let hint = match self.provider {
                    Provider::Codex => {
                        "write what it limits in this file: `sandbox_mode`, `[features]`, `[tools]`"
                    }
                    _ => "write them as a list of `tools`",
                };
                self.findings.error(*key_at, &message, Some(hint.to_owned()));
                Vec::new()
            }
        };
        stated.rules.extend(rules);
    }

    /// Reads `disallowedTools`: denies each of the listed tools.
    pub(super) fn denied(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        let mut rules = Vec::new();
        for (at, written) in self.written(key, node).unwrap_or_default() {
            let Some(tool) = self.tool(at, &written, ToolIntent::Denied) else { continue };
            let pattern = tools::pattern(&written).ok().flatten().map(str::to_owned);
            let tool = if tool.name == "all" { "*".to_owned() } else { tool.name };
            rules.push(ToolRule { tool, pattern, effect: ToolEffect::Deny });
        }
        rules
    }

    /// Reads OpenCode's `permission`: a word, a map, or a list of rules.
    pub(super) fn permitted(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        match &node.value {
            JsonValue::Object(members) => changing(self.switched(key, members)),
            JsonValue::List(items) => {
                let rules = items.iter().filter_map(|item| self.rule(key, item)).collect();
                // Windlass's own files are explicit and imply no further rules.
                if self.provider == Provider::Windlass { rules } else { changing(rules) }
            }
            JsonValue::Text(_) | JsonValue::Boolean(_) | JsonValue::Number(_) | JsonValue::Null => {
                let effect = self.effect(key, node);
                effect
                    .map(|effect| ToolRule { tool: "*".to_owned(), pattern: None, effect })
                    .into_iter()
                    .collect()
            }
        }
    }

    /// Reads a list of tools. Returns `None` if it sets no limit, or after it reports an error.
    fn listed(&mut self, key: &str, node: &JsonNode) -> Option<Vec<EntityTool>> {
        let written = self.written(key, node)?;
        let mut listed = Vec::new();
        for (at, written) in written {
            let Some(tool) = self.tool(at, &written, ToolIntent::Permitted) else { continue };
            if tool.name == "*" || tool.name == "all" {
                return None;
            }
            if !listed.contains(&tool) {
                listed.push(tool);
            }
        }
        Some(listed)
    }

    /// Returns each tool as written, with its position.
    fn written(&mut self, key: &str, node: &JsonNode) -> Option<Vec<(usize, String)>> {
        match &node.value {
            JsonValue::Text(text) => Some(self.words(key, text, node.at)),
            JsonValue::List(items) => {
                let mut names = Vec::with_capacity(items.len());
                for item in items {
                    match &item.value {
                        JsonValue::Text(name) | JsonValue::Number(name) if !name.trim().is_empty() => {
                            names.push((item.at, name.trim().to_owned()));
                        }
                        JsonValue::Text(_) | JsonValue::Number(_) | JsonValue::Null => {
                            let message = format!("an entry of `{}` is empty", harmless(key));
                            let hint = "name a tool, or remove the entry";
                            self.findings.error(item.at, &message, Some(hint.to_owned()));
                        }
                        JsonValue::Boolean(_) | JsonValue::List(_) | JsonValue::Object(_) => {
                            self.unclear(key, item)?
                        }
                    }
                }
                Some(names)
            }
            JsonValue::Null => None,
            JsonValue::Boolean(_) | JsonValue::Number(_) | JsonValue::Object(_) => self.unclear(key, node)?,
        }
    }

    pub(super) fn unclear<T>(&mut self, key: &str, node: &JsonNode) -> Option<T> {
        let message = format!("`{key}` must name tools, found {}", kind(&node.value));
        let hint = format!("write it as `{key}: Read, Bash(git:*)`, or as a list");
        self.findings.error(node.at, &message, Some(hint));
        None
    }

    fn words(&mut self, key: &str, text: &str, at: usize) -> Vec<(usize, String)> {
        let text = text.trim();
        // A value that starts as a list but was read as text may still have brackets.
        let text = text.strip_prefix('[').unwrap_or(text);
        let text = text.strip_suffix(']').unwrap_or(text);
        let (words, is_balanced) = words(text);
        if !is_balanced {
            let hint = Some("close it, so that no tool is lost".to_owned());
            self.findings.error(at, &format!("a bracket in `{key}` is never closed"), hint);
            return Vec::new();
        }
        words.into_iter().map(|word| (at, unquoted(word).to_owned())).collect()
    }

    /// Reads one tool of a list, if such a tool exists.
    fn tool(&mut self, at: usize, written: &str, meant: ToolIntent) -> Option<EntityTool> {
        let tool = EntityTool::named(&harmless(written));
        if tools::pattern(written).is_err() {
            let hint = "write it as `Bash(git log:*)`";
            let message = format!("the brackets of the tool {} do not match", quoted(&harmless(written)));
            self.findings.error(at, &message, Some(hint.to_owned()));
            return None;
        }
        let pattern = tools::pattern(written).ok().flatten();
        let written = written.split('(').next().unwrap_or(written).trim();
        self.holds(at, written, pattern)?;
        // OpenCode names the tools of MCP servers only in maps.
        let provider = if self.provider == Provider::Opencode { Provider::Windlass } else { self.provider };
        let is_known = self.is_known(at, written, provider, meant)?;
        is_known.then_some(tool)
    }

    /// Returns `None`, after it reports an error, if a rule could never match.
    fn holds(&mut self, at: usize, tool: &str, pattern: Option<&str>) -> Option<()> {
        let Some((what, hint)) = tools::name_error(tool, pattern) else { return Some(()) };
        let rule = pattern.map_or_else(|| tool.to_owned(), |pattern| format!("{tool}({pattern})"));
        let message = format!("the rule {} never applies, because {what}", quoted(&harmless(&rule)));
        self.findings.error(at, &message, Some(hint.to_owned()));
        None
    }

    /// Decides whether a tool exists. Returns `Some(false)` for an unknown tool that only deserves
    /// a warning, and `None` after it reports an error.
    fn is_known(&mut self, at: usize, name: &str, provider: Provider, meant: ToolIntent) -> Option<bool> {
        let shown = quoted(&harmless(name));
        // Called only for unknown names, because it compares with many words.
        let near = || did_you_mean(name, tools::words());
        match tools::named(name, provider) {
            // An unknown name that may belong to an MCP server is accepted, unless it is close to a
            // built-in tool.
            Named::Matching(word)
                if word.contains(['*', '?', '/']) || word.starts_with("mcp_") || near().is_none() =>
            {
                Some(true)
            }
            Named::Everything | Named::These(_) | Named::Elsewhere => Some(true),
            // Copilot ignores unknown tools, which makes the list stricter.
            Named::Unknown
                if provider == Provider::Copilot
                    && matches!(meant, ToolIntent::Permitted)
                    && near().is_none() =>
            {
                let message = format!("no agent CLI has a tool {shown}; it is left out");
                let hint = "write a tool of an MCP server as `server/tool`";
                self.findings.warn(at, &message, Some(hint.to_owned()));
                Some(false)
            }
            Named::Matching(_) | Named::Unknown => {
                let hint = near()
                    .unwrap_or_else(|| "a tool of an MCP server is written `mcp__server__tool`".to_owned());
                self.findings.error(at, &format!("no agent CLI has a tool {shown}"), Some(hint));
                None
            }
        }
    }

    /// Reads a map of tools. Each is on or off, or has a map of patterns.
    fn switched(&mut self, key: &str, members: &[JsonMember]) -> Vec<ToolRule> {
        let mut rules = Vec::new();
        for member in members {
            let name = member.key.trim().to_lowercase();
            let path = format!("{key}.{}", harmless(&member.key));
            // This form is OpenCode's, whichever provider's file it is in.
            if name != EXTERNAL
                && self
                    .is_known(member.key_at, member.key.trim(), Provider::Opencode, ToolIntent::Denied)
                    .is_none()
            {
                continue;
            }
            let JsonValue::Object(patterns) = &member.node.value else {
                let effect = self.effect(&path, &member.node);
                rules.extend(effect.map(|effect| whole(&name, effect)));
                continue;
            };
            for pattern in patterns {
                let effect = self.effect(&format!("{path}.{}", harmless(&pattern.key)), &pattern.node);
                let Some(effect) = effect else { continue };
                rules.extend(self.with_pattern(&name, pattern.key_at, &pattern.key, effect));
            }
        }
        rules
    }

    /// Reads one rule of a list: an action, its resource and the effect.
    fn rule(&mut self, key: &str, item: &JsonNode) -> Option<ToolRule> {
        let hint = "write each as `{ action: bash, resource: \"git *\", effect: allow }`";
        let JsonValue::Object(members) = &item.value else {
            let message = format!("`{key}` must be a list of rules, found {}", kind(&item.value));
            self.findings.error(item.at, &message, Some(hint.to_owned()));
            return None;
        };
        let (mut tool, mut resource, mut effect) = (None, None, None);
        for member in members {
            match (member.key.as_str(), &member.node.value) {
                ("action", JsonValue::Text(name)) => {
                    tool = Some((member.node.at, name.trim().to_lowercase()))
                }
                ("resource", JsonValue::Text(pattern)) => resource = Some((member.node.at, pattern)),
                ("effect", _) => effect = self.effect(&format!("{key}.effect"), &member.node),
                (other, _) => {
                    let message = format!("{} is not a key of a rule in `{key}`", quoted(&harmless(other)));
                    self.findings.error(member.key_at, &message, Some(hint.to_owned()));
                    return None;
                }
            }
        }
        let (Some((at, tool)), Some(effect)) = (tool, effect) else {
            if !self.findings.has_errors() {
                let message = format!("a rule of `{key}` needs an `action` and an `effect`");
                self.findings.error(item.at, &message, Some(hint.to_owned()));
            }
            return None;
        };
        if tool != EXTERNAL {
            self.is_known(at, &tool, Provider::Opencode, ToolIntent::Denied)?;
        }
        match resource {
            None => Some(whole(&tool, effect)),
            Some((at, pattern)) => self.with_pattern(&tool, at, pattern, effect),
        }
    }

    fn with_pattern(&mut self, tool: &str, at: usize, pattern: &str, effect: ToolEffect) -> Option<ToolRule> {
        let pattern = pattern.trim();
        if pattern.is_empty() || pattern.contains(super::name::is_hidden) {
            let message = format!("the pattern {} is not valid", quoted(&harmless(pattern)));
            self.findings.error(at, &message, Some("write a pattern, with `*` for any text".to_owned()));
            return None;
        }
        let pattern = Some(pattern).filter(|pattern| !matches!(*pattern, "*" | "**" | ":*"));
        self.holds(at, tool, pattern)?;
        Some(ToolRule { tool: tool.to_owned(), pattern: pattern.map(str::to_owned), effect })
    }

    /// Reads an effect; `true` and `false` mean `allow` and `deny`.
    fn effect(&mut self, path: &str, node: &JsonNode) -> Option<ToolEffect> {
        let effect = match &node.value {
            JsonValue::Boolean(true) => Some(ToolEffect::Allow),
            JsonValue::Boolean(false) => Some(ToolEffect::Deny),
            JsonValue::Text(word) => ToolEffect::from_word(word.trim()),
            JsonValue::Null | JsonValue::Number(_) | JsonValue::List(_) | JsonValue::Object(_) => None,
        };
        if effect.is_none() {
            let near = match &node.value {
                JsonValue::Text(word) => did_you_mean(word, ["allow", "ask", "deny"]),
                _ => None,
            };
            let hint = without_quotes(path, &node.value).or(near);
            let message =
                format!("`{path}` must be true, false, allow, ask or deny, found {}", shown(&node.value));
            self.findings.error(node.at, &message, hint);
        }
        effect
    }
}

/// Formats a value for a message, and marks a boolean that is written in quotes.
pub(super) fn shown(value: &JsonValue) -> String {
    match value {
        JsonValue::Text(word) if is_switch(word) => format!("the text \"{}\" in quotes", word.trim()),
        JsonValue::Text(word) => quoted(&harmless(word)),
        other => kind(other).to_owned(),
    }
}

/// Returns a hint on how to write a boolean that is in quotes.
pub(super) fn without_quotes(path: &str, value: &JsonValue) -> Option<String> {
    let JsonValue::Text(word) = value else { return None };
    let key = path.rsplit('.').next().unwrap_or(path);
    is_switch(word).then(|| format!("write it without quotes: `{key}: {}`", word.trim().to_lowercase()))
}

fn is_switch(word: &str) -> bool {
    ["true", "false"].iter().any(|switch| word.trim().eq_ignore_ascii_case(switch))
}

/// The reason that a file names a tool.
#[derive(Clone, Copy)]
enum ToolIntent {
    Permitted,
    Denied,
}

pub(super) fn whole(tool: &str, effect: ToolEffect) -> ToolRule {
    let tool = if tool == "all" { "*" } else { tool };
    ToolRule { tool: tool.to_owned(), pattern: None, effect }
}

/// Adds rules for `edit` and `write`. OpenCode has one permission for changing files, whichever
/// tool does it, so a rule about one such tool also applies to `edit` and `write`, unless those
/// have rules of their own.
fn changing(rules: Vec<ToolRule>) -> Vec<ToolRule> {
    let has_own = |name: &str| rules.iter().any(|rule| tools::canonical(&rule.tool) == Some(name));
    let is_changing = |rule: &ToolRule| {
        matches!(tools::canonical(&rule.tool), Some("edit" | "write" | "multiedit" | "notebookedit"))
    };
    let also = |rule: &ToolRule| -> Vec<ToolRule> {
        // Rules that allow are copied as well: they may undo a denial from another file.
        let is_needed = is_changing(rule);
        let missing = ["edit", "write"].into_iter().filter(|name| is_needed && !has_own(name));
        missing.map(|name| ToolRule { tool: name.to_owned(), ..rule.clone() }).collect()
    };
    rules.iter().flat_map(|rule| std::iter::once(rule.clone()).chain(also(rule))).collect()
}

fn unquoted(word: &str) -> &str {
    let inner = |quote: char| word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(word)
}

/// Splits a text into words at commas and spaces outside brackets, and returns whether the brackets
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

/// Replaces every hidden character, so that a screen shows the text as it is.
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
