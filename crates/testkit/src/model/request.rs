//! The requests of the CLI to the model, kept for the test. API keys are removed.

use serde_json::Value;

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A turn of the main conversation.
    Main,
    /// A turn of a subagent.
    Subagent,
    /// A request outside the conversation (titles, quota). It takes no turn from the script.
    Side,
    /// Token counting, probes, telemetry.
    Other,
}

/// A received request.
#[derive(Debug, Clone)]
pub struct Request {
    pub kind: Kind,
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Names in lower case, without keys and tokens.
    pub headers: Vec<(String, String)>,
    /// The JSON body, or null.
    pub body: Value,
    /// The CLI's session.
    pub session: Option<String>,
    /// The subagent, if one sent it.
    pub agent: Option<String>,
    /// The index among requests of its kind, from 0.
    pub nth: usize,
    /// The index among requests of its kind in its session, from 0.
    pub nth_in_session: usize,
    /// The index of its session, in order of their first requests, from 0.
    pub session_nth: usize,
}

impl Request {
    /// Returns a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the text of the last user message, including tool results.
    pub fn last_user_text(&self) -> String {
        self.user_messages().last().map(|message| text_of(&message["content"])).unwrap_or_default()
    }

    /// Returns the text of the first user message: the prompt, with the CLI's additions.
    pub fn first_user_text(&self) -> String {
        self.user_messages().next().map(|message| text_of(&message["content"])).unwrap_or_default()
    }

    /// Returns the text blocks of the last user message.
    pub fn last_user_blocks(&self) -> Vec<String> {
        let last = self.user_messages().last();
        match last.map(|message| &message["content"]) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(blocks)) => blocks.iter().map(block_text).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the system prompt, and the `system` messages in the conversation.
    pub fn system_text(&self) -> String {
        let messages = self.messages().filter(|message| message["role"] == "system");
        let inside = messages.map(|message| text_of(&message["content"]));
        std::iter::once(text_of(&self.body["system"])).chain(inside).collect::<Vec<_>>().join("\n")
    }

    /// Returns true if any message, or the system prompt, contains this text.
    pub fn mentions(&self, text: &str) -> bool {
        self.system_text().contains(text)
            || self.messages().any(|message| text_of(&message["content"]).contains(text))
    }

    /// Returns the names of the tools that the model may call.
    pub fn tool_names(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools.filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
    }

    fn messages(&self) -> impl Iterator<Item = &Value> {
        self.body["messages"].as_array().into_iter().flatten()
    }

    fn user_messages(&self) -> impl Iterator<Item = &Value> {
        self.messages().filter(|message| message["role"] == "user")
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(block_text).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn block_text(block: &Value) -> String {
    match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap_or_default().to_owned(),
        Some("tool_result") => text_of(&block["content"]),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_user_text_looks_past_the_system_and_into_tool_results() {
        let body = json!({"messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": []},
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "42"}]},
                                          {"type": "text", "text": "and on"}]},
            {"role": "system", "content": "by the way"},
        ]});
        let request = Request {
            kind: Kind::Main,
            method: "POST".into(),
            path: "/v1/messages".into(),
            headers: vec![],
            body,
            session: None,
            agent: None,
            nth: 0,
            nth_in_session: 0,
            session_nth: 0,
        };
        assert_eq!(request.last_user_text(), "42\nand on");
        assert_eq!(request.first_user_text(), "go");
        assert!(request.mentions("by the way"));
    }
}
