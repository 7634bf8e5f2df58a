//! Decides whether a value may be text that the author of the workflow does not know: the words of an
//! agent, a person or a program, or an input.

use std::cell::OnceCell;
use std::collections::HashSet;

use serde_json::Value;

use super::relays::CommandRelays;
use crate::engine::node::shape::GivenValue;
use crate::graph::check::context::CheckContext;
use crate::graph::check::origin::{items_are_complete, last_of_item, origin};
use crate::graph::check::outline::{Outline, OutlineNode};
use crate::graph::check::value_schemas::{of_text, of_value};
use crate::graph::check::values::referred;
use crate::graph::template::command::items_of;
use crate::graph::template::names::ITEM;
use crate::graph::walk::{MAX_DEPTH, NodeBlock};
use crate::graph::workflow::{
    EachNode, InputKind, ListSource, Node, NodeKind, ShellNode, WaitUntil, WorkflowInput, WorkflowNode,
};

/// The author of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Agent,
    Person,
    /// A person or a program that sends an event to the run.
    Event,
    /// The nodes of another workflow.
    Workflow,
    /// The message about a failure, which may repeat what an agent wrote.
    Feedback,
    /// A command that gets the text of one of those above, and may print it.
    Relayed,
    /// Whoever gives the inputs: the person who runs the workflow, or a workflow that runs it.
    Input,
    /// Whoever wrote the tasks.
    Task,
    /// A command, such as one that prints the title of an issue.
    Program,
}

impl Speaker {
    /// Returns whether the author of the workflow chose whose text it is, and the check only warns.
    pub(super) fn is_trusted(self) -> bool {
        matches!(self, Speaker::Input | Speaker::Task | Speaker::Program)
    }
}

/// The parts of a task that are no free text.
const PLAIN_PARTS_OF_TASKS: [&str; 3] = ["priority", "status", "attempts"];

/// Returns the author of a value that a node uses, if the value may be any text.
pub(super) fn speaker(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    relays: &OnceCell<CommandRelays>,
    user: &OutlineNode<'_>,
    path: &[String],
) -> Option<Speaker> {
    let Heard { speaker, commands } = heard(outline, known, user, path);
    if commands.is_empty() || speaker.is_some_and(|speaker| !speaker.is_trusted()) {
        return speaker;
    }
    let relays = relays.get_or_init(|| CommandRelays::of(outline, known));
    relays.speaker(&commands).or(speaker)
}

/// The authors of a value.
pub(super) struct Heard {
    /// An author other than a command.
    pub(super) speaker: Option<Speaker>,
    /// The positions of the commands whose output the value may be.
    pub(super) commands: Vec<usize>,
}

/// Returns the authors of a value that a node uses.
pub(super) fn heard(
    outline: &Outline<'_>,
    known: &CheckContext<'_>,
    user: &OutlineNode<'_>,
    path: &[String],
) -> Heard {
    let mut search = SpeakerSearch { outline, known, seen: HashSet::new(), commands: Vec::new() };
    let speaker = search.of(user, path);
    Heard { speaker, commands: search.commands }
}

/// The most values that a value may come from. Further ones count as an agent's.
const MOST_SOURCES: usize = 200;

/// A search for the author of a value, through the lists whose items the value may be.
struct SpeakerSearch<'o, 'w> {
    outline: &'o Outline<'w>,
    known: &'o CheckContext<'o>,
    /// The values so far, each with the node that uses it. None of them has an author.
    seen: HashSet<(usize, Vec<String>)>,
    /// The commands whose output the value may be.
    commands: Vec<usize>,
}

