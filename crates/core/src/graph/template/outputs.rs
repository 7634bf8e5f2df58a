//! Makes `outputs.ID` a text wherever it stands, and `outputs.ID.part` a part of what the node gave.
//!
//! The template engine compares, measures and slices only true texts as texts: an object that is
//! written out as one equals no text, and nobody would notice. So each use is looked up in the table
//! that fits it. The names of the tables are as long as `outputs`, so that places in a template
//! stay where they are.

use std::borrow::Cow;

use super::names::{Names, OutputSense, in_expression, in_template};

/// Texts. One that is not there is undefined.
pub(super) const OUTPUTS: &str = "outputs";
/// Texts. One that is not there is an error: compared with anything, undefined is only unequal.
pub(super) const TEXTS: &str = "_texts_";
/// All that nodes gave.
pub(super) const PARTS: &str = "_parts_";

/// A template in which each use of an output names its table.
pub(super) fn resolve_template(source: &str) -> Result<Cow<'_, str>, minijinja::Error> {
    match source.contains(OUTPUTS) {
        true => Ok(resolved(source, &in_template(source)?)),
        false => Ok(Cow::Borrowed(source)),
    }
}

/// An expression in which each use of an output names its table.
pub(super) fn resolve_expression(source: &str) -> Result<Cow<'_, str>, minijinja::Error> {
    match source.contains(OUTPUTS) {
        true => Ok(resolved(source, &in_expression(source)?)),
        false => Ok(Cow::Borrowed(source)),
    }
}

/// A message about a resolved text, in the words of its author.
pub(super) fn in_authors_words(message: &str) -> String {
    message.replace(TEXTS, OUTPUTS).replace(PARTS, OUTPUTS)
}

fn resolved<'s>(source: &'s str, names: &Names) -> Cow<'s, str> {
    let mut text = String::with_capacity(source.len());
    let mut rest = 0;
    for (at, sense) in &names.outputs {
        let table = match sense {
            OutputSense::Text => TEXTS,
            OutputSense::Part => PARTS,
        };
        text.push_str(source.get(rest..*at).unwrap_or_default());
        text.push_str(table);
        rest = at + OUTPUTS.len();
    }
    if rest == 0 {
        return Cow::Borrowed(source);
    }
    text.push_str(source.get(rest..).unwrap_or_default());
    Cow::Owned(text)
}
