//! Checks the workflows that a workflow runs: they exist, get their inputs, and do not run each other
//! endlessly.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::context::CheckContext;
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{Outline, OutlineNode};
use super::suggest::{did_you_mean, shown};
use crate::graph::template::is_plain;
use crate::graph::workflow::{Node, NodeKind, Template, Workflow, WorkflowNode};
use crate::spec::MAX_DEPTH;

pub(super) fn look(outline: &Outline<'_>, known: &CheckContext<'_>, found: &mut GraphDiagnostics) {
    let mut ways = CallPaths { known, of: HashMap::new() };
    for node in &outline.nodes {
        let NodeKind::Workflow(WorkflowNode { name, inputs }) = &node.node.kind else { continue };
        if *name == outline.workflow.name {
            found.error(node, "workflow", format!("{} runs itself", shown(name)));
            continue;
        }
        if let Some(broken) = broken_below(known, name) {
            let text = match broken == *name {
                true => format!("workflow {} cannot run: its document has errors", shown(name)),
                false => format!("workflow {} cannot run: {} in it has errors", shown(name), shown(&broken)),
            };
            let hint = format!("see them with `windlass workflow check {broken}`");
            found.node(node, GraphDiagnostic::error(None, "workflow", text).hint(hint));
        }
        let Some(called) = known.workflows.get(name) else {
            if known.broken_workflows.contains(name) {
                continue;
            }
            let names = known.workflows.keys().map(String::as_str);
            let finding =
                GraphDiagnostic::error(None, "workflow", format!("there is no workflow {}", shown(name)));
            let near = found.guess(|| did_you_mean(name, names));
            found.node(node, finding.maybe_hint(near));
            continue;
        };
        if let Some(called) = called {
            check_inputs(node, called, inputs.keys().map(String::as_str).collect(), found);
            fitting(node, called, inputs, found);
        }
        depth(outline, node, name, &mut ways, found);
    }
}

/// Finds a workflow with errors that a run of this one may reach: itself, or one that it runs.
fn broken_below(known: &CheckContext<'_>, name: &str) -> Option<String> {
    if known.broken_workflows.is_empty() {
        return None;
    }
    let mut seen = BTreeSet::from([name.to_owned()]);
    let mut left = vec![name.to_owned()];
    while let Some(name) = left.pop() {
        if known.broken_workflows.contains(&name) {
            return Some(name);
        }
        let graph = known.workflows.get(&name).and_then(Option::as_ref);
        let callees = graph.map(|graph| callees(&graph.body)).unwrap_or_default();
        left.extend(callees.into_iter().filter(|callee| seen.insert(callee.clone())));
    }
    None
}

fn check_inputs(
    node: &OutlineNode<'_>,
    called: &Workflow,
    given: BTreeSet<&str>,
    found: &mut GraphDiagnostics,
) {
    let names: BTreeSet<&str> = called.inputs.iter().map(|input| input.name.as_str()).collect();
    // Every workflow has an `input`; by default the caller passes on its own.
    for name in given.difference(&names).filter(|name| **name != "input") {
        let text = format!("workflow {} has no input {}", shown(&called.name), shown(name));
        let finding = GraphDiagnostic::error(None, "with", text).unknown_key(*name);
        let near = found.guess(|| did_you_mean(name, names.iter().copied()));
        found.node(node, finding.maybe_hint(near));
    }
    let required =
        called.inputs.iter().filter(|input| input.required && !given.contains(input.name.as_str()));
    for input in required {
        let text = format!("workflow {} needs input {}", shown(&called.name), shown(&input.name));
        found.node(
            node,
            GraphDiagnostic::error(None, "with", text).hint(format!("with: {{ {}: … }}", input.name)),
        );
    }
}

