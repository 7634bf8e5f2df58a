//! What an entity may use, in the ways people write it: a list, a string, a map of switches, a
//! map or a list of permissions. Modes and Codex's own keys are [`modes`](super::modes)'s.
//!
//! A limit that cannot be understood is an error and never no limit.

use windlass_core::entity::{EntityTool, Provider, ToolEffect, ToolRule};
use windlass_core::registry::limits::EXTERNAL;
use windlass_core::registry::tools::{self, Named};

use super::entity_draft::LimitKey;
use crate::diagnostics::Diagnostics;
use crate::json::{JsonMember, JsonNode, JsonValue, kind};
use crate::words::{did_you_mean, quoted};

/// What a value says of tools.
#[derive(Default)]
pub(super) struct Stated {
    /// These and no others; `None` where it lists none.
    pub(super) only: Option<Vec<EntityTool>>,
    /// In order, the last one that matches a call counting.
    pub(super) rules: Vec<ToolRule>,
    /// The agents whose limits hold, too.
    pub(super) agents: Vec<String>,
}

/// Reads limits, and says what is wrong with them.
pub(super) struct LimitReader<'f, 'a> {
    pub(super) provider: Provider,
    pub(super) findings: &'f mut Diagnostics<'a>,
}

impl LimitReader<'_, '_> {
    /// Takes the value of a key. Each limit has the types of values it may have, and any other is an error.
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
                // To OpenCode an empty map changes nothing; what others make of it, nobody can mean.
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

    /// The value of `disallowedTools`: each of these is denied.
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

    /// OpenCode's `permission`: a word, a map, or a list of rules.
    pub(super) fn permitted(&mut self, key: &str, node: &JsonNode) -> Vec<ToolRule> {
        match &node.value {
            JsonValue::Object(members) => changing(self.switched(key, members)),
            JsonValue::List(items) => {
                let rules = items.iter().filter_map(|item| self.rule(key, item)).collect();
                // Our own files say all that they mean.
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

    /// A list of tools; `None` where it sets no limit, or cannot be understood, which has been said.
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

    /// Each tool as it is written, and where.
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
        // What is left of a list whose brackets did not match.
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

    /// A tool of a list, if there is such a tool.
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
        // OpenCode names tools of servers in maps only.
        let provider = if self.provider == Provider::Opencode { Provider::Windlass } else { self.provider };
        let is_known = self.is_known(at, written, provider, meant)?;
        is_known.then_some(tool)
    }

    /// `None` where a rule could never hold, which has been said.
    fn holds(&mut self, at: usize, tool: &str, pattern: Option<&str>) -> Option<()> {
        let Some((what, hint)) = tools::name_error(tool, pattern) else { return Some(()) };
        let rule = pattern.map_or_else(|| tool.to_owned(), |pattern| format!("{tool}({pattern})"));
        let message = format!("the rule {} never holds, because {what}", quoted(&harmless(&rule)));
        self.findings.error(at, &message, Some(hint.to_owned()));
        None
    }

    /// Whether there is such a tool. `None` where there is not, which has been said as an error.
    fn is_known(&mut self, at: usize, name: &str, provider: Provider, meant: ToolIntent) -> Option<bool> {
        let shown = quoted(&harmless(name));
        // Only for a name that is not known: there are many words to compare it with.
        let near = || did_you_mean(name, tools::words());
        match tools::named(name, provider) {
            // A word with a line in it may be a tool of a server, unless it is almost one of ours.
            Named::Matching(word)
                if word.contains(['*', '?', '/']) || word.starts_with("mcp_") || near().is_none() =>
            {
                Some(true)
            }
            Named::Everything | Named::These(_) | Named::Elsewhere => Some(true),
            // Copilot passes over what it does not know, and such a list then permits less.
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

    /// A map of tools: each is on or off, or has a map of its own for some of its uses.
    fn switched(&mut self, key: &str, members: &[JsonMember]) -> Vec<ToolRule> {
        let mut rules = Vec::new();
        for member in members {
            let name = member.key.trim().to_lowercase();
            let path = format!("{key}.{}", harmless(&member.key));
            // These maps are OpenCode's, whoever's file they are in.
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

    /// A rule of a list: an action, what it is done to, and what happens.
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
                    let message = format!("{} has no place in a rule of `{key}`", quoted(&harmless(other)));
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
            let message = format!("the pattern {} cannot be understood", quoted(&harmless(pattern)));
            self.findings.error(
                at,
                &message,
                Some("write what it is about, with `*` for any text".to_owned()),
            );
            return None;
        }
        let pattern = Some(pattern).filter(|pattern| !matches!(*pattern, "*" | "**" | ":*"));
        self.holds(at, tool, pattern)?;
        Some(ToolRule { tool: tool.to_owned(), pattern: pattern.map(str::to_owned), effect })
    }

    /// `true` and `false` are `allow` and `deny`.
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

/// A value as a message shows it. What looks like a switch and is text in quotes is told apart.
pub(super) fn shown(value: &JsonValue) -> String {
    match value {
        JsonValue::Text(word) if is_switch(word) => format!("the text \"{}\" in quotes", word.trim()),
        JsonValue::Text(word) => quoted(&harmless(word)),
        other => kind(other).to_owned(),
    }
}

/// How to write a switch that stands in quotes.
pub(super) fn without_quotes(path: &str, value: &JsonValue) -> Option<String> {
    let JsonValue::Text(word) = value else { return None };
    let key = path.rsplit('.').next().unwrap_or(path);
    is_switch(word).then(|| format!("write it without quotes: `{key}: {}`", word.trim().to_lowercase()))
}

fn is_switch(word: &str) -> bool {
    ["true", "false"].iter().any(|switch| word.trim().eq_ignore_ascii_case(switch))
}

/// Whether a tool is named to permit or to forbid it.
#[derive(Clone, Copy)]
enum ToolIntent {
    Permitted,
    Denied,
}

pub(super) fn whole(tool: &str, effect: ToolEffect) -> ToolRule {
    let tool = if tool == "all" { "*" } else { tool };
    ToolRule { tool: tool.to_owned(), pattern: None, effect }
}

/// To change files is one permission in OpenCode, whichever tool does it: a rule about one of them is also
/// about `edit` and `write`, where those have none of their own.
fn changing(rules: Vec<ToolRule>) -> Vec<ToolRule> {
    let has_own = |name: &str| rules.iter().any(|rule| tools::canonical(&rule.tool) == Some(name));
    let is_changing = |rule: &ToolRule| {
        matches!(tools::canonical(&rule.tool), Some("edit" | "write" | "multiedit" | "notebookedit"))
    };
    let also = |rule: &ToolRule| -> Vec<ToolRule> {
        // To allow may undo what another file forbids.
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
