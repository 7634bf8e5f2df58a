//! Ids of nodes: which texts are valid ids, and the default id of an unnamed node.
//!
//! The default id names the entity or workflow that the node runs (`skill-commit`), or else the
//! node's kind. Repeated defaults get `-2`, `-3`. Templates may write a dash as an underscore, so
//! two ids that differ only in dashes and underscores count as the same id.

use std::collections::{HashMap, HashSet};

use super::workflow::{Node, NodeKind};
use crate::id::NodeId;

/// The longest id, in bytes.
pub const MAX_ID: usize = 100;

/// Returns whether a text can be an id: lowercase letters, digits, `-` and `_`, starting with a
/// letter or a digit.
pub fn is_id(text: &str) -> bool {
    let is_first = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= MAX_ID
        && text.as_bytes().first().is_some_and(is_first)
        && text.bytes().all(|byte| is_first(&byte) || matches!(byte, b'-' | b'_'))
}

/// Returns the id with its dashes as underscores, as templates may write it.
pub fn folded(id: &str) -> String {
    id.replace('-', "_")
}

/// Returns the default id of a node, without a number.
pub fn default_id(kind: &NodeKind) -> String {
    kind.shape().default_id()
}

/// Returns the default id of a node that names something of this kind.
pub(crate) fn named(kind: &str, name: &str) -> String {
    match plain(name) {
        name if name.is_empty() => kind.to_owned(),
        name => format!("{kind}-{name}"),
    }
}

/// Reduces a name to the characters of an id: `Demo:greet` becomes `demo-greet`.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    for letter in name.chars().take(MAX_ID / 2).flat_map(char::to_lowercase) {
        match letter {
            'a'..='z' | '0'..='9' | '_' => plain.push(letter),
            _ if plain.ends_with('-') || plain.is_empty() => {}
            _ => plain.push('-'),
        }
    }
    plain.truncate(plain.trim_end_matches('-').len());
    plain
}

/// The ids that one workflow uses.
#[derive(Debug, Default)]
pub struct Ids {
    taken: HashSet<String>,
    counts: HashMap<String, u32>,
}

impl Ids {
    /// Takes an id, unless the workflow already has it or one that templates cannot tell apart.
    pub fn claim(&mut self, id: &str) -> bool {
        self.taken.insert(folded(id))
    }

    /// Takes the default id of a node, with a number if it is taken. The caller must first claim all
    /// ids that the author wrote, including those of later nodes.
    pub fn fresh(&mut self, kind: &NodeKind) -> NodeId {
        let name = default_id(kind);
        let count = self.counts.entry(name.clone()).or_insert(0);
        loop {
            *count += 1;
            let id = if *count == 1 { name.clone() } else { format!("{name}-{count}") };
            if self.taken.insert(folded(&id)) {
                return NodeId::new(id);
            }
        }
    }
}

/// Gives every node with an empty id its default id, in document order.
pub fn name_nodes(body: &mut [Node]) {
    let mut ids = Ids::default();
    claim_given(body, &mut ids);
    name_rest(body, &mut ids);
}

fn claim_given(body: &[Node], ids: &mut Ids) {
    for node in body {
        if !node.id.as_str().is_empty() {
            ids.claim(node.id.as_str());
        }
        for block in node.kind.blocks() {
            claim_given(block.body, ids);
        }
    }
}

fn name_rest(body: &mut [Node], ids: &mut Ids) {
    for node in body {
        if node.id.as_str().is_empty() {
            node.id = ids.fresh(&node.kind);
        }
        for block in node.kind.blocks_mut() {
            name_rest(block, ids);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::builder::{agent, command, prompt, shell, skill, workflow};

    fn id_of(node: impl Into<Node>) -> String {
        default_id(&node.into().kind)
    }

    #[test]
    fn a_node_is_called_after_what_it_runs() {
        assert_eq!(id_of(skill("commit")), "skill-commit");
        assert_eq!(id_of(agent("Demo:Debug Er!")), "agent-demo-debug-er");
        assert_eq!(id_of(command("a/b")), "command-a-b");
        assert_eq!(id_of(workflow("review")), "workflow-review");
        assert_eq!(id_of(skill("日本")), "skill");
        assert_eq!(id_of(prompt("x")), "prompt");
        assert_eq!(id_of(shell("x")), "shell");
    }

    #[test]
    fn further_ones_are_numbered_and_written_ids_are_left_alone() {
        let mut body: Vec<Node> = vec![
            prompt("a").into(),
            prompt("b").into(),
            prompt("c").id("prompt-2").into(),
            prompt("d").into(),
        ];
        name_nodes(&mut body);
        let ids: Vec<&str> = body.iter().map(|node| node.id.as_str()).collect();
        assert_eq!(ids, ["prompt", "prompt-3", "prompt-2", "prompt-4"]);
    }

    #[test]
    fn a_dash_and_an_underscore_are_the_same() {
        let mut ids = Ids::default();
        assert!(ids.claim("skill_commit"));
        assert!(!ids.claim("skill-commit"));
        assert_eq!(ids.fresh(&Node::from(skill("commit")).kind).as_str(), "skill-commit-2");
    }

    #[test]
    fn an_id_is_small_letters_digits_and_two_signs() {
        for id in ["a", "0", "skill-commit", "a_b-2"] {
            assert!(is_id(id), "{id}");
        }
        for id in ["", "-a", "_a", "A", "a b", "a.b", "é", &"a".repeat(101)] {
            assert!(!is_id(id), "{id}");
        }
    }
}
