//! Calls hooks: builds their payload, decides whether to call them, and reports the calls.

use std::time::Duration;

use serde_json::{Value, json};

use super::events::put;
use super::hooks::{self, HookMeaning, HookRoom};
use super::play::{PlayCut, Player};
use super::stream::new_uuid;

impl<'a> Player<'a> {
    /// Calls the hooks of an event and returns their combined answer.
    pub(super) fn fire(&mut self, event: &str, subject: &str, extra: Value) -> Result<HookMeaning, PlayCut> {
        self.fire_within(event, subject, extra, None)
    }

    pub(super) fn fire_within(
        &mut self,
        event: &str,
        subject: &str,
        extra: Value,
        limit: Option<Duration>,
    ) -> Result<HookMeaning, PlayCut> {
        if self.skip_hooks {
            return Ok(HookMeaning::default());
        }
        let payload = self.payload(event, extra);
        let room = HookRoom { env: &self.env, cwd: &self.words.cwd, limit };
        let said = self.hooks.call(event, subject, &payload, &room)?;
        if self.flags.hook_events {
            let name = if subject.is_empty() { event.to_owned() } else { format!("{event}:{subject}") };
            for one in &said {
                self.report_hook(event, &name, one)?;
            }
        }
        Ok(hooks::together(&said))
    }

    fn report_hook(&mut self, event: &str, name: &str, said: &hooks::HookOutput) -> Result<(), PlayCut> {
        let id = new_uuid();
        let common = json!({"type": "system", "hook_id": id, "hook_name": name, "hook_event": event});
        let mut started = common.clone();
        put(&mut started, "subtype", json!("hook_started"));
        self.stream.event(started)?;
        let mut response = common;
        put(&mut response, "subtype", json!("hook_response"));
        put(&mut response, "output", json!(format!("{}{}", said.stdout, said.stderr)));
        put(&mut response, "stdout", json!(said.stdout));
        put(&mut response, "stderr", json!(said.stderr));
        put(&mut response, "exit_code", json!(said.exit_code));
        put(&mut response, "outcome", json!(said.outcome()));
        Ok(self.stream.event(response)?)
    }

    /// Builds the payload of a hook: the common fields, and `extra`.
    pub(super) fn payload(&self, event: &str, extra: Value) -> Value {
        let mut payload = json!({
            "session_id": self.words.session, "transcript_path": self.transcript,
            "cwd": self.words.cwd, "hook_event_name": event,
        });
        if event != "SessionStart" {
            put(&mut payload, "prompt_id", json!(self.prompt_id));
        }
        if !matches!(event, "SessionStart" | "SessionEnd" | "SubagentStart") {
            put(&mut payload, "permission_mode", json!(self.permission_mode()));
        }
        if !matches!(event, "SessionStart" | "SessionEnd" | "SubagentStart" | "UserPromptSubmit") {
            put(&mut payload, "effort", json!({"level": "medium"}));
        }
        if let (Value::Object(payload), Value::Object(extra)) = (&mut payload, extra) {
            payload.extend(extra);
        }
        payload
    }

    /// Returns the permission mode. Without the flag every tool may run, because the author of the script
    /// chose them.
    pub(super) fn permission_mode(&self) -> &'a str {
        self.flags.permission_mode.as_deref().unwrap_or("bypassPermissions")
    }
}
