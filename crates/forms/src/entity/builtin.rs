//! The commands, skills and agents that come with Windlass.

use windlass_core::entity::{Entity, EntityKind, Level, Provider};

use super::read::{Origin, parse};

/// A file compiled into the binary.
struct File {
    kind: EntityKind,
    name: &'static str,
    path: &'static str,
    text: &'static str,
}

macro_rules! skill {
    ($name:literal) => {
        File {
            kind: EntityKind::Skill,
            name: $name,
            path: concat!("builtin/skills/", $name, "/SKILL.md"),
            text: include_str!(concat!("builtin/skills/", $name, "/SKILL.md")),
        }
    };
}

macro_rules! agent {
    ($name:literal) => {
        File {
            kind: EntityKind::Agent,
            name: $name,
            path: concat!("builtin/agents/", $name, ".md"),
            text: include_str!(concat!("builtin/agents/", $name, ".md")),
        }
    };
}

macro_rules! command {
    ($name:literal) => {
        File {
            kind: EntityKind::Command,
            name: $name,
            path: concat!("builtin/commands/", $name, ".md"),
            text: include_str!(concat!("builtin/commands/", $name, ".md")),
        }
    };
}

const FILES: &[File] = &[
    command!("create-pr"),
    command!("create-spec"),
    command!("create-tasks"),
    command!("implement-task"),
    skill!("commit"),
    skill!("debug"),
    skill!("explain-code"),
    skill!("research-codebase"),
    skill!("review-code"),
    agent!("debugger"),
    agent!("reviewer"),
];

/// Returns the entities that come with Windlass.
pub fn builtin() -> Vec<Entity> {
    FILES.iter().flat_map(|file| parse(&file.origin(), file.text).entities).collect()
}

impl File {
    fn origin(&self) -> Origin<'static> {
        Origin {
            provider: Provider::Windlass,
            kind: Some(self.kind),
            level: Level::Builtin,
            distance: 0,
            path: self.path,
            name: self.name,
            plugin: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_one_is_read_without_a_complaint() {
        for file in FILES {
            let read = parse(&file.origin(), file.text);
            let shown: Vec<String> = read.diagnostics.iter().map(ToString::to_string).collect();
            assert_eq!(shown, Vec::<String>::new(), "{}", file.path);
            let [entity] = read.entities.as_slice() else { panic!("{} is not one entity", file.path) };
            assert_eq!(entity.name, file.name);
            assert!(!entity.description.is_empty(), "{}", file.path);
            assert!(entity.kind == EntityKind::Agent || entity.argument_hint.is_some(), "{}", file.path);
            let lines = file.text.lines().count();
            assert!((15..=48).contains(&lines), "{} has {lines} lines", file.path);
        }
    }
}
