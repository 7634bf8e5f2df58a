//! `criteria_loop`: the same again, until the last words of a session hold a signal.

use serde::{Deserialize, Serialize};

use super::rounds::{ROUNDS, RoundsEnd, RoundsNode};
use super::shape::{GivenValue, NodeShape, Structure, times};
use crate::graph::workflow::Node;

/// The same again, until the last words of a session hold a signal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CriteriaLoopNode {
    /// The signal.
    pub signal: String,
    /// Rounds at most; 0 is without bound.
    pub max: u32,
    /// What is done in each round.
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
