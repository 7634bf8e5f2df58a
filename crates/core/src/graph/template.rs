//! Templates and expressions: renders them with the values of a run, and finds the names they use.
//!
//! - Rendering is a single pass: Windlass never reads a value as a template.
//! - An undefined name is an error. Nothing is escaped, and no files are loaded.
//! - Work and output are limited. `limits` also limits the source before the engine parses it.
//! - `scope` has the values, [`names`] finds the names.
//! - A line with only block tags disappears; every other newline stays (`lines`).
//! - Values of different kinds have no order (`order`).

pub mod command;
mod limits;
mod lines;
pub mod names;
pub(super) mod order;
mod outputs;
mod rewrite;
mod scope;
#[cfg(test)]
mod tests;
mod undefined;

use std::io;
use std::sync::OnceLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, escape_formatter};

use super::workflow::{Expression, Template};
pub use limits::{MAX_ELIFS, MAX_SOURCE, MAX_TOKENS};
pub(in crate::graph) use lines::length_as_comment;
pub use names::{TemplateNames, Use, constant, names_in, names_used};
use rewrite::Edits;
pub use scope::{NodeOutput, Scope};
use undefined::undefined;

/// The largest output of a template, in bytes.
pub const MAX_OUTPUT: usize = 1 << 20;
/// The most engine steps for a template or an expression.
const FUEL: u64 = 500_000;
/// The largest width of the `indent` filter.
const MAX_INDENT: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplatePosition {
    /// Bytes, from 0.
    pub offset: usize,
    /// From 1.
    pub line: u32,
    /// Characters, from 1.
    pub column: u32,
}

/// An error in a template or an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("{what} (line {}, column {})", at.line, at.column)]
    Syntax { what: String, at: TemplatePosition },
    /// The source is too long.
    #[error("the text has {bytes} bytes; the limit is {limit}")]
    TooLong { bytes: usize, limit: usize },
    #[error("{what} (line {}, column {})", at.line, at.column)]
    Undefined { what: String, at: TemplatePosition },
    /// The evaluation failed.
    #[error("{what} (line {}, column {})", at.line, at.column)]
    Failed { what: String, at: TemplatePosition },
    /// The output is too long.
    #[error("with its values filled in, the text is longer than {limit} bytes")]
    TooMuchText { limit: usize },
    #[error("it takes too many steps")]
    TooMuchWork,
}

impl TemplateError {
    /// Returns the message without the position, for callers that show the position themselves.
    pub fn message(&self) -> String {
        match self {
            TemplateError::Syntax { what, .. }
            | TemplateError::Undefined { what, .. }
            | TemplateError::Failed { what, .. } => what.clone(),
            TemplateError::TooLong { .. }
            | TemplateError::TooMuchText { .. }
            | TemplateError::TooMuchWork => self.to_string(),
        }
    }

    /// Returns the position, if the error has one.
    pub fn at(&self) -> Option<TemplatePosition> {
        match self {
            TemplateError::Syntax { at, .. }
            | TemplateError::Undefined { at, .. }
            | TemplateError::Failed { at, .. } => Some(*at),
            TemplateError::TooLong { .. }
            | TemplateError::TooMuchText { .. }
            | TemplateError::TooMuchWork => None,
        }
    }
}

/// Renders a template.
pub fn render(template: &Template, scope: &Scope) -> Result<String, TemplateError> {
    let source = template.0.as_str();
    if source.len() <= MAX_OUTPUT && is_plain(source) {
        return Ok(source.to_owned());
    }
    limits::template(source)?;
    let mut edits = Edits::default();
    let written = caught(source, || {
        order::look_at_sides(source, false, &mut edits)?;
        outputs::resolve_template(source, &mut edits)?;
        lines::keep_newlines(source, &mut edits);
        Ok(edits.applied(source))
    })?;
    let text = caught_in(source, &edits, || {
        let mut text = Bounded(Vec::new());
        let template = environment().template_from_str(&written)?;
        template.render_captured_to(scope.value(), &mut text)?;
        Ok(text.0)
    })?;
    Ok(String::from_utf8(text).unwrap_or_default())
}

