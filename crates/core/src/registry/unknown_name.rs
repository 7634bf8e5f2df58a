//! The error for an unknown entity name, with a suggestion.

use std::fmt;

use super::Registry;
use super::known::fold;
use crate::entity::{Entity, EntityKind};

/// The maximum length of a name that is compared or shown in a message.
const COMPARED: usize = 60;

/// A name that no entity of this kind has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// The kind that was asked for.
    pub kind: EntityKind,
    /// The name as given.
    pub name: String,
    /// The most similar name, if any is similar enough.
    pub near: Option<String>,
    /// Another kind that has an entity of this name.
    pub elsewhere: Option<EntityKind>,
}

impl Registry {
    /// Returns the entity that a name refers to. Fails with a suggestion.
    pub fn lookup(&self, kind: EntityKind, name: &str) -> Result<&Entity, UnknownName> {
        if let Some(entity) = self.get(kind, name) {
            return Ok(entity);
        }
        let near = self.suggest(kind, name).map(str::to_owned);
        let elsewhere = EntityKind::ALL.into_iter().find(|other| self.get(*other, name).is_some());
        Err(UnknownName { kind, name: name.to_owned(), near, elsewhere })
    }

    /// Suggests a name or alias. Prefers a name in a plugin or folder that ends with exactly this name, then
    /// the name with the fewest typing errors.
    pub fn suggest(&self, kind: EntityKind, name: &str) -> Option<&str> {
        if name.chars().nth(COMPARED).is_some() {
            return None;
        }
        let plain = simplified(name);
        let length = plain.chars().count();
        // One error in a short name, up to three in a long one, but never every letter.
        let allowed = (length / 3).clamp(1, 3).min(length.saturating_sub(1));
        let slips = |candidate: &str| {
            let last = candidate.rsplit([':', '/']).next().unwrap_or(candidate);
            if fold(last) == fold(name) {
                return Some(0);
            }
            let candidate = simplified(candidate);
            if candidate.chars().count().abs_diff(length) > allowed {
                return None;
            }
            Some(strsim::osa_distance(&plain, &candidate)).filter(|slips| *slips <= allowed)
        };
        let names = self.winners(Some(kind)).flat_map(|entity| {
            std::iter::once(entity.name.as_str()).chain(entity.aliases.iter().map(String::as_str))
        });
        names.filter_map(|name| Some((slips(name)?, name))).min().map(|(_, name)| name)
    }
}

/// Removes case and separators, so that `create_pr` and `Create-PR` are the same.
fn simplified(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

impl UnknownName {
    /// Returns the message without the suggestion.
    pub fn text(&self) -> String {
        let text = format!("{} not found: {}", self.kind, quoted(&self.name));
        match self.elsewhere {
            Some(kind) => format!("{text} (there is {} of that name)", one(kind)),
            None => text,
        }
    }

    /// Returns a hint with the most similar name.
    pub fn suggestion(&self) -> Option<String> {
        self.near.as_ref().map(|near| format!("did you mean `{near}`?"))
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} not found: {}", self.kind, quoted(&self.name))?;
        match (&self.near, self.elsewhere) {
            (None, None) => Ok(()),
            (Some(near), None) => write!(f, " (did you mean {}?)", quoted(near)),
            (None, Some(kind)) => write!(f, " (there is {} of that name)", one(kind)),
            (Some(near), Some(kind)) => {
                write!(f, " (did you mean {}?), but there is {} of that name", quoted(near), one(kind))
            }
        }
    }
}

impl std::error::Error for UnknownName {}

/// Quotes and shortens a name for a message.
fn quoted(name: &str) -> String {
    if name.chars().nth(COMPARED).is_none() {
        return format!("{name:?}");
    }
    format!("{:?}", name.chars().take(COMPARED).chain(['…']).collect::<String>())
}

fn one(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::Command => "a command",
        EntityKind::Skill => "a skill",
        EntityKind::Agent => "an agent",
    }
}

#[cfg(test)]
mod tests {
    use super::super::known::tests::{also, found};
    use super::*;

    fn registry() -> Registry {
        let skills = ["commit", "create-pr", "demo:greet", "explain-code", "go"];
        let mut entities = skills.map(|name| found(EntityKind::Skill, name)).to_vec();
        entities.push(also(found(EntityKind::Skill, "save"), &["keep-it"]));
        entities.push(found(EntityKind::Agent, "debugger"));
        entities.push(found(EntityKind::Agent, "explain-cod"));
        Registry::new(entities)
    }

    fn miss(name: &str) -> String {
        registry().lookup(EntityKind::Skill, name).unwrap_err().to_string()
    }

    #[test]
    fn a_miss_names_what_was_probably_meant() {
        assert_eq!(miss("comit"), r#"skill not found: "comit" (did you mean "commit"?)"#);
        assert_eq!(miss("Create_PR"), r#"skill not found: "Create_PR" (did you mean "create-pr"?)"#);
        assert_eq!(miss("keepit"), r#"skill not found: "keepit" (did you mean "keep-it"?)"#);
        assert_eq!(miss("Greet"), r#"skill not found: "Greet" (did you mean "demo:greet"?)"#);
    }

    #[test]
    fn nothing_is_suggested_when_nothing_is_near() {
        assert_eq!(miss("deploy"), r#"skill not found: "deploy""#);
        assert_eq!(miss(""), r#"skill not found: """#);
        assert_eq!(miss("x"), r#"skill not found: "x""#);
        assert_eq!(miss("xy"), r#"skill not found: "xy""#);
    }

    #[test]
    fn another_kind_of_that_name_is_mentioned() {
        assert_eq!(miss("debugger"), r#"skill not found: "debugger" (there is an agent of that name)"#);
        assert_eq!(
            miss("explain-cod"),
            r#"skill not found: "explain-cod" (did you mean "explain-code"?), but there is an agent of that name"#
        );
    }

    #[test]
    fn a_hostile_name_is_shown_harmlessly_and_briefly() {
        assert_eq!(miss("a\u{1b}[2J\n"), r#"skill not found: "a\u{1b}[2J\n""#);
        assert!(miss(&"x".repeat(100_000)).len() < 100);
    }

    #[test]
    fn a_hit_is_the_entity() {
        assert_eq!(
            registry().lookup(EntityKind::Skill, "COMMIT").map(|entity| entity.name.clone()),
            Ok("commit".into())
        );
    }
}
