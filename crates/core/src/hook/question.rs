//! Questions to a person, from an agent, an `ask` node or a tool that needs permission.

use serde::{Deserialize, Serialize};

use super::tool::ToolCall;

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Question {
    /// The question itself. An answer refers to its question by this text.
    pub text: String,
    #[serde(default)]
    pub options: Vec<QuestionOption>,
    /// True if a person may choose several options.
    #[serde(default)]
    pub several: bool,
    /// True if a person may answer in their own words.
    pub free_text: bool,
}

/// One of the answers to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionOption {
    /// The answer itself.
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Question {
    /// Creates a question with a free-text answer.
    pub fn open(text: impl Into<String>) -> Question {
        Question { text: text.into(), free_text: true, ..Question::default() }
    }

    /// Creates a question of the workflow. If it has choices, it accepts no other answer.
    pub fn of_workflow(text: impl Into<String>, choices: &[String]) -> Question {
        let option = |label: &String| QuestionOption { label: label.clone(), description: None };
        let options: Vec<_> = choices.iter().map(option).collect();
        Question { text: text.into(), free_text: options.is_empty(), options, several: false }
    }

    /// Asks whether a tool may run.
    pub fn permission(call: &ToolCall) -> Question {
        let text = format!("May the agent use {}?", call.name);
        Question::of_workflow(text, &["allow".to_owned(), "refuse".to_owned()])
    }
}