/// Returns a template that renders to exactly this text, even if the text contains tags.
///
/// This also works next to `{{ … }}`. Next to a block tag, the tag may remove blanks and newlines. If
/// the text is longer than a template may be, rendering fails.
pub fn literal(text: &str) -> String {
    let mut source = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, braces) = rest.split_at(at);
        let after = braces.trim_start_matches('{');
        let run = braces.get(..braces.len() - after.len()).unwrap_or_default();
        source.push_str(before);
        // Braces at the end would start a tag together with text that a caller appends.
        if run.len() > 1 || after.is_empty() || after.starts_with(['%', '#']) {
            // Use a value, not a raw block: blocks remove the blanks and newlines around them.
            source.extend(["{{ \"", run, "\" }}"]);
        } else {
            source.push_str(run);
        }
        rest = after;
    }
    source.push_str(rest);
    source
}

/// Evaluates an expression.
pub fn evaluate(expression: &Expression, scope: &Scope) -> Result<serde_json::Value, TemplateError> {
    let value = value_of(expression, scope, |value| serde_json::to_value(value))?;
    value.map_err(|error| TemplateError::Failed { what: error.to_string(), at: at("", 0) })
}

/// Evaluates a condition.
pub fn is_true(condition: &Expression, scope: &Scope) -> Result<bool, TemplateError> {
    value_of(condition, scope, Value::is_true)
}

/// Evaluates an expression and converts the value inside the panic guard: lazy values are computed
/// only when `made` reads them.
fn value_of<T>(
    expression: &Expression,
    scope: &Scope,
    made: impl FnOnce(&Value) -> T,
) -> Result<T, TemplateError> {
    let source = expression.0.as_str();
    limits::expression(source)?;
    let mut edits = Edits::default();
    let written = caught(source, || {
        order::look_at_sides(source, true, &mut edits)?;
        outputs::resolve_expression(source, &mut edits)?;
        Ok(edits.applied(source))
    })?;
    let value = caught_in(source, &edits, || {
        let value = environment().compile_expression(&written)?.eval(scope.value())?;
        Ok((!value.is_undefined()).then(|| made(&value)))
    })?;
    value.ok_or_else(|| TemplateError::Undefined {
        what: format!("`{}` is undefined", source.trim()),
        at: at(source, 0),
    })
}

/// Runs the template engine and turns a panic into an error. Some sources make the engine overflow,
/// for example `[1][-5:99:-1]`, and that must not end the process.
fn caught<T>(source: &str, act: impl FnOnce() -> Result<T, minijinja::Error>) -> Result<T, TemplateError> {
    caught_in(source, &Edits::default(), act)
}

/// Does the same for an edited source, and reports positions in the original.
fn caught_in<T>(
    source: &str,
    edits: &Edits,
    act: impl FnOnce() -> Result<T, minijinja::Error>,
) -> Result<T, TemplateError> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)) {
        Ok(result) => result.map_err(|error| translate(&error, source, edits)),
        Err(_) => Err(TemplateError::Failed { what: "it cannot be computed".to_owned(), at: at(source, 0) }),
    }
}

/// Returns whether a text has no tags.
pub fn is_plain(source: &str) -> bool {
    !source.contains("{{") && !source.contains("{%") && !source.contains("{#")
}

/// Returns the shared environment, which holds no values.
fn environment<'a>() -> &'a Environment<'a> {
    static ENVIRONMENT: OnceLock<Environment<'static>> = OnceLock::new();
    ENVIRONMENT.get_or_init(make_environment)
}

fn make_environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    // Errors have a position only in debug mode.
    environment.set_debug(true);
    environment.set_syntax(syntax());
    for name in ["debug", "namespace"] {
        environment.remove_global(name);
    }
    // These produce large output from small input, or are for HTML.
    for name in ["batch", "slice", "format", "pprint", "safe", "escape", "e"] {
        environment.remove_filter(name);
    }
    for name in ["safe", "escaped"] {
        environment.remove_test(name);
    }
    environment.add_filter("indent", indent);
    order::add_to(&mut environment);
    environment.set_formatter(format);
    environment
}

