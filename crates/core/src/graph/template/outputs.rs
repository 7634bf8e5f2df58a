//! Makes `outputs.ID` a text everywhere, and `outputs.ID.part` a part of the node's output.
//!
//! The template engine compares, measures and slices only real strings. An object that renders as text
//! equals no string, and the comparison is silently false. So Windlass rewrites each use to read from
//! one of the tables below.

use super::names::{OutputSense, TemplateNames, in_expression, in_template};
use super::rewrite::Edits;

/// The texts of all outputs. A missing output is undefined.
pub(super) const OUTPUTS: &str = "outputs";
/// The same texts. A missing output is an error here, because a comparison with an undefined value
/// would just be false.
pub(super) const TEXTS: &str = "_texts_";
/// The outputs with all their parts.
pub(super) const PARTS: &str = "_parts_";

/// Collects the edits that select the table for each use of an output in a template.
pub(super) fn resolve_template(source: &str, edits: &mut Edits) -> Result<(), minijinja::Error> {
    if source.contains(OUTPUTS) {
        resolve(&in_template(source)?, edits);
    }
    Ok(())
}

/// Does the same for an expression.
pub(super) fn resolve_expression(source: &str, edits: &mut Edits) -> Result<(), minijinja::Error> {
    if source.contains(OUTPUTS) {
        resolve(&in_expression(source)?, edits);
    }
    Ok(())
}

/// Replaces the table names in an error message by `outputs`, as the author wrote it.
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
