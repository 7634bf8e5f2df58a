//! Reads conditions on the number of an iteration, such as `iteration > 1`.

use minijinja::machinery::ast::{BinOpKind, CallArg, CompareOpKind, Expr, UnaryOpKind};

use super::facts::joins;
use crate::graph::template::order::TESTS;

/// A range of iterations of a loop. The default is all iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IterationRange {
    /// The first iteration, from 1.
    first: u32,
    /// The last iteration; `u32::MAX` means no end. The range is empty if it is below `first`.
    last: u32,
}

impl Default for IterationRange {
    fn default() -> IterationRange {
        IterationRange::ALL
    }
}

impl IterationRange {
    pub const ALL: IterationRange = IterationRange { first: 1, last: u32::MAX };
    pub const NONE: IterationRange = IterationRange { first: 2, last: 1 };

    /// Returns the iterations from the first to `last`.
    pub fn up_to(last: u32) -> IterationRange {
        IterationRange { first: 1, last }
    }

    pub fn is_empty(self) -> bool {
        self.first > self.last
    }

    /// Returns the iterations in both ranges.
    pub fn and(self, other: IterationRange) -> IterationRange {
        let both = IterationRange { first: self.first.max(other.first), last: self.last.min(other.last) };
        if both.is_empty() { IterationRange::NONE } else { both }
    }

    /// Returns the smallest range with the iterations of both, and whether it has no others.
    fn or(self, other: IterationRange) -> (IterationRange, bool) {
        match (self.is_empty(), other.is_empty()) {
            (true, _) => (other, true),
            (_, true) => (self, true),
            _ => {
                let hull =
                    IterationRange { first: self.first.min(other.first), last: self.last.max(other.last) };
                let touch = self.first.max(other.first) <= self.last.min(other.last).saturating_add(1);
                (hull, touch)
            }
        }
    }

    /// Returns whether every iteration of this range is in the other.
    pub fn is_in(self, other: IterationRange) -> bool {
        self.is_empty() || (self.first >= other.first && self.last <= other.last)
    }

    /// Returns whether every iteration of this range follows an iteration of the other.
    pub fn follows(self, other: IterationRange) -> bool {
        let before = |last: u32| if last == u32::MAX { last } else { last - 1 };
        self.is_empty()
            || (self.first > 1
                && IterationRange { first: self.first - 1, last: before(self.last) }.is_in(other))
    }
}

