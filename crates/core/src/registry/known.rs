//! All entities that are known, and which of them a name means.
//!
//! Finding near names is [`search`](super::search)'s and [`miss`](super::miss)'.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use crate::entity::{Entity, EntityKind, Level, Provider};

/// All entities that are known.
///
/// Of two with one name the nearer wins: by level, then by how few folders above the work it lies,
/// then by provider, then by path. Kinds have names of their own. An alias means the entity that
/// has it, where no other has it as a name; it reaches even an entity whose name is hidden by
/// another, for it is all that tells the two apart.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    /// By kind and name; the entities of one name stand together, the winner first.
    rows: Vec<NamedEntity>,
    /// Where each winner stands in `rows`.
    winners: Vec<usize>,
    names: NameIndex,
    aliases: NameIndex,
}

/// An entity with its name as it is compared.
#[derive(Debug, Clone)]
pub(super) struct NamedEntity {
    pub(super) folded: Box<str>,
    pub(super) entity: Entity,
}

/// Which row each name means.
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
    /// Takes what was found, in any order; what was found twice in one place counts once.
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

    /// What a name means, without regard to case; a name before an alias.
    pub fn get(&self, kind: EntityKind, name: &str) -> Option<&Entity> {
        let folded = fold(name);
        let meant = |names: &NameIndex| names.of(kind).get(folded.as_ref()).copied();
        let at = meant(&self.names).or_else(|| meant(&self.aliases))?;
        self.row(at).map(|row| &row.entity)
    }

    /// Everything that is called so, whatever it is: those of that name first, then by alias.
    pub fn find(&self, name: &str) -> Vec<&Entity> {
        let mut found: Vec<&Entity> =
            EntityKind::ALL.into_iter().filter_map(|kind| self.get(kind, name)).collect();
        found.sort_by_key(|entity| fold(&entity.name) != fold(name));
        found
    }

    /// The entities that names mean, by kind and name.
    pub fn winners(&self, kind: Option<EntityKind>) -> impl Iterator<Item = &Entity> {
        self.winning_rows(kind).map(|row| &row.entity)
    }

    pub(super) fn winning_rows(&self, kind: Option<EntityKind>) -> impl Iterator<Item = &NamedEntity> {
        let wanted = move |row: &&NamedEntity| kind.is_none_or(|kind| row.entity.kind == kind);
        self.winners.iter().filter_map(|at| self.row(*at)).filter(wanted)
    }

    /// Every entity, by kind and name; of one name the winner first, then what it hides in the order
    /// in which it would win.
    pub fn all(&self) -> impl Iterator<Item = &Entity> {
        self.rows.iter().map(|row| &row.entity)
    }

    /// What an entity hides, in the order in which it would win; nothing, if it is hidden itself.
    pub fn shadows(&self, entity: &Entity) -> Vec<&Entity> {
        let mut namesakes = self.namesakes(entity);
        match namesakes.next() {
            Some(winner) if is_same(winner, entity) => namesakes.collect(),
            _ => Vec::new(),
        }
    }

    /// What hides an entity.
    pub fn shadowed_by(&self, entity: &Entity) -> Option<&Entity> {
        self.namesakes(entity).next().filter(|winner| !is_same(winner, entity))
    }

    /// The entities of one name, the winner first.
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

/// A name as it is compared: letter by letter in lower case, so that it does not depend on where in
/// a word a letter stands.
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
        // Two readings of one file: only what they say can tell them apart.
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

/// One file reached in two ways (the home folder as the project, say) is one entity.
fn drop_repeated(rows: &mut Vec<NamedEntity>) {
    let mut seen = HashSet::new();
    let is_new: Vec<bool> = rows.iter().map(|row| seen.insert(identity(&row.entity))).collect();
    let mut is_new = is_new.into_iter();
    rows.retain(|_| is_new.next().unwrap_or(true));
}

#[cfg(test)]
pub(super) mod tests;
