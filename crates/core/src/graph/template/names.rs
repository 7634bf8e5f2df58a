//! Finds the names that a template or an expression uses, without running it.
//!
//! A use records its guards: an `is defined` in an enclosing condition, or a `default` filter right
//! after the name. It also records the iterations that conditions such as `iteration > 1` leave. Names
//! that the template itself defines (`for`, `set`, `with`) do not count.

mod compared;
mod facts;
mod iterations;
mod tree;
mod whole;

use std::collections::BTreeMap;

use minijinja::machinery::{parse, parse_expr};

pub use compared::{ComparedSide, Comparison, Filter, Pair, Relation, SideKnowledge, ValueKind};
pub(in crate::graph) use facts::{ITEM, output_of};
pub use iterations::IterationRange;
pub(super) use tree::start as start_of;
pub(in crate::graph) use whole::{named_item, named_value, splits_a_text};

use super::{TemplateError, TemplatePosition, at, caught, limits, syntax};
use crate::graph::workflow::{Expression, Template};

/// The names in a template or an expression, in source order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TemplateNames {
    pub uses: Vec<Use>,
    /// The uses of items of lists and of their parts: `outputs.plan.value[0].title`. The path has `[]` for
    /// the item.
    pub item_uses: Vec<Use>,
    /// The filters, tests and functions.
    pub words: Vec<UsedFunction>,
    /// Comparisons of a value with a literal.
    pub comparisons: Vec<Comparison>,
    /// Comparisons of two values, and comparisons by order.
    pub pairs: Vec<Pair>,
    /// The facts that follow if the expression is true. A template has none.
    pub if_true: ConditionFacts,
    /// The facts that follow if the expression is false.
    pub if_false: ConditionFacts,
    /// The byte offset of each `outputs` that starts an output or a part of one.
    pub(super) outputs: BTreeMap<usize, OutputSense>,
}

/// The facts that follow from the result of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConditionFacts {
    /// The values that are defined.
    pub defined: Vec<Vec<String>>,
    /// The values that are undefined.
    pub undefined: Vec<Vec<String>>,
    /// The iterations in which the condition can have this result.
    pub iterations: IterationRange,
    /// True if the condition has this result in each of these iterations.
    pub is_exact: bool,
}

/// The meaning of one `outputs.ID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OutputSense {
    /// The text of the output, without a part and without a guard.
    Text,
    /// A part of the output.
    Part,
    /// A part of an output, either of which may be missing: `default` or `is defined` follows.
    MaybePart {
        /// The byte offset of the end of the path.
        end: usize,
        /// The parts after `outputs`: texts and indexes.
        keys: Vec<serde_json::Value>,
    },
}

/// The use of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The parts of `outputs.plan.value`, up to the first computed part.
    pub path: Vec<String>,
    /// The start of the path.
    pub at: TemplatePosition,
    /// The guards around it, each as the number of parts that it tests: 2 tests `outputs.plan`.
    pub guards: Vec<usize>,
    /// The nodes without an output, by the conditions around it.
    pub absent: Vec<String>,
    /// The iterations that the conditions around it leave.
    pub iterations: IterationRange,
}

/// The use of a filter, a test or a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedFunction {
    pub kind: WordKind,
    pub name: String,
    pub at: TemplatePosition,
}

/// The kind of a word after `|`, after `is` or before parentheses.
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
    /// Returns the first part.
    pub fn root(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    /// Returns the second part, unless it is computed.
    pub fn name(&self) -> Option<&str> {
        self.path.get(1).map(String::as_str)
    }

    /// Returns whether a guard tests the first `parts` of the path, or fewer.
    pub fn is_guarded(&self, parts: usize) -> bool {
        self.guards.iter().any(|guard| *guard <= parts)
    }

    /// Returns whether the text works without the output that the path names. A guard of the output or
    /// of any part of it is enough.
    pub fn may_lack_output(&self) -> bool {
        self.root() == "outputs" && self.guards.iter().any(|guard| *guard >= 2)
    }

    /// Returns whether a guard tests exactly the first `parts` of the path.
    pub fn is_asked_for(&self, parts: usize) -> bool {
        self.guards.contains(&parts)
    }
}

impl WordKind {
    /// Returns all words of the kind.
    pub fn known(self) -> &'static [&'static str] {
        match self {
            WordKind::Filter => FILTERS,
            WordKind::Test => TESTS,
            WordKind::Function => FUNCTIONS,
        }
    }

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

/// Finds the names in a template.
pub fn names_used(template: &Template) -> Result<TemplateNames, TemplateError> {
    let source = template.0.as_str();
    limits::template(source)?;
    caught(source, || in_template(source))
}

pub(super) fn in_template(source: &str) -> Result<TemplateNames, minijinja::Error> {
    let parsed = parse(source, "template", syntax())?;
    Ok(tree::NameWalk::twice(source, |walk| walk.statement(&parsed)))
}

/// Finds the names in an expression.
pub fn names_in(expression: &Expression) -> Result<TemplateNames, TemplateError> {
    let source = expression.0.as_str();
    limits::expression(source)?;
    caught(source, || in_expression(source))
}

pub(super) fn in_expression(source: &str) -> Result<TemplateNames, minijinja::Error> {
    let parsed = parse_expr(source)?;
    let mut names = tree::NameWalk::over(source, |walk| walk.expression(&parsed));
    names.if_true = facts::of_condition(&parsed, true);
    names.if_false = facts::of_condition(&parsed, false);
    Ok(names)
}

/// Returns the value of a condition if it is always the same and the text alone decides it.
pub fn constant(expression: &Expression) -> Option<bool> {
    let source = expression.0.as_str();
    limits::expression(source).ok()?;
    caught(source, || Ok(facts::constant(&parse_expr(source)?))).ok().flatten()
}

fn place(source: &str, span: minijinja::machinery::Span) -> TemplatePosition {
    at(source, span.start_offset as usize)
}
