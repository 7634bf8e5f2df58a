//! Makes an entity of what a file says, whatever its format: keys with their values, and a text.
//!
//! The formats say what each key means; here is decided what happens with a value of the wrong
//! type, a key that is there twice, a name that is none.

use std::collections::BTreeMap;

use windlass_core::entity::{Entity, EntityKind, EntitySource, Model, Provider};

use super::read::Origin;
use super::tools::{LimitReader, Stated, harmless, shown, without_quotes};
use super::{name, sentence, tools};
use crate::diagnostics::Diagnostics;
use crate::json::{JsonMember, JsonNode, JsonValue, kind};
use crate::words::{quoted, typos};
use crate::yaml::to_json;

/// What a key of a format means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Name,
    Description,
    Aliases,
    /// It limits what may be used.
    Limit(LimitKey),
    Model,
    Hint,
    Prompt,
    /// True where the entity is not to be used.
    Disabled,
    /// Nothing here: it is kept as it is.
    Other,
}

/// What a key limits, and with it which values it may have; [`Reader`] has a row for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LimitKey {
    /// The tools that may be used: text or a list.
    Tools,
    /// The same, or a map of switches.
    ToolsOrSwitches,
    /// Rules about single tools: a word, a map or a list of rules.
    Permissions,
    /// When Codex asks a person: a word.
    Approval,
    /// Codex's sandbox: a word.
    Sandbox,
    /// What else Codex's sandbox may write: a table.
    Writable,
    /// Which of Codex's own permissions hold: a word.
    Profile,
    /// Codex's search in the web: a word.
    WebSearch,
    /// Codex's own tools: a table of switches.
    CodexTools,
    /// What Codex can do: a table of switches.
    Features,
    /// Codex's MCP servers, and which of their tools it may use: a table of tables.
    Servers,
    /// Claude Code's mode of permissions: a word.
    Mode,
    /// The agent that a command or skill is done by: a name.
    Agent,
    /// The mode of Copilot's chat, which is an agent, too: a name.
    Chat,
    /// Whether a command of OpenCode is done by a subagent: a switch.
    Subtask,
    /// The tools that may not be used: text or a list. The last, for nothing permits them again.
    Denied,
    /// A limit in a form that is not read here.
    Unread,
}

impl LimitKey {
    /// Whether another key sets the same limit.
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

/// Words in the name of a key that say: this is a limit.
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

/// Keys with such a word that are about something else.
const ELSE: [&str; 6] = [
    "tool_timeout_sec",
    "tool_output_token_limit",
    "tool_suggest",
    "allow_login_shell",
    "allow-implicit-invocation",
    "hide-from-slash-command-tool",
];

/// Which key means what, in one format.
pub(super) type KeyMeanings = fn(EntityKind, &str) -> Meaning;

/// What a file says of one entity.
pub(super) struct EntityDraft<'a> {
    pub(super) origin: &'a Origin<'a>,
    pub(super) kind: EntityKind,
    /// The name that the file, the folder or the document gives it.
    pub(super) name: &'a str,
    /// The byte and the line where it begins.
    pub(super) at: usize,
    pub(super) line: u32,
    pub(super) dialect: KeyMeanings,
    /// The text of the file where values may stand without quotes, to show one as it was written.
    pub(super) written: Option<&'a str>,
}