impl<'o, 'w> SpeakerSearch<'o, 'w> {
    fn of(&mut self, user: &OutlineNode<'_>, path: &[String]) -> Option<Speaker> {
        if self.seen.len() >= MOST_SOURCES {
            return Some(Speaker::Agent);
        }
        if !self.seen.insert((user.at, path.to_vec())) {
            return None;
        }
        let outline = self.outline;
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["feedback", ..] | ["run", "reason"] => Some(Speaker::Feedback),
            ["outputs", id] | ["outputs", id, "text" | "stdout" | ITEM, ..] => {
                self.of_text(outline.find(id)?.node)
            }
            ["input"] => Some(Speaker::Input),
            ["inputs", name, ..] => {
                let is_it = |input: &&WorkflowInput| *name == ITEM || input.name == *name;
                self.of_inputs(outline.workflow.inputs.iter().filter(is_it))
            }
            ["inputs"] => self.of_inputs(outline.workflow.inputs.iter()),
            ["task", part, ..] if PLAIN_PARTS_OF_TASKS.contains(part) => None,
            ["task", ..] => Some(Speaker::Task),
            ["outputs", id, "value", ..] => self.of_value(outline.find(id)?, path.get(3..)?),
            [name, ..] => self.of_item(user, name, path.get(1..)?),
            [] => None,
        }
    }

    /// Returns who gives these inputs, if one of them may be any text.
    fn of_inputs<'i>(&self, mut inputs: impl Iterator<Item = &'i WorkflowInput>) -> Option<Speaker> {
        let is_text = |kind| matches!(kind, InputKind::Text | InputKind::List);
        inputs.any(|input| is_text(input.kind) && input.choices.is_empty()).then_some(Speaker::Input)
    }

    fn of_text(&mut self, node: &Node) -> Option<Speaker> {
        if let NodeKind::Shell(shell) = &node.kind {
            let is_harmless = shell.schema.as_ref().is_some_and(|schema| is_harmless(schema, schema, 0));
            return if is_harmless { None } else { self.of_command(node) };
        }
        if of_text(self.outline, node).is_some() { None } else { text_speaker(self.known, node) }
    }

    /// Notes that the value is the output of a command. [`CommandRelays`] knows what that can be.
    fn of_command(&mut self, node: &Node) -> Option<Speaker> {
        self.commands.extend(self.outline.find(node.id.as_str()).map(|node| node.at));
        None
    }

    fn of_value(&mut self, node: &'o OutlineNode<'w>, parts: &[String]) -> Option<Speaker> {
        let words: Vec<&str> = parts.iter().map(String::as_str).collect();
        match (&node.node.kind, words.as_slice()) {
            (NodeKind::Each(_), ["completed"] | ["items", ITEM, "index" | "status" | "branch"]) => None,
            (NodeKind::Each(each), ["items", ITEM, "item", ..]) => self.of_list(node, each, parts.get(3..)?),
            (NodeKind::Each(each), ["items", ITEM, "text", ..]) => {
                self.results(node, each).into_iter().find_map(|result| self.of_text(result))
            }
            (NodeKind::Each(each), ["items", ITEM, "value", ..]) => {
                let results = self.results(node, each).into_iter();
                let mut results = results.filter_map(|result| self.outline.find(result.id.as_str()));
                results.find_map(|result| self.of_value(result, parts.get(3..)?))
            }
            (NodeKind::Each(each), _) => {
                let mut results = self.results(node, each).into_iter();
                let in_list = self.of_list(node, each, &[]);
                in_list.or_else(|| results.find_map(|result| self.of_result(result)))
            }
            _ => self.of_origin(node, parts),
        }
    }

    /// Returns who wrote the text or the value of a node.
    fn of_result(&mut self, result: &Node) -> Option<Speaker> {
        let result = self.outline.find(result.id.as_str())?;
        self.of_text(result.node).or_else(|| self.of_value(result, &[]))
    }

    /// Returns the nodes whose output may be the result of an item.
    fn results(&self, node: &OutlineNode<'w>, each: &'w EachNode) -> Vec<&'w Node> {
        last_of_item(each, items_are_complete(self.outline, node.node, each))
    }

    /// Returns who wrote a part of a value, if its schema allows any text there.
    fn of_origin(&mut self, node: &OutlineNode<'_>, parts: &[String]) -> Option<Speaker> {
        let Some(origin) = origin(self.outline, self.known, node.node.id.as_str(), parts) else {
            return value_speaker(self.known, node.node);
        };
        let schema = of_value(origin.workflow, self.known, &origin.node.kind);
        let is_harmless =
            schema.is_some_and(|schema| is_harmless_at(&schema, &schema, Some(&origin.parts), 0));
        if is_harmless {
            return None;
        }
        let is_here = std::ptr::eq(origin.workflow, self.outline.workflow);
        match &origin.node.kind {
            NodeKind::Shell(ShellNode { schema: None, .. }) => None,
            NodeKind::Shell(_) if is_here => self.of_command(origin.node),
            NodeKind::Shell(_) => Some(Speaker::Program),
            _ => {
                let speaker = value_speaker(self.known, origin.node)?;
                Some(if is_here { speaker } else { Speaker::Workflow })
            }
        }
    }

    /// Returns who wrote a part of the item with this name.
    fn of_item(&mut self, user: &OutlineNode<'_>, name: &str, parts: &[String]) -> Option<Speaker> {
        let (node, each) = self.outline.each_named(user, name)?;
        self.of_list(node, each, parts)
    }

    /// Returns who wrote a part of the items of a list.
    fn of_list(&mut self, node: &OutlineNode<'_>, each: &EachNode, parts: &[String]) -> Option<Speaker> {
        let ListSource::Expression(list) = &each.items else { return None };
        items_of(list).iter().find_map(|carried| {
            let whole: Vec<String> = carried.value().iter().chain(parts).cloned().collect();
            self.of(node, &whole)
        })
    }
}

