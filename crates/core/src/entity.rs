//! An entity: a named prompt asset (a command, a skill or an agent), in one form for all providers.
//!
//! Reading the formats is `forms::entity`'s; which of two wins, and what a name means, is
//! [`registry`](crate::registry)'s.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A named prompt asset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    /// What it is.
    pub kind: Kind,
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
    pub tools: Option<Vec<Tool>>,
    /// What it says of single tools, in its order: the last rule that matches a call counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ToolRule>,
    /// The agents that it is to be done by, as a command or skill names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// What those are, once every file is read: their limits hold, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Which model it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// What to type after its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
    /// Where it comes from.
    pub source: Source,
    /// What else its file says, kept as it was read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, serde_json::Value>,
}

/// What an entity is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A prompt with arguments.
    Command,
    /// An instruction that can be followed in any conversation.
    Skill,
    /// A role: its text is the system prompt.
    Agent,
}

impl Kind {
    /// All of them, in the order of lists.
    pub const ALL: [Kind; 3] = [Kind::Command, Kind::Skill, Kind::Agent];

    /// The word used in flags and files.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Command => "command",
            Kind::Skill => "skill",
            Kind::Agent => "agent",
        }
    }

    /// Reads the word, in the singular or the plural.
    pub fn parse(word: &str) -> Option<Kind> {
        let word = word.strip_suffix('s').unwrap_or(word);
        Kind::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Whose format it is, in the order in which one wins over the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Our own.
    Windlass,
    /// Claude Code, its plugins included.
    Claude,
    /// OpenCode.
    Opencode,
    /// GitHub Copilot.
    Copilot,
    /// Codex.
    Codex,
    /// Gemini.
    Gemini,
    /// `.agents`, which several CLIs read.
    Shared,
    /// Atomic.
    Atomic,
}

impl Provider {
    /// All of them, the winning one first.
    pub const ALL: [Provider; 8] = [
        Provider::Windlass,
        Provider::Claude,
        Provider::Opencode,
        Provider::Copilot,
        Provider::Codex,
        Provider::Gemini,
        Provider::Shared,
        Provider::Atomic,
    ];

    /// The word used in flags and files.
    pub fn word(self) -> &'static str {
        match self {
            Provider::Windlass => "windlass",
            Provider::Claude => "claude",
            Provider::Opencode => "opencode",
            Provider::Copilot => "copilot",
            Provider::Codex => "codex",
            Provider::Gemini => "gemini",
            Provider::Shared => "shared",
            Provider::Atomic => "atomic",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Provider> {
        Provider::ALL.into_iter().find(|provider| provider.word() == word)
    }
}

/// How near an entity is to the work, the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// In the repository.
    Project,
    /// In the user's own folders.
    User,
    /// Part of Windlass.
    Builtin,
}

impl Level {
    /// The word used in output.
    pub fn word(self) -> &'static str {
        match self {
            Level::Project => "project",
            Level::User => "user",
            Level::Builtin => "builtin",
        }
    }
}

/// Where an entity comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
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
pub struct Tool {
    /// In lower case, without a pattern: `bash`.
    pub name: String,
    /// As it was written, where that says more than the name: `Bash(git:*)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// An agent that a command or skill is done by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// Whose agent it is.
    pub provider: Provider,
    /// Its file; none for one that comes with its CLI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The only tools it may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
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

/// What happens to a tool call that a rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// It may run, as far as the rules of the run let it.
    Allow,
    /// A person, or the policy of the run, decides.
    Ask,
    /// It may not run.
    Deny,
}

impl ToolEffect {
    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            ToolEffect::Allow => "allow",
            ToolEffect::Ask => "ask",
            ToolEffect::Deny => "deny",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<ToolEffect> {
        [ToolEffect::Allow, ToolEffect::Ask, ToolEffect::Deny]
            .into_iter()
            .find(|effect| effect.word() == word)
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

/// What a model's name means on every driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The largest.
    Opus,
    /// The middle one.
    Sonnet,
    /// The smallest.
    Haiku,
    /// The driver's own choice.
    Inherit,
}

impl Tier {
    /// The word used in flags and files.
    pub fn word(self) -> &'static str {
        match self {
            Tier::Opus => "opus",
            Tier::Sonnet => "sonnet",
            Tier::Haiku => "haiku",
            Tier::Inherit => "inherit",
        }
    }
}

impl fmt::Display for Kind {
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

impl Tool {
    /// A tool as it was written: `Bash(git:*)` is `bash`, and the pattern is kept.
    pub fn named(written: &str) -> Tool {
        let written = written.trim();
        let name = written.split('(').next().unwrap_or(written).trim();
        let lower = name.to_lowercase();
        let pattern = (lower != written).then(|| written.to_owned());
        Tool { name: lower, pattern }
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
        let tool = |name: &str, pattern: Option<&str>| Tool {
            name: name.into(),
            pattern: pattern.map(str::to_owned),
        };
        assert_eq!(Tool::named("bash"), tool("bash", None));
        assert_eq!(Tool::named(" Edit "), tool("edit", Some("Edit")));
        assert_eq!(Tool::named("Bash(git:*)"), tool("bash", Some("Bash(git:*)")));
        assert_eq!(Tool::named("mcp__github__get"), tool("mcp__github__get", None));
    }

    #[test]
    fn words_are_read_back() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.word()), Some(kind));
            assert_eq!(Kind::parse(&format!("{kind}s")), Some(kind));
        }
        for provider in Provider::ALL {
            assert_eq!(Provider::parse(provider.word()), Some(provider));
        }
    }
}
