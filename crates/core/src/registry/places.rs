//! The places of entities: one row for each folder or file that a provider's CLI reads.
//!
//! Only a table. `peers::files` walks the places, and `forms::entity` reads the files.

use crate::entity::{EntityKind, Provider};

/// A folder or file that may contain entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntityPlace {
    /// The provider whose format the files have.
    pub provider: Provider,
    /// The kind of the entities; `None` if the documents state it.
    pub kind: Option<EntityKind>,
    pub base: Base,
    /// The folder below the base, or the file itself for [`PlaceShape::Document`].
    pub path: &'static str,
    pub shape: PlaceShape,
}

/// The folder that a place's path is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Base {
    Project,
    /// The user's home folder.
    Home,
    /// `$XDG_CONFIG_HOME`.
    Config,
    /// A plugin's folder.
    Plugin,
}

/// The layout of the files in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceShape {
    /// Files with one of these suffixes, in this folder only. The name omits the longest matching suffix.
    Files(&'static [&'static str]),
    /// The same, including subfolders. Their names become part of the entity's name, joined by the second
    /// value.
    Tree(&'static [&'static str], &'static str),
    /// `NAME/SKILL.md`.
    Skills,
    /// The same, including subfolders. Their names are ignored.
    SkillTree,
    /// One file with several entities.
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

/// All places, grouped by provider.
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