fn text_speaker(known: &CheckContext<'_>, node: &Node) -> Option<Speaker> {
    match &node.kind {
        NodeKind::Session(_) | NodeKind::Review(_) => Some(Speaker::Agent),
        NodeKind::Ask(_) => Some(Speaker::Person),
        NodeKind::Wait(WaitUntil::Event(_)) => Some(Speaker::Event),
        NodeKind::Workflow(WorkflowNode { name, .. }) => speaks(known, name, 0).then_some(Speaker::Workflow),
        // The text of these blocks only counts.
        NodeKind::Each(_) | NodeKind::TaskLoop(_) => None,
        // The text of another block is the last message of a session in it.
        kind => kind.blocks().iter().any(|block| has_speaker(known, block.body, 0)).then_some(Speaker::Agent),
    }
}

fn value_speaker(known: &CheckContext<'_>, node: &Node) -> Option<Speaker> {
    match &node.kind {
        NodeKind::Session(_) => Some(Speaker::Agent),
        NodeKind::Workflow(WorkflowNode { name, .. }) => speaks(known, name, 0).then_some(Speaker::Workflow),
        kind => match kind.shape().value() {
            GivenValue::Unknown => text_speaker(known, node),
            GivenValue::Items => {
                let has_speaker = |block: &NodeBlock<'_>| has_speaker(known, block.body, 0);
                kind.blocks().iter().any(has_speaker).then_some(Speaker::Agent)
            }
            GivenValue::OnlyText
            | GivenValue::Answer(_)
            | GivenValue::Fields(_)
            | GivenValue::Checks(_)
            | GivenValue::Branches(_)
            | GivenValue::Called(_) => None,
        },
    }
}

/// Returns whether an agent, a person or an event can say something in a workflow. An unknown workflow
/// may.
fn speaks(known: &CheckContext<'_>, name: &str, depth: usize) -> bool {
    match known.workflows.get(name) {
        Some(Some(workflow)) if depth < MAX_DEPTH => has_speaker(known, &workflow.body, depth + 1),
        _ => true,
    }
}

fn has_speaker(known: &CheckContext<'_>, body: &[Node], depth: usize) -> bool {
    depth > MAX_DEPTH
        || body.iter().any(|node| match &node.kind {
            NodeKind::Session(_) | NodeKind::Ask(_) | NodeKind::Review(_) => true,
            NodeKind::Wait(until) => matches!(until, WaitUntil::Event(_)),
            NodeKind::Workflow(WorkflowNode { name, .. }) => speaks(known, name, depth),
            kind => kind.blocks().iter().any(|block| has_speaker(known, block.body, depth + 1)),
        })
}

/// Returns whether the part of a value at the end of a path is harmless.
fn is_harmless_at(root: &Value, schema: &Value, path: Option<&[String]>, depth: usize) -> bool {
    let Some((part, rest)) = path.and_then(<[String]>::split_first) else {
        return is_harmless(root, schema, depth);
    };
    let Some(schema) = referred(root, schema).filter(|_| depth < MAX_DEPTH) else { return false };
    let inside = |schema: &Value| is_harmless_at(root, schema, Some(rest), depth + 1);
    let same = |schema: &Value| is_harmless_at(root, schema, path, depth + 1);
    if let Some(ways) = ways(schema) {
        return !ways.is_empty() && ways.iter().all(same);
    }
    if is_harmless(root, schema, depth) {
        return true;
    }
    match part.as_str() {
        ITEM => {
            let first = schema.get("prefixItems").and_then(Value::as_array);
            let others = schema.get("items");
            others.is_some_and(inside) && first.is_none_or(|first| first.iter().all(inside))
        }
        name => schema.get("properties").and_then(|properties| properties.get(name)).is_some_and(inside),
    }
}

/// Returns whether each value of a schema is a number, true, false, or a text that the schema lists.
fn is_harmless(root: &Value, schema: &Value, depth: usize) -> bool {
    let Some(schema) = referred(root, schema).filter(|_| depth < MAX_DEPTH) else { return false };
    if schema.get("const").is_some() || schema.get("enum").is_some() {
        return true;
    }
    if let Some(ways) = ways(schema) {
        return !ways.is_empty() && ways.iter().all(|way| is_harmless(root, way, depth + 1));
    }
    let kind_is_harmless = |kind: &Value| match kind.as_str() {
        Some("integer" | "number" | "boolean" | "null") => true,
        Some("array") => {
            let first = schema.get("prefixItems").and_then(Value::as_array);
            let others = schema.get("items").is_some_and(|items| is_harmless(root, items, depth + 1));
            others && first.is_none_or(|first| first.iter().all(|item| is_harmless(root, item, depth + 1)))
        }
        Some("object") => {
            let properties = schema.get("properties").and_then(Value::as_object);
            let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
            is_closed
                && properties.is_none_or(|all| all.values().all(|part| is_harmless(root, part, depth + 1)))
        }
        _ => false,
    };
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().all(kind_is_harmless),
        Some(kind) => kind_is_harmless(kind),
        None => false,
    }
}

fn ways(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()
}
