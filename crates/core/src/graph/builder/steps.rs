//! A sequence of nodes that is being written, and the blocks in it.

use crate::graph::workflow::{
    Act, Branch, Budget, Expression, IfNode, Join, LoopNode, OnFailure, ParallelNode, Retry, Settings, Step,
};
use crate::id::NodeId;

/// Nodes, one after the other.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    pub(super) body: Vec<Step>,
}

/// How often a loop goes round.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    until: Vec<Expression>,
    max: u32,
}

/// The branches of a parallel block.
#[derive(Debug, Clone, Default)]
pub struct Lanes {
    limit: u32,
    join: Join,
    branches: Vec<Branch>,
}

/// A node that says nothing but what it does. Its name is given at the end.
pub(super) fn bare(act: Act) -> Step {
    Step {
        id: NodeId::new(""),
        act,
        when: None,
        settings: Settings::default(),
        retry: Retry::default(),
        budget: Budget::default(),
        on_failure: OnFailure::default(),
    }
}

impl Steps {
    /// The next node.
    #[must_use]
    pub fn then(mut self, node: impl Into<Step>) -> Steps {
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
        self.then(bare(Act::If(IfNode { condition, then, otherwise })))
    }

    /// The same again.
    #[must_use]
    pub fn loop_(self, rounds: Rounds, body: impl FnOnce(Steps) -> Steps) -> Steps {
        let body = body(Steps::default()).body;
        self.then(bare(Act::Loop(LoopNode { until: rounds.until, max: rounds.max, body })))
    }

    /// Several things at once.
    #[must_use]
    pub fn parallel(self, lanes: impl FnOnce(Lanes) -> Lanes) -> Steps {
        let Lanes { limit, join, branches } = lanes(Lanes::default());
        self.then(bare(Act::Parallel(ParallelNode { limit, join, branches })))
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

impl Rounds {
    /// Until this holds, looked at after each round.
    pub fn until(condition: impl Into<String>) -> Rounds {
        Rounds { until: vec![Expression(condition.into())], max: 0 }
    }

    /// So many, and no more.
    pub fn times(max: u32) -> Rounds {
        Rounds { until: Vec::new(), max }
    }

    /// Or until this holds.
    #[must_use]
    pub fn or(mut self, condition: impl Into<String>) -> Rounds {
        self.until.push(Expression(condition.into()));
        self
    }

    /// Rounds at most.
    #[must_use]
    pub fn max(mut self, max: u32) -> Rounds {
        self.max = max;
        self
    }
}

impl Lanes {
    /// One more branch.
    #[must_use]
    pub fn branch(mut self, name: impl Into<String>, body: impl FnOnce(Steps) -> Steps) -> Lanes {
        self.branches.push(Branch { name: name.into(), body: body(Steps::default()).body });
        self
    }

    /// How many at once; all, where nothing is said.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Lanes {
        self.limit = limit;
        self
    }

    /// When it is over; when all branches are, where nothing is said.
    #[must_use]
    pub fn join(mut self, join: Join) -> Lanes {
        self.join = join;
        self
    }
}
