//! Finds comparisons in a template, such as `outputs.ok == "commit"`.
//!
//! Only comparisons that can be judged without a run count: the value is a plain path, followed at
//! most by filters with a known effect.

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, Filter as AstFilter, Spanned};
use serde_json::Value as Json;

use super::facts::{ITEM, path_with_items};
use super::place;
use super::tree::start;
use crate::graph::template::TemplatePosition;
use crate::graph::template::order::{NUMBER, TESTS, TEXT};

/// A comparison of a value with literals.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The parts of the value: `outputs.plan.value`.
    pub path: Vec<String>,
    /// The filters after it, in order.
    pub filters: Vec<Filter>,
    pub relation: Relation,
    /// The literals, each with its position.
    pub with: Vec<(Json, TemplatePosition)>,
}

/// The kind of a comparison with a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `value == "x"`, `value in ["x", "y"]`.
    Equals,
    /// `"x" in value`.
    Holds,
    /// `value in "x y"`.
    PartOf,
}

/// A filter with a known effect on text.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    Lower,
    Upper,
    Trim,
    Capitalize,
    /// `default(…)`.
    Default(Json),
}

/// A comparison of two values, at least one of which is not a literal.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    pub left: ComparedSide,
    pub right: ComparedSide,
    /// `<`, `<=`, `>` or `>=`; `None` for a test of equality.
    pub sign: Option<&'static str>,
    /// The start of the comparison.
    pub at: TemplatePosition,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedSide {
    pub what: SideKnowledge,
    /// The approximate source text, for messages.
    pub written: String,
}

/// The knowledge about a side from the source alone.
#[derive(Debug, Clone, PartialEq)]
pub enum SideKnowledge {
    Kind(ValueKind),
    /// The side is this path.
    Path(Vec<String>),
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Text,
    Number,
    Truth,
    List,
    Object,
}

impl ValueKind {
    /// Returns the kind of a value; `None` for null.
    pub fn of(value: &Json) -> Option<ValueKind> {
        match value {
            Json::Null => None,
            Json::Bool(_) => Some(ValueKind::Truth),
            Json::Number(_) => Some(ValueKind::Number),
            Json::String(_) => Some(ValueKind::Text),
            Json::Array(_) => Some(ValueKind::List),
            Json::Object(_) => Some(ValueKind::Object),
        }
    }

    /// Returns the kind that a filter produces for any input.
    fn made_by(filter: &str) -> Option<ValueKind> {
        match filter {
            "length" | "count" | "int" | "float" | "round" | "abs" => Some(ValueKind::Number),
            "lower" | "upper" | "trim" | "capitalize" | "title" | "replace" | "join" | "string"
            | "tojson" | "indent" => Some(ValueKind::Text),
            "list" | "split" | "lines" => Some(ValueKind::List),
            "bool" => Some(ValueKind::Truth),
            _ => None,
        }
    }

    /// Returns the kind in words, for messages.
    pub fn word(self) -> &'static str {
        match self {
            ValueKind::Text => TEXT,
            ValueKind::Number => NUMBER,
            ValueKind::Truth => "true or false",
            ValueKind::List => "a list",
            ValueKind::Object => "an object",
        }
    }
}

/// Returns the two sides of a comparison, if something is known about both.
pub(super) fn pair(
    source: &str,
    left: &Expr<'_>,
    right: &Expr<'_>,
    sign: Option<&'static str>,
) -> Option<Pair> {
    // `Comparison` covers a comparison with a literal, in more detail.
    if sign.is_none() && equals(source, left, right).is_some() {
        return None;
    }
    Some(Pair { left: side(left)?, right: side(right)?, sign, at: place(source, start(left)) })
}

/// Does the same for a test: `value is lt 3`.
pub(super) fn tested(source: &str, name: &str, tested: &Expr<'_>, args: &[CallArg<'_>]) -> Option<Pair> {
    let [CallArg::Pos(arg)] = args else { return None };
    match name {
        "eq" | "equalto" | "==" | "ne" | "!=" | "sameas" => pair(source, tested, arg, None),
        _ => {
            let (_, sign) = TESTS.into_iter().find(|(word, _)| *word == name)?;
            pair(source, tested, arg, Some(sign))
        }
    }
}

fn side(expression: &Expr<'_>) -> Option<ComparedSide> {
    let known = |kind, written: &str| {
        Some(ComparedSide { what: SideKnowledge::Kind(kind), written: written.to_owned() })
    };
    match expression {
        Expr::Const(constant) => {
            let value = json(&constant.value)?;
            known(ValueKind::of(&value)?, &value.to_string())
        }
        Expr::List(_) | Expr::Tuple(_) => known(ValueKind::List, "[…]"),
        Expr::Map(_) => known(ValueKind::Object, "{…}"),
        Expr::BinOp(two) if matches!(two.op, BinOpKind::Concat) => known(ValueKind::Text, "… ~ …"),
        Expr::Filter(filter) => {
            let inner =
                filter.expr.as_ref().and_then(side).map_or_else(|| "…".to_owned(), |side| side.written);
            known(ValueKind::made_by(filter.name)?, &format!("{inner} | {}", filter.name))
        }
        other => {
            let path = path_with_items(other)?;
            let written = path.join(".").replace(&format!(".{ITEM}"), ITEM);
            Some(ComparedSide { what: SideKnowledge::Path(path), written })
        }
    }
}

