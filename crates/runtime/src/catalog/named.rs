//! Which workflow a name means.

use super::{Catalog, Diagnostic, WorkflowEntry};
use crate::user_error::{UserError, UserErrorKind};

impl Catalog {
    /// The workflow of a name: `NAME`, or `WHOSE:NAME` where several have it. What plugins bring and what a
    /// person wrote stand beside each other, so that neither is chosen in silence; the project's own goes
    /// before the user's, and any before a built-in one.
    pub fn named(&self, name: &str) -> Result<Option<&WorkflowEntry>, UserError> {
        let all = || self.workflows.iter().filter(|entry| entry.name == name);
        let of_plugins = all().filter(|entry| entry.from_plugin);
        let own = all().find(|entry| !entry.from_plugin && !entry.is_builtin);
        let candidates: Vec<&WorkflowEntry> = of_plugins.chain(own).collect();
        match candidates.as_slice() {
            [] => Ok(all().next().or_else(|| self.whole_name(name))),
            [only] => Ok(Some(only)),
            [first, ..] => Err(ambiguous(name, first, &candidates)),
        }
    }

    /// That there is no workflow of this name; and every file with mistakes, of these, that may be it.
    pub fn missing(&self, name: &str, problems: &[Diagnostic]) -> UserError {
        let files: Vec<String> = self.nameless.iter().map(|path| path.display().to_string()).collect();
        let is_its =
            |problem: &&Diagnostic| problem.is_error() && files.iter().any(|file| problem.is_in(file));
        let mut text = format!("no workflow `{name}`");
        let perhaps: Vec<String> = problems.iter().filter(is_its).map(ToString::to_string).collect();
        if !perhaps.is_empty() {
            text = format!("{text}, unless it is in a file that says no name\n\n{}", perhaps.join("\n\n"));
        }
        UserError::new(UserErrorKind::Configuration, text)
            .hint(format!("there are: {}", self.names().join(", ")))
    }

    fn whole_name(&self, name: &str) -> Option<&WorkflowEntry> {
        let (whose, name) = name.split_once(':')?;
        self.workflows.iter().find(|entry| entry.owner_name() == whose && entry.name == name)
    }
}

fn ambiguous(name: &str, first: &WorkflowEntry, all: &[&WorkflowEntry]) -> UserError {
    let place = |entry: &&WorkflowEntry| match &entry.path {
        Some(path) => format!("{}:{name} ({})", entry.owner_name(), path.display()),
        None => format!("{}:{name}", entry.owner_name()),
    };
    let places: Vec<String> = all.iter().map(place).collect();
    let text = format!("{} workflows are named `{name}`: {}", all.len(), places.join(", "));
    let hint = format!("say which, as in `{}:{name}`, or rename one", first.owner_name());
    UserError::new(UserErrorKind::Configuration, text).hint(hint)
}
