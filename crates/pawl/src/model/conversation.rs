//! A conversation as every API tells it: who said what, and the tools that the model may call.

use serde_json::Value;

use super::tools::OfferedTool;

/// The conversation in a request, in the order of its messages.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestConversation {
    pub(super) messages: Vec<ConversationMessage>,
    pub(super) tools: Vec<OfferedTool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConversationMessage {
    pub(super) speaker: MessageSpeaker,
    /// The texts of the message. A tool result is a text of the user.
    pub(super) blocks: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageSpeaker {
    System,
    User,
    Model,
}

impl RequestConversation {
    /// Adds texts. Adjacent messages of the user become one, because some APIs send a message for each
    /// tool result.
    pub(super) fn add(&mut self, speaker: MessageSpeaker, blocks: Vec<String>) {
        match self.messages.last_mut() {
            Some(last) if speaker == MessageSpeaker::User && last.speaker == speaker => {
                last.blocks.extend(blocks)
            }
            _ => self.messages.push(ConversationMessage { speaker, blocks }),
        }
    }

    pub(super) fn of(&self, speaker: MessageSpeaker) -> impl Iterator<Item = &ConversationMessage> {
        self.messages.iter().filter(move |message| message.speaker == speaker)
    }
}

impl ConversationMessage {
    pub(super) fn text(&self) -> String {
        self.blocks.join("\n")
    }
}

/// Returns the texts of a message, which is a text or a list of blocks with a `text` each.
pub(super) fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks.iter().map(block_text).collect(),
        _ => Vec::new(),
    }
}

fn block_text(block: &Value) -> String {
    let inside = if block["type"] == "tool_result" { &block["content"] } else { &block["text"] };
    texts(inside).join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_result_is_a_text_and_a_tool_call_is_none() {
        let content = json!([
            {"type": "tool_result", "content": [{"type": "text", "text": "42"}, {"type": "text", "text": "."}]},
            {"type": "tool_use", "name": "Bash", "input": {}},
            {"type": "text", "text": "and on"},
        ]);
        assert_eq!(texts(&content), ["42\n.", "", "and on"]);
        assert_eq!(texts(&json!("plain")), ["plain"]);
        assert!(texts(&json!(null)).is_empty());
    }

    #[test]
    fn only_adjacent_messages_of_the_user_become_one() {
        let mut heard = RequestConversation::default();
        for (speaker, text) in [
            (MessageSpeaker::User, "a"),
            (MessageSpeaker::User, "b"),
            (MessageSpeaker::Model, "c"),
            (MessageSpeaker::Model, "d"),
            (MessageSpeaker::User, "e"),
        ] {
            heard.add(speaker, vec![text.to_owned()]);
        }
        let told: Vec<String> = heard.messages.iter().map(ConversationMessage::text).collect();
        assert_eq!(told, ["a\nb", "c", "d", "e"]);
        assert_eq!(heard.of(MessageSpeaker::User).count(), 2);
    }
}
