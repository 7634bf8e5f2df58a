//! What a template compares with what is written out in it: `outputs.ok == "commit"`.
//!
//! Only what can be judged without running it: the value is a name in its parts, with filters behind it
//! whose effect is known. Anything else is passed over.

use minijinja::machinery::ast::{CallArg, Expr, Spanned};
use serde_json::Value as Json;

use super::facts::path_with_items;
use super::place;
use crate::graph::template::At;

/// A value that is compared with what is written out.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The value: `outputs.plan.value` in its parts.
    pub path: Vec<String>,
    /// The filters behind it, in their order.
    pub filters: Vec<Filter>,
    /// How it is compared.
    pub relation: Relation,
    /// What it is compared with, each with its place.
    pub with: Vec<(Json, At)>,
}

/// How a value is compared with what is written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `value == "x"`, `value in ["x", "y"]`.
    Equals,
    /// `"x" in value`.
    Holds,
}

/// A filter whose effect on a text is known.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// `lower`.
    Lower,
    /// `upper`.
    Upper,
    /// `trim`.
    Trim,
    /// `default(…)`.
    Default(Json),
}

impl Filter {
    /// The word in a template.
    pub fn word(&self) -> &'static str {
        match self {
            Filter::Lower => "lower",
            Filter::Upper => "upper",
            Filter::Trim => "trim",
            Filter::Default(_) => "default",
        }
    }

    fn read(name: &str, args: &[CallArg<'_>]) -> Option<Filter> {
        match (name, args) {
            ("lower", []) => Some(Filter::Lower),
            ("upper", []) => Some(Filter::Upper),
            ("trim", []) => Some(Filter::Trim),
            ("default" | "d", []) => Some(Filter::Default(Json::from(""))),
            ("default" | "d", [CallArg::Pos(Expr::Const(value)), ..]) => {
                json(&value.value).map(Filter::Default)
            }
            _ => None,
        }
    }
}

/// What `left == right` compares.
pub(super) fn equals(source: &str, left: &Expr<'_>, right: &Expr<'_>) -> Option<Comparison> {
    let (value, with) = match (value(left), constant(source, right)) {
        (Some(value), Some(with)) => (value, with),
        _ => (value(right)?, constant(source, left)?),
    };
    Some(value.compared(Relation::Equals, vec![with]))
}

/// What `left in right` compares.
pub(super) fn within(source: &str, left: &Expr<'_>, right: &Expr<'_>) -> Option<Comparison> {
    let items = match right {
        Expr::List(list) => Some(&list.items),
        Expr::Tuple(tuple) => Some(&tuple.items),
        _ => None,
    };
    match items {
        Some(items) => {
            let with = items.iter().filter_map(|item| constant(source, item)).collect();
            Some(value(left)?.compared(Relation::Equals, with))
        }
        None => Some(value(right)?.compared(Relation::Holds, vec![constant(source, left)?])),
    }
}

/// What a test compares: `value is eq "x"`, `value is in ["x"]`.
pub(super) fn test(source: &str, name: &str, tested: &Expr<'_>, args: &[CallArg<'_>]) -> Option<Comparison> {
    let [CallArg::Pos(arg)] = args else { return None };
    match name {
        "eq" | "equalto" | "==" | "ne" | "!=" | "sameas" => equals(source, tested, arg),
        "in" => within(source, tested, arg),
        _ => None,
    }
}

struct Compared {
    path: Vec<String>,
    filters: Vec<Filter>,
}

impl Compared {
    fn compared(self, relation: Relation, with: Vec<(Json, At)>) -> Comparison {
        Comparison { path: self.path, filters: self.filters, relation, with }
    }
}

fn value(expression: &Expr<'_>) -> Option<Compared> {
    match expression {
        Expr::Filter(filter) => {
            let mut inner = value(filter.expr.as_ref()?)?;
            inner.filters.push(Filter::read(filter.name, &filter.args)?);
            Some(inner)
        }
        other => Some(Compared { path: path_with_items(other)?, filters: Vec::new() }),
    }
}

fn constant(source: &str, expression: &Expr<'_>) -> Option<(Json, At)> {
    let Expr::Const(constant) = expression else { return None };
    let value = json(&constant.value).filter(|value| !value.is_null())?;
    Some((value, place(source, Spanned::span(constant))))
}

fn json(value: &minijinja::Value) -> Option<Json> {
    serde_json::to_value(value).ok()
}
