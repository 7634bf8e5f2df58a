//! The permission prompt: what it is asked, and that the run decides it.
//!
//! The agent CLI guards some places by rules of its own and asks here before it writes there. The
//! question goes to the run, as a hook's does, so that the run's rules or a person decide it and
//! the log has it. Nobody who answers means no.

use serde_json::{Map, Value, json};
use windlass_core::hook::wire::Reply;
use windlass_pawl::hook;

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

/// The answer, as the text the agent CLI expects. It waits as long as a person thinks.
pub(super) async fn answer(arguments: Option<Map<String, Value>>) -> String {
    let arguments = arguments.unwrap_or_default();
    let tool = arguments.get("tool_name").and_then(Value::as_str).unwrap_or("this tool").to_owned();
    if tool == "AskUserQuestion" {
        return deny("Nobody is here to answer. Decide by yourself, or say in the tracker what blocks you.");
    }
    let input = arguments.get("input").cloned().unwrap_or_else(|| json!({}));
    let payload = json!({"tool_name": tool, "tool_input": input}).to_string();
    let (say, said) = tokio::sync::oneshot::channel();
    // A thread of its own: the server must not wait for it when the agent has gone.
    std::thread::spawn(move || say.send(hook::ask("PermissionRequest", payload.as_bytes())));
    match said.await.ok().flatten() {
        Some(reply) => in_words(&reply, input),
        None => deny(&format!("{tool} needs a permission, and the run does not answer.")),
    }
}

/// What the run said. The CLI wants the input back with a yes.
fn in_words(reply: &Reply, input: Value) -> String {
    let said: Value = serde_json::from_str(&reply.stdout).unwrap_or_default();
    match said.get("behavior").and_then(Value::as_str) {
        Some("allow") => json!({"behavior": "allow", "updatedInput": input}).to_string(),
        Some("deny") => said.to_string(),
        _ => deny("the run gave no answer that can be read"),
    }
}

fn deny(message: &str) -> String {
    json!({"behavior": "deny", "message": message}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(stdout: &str) -> Value {
        let stdout = stdout.to_owned();
        let reply = Reply { v: 1, id: "h".to_owned(), exit: 0, stdout, stderr: String::new() };
        serde_json::from_str(&in_words(&reply, json!({"a": 1}))).unwrap()
    }

    #[test]
    fn a_yes_carries_the_input_and_anything_else_is_a_no() {
        assert_eq!(told(r#"{"behavior":"allow"}"#), json!({"behavior": "allow", "updatedInput": {"a": 1}}));
        assert_eq!(
            told(r#"{"behavior":"deny","message":"no"}"#),
            json!({"behavior": "deny", "message": "no"})
        );
        for odd in ["", "{", r#"{"behavior":"perhaps"}"#, "[]"] {
            assert_eq!(told(odd)["behavior"], "deny", "{odd}");
        }
    }

    #[tokio::test]
    async fn a_question_is_told_that_nobody_is_here() {
        let arguments = json!({"tool_name": "AskUserQuestion"}).as_object().cloned();
        assert!(answer(arguments).await.contains("Nobody is here"));
    }

    #[tokio::test]
    async fn outside_a_run_it_is_denied() {
        let arguments = json!({"tool_name": "WebFetch", "input": {}, "tool_use_id": "t"});
        let answer: Value = serde_json::from_str(&answer(arguments.as_object().cloned()).await).unwrap();
        assert_eq!(answer["behavior"], "deny");
    }
}
