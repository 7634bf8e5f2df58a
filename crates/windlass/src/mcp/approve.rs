//! The permission prompt: what it is asked, and that it always says no.

use serde_json::{Map, Value, json};

/// The tool's name; agents know it as `mcp__windlass__approve`.
pub(super) const NAME: &str = "approve";
pub(super) const ABOUT: &str = "Answers permission prompts that no rule decided.";

/// What it is given.
pub(super) fn schema() -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": {
            "tool_name": {"type": "string", "description": "The tool that wants to run"},
            "input": {"type": "object", "description": "Its input"},
            "tool_use_id": {"type": "string", "description": "The call"},
        },
        "required": ["tool_name", "input"],
    });
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The answer, as the text the agent CLI expects.
pub(super) fn answer(arguments: Option<&Map<String, Value>>) -> String {
    let tool = arguments.and_then(|map| map.get("tool_name")).and_then(Value::as_str).unwrap_or("this tool");
    let message = match tool {
        "AskUserQuestion" => {
            "Nobody is here to answer. Decide by yourself, or say in the tracker what blocks you.".to_owned()
        }
        tool => format!("{tool} was not allowed by the rules of this run, and nobody is here to ask."),
    };
    json!({"behavior": "deny", "message": message}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_decided_is_denied() {
        let arguments = json!({"tool_name": "WebFetch", "input": {}, "tool_use_id": "t"});
        let answer: Value = serde_json::from_str(&answer(arguments.as_object())).unwrap();
        assert_eq!(answer["behavior"], "deny");
        assert_eq!(
            answer["message"],
            "WebFetch was not allowed by the rules of this run, and nobody is here to ask."
        );
    }

    #[test]
    fn a_question_is_told_that_nobody_is_here() {
        let arguments = json!({"tool_name": "AskUserQuestion"});
        assert!(answer(arguments.as_object()).contains("Nobody is here"));
    }
}
