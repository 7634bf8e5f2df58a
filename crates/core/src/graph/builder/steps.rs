//! A sequence of nodes under construction, and the blocks in it.

use crate::graph::workflow::{
    Budget, Expression, IfNode, Join, LoopNode, Node, NodeKind, NodeNumber, OnFailure, ParallelBranch,
    ParallelNode, RetryPolicy, SessionOptions, TryNode,
};
use crate::id::NodeId;

/// Nodes that run one after the other.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    pub(super) body: Vec<Node>,
}

/// The end of a loop: conditions and a maximum.
#[derive(Debug, Clone, Default)]
pub struct LoopRounds {
    until: Vec<Expression>,
    max: u32,
    forever: bool,
}

/// The branches of a parallel block.
#[derive(Debug, Clone, Default)]
pub struct ParallelBranches {
    limit: u32,
    join: Join,
    branches: Vec<ParallelBranch>,
}

/// Makes a node of this kind without options. [`name_nodes`](crate::graph::ids::name_nodes) names
/// it later.
pub(super) fn bare(act: NodeKind) -> Node {
    Node {
        id: NodeId::new(""),
        kind: act,
        when: None,
        settings: SessionOptions::default(),
        retry: RetryPolicy::default(),
        budget: Budget::default(),
        on_failure: OnFailure::default(),
        env: Default::default(),
        computed: Default::default(),
    }
}

impl Steps {
    /// Adds the next node.
    #[must_use]
    pub fn then(mut self, node: impl Into<Node>) -> Steps {
        self.body.push(node.into());
        self
    }

    /// Adds an `if` with its two blocks.
    #[must_use]
    pub fn if_(
        self,
        condition: impl Into<String>,
        then: impl FnOnce(Steps) -> Steps,
        otherwise: impl FnOnce(Steps) -> Steps,
    ) -> Steps {
        let condition = Expression(condition.into());
        let (then, otherwise) = (then(Steps::default()).body, otherwise(Steps::default()).body);
        self.then(bare(NodeKind::If(IfNode { condition, then, otherwise })))
    }

    /// Adds nodes that may fail, and the nodes that run then.
    #[must_use]
    pub fn try_(self, body: impl FnOnce(Steps) -> Steps, catch: impl FnOnce(Steps) -> Steps) -> Steps {
        let (body, catch) = (body(Steps::default()).body, catch(Steps::default()).body);
        self.then(bare(NodeKind::Try(TryNode { body, catch })))
    }

    /// Adds a loop.
    #[must_use]
    pub fn loop_(self, rounds: LoopRounds, body: impl FnOnce(Steps) -> Steps) -> Steps {
        let body = body(Steps::default()).body;
        let LoopRounds { until, max, forever } = rounds;
        self.then(bare(NodeKind::Loop(LoopNode { until, max, forever, body })))
    }

    /// Adds a block whose branches run at the same time.
    #[must_use]
    pub fn parallel(self, lanes: impl FnOnce(ParallelBranches) -> ParallelBranches) -> Steps {
        let ParallelBranches { limit, join, branches } = lanes(ParallelBranches::default());
        self.then(bare(NodeKind::Parallel(ParallelNode { limit, join, branches })))
    }

    /// Computes a number of the node that was added last when it starts, up to `at_most`.
    #[must_use]
    pub fn computed(mut self, number: NodeNumber, from: impl Into<String>, at_most: u64) -> Steps {
        if let Some(last) = self.body.last_mut() {
            last.compute(number, Expression(from.into()), at_most);
        }
        self
    }

    /// Names the node that was added last.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Steps {
        if let Some(last) = self.body.last_mut() {
            last.id = NodeId::new(id);
        }
        self
    }
}

impl LoopRounds {
    /// Ends the loop when the condition is true after an iteration.
    pub fn until(condition: impl Into<String>) -> LoopRounds {
        LoopRounds { until: vec![Expression(condition.into())], ..LoopRounds::default() }
    }

    /// Ends the loop after `max` iterations.
    pub fn times(max: u32) -> LoopRounds {
        LoopRounds { max, ..LoopRounds::default() }
    }

    /// Never ends the loop by itself. A budget around it is required.
    pub fn forever() -> LoopRounds {
        LoopRounds { forever: true, ..LoopRounds::default() }
    }

    /// Adds another condition that ends the loop.
    #[must_use]
    pub fn or(mut self, condition: impl Into<String>) -> LoopRounds {
        self.until.push(Expression(condition.into()));
        self
    }

    /// Limits the iterations.
    #[must_use]
    pub fn max(mut self, max: u32) -> LoopRounds {
        self.max = max;
        self
    }
}

impl ParallelBranches {
    /// Adds a branch.
    #[must_use]
    pub fn branch(mut self, name: impl Into<String>, body: impl FnOnce(Steps) -> Steps) -> ParallelBranches {
        self.branches.push(ParallelBranch { name: name.into(), body: body(Steps::default()).body });
        self
    }

    /// Limits how many branches run at once. Without a limit, all do.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> ParallelBranches {
        self.limit = limit;
        self
    }

    /// Decides which branches must end before the block ends; by default all of them.
    #[must_use]
    pub fn join(mut self, join: Join) -> ParallelBranches {
        self.join = join;
        self
    }
}
