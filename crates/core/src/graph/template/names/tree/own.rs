//! The names that a template defines, and the values that they stand for.

use std::collections::BTreeMap;

use minijinja::machinery::ast::Expr;

use super::super::compared::{self, Compared, Comparison, constant, equals, literals, with_named, within};
use super::super::facts::path_with_items;
use super::NameWalk;

impl NameWalk<'_> {
    /// Records that a name stands for a value, or for each item of a value.
    pub(super) fn alias(&mut self, target: &Expr<'_>, value: &Expr<'_>, item: Option<&str>) {
        let Expr::Var(name) = target else { return };
        if !self.once.contains(name.id) {
            return;
        }
        let name = name.id.to_owned();
        let Some(parts) = path_with_items(value) else {
            if item.is_none() {
                self.name_value(name, value);
            }
            return;
        };
        let Some(mut whole) = self.whole(parts) else { return };
        whole.extend(item.map(str::to_owned));
        self.aliases.insert(name, whole);
    }

    /// Records that a name stands for a literal, or for a value after filters.
    fn name_value(&mut self, name: String, value: &Expr<'_>) {
        if let Some(literal) = constant(self.source, value) {
            self.literals.insert(name, literal);
        } else if let Some(list) = literals(self.source, value) {
            self.lists.insert(name, list);
        } else if let Some(value) = compared::value(value)
            && let Some(path) = self.whole(value.path)
        {
            self.filtered.insert(name, Compared { path, ..value });
        }
    }

    /// Returns the entry of a name that the template defines.
    fn named<'n, T>(&self, names: &'n BTreeMap<String, T>, side: &Expr<'_>) -> Option<&'n T> {
        let Expr::Var(name) = side else { return None };
        names.get(name.id).filter(|_| self.is_own(name.id))
    }

    /// Reads the comparison in `left == right`.
    pub(super) fn equals(&self, left: &Expr<'_>, right: &Expr<'_>) -> Option<Comparison> {
        match (self.named(&self.literals, left), self.named(&self.literals, right)) {
            (None, Some(literal)) => with_named(left, std::slice::from_ref(literal)),
            (Some(literal), None) => with_named(right, std::slice::from_ref(literal)),
            _ => equals(self.source, left, right),
        }
    }

    /// Reads the comparison in `left in right`.
    pub(super) fn within(&self, left: &Expr<'_>, right: &Expr<'_>) -> Option<Comparison> {
        match self.named(&self.lists, right) {
            Some(list) => with_named(left, list),
            None => within(self.source, left, right),
        }
    }

    /// Replaces a name that the template defines by the path it stands for, if that is known.
    pub(super) fn whole(&self, parts: Vec<String>) -> Option<Vec<String>> {
        let Some(root) = parts.first().filter(|root| self.is_own(root)) else { return Some(parts) };
        let mut whole = self.aliases.get(root)?.clone();
        let rest = parts.get(1..).unwrap_or_default();
        // An alias of an output stands for its text.
        if whole.len() == 2 && whole.first().is_some_and(|root| root == "outputs") && !rest.is_empty() {
            whole.push("text".to_owned());
        }
        whole.extend_from_slice(rest);
        Some(whole)
    }
}
