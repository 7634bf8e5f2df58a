//! What a person did or configured that cannot work, in words.

use windlass_forms::diagnostic::Diagnostic;

/// What kind of mistake it is; faces turn it into an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The command line.
    Usage,
    /// A file, a setting, a workflow.
    Configuration,
    /// The agent CLI is missing or cannot do it.
    Agent,
    /// A rule forbids it.
    Refused,
}

/// A mistake, where it is, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its kind.
    pub class: Class,
    /// What and where; several diagnostics are separated by blank lines.
    pub text: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Problem {
    /// A mistake without a hint.
    pub fn new(class: Class, text: impl Into<String>) -> Problem {
        Problem { class, text: text.into(), hint: None }
    }

    /// Says what to do.
    pub fn hint(self, hint: impl Into<String>) -> Problem {
        Problem { hint: Some(hint.into()), ..self }
    }

    /// Several mistakes of one kind as one; none where there are none.
    pub(crate) fn all(mut problems: Vec<Problem>) -> Option<Problem> {
        let last = problems.pop()?;
        let with_hint = |problem: Problem| match problem.hint {
            Some(hint) => format!("{}\n  hint: {hint}", problem.text),
            None => problem.text,
        };
        let mut texts: Vec<String> = problems.into_iter().map(with_hint).collect();
        texts.push(last.text);
        Some(Problem { text: texts.join("\nerror: "), ..last })
    }

    /// A mistake in a file, from the diagnostics that are errors.
    pub(crate) fn of(diagnostics: &[Diagnostic]) -> Option<Problem> {
        let errors: Vec<String> =
            diagnostics.iter().filter(|d| d.is_error()).map(ToString::to_string).collect();
        if errors.is_empty() {
            return None;
        }
        let text = errors.join("\n\n");
        Some(Problem::new(Class::Configuration, text.strip_prefix("error: ").unwrap_or(&text)))
    }
}
