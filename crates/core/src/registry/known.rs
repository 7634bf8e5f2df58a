//! All known entities, and the entity that a name refers to.
//!
//! [`search`](super::search) and [`unknown_name`](super::unknown_name) find similar names.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use crate::entity::{Entity, EntityKind, Level, Provider};

/// All known entities.
///
/// If two entities share a name, the nearer one wins: by level, then by the number of folders above the
/// working folder, then by provider, then by path. Each kind has its own namespace.
///
/// A name takes precedence over an alias. An alias also reaches an entity whose name is hidden, because
/// nothing else distinguishes the two.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// Sorted by kind and name. Entities of the same name are adjacent, the winner first.
    rows: Vec<NamedEntity>,
    /// The positions of the winners in `rows`.
    winners: Vec<usize>,
    names: NameIndex,
    aliases: NameIndex,
}

/// An entity and its name in comparable form.
#[derive(Debug, Clone)]
pub(super) struct NamedEntity {
    pub(super) folded: Box<str>,
    pub(super) entity: Entity,
}

/// A map from each name to its row.
#[derive(Debug, Clone, Default)]
struct NameIndex {
    commands: HashMap<Box<str>, usize>,
    skills: HashMap<Box<str>, usize>,
    agents: HashMap<Box<str>, usize>,
}

impl NameIndex {
    fn of(&self, kind: EntityKind) -> &HashMap<Box<str>, usize> {
        match kind {
            EntityKind::Command => &self.commands,
            EntityKind::Skill => &self.skills,
            EntityKind::Agent => &self.agents,
        }
    }

    fn of_mut(&mut self, kind: EntityKind) -> &mut HashMap<Box<str>, usize> {
        match kind {
            EntityKind::Command => &mut self.commands,
            EntityKind::Skill => &mut self.skills,
            EntityKind::Agent => &mut self.agents,
        }
    }
}

impl Registry {
    /// Creates a registry from entities in any order. Entities found twice at the same place count once.
    pub fn new(entities: Vec<Entity>) -> Registry {
        let row = |entity: Entity| NamedEntity { folded: fold(&entity.name).into(), entity };
        let mut rows: Vec<NamedEntity> = entities.into_iter().map(row).collect();
        rows.sort_unstable_by(order);
        drop_repeated(&mut rows);
        let mut registry = Registry { rows, ..Registry::default() };
        registry.name_winners();
        registry.name_aliases();
        registry
    }

    fn name_winners(&mut self) {
        for (at, row) in self.rows.iter().enumerate() {
            let names = self.names.of_mut(row.entity.kind);
            if !names.contains_key(&row.folded) {
                names.insert(row.folded.clone(), at);
                self.winners.push(at);
            }
        }
    }

    fn name_aliases(&mut self) {
        let mut by_precedence: Vec<usize> = (0..self.rows.len()).collect();
        by_precedence.retain(|at| self.row(*at).is_some_and(|row| !row.entity.aliases.is_empty()));
        let winners: HashSet<usize> = self.winners.iter().copied().collect();
        let rank =
            |at: &usize| self.row(*at).map(|row| (!winners.contains(at), precedence(&row.entity), *at));
        by_precedence.sort_unstable_by(|a, b| rank(a).cmp(&rank(b)));
        let Registry { rows, aliases, .. } = self;
        for at in by_precedence {
            let Some(NamedEntity { entity, .. }) = rows.get(at) else { continue };
            for alias in &entity.aliases {
                aliases.of_mut(entity.kind).entry(fold(alias).into()).or_insert(at);
            }
        }
    }

    /// Returns the entity that a name refers to. Ignores case, and prefers a name to an alias.
    pub fn get(&self, kind: EntityKind, name: &str) -> Option<&Entity> {
        let folded = fold(name);
        let meant = |names: &NameIndex| names.of(kind).get(folded.as_ref()).copied();
        let at = meant(&self.names).or_else(|| meant(&self.aliases))?;
        self.row(at).map(|row| &row.entity)
    }

