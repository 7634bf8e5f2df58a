//! Makes the comparison of values of different kinds an error: `"10" < 5` is neither true nor false.
//!
//! The template engine orders any two values, first by their kind. So Windlass passes each side of
//! `<`, `<=`, `>` and `>=` through a filter: the left filter stores its value, and the right filter
//! compares the kinds.

use minijinja::machinery::{Span, Token, tokenize};
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, Value};

use super::rewrite::Edits;
use super::syntax;

/// The filter that stores the left side.
const LEFT: &str = "_left_";
/// The filter that compares the kind of the right side with the left.
const RIGHT: &str = "_right_";
/// The filter that puts a task without a priority last.
const LAST: &str = "_last_";
/// The longest side that a message repeats.
const LONGEST: usize = 60;

/// The tests that compare by order, each with its operator.
pub(in crate::graph) const TESTS: [(&str, &str); 10] = [
    ("lt", "<"),
    ("lessthan", "<"),
    ("<", "<"),
    ("le", "<="),
    ("<=", "<="),
    ("gt", ">"),
    ("greaterthan", ">"),
    (">", ">"),
    ("ge", ">="),
    (">=", ">="),
];

/// Adds the filters and tests that refuse to compare values without an order.
pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter(LEFT, left);
    environment.add_filter(RIGHT, right);
    environment.add_filter(LAST, last);
    for (name, sign) in TESTS {
        environment.add_test(name, move |value: Value, other: Value| -> Result<bool, Error> {
            ordered(&value, &other, sign, "", "")?;
            Ok(match sign {
                "<" => value < other,
                "<=" => value <= other,
                ">" => value > other,
                _ => value >= other,
            })
        });
    }
}

fn left(state: &mut State<'_, '_>, value: Value, place: u32, this: &str) -> Value {
    state.set_temp(&format!("{LEFT}{place}"), Value::from(vec![value.clone(), Value::from(this)]));
    value
}

fn right(
    state: &mut State<'_, '_>,
    value: Value,
    place: u32,
    sign: &str,
    that: &str,
) -> Result<Value, Error> {
    let left = state.get_temp(&format!("{LEFT}{place}")).unwrap_or_default();
    let (other, this) = (left.get_item_by_index(0)?, left.get_item_by_index(1)?);
    ordered(&other, &value, sign, this.as_str().unwrap_or_default(), that)?;
    Ok(value)
}

fn last(value: Value) -> Value {
    if value.is_none() || value.is_undefined() { Value::from(f64::INFINITY) } else { value }
}

/// Fails if two values have no order. `this` and `that` are their source texts, or empty.
fn ordered(left: &Value, right: &Value, sign: &str, this: &str, that: &str) -> Result<(), Error> {
    for (value, written) in [(left, this), (right, that)] {
        if value.is_undefined() {
            let what = if written.is_empty() { "a side of a comparison" } else { &format!("`{written}`") };
            return Err(Error::new(ErrorKind::UndefinedError, format!("{what} is undefined")));
        }
    }
    let (one, other) = (kind(left), kind(right));
    if one == other && one != NOTHING {
        return Ok(());
    }
    let side = |written: &str, kind: &str| match written.is_empty() {
        true => kind.to_owned(),
        false => format!("`{written}`, which is {kind},"),
    };
    let what = format!("`{sign}` cannot compare {} with {}", side(this, one), side(that, other));
    let what = what.trim_end_matches(',');
    let hint = hint((one, this), (other, that), sign).map(|hint| format!(": {hint}")).unwrap_or_default();
    Err(Error::new(ErrorKind::InvalidOperation, format!("{what}{hint}")))
}

/// The kind of a missing value, in a message.
const NOTHING: &str = "nothing";
/// The kind of a text, in a message.
pub(in crate::graph) const TEXT: &str = "text";
/// The kind of a number, in a message.
pub(in crate::graph) const NUMBER: &str = "a number";

fn kind(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => NOTHING,
        ValueKind::Bool => "true or false",
        ValueKind::Number => NUMBER,
        ValueKind::String => TEXT,
        ValueKind::Seq | ValueKind::Iterable => "a list",
        ValueKind::Map => "an object",
        _ => "a value without an order",
    }
}

