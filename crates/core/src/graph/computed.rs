//! Numbers of a node that a run computes when the node starts, from inputs or outputs.
//!
//! The field of the node has the largest value that is allowed, so that checks and bounds need no values.
//! `engine::numbers` computes them.

use super::workflow::{Expression, Node, NodeKind};
use crate::words;

/// Returns the name in `inputs.NAME`.
pub fn input_name(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("inputs.")?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then_some(name)
}

words! {
    /// A number of a node that a run may compute.
    #[derive(PartialOrd, Ord)]
    pub enum NodeNumber {
        /// The maximum number of iterations of a loop.
        Max = "max",
        /// The maximum number of branches at once.
        Limit = "limit",
        /// The number of tasks at once.
        Jobs = "jobs",
        /// The number of attempts at a task.
        Attempts = "attempts",
        /// The maximum number of turns.
        Turns = "turns",
        /// The number of retries.
        Times = "times",
        /// The pause before the first retry, in milliseconds.
        Delay = "delay",
        /// The time limit of the node, in milliseconds.
        Timeout = "timeout",
    }
}

impl NodeNumber {
    /// Decides whether the number is a time in milliseconds.
    pub fn is_time(self) -> bool {
        matches!(self, NodeNumber::Delay | NodeNumber::Timeout)
    }

    /// Returns the smallest allowed value. For most numbers, 0 would mean that there is no limit.
    pub fn least(self) -> u64 {
        match self {
            NodeNumber::Times | NodeNumber::Delay => 0,
            NodeNumber::Max
            | NodeNumber::Limit
            | NodeNumber::Jobs
            | NodeNumber::Attempts
            | NodeNumber::Turns
            | NodeNumber::Timeout => 1,
        }
    }

    /// Returns the path of the field in a document.
    pub(crate) fn field(self, kind: &NodeKind) -> &'static str {
        match (self, kind) {
            (NodeNumber::Max, NodeKind::CriteriaLoop(_)) => "criteria_loop.max",
            (NodeNumber::Max, NodeKind::TaskLoop(_)) => "task_loop.max",
            (NodeNumber::Max, NodeKind::Each(_)) => "each.max",
            (NodeNumber::Max, _) => "loop.max",
            (NodeNumber::Limit, _) => "parallel.limit",
            (NodeNumber::Jobs, NodeKind::Each(_)) => "each.jobs",
            (NodeNumber::Jobs, _) => "task_loop.jobs",
            (NodeNumber::Attempts, _) => "task_loop.attempts",
            (NodeNumber::Turns, _) => "turns.max",
            (NodeNumber::Times, _) => "retry.times",
            (NodeNumber::Delay, _) => "retry.delay",
            (NodeNumber::Timeout, _) => "timeout",
        }
    }
}

impl Node {
    /// Returns the field of a number: its value or, if a run computes the number, the largest allowed value.
    /// `None` if nodes of this kind have no such number.
    pub fn bound(&self, number: NodeNumber) -> Option<u64> {
        match (number, &self.kind) {
            (NodeNumber::Max, NodeKind::Loop(node)) => Some(node.max.into()),
            (NodeNumber::Max, NodeKind::CriteriaLoop(node)) => Some(node.max.into()),
            (NodeNumber::Max, NodeKind::TaskLoop(node)) => Some(node.max.into()),
            (NodeNumber::Max, NodeKind::Each(node)) => Some(node.max.into()),
            (NodeNumber::Limit, NodeKind::Parallel(node)) => Some(node.limit.into()),
            (NodeNumber::Jobs, NodeKind::Each(node)) => Some(node.jobs.into()),
            (NodeNumber::Jobs, NodeKind::TaskLoop(node)) => Some(node.jobs.into()),
            (NodeNumber::Attempts, NodeKind::TaskLoop(node)) => Some(node.attempts.into()),
            (NodeNumber::Turns, NodeKind::Session(session)) => {
                session.turns.as_ref().and_then(|turns| turns.max).map(u64::from)
            }
            (NodeNumber::Times, _) => Some(self.retry.times.into()),
            (NodeNumber::Delay, _) => Some(self.retry.delay_ms),
            (NodeNumber::Timeout, _) => self.settings.timeout_ms,
            _ => None,
        }
    }

    /// Lets a run compute a number when the node starts, up to `at_most`. Times are in milliseconds.
    pub(crate) fn compute(&mut self, number: NodeNumber, from: Expression, at_most: u64) {
        let count = u32::try_from(at_most).unwrap_or(u32::MAX);
        match (number, &mut self.kind) {
            (NodeNumber::Max, NodeKind::Loop(node)) => node.max = count,
            (NodeNumber::Max, NodeKind::CriteriaLoop(node)) => node.max = count,
            (NodeNumber::Max, NodeKind::TaskLoop(node)) => node.max = count,
            (NodeNumber::Max, NodeKind::Each(node)) => node.max = count,
            (NodeNumber::Limit, NodeKind::Parallel(node)) => node.limit = count,
            (NodeNumber::Jobs, NodeKind::Each(node)) => node.jobs = count,
            (NodeNumber::Jobs, NodeKind::TaskLoop(node)) => node.jobs = count,
            (NodeNumber::Attempts, NodeKind::TaskLoop(node)) => node.attempts = count,
            (NodeNumber::Turns, NodeKind::Session(session)) => {
                session.turns.get_or_insert_default().max = Some(count);
            }
            (NodeNumber::Times, _) => self.retry.times = count,
            (NodeNumber::Delay, _) => self.retry.delay_ms = at_most,
            (NodeNumber::Timeout, _) => self.settings.timeout_ms = Some(at_most),
            _ => {}
        }
        self.computed.insert(number, from);
    }
}
