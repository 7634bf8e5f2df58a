//! Invents the text of a node for which nobody gave a stub.

use crate::graph::ids::folded;
use crate::graph::workflow::Node;
use crate::id::NodeId;

/// The text of a node that the workflow converts to a number.
const NUMBER: &str = "1";

/// Returns `usual`, or a number if the workflow converts the text of the node to one.
pub(super) fn text(body: &[Node], node: &NodeId, usual: &str) -> String {
    // All templates and conditions of the workflow, wherever they are.
    let sources = serde_json::to_string(body).unwrap_or_default();
    let name = format!("outputs.{}", folded(node.in_workflow().as_str()));
    let mut uses = sources.match_indices(&name).filter_map(|(at, _)| sources.get(at + name.len()..));
    if uses.any(is_converted) { NUMBER.to_owned() } else { usual.to_owned() }
}

/// Decides whether the rest of a template, after the output of a node, converts that output to a number.
fn is_converted(rest: &str) -> bool {
    let mut rest = [".text", ".stdout"].iter().find_map(|field| rest.strip_prefix(field)).unwrap_or(rest);
    while let Some(filtered) = rest.trim_start().strip_prefix('|') {
        let filtered = filtered.trim_start();
        let end = filtered.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(filtered.len());
        let (filter, after) = filtered.split_at(end);
        match filter {
            "int" | "float" => return true,
            "trim" => rest = after,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::builder::{Builder, prompt, shell};

    fn invented(prompt_text: &str) -> String {
        let workflow = Builder::new("w").start(shell("x").id("the-count")).then(prompt(prompt_text));
        text(&workflow.end().unwrap().body, &NodeId::new("the-count@2"), "some text")
    }

    #[test]
    fn a_text_is_a_number_where_the_workflow_converts_it() {
        assert_eq!(invented("{{ outputs.the_count.text | trim | int }}"), "1");
        assert_eq!(invented("{{ outputs.the_count|float }}"), "1");
        assert_eq!(invented("{% if outputs.the_count.stdout | int > 3 %}x{% endif %}"), "1");
        assert_eq!(invented("{{ outputs.the_count.text }} {{ 1 | int }}"), "some text");
        assert_eq!(invented("{{ outputs.the_count_2 | int }}"), "some text");
        assert_eq!(invented("{{ outputs.the_count | length | int }}"), "some text");
    }
}
