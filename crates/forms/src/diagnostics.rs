//! Collects the diagnostics of one text, so that the user sees all of them at once.
//!
//! Bounded: a hostile file with a hundred thousand unknown fields gives a short list.

use crate::diagnostic::{Diagnostic, Severity};

/// The most errors, and the most warnings, that one text may produce.
const MOST: usize = 50;

/// The diagnostics of one text so far.
pub(crate) struct Diagnostics<'a> {
    text: Option<&'a str>,
    file: Option<&'a str>,
    errors: usize,
    warnings: usize,
    kept: Vec<(usize, Diagnostic)>,
    whole: Vec<Diagnostic>,
}

impl<'a> Diagnostics<'a> {
    pub(crate) fn in_text(text: &'a str, file: Option<&'a str>) -> Diagnostics<'a> {
        Diagnostics { text: Some(text), file, errors: 0, warnings: 0, kept: Vec::new(), whole: Vec::new() }
    }

    /// Starts a collection for a variable or a flag, which has no lines.
    pub(crate) fn in_pair(name: &'a str) -> Diagnostics<'a> {
        Diagnostics {
            text: None,
            file: Some(name),
            errors: 0,
            warnings: 0,
            kept: Vec::new(),
            whole: Vec::new(),
        }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Adds an error at a byte of the text.
    pub(crate) fn error(&mut self, at: usize, message: &str, hint: Option<String>) {
        self.errors += 1;
        if self.errors <= MOST {
            self.keep(Severity::Error, at, message, hint);
        }
    }

    /// Adds a warning at a byte of the text.
    pub(crate) fn warn(&mut self, at: usize, message: &str, hint: Option<String>) {
        self.warnings += 1;
        if self.warnings <= MOST {
            self.keep(Severity::Warning, at, message, hint);
        }
    }

    /// Adds a warning about the whole text.
    pub(crate) fn whole(&mut self, message: &str) {
        self.whole.push(Diagnostic::new(Severity::Warning, message).in_file(self.file));
    }

    fn keep(&mut self, severity: Severity, at: usize, message: &str, hint: Option<String>) {
        self.kept.push((at, self.located(severity, at, message, hint)));
    }

    /// Makes a warning at a byte of the text, without adding it.
    pub(crate) fn warning(&self, at: usize, message: &str) -> Diagnostic {
        self.located(Severity::Warning, at, message, None)
    }

    fn located(&self, severity: Severity, at: usize, message: &str, hint: Option<String>) -> Diagnostic {
        let diagnostic = Diagnostic::new(severity, message).in_file(self.file).hint(hint);
        match self.text {
            Some(text) => diagnostic.at(text, at),
            None => diagnostic,
        }
    }

    /// Returns the diagnostics in the order of the text. Those about the whole text come last.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.kept.sort_by_key(|(at, _)| *at);
        let unsaid = (self.errors + self.warnings).saturating_sub(self.kept.len());
        let mut list: Vec<Diagnostic> = self.kept.into_iter().map(|(_, diagnostic)| diagnostic).collect();
        list.append(&mut self.whole);
        if unsaid > 0 {
            let message = format!("{unsaid} more problems are not shown");
            list.push(Diagnostic::new(Severity::Warning, &message).in_file(self.file));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_everything_in_the_order_of_the_text() {
        let mut findings = Diagnostics::in_text("abc", Some("x"));
        findings.warn(2, "second", None);
        findings.error(0, "first", None);
        assert!(findings.has_errors());
        let messages: Vec<String> = findings.finish().into_iter().map(|d| d.message).collect();
        assert_eq!(messages, ["first", "second"]);
    }

    #[test]
    fn a_flood_of_warnings_is_cut_and_hides_no_error() {
        let mut findings = Diagnostics::in_text("abc", None);
        for _ in 0..10_000 {
            findings.warn(0, "again", None);
        }
        findings.error(1, "the one that matters", None);
        let list = findings.finish();
        assert_eq!(list.len(), MOST + 2);
        assert!(list.iter().any(Diagnostic::is_error));
        assert_eq!(list.last().unwrap().message, "9950 more problems are not shown");
    }
}
