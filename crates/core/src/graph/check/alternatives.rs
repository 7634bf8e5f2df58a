//! Knows which branch of an `if` a run took, from an output that is missing: where the branch with that
//! output was not taken, the other one was.

use std::ops::Range;

/// The outputs that the two branches of an `if` leave behind.
pub(super) struct BranchOutputs {
    /// The position of the `if`.
    pub(super) at: usize,
    pub(super) then: Range<usize>,
    pub(super) otherwise: Range<usize>,
    /// The positions of the nodes that have an output whenever their branch was taken.
    pub(super) sure: Vec<usize>,
}

impl BranchOutputs {
    /// Returns whether a node has an output if the run came past the `if` and these nodes have none.
    fn gives(&self, node: usize, absent: &[AbsentOutput]) -> bool {
        let other = match (self.then.contains(&node), self.otherwise.contains(&node)) {
            (true, _) => &self.otherwise,
            (_, true) => &self.then,
            _ => return false,
        };
        let is_sure = |node: &usize| self.sure.binary_search(node).is_ok();
        let is_other = |absent: &AbsentOutput| other.contains(&absent.node) && is_sure(&absent.node);
        is_sure(&node) && absent.iter().any(|absent| is_other(absent) && self.at < absent.asked_at)
    }
}

/// A node without an output, by a condition.
#[derive(Clone, Copy)]
pub(super) struct AbsentOutput {
    pub(super) node: usize,
    /// The position of the node with the condition. What runs later may have changed the answer.
    pub(super) asked_at: usize,
}

/// Returns whether a node has an output because other nodes have none. `is_there` answers for a node by
/// itself.
pub(super) fn is_there_without(
    choices: &[BranchOutputs],
    node: usize,
    absent: &[AbsentOutput],
    is_there: impl Fn(usize) -> bool,
) -> bool {
    let mut node = node;
    while !is_there(node) {
        // The innermost `if` is the last one before the node.
        let choice =
            choices.iter().filter(|choice| choice.gives(node, absent)).max_by_key(|choice| choice.at);
        let Some(choice) = choice else { return false };
        node = choice.at;
    }
    true
}
