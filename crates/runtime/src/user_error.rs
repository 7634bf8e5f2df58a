//! What a person has to mend before anything runs.
//!
//! The parts stay values, with file and place, up to the face: a web page can point into the file.

use std::fmt;

use windlass_forms::diagnostic::Diagnostic;

/// What kind of mistake it is; faces turn it into an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserErrorKind {
    /// The command line.
    Usage,
    /// A file, a setting, a workflow.
    Configuration,
    /// The agent CLI is missing or cannot do it.
    Agent,
    /// A rule forbids it.
    Refused,
}

/// Mistakes of one kind, where they are, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserError {
    /// Their kind.
    pub class: UserErrorKind,
    /// Each of them; there is at least one.
    pub parts: Vec<ProblemPart>,
    /// What to do about all of it.
    pub hint: Option<String>,
}

/// One thing that is wrong, or odd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemPart {
    /// Something that is in no file.
    Plain {
        /// What it is.
        text: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// Something in a file, with its place.
    InFile(Box<Diagnostic>),
}

impl ProblemPart {
    /// Returns the diagnostic, where it is one.
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

/// Without the word `error` or `warning`.
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
    /// A mistake without a hint.
    pub fn new(class: UserErrorKind, text: impl Into<String>) -> UserError {
        UserError { class, parts: vec![text.into().into()], hint: None }
    }

    /// Says what to do.
    pub fn hint(self, hint: impl Into<String>) -> UserError {
        UserError { hint: Some(hint.into()), ..self }
    }

    /// Puts other mistakes before these. The hint stays the one of this problem.
    pub(crate) fn after(self, parts: Vec<ProblemPart>) -> UserError {
        UserError { parts: [parts, self.parts].concat(), ..self }
    }

    /// Several mistakes of one kind as one; none where there are none.
    pub(crate) fn all(mut problems: Vec<UserError>) -> Option<UserError> {
        let last = problems.pop()?;
        Some(last.after(problems.into_iter().flat_map(UserError::into_parts).collect()))
    }

    /// A mistake in a file, from the diagnostics that are errors.
    pub(crate) fn of(diagnostics: &[Diagnostic]) -> Option<UserError> {
        let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
        let parts: Vec<ProblemPart> = errors.cloned().map(ProblemPart::from).collect();
        let problem = UserError { class: UserErrorKind::Configuration, parts, hint: None };
        (!problem.parts.is_empty()).then_some(problem)
    }

    /// Gives the parts, the last one with what to do about all.
    fn into_parts(self) -> Vec<ProblemPart> {
        let (mut parts, mut hint) = (self.parts, self.hint);
        let last = parts.pop().map(|last| last.or_hint(hint.take()));
        parts.extend(last);
        parts
    }

    /// Returns what and where, without what to do about all of it. Diagnostics are separated by blank lines.
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
