//! Workflow documents: a graph as people write it, in YAML or JSON.
//!
//! [`read`] finds every mistake of form in one pass, each with its place; [`read_for_check`] also
//! gives the graph of a document with mistakes, as far as it is known, so that `core`'s checks find
//! the others at the same time, and [`Document::check`] puts both together. [`print()`] writes a graph that
//! no person wrote, [`schema`] is for editors, [`starter()`] for a first document.
//!
//! Templates and conditions are kept as they stand: what they mean is `core::graph`'s.

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
mod tree;
mod value;
mod yaml;
mod yaml_error;

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

/// The most bytes of a document.
pub const MOST_BYTES: usize = 1024 * 1024;

/// A workflow with the places of all that is in it.
#[derive(Debug, Clone)]
pub struct WorkflowDocument {
    /// What it says.
    pub workflow: Workflow,
    text: String,
    file: String,
    places: DocumentPositions,
    /// Something in it could not be read.
    is_part: bool,
    unread: UnreadParts,
}

/// Reads a document. There is one unless there is an error.
pub fn read(text: &str, file_name: &str) -> (Option<WorkflowDocument>, Vec<Diagnostic>) {
    let (document, diagnostics) = read_for_check(text, file_name);
    let has_errors = diagnostics.iter().any(Diagnostic::is_error);
    (document.filter(|_| !has_errors), diagnostics)
}

/// Reads a document, and gives it even with mistakes in it, as far as it can be read. To look for
/// further mistakes with [`Document::check`], never to be run.
pub fn read_for_check(text: &str, file_name: &str) -> (Option<WorkflowDocument>, Vec<Diagnostic>) {
    if text.len() > MOST_BYTES {
        let message = format!("the document has {} bytes, where {MOST_BYTES} are allowed", text.len());
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
        WorkflowDocument { workflow, text, file, places, is_part: form.is_part, unread: form.unread }
    });
    (document, form.finish())
}

/// What a document is called that says no name.
pub const NAMELESS: &str = "?";

/// The JSON Schema of the language, for editors.
pub fn schema() -> &'static str {
    include_str!("document/schema.json")
}

impl WorkflowDocument {
    /// The file it was read from.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The byte at which a field stands: of a node, or of the workflow itself. A field is named by
    /// its path (`loop.until`) or by the end of it (`until`); without such a field it is the node.
    pub fn place(&self, node: Option<&NodeId>, field: &str) -> usize {
        self.places.find(node, field)
    }

    /// The byte that stands behind a line and a column of a text, both from 1, as that text
    /// became the value of a field.
    pub fn place_inside(&self, node: Option<&NodeId>, field: &str, line: usize, column: usize) -> usize {
        let at = self.place(node, field);
        nested::find(&self.text, at, line, column).unwrap_or(at)
    }

    /// What a check found, with its place.
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

    /// Everything that is wrong: what reading said, and what `core`'s checks find besides.
    pub fn check(&self, said: Vec<Diagnostic>, known: &CheckContext<'_>) -> Vec<Diagnostic> {
        let found = match self.is_part {
            true => check::check_part(&self.workflow, known, self.unread),
            false => check::check(&self.workflow, known),
        };
        self.report(said, &found)
    }

    /// Everything that is wrong, in the order of the text: what reading said, and what checks
    /// found besides. Where reading found a mistake, what follows from it is left out.
    fn report(&self, said: Vec<Diagnostic>, findings: &[GraphDiagnostic]) -> Vec<Diagnostic> {
        let is_news =
            |finding: &&GraphDiagnostic| !self.places.is_doubtful(finding.node.as_ref(), &path(finding));
        let found = findings.iter().filter(is_news).map(|finding| self.diagnose(finding));
        let mut all: Vec<Diagnostic> = said.into_iter().chain(found).collect();
        // What has no place is about what is not shown.
        all.sort_by_key(|diagnostic| {
            diagnostic.place.as_ref().map_or((usize::MAX, 0), |place| (place.line, place.column))
        });
        all
    }

    fn place_of(&self, finding: &GraphDiagnostic) -> usize {
        let node = finding.node.as_ref();
        let field = path(finding);
        match finding.at {
            None if finding.is_about_key => self.places.find_key(node, &field),
            Some(at) => {
                let (line, column) = (usize::try_from(at.line), usize::try_from(at.column));
                self.place_inside(node, &field, line.unwrap_or(1), column.unwrap_or(1))
            }
            None => self.place(node, &field),
        }
    }
}

/// The way to what a finding is about.
fn path(finding: &GraphDiagnostic) -> Cow<'static, str> {
    match &finding.key {
        Some(key) => Cow::Owned(format!("{}.{key}", finding.field)),
        None => Cow::Borrowed(finding.field),
    }
}