    /// Returns the entities of every kind with this name: first by name, then by alias.
    pub fn find(&self, name: &str) -> Vec<&Entity> {
        let mut found: Vec<&Entity> =
            EntityKind::ALL.into_iter().filter_map(|kind| self.get(kind, name)).collect();
        found.sort_by_key(|entity| fold(&entity.name) != fold(name));
        found
    }

    /// Returns the entities that are not hidden, by kind and name.
    pub fn winners(&self, kind: Option<EntityKind>) -> impl Iterator<Item = &Entity> {
        self.winning_rows(kind).map(|row| &row.entity)
    }

    pub(super) fn winning_rows(&self, kind: Option<EntityKind>) -> impl Iterator<Item = &NamedEntity> {
        let wanted = move |row: &&NamedEntity| kind.is_none_or(|kind| row.entity.kind == kind);
        self.winners.iter().filter_map(|at| self.row(*at)).filter(wanted)
    }

    /// Returns every entity, by kind and name. For each name the winner comes first, then the entities that
    /// it hides in order of precedence.
    pub fn all(&self) -> impl Iterator<Item = &Entity> {
        self.rows.iter().map(|row| &row.entity)
    }

    /// Returns the entities that this entity hides, in order of precedence. A hidden entity hides none.
    pub fn shadows(&self, entity: &Entity) -> Vec<&Entity> {
        let mut namesakes = self.namesakes(entity);
        match namesakes.next() {
            Some(winner) if is_same(winner, entity) => namesakes.collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the entity that hides this one.
    pub fn shadowed_by(&self, entity: &Entity) -> Option<&Entity> {
        self.namesakes(entity).next().filter(|winner| !is_same(winner, entity))
    }

    /// Returns the entities with the same name, the winner first.
    fn namesakes(&self, entity: &Entity) -> impl Iterator<Item = &Entity> {
        let folded = fold(&entity.name).into_owned();
        let kind = entity.kind;
        let first = self.names.of(kind).get(folded.as_str()).copied().unwrap_or(self.rows.len());
        let same_name = move |row: &&NamedEntity| row.entity.kind == kind && *row.folded == *folded;
        self.rows.iter().skip(first).take_while(same_name).map(|row| &row.entity)
    }

    fn row(&self, at: usize) -> Option<&NamedEntity> {
        self.rows.get(at)
    }
}

/// Returns a name in comparable form. Lowercases letter by letter, so the result does not depend on a
/// letter's position in the word.
pub(super) fn fold(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(name.chars().flat_map(char::to_lowercase).collect())
}

fn order(a: &NamedEntity, b: &NamedEntity) -> Ordering {
    (a.entity.kind, &a.folded)
        .cmp(&(b.entity.kind, &b.folded))
        .then_with(|| precedence(&a.entity).cmp(&precedence(&b.entity)))
        .then_with(|| a.entity.name.cmp(&b.entity.name))
        // The same file may be read twice. Then only the content differs.
        .then_with(|| in_full(&a.entity).cmp(&in_full(&b.entity)))
}

type Precedence<'e> = (Level, u16, Provider, &'e str, u32);

fn precedence(entity: &Entity) -> Precedence<'_> {
    let source = &entity.source;
    (source.level, source.distance, source.provider, &source.path, source.line)
}

fn in_full(entity: &Entity) -> String {
    serde_json::to_string(entity).unwrap_or_default()
}

fn is_same(a: &Entity, b: &Entity) -> bool {
    identity(a) == identity(b)
}

fn identity(entity: &Entity) -> (EntityKind, &str, &str, u32) {
    (entity.kind, &entity.name, &entity.source.path, entity.source.line)
}

/// Removes entities that were reached twice, for example if the home folder is also the project.
fn drop_repeated(rows: &mut Vec<NamedEntity>) {
    let mut seen = HashSet::new();
    let is_new: Vec<bool> = rows.iter().map(|row| seen.insert(identity(&row.entity))).collect();
    let mut is_new = is_new.into_iter();
    rows.retain(|_| is_new.next().unwrap_or(true));
}

#[cfg(test)]
pub(super) mod tests;
