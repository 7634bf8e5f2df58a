//! Workflow documents: a graph as people write it, in YAML or JSON.
//!
//! - [`read`] finds every syntax and type mistake in one pass, each with its position.
//! - [`read_for_check`] also returns the readable part of a document with mistakes, so that
//!   [`WorkflowDocument::check`] can add what `core`'s checks find.
//! - [`print()`] writes a graph that Windlass built.
//! - [`schema`] is for editors, [`starter()`] for a first document.
//!
//! Templates and conditions stay as written; `core::graph` interprets them.

mod computed;
mod field_reader;
mod ids;
mod keys;
mod kinds;
mod nested;
mod node;
mod positions;
mod print;
mod starter;
#[cfg(test)]
mod tests;
mod top;
pub(crate) mod tree;
mod value;
pub(crate) mod yaml;
pub(crate) mod yaml_error;

use std::borrow::Cow;
use std::path::Path;

use windlass_core::graph::check::{self, CheckContext, GraphDiagnostic, UnreadParts};
use windlass_core::graph::ids::name_nodes;
use windlass_core::graph::workflow::Workflow;
use windlass_core::id::NodeId;

use crate::diagnostic::{Diagnostic, Severity};
use crate::json::JsonValue;
use field_reader::FieldReader;
use positions::DocumentPositions;
pub use print::print;
pub use starter::starter;

/// The largest document, in bytes.
pub const MOST_BYTES: usize = 1024 * 1024;

/// A workflow with the positions of its nodes and fields.
#[derive(Debug, Clone)]
pub struct WorkflowDocument {
    pub workflow: Workflow,
    text: String,
    file: String,
    positions: DocumentPositions,
    /// True if some part of the document could not be read.
    is_part: bool,
    unread: UnreadParts,
}

/// Reads a document. Returns it unless there is an error.
pub fn read(text: &str, file_name: &str) -> (Option<WorkflowDocument>, Vec<Diagnostic>) {
    let (document, diagnostics) = read_for_check(text, file_name);
    let has_errors = diagnostics.iter().any(Diagnostic::is_error);
    (document.filter(|_| !has_errors), diagnostics)
}

