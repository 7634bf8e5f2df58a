//! Makes `outputs.ID` a text wherever it stands, and `outputs.ID.part` a part of what the node gave.
//!
//! The template engine compares, measures and slices only true texts as texts: an object that is
//! written out as one equals no text, and nobody would notice. So each use is looked up in the table
//! that fits it.

use super::names::{OutputSense, TemplateNames, in_expression, in_template};
use super::rewrite::Edits;

/// Texts. One that is not there is undefined.
pub(super) const OUTPUTS: &str = "outputs";
/// Texts. One that is not there is an error: compared with anything, undefined is only unequal.
pub(super) const TEXTS: &str = "_texts_";
/// All that nodes gave.
pub(super) const PARTS: &str = "_parts_";

/// Notes which table each use of an output in a template is looked up in.
pub(super) fn resolve_template(source: &str, edits: &mut Edits) -> Result<(), minijinja::Error> {
    if source.contains(OUTPUTS) {
        resolve(&in_template(source)?, edits);
    }
    Ok(())
}

/// The same for an expression.
pub(super) fn resolve_expression(source: &str, edits: &mut Edits) -> Result<(), minijinja::Error> {
    if source.contains(OUTPUTS) {
        resolve(&in_expression(source)?, edits);
    }
    Ok(())
}

/// A message about a resolved text, in the words of its author.
pub(super) fn in_authors_words(message: &str) -> String {
    message.replace(TEXTS, OUTPUTS).replace(PARTS, OUTPUTS)
}

fn resolve(names: &TemplateNames, edits: &mut Edits) {
    for (at, sense) in &names.outputs {
        let table = match sense {
            OutputSense::Text => TEXTS,
            OutputSense::Part => PARTS,
        };
        edits.replace(*at, OUTPUTS.len(), table);
    }
}
