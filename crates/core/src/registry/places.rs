//! Where entities lie: one row a folder (or file) of a provider, in the words of its own CLI.
//!
//! A table and nothing else. Walking it is `peers::files`', reading what lies there
//! `forms::entity`'s.

use crate::entity::{Kind, Provider};

/// One place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Whose format lies there.
    pub provider: Provider,
    /// What lies there; `None` where the documents themselves say.
    pub kind: Option<Kind>,
    /// What the path starts from.
    pub base: Base,
    /// The folder below it; the file itself for [`Shape::Document`].
    pub path: &'static str,
    /// What is looked for in it.
    pub shape: Shape,
}

/// What a place starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Base {
    /// The project.
    Project,
    /// The user's home.
    Home,
    /// `$XDG_CONFIG_HOME`.
    Config,
    /// The folder of a plugin.
    Plugin,
}

/// What is looked for in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Files with one of these endings (the longest that fits is left off the name), in this folder
    /// alone.
    Files(&'static [&'static str]),
    /// The same in folders below it too, whose names are part of the name, joined by this.
    Tree(&'static [&'static str], &'static str),
    /// `NAME/SKILL.md`.
    Skills,
    /// The same in folders below it too, whose names do not count.
    SkillTree,
    /// One file that holds several.
    Document,
}

const MD: &[&str] = &[".md"];
const TOML: &[&str] = &[".toml"];

const fn row(provider: Provider, kind: Kind, base: Base, path: &'static str, shape: Shape) -> Place {
    Place { provider, kind: Some(kind), base, path, shape }
}

const fn document(provider: Provider, base: Base, path: &'static str) -> Place {
    Place { provider, kind: None, base, path, shape: Shape::Document }
}

use Base::{Config, Home, Plugin, Project};
use Kind::{Agent, Command, Skill};
use Provider::{Atomic, Claude, Codex, Copilot, Gemini, Opencode, Shared, Windlass};

/// Every place there is, grouped by provider.
pub const PLACES: &[Place] = &[
    row(Windlass, Command, Project, ".windlass/commands", Shape::Files(MD)),
    row(Windlass, Skill, Project, ".windlass/skills", Shape::Skills),
    row(Windlass, Agent, Project, ".windlass/agents", Shape::Files(MD)),
    row(Windlass, Command, Config, "windlass/commands", Shape::Files(MD)),
    row(Windlass, Skill, Config, "windlass/skills", Shape::Skills),
    row(Windlass, Agent, Config, "windlass/agents", Shape::Files(MD)),
    row(Claude, Command, Project, ".claude/commands", Shape::Tree(MD, ":")),
    row(Claude, Skill, Project, ".claude/skills", Shape::Skills),
    row(Claude, Agent, Project, ".claude/agents", Shape::Tree(MD, ":")),
    row(Claude, Command, Home, ".claude/commands", Shape::Tree(MD, ":")),
    row(Claude, Skill, Home, ".claude/skills", Shape::Skills),
    row(Claude, Agent, Home, ".claude/agents", Shape::Tree(MD, ":")),
    row(Claude, Command, Plugin, "commands", Shape::Tree(MD, ":")),
    row(Claude, Skill, Plugin, "skills", Shape::Skills),
    row(Claude, Agent, Plugin, "agents", Shape::Tree(MD, ":")),
    document(Opencode, Project, "opencode.json"),
    document(Opencode, Project, "opencode.jsonc"),
    document(Opencode, Project, ".opencode/opencode.json"),
    document(Opencode, Project, ".opencode/opencode.jsonc"),
    row(Opencode, Command, Project, ".opencode/command", Shape::Tree(MD, "/")),
    row(Opencode, Command, Project, ".opencode/commands", Shape::Tree(MD, "/")),
    row(Opencode, Skill, Project, ".opencode/skill", Shape::SkillTree),
    row(Opencode, Skill, Project, ".opencode/skills", Shape::SkillTree),
    row(Opencode, Agent, Project, ".opencode/agent", Shape::Tree(MD, "/")),
    row(Opencode, Agent, Project, ".opencode/agents", Shape::Tree(MD, "/")),
    document(Opencode, Home, ".opencode/opencode.json"),
    document(Opencode, Home, ".opencode/opencode.jsonc"),
    document(Opencode, Config, "opencode/opencode.json"),
    document(Opencode, Config, "opencode/opencode.jsonc"),
    row(Opencode, Command, Config, "opencode/command", Shape::Tree(MD, "/")),
    row(Opencode, Command, Config, "opencode/commands", Shape::Tree(MD, "/")),
    row(Opencode, Skill, Config, "opencode/skill", Shape::SkillTree),
    row(Opencode, Skill, Config, "opencode/skills", Shape::SkillTree),
    row(Opencode, Agent, Config, "opencode/agent", Shape::Tree(MD, "/")),
    row(Opencode, Agent, Config, "opencode/agents", Shape::Tree(MD, "/")),
    row(Opencode, Command, Home, ".opencode/command", Shape::Tree(MD, "/")),
    row(Opencode, Command, Home, ".opencode/commands", Shape::Tree(MD, "/")),
    row(Opencode, Skill, Home, ".opencode/skill", Shape::SkillTree),
    row(Opencode, Skill, Home, ".opencode/skills", Shape::SkillTree),
    row(Opencode, Agent, Home, ".opencode/agent", Shape::Tree(MD, "/")),
    row(Opencode, Agent, Home, ".opencode/agents", Shape::Tree(MD, "/")),
    row(Copilot, Command, Project, ".github/prompts", Shape::Files(&[".prompt.md"])),
    row(Copilot, Skill, Project, ".github/skills", Shape::SkillTree),
    row(Copilot, Agent, Project, ".github/agents", Shape::Tree(&[".agent.md", ".md"], "--")),
    row(Copilot, Skill, Home, ".copilot/skills", Shape::SkillTree),
    row(Copilot, Agent, Home, ".copilot/agents", Shape::Tree(&[".agent.md", ".md"], "--")),
    row(Codex, Skill, Project, ".codex/skills", Shape::SkillTree),
    row(Codex, Agent, Project, ".codex/agents", Shape::Files(TOML)),
    row(Codex, Command, Home, ".codex/prompts", Shape::Files(MD)),
    row(Codex, Skill, Home, ".codex/skills", Shape::SkillTree),
    row(Codex, Agent, Home, ".codex/agents", Shape::Files(TOML)),
    row(Gemini, Command, Project, ".gemini/commands", Shape::Tree(TOML, ":")),
    row(Gemini, Skill, Project, ".gemini/skills", Shape::Skills),
    row(Gemini, Agent, Project, ".gemini/agents", Shape::Files(MD)),
    row(Gemini, Command, Home, ".gemini/commands", Shape::Tree(TOML, ":")),
    row(Gemini, Skill, Home, ".gemini/skills", Shape::Skills),
    row(Gemini, Agent, Home, ".gemini/agents", Shape::Files(MD)),
    row(Shared, Skill, Project, ".agents/skills", Shape::SkillTree),
    row(Shared, Skill, Home, ".agents/skills", Shape::SkillTree),
    row(Atomic, Command, Project, ".atomic/commands", Shape::Files(MD)),
    row(Atomic, Skill, Project, ".atomic/skills", Shape::Skills),
    row(Atomic, Agent, Project, ".atomic/agents", Shape::Files(MD)),
    row(Atomic, Command, Home, ".atomic/commands", Shape::Files(MD)),
    row(Atomic, Skill, Home, ".atomic/skills", Shape::Skills),
    row(Atomic, Agent, Home, ".atomic/agents", Shape::Files(MD)),
];
