//! Facts about a condition: the names it tests, and its value if that is constant.

use minijinja::machinery::ast::{BinOpKind, Expr, UnaryOpKind};

use super::ConditionFacts;
use super::iterations::iterations;

/// Returns the parts of an expression such as `a.b["c"]`, if it is a plain path.
pub(super) fn path(expression: &Expr<'_>) -> Option<Vec<String>> {
    match expression {
        Expr::Var(var) => Some(vec![var.id.to_owned()]),
        Expr::GetAttr(attr) => {
            let mut parts = path(&attr.expr)?;
            parts.push(attr.name.to_owned());
            Some(parts)
        }
        Expr::GetItem(item) => {
            let mut parts = path(&item.expr)?;
            let Expr::Const(key) = &item.subscript_expr else { return None };
            parts.push(key.value.as_str()?.to_owned());
            Some(parts)
        }
        _ => None,
    }
}

/// The part of a path that stands for any item of a list.
pub(in crate::graph) const ITEM: &str = "[]";

/// Does the same, but allows items of lists: `a.b[0].c`.
pub(super) fn path_with_items(expression: &Expr<'_>) -> Option<Vec<String>> {
    match expression {
        Expr::Var(var) => Some(vec![var.id.to_owned()]),
        Expr::GetAttr(attr) => {
            let mut parts = path_with_items(&attr.expr)?;
            parts.push(attr.name.to_owned());
            Some(parts)
        }
        Expr::GetItem(item) => {
            let mut parts = path_with_items(&item.expr)?;
            let Expr::Const(key) = &item.subscript_expr else { return None };
            let part = match key.value.as_str() {
                Some(name) => name,
                None => key.value.as_i64().map(|_| ITEM)?,
            };
            parts.push(part.to_owned());
            Some(parts)
        }
        _ => None,
    }
}

/// Returns the keys after the root of a path: `["b", 0]` for `a.b[0]`. All of them must be literals.
pub(super) fn keys(expression: &Expr<'_>) -> Option<Vec<serde_json::Value>> {
    match expression {
        Expr::Var(_) => Some(Vec::new()),
        Expr::GetAttr(attr) => {
            let mut keys = keys(&attr.expr)?;
            keys.push(attr.name.into());
            Some(keys)
        }
        Expr::GetItem(item) => {
            let mut keys = keys(&item.expr)?;
            let Expr::Const(key) = &item.subscript_expr else { return None };
            let text = key.value.as_str().map(serde_json::Value::from);
            keys.push(text.or_else(|| key.value.as_i64().map(serde_json::Value::from))?);
            Some(keys)
        }
        _ => None,
    }
}

/// Returns the facts that follow if the condition evaluates to `holds`.
pub(super) fn of_condition(condition: &Expr<'_>, holds: bool) -> ConditionFacts {
    let is_iteration = |side: &Expr<'_>| matches!(side, Expr::Var(var) if var.id == "iteration");
    let (iterations, is_exact) = iterations(condition, holds, &is_iteration);
    let (defined, undefined) = (defined(condition, holds), undefined(condition, holds));
    ConditionFacts { defined, undefined, iterations, is_exact }
}

/// Returns the names that must be defined if the condition evaluates to `holds`.
pub(super) fn defined(condition: &Expr<'_>, holds: bool) -> Vec<Vec<String>> {
    tested(condition, holds, "defined", "undefined")
}

/// Returns the names that must be undefined if the condition evaluates to `holds`.
pub(super) fn undefined(condition: &Expr<'_>, holds: bool) -> Vec<Vec<String>> {
    tested(condition, holds, "undefined", "defined")
}