/// Writes a value to the output: booleans as `true` and `false`, as documents write them, and a
/// missing value, such as an optional input, as nothing instead of a word.
fn format(
    out: &mut minijinja::Output,
    state: &mut minijinja::State<'_, '_>,
    value: &Value,
) -> Result<(), minijinja::Error> {
    match value.kind() {
        ValueKind::None => Ok(()),
        ValueKind::Bool => escape_formatter(out, state, &Value::from(value.is_true().to_string())),
        _ => escape_formatter(out, state, value),
    }
}

/// Returns the syntax settings, which all parsers of templates must share.
fn syntax() -> SyntaxConfig {
    let mut builder = SyntaxConfig::builder();
    builder.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    builder.build().unwrap_or_default()
}

/// Indents every line but the first.
fn indent(text: &str, width: usize) -> String {
    let margin = " ".repeat(width.min(MAX_INDENT));
    let mut lines = text.split('\n');
    let mut moved = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        moved.push('\n');
        if !line.is_empty() {
            moved.push_str(&margin);
        }
        moved.push_str(line);
    }
    moved
}

fn translate(error: &minijinja::Error, source: &str, edits: &Edits) -> TemplateError {
    let range = error.range().map(|range| edits.original(range.start)..edits.original(range.end));
    let at = at(source, range.as_ref().map_or(0, |range| range.start));
    let what = match error.detail() {
        Some(detail) => outputs::in_authors_words(detail),
        None => {
            let is_undefined = error.kind() == ErrorKind::UndefinedError;
            let named = range.filter(|_| is_undefined).and_then(|range| undefined(source, range));
            named.unwrap_or_else(|| error.kind().to_string())
        }
    };
    match error.kind() {
        ErrorKind::SyntaxError | ErrorKind::BadEscape => match foreign_operator(source, at.offset) {
            Some((offset, what)) => TemplateError::Syntax { what, at: self::at(source, offset) },
            None => TemplateError::Syntax { what, at },
        },
        ErrorKind::UndefinedError => TemplateError::Undefined { what, at },
        ErrorKind::OutOfFuel => TemplateError::TooMuchWork,
        ErrorKind::WriteFailure => TemplateError::TooMuchText { limit: MAX_OUTPUT },
        _ => TemplateError::Failed { what, at },
    }
}

/// Finds an operator of another language at the place of a syntax error, and says what to write.
fn foreign_operator(source: &str, offset: usize) -> Option<(usize, String)> {
    const OPERATORS: [(&str, &str); 6] =
        [("===", "=="), ("!==", "!="), ("&&", "and"), ("||", "or"), ("=", "=="), ("!", "not")];
    let offset = source.floor_char_boundary(offset);
    let is_sign = |letter: char| "=&|!".contains(letter);
    let blank_before = source.get(..offset)?.trim_end();
    // The engine may complain about what follows the operator, or about its second character.
    for end in [blank_before.len(), offset] {
        let start = source.get(..end)?.trim_end_matches(is_sign).len();
        let written = source.get(start..)?;
        let written = written.get(..written.find(|letter| !is_sign(letter)).unwrap_or(written.len()))?;
        if let Some((sign, here)) = OPERATORS.into_iter().find(|(sign, _)| *sign == written) {
            return Some((start, format!("there is no operator `{sign}`: write `{here}`")));
        }
    }
    None
}

/// Returns the position of a byte. The offset may be inside a character or past the end.
pub(in crate::graph) fn at(source: &str, offset: usize) -> TemplatePosition {
    let offset = source.floor_char_boundary(offset);
    let before = source.get(..offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(line_start..).unwrap_or_default().chars().count();
    let lines = before.bytes().filter(|byte| *byte == b'\n').count();
    let small = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
    TemplatePosition { offset, line: small(lines), column: small(column) }
}

/// A buffer that refuses more than [`MAX_OUTPUT`] bytes.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
