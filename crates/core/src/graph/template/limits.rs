//! Refuses templates that would exhaust the stack of the parser.
//!
//! The parser nests one call, and later one drop, for each link of a chain (`a.b.c`, `not not`,
//! `elif`), and limits only some of these chains.

use minijinja::machinery::{Token, tokenize};

use super::rewrite::Edits;
use super::{TemplateError, at, syntax, translate};

/// The longest source, in bytes.
pub const MAX_SOURCE: usize = 256 * 1024;
/// The most tokens in one tag or expression.
pub const MAX_TOKENS: usize = 250;
pub const MAX_ELIFS: usize = 50;

/// Fails if a template is too large.
pub(super) fn template(source: &str) -> Result<(), TemplateError> {
    bounded(source, TemplateForm::Template)
}

/// Fails if an expression is too large.
pub(super) fn expression(source: &str) -> Result<(), TemplateError> {
    bounded(source, TemplateForm::Expression)
}

#[derive(PartialEq)]
enum TemplateForm {
    Template,
    Expression,
}

fn bounded(source: &str, form: TemplateForm) -> Result<(), TemplateError> {
    if source.len() > MAX_SOURCE {
        return Err(TemplateError::TooLong { bytes: source.len(), limit: MAX_SOURCE });
    }
    let mut in_tag = 0;
    let mut elifs = 0;
    for token in tokenize(source, form == TemplateForm::Expression, syntax()) {
        let (token, span) = token.map_err(|error| translate(&error, source, &Edits::default()))?;
        let too_much =
            |what: String| Err(TemplateError::Syntax { what, at: at(source, span.start_offset as usize) });
        in_tag = match token {
            Token::VariableStart | Token::BlockStart | Token::TemplateData(_) => 0,
            _ => in_tag + 1,
        };
        elifs += usize::from(matches!(token, Token::Ident("elif")));
        if in_tag > MAX_TOKENS {
            return too_much(format!("more than {MAX_TOKENS} words and symbols in one tag"));
        }
        if elifs > MAX_ELIFS {
            return too_much(format!("more than {MAX_ELIFS} `elif` in one template"));
        }
    }
    Ok(())
}
