//! The expectations of a test of a workflow, and how a rehearsal differs from them.

use super::instance_names::{ImpossibleInstance, impossible};
use super::stub_check::node_at;
use super::{Rehearsal, RehearsedEffect, stub_targets};
use crate::graph::check::nearest;
use crate::run::FinalStatus;
use crate::spec::Spec;
use crate::words;

words! {
    /// A field of the expectations, as people write it.
    #[derive(PartialOrd, Ord)]
    pub enum ExpectationField {
        /// The end of the run.
        Status = "status",
        /// The reason of that end: its word, or a part of its text.
        Reason = "reason",
        /// The nodes that start.
        Ran = "ran",
        /// The nodes that do not start.
        NotRan = "not_ran",
        /// The number of turns of agents.
        Turns = "turns",
    }
}

/// The expectations of a test. A node is `NODE`, or `NODE@2` for its second iteration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expectation {
    pub status: Option<FinalStatus>,
    pub reason: Option<String>,
    pub ran: Vec<String>,
    pub not_ran: Vec<String>,
    pub turns: Option<u32>,
}

/// A mistake in the expectations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectationProblem {
    pub field: ExpectationField,
    /// The position in a list.
    pub item: Option<usize>,
    pub text: String,
    pub hint: Option<String>,
}

impl Expectation {
    /// Decides whether nothing is expected.
    pub fn is_empty(&self) -> bool {
        *self == Expectation::default()
    }

    /// Finds nodes that do not exist, iterations and attempts that no node has, expectations that contradict
    /// each other, and a reason that every end has.
    pub fn check(&self, spec: &Spec) -> Vec<ExpectationProblem> {
        let lists = [(ExpectationField::Ran, &self.ran), (ExpectationField::NotRan, &self.not_ran)];
        let mut problems = Vec::new();
        for (field, list) in lists {
            for (at, name) in list.iter().enumerate() {
                if node_at(spec, &without_instances(name)).is_none() {
                    let text = format!("workflow `{}` has no node `{name}`", spec.workflow);
                    let hint = near(spec, name);
                    problems.push(ExpectationProblem { field, item: Some(at), text, hint });
                } else if let Some(ImpossibleInstance { text, hint }) = impossible(spec, name) {
                    problems.push(ExpectationProblem { field, item: Some(at), text, hint });
                }
            }
        }
        if self.reason.as_ref().is_some_and(|reason| reason.trim().is_empty()) {
            let (field, text) =
                (ExpectationField::Reason, "`reason` is empty, so every end has it".to_owned());
            let hint = Some("write the word of a reason, or a part of its text".to_owned());
            problems.push(ExpectationProblem { field, item: None, text, hint });
        }
        for (at, name) in self.not_ran.iter().enumerate() {
            let clash = self.ran.iter().find(|ran| is_instance(ran, name));
            if let Some(ran) = clash {
                let text = format!("`{name}` cannot be in `not_ran`: `{ran}` is in `ran`");
                let field = ExpectationField::NotRan;
                problems.push(ExpectationProblem { field, item: Some(at), text, hint: None });
            }
        }
        problems
    }

    /// Returns what differs, as sentences.
    pub fn unmet(&self, rehearsal: &Rehearsal) -> Vec<String> {
        let outcome = &rehearsal.outcome;
        let detail = outcome.detail.clone().unwrap_or_else(|| outcome.reason.sentence().to_owned());
        let mut unmet = Vec::new();
        if let Some(status) = self.status.filter(|status| *status != outcome.status) {
            let (status, got) = (status.word(), outcome.status.word());
            unmet.push(format!("expected status {status}, got {got}: {detail}"));
        }
        if let Some(reason) = &self.reason
            && *reason != outcome.reason.word()
            && !detail.contains(reason.trim())
        {
            let word = outcome.reason.word();
            unmet.push(format!("expected reason `{}`, got {word}: {detail}", reason.trim()));
        }
        let starts: Vec<&RehearsedEffect> =
            rehearsal.acts.iter().filter(|act| act.what == "begins").collect();
        let start = |name: &str| starts.iter().find(|act| is_instance(&act.path, name));
        for name in self.ran.iter().filter(|name| start(name).is_none()) {
            unmet.push(format!("expected `{name}` to run, but it did not{}", why_not(rehearsal, name)));
        }
        for name in &self.not_ran {
            let started = start(name).map(|act| &act.path);
            let as_instance = |path: &String| match path == name {
                true => String::new(),
                false => format!(" as `{path}`"),
            };
            unmet.extend(
                started.map(|path| format!("expected `{name}` not to run, but it did{}", as_instance(path))),
            );
        }
        if let Some(turns) = self.turns.filter(|turns| *turns != rehearsal.turns) {
            unmet.push(format!("expected {turns} turns, got {}", rehearsal.turns));
        }
        unmet
    }
}

/// Explains why a node did not run, if it was skipped.
fn why_not(rehearsal: &Rehearsal, name: &str) -> String {
    let is_its = |act: &&RehearsedEffect| act.what == "skipped" && is_instance(&act.path, name);
    let skipped = rehearsal.acts.iter().find(is_its);
    skipped.map(|act| format!(": it was skipped, because {}", act.text)).unwrap_or_default()
}

/// Decides whether a node instance is the named one. A name without iteration or attempt means all of them, in
/// every part of the path.
fn is_instance(path: &str, name: &str) -> bool {
    let (path, name): (Vec<&str>, Vec<&str>) = (path.split('/').collect(), name.split('/').collect());
    let fits = |(path, name): (&&str, &&str)| {
        path == name || path.strip_prefix(*name).is_some_and(|rest| rest.starts_with(['@', '~']))
    };
    path.len() == name.len() && path.iter().zip(&name).all(fits)
}

/// Removes iterations and attempts from every part of a path.
fn without_instances(name: &str) -> String {
    let parts = name.split('/').map(|part| part.split(['@', '~']).next().unwrap_or_default());
    parts.collect::<Vec<_>>().join("/")
}

fn near(spec: &Spec, name: &str) -> Option<String> {
    let written = without_instances(name);
    let targets = stub_targets(spec);
    let own: Vec<String> =
        crate::graph::walk::ids_in(&spec.body).into_iter().map(|id| id.to_string()).collect();
    let names = own.iter().map(String::as_str).chain(targets.iter().map(|target| target.path.as_str()));
    nearest(&written, names).map(|near| format!("did you mean `{near}`?"))
}