impl Filter {
    /// Returns the name of the filter in a template.
    pub fn word(&self) -> &'static str {
        match self {
            Filter::Lower => "lower",
            Filter::Upper => "upper",
            Filter::Trim => "trim",
            Filter::Capitalize => "capitalize",
            Filter::Default(_) => "default",
        }
    }

    fn read(name: &str, args: &[CallArg<'_>]) -> Option<Filter> {
        match (name, args) {
            ("lower", []) => Some(Filter::Lower),
            ("upper", []) => Some(Filter::Upper),
            ("trim", []) => Some(Filter::Trim),
            ("capitalize", []) => Some(Filter::Capitalize),
            ("default" | "d", []) => Some(Filter::Default(Json::from(""))),
            ("default" | "d", [CallArg::Pos(Expr::Const(value)), ..]) => {
                json(&value.value).map(Filter::Default)
            }
            _ => None,
        }
    }
}

/// Reads the comparison in `left == right`.
pub(super) fn equals(source: &str, left: &Expr<'_>, right: &Expr<'_>) -> Option<Comparison> {
    let (value, with) = match (value(left), constant(source, right)) {
        (Some(value), Some(with)) => (value, with),
        _ => (value(right)?, constant(source, left)?),
    };
    Some(value.compared(Relation::Equals, vec![with]))
}

/// Reads the comparison in `left in right`.
pub(super) fn within(source: &str, left: &Expr<'_>, right: &Expr<'_>) -> Option<Comparison> {
    match literals(source, right) {
        Some(with) => Some(value(left)?.compared(Relation::Equals, with)),
        None => match (value(left), constant(source, right)) {
            (Some(value), Some(text)) => Some(value.compared(Relation::PartOf, vec![text])),
            _ => Some(value(right)?.compared(Relation::Holds, vec![constant(source, left)?])),
        },
    }
}

/// Reads the comparison in a filter: `list | selectattr("kind", "eq", "x")`, `list | reject("eq", "x")`.
pub(super) fn selected(source: &str, filter: &AstFilter<'_>) -> Option<Comparison> {
    let mut path = path_with_items(filter.expr.as_ref()?)?;
    path.push(ITEM.to_owned());
    let mut args: Vec<&Expr<'_>> = Vec::new();
    for arg in &filter.args {
        let CallArg::Pos(arg) = arg else { return None };
        args.push(arg);
    }
    if matches!(filter.name, "selectattr" | "rejectattr") {
        let Some(Expr::Const(part)) = (!args.is_empty()).then(|| args.remove(0)) else { return None };
        path.extend(part.value.as_str()?.split('.').map(str::to_owned));
    } else if !matches!(filter.name, "select" | "reject") {
        return None;
    }
    let [Expr::Const(test), with] = args.as_slice() else { return None };
    let with = match (test.value.as_str()?, with) {
        ("eq" | "equalto" | "==" | "ne" | "!=" | "sameas", with) => vec![constant(source, with)?],
        ("in", list) => literals(source, list)?,
        _ => return None,
    };
    Some(Compared { path, filters: Vec::new() }.compared(Relation::Equals, with))
}

/// Returns the literals in a list.
pub(super) fn literals(source: &str, list: &Expr<'_>) -> Option<Vec<(Json, TemplatePosition)>> {
    let items = match list {
        Expr::List(list) => &list.items,
        Expr::Tuple(tuple) => &tuple.items,
        _ => return None,
    };
    Some(items.iter().filter_map(|item| constant(source, item)).collect())
}

/// Reads the comparison of a value with literals that have a name: `{% set x = "bug" %}{{ value == x }}`.
pub(super) fn with_named(left: &Expr<'_>, literals: &[(Json, TemplatePosition)]) -> Option<Comparison> {
    Some(value(left)?.compared(Relation::Equals, literals.to_vec()))
}

/// Reads the comparison in a test: `value is eq "x"`, `value is in ["x"]`.
pub(super) fn test(source: &str, name: &str, tested: &Expr<'_>, args: &[CallArg<'_>]) -> Option<Comparison> {
    let [CallArg::Pos(arg)] = args else { return None };
    match name {
        "eq" | "equalto" | "==" | "ne" | "!=" | "sameas" => equals(source, tested, arg),
        "in" => within(source, tested, arg),
        _ => None,
    }
}

/// A value that is compared.
#[derive(Debug, Clone)]
pub(super) struct Compared {
    pub(super) path: Vec<String>,
    pub(super) filters: Vec<Filter>,
}

impl Compared {
    fn compared(self, relation: Relation, with: Vec<(Json, TemplatePosition)>) -> Comparison {
        Comparison { path: self.path, filters: self.filters, relation, with }
    }
}

pub(super) fn value(expression: &Expr<'_>) -> Option<Compared> {
    match expression {
        Expr::Filter(filter) => {
            let mut inner = value(filter.expr.as_ref()?)?;
            if matches!(filter.name, "first" | "last") && filter.args.is_empty() && inner.filters.is_empty() {
                inner.path.push(ITEM.to_owned());
                return Some(inner);
            }
            inner.filters.push(Filter::read(filter.name, &filter.args)?);
            Some(inner)
        }
        other => Some(Compared { path: path_with_items(other)?, filters: Vec::new() }),
    }
}

/// Returns a literal, unless it is null.
pub(super) fn constant(source: &str, expression: &Expr<'_>) -> Option<(Json, TemplatePosition)> {
    let (value, span) = match expression {
        Expr::Const(constant) => (constant.value.clone(), Spanned::span(constant)),
        // `-1`
        Expr::UnaryOp(negated) => (expression.as_const()?, Spanned::span(negated)),
        _ => return None,
    };
    Some((json(&value).filter(|value| !value.is_null())?, place(source, span)))
}

fn json(value: &minijinja::Value) -> Option<Json> {
    serde_json::to_value(value).ok()
}
