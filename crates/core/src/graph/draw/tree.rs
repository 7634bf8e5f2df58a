//! Draws a workflow as an indented tree, for terminals.

use super::States;
use super::label::{clean, lines, title};
use crate::graph::walk::{MAX_DEPTH, NodeBlock};
use crate::graph::workflow::{Node, Workflow};

/// The parts of the lines that connect a node with its parent.
struct Branches {
    /// Before a node that others follow, and before the lines below it.
    middle: [&'static str; 2],
    /// Before the last node, and before the lines below it.
    last: [&'static str; 2],
}

const UNICODE: Branches = Branches { middle: ["├─ ", "│  "], last: ["└─ ", "   "] };
const ASCII: Branches = Branches { middle: ["|- ", "|  "], last: ["`- ", "   "] };

/// The characters that a tree may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeCharacters {
    Unicode,
    Ascii,
}

/// Draws a workflow as a tree: one line per node, with its work and its state.
pub fn tree(workflow: &Workflow, states: &States, characters: TreeCharacters) -> String {
    let branches = match characters {
        TreeCharacters::Unicode => &UNICODE,
        TreeCharacters::Ascii => &ASCII,
    };
    let mut tree = Tree { text: format!("{}\n", title(workflow)), states, branches };
    let items: Vec<TreeItem<'_>> = workflow.body.iter().map(TreeItem::Node).collect();
    tree.items(&items, "", 0);
    tree.text
}

struct Tree<'a> {
    text: String,
    states: &'a States,
    branches: &'a Branches,
}

/// A line of the tree: a node, or a block inside one.
enum TreeItem<'w> {
    Node(&'w Node),
    Block(NodeBlock<'w>),
}

impl<'w> TreeItem<'w> {
    fn label(&self, states: &States) -> String {
        match self {
            TreeItem::Node(node) => {
                let mut lines = lines(node, states);
                // The state comes first: a narrow terminal cuts the end.
                let state = states.get(&node.id).and_then(|_| lines.pop());
                let mut lines = lines.into_iter();
                let name = lines.next().unwrap_or_default();
                let rest: Vec<String> = state.into_iter().chain(lines).collect();
                format!("{name}  {}", rest.join("; "))
            }
            TreeItem::Block(block) => clean(block.name.unwrap_or(block.field)),
        }
    }

    /// Returns the items below this one. A single block without a name needs no line of its own.
    fn below(&self) -> Vec<TreeItem<'w>> {
        match self {
            TreeItem::Block(block) => block.body.iter().map(TreeItem::Node).collect(),
            TreeItem::Node(node) => {
                let mut blocks = node.kind.blocks();
                blocks.retain(|block| block.name.is_some() || !block.body.is_empty());
                match blocks.as_slice() {
                    [only] if only.field == "do" => only.body.iter().map(TreeItem::Node).collect(),
                    _ => blocks.into_iter().map(TreeItem::Block).collect(),
                }
            }
        }
    }
}

impl Tree<'_> {
    fn items(&mut self, items: &[TreeItem<'_>], margin: &str, depth: usize) {
        // A block and the nodes in it are two levels.
        if depth > 2 * MAX_DEPTH {
            return;
        }
        for (place, item) in items.iter().enumerate() {
            let is_last = place + 1 == items.len();
            let [before, under] = if is_last { self.branches.last } else { self.branches.middle };
            self.text.push_str(&format!("{margin}{before}{}\n", item.label(self.states)));
            self.items(&item.below(), &format!("{margin}{under}"), depth + 1);
        }
    }
}
