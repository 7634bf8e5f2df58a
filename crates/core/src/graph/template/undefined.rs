//! Names what is undefined, where the template engine only gives the place: after a filter, and in a part
//! of a value that a node did not give.

use std::ops::Range;

use minijinja::machinery::{Token, tokenize};

use super::{is_plain, syntax};

/// The longest expression that a message repeats, in characters.
const LONGEST: usize = 80;

/// Says that the expression that ends at the end of this range is undefined.
pub(super) fn undefined(source: &str, range: Range<usize>) -> Option<String> {
    // Rendering needs no engine for a template without tags, so a source without them is an expression.
    let tokens = tokenize(source, is_plain(source), syntax());
    let tokens: Vec<(Token<'_>, Range<usize>)> = tokens
        .map_while(Result::ok)
        .map(|(token, span)| (token, span.start_offset as usize..span.end_offset as usize))
        .collect();
    // The engine counts the start of a tag to an expression with `if … else`, and `not` to what follows it.
    let is_inside = |(token, span): &(Token<'_>, Range<usize>)| {
        span.start >= range.start && !matches!(token, Token::VariableStart | Token::Ident("not"))
    };
    let first = tokens.iter().position(is_inside)?;
    let (_, start) = tokens.get(start(&tokens, first))?;
    let written = on_one_line(source.get(start.start..range.end)?);
    (!written.is_empty()).then(|| format!("`{written}` is undefined"))
}

fn on_one_line(written: &str) -> String {
    let line = written.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut short: String = line.chars().filter(|letter| !letter.is_control()).take(LONGEST).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

/// Returns the first token of the chain `a.b[0] | filter(x)` that goes on at this token.
fn start(tokens: &[(Token<'_>, Range<usize>)], mut at: usize) -> usize {
    let is_link = |at: usize| matches!(tokens.get(at), Some((Token::Dot | Token::Pipe, _)));
    let is_open = |at: usize| matches!(tokens.get(at), Some((Token::ParenOpen | Token::BracketOpen, _)));
    while let Some(before) = at.checked_sub(1) {
        if is_link(at) || (is_open(at) && is_value(tokens, before)) {
            at = opened(tokens, before);
        } else if is_link(before) {
            at = before;
        } else {
            break;
        }
    }
    at
}

/// Returns whether a value ends with this token.
fn is_value(tokens: &[(Token<'_>, Range<usize>)], at: usize) -> bool {
    match tokens.get(at) {
        Some((Token::Ident(word), _)) => !["and", "or", "not", "if", "else", "in", "is"].contains(word),
        Some((Token::ParenClose | Token::BracketClose | Token::Str(_) | Token::String(_), _)) => true,
        _ => false,
    }
}

/// Returns the bracket that this token closes, or the token itself if it is no bracket.
fn opened(tokens: &[(Token<'_>, Range<usize>)], end: usize) -> usize {
    let mut depth = 0_usize;
    for at in (0..=end).rev() {
        match tokens.get(at) {
            Some((Token::ParenClose | Token::BracketClose | Token::BraceClose, _)) => depth += 1,
            Some((Token::ParenOpen | Token::BracketOpen | Token::BraceOpen, _)) => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    0
}