/// Returns the names that pass the test `word` if the condition evaluates to `holds`. `opposite` is the
/// test that then fails.
fn tested(condition: &Expr<'_>, holds: bool, word: &str, opposite: &str) -> Vec<Vec<String>> {
    match condition {
        Expr::UnaryOp(not) if matches!(not.op, UnaryOpKind::Not) => tested(&not.expr, !holds, word, opposite),
        Expr::BinOp(both) if joins(both.op, holds) => {
            let mut names = tested(&both.left, holds, word, opposite);
            names.extend(tested(&both.right, holds, word, opposite));
            names
        }
        Expr::Test(test) => {
            let passes = (test.name == word && holds) || (test.name == opposite && !holds);
            path_with_items(&test.expr).filter(|_| passes).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the id of the node whose output is missing exactly if this value is.
pub(in crate::graph) fn output_of(path: &[String]) -> Option<&str> {
    match path {
        [root, id] if root == "outputs" => Some(id),
        // Every output has these parts.
        [root, id, part] if root == "outputs" && ["text", "status", "failed"].contains(&part.as_str()) => {
            Some(id)
        }
        _ => None,
    }
}

/// Returns whether both sides must evaluate to `holds` if the whole does.
pub(super) fn joins(op: BinOpKind, holds: bool) -> bool {
    match op {
        BinOpKind::ScAnd => holds,
        BinOpKind::ScOr => !holds,
        _ => false,
    }
}

/// Returns the constant value of a condition.
pub(super) fn constant(condition: &Expr<'_>) -> Option<bool> {
    match condition {
        Expr::Const(value) => Some(value.value.is_true()),
        Expr::UnaryOp(not) if matches!(not.op, UnaryOpKind::Not) => constant(&not.expr).map(|value| !value),
        Expr::BinOp(both) => {
            let (left, right) = (&both.left, &both.right);
            match both.op {
                BinOpKind::ScAnd => {
                    either(left, right, false).or_else(|| contradicts(condition).then_some(false))
                }
                BinOpKind::ScOr => either(left, right, true),
                op => compared(op, left, right),
            }
        }
        _ => None,
    }
}

/// Combines two sides: one side with the value `deciding` decides alone, else both must be known.
fn either(left: &Expr<'_>, right: &Expr<'_>, deciding: bool) -> Option<bool> {
    let (left, right) = (constant(left), constant(right));
    if left == Some(deciding) || right == Some(deciding) {
        return Some(deciding);
    }
    left.and(right)
}

fn compared(op: BinOpKind, left: &Expr<'_>, right: &Expr<'_>) -> Option<bool> {
    let (Expr::Const(left), Expr::Const(right)) = (left, right) else { return None };
    let (left, right) = (&left.value, &right.value);
    match op {
        BinOpKind::Eq => Some(left == right),
        BinOpKind::Ne => Some(left != right),
        BinOpKind::Lt => Some(left < right),
        BinOpKind::Lte => Some(left <= right),
        BinOpKind::Gt => Some(left > right),
        BinOpKind::Gte => Some(left >= right),
        _ => None,
    }
}

/// Returns whether the parts of an `and` exclude each other: one value would have to equal two literals, or be
/// both true and false.
fn contradicts(condition: &Expr<'_>) -> bool {
    let mut parts = Vec::new();
    joined(condition, &mut parts);
    let claims: Vec<(Vec<String>, ConditionClaim<'_>)> = parts.into_iter().filter_map(claim).collect();
    claims.iter().enumerate().any(|(at, (path, claim))| {
        let others = claims.iter().skip(at + 1).filter(|(other, _)| other == path);
        others.map(|(_, other)| other).any(|other| claim.excludes(other))
    })
}

/// Collects the parts of an `and`.
fn joined<'e, 'a>(condition: &'e Expr<'a>, parts: &mut Vec<&'e Expr<'a>>) {
    match condition {
        Expr::BinOp(both) if matches!(both.op, BinOpKind::ScAnd) => {
            joined(&both.left, parts);
            joined(&both.right, parts);
        }
        other => parts.push(other),
    }
}

/// The claim of a part of a condition about a value.
enum ConditionClaim<'e> {
    Equals(&'e minijinja::Value),
    Differs(&'e minijinja::Value),
    Holds(bool),
}

impl ConditionClaim<'_> {
    fn excludes(&self, other: &ConditionClaim<'_>) -> bool {
        match (self, other) {
            (ConditionClaim::Equals(one), ConditionClaim::Equals(two)) => one != two,
            (ConditionClaim::Equals(one), ConditionClaim::Differs(two))
            | (ConditionClaim::Differs(one), ConditionClaim::Equals(two)) => one == two,
            (ConditionClaim::Equals(value), ConditionClaim::Holds(holds))
            | (ConditionClaim::Holds(holds), ConditionClaim::Equals(value)) => value.is_true() != *holds,
            (ConditionClaim::Holds(one), ConditionClaim::Holds(two)) => one != two,
            (ConditionClaim::Differs(_), ConditionClaim::Differs(_) | ConditionClaim::Holds(_))
            | (ConditionClaim::Holds(_), ConditionClaim::Differs(_)) => false,
        }
    }
}

fn claim<'e>(part: &'e Expr<'_>) -> Option<(Vec<String>, ConditionClaim<'e>)> {
    match part {
        Expr::UnaryOp(not) if matches!(not.op, UnaryOpKind::Not) => {
            Some((path(&not.expr)?, ConditionClaim::Holds(false)))
        }
        Expr::BinOp(both) => {
            let (path, value) = match (&both.left, &both.right) {
                (value, Expr::Const(literal)) | (Expr::Const(literal), value) => {
                    (path(value)?, &literal.value)
                }
                _ => return None,
            };
            match both.op {
                BinOpKind::Eq => Some((path, ConditionClaim::Equals(value))),
                BinOpKind::Ne => Some((path, ConditionClaim::Differs(value))),
                _ => None,
            }
        }
        other => Some((path(other)?, ConditionClaim::Holds(true))),
    }
}
