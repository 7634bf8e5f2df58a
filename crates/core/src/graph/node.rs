//! The nodes of a workflow. So far a graph is one node: a prompt, or a loop around one.

use serde::{Deserialize, Serialize};

use crate::id::NodeId;
use crate::looping::Rules;

/// One step of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its name, unique in the graph.
    pub id: NodeId,
    /// What it does.
    pub kind: NodeKind,
    /// Who the agent is to be: added to the system prompt of its sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// What a node does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// One turn.
    Prompt {
        /// What the agent is asked, complete.
        prompt: String,
    },
    /// Turns until it is done.
    Loop(Rules),
}

impl Node {
    /// What the agent is asked, before anything is added for the turn.
    pub fn prompt(&self) -> &str {
        match &self.kind {
            NodeKind::Prompt { prompt } => prompt,
            NodeKind::Loop(rules) => &rules.prompt,
        }
    }

    /// The rules of the loop, when it is one.
    pub fn rules(&self) -> Option<&Rules> {
        match &self.kind {
            NodeKind::Prompt { .. } => None,
            NodeKind::Loop(rules) => Some(rules),
        }
    }
}
