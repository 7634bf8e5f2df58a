//! `loop`: repeats its nodes until a condition is true.

use serde::{Deserialize, Serialize};

use super::rounds::{ROUNDS, RoundsEnd, RoundsNode};
use super::shape::{GivenValue, NodeShape, Structure, times};
use crate::graph::check::outline::{EvaluationTime, Text};
use crate::graph::workflow::{Expression, Node};

/// A loop with end conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopNode {
    /// The end conditions, evaluated after each iteration. One is enough to end the loop.
    pub until: Vec<Expression>,
    /// The maximum number of iterations. 0 means no limit.
    pub max: u32,
    /// The loop is meant to be endless: only a budget, a failure or a person ends it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forever: bool,
    /// The nodes of each iteration.
    pub body: Vec<Node>,
}

impl RoundsNode for LoopNode {
    fn ends(&self) -> RoundsEnd<'_> {
        RoundsEnd::Conditions(&self.until)
    }

    fn max(&self) -> u32 {
        self.max
    }

    fn body(&self) -> &[Node] {
        &self.body
    }
}

impl NodeShape for LoopNode {
    fn word(&self) -> &'static str {
        "loop"
    }

    fn label(&self) -> String {
        if self.forever {
            return "loop forever".to_owned();
        }
        let until: Vec<&str> = self.until.iter().map(|until| until.0.as_str()).collect();
        let until = if until.is_empty() { String::new() } else { format!(" until {}", until.join(" or ")) };
        format!("loop{}{until}", times(self.max))
    }

    fn structure(&self) -> Structure<'_> {
        Structure::Rounds { ends: self.ends(), max: self.max, body: &self.body }
    }

    fn blocks_mut(&mut self) -> Vec<&mut Vec<Node>> {
        vec![&mut self.body]
    }

    fn texts(&self) -> Vec<Text> {
        let until = self.until.iter().enumerate();
        let text = |until| Text::condition("loop.until", until, EvaluationTime::RoundOver);
        until.map(|(index, until)| Text { key: Some(index.to_string()), ..text(until) }).collect()
    }

    fn value(&self) -> GivenValue<'_> {
        GivenValue::Fields(&ROUNDS)
    }
}
