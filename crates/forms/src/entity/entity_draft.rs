//! Builds an entity from the keys, values and text of a file, whatever its format.
//!
//! Each format defines the meaning of its keys. This module handles values of the wrong type,
//! repeated keys and invalid names.

use std::collections::BTreeMap;

use windlass_core::entity::{Entity, EntityKind, EntitySource, Model, Provider};

use super::read::Origin;
use super::tools::{LimitReader, Stated, harmless, shown, without_quotes};
use super::{name, sentence, tools};
use crate::diagnostics::Diagnostics;
use crate::json::{JsonMember, JsonNode, JsonValue, kind};
use crate::words::{quoted, typos};
use crate::yaml::to_json;

/// The meaning of a key in one format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Name,
    Description,
    Aliases,
    /// A limit on tools.
    Limit(LimitKey),
    Model,
    Hint,
    Prompt,
    /// A switch that turns the entity off.
    Disabled,
    /// No meaning to Windlass; kept as it is.
    Other,
}

/// The limit that a key sets, which also determines its valid values. [`LimitReader`] reads each
/// kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LimitKey {
    /// The tools that may be used: text or a list.
    Tools,
    /// The same, or a map of switches.
    ToolsOrSwitches,
    /// Rules about single tools: a word, a map or a list of rules.
    Permissions,
    /// Codex's approval policy: a word.
    Approval,
    /// Codex's sandbox: a word.
    Sandbox,
    /// Additional settings of Codex's workspace sandbox: a table.
    Writable,
    /// The name of a Codex permission profile: a word.
    Profile,
    /// Codex's web search: a word.
    WebSearch,
    /// Codex's own tools: a table of switches.
    CodexTools,
    /// Codex's features: a table of switches.
    Features,
    /// Codex's MCP servers, and the tools of each that it may use: a table of tables.
    Servers,
    /// Claude Code's permission mode: a word.
    Mode,
    /// The agent that runs a command or skill: a name.
    Agent,
    /// The mode of Copilot's chat, which is also an agent: a name.
    Chat,
    /// OpenCode's choice to run a command in a subagent: a switch.
    Subtask,
    /// The tools that may not be used: text or a list. Sorts after the others, so that no rule
    /// allows them again.
    Denied,
    /// A limit in a form that Windlass does not read.
    Unread,
}

impl LimitKey {
    /// Decides whether two keys set the same limit.
    fn is_again(self, other: LimitKey) -> bool {
        let one = |limit| if limit == LimitKey::ToolsOrSwitches { LimitKey::Tools } else { limit };
        one(self) == one(other) && self != LimitKey::Unread
    }
}

/// The keys that limit tools in any format.
const LIMITS: [(&str, LimitKey); 8] = [
    ("tools", LimitKey::ToolsOrSwitches),
    ("allowed-tools", LimitKey::Tools),
    ("disallowed-tools", LimitKey::Denied),
    ("permission", LimitKey::Permissions),
    ("permissions", LimitKey::Permissions),
    ("permission-mode", LimitKey::Mode),
    ("sandbox-mode", LimitKey::Sandbox),
    ("approval-policy", LimitKey::Approval),
];

/// Words in a key that suggest a limit.
const TELLING: [&str; 18] = [
    "tool",
    "tools",
    "permission",
    "permissions",
    "sandbox",
    "allow",
    "allowed",
    "deny",
    "denied",
    "disallow",
    "disallowed",
    "forbid",
    "forbidden",
    "restrict",
    "restricted",
    "exclude",
    "excluded",
    "readonly",
];

/// Keys with such a word that are not limits.
const ELSE: [&str; 6] = [
    "tool_timeout_sec",
    "tool_output_token_limit",
    "tool_suggest",
    "allow_login_shell",
    "allow-implicit-invocation",
    "hide-from-slash-command-tool",
];

/// A function that returns the meaning of a key in one format.
pub(super) type KeyMeanings = fn(EntityKind, &str) -> Meaning;

