//! Walks the syntax tree of a template and records the names it uses. [`own`] knows the names that the
//! template itself defines.

mod own;

use std::collections::{BTreeMap, BTreeSet};

use minijinja::machinery::Span;
use minijinja::machinery::ast::{BinOpKind, CallArg, CompareOpKind, Expr, Stmt};

use super::compared::{self, Compared, Comparison, Pair, SideKnowledge, pair};
use super::facts::{ITEM, defined, keys, output_of, path, path_with_items, undefined};
use super::iterations::{IterationRange, iterations};
use super::{OutputSense, TemplateNames, Use, UsedFunction, WordKind, place};
use crate::graph::ids::folded;
use crate::graph::template::TemplatePosition;

/// The state of a walk.
pub(super) struct NameWalk<'s> {
    source: &'s str,
    names: TemplateNames,
    /// Names that the template defines, innermost block last.
    own: Vec<Vec<String>>,
    /// The number of definitions of each name.
    made: BTreeMap<String, usize>,
    /// The names with exactly one definition. Only these can be aliases.
    once: BTreeSet<String>,
    /// The path that each of these names stands for.
    aliases: BTreeMap<String, Vec<String>>,
    /// Such names for a value after filters.
    filtered: BTreeMap<String, Compared>,
    /// Such names for a literal.
    literals: BTreeMap<String, (serde_json::Value, TemplatePosition)>,
    /// Such names for a list of literals.
    lists: BTreeMap<String, Vec<(serde_json::Value, TemplatePosition)>>,
    /// Paths that an enclosing condition guarantees to be defined.
    guards: Vec<Vec<String>>,
    /// The nodes whose output an enclosing condition guarantees to be undefined.
    absent: Vec<String>,
    /// The iterations that the enclosing conditions leave.
    iterations: IterationRange,
}

