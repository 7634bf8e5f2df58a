//! Checks that Windlass supports all of a schema, and that the schema is well formed.

use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::Outline;
use super::suggest::{did_you_mean, shown};
use crate::graph::schema::{KEYWORDS, SchemaError, SchemaErrorKind, schema_errors};
use crate::graph::workflow::NodeKind;

pub(super) fn look(outline: &Outline<'_>, found: &mut GraphDiagnostics) {
    for node in &outline.nodes {
        let schema = match &node.node.kind {
            NodeKind::Session(session) => &session.schema,
            NodeKind::Shell(command) => &command.schema,
            _ => continue,
        };
        for flaw in schema.iter().flat_map(schema_errors) {
            let near = match flaw.kind {
                SchemaErrorKind::Unknown => found.guess(|| meant(&flaw.keyword)),
                SchemaErrorKind::Shape(_) | SchemaErrorKind::TooDeep => None,
            };
            found.node(node, finding(&flaw, near));
        }
    }
}

fn meant(keyword: &str) -> Option<String> {
    did_you_mean(keyword, KEYWORDS.iter().map(|(known, _)| *known))
}

fn finding(flaw: &SchemaError, near: Option<String>) -> GraphDiagnostic {
    let SchemaError { path, names, keyword, kind: wrong } = flaw;
    let at = if path == "$" { String::new() } else { format!(" at `{path}`") };
    let (text, hint) = match wrong {
        SchemaErrorKind::Unknown => {
            let text = format!("Windlass does not support the schema keyword {}{at}", shown(keyword));
            (
                text,
                Some(near.unwrap_or_else(|| "put it in the prompt or in `description` instead".to_owned())),
            )
        }
        SchemaErrorKind::Shape(wanted) if keyword.is_empty() => {
            (format!("the value{at} must be {wanted}"), None)
        }
        SchemaErrorKind::Shape(wanted) => {
            (format!("the schema keyword {}{at} must be {wanted}", shown(keyword)), None)
        }
        SchemaErrorKind::TooDeep => {
            ("the schema is nested too deeply".to_owned(), Some("move parts of it to `$defs`".to_owned()))
        }
    };
    let finding = GraphDiagnostic::error(None, "schema", text).maybe_hint(hint);
    match wrong {
        SchemaErrorKind::Unknown => finding.unknown_key(names.clone()),
        SchemaErrorKind::Shape(_) | SchemaErrorKind::TooDeep => {
            finding.key(Some(names.clone()).filter(|names| !names.is_empty()))
        }
    }
}
