//! Counts the entities of each provider.

use std::collections::BTreeMap;
use std::fmt;

use super::Registry;
use crate::entity::{EntityKind, Provider};

/// The number of entities that one provider supplied, hidden ones included.
///
/// Displays as `12 from claude (5 skills, 7 agents)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProviderCounts {
    pub provider: Provider,
    pub commands: usize,
    pub skills: usize,
    pub agents: usize,
}

impl ProviderCounts {
    fn none(provider: Provider) -> ProviderCounts {
        ProviderCounts { provider, commands: 0, skills: 0, agents: 0 }
    }

    /// Returns the number of entities of all kinds.
    pub fn total(&self) -> usize {
        EntityKind::ALL.into_iter().map(|kind| self.of(kind)).sum()
    }

    /// Returns the number of entities of one kind.
    pub fn of(&self, kind: EntityKind) -> usize {
        match kind {
            EntityKind::Command => self.commands,
            EntityKind::Skill => self.skills,
            EntityKind::Agent => self.agents,
        }
    }

    fn add(&mut self, kind: EntityKind) {
        match kind {
            EntityKind::Command => self.commands += 1,
            EntityKind::Skill => self.skills += 1,
            EntityKind::Agent => self.agents += 1,
        }
    }
}

impl Registry {
    /// Counts the entities of each provider, in provider order. Omits providers without any.
    pub fn counts(&self) -> Vec<ProviderCounts> {
        let mut counts = BTreeMap::new();
        for entity in self.all() {
            let provider = entity.source.provider;
            counts.entry(provider).or_insert(ProviderCounts::none(provider)).add(entity.kind);
        }
        counts.into_values().collect()
    }
}

impl fmt::Display for ProviderCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.total(), self.provider)?;
        let mut before = " (";
        for kind in EntityKind::ALL.into_iter().filter(|kind| self.of(*kind) > 0) {
            let plural = if self.of(kind) == 1 { "" } else { "s" };
            write!(f, "{before}{} {kind}{plural}", self.of(kind))?;
            before = ", ";
        }
        if self.total() == 0 { Ok(()) } else { f.write_str(")") }
    }
}

#[cfg(test)]
mod tests {
    use super::super::known::tests::{at, found};
    use super::*;
    use crate::entity::Level;

    #[test]
    fn one_line_a_provider_says_what_it_brought() {
        let mut entities = vec![
            at(found(EntityKind::Agent, "b"), Provider::Claude, Level::Project, ".claude/agents/b.md"),
            at(found(EntityKind::Skill, "a"), Provider::Claude, Level::Project, ".claude/skills/a/SKILL.md"),
            at(found(EntityKind::Skill, "a"), Provider::Claude, Level::User, "~/.claude/skills/a/SKILL.md"),
        ];
        entities.push(found(EntityKind::Command, "a"));
        let lines: Vec<String> =
            Registry::new(entities).counts().iter().map(ProviderCounts::to_string).collect();
        assert_eq!(lines, ["1 from windlass (1 command)", "3 from claude (2 skills, 1 agent)"]);
    }

    #[test]
    fn nothing_found_is_no_line() {
        assert!(Registry::default().counts().is_empty());
        assert_eq!(ProviderCounts::none(Provider::Gemini).to_string(), "0 from gemini");
    }
}