/// The parts of a file from which one entity is built.
pub(super) struct EntityDraft<'a> {
    pub(super) origin: &'a Origin<'a>,
    pub(super) kind: EntityKind,
    /// The name from the file, the folder or the document.
    pub(super) name: &'a str,
    /// The starting byte; `line` is its line.
    pub(super) at: usize,
    pub(super) line: u32,
    pub(super) meanings: KeyMeanings,
    /// The text of the file if its values may be unquoted, to show a value as written.
    pub(super) written: Option<&'a str>,
}

/// The values of the keys that have a meaning.
#[derive(Default)]
struct KeyValues {
    name: Option<JsonMember>,
    description: Option<JsonMember>,
    aliases: Option<JsonMember>,
    limits: Vec<(LimitKey, JsonMember)>,
    model: Option<JsonMember>,
    hint: Option<JsonMember>,
    prompt: Option<JsonMember>,
    disabled: Option<JsonMember>,
}

impl KeyValues {
    fn slot(&mut self, meaning: Meaning) -> Option<&mut Option<JsonMember>> {
        match meaning {
            Meaning::Name => Some(&mut self.name),
            Meaning::Description => Some(&mut self.description),
            Meaning::Aliases => Some(&mut self.aliases),
            Meaning::Model => Some(&mut self.model),
            Meaning::Hint => Some(&mut self.hint),
            Meaning::Prompt => Some(&mut self.prompt),
            Meaning::Disabled => Some(&mut self.disabled),
            Meaning::Limit(_) | Meaning::Other => None,
        }
    }
}

