//! Checks that templates and conditions are well formed and that the names in them exist.
//!
//! [`order`](super::order) checks that an output is available in time.

use super::UnreadParts;
use super::comparisons;
use super::context::CheckContext;
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{EvaluationTime, Outline, OutlineNode, Text};
use super::suggest::{did_you_mean, shown};
use super::values::{inside_plain, item, part, value};
use crate::graph::template::names::{UsedFunction, WordKind};
use crate::graph::template::{TemplateNames, TemplatePosition, Use, length_as_comment};
use crate::graph::workflow::{EachNode, ListSource, NodeKind, ShellNode};

/// The names that a text may use.
pub(super) const ROOTS: [&str; 7] = ["input", "inputs", "outputs", "run", "task", "iteration", "feedback"];
/// The facts in `run`.
const RUN: [&str; 4] = ["id", "workflow", "workspace", "artifacts"];
/// The facts in `run` that only `finally` sees.
const RUN_AT_THE_END: [&str; 2] = ["status", "reason"];

/// The facts that every text is checked against.
#[derive(Clone, Copy)]
struct There<'o, 'w> {
    outline: &'o Outline<'w>,
    known: &'o CheckContext<'o>,
    unread: UnreadParts,
}

pub(super) fn look(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    doubts: UnreadParts,
    found: &mut GraphDiagnostics,
) {
    let there = There { outline, known, unread: doubts };
    for node in &outline.nodes {
        for (number, from) in node.node.computed.iter().filter(|_| !doubts.values && !doubts.nodes) {
            let number = (number.field(&node.node.kind), *number);
            if let Some(finding) = comparisons::look_at_number(outline, known, node, number, from) {
                found.node(node, finding);
            }
        }
        for text in &node.texts {
            match &text.names {
                Ok(names) => there.look_at(node, text, names, found),
                // `commands` reports a `${#…}`, with what to write instead.
                Err(_) if has_length_as_comment(node, text) => {}
                Err(error) => {
                    let finding = GraphDiagnostic::error(None, text.field, error.message()).at(error.at());
                    found.node(node, finding.key(text.key.clone()));
                }
            }
        }
    }
}

/// Returns whether a text is a command line in which `${#` starts a comment.
fn has_length_as_comment(node: &OutlineNode<'_>, text: &Text) -> bool {
    let NodeKind::Shell(ShellNode { command, .. }) = &node.node.kind else { return false };
    text.field == "shell" && length_as_comment(&command.0).is_some()
}

impl There<'_, '_> {
    fn look_at(
        self,
        node: &OutlineNode<'_>,
        text: &Text,
        names: &TemplateNames,
        found: &mut GraphDiagnostics,
    ) {
        let mut said: Vec<TemplatePosition> = Vec::new();
        for used in &names.uses {
            if let Some(finding) = self.about(node, text, used, found) {
                said.push(used.at);
                let finding = GraphDiagnostic { field: text.field, ..finding };
                found.node(node, finding.key(text.key.clone()).at(Some(used.at)));
            }
        }
        for used in names.item_uses.iter().filter(|used| !said.contains(&used.at)) {
            if let Some(finding) = self.part_of_item(node, used) {
                let finding = GraphDiagnostic { field: text.field, ..finding };
                found.node(node, finding.key(text.key.clone()).at(Some(used.at)));
            }
        }
        let is_sure = !self.unread.values && !self.unread.nodes;
        for pair in names.pairs.iter().filter(|_| is_sure) {
            if let Some(finding) = comparisons::look_at_pair(self.outline, self.known, node, pair) {
                found.node(node, GraphDiagnostic { field: text.field, ..finding }.key(text.key.clone()));
            }
        }
        for comparison in names.comparisons.iter().filter(|_| is_sure) {
            for finding in comparisons::look(self.outline, self.known, node, comparison, found) {
                found.node(node, GraphDiagnostic { field: text.field, ..finding }.key(text.key.clone()));
            }
        }
        if let NodeKind::Each(EachNode { items: ListSource::Expression(list), .. }) = &node.node.kind
            && text.field == "each.in"
            && is_sure
            && let Some(finding) = comparisons::look_at_list(self.outline, self.known, node, list, names)
        {
            found.node(node, GraphDiagnostic { field: text.field, ..finding });
        }
        for word in names.words.iter().filter(|word| !word.kind.known().contains(&word.name.as_str())) {
            let finding = unknown_word(word, text, found);
            found.node(node, finding);
        }
    }

