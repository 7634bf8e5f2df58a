//! Finds entities by part of their name, for completion.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::Registry;
use super::known::{NamedEntity, fold};
use crate::entity::{Entity, EntityKind};

/// The quality of a match, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NameFit {
    Exact,
    ExactAlias,
    Prefix,
    PrefixAlias,
    Fuzzy(Reverse<u32>),
}

impl Registry {
    /// Finds the entities whose name or alias matches a query. Exact matches come first, then names that
    /// start with the query, then names that contain its letters in order. Equal matches are sorted by name.
    /// An empty query matches everything. Hidden entities are not searched.
    pub fn search(&self, kind: Option<EntityKind>, query: &str, limit: usize) -> Vec<&Entity> {
        let mut query = SearchQuery::new(query);
        let mut fitting: Vec<(NameFit, &NamedEntity)> =
            self.winning_rows(kind).filter_map(|row| Some((query.fit(row)?, row))).collect();
        fitting.sort_by(|(a, left), (b, right)| {
            let name = |row: &NamedEntity| (row.entity.kind, row.entity.name.clone());
            a.cmp(b).then_with(|| left.folded.cmp(&right.folded)).then_with(|| name(left).cmp(&name(right)))
        });
        fitting.into_iter().take(limit).map(|(_, row)| &row.entity).collect()
    }
}

struct SearchQuery {
    folded: String,
    letters: Pattern,
    matcher: Matcher,
    chars: Vec<char>,
}

impl SearchQuery {
    fn new(query: &str) -> SearchQuery {
        let folded = fold(query.trim()).into_owned();
        // Both sides are already in lower case.
        let letters = Pattern::new(&folded, CaseMatching::Respect, Normalization::Never, AtomKind::Fuzzy);
        SearchQuery { folded, letters, matcher: Matcher::new(Config::DEFAULT), chars: Vec::new() }
    }

    /// Returns the best match among an entity's name and aliases.
    fn fit(&mut self, row: &NamedEntity) -> Option<NameFit> {
        let name = self.fit_name(&row.folded, NameFit::Exact, NameFit::Prefix);
        let aliases = row.entity.aliases.iter();
        let alias = aliases
            .filter_map(|alias| self.fit_name(&fold(alias), NameFit::ExactAlias, NameFit::PrefixAlias));
        alias.chain(name).min()
    }

    fn fit_name(&mut self, name: &str, exact: NameFit, prefix: NameFit) -> Option<NameFit> {
        if name == self.folded {
            return Some(exact);
        }
        if name.starts_with(&self.folded) {
            return Some(prefix);
        }
        let letters = Utf32Str::new(name, &mut self.chars);
        self.letters.score(letters, &mut self.matcher).map(|score| NameFit::Fuzzy(Reverse(score)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::known::tests::{also, found};
    use super::*;

    fn registry() -> Registry {
        let skills = ["Commit", "commit-all", "create-pr", "create-spec", "recommit", "review-code"];
        let mut entities = skills.map(|name| found(EntityKind::Skill, name)).to_vec();
        entities.push(also(found(EntityKind::Skill, "save"), &["commit", "commission", "CI"]));
        entities.push(found(EntityKind::Command, "commit"));
        entities.push(found(EntityKind::Agent, "demo:greeter"));
        Registry::new(entities)
    }

    fn names(kind: Option<EntityKind>, query: &str) -> Vec<String> {
        registry().search(kind, query, 20).into_iter().map(|entity| entity.name.clone()).collect()
    }

    #[test]
    fn exact_comes_before_prefix_before_fuzzy_and_names_before_aliases() {
        assert_eq!(names(Some(EntityKind::Skill), "COMMIT"), ["Commit", "save", "commit-all", "recommit"]);
        assert_eq!(names(Some(EntityKind::Skill), "ci").first().map(String::as_str), Some("save"));
        assert_eq!(names(Some(EntityKind::Skill), "create-"), ["create-pr", "create-spec"]);
    }

    #[test]
    fn letters_in_order_are_enough() {
        assert_eq!(names(None, "crpr"), ["create-pr"]);
        assert_eq!(names(None, "create spec"), ["create-spec"]);
        assert_eq!(names(None, "greet"), ["demo:greeter"]);
        assert!(names(None, "zzz").is_empty());
    }

    #[test]
    fn all_kinds_are_searched_at_once_and_no_more_than_asked_for_come_back() {
        let registry = registry();
        let found = registry.search(None, "commit", 2);
        let kinds: Vec<(EntityKind, &str)> =
            found.iter().map(|entity| (entity.kind, entity.name.as_str())).collect();
        assert_eq!(kinds, [(EntityKind::Command, "commit"), (EntityKind::Skill, "Commit")]);
        assert_eq!(registry.search(None, "", 100).len(), 9);
        assert!(registry.search(None, "commit", 0).is_empty());
    }

    #[test]
    fn a_query_is_letters_and_no_language() {
        for query in ["^commit", "!commit", "commit$", "'commit"] {
            assert!(names(None, query).is_empty(), "{query}");
        }
    }

    proptest! {
        #[test]
        fn any_query_is_answered(query in any::<String>(), name in any::<String>()) {
            let registry = Registry::new(vec![found(EntityKind::Skill, &name)]);
            registry.search(None, &query, 5);
            let itself = registry.search(None, &name, 5);
            prop_assert!(name.trim() != name || itself.len() == 1);
        }
    }
}
