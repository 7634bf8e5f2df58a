//! Diagnostics: the mistakes that a check reports.

use std::fmt;

use super::outline::OutlineNode;
use crate::graph::template::TemplatePosition;
use crate::id::NodeId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GraphSeverity {
    /// The workflow cannot run.
    Error,
    /// The workflow can run.
    Warning,
}

/// A mistake in a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphDiagnostic {
    pub severity: GraphSeverity,
    /// The node; `None` if the diagnostic is about the whole workflow.
    pub node: Option<NodeId>,
    /// The document key: `prompt`, `loop.until`.
    pub field: &'static str,
    /// The entry below that key: an input, a key of `with`, a branch, the index of a list item, or a
    /// path into a schema.
    pub key: Option<String>,
    /// True if the name of the entry is wrong, not its value.
    pub is_about_key: bool,
    /// The position inside the text of that field.
    pub at: Option<TemplatePosition>,
    pub text: String,
    pub hint: Option<String>,
}

impl GraphDiagnostic {
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

    pub fn warning(node: Option<&NodeId>, field: &'static str, text: impl Into<String>) -> GraphDiagnostic {
        GraphDiagnostic { severity: GraphSeverity::Warning, ..GraphDiagnostic::error(node, field, text) }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> GraphDiagnostic {
        self.maybe_hint(Some(hint.into()))
    }

    /// Sets or removes the hint.
    #[must_use]
    pub fn maybe_hint(self, hint: Option<String>) -> GraphDiagnostic {
        GraphDiagnostic { hint, ..self }
    }

    /// Sets the entry below the key.
    #[must_use]
    pub fn key(self, key: Option<String>) -> GraphDiagnostic {
        GraphDiagnostic { key, ..self }
    }

    /// Sets the entry below the key, whose name is wrong.
    #[must_use]
    pub fn unknown_key(self, key: impl Into<String>) -> GraphDiagnostic {
        GraphDiagnostic { key: Some(key.into()), is_about_key: true, ..self }
    }

    /// Sets the index of the list item below the key.
    #[must_use]
    pub fn item(self, index: usize) -> GraphDiagnostic {
        self.key(Some(index.to_string()))
    }

    /// Sets the position inside the text.
    #[must_use]
    pub fn at(self, at: Option<TemplatePosition>) -> GraphDiagnostic {
        GraphDiagnostic { at, ..self }
    }

    /// Returns whether the workflow cannot run because of it.
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

/// Formats the diagnostic without a file position: `error: text → node.field`.
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

/// The diagnostics so far.
#[derive(Debug, Default)]
pub(super) struct GraphDiagnostics {
    /// Each with its sort key: 0 for the whole workflow, else the position of the node plus 1.
    findings: Vec<(usize, GraphDiagnostic)>,
    guesses: usize,
}

/// The most suggestions in one check, because each takes time to compute.
const MAX_GUESSES: usize = 50;

impl GraphDiagnostics {
    /// Computes a suggestion, unless there were too many already.
    pub(super) fn guess<T>(&mut self, guess: impl FnOnce() -> Option<T>) -> Option<T> {
        self.guesses += 1;
        if self.guesses > MAX_GUESSES { None } else { guess() }
    }

    /// Adds a diagnostic about the whole workflow.
    pub(super) fn whole(&mut self, finding: GraphDiagnostic) {
        self.findings.push((0, finding));
    }

    /// Adds a diagnostic about a node.
    pub(super) fn node(&mut self, node: &OutlineNode<'_>, finding: GraphDiagnostic) {
        self.findings.push((node.at + 1, GraphDiagnostic { node: Some(node.node.id.clone()), ..finding }));
    }

    /// Adds an error about a node.
    pub(super) fn error(&mut self, node: &OutlineNode<'_>, field: &'static str, text: impl Into<String>) {
        self.node(node, GraphDiagnostic::error(None, field, text));
    }

    /// Adds a warning about a node.
    pub(super) fn warning(&mut self, node: &OutlineNode<'_>, field: &'static str, text: impl Into<String>) {
        self.node(node, GraphDiagnostic::warning(None, field, text));
    }

    /// Returns the diagnostics in document order.
    pub(super) fn in_order(mut self) -> Vec<GraphDiagnostic> {
        self.findings.sort_by_key(|(place, _)| *place);
        self.findings.into_iter().map(|(_, finding)| finding).collect()
    }
}
