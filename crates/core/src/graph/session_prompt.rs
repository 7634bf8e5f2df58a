//! A node with an agent as it is run: one turn, or a loop of turns, with its texts in it.

use serde::{Deserialize, Serialize};

use crate::event::EntityTexts;
use crate::id::NodeId;
use crate::looping::LoopRules;

/// One step of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionPrompt {
    /// Its name, unique in the graph.
    pub id: NodeId,
    /// What it does.
    pub kind: SessionPromptKind,
    /// Who the agent is to be: added to the system prompt of its sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
}

/// What a node does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionPromptKind {
    /// One turn.
    Prompt {
        /// What the agent is asked, complete.
        prompt: String,
    },
    /// Turns until it is done.
    Loop(LoopRules),
}

impl SessionPrompt {
    /// What the agent is asked, before anything is added for the turn.
    pub fn prompt(&self) -> &str {
        match &self.kind {
            SessionPromptKind::Prompt { prompt } => prompt,
            SessionPromptKind::Loop(rules) => &rules.prompt,
        }
    }

    /// Puts the texts of an entity in.
    pub fn fill(&mut self, texts: &EntityTexts) {
        let (SessionPromptKind::Prompt { prompt } | SessionPromptKind::Loop(LoopRules { prompt, .. })) =
            &mut self.kind;
        // What stands there already is said after it.
        *prompt = match prompt.is_empty() {
            true => texts.prompt.clone(),
            false => format!("{}\n\n{prompt}", texts.prompt),
        };
        self.system.clone_from(&texts.system);
    }

    /// The rules of the loop, when it is one.
    pub fn rules(&self) -> Option<&LoopRules> {
        match &self.kind {
            SessionPromptKind::Prompt { .. } => None,
            SessionPromptKind::Loop(rules) => Some(rules),
        }
    }
}
