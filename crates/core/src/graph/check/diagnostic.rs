//! Something that is wrong with a workflow.

use std::fmt;

use super::outline::OutlineNode;
use crate::graph::template::TemplatePosition;
use crate::id::NodeId;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GraphSeverity {
    /// The workflow is not run.
    Error,
    /// It is said.
    Warning,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphDiagnostic {
    /// How bad it is.
    pub severity: GraphSeverity,
    /// The node; none where it is about all of the workflow.
    pub node: Option<NodeId>,
    /// The key of the document it is about: `prompt`, `loop.until`.
    pub field: &'static str,
    /// The entry below that key: an input, a key of `with`, a branch, an item of a list by its
    /// number from 0, the names on the way into a schema.
    pub key: Option<String>,
    /// It is about the name of that entry, not about what stands behind it.
    pub is_about_key: bool,
    /// The place inside the text of that field.
    pub at: Option<TemplatePosition>,
    /// What is wrong.
    pub text: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl GraphDiagnostic {
    /// An error.
    pub fn error(node: Option<&NodeId>, field: &'static str, text: impl Into<String>) -> GraphDiagnostic {
        GraphDiagnostic {
            severity: GraphSeverity::Error,
            node: node.cloned(),
            field,
            key: None,
            is_about_key: false,
            at: None,
            text: text.into(),
            hint: None,
        }
    }

    /// A warning.
    pub fn warning(node: Option<&NodeId>, field: &'static str, text: impl Into<String>) -> GraphDiagnostic {
        GraphDiagnostic { severity: GraphSeverity::Warning, ..GraphDiagnostic::error(node, field, text) }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> GraphDiagnostic {
        self.maybe_hint(Some(hint.into()))
    }

    /// What to do about it, if anyone knows.
    #[must_use]
    pub fn maybe_hint(self, hint: Option<String>) -> GraphDiagnostic {
        GraphDiagnostic { hint, ..self }
    }

    /// The entry below its key.
    #[must_use]
    pub fn key(self, key: Option<String>) -> GraphDiagnostic {
        GraphDiagnostic { key, ..self }
    }

    /// The entry below its key, of which the name itself is wrong.
    #[must_use]
    pub fn unknown_key(self, key: impl Into<String>) -> GraphDiagnostic {
        GraphDiagnostic { key: Some(key.into()), is_about_key: true, ..self }
    }

    /// The item of the list below its key, from 0.
    #[must_use]
    pub fn item(self, index: usize) -> GraphDiagnostic {
        self.key(Some(index.to_string()))
    }

    /// The place inside the text.
    #[must_use]
    pub fn at(self, at: Option<TemplatePosition>) -> GraphDiagnostic {
        GraphDiagnostic { at, ..self }
    }

    /// Whether the workflow is not run because of it.
    pub fn is_error(&self) -> bool {
        self.severity == GraphSeverity::Error
    }
}

impl fmt::Display for GraphSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GraphSeverity::Error => "error",
            GraphSeverity::Warning => "warning",
        })
    }
}

/// Without its place in a file: `error: what → node.field`.
impl fmt::Display for GraphDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} → ", self.severity, self.text)?;
        if let Some(node) = &self.node {
            write!(f, "{node}.")?;
        }
        f.write_str(self.field)?;
        if let Some(key) = &self.key {
            write!(f, "[{key}]")?;
        }
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct GraphDiagnostics {
    /// With the place of the node; what is about the whole comes first.
    findings: Vec<(usize, GraphDiagnostic)>,
    guesses: usize,
}

/// Guessing what was meant takes time, and nobody reads more of it.
const MAX_GUESSES: usize = 50;

impl GraphDiagnostics {
    /// What was probably meant, the first few times somebody asks.
    pub(super) fn guess<T>(&mut self, guess: impl FnOnce() -> Option<T>) -> Option<T> {
        self.guesses += 1;
        if self.guesses > MAX_GUESSES { None } else { guess() }
    }

    /// Something about the whole workflow.
    pub(super) fn whole(&mut self, finding: GraphDiagnostic) {
        self.findings.push((0, finding));
    }

    /// Something about a node.
    pub(super) fn node(&mut self, node: &OutlineNode<'_>, finding: GraphDiagnostic) {
        self.findings.push((node.at + 1, GraphDiagnostic { node: Some(node.node.id.clone()), ..finding }));
    }

    /// An error about a node.
    pub(super) fn error(&mut self, node: &OutlineNode<'_>, field: &'static str, text: impl Into<String>) {
        self.node(node, GraphDiagnostic::error(None, field, text));
    }

    /// A warning about a node.
    pub(super) fn warning(&mut self, node: &OutlineNode<'_>, field: &'static str, text: impl Into<String>) {
        self.node(node, GraphDiagnostic::warning(None, field, text));
    }

    /// In the order of the text.
    pub(super) fn in_order(mut self) -> Vec<GraphDiagnostic> {
        self.findings.sort_by_key(|(place, _)| *place);
        self.findings.into_iter().map(|(_, finding)| finding).collect()
    }
}
