//! Checks the parts of a workflow around its nodes: `env`, `gives`, the names of items, and `finally`.

use super::CheckContext;
use super::diagnostic::{GraphDiagnostic, GraphDiagnostics};
use super::outline::{Outline, OutlineNode, Text};
use super::suggest::{did_you_mean, shown};
use super::texts::{ROOTS, run_fact};
use super::values::{part, value};
use crate::graph::template::Use;
use crate::graph::workflow::{EachNode, ListSource, NodeKind, WaitUntil};

/// The names that `env` of the whole workflow may use: no node has run when the first one starts.
const KNOWN_AT_FIRST: [&str; 3] = ["input", "inputs", "run"];

pub(super) fn look(outline: &Outline<'_>, known: &CheckContext<'_>, found: &mut GraphDiagnostics) {
    for name in outline.workflow.env.keys() {
        if let Some(finding) = variable(name) {
            found.whole(finding);
        }
    }
    for text in &outline.top {
        top_text(outline, known, text, found);
    }
    for node in &outline.nodes {
        for finding in node.node.env.keys().filter_map(|name| variable(name)) {
            found.node(node, finding);
        }
        match &node.node.kind {
            NodeKind::Each(each) => items(node, each, found),
            NodeKind::Ask(_) if node.surroundings.is_last => nobody(node, "ask", found),
            NodeKind::Wait(WaitUntil::Event(_)) if node.surroundings.is_last => nobody(node, "wait", found),
            _ => {}
        }
    }
}

/// Reports a name that no environment variable of a workflow can have.
fn variable(name: &str) -> Option<GraphDiagnostic> {
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let is_name = starts_well && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let finding = |text: String| GraphDiagnostic::error(None, "env", text).unknown_key(name);
    if !is_name {
        let text = format!("{} cannot be the name of an environment variable", shown(name));
        return Some(finding(text).hint("letters, digits and `_`, not beginning with a digit"));
    }
    let is_ours = name.to_ascii_uppercase().starts_with("WINDLASS");
    is_ours.then(|| finding(format!("{} is reserved: Windlass itself sets such variables", shown(name))))
}

fn top_text(outline: &Outline<'_>, known: &CheckContext<'_>, text: &Text, found: &mut GraphDiagnostics) {
    let place =
        |finding: GraphDiagnostic| GraphDiagnostic { field: text.field, ..finding }.key(text.key.clone());
    let names = match &text.names {
        Ok(names) => names,
        Err(error) => {
            let finding = GraphDiagnostic::error(None, text.field, error.message()).at(error.at());
            return found.whole(finding.key(text.key.clone()));
        }
    };
    for used in &names.uses {
        let finding = match text.field {
            "env" => {
                at_first(outline, used, "`env` of the whole workflow", "set `env` on the node that needs it")
            }
            "settings.timeout" => at_first(
                outline,
                used,
                "the `timeout` of a run",
                "use `inputs`, or set the `timeout` of a node",
            ),
            "settings.driver" => input(outline, used),
            _ => in_gives(outline, known, used),
        };
        if let Some(finding) = finding {
            found.whole(place(finding).at(Some(used.at)));
        }
    }
}

fn error(text: String) -> GraphDiagnostic {
    GraphDiagnostic::error(None, "", text)
}

/// Reports a name that is unknown before the first node runs.
fn at_first(outline: &Outline<'_>, used: &Use, whose: &str, hint: &str) -> Option<GraphDiagnostic> {
    match used.root() {
        "inputs" => input(outline, used),
        "run" => used.name().and_then(|fact| run_fact(used, fact, false)),
        root if KNOWN_AT_FIRST.contains(&root) => None,
        root if ROOTS.contains(&root) => {
            Some(error(format!("{whose} cannot use {}", shown(root))).hint(hint))
        }
        root => Some(error(format!("{} is undefined", shown(root)))),
    }
}

fn in_gives(outline: &Outline<'_>, known: &CheckContext<'_>, used: &Use) -> Option<GraphDiagnostic> {
    match (used.root(), used.name()) {
        ("inputs", _) => input(outline, used),
        ("run", Some(fact)) => run_fact(used, fact, false),
        ("outputs", Some(id)) => {
            let Some(source) = outline.find(id) else {
                let ids = outline.nodes.iter().map(|node| node.node.id.as_str());
                return Some(
                    error(format!("there is no node {}", shown(id))).maybe_hint(did_you_mean(id, ids)),
                );
            };
            if source.surroundings.is_last || matches!(source.node.kind, NodeKind::Finally(_)) {
                return Some(error(format!("{} runs later, so it has no output yet", shown(id))));
            }
            if source.surroundings.each.is_some() {
                let text = format!("{} runs once for each item of a list", shown(id));
                let hint = "the results are in `items` of the value of the `each` node";
                return Some(error(text).hint(hint));
            }
            part(source, used).or_else(|| value(outline, known, source, used))
        }
        (root, _) if KNOWN_AT_FIRST.contains(&root) || root == "outputs" => None,
        (root, _) => Some(error(format!("`gives` cannot use {}", shown(root)))),
    }
}

fn input(outline: &Outline<'_>, used: &Use) -> Option<GraphDiagnostic> {
    let name = used.name()?;
    let inputs = &outline.workflow.inputs;
    let is_known = inputs.iter().any(|input| input.name == name);
    let near = || did_you_mean(name, inputs.iter().map(|input| input.name.as_str()));
    (!is_known).then(|| {
        error(format!("there is no input {}", shown(name)))
            .maybe_hint(near().or_else(|| Some("define it under `inputs`".to_owned())))
    })
}

fn items(node: &OutlineNode<'_>, each: &EachNode, found: &mut GraphDiagnostics) {
    let name = each.name.as_str();
    let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if !starts_well || !name.bytes().all(is_name) {
        let finding =
            GraphDiagnostic::error(None, "each.as", format!("{} cannot be the name of an item", shown(name)));
        found.node(node, finding.hint("lowercase letters, digits and `_`, beginning with a letter"));
    } else if ROOTS.contains(&name) || ["loop", "true", "false", "none", "not", "in", "is"].contains(&name) {
        let text = format!("{} already has a meaning in templates", shown(name));
        found.node(node, GraphDiagnostic::error(None, "each.as", text).hint("choose another name"));
    }
    if matches!(&each.items, ListSource::Literal(items) if items.is_empty()) {
        found.warning(node, "each.in", "the list is empty, so nothing in `do` ever runs");
    }
    if let ListSource::Literal(items) = &each.items
        && each.max != EachNode::MAX
        && items.len() > usize::try_from(each.max).unwrap_or(usize::MAX)
    {
        let text = format!("the list has {} items, and `max` is {}", items.len(), each.max);
        found.node(
            node,
            GraphDiagnostic::error(None, "each.max", text).hint("leave `max` out: the list is written out"),
        );
    }
    if each.body.is_empty() {
        found.error(node, "do", "`each` has no nodes");
    }
}

fn nobody(node: &OutlineNode<'_>, field: &'static str, found: &mut GraphDiagnostics) {
    let text = format!("`finally` cannot wait for anyone: it has no `{field}` like this");
    found.node(
        node,
        GraphDiagnostic::error(None, field, text).hint("it also runs when nobody is there any more"),
    );
}
