//! An entity: a named prompt asset (a command, a skill or an agent), in one form for all providers.
//!
//! Reading the formats is `forms::entity`'s; which of two wins, and what a name means, is
//! [`registry`](crate::registry)'s.

use std::collections::BTreeMap;
use std::fmt;

use crate::words;
use serde::{Deserialize, Serialize};

/// A named prompt asset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    /// What it is.
    pub kind: EntityKind,
    /// As it was written; looked up without regard to case.
    pub name: String,
    /// What it is for, in its author's words; perhaps empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Other names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The text itself, with its placeholders.
    pub prompt: String,
    /// The only tools it may use; `None` where it lists none. What that means to a session is
    /// [`limits`](crate::registry::limits)'s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<EntityTool>>,
    /// What it says of single tools, in its order: the last rule that matches a call counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ToolRule>,
    /// The agents that it is to be done by, as a command or skill names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// What those are, once every file is read: their limits hold, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<EntityRole>,
    /// Which model it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// What to type after its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
    /// Where it comes from.
    pub source: EntitySource,
    /// What else its file says, kept as it was read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, serde_json::Value>,
}

words! {
    /// What an entity is.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum EntityKind {
        /// A prompt with arguments.
        Command = "command",
        /// An instruction that can be followed in any conversation.
        Skill = "skill",
        /// A role: its text is the system prompt.
        Agent = "agent",
    }
}

impl EntityKind {
    /// Reads the word, in the singular or the plural.
    pub fn parse(word: &str) -> Option<EntityKind> {
        EntityKind::from_word(word.strip_suffix('s').unwrap_or(word))
    }
}

words! {
    /// Whose format it is, in the order in which one wins over the next.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Provider {
        /// Our own.
        Windlass = "windlass",
        /// Claude Code, its plugins included.
        Claude = "claude",
        /// OpenCode.
        Opencode = "opencode",
        /// GitHub Copilot.
        Copilot = "copilot",
        /// Codex.
        Codex = "codex",
        /// Gemini.
        Gemini = "gemini",
        /// `.agents`, which several CLIs read.
        Shared = "shared",
        /// Atomic.
        Atomic = "atomic",
    }
}

words! {
    /// How near an entity is to the work, the nearest first.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Level {
        /// In the repository.
        Project = "project",
        /// In the user's own folders.
        User = "user",
        /// Part of Windlass.
        Builtin = "builtin",
    }
}

/// Where an entity comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntitySource {
    /// Whose format it is.
    pub provider: Provider,
    /// How near it is.
    pub level: Level,
    /// How many folders above the work it was found: of two in one project the nearer wins.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub distance: u16,
    /// Its file; for a built-in one its place in the sources.
    pub path: String,
    /// Where it begins in that file, from 1.
    pub line: u32,
    /// The plugin that brings it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<PluginSource>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_zero(distance: &u16) -> bool {
    *distance == 0
}

/// The plugin an entity was found in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginSource {
    /// Its name, the first part of the names of what it brings.
    pub name: String,
    /// Its absolute folder, which `${CLAUDE_PLUGIN_ROOT}` means.
    pub root: String,
}

/// A tool that an entity names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityTool {
    /// In lower case, without a pattern: `bash`.
    pub name: String,
    /// As it was written, where that says more than the name: `Bash(git:*)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// An agent that a command or skill is done by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityRole {
    /// Its name.
    pub name: String,
    /// Whose agent it is.
    pub provider: Provider,
    /// Its file; none for one that comes with its CLI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The only tools it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<EntityTool>>,
    /// What it says of single tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ToolRule>,
}

/// What an entity says of one tool, or of those that a wildcard names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRule {
    /// In lower case; `*` and `?` are wildcards.
    pub tool: String,
    /// Which calls of it: a command, a path. `None` means all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// What happens to such a call.
    pub effect: ToolEffect,
}

words! {
    /// What happens to a tool call that a rule matches.
    #[derive(PartialOrd, Ord)]
    pub enum ToolEffect {
        /// It may run, as far as the rules of the run let it.
        Allow = "allow",
        /// A person, or the policy of the run, decides.
        Ask = "ask",
        /// It may not run.
        Deny = "deny",
    }
}

/// The model that an entity wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Model {
    /// What it means here.
    pub tier: Tier,
    /// As it was written, for a driver that can use it.
    pub original: String,
}

words! {
    /// What a model's name means on every driver.
    pub enum Tier {
        /// The largest.
        Opus = "opus",
        /// The middle one.
        Sonnet = "sonnet",
        /// The smallest.
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
    /// What a model's name means: the tier it names, else the driver's own choice.
    pub fn named(original: &str) -> Model {
        let lower = original.to_ascii_lowercase();
        let tiers = [Tier::Opus, Tier::Sonnet, Tier::Haiku];
        let tier = tiers.into_iter().find(|tier| lower.contains(tier.word())).unwrap_or(Tier::Inherit);
        Model { tier, original: original.to_owned() }
    }
}

impl EntityTool {
    /// A tool as it was written: `Bash(git:*)` is `bash`, and the pattern is kept.
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