/// The keys that mean something, with their values.
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
    /// The entity; `None` where something is wrong with it, which is then among the findings, or
    /// where it is switched off.
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

    /// Puts every key where it belongs; of two that mean the same the last wins, but for limits: none of
    /// those may be lost.
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
                    let message =
                        format!("this sets a limit that {} sets above", quoted(&harmless(&before.key)));
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
                        format!("this says again what {} says above; this one is used", quoted(&before));
                    findings.warn(key_at, &message, Some("remove one of the two".to_owned()));
                }
            }
        }
        slots
    }

    /// What a key means. Whatever the format, a limit in another spelling is that limit, and what is
    /// almost one is a mistake: nobody may take it for a limit that holds.
    fn meaning(&self, member: &JsonMember, findings: &mut Diagnostics<'_>) -> Meaning {
        let said = (self.dialect)(self.kind, &member.key);
        if said != Meaning::Other {
            return said;
        }
        if let Some((_, limit)) = LIMITS.into_iter().find(|(key, _)| typos(&member.key, key) == 0) {
            return Meaning::Limit(limit);
        }
        let nearest = almost_a_limit(&member.key);
        if nearest.is_some() || is_telling(&member.key) {
            let message = format!("unknown key {}: a limit would not hold", quoted(&harmless(&member.key)));
            let hint = nearest.unwrap_or_else(|| "write it as a list of `tools`, or remove it".to_owned());
            findings.error(member.key_at, &message, Some(hint));
        }
        Meaning::Other
    }

    /// The tools it lists, and what it says of single ones.
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

    /// Whether the agent that it names does it. Claude Code follows it only where it also says that its
    /// context is another one.
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
                let message = format!("`{}` is without effect where `context` is not `fork`", member.key);
                let hint = "add `context: fork`: the limits of that agent then hold";
                findings.warn(member.key_at, &message, Some(hint.to_owned()));
                false
            }
            Some(_) => {
                let message = format!("`context` must be `fork` for the limits of `{}` to hold", member.key);
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
        let fault = if said == self.name { name::nested_fault(said) } else { name::name_error(said) };
        if let Some(fault) = fault {
            let message = format!("the name {} {fault}", quoted(said));
            findings.error(at, &message, Some("use letters, digits, `-`, `_`, `.` and `:`".to_owned()));
            return None;
        }
        Some(said.to_owned())
    }

    fn file_name(&self, findings: &mut Diagnostics<'_>) -> Option<String> {
        let Some(fault) = name::nested_fault(self.name) else { return Some(self.name.to_owned()) };
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
                // An agent without a text of its own still has its tools and its model.
                EntityKind::Agent => {
                    findings.warn(self.at, &message, Some("say what it is to do".to_owned()))
                }
                EntityKind::Command | EntityKind::Skill => {
                    findings.error(self.at, &message, Some("say what is to be done".to_owned()));
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
        add(self.name, name::nested_fault(self.name));
        aliases
    }

    /// A list of names, or names in one string.
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

    /// The model; of a list of them the first, and the list is kept.
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

    /// What to type after the name. `[message]` is a list in YAML, and yet means itself.
    fn hint(&self, member: JsonMember, findings: &mut Diagnostics<'_>) -> Option<String> {
        let written = self.as_written(&member.node);
        let text = written.map(str::to_owned).or_else(|| self.text(&member, findings))?;
        let text = text.trim();
        (!text.is_empty()).then(|| harmless(text).into_owned())
    }

    /// A text; anything else is passed over with a warning.
    fn text(&self, member: &JsonMember, findings: &mut Diagnostics<'_>) -> Option<String> {
        let text = plain_text(&member.node);
        if text.is_none() && member.node.value != JsonValue::Null {
            let found = kind(&member.node.value);
            let message = format!("`{}` must be text, found {found}; it is passed over", member.key);
            findings.warn(member.node.at, &message, Some("write it in quotes".to_owned()));
        }
        text
    }

    /// A text, or what is one but for its quotes.
    fn text_or_written(&self, member: &JsonMember, findings: &mut Diagnostics<'_>) -> Option<String> {
        let Some(written) = self.as_written(&member.node) else { return self.text(member, findings) };
        let found = kind(&member.node.value);
        let message = format!("`{}` is {found} as it stands; it is read as text", member.key);
        findings.warn(member.node.at, &message, Some("put it in quotes".to_owned()));
        Some(written.to_owned())
    }

    /// A list or map in brackets on one line, as it was written.
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

/// The limit that a key was probably meant to be.
pub(super) fn almost_a_limit(key: &str) -> Option<String> {
    let near = LIMITS.iter().filter(|(known, _)| typos(key, known) == 1).map(|(known, _)| known);
    near.into_iter().next().map(|known| format!("did you mean `{known}`?"))
}

/// Whether the name of a key says that it is a limit.
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

/// The most other names of one entity.
const MOST_ALIASES: usize = 50;

fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// A text, or a number or switch as text.
fn plain_text(node: &JsonNode) -> Option<String> {
    match &node.value {
        JsonValue::Text(text) | JsonValue::Number(text) => Some(text.clone()),
        JsonValue::Boolean(flag) => Some(flag.to_string()),
        JsonValue::Null | JsonValue::List(_) | JsonValue::Object(_) => None,
    }
}