impl<'s> NameWalk<'s> {
    /// Returns the names that a single walk finds.
    pub(super) fn over(source: &'s str, walk: impl FnOnce(&mut NameWalk<'s>)) -> TemplateNames {
        let mut state = NameWalk::knowing(source, BTreeSet::new());
        walk(&mut state);
        state.names
    }

    /// Walks twice: first to count the definitions of each name, then to resolve the names with one
    /// definition to the value that they stand for.
    pub(super) fn twice(source: &'s str, walk: impl Fn(&mut NameWalk<'s>)) -> TemplateNames {
        let mut first = NameWalk::knowing(source, BTreeSet::new());
        walk(&mut first);
        let once: BTreeSet<String> =
            first.made.into_iter().filter(|(_, times)| *times == 1).map(|(name, _)| name).collect();
        if once.is_empty() {
            return first.names;
        }
        let mut second = NameWalk::knowing(source, once);
        walk(&mut second);
        second.names
    }

    fn knowing(source: &'s str, once: BTreeSet<String>) -> NameWalk<'s> {
        NameWalk {
            source,
            names: TemplateNames::default(),
            own: vec![Vec::new()],
            made: BTreeMap::new(),
            once,
            aliases: BTreeMap::new(),
            filtered: BTreeMap::new(),
            literals: BTreeMap::new(),
            lists: BTreeMap::new(),
            guards: Vec::new(),
            absent: Vec::new(),
            iterations: IterationRange::ALL,
        }
    }

    /// Walks a statement and everything in it.
    pub(super) fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitExpr(emit) => self.expression(&emit.expr),
            Stmt::EmitRaw(_) => {}
            Stmt::ForLoop(each) => {
                self.expression(&each.iter);
                self.block(|walk| {
                    walk.make("loop");
                    walk.assign(&each.target);
                    walk.alias(&each.target, &each.iter, Some(ITEM));
                    walk.maybe(each.filter_expr.as_ref());
                    match &each.filter_expr {
                        Some(filter) => walk.under(filter, true, |walk| walk.statements(&each.body)),
                        None => walk.statements(&each.body),
                    }
                });
                self.block(|walk| walk.statements(&each.else_body));
            }
            Stmt::IfCond(branch) => {
                self.expression(&branch.expr);
                self.under(&branch.expr, true, |walk| {
                    walk.block(|walk| walk.statements(&branch.true_body));
                });
                self.under(&branch.expr, false, |walk| {
                    walk.block(|walk| walk.statements(&branch.false_body));
                });
            }
            Stmt::WithBlock(with) => self.block(|walk| {
                for (target, value) in &with.assignments {
                    walk.expression(value);
                    walk.alias(target, value, None);
                    walk.assign(target);
                }
                walk.statements(&with.body);
            }),
            Stmt::Set(set) => {
                self.expression(&set.expr);
                self.alias(&set.target, &set.expr, None);
                self.assign(&set.target);
            }
            Stmt::SetBlock(set) => {
                self.maybe(set.filter.as_ref());
                self.block(|walk| walk.statements(&set.body));
                self.assign(&set.target);
            }
            Stmt::AutoEscape(escape) => self.block(|walk| walk.statements(&escape.body)),
            Stmt::FilterBlock(block) => {
                self.expression(&block.filter);
                self.block(|walk| walk.statements(&block.body));
            }
            Stmt::Do(call) => self.call(&call.call.expr, &call.call.args, call.span()),
        }
    }

    fn statements(&mut self, statements: &[Stmt<'_>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    /// Walks an expression and everything in it.
    pub(super) fn expression(&mut self, expression: &Expr<'_>) {
        self.output(expression);
        if let Some(parts) = path(expression) {
            return self.note(parts, start(expression), 0);
        }
        if let Some(parts) = path_with_items(expression) {
            self.note(parts, start(expression), 0);
            return self.list_of(expression);
        }
        match expression {
            Expr::Var(_) | Expr::Const(_) => {}
            Expr::UnaryOp(one) => self.expression(&one.expr),
            Expr::BinOp(two) => {
                self.compare(match two.op {
                    BinOpKind::Eq | BinOpKind::Ne => self.equals(&two.left, &two.right),
                    BinOpKind::In => self.within(&two.left, &two.right),
                    _ => None,
                });
                self.pair(match two.op {
                    BinOpKind::Eq | BinOpKind::Ne => pair(self.source, &two.left, &two.right, None),
                    BinOpKind::Lt => pair(self.source, &two.left, &two.right, Some("<")),
                    BinOpKind::Lte => pair(self.source, &two.left, &two.right, Some("<=")),
                    BinOpKind::Gt => pair(self.source, &two.left, &two.right, Some(">")),
                    BinOpKind::Gte => pair(self.source, &two.left, &two.right, Some(">=")),
                    _ => None,
                });
                self.expression(&two.left);
                match two.op {
                    BinOpKind::ScAnd => self.under(&two.left, true, |walk| walk.expression(&two.right)),
                    BinOpKind::ScOr => self.under(&two.left, false, |walk| walk.expression(&two.right)),
                    _ => self.expression(&two.right),
                }
            }
            Expr::Compare(compare) => {
                self.expression(&compare.expr);
                let mut left = &compare.expr;
                for op in &compare.ops {
                    self.compare(match op.op {
                        CompareOpKind::Eq | CompareOpKind::Ne => self.equals(left, &op.expr),
                        CompareOpKind::In | CompareOpKind::NotIn => self.within(left, &op.expr),
                        _ => None,
                    });
                    self.pair(match op.op {
                        CompareOpKind::Eq | CompareOpKind::Ne => pair(self.source, left, &op.expr, None),
                        CompareOpKind::Lt => pair(self.source, left, &op.expr, Some("<")),
                        CompareOpKind::Lte => pair(self.source, left, &op.expr, Some("<=")),
                        CompareOpKind::Gt => pair(self.source, left, &op.expr, Some(">")),
                        CompareOpKind::Gte => pair(self.source, left, &op.expr, Some(">=")),
                        CompareOpKind::In | CompareOpKind::NotIn => None,
                    });
                    self.expression(&op.expr);
                    left = &op.expr;
                }
            }
            Expr::IfExpr(choice) => {
                self.expression(&choice.test_expr);
                self.under(&choice.test_expr, true, |walk| walk.expression(&choice.true_expr));
                self.under(&choice.test_expr, false, |walk| walk.maybe(choice.false_expr.as_ref()));
            }
            Expr::Filter(filter) => {
                self.word(WordKind::Filter, filter.name, filter.span());
                self.compare(compared::selected(self.source, filter));
                let asks = matches!(filter.name, "default" | "d");
                filter.expr.iter().for_each(|operand| self.operand(operand, asks));
                self.args(&filter.args);
            }
            Expr::Test(test) => {
                self.word(WordKind::Test, test.name, test.span());
                self.compare(compared::test(self.source, test.name, &test.expr, &test.args));
                self.pair(compared::tested(self.source, test.name, &test.expr, &test.args));
                self.operand(&test.expr, matches!(test.name, "defined" | "undefined"));
                self.args(&test.args);
            }
            Expr::GetAttr(attr) => self.expression(&attr.expr),
            Expr::GetItem(item) => {
                self.expression(&item.expr);
                self.expression(&item.subscript_expr);
            }
            Expr::Slice(slice) => {
                self.expression(&slice.expr);
                [&slice.start, &slice.stop, &slice.step]
                    .into_iter()
                    .flatten()
                    .for_each(|part| self.expression(part));
            }
            Expr::Call(call) => self.call(&call.expr, &call.args, call.span()),
            Expr::List(list) => list.items.iter().for_each(|item| self.expression(item)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.expression(item)),
            Expr::Map(map) => map.keys.iter().chain(&map.values).for_each(|item| self.expression(item)),
        }
    }

    /// Records the offset of `outputs` if this expression is an output or a part of one.
    fn output(&mut self, expression: &Expr<'_>) {
        let mut depth = 0_usize;
        let mut inner = expression;
        while let Some(base) = base(inner) {
            depth += 1;
            inner = base;
        }
        let Expr::Var(root) = inner else { return };
        if root.id != "outputs" || self.is_own(root.id) {
            return;
        }
        let sense = match depth {
            0 => return,
            1 => OutputSense::Text,
            _ => OutputSense::Part,
        };
        // The walk visits `outputs.ID.part` before the `outputs.ID` inside it.
        self.names.outputs.entry(root.span().start_offset as usize).or_insert(sense);
    }

    fn compare(&mut self, comparison: Option<Comparison>) {
        let Some(mut comparison) = comparison else { return };
        if let [name] = comparison.path.as_slice()
            && let Some(value) = self.filtered.get(name).filter(|_| self.is_own(name))
        {
            comparison.filters = [value.filters.clone(), comparison.filters].concat();
            comparison.path = value.path.clone();
            self.names.comparisons.push(comparison);
            return;
        }
        if let Some(path) = self.whole(comparison.path.clone()) {
            self.names.comparisons.push(Comparison { path, ..comparison });
        }
    }

    fn pair(&mut self, pair: Option<Pair>) {
        let Some(mut pair) = pair else { return };
        for side in [&mut pair.left, &mut pair.right] {
            if let SideKnowledge::Path(path) = &mut side.what {
                let Some(whole) = self.whole(std::mem::take(path)) else { return };
                *path = whole;
            }
        }
        self.names.pairs.push(pair);
    }

    fn maybe(&mut self, expression: Option<&Expr<'_>>) {
        if let Some(expression) = expression {
            self.expression(expression);
        }
    }

    /// Walks the operand of a filter or a test. If the filter `asks`, its operand may be undefined.
    fn operand(&mut self, operand: &Expr<'_>, asks: bool) {
        if asks {
            self.maybe_part(operand);
        }
        match path(operand) {
            Some(parts) if asks => {
                // A test of a whole output must see an undefined value, so keep `outputs` there.
                if parts.len() > 2 {
                    self.output(operand);
                }
                let guarded = parts.len();
                self.note(parts, start(operand), guarded);
            }
            // An item of a list: the path ends before its index.
            _ if asks && self.is_maybe_part(operand) => {
                self.asked_item(operand);
                let mut inner = operand;
                while let (None, Some(base)) = (path(inner), base(inner)) {
                    inner = base;
                }
                if let Some(parts) = path(inner) {
                    let guarded = parts.len();
                    self.note(parts, start(operand), guarded);
                }
            }
            _ if asks && path_with_items(operand).is_some() => {
                self.asked_item(operand);
                self.list_of(operand);
            }
            _ => self.expression(operand),
        }
    }

    /// Records the item of a list that may be undefined.
    fn asked_item(&mut self, operand: &Expr<'_>) {
        if let Some(parts) = path_with_items(operand) {
            let asked = parts.len();
            self.note(parts, start(operand), asked);
        }
    }

    /// Walks the list in an expression such as `list[0].title`.
    fn list_of(&mut self, item: &Expr<'_>) {
        let mut list = item;
        while let (None, Some(inner)) = (path(list), base(list)) {
            list = inner;
        }
        self.expression(list);
    }

    /// Records a part of an output that may be missing together with its output.
    fn maybe_part(&mut self, operand: &Expr<'_>) {
        let mut root = operand;
        while let Some(base) = base(root) {
            root = base;
        }
        let Expr::Var(root) = root else { return };
        let Some(keys) = keys(operand).filter(|keys| keys.len() > 1) else { return };
        let (from, end) = (root.span().start_offset as usize, operand.span().end_offset as usize);
        // With parentheses in it, the path is not one piece of the source.
        let is_whole = self.source.get(from..end).is_some_and(|path| !path.contains(['(', ')']));
        if root.id == "outputs" && !self.is_own(root.id) && is_whole {
            self.names.outputs.insert(from, OutputSense::MaybePart { end, keys });
        }
    }

    fn is_maybe_part(&self, operand: &Expr<'_>) -> bool {
        let sense = self.names.outputs.get(&(start(operand).start_offset as usize));
        matches!(sense, Some(OutputSense::MaybePart { .. }))
    }

    fn call(&mut self, called: &Expr<'_>, args: &[CallArg<'_>], span: Span) {
        match called {
            Expr::Var(function) if !self.is_own(function.id) => {
                self.word(WordKind::Function, function.id, span);
            }
            Expr::GetAttr(method) => self.expression(&method.expr),
            other => self.expression(other),
        }
        self.args(args);
    }

    fn args(&mut self, args: &[CallArg<'_>]) {
        for arg in args {
            match arg {
                CallArg::Pos(value)
                | CallArg::Kwarg(_, value)
                | CallArg::PosSplat(value)
                | CallArg::KwargSplat(value) => self.expression(value),
            }
        }
    }

    fn block(&mut self, inside: impl FnOnce(&mut Self)) {
        self.own.push(Vec::new());
        inside(self);
        self.own.pop();
    }

    /// Walks a part that the run evaluates only if the condition evaluates to `holds`.
    fn under(&mut self, condition: &Expr<'_>, holds: bool, inside: impl FnOnce(&mut Self)) {
        let (guards, absent, iterations_before) = (self.guards.len(), self.absent.len(), self.iterations);
        let known: Vec<Vec<String>> =
            defined(condition, holds).into_iter().filter_map(|parts| self.whole(parts)).collect();
        self.guards.extend(known.into_iter().map(as_compared));
        let missing = undefined(condition, holds).into_iter().filter_map(|parts| self.whole(parts));
        let missing: Vec<String> = missing.filter_map(|parts| output_of(&parts).map(folded)).collect();
        self.absent.extend(missing);
        let is_iteration = |side: &Expr<'_>| {
            let whole = path(side).and_then(|parts| self.whole(parts));
            whole.is_some_and(|whole| whole == ["iteration"])
        };
        let (left, _) = iterations(condition, holds, &is_iteration);
        self.iterations = self.iterations.and(left);
        inside(self);
        self.guards.truncate(guards);
        self.absent.truncate(absent);
        self.iterations = iterations_before;
    }

    fn make(&mut self, name: &str) {
        *self.made.entry(name.to_owned()).or_default() += 1;
        if let Some(block) = self.own.last_mut() {
            block.push(name.to_owned());
        }
    }

    fn assign(&mut self, target: &Expr<'_>) {
        match target {
            Expr::Var(var) => self.make(var.id),
            Expr::List(list) => list.items.iter().for_each(|item| self.assign(item)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.assign(item)),
            other => self.expression(other),
        }
    }

    fn is_own(&self, name: &str) -> bool {
        self.own.iter().flatten().any(|own| own == name)
    }

    fn note(&mut self, parts: Vec<String>, span: Span, asked: usize) {
        let is_own = parts.first().is_some_and(|root| self.is_own(root));
        let written = parts.len();
        let Some(parts) = self.whole(parts) else { return };
        // The definition of the name recorded this use.
        if is_own && written == 1 {
            return;
        }
        let is_item = parts.iter().any(|part| part == ITEM);
        let asked = if asked > 0 { parts.len() - (written - asked) } else { 0 };
        let compared = as_compared(parts.clone());
        let known = self.guards.iter().filter_map(|guard| guarded(guard, &compared));
        let guards = known.chain((asked > 0).then_some(asked)).collect();
        let (absent, iterations) = (self.absent.clone(), self.iterations);
        let used = Use { path: parts, at: place(self.source, span), guards, absent, iterations };
        if is_item { self.names.item_uses.push(used) } else { self.names.uses.push(used) }
    }

    fn word(&mut self, kind: WordKind, name: &str, span: Span) {
        self.names.words.push(UsedFunction { kind, name: name.to_owned(), at: place(self.source, span) });
    }
}

/// Returns how many parts of a path are defined if a guarded path is.
fn guarded(guard: &[String], path: &[String]) -> Option<usize> {
    let common = guard.iter().zip(path).take_while(|(one, other)| one == other).count();
    // A part is defined only if its output is.
    let is_output = guard.first().is_some_and(|root| root == "outputs") && common >= 2;
    (common == guard.len() || is_output).then_some(common)
}

/// Writes the dashes of an id as underscores, so that paths compare equal.
fn as_compared(mut parts: Vec<String>) -> Vec<String> {
    if parts.first().is_some_and(|root| root == "outputs")
        && let Some(id) = parts.get_mut(1)
    {
        *id = folded(id);
    }
    parts
}

/// Returns the start of a path. The span of a later part starts after it.
pub(in crate::graph::template) fn start(expression: &Expr<'_>) -> Span {
    base(expression).map_or_else(|| expression.span(), start)
}

/// Returns the expression whose attribute or item this is.
fn base<'e, 'a>(expression: &'e Expr<'a>) -> Option<&'e Expr<'a>> {
    match expression {
        Expr::GetAttr(attr) => Some(&attr.expr),
        Expr::GetItem(item) => Some(&item.expr),
        _ => None,
    }
}