    fn about(
        self,
        node: &OutlineNode<'_>,
        text: &Text,
        used: &Use,
        found: &mut GraphDiagnostics,
    ) -> Option<GraphDiagnostic> {
        match (used.root(), used.name()) {
            ("inputs", Some(name)) => input(self.outline, name, used, found),
            ("outputs", Some(id)) => self.output(id, used, found),
            ("task", _) => {
                let is_there = node.surroundings.is_in_task_loop || text.moment == EvaluationTime::Round;
                let finding = || error("there is no `task` outside of a `task_loop`".to_owned());
                (!is_there && !used.is_guarded(1)).then(finding)
            }
            ("iteration", _) => {
                let is_there = node.surroundings.has_iteration || text.moment != EvaluationTime::Begin;
                let finding = || error("there is no `iteration` outside of a loop".to_owned());
                match is_there || used.is_guarded(1) {
                    true => inside_plain(used, 1, "a number"),
                    false => Some(finding()),
                }
            }
            ("run", Some(fact)) => run_fact(used, fact, node.surroundings.is_last),
            ("input" | "feedback", _) => inside_plain(used, 1, "text"),
            ("inputs" | "outputs" | "run", _) => None,
            (root, _) if self.outline.each_named(node, root).is_some() => self.part_of_item(node, used),
            (root, _) => Some(unknown_root(self.outline, root)),
        }
    }

    fn part_of_item(self, node: &OutlineNode<'_>, used: &Use) -> Option<GraphDiagnostic> {
        let is_sure = !self.unread.values && !self.unread.nodes;
        item(self.outline, self.known, node, used).filter(|_| is_sure)
    }

    fn output(self, id: &str, used: &Use, found: &mut GraphDiagnostics) -> Option<GraphDiagnostic> {
        match self.outline.find(id) {
            // One of the unread nodes may have this id.
            None if self.unread.nodes => None,
            None => Some(unknown_output(self.outline, id, found)),
            Some(source) => part(source, used).or_else(|| {
                let is_sure = !self.unread.values;
                value(self.outline, self.known, source, used).filter(|_| is_sure)
            }),
        }
    }
}

fn error(text: String) -> GraphDiagnostic {
    GraphDiagnostic::error(None, "", text)
}

/// Checks a fact about the run. Some are known only at its end.
pub(super) fn run_fact(used: &Use, fact: &str, is_last: bool) -> Option<GraphDiagnostic> {
    let is_at_the_end = RUN_AT_THE_END.contains(&fact);
    if RUN.contains(&fact) || (is_at_the_end && (is_last || used.is_guarded(2))) {
        return inside_plain(used, 2, "text");
    }
    if is_at_the_end {
        return Some(error(format!("`run.{fact}` is known only in `finally`")));
    }
    let all: Vec<&str> = RUN.into_iter().chain(RUN_AT_THE_END).collect();
    let known = if is_last { &all } else { &RUN[..] };
    let hint = match did_you_mean(fact, all.iter().copied()) {
        Some(near) => near,
        None => format!("`run` has {}", known.join(", ")),
    };
    (!used.is_guarded(2)).then(|| error(format!("`run` has no {}", shown(fact))).hint(hint))
}

fn input(
    outline: &Outline<'_>,
    name: &str,
    used: &Use,
    found: &mut GraphDiagnostics,
) -> Option<GraphDiagnostic> {
    let inputs = &outline.workflow.inputs;
    if let Some(input) = inputs.iter().find(|input| input.name == name) {
        return inside_plain(used, 2, input.kind.wanted());
    }
    let near = found.guess(|| did_you_mean(name, inputs.iter().map(|input| input.name.as_str())));
    let finding = error(format!("there is no input {}", shown(name)));
    Some(finding.maybe_hint(near.or_else(|| Some("define it under `inputs`".to_owned()))))
}

fn unknown_output(outline: &Outline<'_>, id: &str, found: &mut GraphDiagnostics) -> GraphDiagnostic {
    let ids = outline.nodes.iter().map(|node| node.node.id.as_str());
    error(format!("there is no node {}", shown(id))).maybe_hint(found.guess(|| did_you_mean(id, ids)))
}

fn unknown_root(outline: &Outline<'_>, root: &str) -> GraphDiagnostic {
    let finding = error(format!("{} is undefined", shown(root)));
    if outline.workflow.inputs.iter().any(|input| input.name == root) {
        return finding.hint(format!("did you mean `inputs.{root}`?"));
    }
    if outline.find(root).is_some() {
        return finding.hint(format!("did you mean `outputs.{root}`?"));
    }
    let near = did_you_mean(root, ROOTS);
    finding.maybe_hint(near.or_else(|| Some(format!("the names are {}", ROOTS.join(", ")))))
}

fn unknown_word(word: &UsedFunction, text: &Text, found: &mut GraphDiagnostics) -> GraphDiagnostic {
    let what = format!("there is no {} {}", word.kind.word(), shown(&word.name));
    let near = found.guess(|| did_you_mean(&word.name, word.kind.known().iter().copied()));
    let instead = match word.kind {
        WordKind::Function => Some("write a value without parentheses".to_owned()),
        WordKind::Filter | WordKind::Test => None,
    };
    let finding = GraphDiagnostic::error(None, text.field, what).key(text.key.clone()).at(Some(word.at));
    finding.maybe_hint(near.or(instead))
}
