//! Makes `outputs.ID` a text everywhere, and `outputs.ID.part` a part of the node's output.
//!
//! The template engine compares, measures and slices only real strings. An object that renders as text
//! equals no string, and the comparison is silently false. So Windlass rewrites each use to read from
//! one of the tables below.

use serde_json::Value;

use super::names::{OutputSense, TemplateNames, in_expression, in_template};
use super::rewrite::Edits;

/// The texts of all outputs. A missing output is undefined.
pub(super) const OUTPUTS: &str = "outputs";
/// The same texts. A missing output is an error here, because a comparison with an undefined value
/// would just be false.
pub(super) const TEXTS: &str = "_texts_";
/// The outputs with all their parts.
pub(super) const PARTS: &str = "_parts_";
/// Parts of outputs by their whole path. A part is undefined if anything on its path is missing.
pub(super) const MAYBE: &str = "_maybe_";

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
        match sense {
            OutputSense::Text => edits.replace(*at, OUTPUTS.len(), TEXTS),
            OutputSense::Part => edits.replace(*at, OUTPUTS.len(), PARTS),
            OutputSense::MaybePart { end, keys } => {
                let path = Value::from(Value::from(keys.as_slice()).to_string());
                edits.replace(*at, end - at, format!("{MAYBE}[{path}]"));
            }
        }
    }
}