impl EntityDraft<'_> {
    /// Builds the entity. Returns `None` if it is switched off, or after it reports an error.
    pub(super) fn entity(
        &self,
        members: Vec<JsonMember>,
        body: Option<String>,
        findings: &mut Diagnostics<'_>,
    ) -> Option<Entity> {
        let mut extra = BTreeMap::new();
        let mut slots = self.sort(members, &mut extra, findings);
        match slots.disabled.take() {
            None | Some(JsonMember { node: JsonNode { value: JsonValue::Boolean(false), .. }, .. }) => {}
            Some(JsonMember { node: JsonNode { value: JsonValue::Boolean(true), .. }, .. }) => return None,
            Some(JsonMember { key, node, .. }) => {
                let message = format!("`{key}` must be true or false, found {}", shown(&node.value));
                findings.error(node.at, &message, without_quotes(&key, &node.value));
            }
        }
        let name = self.named(slots.name.take(), findings);
        let prompt = self.prompt(body, slots.prompt.take(), findings);
        let description = self.description(slots.description.take(), &prompt, findings);
        let aliases = self.aliases(slots.aliases.take(), name.as_deref(), findings);
        let Stated { only: tools, rules: limits, agents } = self.limits(&mut slots, &mut extra, findings);
        let model = self.model(slots.model.take(), &mut extra, findings);
        let argument_hint = slots.hint.take().and_then(|member| self.hint(member, findings));
        if findings.has_errors() {
            return None;
        }
        let name = name::full(&name?, self.origin.plugin);
        let source = self.source();
        let kind = self.kind;
        Some(Entity {
            kind,
            name,
            description,
            aliases,
            prompt,
            tools,
            limits,
            agents,
            roles: Vec::new(),
            model,
            argument_hint,
            source,
            extra,
        })
    }

    fn source(&self) -> EntitySource {
        EntitySource {
            provider: self.origin.provider,
            level: self.origin.level,
            distance: self.origin.distance,
            path: self.origin.path.to_owned(),
            line: self.line,
            plugin: self.origin.plugin.cloned(),
        }
    }

    /// Sorts the keys by meaning. The last of several with the same meaning wins. Limits are the
    /// exception: none of them may be lost, so a repeated one is an error.
    fn sort(
        &self,
        members: Vec<JsonMember>,
        extra: &mut BTreeMap<String, serde_json::Value>,
        findings: &mut Diagnostics<'_>,
    ) -> KeyValues {
        let mut slots = KeyValues::default();
        for member in members {
            let key_at = member.key_at;
            let meaning = self.meaning(&member, findings);
            if let Meaning::Limit(limit) = meaning {
                if let Some((_, before)) = slots.limits.iter().find(|(other, _)| other.is_again(limit)) {
                    let message = format!("{} above already sets this limit", quoted(&harmless(&before.key)));
                    findings.error(key_at, &message, Some("write one limit in one place".to_owned()));
                }
                slots.limits.push((limit, member));
                continue;
            }
            let twice = match slots.slot(meaning) {
                Some(slot) => slot.replace(member).map(|before| before.key),
                None if extra.contains_key(&member.key) => {
                    let key = member.key.clone();
                    extra.insert(member.key, to_json(member.node));
                    Some(key)
                }
                None => extra.insert(member.key, to_json(member.node)).map(|_| String::new()),
            };
            match twice {
                None => {}
                Some(before) => {
                    let message =
                        format!("this has the same meaning as {} above; this one is used", quoted(&before));
                    findings.warn(key_at, &message, Some("remove one of the two".to_owned()));
                }
            }
        }
        slots
    }

    /// Returns the meaning of a key. In any format, another spelling of a limit counts as that
    /// limit, and a near miss is an error, so that no limit is silently ignored.
    fn meaning(&self, member: &JsonMember, findings: &mut Diagnostics<'_>) -> Meaning {
        let said = (self.meanings)(self.kind, &member.key);
        if said != Meaning::Other {
            return said;
        }
        if let Some((_, limit)) = LIMITS.into_iter().find(|(key, _)| typos(&member.key, key) == 0) {
            return Meaning::Limit(limit);
        }
        let nearest = almost_a_limit(&member.key);
        if nearest.is_some() || is_telling(&member.key) {
            let message = format!("unknown key {}: a limit would not apply", quoted(&harmless(&member.key)));
            let hint = nearest.unwrap_or_else(|| "write it as a list of `tools`, or remove it".to_owned());
            findings.error(member.key_at, &message, Some(hint));
        }
        Meaning::Other
    }

    /// Reads all limits of the entity.
    fn limits(
        &self,
        slots: &mut KeyValues,
        extra: &mut BTreeMap<String, serde_json::Value>,
        findings: &mut Diagnostics<'_>,
    ) -> Stated {
        let mut reader = LimitReader { provider: self.origin.provider, findings };
        let mut stated = Stated::default();
        slots.limits.sort_by_key(|(limit, _)| *limit);
        for (limit, member) in slots.limits.drain(..) {
            if limit == LimitKey::Agent && !self.has_agent(&member, extra, reader.findings) {
                extra.insert(member.key, to_json(member.node));
                continue;
            }
            reader.read(limit, &member, &mut stated);
            let is_shown = [
                LimitKey::Sandbox,
                LimitKey::Servers,
                LimitKey::Mode,
                LimitKey::Agent,
                LimitKey::Chat,
                LimitKey::Subtask,
            ];
            if is_shown.contains(&limit) {
                extra.insert(member.key, to_json(member.node));
            }
        }
        stated
    }

    /// Decides whether the named agent runs the entity. Claude Code uses that agent only with
    /// `context: fork`.
    fn has_agent(
        &self,
        member: &JsonMember,
        extra: &BTreeMap<String, serde_json::Value>,
        findings: &mut Diagnostics<'_>,
    ) -> bool {
        if matches!(self.origin.provider, Provider::Opencode | Provider::Copilot) {
            return true;
        }
        match extra.get("context") {
            Some(context) if context == "fork" => true,
            None => {
                let message = format!("`{}` has no effect unless `context` is `fork`", member.key);
                let hint = "add `context: fork` to apply the limits of that agent";
                findings.warn(member.key_at, &message, Some(hint.to_owned()));
                false
            }
            Some(_) => {
                let message = format!("`context` must be `fork` for the limits of `{}` to apply", member.key);
                findings.error(member.key_at, &message, Some("write `context: fork`".to_owned()));
                false
            }
        }
    }

    fn named(&self, member: Option<JsonMember>, findings: &mut Diagnostics<'_>) -> Option<String> {
        let Some(member) = member.filter(|member| member.node.value != JsonValue::Null) else {
            return self.file_name(findings);
        };
        let at = member.node.at;
        let Some(said) = plain_text(&member.node) else {
            let message = format!("`{}` must be text, found {}", member.key, kind(&member.node.value));
            findings.error(at, &message, Some("write it in quotes".to_owned()));
            return None;
        };
        let said = said.trim();
        let fault = if said == self.name { name::nested_name_error(said) } else { name::name_error(said) };
        if let Some(fault) = fault {
            let message = format!("the name {} {fault}", quoted(said));
            findings.error(at, &message, Some("use letters, digits, `-`, `_`, `.` and `:`".to_owned()));
            return None;
        }
        Some(said.to_owned())
    }

    fn file_name(&self, findings: &mut Diagnostics<'_>) -> Option<String> {
        let Some(fault) = name::nested_name_error(self.name) else { return Some(self.name.to_owned()) };
        let message = format!("the name {} {fault}", quoted(self.name));
        findings.error(self.at, &message, Some("rename the file, or give it a `name`".to_owned()));
        None
    }

    fn prompt(
        &self,
        body: Option<String>,
        member: Option<JsonMember>,
        findings: &mut Diagnostics<'_>,
    ) -> String {
        let said = member.and_then(|member| self.text(&member, findings));
        let prompt = body.filter(|body| !body.is_empty()).or(said).unwrap_or_default();
        if prompt.trim().is_empty() {
            let message = format!("this {} has no text", self.kind);
            match self.kind {
                // An agent without a text can still be useful for its tools and model.
                EntityKind::Agent => {
                    findings.warn(self.at, &message, Some("write what it should do".to_owned()))
                }
                EntityKind::Command | EntityKind::Skill => {
                    findings.error(self.at, &message, Some("write what it should do".to_owned()));
                }
            }
        }
        prompt
    }

    fn description(
        &self,
        member: Option<JsonMember>,
        prompt: &str,
        findings: &mut Diagnostics<'_>,
    ) -> String {
        let is_said = member.as_ref().is_some_and(|member| member.node.value != JsonValue::Null);
        let said = member.and_then(|member| self.text_or_written(&member, findings)).unwrap_or_default();
        let said = said.trim();
        if !said.is_empty() {
            return harmless(said).into_owned();
        }
        if self.kind == EntityKind::Command {
            return harmless(&sentence::first(prompt)).into_owned();
        }
        if is_said {
            return String::new();
        }
        let message = format!("this {} has no description", self.kind);
        let hint = "add a line `description: what it is for, and when to use it`";
        findings.warn(self.at, &message, Some(hint.to_owned()));
        String::new()
    }

    fn aliases(
        &self,
        member: Option<JsonMember>,
        name: Option<&str>,
        findings: &mut Diagnostics<'_>,
    ) -> Vec<String> {
        let mut aliases: Vec<String> = Vec::new();
        let mut add = |alias: &str, fault: Option<&'static str>| {
            let alias = alias.trim();
            let is_known = name.is_some_and(|name| is_same(name, alias));
            if fault.is_none() && !is_known {
                let alias = name::full(alias, self.origin.plugin);
                if aliases.len() < MOST_ALIASES && !aliases.iter().any(|known| is_same(known, &alias)) {
                    aliases.push(alias);
                }
            }
        };
        for (at, alias) in member.map(|member| self.names(&member, findings)).unwrap_or_default() {
            let fault = name::name_error(alias.trim());
            if let Some(fault) = fault {
                let message = format!("the alias {} {fault}; it is left out", quoted(&alias));
                findings.warn(at, &message, Some("use letters, digits, `-`, `_`, `.` and `:`".to_owned()));
            }
            add(&alias, fault);
        }
        add(self.name, name::nested_name_error(self.name));
        aliases
    }

    /// Reads a list of names, or several names in one string.
    fn names(&self, member: &JsonMember, findings: &mut Diagnostics<'_>) -> Vec<(usize, String)> {
        match &member.node.value {
            JsonValue::Null => Vec::new(),
            JsonValue::List(items) => {
                items.iter().filter_map(|item| plain_text(item).map(|text| (item.at, text))).collect()
            }
            _ => {
                let Some(text) = self.text(member, findings) else { return Vec::new() };
                tools::words(&text).0.into_iter().map(|word| (member.node.at, word.to_owned())).collect()
            }
        }
    }

    /// Reads the model. For a list, returns the first and keeps the list in `extra`.
    fn model(
        &self,
        member: Option<JsonMember>,
        extra: &mut BTreeMap<String, serde_json::Value>,
        findings: &mut Diagnostics<'_>,
    ) -> Option<Model> {
        let member = member?;
        let text = match &member.node.value {
            JsonValue::List(items) => items.iter().find_map(plain_text),
            _ => self.text(&member, findings),
        };
        let is_list = matches!(member.node.value, JsonValue::List(_));
        if is_list {
            extra.insert(member.key, to_json(member.node));
        }
        let text = text?;
        let text = text.trim();
        (!text.is_empty()).then(|| Model::named(&harmless(text)))
    }

    /// Reads the argument hint. An unquoted `[message]` is a list in YAML, but is meant literally.
    fn hint(&self, member: JsonMember, findings: &mut Diagnostics<'_>) -> Option<String> {
        let written = self.as_written(&member.node);
        let text = written.map(str::to_owned).or_else(|| self.text(&member, findings))?;
        let text = text.trim();
        (!text.is_empty()).then(|| harmless(text).into_owned())
    }

    /// Reads a text. Warns about any other value and ignores it.
    fn text(&self, member: &JsonMember, findings: &mut Diagnostics<'_>) -> Option<String> {
        let text = plain_text(&member.node);
        if text.is_none() && member.node.value != JsonValue::Null {
            let found = kind(&member.node.value);
            let message = format!("`{}` must be text, found {found}; it is ignored", member.key);
            findings.warn(member.node.at, &message, Some("write it in quotes".to_owned()));
        }
        text
    }

    /// Reads a text, or a list or map that was meant as text without quotes.
    fn text_or_written(&self, member: &JsonMember, findings: &mut Diagnostics<'_>) -> Option<String> {
        let Some(written) = self.as_written(&member.node) else { return self.text(member, findings) };
        let found = kind(&member.node.value);
        let message = format!("`{}` is {found} without quotes; it is read as text", member.key);
        findings.warn(member.node.at, &message, Some("put it in quotes".to_owned()));
        Some(written.to_owned())
    }

    /// Returns the source of a list or map in brackets on one line.
    fn as_written(&self, node: &JsonNode) -> Option<&str> {
        if !matches!(node.value, JsonValue::List(_) | JsonValue::Object(_)) {
            return None;
        }
        let line = self.written?.get(node.at..)?.lines().next()?;
        let line = line.split(" #").next().unwrap_or(line).trim();
        (line.starts_with('[') && line.ends_with(']') || line.starts_with('{') && line.ends_with('}'))
            .then_some(line)
    }
}

