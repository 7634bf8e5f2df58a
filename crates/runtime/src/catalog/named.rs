//! Finds the workflow that a name means.

use std::path::{Path, PathBuf};

use windlass_core::graph::check::nearest;

use super::{Catalog, Diagnostic, WorkflowEntry};
use crate::user_error::{UserError, UserErrorKind};

impl Catalog {
    /// Returns the workflow for `NAME`, for `OWNER:NAME` where several have the name, or for the path of a
    /// file. Fails if a plugin
    /// and a person, or two plugins, use the same name, so that none is chosen silently. A project's workflow
    /// wins over the user's, and any other wins over a built-in one.
    pub fn named(&self, name: &str) -> Result<Option<&WorkflowEntry>, UserError> {
        if self.file_at(name).is_some() {
            return Ok(self.of_file(name));
        }
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

    /// Returns the project's workflow of this name.
    pub(crate) fn of_project(&self, name: &str) -> Option<&WorkflowEntry> {
        self.workflows.iter().find(|entry| entry.is_of_project() && entry.name == name)
    }

    /// Returns the error if a name means a broken file, although another workflow has the name, too. That one
    /// must not run in its place: it lacks the limits of the file that the person wrote.
    pub fn broken_first(&self, name: &str, problems: &[Diagnostic]) -> Option<UserError> {
        let other = self.named(name).ok().flatten().filter(|other| other.name == name)?;
        if self.file_at(name).is_some() {
            return None;
        }
        let own = self.workflows.iter().find(|entry| {
            entry.name == name && !entry.from_plugin && !entry.is_builtin && entry.path.is_some()
        });
        let place = |path: &Path| self.files.iter().position(|file| file == path);
        let own = own.and_then(|entry| entry.path.as_deref()).and_then(place);
        // A plugin has no precedence over a person, nor a person over a plugin. All others are in the order
        // of `files`.
        let is_nearer = |path: &PathBuf| {
            self.of_plugins.contains(path) || own.is_none_or(|own| place(path).is_some_and(|it| it < own))
        };
        let said = self.broken.iter().filter(|(own, _)| own == name).map(|(_, path)| path);
        let unsaid = self.nameless.iter().filter(|path| self.has_stem(path, name));
        let files: Vec<String> = said
            .chain(unsaid)
            .filter(|path| is_nearer(path))
            .map(|path| path.display().to_string())
            .collect();
        let is_its = |problem: &&Diagnostic| files.iter().any(|file| problem.is_in(file));
        let its: Vec<Diagnostic> = problems.iter().filter(is_its).cloned().collect();
        let text = format!(
            "the file of workflow `{name}` has mistakes, and Windlass does not run the {} one in its place",
            other.owner_name()
        );
        let hint = "fix the file, or move it away";
        UserError::of(&its).map(|problem| problem.after(vec![text.into()]).hint(hint))
    }

    /// Reports that no workflow has this name. Lists the given errors in files that may contain it.
    pub fn missing(&self, name: &str, problems: &[Diagnostic]) -> UserError {
        let files: Vec<String> = self.nameless.iter().map(|path| path.display().to_string()).collect();
        let is_its =
            |problem: &&Diagnostic| problem.is_error() && files.iter().any(|file| problem.is_in(file));
        let mut text = format!("no workflow `{name}`");
        let perhaps: Vec<String> = problems.iter().filter(is_its).map(ToString::to_string).collect();
        if !perhaps.is_empty() {
            let perhaps = perhaps.join("\n\n");
            text = format!("{text}, unless it is in a broken file without a readable name\n\n{perhaps}");
        }
        let there = format!("there are: {}", self.names().join(", "));
        let of_plugin = self.workflows.iter().find(|entry| entry.from_plugin && entry.owner_name() == name);
        if let Some(entry) = of_plugin {
            let hint = format!("the workflow of plugin `{name}` is called `{}`; {there}", entry.name);
            return UserError::new(UserErrorKind::Configuration, text).hint(hint);
        }
        UserError::new(UserErrorKind::Configuration, text).hint(match nearest(name, self.names()) {
            Some(near) => format!("did you mean `{near}`? {there}"),
            None => there,
        })
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
