//! `criteria_loop`: repeats its nodes until the last message of a session contains a signal.

use serde::{Deserialize, Serialize};

use super::rounds::{ROUNDS, RoundsEnd, RoundsNode};
use super::shape::{GivenValue, NodeShape, Structure, times};
use crate::graph::workflow::Node;

/// A loop that ends when the last message of a session contains a signal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CriteriaLoopNode {
    pub signal: String,
    /// The maximum number of iterations. 0 means no limit.
    pub max: u32,
    /// The nodes of each iteration.
    pub body: Vec<Node>,
}

impl RoundsNode for CriteriaLoopNode {
    fn ends(&self) -> RoundsEnd<'_> {
        RoundsEnd::Signal(&self.signal)
    }

    fn max(&self) -> u32 {
        self.max
    }

    fn body(&self) -> &[Node] {
        &self.body
    }
}

impl NodeShape for CriteriaLoopNode {
    fn word(&self) -> &'static str {
        "criteria_loop"
    }

    fn label(&self) -> String {
        format!("loop{} until {}", times(self.max), self.signal)
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Rounds { ends: self.ends(), max: self.max, body: &self.body }
    }

    fn blocks_mut(&mut self) -> Vec<&mut Vec<Node>> {
        vec![&mut self.body]
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::Fields(&ROUNDS)
    }
}