/// Returns a hint with the limit that a key was probably meant to be.
pub(super) fn almost_a_limit(key: &str) -> Option<String> {
    let near = LIMITS.iter().filter(|(known, _)| typos(key, known) == 1).map(|(known, _)| known);
    near.into_iter().next().map(|known| format!("did you mean `{known}`?"))
}

/// Decides whether the name of a key suggests a limit.
pub(super) fn is_telling(key: &str) -> bool {
    let mut words = vec![String::new()];
    for c in key.chars() {
        match c {
            '-' | '_' | ' ' | '.' => words.push(String::new()),
            c if c.is_uppercase() => words.push(c.to_lowercase().collect()),
            c => words.last_mut().into_iter().for_each(|word| word.push(c)),
        }
    }
    let whole = words.concat();
    !ELSE.contains(&key)
        && TELLING.iter().any(|telling| whole == *telling || words.iter().any(|word| word == telling))
}

/// The most aliases of one entity.
const MOST_ALIASES: usize = 50;

fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Returns a text, or a number or boolean as text.
fn plain_text(node: &JsonNode) -> Option<String> {
    match &node.value {
        JsonValue::Text(text) | JsonValue::Number(text) => Some(text.clone()),
        JsonValue::Boolean(flag) => Some(flag.to_string()),
        JsonValue::Null | JsonValue::List(_) | JsonValue::Object(_) => None,
    }
}