/// Suggests a correction to the author.
pub(in crate::graph) fn hint(left: (&str, &str), right: (&str, &str), sign: &str) -> Option<String> {
    let number = |written: &str| match written.contains(' ') {
        true => format!("({written}) | int"),
        false => format!("{written} | int"),
    };
    match (left, right) {
        ((TEXT, this), (NUMBER, that)) | ((NUMBER, this), (TEXT, that))
            if this.is_empty() || that.is_empty() =>
        {
            Some("`| int` turns text into a number".to_owned())
        }
        ((TEXT, this), (NUMBER, that)) => Some(format!("write `{} {sign} {that}`", number(this))),
        ((NUMBER, this), (TEXT, that)) => Some(format!("write `{this} {sign} {}`", number(that))),
        ((NOTHING, _), _) | (_, (NOTHING, _)) => {
            Some("check first that it has a value, with `is not none`".to_owned())
        }
        _ => None,
    }
}

/// Collects the edits that pass both sides of each comparison through the filters.
pub(super) fn look_at_sides(source: &str, in_expression: bool, edits: &mut Edits) -> Result<(), Error> {
    if !source.contains(['<', '>']) {
        return Ok(());
    }
    let tokens: Vec<(Token<'_>, Span)> =
        tokenize(source, in_expression, syntax()).collect::<Result<_, _>>()?;
    for (place, (token, _)) in tokens.iter().enumerate() {
        let sign = match token {
            Token::Lt => "<",
            Token::Lte => "<=",
            Token::Gt => ">",
            Token::Gte => ">=",
            _ => continue,
        };
        let (Some(this), Some(that)) = (before(&tokens, place), after(&tokens, place)) else { continue };
        let [this_text, that_text] = [this, that].map(|(start, end)| shown(source, start, end));
        let last = |(start, end): (usize, usize)| match source.get(start..end) {
            Some("task.priority") => format!(")|{LAST}"),
            _ => ")".to_owned(),
        };
        edits.put(this.0, "(");
        edits.put(this.1, format!("{}|{LEFT}({place},\"{this_text}\")", last(this)));
        edits.put(that.0, "(");
        edits.put(that.1, format!("{}|{RIGHT}({place},\"{sign}\",\"{that_text}\")", last(that)));
    }
    Ok(())
}

/// Returns the source of a side if a message can repeat it, else an empty text.
fn shown(source: &str, start: usize, end: usize) -> &str {
    let text = source.get(start..end).unwrap_or_default();
    let is_plain = text.len() <= LONGEST && !text.contains(['"', '\\', '\n', '\r']);
    if is_plain { text } else { "" }
}

/// Returns the byte range of the left side of a comparison.
fn before(tokens: &[(Token<'_>, Span)], place: usize) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    let mut first = place;
    for at in (0..place).rev() {
        let (token, _) = tokens.get(at)?;
        match token {
            Token::ParenClose | Token::BracketClose | Token::BraceClose => depth += 1,
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen if depth == 0 => break,
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => depth -= 1,
            _ if depth == 0 && is_edge(tokens, at) => break,
            _ => {}
        }
        first = at;
    }
    side(tokens, first, place)
}

/// Returns the byte range of the right side of a comparison.
fn after(tokens: &[(Token<'_>, Span)], place: usize) -> Option<(usize, usize)> {
    let mut depth = 0_usize;
    let mut end = place + 1;
    for at in place + 1..tokens.len() {
        let (token, _) = tokens.get(at)?;
        match token {
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => depth += 1,
            Token::ParenClose | Token::BracketClose | Token::BraceClose if depth == 0 => break,
            Token::ParenClose | Token::BracketClose | Token::BraceClose => depth -= 1,
            _ if depth == 0 && is_edge(tokens, at) => break,
            _ => {}
        }
        end = at + 1;
    }
    side(tokens, place + 1, end)
}

fn side(tokens: &[(Token<'_>, Span)], first: usize, end: usize) -> Option<(usize, usize)> {
    let side = tokens.get(first..end)?;
    let ((_, first), (_, last)) = (side.first()?, side.last()?);
    Some((first.start_offset as usize, last.end_offset as usize))
}

/// Returns whether a token ends the side of a comparison.
fn is_edge(tokens: &[(Token<'_>, Span)], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| tokens.get(at)).map(|(token, _)| token);
    match tokens.get(at).map(|(token, _)| token) {
        Some(Token::Ident(word)) => match before {
            Some(Token::Dot | Token::Pipe | Token::Ident("is")) => false,
            Some(Token::BlockStart) => true,
            _ => matches!(*word, "and" | "or" | "not" | "if" | "else" | "in" | "recursive"),
        },
        Some(
            Token::Comma
            | Token::Colon
            | Token::Assign
            | Token::Eq
            | Token::Ne
            | Token::Lt
            | Token::Lte
            | Token::Gt
            | Token::Gte
            | Token::TemplateData(_)
            | Token::VariableStart
            | Token::VariableEnd
            | Token::BlockStart
            | Token::BlockEnd,
        )
        | None => true,
        Some(_) => false,
    }
}
