//! Errors that a person must fix before anything runs.
//!
//! The parts stay values with file and position up to the face, so that a web page can point into the file.

use std::fmt;

use windlass_forms::diagnostic::Diagnostic;

/// The kind of an error. Faces turn it into an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserErrorKind {
    /// The command line is wrong.
    Usage,
    /// A file, a setting or a workflow is wrong.
    Configuration,
    /// The agent CLI is missing or lacks a feature.
    Agent,
    /// A rule forbids the action.
    Refused,
}

/// One or more errors of one kind, with their positions and a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserError {
    pub class: UserErrorKind,
    /// The single errors; at least one.
    pub parts: Vec<ProblemPart>,
    /// A hint for all parts together.
    pub hint: Option<String>,
}

/// A single error or warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemPart {
    /// A message that belongs to no file.
    Plain { text: String, hint: Option<String> },
    /// A message about a position in a file.
    InFile(Box<Diagnostic>),
}

impl ProblemPart {
    /// Returns the diagnostic, if the part has one.
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            ProblemPart::Plain { .. } => None,
            ProblemPart::InFile(diagnostic) => Some(diagnostic),
        }
    }

    fn or_hint(mut self, more: Option<String>) -> ProblemPart {
        let hint = match &mut self {
            ProblemPart::Plain { hint, .. } => hint,
            ProblemPart::InFile(diagnostic) => &mut diagnostic.hint,
        };
        *hint = hint.take().or(more);
        self
    }
}

impl From<String> for ProblemPart {
    fn from(text: String) -> ProblemPart {
        ProblemPart::Plain { text, hint: None }
    }
}

impl From<Diagnostic> for ProblemPart {
    fn from(diagnostic: Diagnostic) -> ProblemPart {
        ProblemPart::InFile(Box::new(diagnostic))
    }
}

/// Omits the word `error` or `warning`.
impl fmt::Display for ProblemPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProblemPart::Plain { text, hint: None } => f.write_str(text),
            ProblemPart::Plain { text, hint: Some(hint) } => write!(f, "{text}\n  hint: {hint}"),
            ProblemPart::InFile(diagnostic) => f.write_str(&diagnostic.without_severity()),
        }
    }
}

impl UserError {
    /// Makes an error without a hint.
    pub fn new(class: UserErrorKind, text: impl Into<String>) -> UserError {
        UserError { class, parts: vec![text.into().into()], hint: None }
    }

    /// Sets the hint.
    pub fn hint(self, hint: impl Into<String>) -> UserError {
        UserError { hint: Some(hint.into()), ..self }
    }

    /// Puts other parts before these. The hint stays that of this error.
    pub(crate) fn after(self, parts: Vec<ProblemPart>) -> UserError {
        UserError { parts: [parts, self.parts].concat(), ..self }
    }

    /// Joins several errors of one kind into one. Returns `None` for an empty list.
    pub(crate) fn all(mut problems: Vec<UserError>) -> Option<UserError> {
        let last = problems.pop()?;
        Some(last.after(problems.into_iter().flat_map(UserError::into_parts).collect()))
    }

    /// Makes an error from the diagnostics of severity error, if there are any.
    pub(crate) fn of(diagnostics: &[Diagnostic]) -> Option<UserError> {
        let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
        let parts: Vec<ProblemPart> = errors.cloned().map(ProblemPart::from).collect();
        let problem = UserError { class: UserErrorKind::Configuration, parts, hint: None };
        (!problem.parts.is_empty()).then_some(problem)
    }

    /// Returns the parts, with the common hint on the last one.
    fn into_parts(self) -> Vec<ProblemPart> {
        let (mut parts, mut hint) = (self.parts, self.hint);
        let last = parts.pop().map(|last| last.or_hint(hint.take()));
        parts.extend(last);
        parts
    }

    /// Returns the messages with their positions, without the common hint. Blank lines separate diagnostics.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut before: Option<&ProblemPart> = None;
        for part in &self.parts {
            text += match (before, part) {
                (None, _) => "",
                (Some(ProblemPart::InFile(_)), ProblemPart::InFile(_)) => "\n\nerror: ",
                (Some(_), _) => "\nerror: ",
            };
            text += &part.to_string();
            before = Some(part);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use windlass_forms::diagnostic::Severity;

    use super::*;

    fn found(message: &str) -> Diagnostic {
        Diagnostic::new(Severity::Error, message).in_file(Some("w.yaml")).at("a: b\n", 3)
    }

    #[test]
    fn a_mistake_in_a_file_keeps_its_place() {
        let warning = Diagnostic::new(Severity::Warning, "odd");
        let problem = UserError::of(&[found("one"), warning.clone(), found("two")]).unwrap();
        let places: Vec<_> = problem.parts.iter().filter_map(ProblemPart::diagnostic).collect();
        assert_eq!(places, [&found("one"), &found("two")]);
        let place = "\n  at w.yaml:1:4\n     1 | a: b\n       |    ^";
        assert_eq!(problem.text(), format!("one{place}\n\nerror: two{place}"));
        assert_eq!(ProblemPart::from(warning.clone()).to_string(), "odd");
        assert_eq!(UserError::of(&[warning]), None);
    }

    #[test]
    fn several_mistakes_are_told_with_what_to_do_about_each() {
        let one = UserError::new(UserErrorKind::Usage, "one").hint("mend it");
        let two = UserError::new(UserErrorKind::Usage, "two").hint("leave it");
        let problem = UserError::all(vec![one, two]).unwrap();
        assert_eq!(problem.text(), "one\n  hint: mend it\nerror: two");
        assert_eq!(problem.hint.as_deref(), Some("leave it"));
        assert_eq!(UserError::all(Vec::new()), None);
    }
}