/// A comparison of the iteration with a number.
#[derive(Clone, Copy)]
enum Sign {
    Equal,
    Unequal,
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl Sign {
    fn of(sign: &str) -> Option<Sign> {
        Some(match sign {
            "==" | "eq" | "equalto" | "sameas" => Sign::Equal,
            "!=" | "ne" => Sign::Unequal,
            "<" => Sign::Below,
            "<=" => Sign::AtMost,
            ">" => Sign::Above,
            ">=" => Sign::AtLeast,
            _ => return None,
        })
    }

    fn negated(self) -> Sign {
        match self {
            Sign::Equal => Sign::Unequal,
            Sign::Unequal => Sign::Equal,
            Sign::Below => Sign::AtLeast,
            Sign::AtMost => Sign::Above,
            Sign::Above => Sign::AtMost,
            Sign::AtLeast => Sign::Below,
        }
    }

    /// Returns the sign with the sides exchanged.
    fn turned(self) -> Sign {
        match self {
            Sign::Equal | Sign::Unequal => self,
            Sign::Below => Sign::Above,
            Sign::AtMost => Sign::AtLeast,
            Sign::Above => Sign::Below,
            Sign::AtLeast => Sign::AtMost,
        }
    }

    /// Returns the iterations that compare to the number in this way, and whether the range has no others.
    fn range(self, number: i64) -> (IterationRange, bool) {
        let of = |first: i64, last: i64| {
            let clamped = |number: i64| u32::try_from(number.max(0)).unwrap_or(u32::MAX);
            IterationRange { first: clamped(first).max(1), last: clamped(last) }.and(IterationRange::ALL)
        };
        match self {
            Sign::Equal => (of(number, number), true),
            Sign::Unequal if number <= 1 => (of(number.saturating_add(1), i64::MAX), true),
            Sign::Unequal => (IterationRange::ALL, false),
            Sign::Below => (of(1, number.saturating_sub(1)), true),
            Sign::AtMost => (of(1, number), true),
            Sign::Above => (of(number.saturating_add(1), i64::MAX), true),
            Sign::AtLeast => (of(number, i64::MAX), true),
        }
    }
}

/// Returns the iterations in which a condition can evaluate to `holds`, and whether it does so in each of
/// them. `is_iteration` recognises the number of the iteration.
pub(super) fn iterations(
    condition: &Expr<'_>,
    holds: bool,
    is_iteration: &dyn Fn(&Expr<'_>) -> bool,
) -> (IterationRange, bool) {
    let unknown = (IterationRange::ALL, false);
    let compared = |left: &Expr<'_>, sign: Option<Sign>, right: &Expr<'_>| {
        let Some(sign) = sign.map(|sign| if holds { sign } else { sign.negated() }) else { return unknown };
        match (is_iteration(left), is_iteration(right)) {
            (true, false) => number(right).map_or(unknown, |number| sign.range(number)),
            (false, true) => number(left).map_or(unknown, |number| sign.turned().range(number)),
            _ => unknown,
        }
    };
    match condition {
        Expr::Const(value) if value.value.is_true() == holds => (IterationRange::ALL, true),
        Expr::Const(_) => (IterationRange::NONE, true),
        Expr::UnaryOp(not) if matches!(not.op, UnaryOpKind::Not) => {
            iterations(&not.expr, !holds, is_iteration)
        }
        Expr::BinOp(two) if matches!(two.op, BinOpKind::ScAnd | BinOpKind::ScOr) => {
            let (left, is_left_exact) = iterations(&two.left, holds, is_iteration);
            let (right, is_right_exact) = iterations(&two.right, holds, is_iteration);
            let are_exact = is_left_exact && is_right_exact;
            if joins(two.op, holds) {
                return (left.and(right), are_exact);
            }
            let (hull, touch) = left.or(right);
            (hull, are_exact && touch)
        }
        Expr::BinOp(two) => {
            let sign = match two.op {
                BinOpKind::Eq => "==",
                BinOpKind::Ne => "!=",
                BinOpKind::Lt => "<",
                BinOpKind::Lte => "<=",
                BinOpKind::Gt => ">",
                BinOpKind::Gte => ">=",
                _ => return unknown,
            };
            compared(&two.left, Sign::of(sign), &two.right)
        }
        // A chain such as `1 < iteration < 5` is true if each of its comparisons is.
        Expr::Compare(chain) if holds || chain.ops.len() == 1 => {
            let mut left = &chain.expr;
            let mut all = (IterationRange::ALL, true);
            for op in &chain.ops {
                let sign = match op.op {
                    CompareOpKind::Eq => Sign::of("=="),
                    CompareOpKind::Ne => Sign::of("!="),
                    CompareOpKind::Lt => Sign::of("<"),
                    CompareOpKind::Lte => Sign::of("<="),
                    CompareOpKind::Gt => Sign::of(">"),
                    CompareOpKind::Gte => Sign::of(">="),
                    CompareOpKind::In | CompareOpKind::NotIn => None,
                };
                let (range, is_exact) = compared(left, sign, &op.expr);
                all = (all.0.and(range), all.1 && is_exact);
                left = &op.expr;
            }
            all
        }
        Expr::Test(test) => {
            let [CallArg::Pos(arg)] = test.args.as_slice() else { return unknown };
            let order = TESTS.into_iter().find(|(word, _)| *word == test.name).map(|(_, sign)| sign);
            compared(&test.expr, Sign::of(order.unwrap_or(test.name)), arg)
        }
        _ => unknown,
    }
}

fn number(side: &Expr<'_>) -> Option<i64> {
    let Expr::Const(constant) = side else { return None };
    constant.value.as_i64().filter(|_| constant.value.is_integer())
}
