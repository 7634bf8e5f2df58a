//! Reads the template of a command line: the text that stays as it is, and the values that become part of
//! it.
//!
//! [`carried`] finds out where the values come from. How the shell reads them is up to
//! [`check`](crate::graph::check).

mod carried;

use minijinja::machinery::ast::{Expr, Stmt};
use minijinja::machinery::{Span, parse, parse_expr};

pub use carried::CarriedText;
use carried::{Carrier, Definition};

use super::lines::keep_newlines;
use super::rewrite::Edits;
use super::{TemplateError, TemplatePosition, at, caught, limits, syntax};
use crate::graph::workflow::{Expression, Template};

/// Stands for a value in the text of a command.
pub const VALUE: char = '\u{e000}';

/// A command line with its values left open.
#[derive(Debug, Default)]
pub struct CommandTemplate {
    /// The text, with [`VALUE`] for each value. The branches of a condition follow each other.
    pub text: String,
    pub values: Vec<CommandValue>,
    /// The start of each piece of the text: there, and in the source.
    pieces: Vec<(usize, usize)>,
}

/// A value in a command line.
#[derive(Debug)]
pub struct CommandValue {
    /// The byte offset in the text of the command.
    pub at: usize,
    /// The position in the template.
    pub position: TemplatePosition,
    /// The values whose text may be part of it.
    pub carried: Vec<CarriedText>,
}

impl CommandTemplate {
    /// Reads the template of a command line.
    pub fn of(template: &Template) -> Result<CommandTemplate, TemplateError> {
        let source = template.0.as_str();
        if super::is_plain(source) {
            return Ok(CommandTemplate::plain(source));
        }
        limits::template(source)?;
        let mut edits = Edits::default();
        keep_newlines(source, &mut edits);
        let written = edits.applied(source).into_owned();
        caught(source, || {
            let parsed = parse(&written, "template", syntax())?;
            let mut walk = CommandWalk {
                written: &written,
                source,
                edits: &edits,
                carrier: Carrier::default(),
                captured: Vec::new(),
                command: CommandTemplate::default(),
            };
            walk.statement(&parsed);
            Ok(walk.command)
        })
    }

    /// Takes a command line without values.
    pub fn plain(text: &str) -> CommandTemplate {
        let mut command = CommandTemplate::default();
        command.add(text, 0);
        command
    }

    /// Returns the position in the template of a byte of the text.
    pub fn position(&self, offset: usize, template: &str) -> TemplatePosition {
        let piece = self.pieces.iter().rev().find(|(start, _)| *start <= offset);
        at(template, piece.map_or(0, |(start, source)| source + offset - start))
    }

    fn add(&mut self, text: &str, source: usize) {
        self.pieces.push((self.text.len(), source));
        // The mark in the text itself is no value.
        self.text.push_str(&text.replace(VALUE, "___"));
    }
}

/// Finds the values whose text may be part of an item of the list that an expression gives.
pub fn items_of(list: &Expression) -> Vec<CarriedText> {
    let source = list.0.as_str();
    if limits::expression(source).is_err() {
        return Vec::new();
    }
    caught(source, || Ok(Carrier::default().items_of(&parse_expr(source)?))).unwrap_or_default()
}

struct CommandWalk<'s> {
    written: &'s str,
    source: &'s str,
    edits: &'s Edits,
    carrier: Carrier,
    /// The values in each open block that does not write to the command itself.
    captured: Vec<Vec<CarriedText>>,
    command: CommandTemplate,
}

impl CommandWalk<'_> {
    fn statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitRaw(raw) => {
                let start = (raw.raw.as_ptr() as usize).wrapping_sub(self.written.as_ptr() as usize);
                if self.captured.is_empty() && start <= self.written.len() {
                    self.command.add(raw.raw, self.edits.original(start));
                }
            }
            Stmt::EmitExpr(emit) => {
                let carried = self.carrier.of(&emit.expr);
                self.emit(carried, first(&emit.expr));
            }
            Stmt::ForLoop(each) => {
                let items = self.carrier.items_of(&each.iter);
                self.carrier.enter(Definition::Sure);
                self.carrier.define_loop(&each.target, &items);
                self.statements(&each.body);
                self.carrier.leave();
                self.inside(Definition::Sure, &each.else_body);
            }
            Stmt::IfCond(branch) => {
                self.inside(Definition::Perhaps, &branch.true_body);
                self.inside(Definition::Perhaps, &branch.false_body);
            }
            Stmt::WithBlock(with) => {
                self.carrier.enter(Definition::Sure);
                for (target, value) in &with.assignments {
                    let value = self.carrier.of(value);
                    self.carrier.define(target, &value);
                }
                self.statements(&with.body);
                self.carrier.leave();
            }
            Stmt::Set(set) => {
                let value = self.carrier.of(&set.expr);
                self.carrier.define(&set.target, &value);
            }
            Stmt::SetBlock(set) => {
                let value = self.capture(&set.body);
                self.carrier.define(&set.target, &value);
            }
            Stmt::FilterBlock(block) => {
                let carried = self.capture(&block.body);
                self.emit(carried, block.span());
            }
            Stmt::AutoEscape(escape) => self.statements(&escape.body),
            Stmt::Do(_) => {}
        }
    }

    fn statements(&mut self, statements: &[Stmt<'_>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn inside(&mut self, definitions: Definition, statements: &[Stmt<'_>]) {
        self.carrier.enter(definitions);
        self.statements(statements);
        self.carrier.leave();
    }

    /// Returns the values that a block writes.
    fn capture(&mut self, body: &[Stmt<'_>]) -> Vec<CarriedText> {
        self.captured.push(Vec::new());
        self.statements(body);
        self.captured.pop().unwrap_or_default()
    }

    fn emit(&mut self, carried: Vec<CarriedText>, span: Span) {
        if let Some(block) = self.captured.last_mut() {
            return block.extend(carried);
        }
        let offset = self.edits.original(span.start_offset as usize);
        let at_text = self.command.text.len();
        self.command.pieces.push((at_text, offset));
        self.command.text.push(VALUE);
        let position = at(self.source, offset);
        self.command.values.push(CommandValue { at: at_text, position, carried });
    }
}

/// Returns the start of the first value in an expression.
fn first(expression: &Expr<'_>) -> Span {
    match expression {
        Expr::Filter(filter) => filter.expr.as_ref().map_or_else(|| filter.span(), first),
        Expr::BinOp(two) => first(&two.left),
        Expr::IfExpr(choice) => first(&choice.true_expr),
        other => super::names::start_of(other),
    }
}
