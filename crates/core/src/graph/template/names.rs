//! Which names a template or an expression uses, without running it.
//!
//! A use knows whether something around it asks first whether the name is defined: `is defined`
//! in the condition it stands under, or a `default` right behind it. Names that the template
//! makes itself (`for`, `set`, `with`) are no uses.

mod compared;
mod facts;
mod tree;

use std::collections::BTreeMap;

use minijinja::machinery::{parse, parse_expr};

pub use compared::{ComparedSide, Comparison, Filter, Pair, Relation, SideKnowledge, ValueKind};
pub(in crate::graph) use facts::ITEM;

use super::{TemplateError, TemplatePosition, at, caught, limits, syntax};
use crate::graph::workflow::{Expression, Template};

/// What a template or an expression refers to, in the order of the text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TemplateNames {
    /// Values.
    pub uses: Vec<Use>,
    /// Filters, tests and functions.
    pub words: Vec<UsedFunction>,
    /// What is compared with what is written out.
    pub comparisons: Vec<Comparison>,
    /// What is compared with each other, or by its order.
    pub pairs: Vec<Pair>,
    /// Where `outputs` begins an output or a part of one, in bytes from 0.
    pub(super) outputs: BTreeMap<usize, OutputSense>,
}

/// What `outputs.ID` means at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputSense {
    /// The text of the output: nothing follows, and nothing asks whether it is there.
    Text,
    /// An output of which a part is taken.
    Part,
}

/// A value that is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// `outputs.plan.value` in its parts, as far as they are written out.
    pub path: Vec<String>,
    /// Where it begins.
    pub at: TemplatePosition,
    /// What stands around it asks whether so many of its parts are defined: 2 is `outputs.plan`.
    pub guards: Vec<usize>,
}

/// A filter, a test or a function that is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedFunction {
    /// What it is.
    pub kind: WordKind,
    /// Its name.
    pub name: String,
    /// Where.
    pub at: TemplatePosition,
}

/// What kind of word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    /// `value | NAME`.
    Filter,
    /// `value is NAME`.
    Test,
    /// `NAME()`.
    Function,
}

impl Use {
    /// The first part.
    pub fn root(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    /// The second part, where it is written out.
    pub fn name(&self) -> Option<&str> {
        self.path.get(1).map(String::as_str)
    }

    /// Whether it is only used where its first `parts` are defined.
    pub fn is_guarded(&self, parts: usize) -> bool {
        self.guards.iter().any(|guard| *guard <= parts)
    }

    /// Whether it is only used where the last of its first `parts` is there.
    pub fn is_asked_for(&self, parts: usize) -> bool {
        self.guards.contains(&parts)
    }
}

impl WordKind {
    /// All words of the kind that there are.
    pub fn known(self) -> &'static [&'static str] {
        match self {
            WordKind::Filter => FILTERS,
            WordKind::Test => TESTS,
            WordKind::Function => FUNCTIONS,
        }
    }

    /// What it is called.
    pub fn word(self) -> &'static str {
        match self {
            WordKind::Filter => "filter",
            WordKind::Test => "test",
            WordKind::Function => "function",
        }
    }
}

const FILTERS: &[&str] = &[
    "abs",
    "attr",
    "bool",
    "capitalize",
    "chain",
    "count",
    "d",
    "default",
    "dictsort",
    "first",
    "float",
    "groupby",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "lines",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "select",
    "selectattr",
    "sort",
    "split",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "unique",
    "upper",
    "zip",
];

const TESTS: &[&str] = &[
    "!=",
    "<",
    "<=",
    "==",
    ">",
    ">=",
    "boolean",
    "defined",
    "divisibleby",
    "endingwith",
    "eq",
    "equalto",
    "even",
    "false",
    "filter",
    "float",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "int",
    "integer",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "mapping",
    "ne",
    "none",
    "number",
    "odd",
    "sameas",
    "sequence",
    "startingwith",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
];

const FUNCTIONS: &[&str] = &["dict", "range"];

/// What a template refers to.
pub fn names_used(template: &Template) -> Result<TemplateNames, TemplateError> {
    let source = template.0.as_str();
    limits::template(source)?;
    caught(source, || in_template(source))
}

pub(super) fn in_template(source: &str) -> Result<TemplateNames, minijinja::Error> {
    let parsed = parse(source, "template", syntax())?;
    Ok(tree::NameWalk::twice(source, |walk| walk.statement(&parsed)))
}

/// What an expression refers to.
pub fn names_in(expression: &Expression) -> Result<TemplateNames, TemplateError> {
    let source = expression.0.as_str();
    limits::expression(source)?;
    caught(source, || in_expression(source))
}

pub(super) fn in_expression(source: &str) -> Result<TemplateNames, minijinja::Error> {
    let parsed = parse_expr(source)?;
    Ok(tree::NameWalk::over(source, |walk| walk.expression(&parsed)))
}

/// What a condition always is, where that can be told from its text alone.
pub fn constant(expression: &Expression) -> Option<bool> {
    let source = expression.0.as_str();
    limits::expression(source).ok()?;
    caught(source, || Ok(facts::constant(&parse_expr(source)?))).ok().flatten()
}

fn place(source: &str, span: minijinja::machinery::Span) -> TemplatePosition {
    at(source, span.start_offset as usize)
}
