//! A sequence of nodes that is being written, and the blocks in it.

use crate::graph::workflow::{
    Budget, Expression, IfNode, Join, LoopNode, Node, NodeKind, OnFailure, ParallelBranch, ParallelNode,
    RetryPolicy, SessionOptions,
};
use crate::id::NodeId;

/// Nodes, one after the other.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    pub(super) body: Vec<Node>,
}

/// How often a loop goes round.
#[derive(Debug, Clone, Default)]
pub struct LoopRounds {
    until: Vec<Expression>,
    max: u32,
}

/// The branches of a parallel block.
#[derive(Debug, Clone, Default)]
pub struct ParallelBranches {
    limit: u32,
    join: Join,
    branches: Vec<ParallelBranch>,
}

/// A node that says nothing but what it does. Its name is given at the end.
pub(super) fn bare(act: NodeKind) -> Node {
    Node {
        id: NodeId::new(""),
        kind: act,
        when: None,
        settings: SessionOptions::default(),
        retry: RetryPolicy::default(),
        budget: Budget::default(),
        on_failure: OnFailure::default(),
    }
}

impl Steps {
    /// The next node.
    #[must_use]
    pub fn then(mut self, node: impl Into<Node>) -> Steps {
        self.body.push(node.into());
        self
    }

    /// One of two ways.
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

    /// The same again.
    #[must_use]
    pub fn loop_(self, rounds: LoopRounds, body: impl FnOnce(Steps) -> Steps) -> Steps {
        let body = body(Steps::default()).body;
        self.then(bare(NodeKind::Loop(LoopNode { until: rounds.until, max: rounds.max, body })))
    }

    /// Several things at once.
    #[must_use]
    pub fn parallel(self, lanes: impl FnOnce(ParallelBranches) -> ParallelBranches) -> Steps {
        let ParallelBranches { limit, join, branches } = lanes(ParallelBranches::default());
        self.then(bare(NodeKind::Parallel(ParallelNode { limit, join, branches })))
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
    /// Until this holds, looked at after each round.
    pub fn until(condition: impl Into<String>) -> LoopRounds {
        LoopRounds { until: vec![Expression(condition.into())], max: 0 }
    }

    /// So many, and no more.
    pub fn times(max: u32) -> LoopRounds {
        LoopRounds { until: Vec::new(), max }
    }

    /// Or until this holds.
    #[must_use]
    pub fn or(mut self, condition: impl Into<String>) -> LoopRounds {
        self.until.push(Expression(condition.into()));
        self
    }

    /// Rounds at most.
    #[must_use]
    pub fn max(mut self, max: u32) -> LoopRounds {
        self.max = max;
        self
    }
}

impl ParallelBranches {
    /// One more branch.
    #[must_use]
    pub fn branch(mut self, name: impl Into<String>, body: impl FnOnce(Steps) -> Steps) -> ParallelBranches {
        self.branches.push(ParallelBranch { name: name.into(), body: body(Steps::default()).body });
        self
    }

    /// How many at once; all, where nothing is said.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> ParallelBranches {
        self.limit = limit;
        self
    }

    /// When it is over; when all branches are, where nothing is said.
    #[must_use]
    pub fn join(mut self, join: Join) -> ParallelBranches {
        self.join = join;
        self
    }
}
