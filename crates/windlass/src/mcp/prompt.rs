//! The permission prompt: passes a request to the run, and the run's answer back.
//!
//! It knows nothing about a particular agent CLI. The dialect that installs it names the hook event, reads
//! the arguments and writes the answer. It also supplies the refusal that is used if the run does not answer.

use serde_json::{Map, Value, json};
use windlass_pawl::hook;

/// The name of the tool; agents see it as `mcp__windlass__approve`.
pub(super) const NAME: &str = "approve";
pub(super) const ABOUT: &str = "Answers permission prompts that no rule decided.";

/// The way in which permission prompts reach the run.
#[derive(Debug, Clone)]
pub(crate) struct PermissionPrompt {
    /// The hook event to use.
    pub(crate) event: String,
    /// The answer if the run gives none.
    pub(crate) refusal: String,
}

/// Returns the schema of the tool's arguments, which accepts whatever the agent CLI sends.
pub(super) fn schema() -> Map<String, Value> {
    match json!({"type": "object", "additionalProperties": true}) {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

impl PermissionPrompt {
    /// Returns the run's answer. Waits without a limit, because a person may have to decide.
    pub(super) async fn answer(&self, arguments: Option<Map<String, Value>>) -> String {
        let payload = Value::Object(arguments.unwrap_or_default()).to_string();
        let (say, said) = tokio::sync::oneshot::channel();
        let event = self.event.clone();
        // A thread of its own, so that the server need not wait for it after the agent is gone.
        std::thread::spawn(move || say.send(hook::ask(&event, payload.as_bytes())));
        match said.await.ok().flatten() {
            Some(reply) if !reply.stdout.is_empty() => reply.stdout,
            Some(_) | None => self.refusal.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_does_not_answer_refuses() {
        let prompt = PermissionPrompt { event: "Tool".to_owned(), refusal: "no".to_owned() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(runtime.block_on(prompt.answer(None)), "no");
    }
}