/// Reads a document and returns the readable part even if it has mistakes. Use it only to find more
/// mistakes with [`WorkflowDocument::check`]; never run it.
pub fn read_for_check(text: &str, file_name: &str) -> (Option<WorkflowDocument>, Vec<Diagnostic>) {
    if text.len() > MOST_BYTES {
        let message = format!("the document has {} bytes; at most {MOST_BYTES} are allowed", text.len());
        let hint = Some("split it into several workflows".to_owned());
        let refused = Diagnostic::new(Severity::Error, &message).in_file(Some(file_name)).hint(hint);
        return (None, vec![refused]);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_json = Path::new(file_name).extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    let tree = if is_json { tree::read_json(text) } else { tree::read(text) };
    let mut form = FieldReader::new(text, file_name, tree.open);
    for broken in tree.broken {
        form.error(broken.at, &broken.message, broken.hint.map(str::to_owned));
    }
    let workflow = top::workflow(&mut form, &tree.root);
    let workflow = workflow.filter(|_| !form.is_lost);
    let is_empty = matches!(tree.root.value, JsonValue::Null);
    if form.is_part || workflow.is_none() && !is_empty {
        form.leaves_doubt();
    }
    let (top, nodes) = (std::mem::take(&mut form.current_part), std::mem::take(&mut form.nodes));
    let document = workflow.map(|mut workflow| {
        name_nodes(&mut workflow.body);
        let places = DocumentPositions::new(top, &workflow.body, nodes);
        let (text, file) = (text.to_owned(), file_name.to_owned());
        WorkflowDocument {
            workflow,
            text,
            file,
            positions: places,
            is_part: form.is_part,
            unread: form.unread,
        }
    });
    (document, form.finish())
}

/// Returns the name that a document gives, even if nothing else in it can be read.
pub fn said_name(text: &str) -> Option<String> {
    if text.len() > MOST_BYTES {
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tree = tree::read(text);
    let JsonValue::Object(members) = &tree.root.value else { return None };
    let said = members.iter().find(|member| member.key == "name")?;
    top::name(&mut FieldReader::new(text, "", tree.open), "name", &said.node)
}

/// The name of a document that gives none.
const NAMELESS: &str = "?";

/// Stands for the names of the drivers in the schema.
const DRIVERS: &str = "[\"DRIVER\"]";

/// Returns the JSON Schema of workflow documents, for editors. It offers these drivers.
pub fn schema(drivers: &[&str]) -> String {
    let named: Vec<String> =
        drivers.iter().map(|driver| serde_json::Value::from(*driver).to_string()).collect();
    include_str!("document/schema.json").replace(DRIVERS, &format!("[{}]", named.join(", ")))
}

impl WorkflowDocument {
    pub fn file(&self) -> &str {
        &self.file
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the byte of a field's value: of a node, or of the workflow itself. Takes the field's
    /// full path (`loop.until`) or its end (`until`), and falls back to the node if there is no
    /// such field.
    pub fn place(&self, node: Option<&NodeId>, field: &str) -> usize {
        self.positions.find(node, field)
    }

    /// Returns the byte for a line and column, both from 1, inside the text value of a field.
    pub fn place_inside(&self, node: Option<&NodeId>, field: &str, line: usize, column: usize) -> usize {
        let at = self.place(node, field);
        nested::find(&self.text, at, line, column).unwrap_or(at)
    }

    /// Converts a diagnostic of a graph check and adds its position in the text.
    pub fn diagnose(&self, finding: &GraphDiagnostic) -> Diagnostic {
        let severity = match finding.severity {
            check::GraphSeverity::Error => Severity::Error,
            check::GraphSeverity::Warning => Severity::Warning,
        };
        Diagnostic::new(severity, &finding.text)
            .in_file(Some(&self.file))
            .at(&self.text, self.place_of(finding))
            .hint(finding.hint.clone())
    }

    /// Returns the diagnostics from reading together with those of `core`'s checks.
    pub fn check(&self, said: Vec<Diagnostic>, known: &CheckContext<'_>) -> Vec<Diagnostic> {
        let found = match self.is_part {
            true => check::check_part(&self.workflow, known, self.unread),
            false => check::check(&self.workflow, known),
        };
        self.report(said, &found)
    }

    /// Merges the diagnostics of reading and of the checks, in the order of the text. Leaves out a
    /// check's diagnostic if it follows from a mistake that reading found.
    fn report(&self, said: Vec<Diagnostic>, findings: &[GraphDiagnostic]) -> Vec<Diagnostic> {
        let is_news =
            |finding: &&GraphDiagnostic| !self.positions.is_doubtful(finding.node.as_ref(), &path(finding));
        let found = findings.iter().filter(is_news).map(|finding| self.diagnose(finding));
        let mut all: Vec<Diagnostic> = said.into_iter().chain(found).collect();
        // A diagnostic without a position is about the whole document and comes last.
        all.sort_by_key(|diagnostic| {
            diagnostic.place.as_ref().map_or((usize::MAX, 0), |place| (place.line, place.column))
        });
        all
    }

    fn place_of(&self, finding: &GraphDiagnostic) -> usize {
        let node = finding.node.as_ref();
        let field = path(finding);
        match finding.at {
            None if finding.is_about_key => self.positions.find_key(node, &field),
            Some(at) => {
                let (line, column) = (usize::try_from(at.line), usize::try_from(at.column));
                self.place_inside(node, &field, line.unwrap_or(1), column.unwrap_or(1))
            }
            None => self.place(node, &field),
        }
    }
}

/// Returns the path of the field that a diagnostic is about.
fn path(finding: &GraphDiagnostic) -> Cow<'static, str> {
    match &finding.key {
        Some(key) => Cow::Owned(format!("{}.{key}", finding.field)),
        None => Cow::Borrowed(finding.field),
    }
}