/// Checks inputs without templates. The value of a template is known only in a run.
fn fitting(
    node: &OutlineNode<'_>,
    called: &Workflow,
    given: &BTreeMap<String, Template>,
    found: &mut GraphDiagnostics,
) {
    for input in &called.inputs {
        let Some(Template(text)) = given.get(&input.name).filter(|given| is_plain(&given.0)) else {
            continue;
        };
        let value = input.kind.read(text);
        let is_choice = |value: &Value| input.choices.is_empty() || input.choices.contains(value);
        let wanted = match value {
            Some(value) if input.range.wanted(&value).is_some() => {
                input.range.wanted(&value).unwrap_or_default()
            }
            Some(value) if is_choice(&value) => continue,
            Some(_) => {
                let choices: Vec<String> = input.choices.iter().map(Value::to_string).collect();
                format!("one of {}", choices.join(", "))
            }
            None => input.kind.wanted().to_owned(),
        };
        let (workflow, name) = (shown(&called.name), shown(&input.name));
        let text = format!("input {name} of workflow {workflow} must be {wanted}, and is {}", shown(text));
        found.node(node, GraphDiagnostic::error(None, "with", text).key(Some(input.name.clone())));
    }
}

fn depth(
    outline: &Outline<'_>,
    node: &OutlineNode<'_>,
    name: &str,
    ways: &mut CallPaths<'_>,
    found: &mut GraphDiagnostics,
) {
    match ways.below(name, &mut vec![outline.workflow.name.clone()]) {
        CallPath::Ring(ring) => {
            let text = format!("workflows run each other without end: {}", ring.join(" → "));
            found.error(node, "workflow", text);
        }
        CallPath::Deep(deep) if deep > MAX_DEPTH => {
            let text = format!("workflows run each other {deep} levels deep; the limit is {MAX_DEPTH}");
            found.error(node, "workflow", text);
        }
        CallPath::Deep(_) => {}
    }
}

/// The calls below a workflow.
#[derive(Clone)]
enum CallPath {
    /// The depth of the calls, including the workflow itself.
    Deep(u32),
    /// A cycle: the workflows from the first repeated name back to it.
    Ring(Vec<String>),
}

/// The calls below each workflow, computed once.
struct CallPaths<'k> {
    known: &'k CheckContext<'k>,
    of: HashMap<String, CallPath>,
}

impl CallPaths<'_> {
    fn below(&mut self, name: &str, running: &mut Vec<String>) -> CallPath {
        if let Some(start) = running.iter().position(|other| other == name) {
            let ring = running.iter().skip(start).cloned().chain([name.to_owned()]);
            return CallPath::Ring(ring.collect());
        }
        if let Some(way) = self.of.get(name) {
            return way.clone();
        }
        if running.len() > MAX_DEPTH as usize {
            return CallPath::Deep(1);
        }
        running.push(name.to_owned());
        let mut way = CallPath::Deep(1);
        let graph = self.known.workflows.get(name).and_then(Option::as_ref);
        for callee in graph.map(|graph| callees(&graph.body)).unwrap_or_default() {
            way = match (way, self.below(&callee, running)) {
                (ring @ CallPath::Ring(_), _) | (_, ring @ CallPath::Ring(_)) => ring,
                (CallPath::Deep(one), CallPath::Deep(below)) => CallPath::Deep(one.max(below + 1)),
            };
        }
        running.pop();
        // Do not store a ring: its names depend on the workflow that the walk started from.
        if let CallPath::Deep(_) = way {
            self.of.insert(name.to_owned(), way.clone());
        }
        way
    }
}

/// Returns the workflows that these nodes run.
fn callees(body: &[Node]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    gather(body, 0, &mut names);
    names
}

fn gather(body: &[Node], depth: usize, names: &mut BTreeSet<String>) {
    if depth > crate::graph::walk::MAX_DEPTH {
        return;
    }
    for node in body {
        if let NodeKind::Workflow(WorkflowNode { name, .. }) = &node.kind {
            names.insert(name.clone());
        }
        for block in node.kind.blocks() {
            gather(block.body, depth + 1, names);
        }
    }
}
