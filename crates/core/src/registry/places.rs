//! Where entities lie: one row a folder (or file) of a provider, in the words of its own CLI.
//!
//! A table and nothing else. Walking it is `peers::files`', reading what lies there
//! `forms::entity`'s.

use crate::entity::{EntityKind, Provider};

/// One place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntityPlace {
    /// Whose format lies there.
    pub provider: Provider,
    /// What lies there; `None` where the documents themselves say.
    pub kind: Option<EntityKind>,
    /// What the path starts from.
    pub base: Base,
    /// The folder below it; the file itself for [`PlaceShape::Document`].
    pub path: &'static str,
    /// What is looked for in it.
    pub shape: PlaceShape,
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
pub enum PlaceShape {
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

const fn row(
    provider: Provider,
    kind: EntityKind,
    base: Base,
    path: &'static str,
    shape: PlaceShape,
) -> EntityPlace {
    EntityPlace { provider, kind: Some(kind), base, path, shape }
}

const fn document(provider: Provider, base: Base, path: &'static str) -> EntityPlace {
    EntityPlace { provider, kind: None, base, path, shape: PlaceShape::Document }
}

use Base::{Config, Home, Plugin, Project};
use EntityKind::{Agent, Command, Skill};
use Provider::{Atomic, Claude, Codex, Copilot, Gemini, Opencode, Shared, Windlass};

/// Every place there is, grouped by provider.
pub const PLACES: &[EntityPlace] = &[
    row(Windlass, Command, Project, ".windlass/commands", PlaceShape::Files(MD)),
    row(Windlass, Skill, Project, ".windlass/skills", PlaceShape::Skills),
    row(Windlass, Agent, Project, ".windlass/agents", PlaceShape::Files(MD)),
    row(Windlass, Command, Config, "windlass/commands", PlaceShape::Files(MD)),
    row(Windlass, Skill, Config, "windlass/skills", PlaceShape::Skills),
    row(Windlass, Agent, Config, "windlass/agents", PlaceShape::Files(MD)),
    row(Claude, Command, Project, ".claude/commands", PlaceShape::Tree(MD, ":")),
    row(Claude, Skill, Project, ".claude/skills", PlaceShape::Skills),
    row(Claude, Agent, Project, ".claude/agents", PlaceShape::Tree(MD, ":")),
    row(Claude, Command, Home, ".claude/commands", PlaceShape::Tree(MD, ":")),
    row(Claude, Skill, Home, ".claude/skills", PlaceShape::Skills),
    row(Claude, Agent, Home, ".claude/agents", PlaceShape::Tree(MD, ":")),
    row(Claude, Command, Plugin, "commands", PlaceShape::Tree(MD, ":")),
    row(Claude, Skill, Plugin, "skills", PlaceShape::Skills),
    row(Claude, Agent, Plugin, "agents", PlaceShape::Tree(MD, ":")),
    document(Opencode, Project, "opencode.json"),
    document(Opencode, Project, "opencode.jsonc"),
    document(Opencode, Project, ".opencode/opencode.json"),
    document(Opencode, Project, ".opencode/opencode.jsonc"),
    row(Opencode, Command, Project, ".opencode/command", PlaceShape::Tree(MD, "/")),
    row(Opencode, Command, Project, ".opencode/commands", PlaceShape::Tree(MD, "/")),
    row(Opencode, Skill, Project, ".opencode/skill", PlaceShape::SkillTree),
    row(Opencode, Skill, Project, ".opencode/skills", PlaceShape::SkillTree),
    row(Opencode, Agent, Project, ".opencode/agent", PlaceShape::Tree(MD, "/")),
    row(Opencode, Agent, Project, ".opencode/agents", PlaceShape::Tree(MD, "/")),
    document(Opencode, Home, ".opencode/opencode.json"),
    document(Opencode, Home, ".opencode/opencode.jsonc"),
    document(Opencode, Config, "opencode/opencode.json"),
    document(Opencode, Config, "opencode/opencode.jsonc"),
    row(Opencode, Command, Config, "opencode/command", PlaceShape::Tree(MD, "/")),
    row(Opencode, Command, Config, "opencode/commands", PlaceShape::Tree(MD, "/")),
    row(Opencode, Skill, Config, "opencode/skill", PlaceShape::SkillTree),
    row(Opencode, Skill, Config, "opencode/skills", PlaceShape::SkillTree),
    row(Opencode, Agent, Config, "opencode/agent", PlaceShape::Tree(MD, "/")),
    row(Opencode, Agent, Config, "opencode/agents", PlaceShape::Tree(MD, "/")),
    row(Opencode, Command, Home, ".opencode/command", PlaceShape::Tree(MD, "/")),
    row(Opencode, Command, Home, ".opencode/commands", PlaceShape::Tree(MD, "/")),
    row(Opencode, Skill, Home, ".opencode/skill", PlaceShape::SkillTree),
    row(Opencode, Skill, Home, ".opencode/skills", PlaceShape::SkillTree),
    row(Opencode, Agent, Home, ".opencode/agent", PlaceShape::Tree(MD, "/")),
    row(Opencode, Agent, Home, ".opencode/agents", PlaceShape::Tree(MD, "/")),
    row(Copilot, Command, Project, ".github/prompts", PlaceShape::Files(&[".prompt.md"])),
    row(Copilot, Skill, Project, ".github/skills", PlaceShape::SkillTree),
    row(Copilot, Agent, Project, ".github/agents", PlaceShape::Tree(&[".agent.md", ".md"], "--")),
    row(Copilot, Skill, Home, ".copilot/skills", PlaceShape::SkillTree),
    row(Copilot, Agent, Home, ".copilot/agents", PlaceShape::Tree(&[".agent.md", ".md"], "--")),
    row(Codex, Skill, Project, ".codex/skills", PlaceShape::SkillTree),
    row(Codex, Agent, Project, ".codex/agents", PlaceShape::Files(TOML)),
    row(Codex, Command, Home, ".codex/prompts", PlaceShape::Files(MD)),
    row(Codex, Skill, Home, ".codex/skills", PlaceShape::SkillTree),
    row(Codex, Agent, Home, ".codex/agents", PlaceShape::Files(TOML)),
    row(Gemini, Command, Project, ".gemini/commands", PlaceShape::Tree(TOML, ":")),
    row(Gemini, Skill, Project, ".gemini/skills", PlaceShape::Skills),
    row(Gemini, Agent, Project, ".gemini/agents", PlaceShape::Files(MD)),
    row(Gemini, Command, Home, ".gemini/commands", PlaceShape::Tree(TOML, ":")),
    row(Gemini, Skill, Home, ".gemini/skills", PlaceShape::Skills),
    row(Gemini, Agent, Home, ".gemini/agents", PlaceShape::Files(MD)),
    row(Shared, Skill, Project, ".agents/skills", PlaceShape::SkillTree),
    row(Shared, Skill, Home, ".agents/skills", PlaceShape::SkillTree),
    row(Atomic, Command, Project, ".atomic/commands", PlaceShape::Files(MD)),
    row(Atomic, Skill, Project, ".atomic/skills", PlaceShape::Skills),
    row(Atomic, Agent, Project, ".atomic/agents", PlaceShape::Files(MD)),
    row(Atomic, Command, Home, ".atomic/commands", PlaceShape::Files(MD)),
    row(Atomic, Skill, Home, ".atomic/skills", PlaceShape::Skills),
    row(Atomic, Agent, Home, ".atomic/agents", PlaceShape::Files(MD)),
];
