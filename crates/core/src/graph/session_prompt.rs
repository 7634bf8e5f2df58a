//! A session node as the engine runs it: one turn or a loop of turns, with its texts filled in.

use serde::{Deserialize, Serialize};

use crate::event::EntityTexts;
use crate::id::NodeId;
use crate::looping::LoopRules;

/// A session node, ready to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionPrompt {
    /// The id of the node, unique in the graph.
    pub id: NodeId,
    pub kind: SessionPromptKind,
    /// The agent's instructions, which are added to the system prompt of its sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// A single prompt or a loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionPromptKind {
    /// One turn.
    Prompt {
        /// The complete text for the agent.
        prompt: String,
    },
    /// Turns until the agent is done.
    Loop(LoopRules),
}

impl SessionPrompt {
    /// Returns the prompt, before Windlass adds text for a particular turn.
    pub fn prompt(&self) -> &str {
        match &self.kind {
            SessionPromptKind::Prompt { prompt } => prompt,
            SessionPromptKind::Loop(rules) => &rules.prompt,
        }
    }

    /// Puts in the texts of an entity.
    pub fn fill(&mut self, texts: &EntityTexts) {
        let (SessionPromptKind::Prompt { prompt } | SessionPromptKind::Loop(LoopRules { prompt, .. })) =
            &mut self.kind;
        // The node's own prompt follows the text of the entity.
        *prompt = match prompt.is_empty() {
            true => texts.prompt.clone(),
            false => format!("{}\n\n{prompt}", texts.prompt),
        };
        self.system.clone_from(&texts.system);
    }

    pub fn rules(&self) -> Option<&LoopRules> {
        match &self.kind {
            SessionPromptKind::Prompt { .. } => None,
            SessionPromptKind::Loop(rules) => Some(rules),
        }
    }
}
