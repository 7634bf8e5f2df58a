//! Finds the values whose text may be part of the value of an expression.
//!
//! It takes too many rather than too few: what a filter does to a text is known only for some filters.

use std::collections::BTreeMap;

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr};

use crate::graph::template::names::ITEM;

/// A value whose text may be part of another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedText {
    /// The parts of the value: `outputs.plan.text`. See [`CarriedText::value`].
    path: Vec<String>,
    /// False if a filter removes or escapes every single quote.
    pub may_have_quote: bool,
}

impl CarriedText {
    /// Returns the parts of the value. For a list of values, these are the parts of one of them.
    pub fn value(&self) -> &[String] {
        match self.path.split_last() {
            Some((last, values)) if last == OF_LIST => values,
            _ => &self.path,
        }
    }

    fn part(mut self, name: &str) -> CarriedText {
        // An item of a list of values is one of the values.
        if self.path.last().is_some_and(|last| last == OF_LIST) {
            self.path.pop();
        } else {
            self.path.push(name.to_owned());
        }
        CarriedText { may_have_quote: true, ..self }
    }
}

/// The certainty that a definition takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Definition {
    Sure,
    /// The definition is in a block that may not run, and stays after its end.
    Perhaps,
}

/// The names that a template defines, with the values that they carry.
#[derive(Debug)]
pub(super) struct Carrier {
    scopes: Vec<(Definition, BTreeMap<String, Vec<CarriedText>>)>,
}

impl Default for Carrier {
    fn default() -> Carrier {
        Carrier { scopes: vec![(Definition::Sure, BTreeMap::new())] }
    }
}

/// The filters whose result is a number, or true or false.
const MEASURES: [&str; 7] = ["int", "float", "length", "count", "abs", "round", "bool"];
/// The filters that return some or all items of a list.
const LISTS: [&str; 10] =
    ["list", "sort", "unique", "select", "reject", "selectattr", "rejectattr", "items", "dictsort", "lines"];
/// The filters that return one item of a list.
const ONE: [&str; 4] = ["first", "last", "min", "max"];
/// The filters that add no quote to a text.
const QUIET: [&str; 7] = ["trim", "lower", "upper", "title", "capitalize", "indent", "string"];
/// The ways to write a single quote inside single quotes in a command line.
const ESCAPED: [&str; 2] = ["'\\''", "'\"'\"'"];

impl Carrier {
    pub(super) fn enter(&mut self, definitions: Definition) {
        self.scopes.push((definitions, BTreeMap::new()));
    }

    pub(super) fn leave(&mut self) {
        let Some((definitions, names)) = self.scopes.pop() else { return };
        if definitions == Definition::Perhaps {
            for (name, carried) in names {
                self.put(&name, carried, Definition::Perhaps);
            }
        }
    }

    /// Defines the names in the target of an assignment.
    pub(super) fn define(&mut self, target: &Expr<'_>, carried: &[CarriedText]) {
        match target {
            Expr::Var(var) => self.put(var.id, carried.to_vec(), Definition::Sure),
            Expr::List(list) => self.define_all(&list.items, carried),
            Expr::Tuple(tuple) => self.define_all(&tuple.items, carried),
            _ => {}
        }
    }

    /// Defines the names of one round of a `for`.
    pub(super) fn define_loop(&mut self, target: &Expr<'_>, items: &[CarriedText]) {
        self.put("loop", items.to_vec(), Definition::Sure);
        self.define(target, items);
    }

