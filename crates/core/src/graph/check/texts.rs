//! Whether templates and conditions are well formed, and whether the names in them exist.
//!
//! Whether an output is there by then is [`order`](super::order)'s.

use super::Extent;
use super::finding::{Finding, Found};
use super::near::{did_you_mean, shown};
use super::outline::{Moment, Node, Outline, Text};
use crate::graph::template::names::{Word, WordKind};
use crate::graph::template::{Names, Use};
use crate::graph::workflow::Act;

/// What every text may use.
const ROOTS: [&str; 7] = ["input", "inputs", "outputs", "run", "task", "iteration", "feedback"];
/// What is known of a run.
const RUN: [&str; 3] = ["id", "workflow", "workspace"];
/// What an output has.
const PARTS: [&str; 4] = ["text", "value", "failed", "status"];

pub(super) fn look(outline: &Outline<'_>, extent: Extent, found: &mut Found) {
    for node in &outline.nodes {
        for text in &node.texts {
            match &text.names {
                Ok(names) => look_at(outline, extent, node, text, names, found),
                Err(error) => {
                    let finding = Finding::error(None, text.field, error.what()).at(error.at());
                    found.node(node, finding.key(text.key.clone()));
                }
            }
        }
    }
}

fn look_at(
    outline: &Outline<'_>,
    extent: Extent,
    node: &Node<'_>,
    text: &Text,
    names: &Names,
    found: &mut Found,
) {
    // Where nodes are missing, nobody knows what gives an output.
    let is_known = |used: &&Use| extent == Extent::Whole || used.root() != "outputs";
    for used in names.uses.iter().filter(is_known) {
        if let Some(finding) = about(outline, node, text, used, found) {
            found
                .node(node, Finding { field: text.field, ..finding }.key(text.key.clone()).at(Some(used.at)));
        }
    }
    for word in names.words.iter().filter(|word| !word.kind.known().contains(&word.name.as_str())) {
        let finding = unknown_word(word, text, found);
        found.node(node, finding);
    }
}

fn error(text: String) -> Finding {
    Finding::error(None, "", text)
}

fn about(
    outline: &Outline<'_>,
    node: &Node<'_>,
    text: &Text,
    used: &Use,
    found: &mut Found,
) -> Option<Finding> {
    match (used.root(), used.name()) {
        ("inputs", Some(name)) => unknown_input(outline, name, found),
        ("outputs", Some(id)) => match outline.find(id) {
            None => Some(unknown_output(outline, id, found)),
            Some(source) => part(source, used),
        },
        ("task", _) => {
            let is_there = node.around.is_in_task_loop || text.moment == Moment::Round;
            let finding = || error("there is no `task` outside of a `task_loop`".to_owned());
            (!is_there && !used.is_guarded(1)).then(finding)
        }
        ("iteration", _) => {
            let is_there = node.around.is_in_loop || text.moment != Moment::Begin;
            let finding = || error("there is no `iteration` outside of a loop".to_owned());
            (!is_there && !used.is_guarded(1)).then(finding)
        }
        ("run", Some(fact)) if !RUN.contains(&fact) && !used.is_guarded(2) => {
            let hint = did_you_mean(fact, RUN).unwrap_or_else(|| format!("there are {}", RUN.join(", ")));
            Some(error(format!("`run` has no {}", shown(fact))).hint(hint))
        }
        ("input" | "inputs" | "outputs" | "run" | "feedback", _) => None,
        (root, _) => Some(unknown_root(outline, root)),
    }
}

fn unknown_input(outline: &Outline<'_>, name: &str, found: &mut Found) -> Option<Finding> {
    let inputs = &outline.workflow.inputs;
    if inputs.iter().any(|input| input.name == name) {
        return None;
    }
    let near = found.guess(|| did_you_mean(name, inputs.iter().map(|input| input.name.as_str())));
    let finding = error(format!("there is no input {}", shown(name)));
    Some(finding.maybe_hint(near.or_else(|| Some("name it under `inputs`".to_owned()))))
}

fn unknown_output(outline: &Outline<'_>, id: &str, found: &mut Found) -> Finding {
    let ids = outline.nodes.iter().map(|node| node.step.id.as_str());
    error(format!("there is no node {}", shown(id))).maybe_hint(found.guess(|| did_you_mean(id, ids)))
}

fn unknown_root(outline: &Outline<'_>, root: &str) -> Finding {
    let finding = error(format!("{} is undefined", shown(root)));
    if outline.workflow.inputs.iter().any(|input| input.name == root) {
        return finding.hint(format!("did you mean `inputs.{root}`?"));
    }
    if outline.find(root).is_some() {
        return finding.hint(format!("did you mean `outputs.{root}`?"));
    }
    let near = did_you_mean(root, ROOTS);
    finding.maybe_hint(near.or_else(|| Some(format!("there are {}", ROOTS.join(", ")))))
}

/// Whether a node gives what is used of it.
fn part(source: &Node<'_>, used: &Use) -> Option<Finding> {
    let part = used.path.get(2)?;
    let id = shown(source.step.id.as_str());
    if !PARTS.contains(&part.as_str()) {
        let near = did_you_mean(part, PARTS);
        let hint = near.unwrap_or_else(|| format!("an output has {}", PARTS.join(", ")));
        return Some(error(format!("the output of {id} has no {}", shown(part))).hint(hint));
    }
    let member = used.path.get(3).filter(|_| part == "value")?;
    match &source.step.act {
        Act::Session(session) => match &session.schema {
            None => {
                let text = format!("{id} gives no value: it has no `schema`");
                Some(error(text).hint("say in `schema` what it must answer"))
            }
            Some(schema) => {
                let properties = schema.get("properties")?.as_object()?;
                if properties.contains_key(member) {
                    return None;
                }
                let near = did_you_mean(member, properties.keys().map(String::as_str));
                let text = format!("the schema of {id} does not speak of {}", shown(member));
                Some(Finding::warning(None, "", text).maybe_hint(near))
            }
        },
        Act::Shell { .. } => Some(error(format!("{id} gives no value, only text"))),
        _ => None,
    }
}

fn unknown_word(word: &Word, text: &Text, found: &mut Found) -> Finding {
    let what = format!("there is no {} {}", word.kind.word(), shown(&word.name));
    let near = found.guess(|| did_you_mean(&word.name, word.kind.known().iter().copied()));
    let instead = match word.kind {
        WordKind::Function => Some("a value is used without brackets".to_owned()),
        WordKind::Filter | WordKind::Test => None,
    };
    let finding = Finding::error(None, text.field, what).key(text.key.clone()).at(Some(word.at));
    finding.maybe_hint(near.or(instead))
}
