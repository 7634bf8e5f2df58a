//! The requests of the CLI to the model, kept for later. API keys are removed.

use serde_json::Value;

use super::WireApi;
use super::conversation::{ConversationMessage, MessageSpeaker, RequestConversation};

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// A turn of the main conversation.
    Main,
    /// A turn of a subagent.
    Subagent,
    /// A request outside the conversation (titles, summaries, quota). It takes no turn from the script.
    Side,
    /// Token counting, probes, telemetry.
    Other,
}

/// A received request.
#[derive(Debug, Clone)]
pub struct WireRequest {
    pub kind: RequestKind,
    /// The API, if the request asks a model.
    pub wire: Option<WireApi>,
    pub method: String,
    /// The path with its query, without a key.
    pub path: String,
    /// Names in lower case, without keys and tokens.
    pub headers: Vec<(String, String)>,
    /// The JSON body, or null.
    pub body: Value,
    /// The name of the requested model, or an empty text.
    pub model: String,
    /// The CLI's session, if the request names it. Gemini's never does.
    pub session: Option<String>,
    /// The subagent, if one sent it and the request names it.
    pub agent: Option<String>,
    /// The index among requests of its kind, from 0.
    pub nth: usize,
    /// The index among requests of its kind in its session, from 0.
    pub nth_in_session: usize,
    /// The index of its session, in order of their first requests, from 0.
    pub session_nth: usize,
    pub(super) conversation: RequestConversation,
}

impl WireRequest {
    /// Returns a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the text of the last user message, including tool results.
    pub fn last_user_text(&self) -> String {
        self.conversation.of(MessageSpeaker::User).last().map(ConversationMessage::text).unwrap_or_default()
    }

    /// Returns the text of the first user message: the prompt, with the CLI's additions.
    pub fn first_user_text(&self) -> String {
        self.conversation.of(MessageSpeaker::User).next().map(ConversationMessage::text).unwrap_or_default()
    }

    /// Returns the text blocks of the last user message.
    pub fn last_user_blocks(&self) -> Vec<String> {
        self.conversation
            .of(MessageSpeaker::User)
            .last()
            .map(|message| message.blocks.clone())
            .unwrap_or_default()
    }

    /// Returns the system prompt, and the system messages in the conversation.
    pub fn system_text(&self) -> String {
        self.conversation
            .of(MessageSpeaker::System)
            .map(ConversationMessage::text)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Returns true if any message, or the system prompt, contains this text.
    pub fn mentions(&self, text: &str) -> bool {
        self.conversation.messages.iter().any(|message| message.text().contains(text))
    }

    /// Returns the names of the tools that the model may call.
    pub fn tool_names(&self) -> Vec<String> {
        self.conversation.tools.iter().map(|tool| tool.name.clone()).collect()
    }

    /// Returns true if the model has not answered yet in this conversation.
    pub fn opens_conversation(&self) -> bool {
        self.conversation.of(MessageSpeaker::Model).next().is_none()
    }
}