    fn define_all(&mut self, targets: &[Expr<'_>], carried: &[CarriedText]) {
        let items: Vec<CarriedText> = carried.iter().map(|text| text.clone().part(ITEM)).collect();
        targets.iter().for_each(|target| self.define(target, &items));
    }

    fn put(&mut self, name: &str, mut carried: Vec<CarriedText>, definition: Definition) {
        if definition == Definition::Perhaps {
            carried.extend(self.find(name).unwrap_or_default().to_vec());
        }
        if let Some((_, names)) = self.scopes.last_mut() {
            names.insert(name.to_owned(), carried);
        }
    }

    fn find(&self, name: &str) -> Option<&[CarriedText]> {
        self.scopes.iter().rev().find_map(|(_, names)| names.get(name)).map(Vec::as_slice)
    }

    /// Returns what the items of a list carry.
    pub(super) fn items_of(&self, list: &Expr<'_>) -> Vec<CarriedText> {
        match list {
            Expr::List(list) => self.all(&list.items),
            Expr::Tuple(tuple) => self.all(&tuple.items),
            Expr::Slice(slice) => self.items_of(&slice.expr),
            _ => self.of(list).into_iter().map(|text| text.part(ITEM)).collect(),
        }
    }

    /// Returns what an expression carries.
    pub(super) fn of(&self, expression: &Expr<'_>) -> Vec<CarriedText> {
        match expression {
            Expr::Const(_) | Expr::Test(_) | Expr::UnaryOp(_) | Expr::Compare(_) => Vec::new(),
            Expr::Var(var) => match self.find(var.id) {
                Some(carried) => carried.to_vec(),
                None => vec![CarriedText { path: vec![var.id.to_owned()], may_have_quote: true }],
            },
            Expr::GetAttr(attr) => match &attr.expr {
                Expr::Var(var) if var.id == "loop" && self.find("loop").is_some() => match attr.name {
                    "previtem" | "nextitem" => self.of(&attr.expr),
                    _ => Vec::new(),
                },
                base => self.of(base).into_iter().map(|text| text.part(attr.name)).collect(),
            },
            Expr::GetItem(item) => {
                let name = match &item.subscript_expr {
                    Expr::Const(key) => key.value.as_str().unwrap_or(ITEM),
                    _ => ITEM,
                };
                self.of(&item.expr).into_iter().map(|text| text.part(name)).collect()
            }
            Expr::Slice(slice) => quoted(self.of(&slice.expr)),
            Expr::BinOp(two) => match two.op {
                BinOpKind::Concat | BinOpKind::Add | BinOpKind::Mul | BinOpKind::ScAnd | BinOpKind::ScOr => {
                    let mut both = self.of(&two.left);
                    both.extend(self.of(&two.right));
                    both
                }
                // The result is a number, or true or false.
                _ => Vec::new(),
            },
            Expr::IfExpr(choice) => {
                let mut both = self.of(&choice.true_expr);
                both.extend(choice.false_expr.iter().flat_map(|other| self.of(other)));
                both
            }
            Expr::Filter(filter) => {
                let operand = filter.expr.as_ref();
                let carried = operand.map(|operand| self.of(operand)).unwrap_or_default();
                match (filter.name, operand) {
                    ("join" | "first" | "last" | "min" | "max", Some(operand)) => {
                        self.filtered(filter.name, self.items_of(operand), &filter.args)
                    }
                    _ => self.filtered(filter.name, carried, &filter.args),
                }
            }
            Expr::Call(call) => {
                let base = match &call.expr {
                    Expr::GetAttr(method) => self.of(&method.expr),
                    _ => Vec::new(),
                };
                quoted(base.into_iter().chain(self.args(&call.args)).collect())
            }
            Expr::List(list) => self.all(&list.items),
            Expr::Tuple(tuple) => self.all(&tuple.items),
            Expr::Map(map) => self.all(&map.keys).into_iter().chain(self.all(&map.values)).collect(),
        }
    }

    fn all(&self, items: &[Expr<'_>]) -> Vec<CarriedText> {
        items.iter().flat_map(|item| self.of(item)).collect()
    }

    fn args(&self, args: &[CallArg<'_>]) -> Vec<CarriedText> {
        args.iter().flat_map(|arg| self.of(value(arg))).collect()
    }

    fn filtered(&self, name: &str, carried: Vec<CarriedText>, args: &[CallArg<'_>]) -> Vec<CarriedText> {
        let with_args = |carried: Vec<CarriedText>| carried.into_iter().chain(self.args(args)).collect();
        match name {
            _ if MEASURES.contains(&name) => Vec::new(),
            _ if QUIET.contains(&name) || LISTS.contains(&name) || ONE.contains(&name) => carried,
            // The filter writes `'` as `\u0027`.
            "tojson" => unquoted(carried),
            "replace" => match args {
                [CallArg::Pos(Expr::Const(from)), CallArg::Pos(Expr::Const(to))]
                    if from.value.as_str() == Some("'")
                        && to
                            .value
                            .as_str()
                            .is_some_and(|to| !to.contains('\'') || ESCAPED.contains(&to)) =>
                {
                    unquoted(carried)
                }
                _ => quoted(with_args(carried)),
            },
            "map" => self.mapped(carried, args),
            "attr" => match args {
                [CallArg::Pos(Expr::Const(part))] => {
                    let name = part.value.as_str().unwrap_or(ITEM);
                    carried.into_iter().map(|text| text.part(name)).collect()
                }
                _ => carried,
            },
            // The text of either is the whole result, as it was.
            "default" | "d" => with_args(carried),
            _ => quoted(with_args(carried)),
        }
    }

    /// Returns what `list | map(…)` carries, as a list.
    fn mapped(&self, carried: Vec<CarriedText>, args: &[CallArg<'_>]) -> Vec<CarriedText> {
        match args {
            [CallArg::Kwarg("attribute", Expr::Const(path)), ..] => {
                let path = path.value.as_str().unwrap_or_default().to_owned();
                let inside = |text: CarriedText| {
                    let item = text.part(ITEM);
                    let part = path.split('.').fold(item, |text, part| text.part(part));
                    // The result is a list again, whose items are these parts.
                    CarriedText { path: [part.path, vec![OF_LIST.to_owned()]].concat(), ..part }
                };
                carried.into_iter().map(inside).collect()
            }
            [CallArg::Pos(Expr::Const(filter)), ..]
                if filter.value.as_str().is_some_and(|name| MEASURES.contains(&name)) =>
            {
                Vec::new()
            }
            _ => quoted(carried.into_iter().chain(self.args(args)).collect()),
        }
    }
}

/// The part of a path that makes a list of the values before it.
const OF_LIST: &str = "[…]";

fn unquoted(mut carried: Vec<CarriedText>) -> Vec<CarriedText> {
    carried.iter_mut().for_each(|text| text.may_have_quote = false);
    carried
}

fn quoted(mut carried: Vec<CarriedText>) -> Vec<CarriedText> {
    carried.iter_mut().for_each(|text| text.may_have_quote = true);
    carried
}

fn value<'e, 'a>(arg: &'e CallArg<'a>) -> &'e Expr<'a> {
    match arg {
        CallArg::Pos(value)
        | CallArg::Kwarg(_, value)
        | CallArg::PosSplat(value)
        | CallArg::KwargSplat(value) => value,
    }
}
