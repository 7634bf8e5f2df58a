//! Reads expressions that only name a value, or only choose items of a list.

use minijinja::machinery::ast::{CallArg, Expr};
use minijinja::machinery::parse_expr;

use super::facts::{ITEM, path, path_with_items};
use crate::graph::template::{caught, limits};
use crate::graph::workflow::Expression;

/// The filters that choose or order the items of a list and do not change them.
const CHOOSING: [&str; 8] =
    ["list", "sort", "unique", "reverse", "select", "reject", "selectattr", "rejectattr"];

/// Returns the path of the value that an expression names, if it does nothing else.
pub(in crate::graph) fn named_value(expression: &Expression) -> Option<Vec<String>> {
    read(expression, path)
}

/// Returns the path of an item of the list that an expression gives, if the items are parts of one value.
pub(in crate::graph) fn named_item(expression: &Expression) -> Option<Vec<String>> {
    read(expression, item)
}

/// Returns whether the items of the list that an expression gives are texts, because it splits a text.
pub(in crate::graph) fn splits_a_text(expression: &Expression) -> bool {
    fn splits(list: &Expr<'_>) -> Option<bool> {
        match list {
            Expr::Filter(filter) if CHOOSING.contains(&filter.name) => splits(filter.expr.as_ref()?),
            Expr::Filter(filter) => Some(matches!(filter.name, "lines" | "split")),
            Expr::Slice(slice) => splits(&slice.expr),
            _ => None,
        }
    }
    read(expression, splits).unwrap_or(false)
}

fn read<T>(expression: &Expression, read: impl FnOnce(&Expr<'_>) -> Option<T>) -> Option<T> {
    let source = expression.0.as_str();
    limits::expression(source).ok()?;
    caught(source, || Ok(read(&parse_expr(source)?))).ok().flatten()
}

fn item(list: &Expr<'_>) -> Option<Vec<String>> {
    match list {
        Expr::Filter(filter) if CHOOSING.contains(&filter.name) => item(filter.expr.as_ref()?),
        Expr::Filter(filter) if filter.name == "map" => {
            let [CallArg::Kwarg("attribute", Expr::Const(part))] = filter.args.as_slice() else {
                return None;
            };
            let mut whole = item(filter.expr.as_ref()?)?;
            whole.extend(part.value.as_str()?.split('.').map(str::to_owned));
            Some(whole)
        }
        Expr::Slice(slice) => item(&slice.expr),
        other => {
            let mut whole = path_with_items(other)?;
            whole.push(ITEM.to_owned());
            Some(whole)
        }
    }
}
