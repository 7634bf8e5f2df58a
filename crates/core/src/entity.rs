//! An entity: a named prompt (a command, a skill or an agent), in one form for all providers.
//!
//! `forms::entity` reads the formats. [`registry`](crate::registry) resolves names and decides
//! which of two entities with the same name wins.

use std::collections::BTreeMap;
use std::fmt;

use crate::words;
use serde::{Deserialize, Serialize};

/// A command, a skill or an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    pub kind: EntityKind,
    /// The name as written. Lookup ignores case.
    pub name: String,
    /// The author's description, possibly empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The text, with its placeholders.
    pub prompt: String,
    /// The only tools that the entity may use. `None` if it lists none.
    /// [`limits`](crate::registry::limits) applies them to a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<EntityTool>>,
    /// Rules for single tools, in order. The last rule that matches a call wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ToolRule>,
    /// The names of the agents that carry out a command or skill.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// The agents themselves, once every file is read. Their limits apply too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<EntityRole>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// A hint about the arguments to type after the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
    pub source: EntitySource,
    /// All other keys of the file, as read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, serde_json::Value>,
}

words! {
    /// The kind of an entity.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum EntityKind {
        /// A prompt with arguments.
        Command = "command",
        /// An instruction for any conversation.
        Skill = "skill",
        /// A role. The text is the system prompt.
        Agent = "agent",
    }
}

impl EntityKind {
    /// Reads the word, singular or plural.
    pub fn parse(word: &str) -> Option<EntityKind> {
        EntityKind::from_word(word.strip_suffix('s').unwrap_or(word))
    }
}

words! {
    /// The tool whose format an entity uses, in order of precedence.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Provider {
        Windlass = "windlass",
        /// Claude Code and its plugins.
        Claude = "claude",
        Opencode = "opencode",
        Copilot = "copilot",
        Codex = "codex",
        Gemini = "gemini",
        /// The folder `.agents`, which several CLIs read.
        Shared = "shared",
        Atomic = "atomic",
    }
}

words! {
    /// The distance of an entity from the work, the nearest level first.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Level {
        Project = "project",
        User = "user",
        Builtin = "builtin",
    }
}

/// The place where an entity was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntitySource {
    pub provider: Provider,
    pub level: Level,
    /// The number of folders above the workspace. Of two entities in one project the nearer wins.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub distance: u16,
    /// The file. For a built-in entity, its path in the sources.
    pub path: String,
    /// The first line of the entity in that file, counted from 1.
    pub line: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginSource>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_zero(distance: &u16) -> bool {
    *distance == 0
}

/// The plugin that contains an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginSource {
    /// The name, which is also the first part of the names of its entities.
    pub name: String,
    /// The absolute path of the folder, the value of `${CLAUDE_PLUGIN_ROOT}`.
    pub root: String,
}

/// A tool that an entity names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityTool {
    /// The name in lower case, without a pattern: `bash`.
    pub name: String,
    /// The original text if it says more than the name: `Bash(git:*)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// An agent that carries out a command or skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityRole {
    pub name: String,
    pub provider: Provider,
    /// The agent's file. `None` if the agent comes with its CLI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The only tools it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<EntityTool>>,
    /// Rules for single tools, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ToolRule>,
}

/// A rule for one tool, or for the tools that a wildcard matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRule {
    /// The tool in lower case. `*` and `?` are wildcards.
    pub tool: String,
    /// The calls to match: a command or a path. `None` matches every call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    pub effect: ToolEffect,
}

words! {
    /// The result of a rule for a matching tool call.
    #[derive(PartialOrd, Ord)]
    pub enum ToolEffect {
        /// The call may run if the rules of the run permit it.
        Allow = "allow",
        /// A person or the policy of the run decides.
        Ask = "ask",
        Deny = "deny",
    }
}

/// The model that an entity asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    pub tier: Tier,
    /// The original text, for a driver that can use it.
    pub original: String,
}

words! {
    /// The meaning of a model's name on every driver.
    pub enum Tier {
        Opus = "opus",
        Sonnet = "sonnet",
        Haiku = "haiku",
        /// The driver's own choice.
        Inherit = "inherit",
    }
}

impl fmt::Display for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Model {
    /// Reads a model's name: the tier that it contains, or else the driver's own choice.
    pub fn named(original: &str) -> Model {
        let lower = original.to_ascii_lowercase();
        let tiers = [Tier::Opus, Tier::Sonnet, Tier::Haiku];
        let tier = tiers.into_iter().find(|tier| lower.contains(tier.word())).unwrap_or(Tier::Inherit);
        Model { tier, original: original.to_owned() }
    }
}

impl EntityTool {
    /// Reads a tool: `Bash(git:*)` becomes `bash` with the original as its pattern.
    pub fn named(written: &str) -> EntityTool {
        let written = written.trim();
        let name = written.split('(').next().unwrap_or(written).trim();
        let lower = name.to_lowercase();
        let pattern = (lower != written).then(|| written.to_owned());
        EntityTool { name: lower, pattern }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_means_the_tier_it_names() {
        let rows = [
            ("opus", Tier::Opus),
            ("sonnet", Tier::Sonnet),
            ("haiku", Tier::Haiku),
            ("anthropic/claude-opus-4-5", Tier::Opus),
            ("anthropic/claude-3-sonnet", Tier::Sonnet),
            ("anthropic/claude-3-5-haiku", Tier::Haiku),
            ("claude-opus-4-5", Tier::Opus),
            ("Claude Sonnet 4", Tier::Sonnet),
            ("gpt-4o", Tier::Inherit),
            ("gemini-1.5-pro", Tier::Inherit),
            ("inherit", Tier::Inherit),
        ];
        for (written, tier) in rows {
            assert_eq!(Model::named(written), Model { tier, original: written.to_owned() });
        }
    }

    #[test]
    fn a_tool_is_its_name_in_lower_case_with_its_pattern_kept() {
        let tool = |name: &str, pattern: Option<&str>| EntityTool {
            name: name.into(),
            pattern: pattern.map(str::to_owned),
        };
        assert_eq!(EntityTool::named("bash"), tool("bash", None));
        assert_eq!(EntityTool::named(" Edit "), tool("edit", Some("Edit")));
        assert_eq!(EntityTool::named("Bash(git:*)"), tool("bash", Some("Bash(git:*)")));
        assert_eq!(EntityTool::named("mcp__github__get"), tool("mcp__github__get", None));
    }

    #[test]
    fn words_are_read_back() {
        for kind in EntityKind::ALL {
            assert_eq!(EntityKind::parse(kind.word()), Some(kind));
            assert_eq!(EntityKind::parse(&format!("{kind}s")), Some(kind));
        }
        for provider in Provider::ALL {
            assert_eq!(Provider::from_word(provider.word()), Some(provider));
        }
    }
}
