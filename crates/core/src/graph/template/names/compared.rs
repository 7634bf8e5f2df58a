//! What a template compares with what is written out in it: `outputs.ok == "commit"`.
//!
//! Only what can be judged without running it: the value is a name in its parts, with filters behind it
//! whose effect is known. Anything else is passed over.

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, Spanned};
use serde_json::Value as Json;

use super::facts::{ITEM, path_with_items};
use super::place;
use super::tree::start;
use crate::graph::template::TemplatePosition;
use crate::graph::template::order::{NUMBER, TESTS, TEXT};

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
    pub with: Vec<(Json, TemplatePosition)>,
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

/// Two values that are compared with each other, of which at least one is not written out.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The left one.
    pub left: ComparedSide,
    /// The right one.
    pub right: ComparedSide,
    /// `<`, `<=`, `>` or `>=`; none where they are compared for being equal.
    pub sign: Option<&'static str>,
    /// Where the comparison begins.
    pub at: TemplatePosition,
}

/// One of two values that are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedSide {
    /// What it is.
    pub what: SideKnowledge,
    /// How it is written, about.
    pub written: String,
}

/// What is known of a side from the text alone.
#[derive(Debug, Clone, PartialEq)]
pub enum SideKnowledge {
    /// It is of this kind.
    Kind(ValueKind),
    /// It is what this name in its parts stands for.
    Path(Vec<String>),
}

/// Kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A text.
    Text,
    /// A number.
    Number,
    /// True or false.
    Truth,
    /// A list.
    List,
    /// An object.
    Object,
}

impl ValueKind {
    /// What a value is.
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

    /// What a filter makes, whatever it is given.
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

    /// What it is called.
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

/// The two sides of a comparison, where something is known of both.
pub(super) fn pair(
    source: &str,
    left: &Expr<'_>,
    right: &Expr<'_>,
    sign: Option<&'static str>,
) -> Option<Pair> {
    // What is compared with something written out is looked at more closely.
    if sign.is_none() && equals(source, left, right).is_some() {
        return None;
    }
    Some(Pair { left: side(left)?, right: side(right)?, sign, at: place(source, start(left)) })
}

/// The same for a test: `value is lt 3`.
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
    fn compared(self, relation: Relation, with: Vec<(Json, TemplatePosition)>) -> Comparison {
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

fn constant(source: &str, expression: &Expr<'_>) -> Option<(Json, TemplatePosition)> {
    let Expr::Const(constant) = expression else { return None };
    let value = json(&constant.value).filter(|value| !value.is_null())?;
    Some((value, place(source, Spanned::span(constant))))
}

fn json(value: &minijinja::Value) -> Option<Json> {
    serde_json::to_value(value).ok()
}
