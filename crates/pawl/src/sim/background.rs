//! Plays subagents: one in the foreground, or one that still runs when the agent wants to stop.
//!
//! A background subagent splits a turn: the agent stops while the subagent runs, a prompt that no person
//! typed reports its end, and the stream has two results.

use serde_json::{Value, json};

use super::event::{PlayVerdict, SimEvent};
use super::hook_call::HookDecision;
use super::ids::{new_uuid, now_ms, short_id};
use super::perform::StepResult;
use super::play::{PlayCut, Player};

const DESCRIPTION: &str = "look around";
const PROMPT: &str = "Look around and report.";
const REPORT: &str = "Nothing unusual.";
/// The most times in a row that a hook may block the stop of a subagent.
const MOST_BLOCKS: u32 = 8;
const KIND: &str = "general-purpose";

/// One subagent.
struct Subagent {
    id: String,
    run: String,
}

impl Subagent {
    fn new() -> Subagent {
        let tail: String = short_id().chars().take(16).collect();
        Subagent { id: format!("a{tail}"), run: format!("0{}", short_id()) }
    }

    /// Returns the entry for the payload of the Stop hook.
    fn task(&self) -> Value {
        json!({
            "id": self.id, "type": "subagent", "status": "running", "description": DESCRIPTION, "agent_type": KIND,
        })
    }
}

impl Player<'_> {
    /// Runs a subagent to its end, as a tool call.
    pub(super) fn run_subagent(&mut self) -> Result<(), PlayCut> {
        let agent = Subagent::new();
        let input = json!({
            "description": DESCRIPTION, "prompt": PROMPT, "subagent_type": KIND, "run_in_background": false,
        });
        self.use_tool("Task", input, |player, _| {
            player.announce(&agent, false)?;
            player.end_subagent(&agent, &json!([]))?;
            let content = json!([{"type": "text", "text": REPORT}]);
            let structured = json!({
                "status": "completed", "prompt": PROMPT, "agentId": agent.id, "agentType": KIND, "content": content,
                "totalDurationMs": 1, "totalTokens": 120, "totalToolUseCount": 0,
            });
            Ok(StepResult { content, is_error: false, structured, shell: None })
        })
    }

    /// Asks to stop while a subagent runs, and continues when the subagent has ended. A CLI that waits for its
    /// subagents runs it to its end.
    pub(super) fn stop_in_background(&mut self) -> Result<(), PlayCut> {
        if !self.stream.format.abilities().background {
            return self.run_subagent();
        }
        let agent = Subagent::new();
        let input = json!({"description": DESCRIPTION, "prompt": PROMPT, "subagent_type": KIND});
        self.use_tool("Task", input, |player, _| {
            player.announce(&agent, true)?;
            let content = json!([{"type": "text", "text": "Async agent launched successfully."}]);
            let structured = json!({
                "isAsync": true, "status": "async_launched", "agentId": agent.id, "description": DESCRIPTION,
                "prompt": PROMPT,
            });
            Ok(StepResult { content, is_error: false, structured, shell: None })
        })?;
        let running = json!([agent.task()]);
        let answer = self.ask_to_stop(&running)?;
        if answer.decision == Some(HookDecision::Refuse) {
            self.blocks += 1;
            let blocks = self.blocks;
            self.stream.tell(SimEvent::StopBlocked { reason: &answer.reason, blocks })?;
        }
        self.end_subagent(&agent, &running)?;
        self.aside(&json!({"type": "system", "subtype": "background_tasks_changed", "tasks": []}))?;
        self.finish(PlayVerdict::said("completed", self.said.clone()));
        self.origin =
            Some(json!({"kind": "task-notification", "producer": "session-task", "runId": agent.run}));
        self.prompt_id = new_uuid();
        self.open_prompt(&notification(&agent))
    }

    fn aside(&mut self, event: &Value) -> Result<(), PlayCut> {
        Ok(self.stream.tell(SimEvent::Aside(event))?)
    }

    fn announce(&mut self, agent: &Subagent, background: bool) -> Result<(), PlayCut> {
        if background {
            let task = json!({
                "task_id": agent.id, "run_id": agent.run, "task_type": "local_agent", "subagent_type": KIND,
                "description": DESCRIPTION,
            });
            let event = json!({"type": "system", "subtype": "background_tasks_changed", "tasks": [task]});
            self.aside(&event)?;
        }
        self.aside(&json!({
            "type": "system", "subtype": "task_started", "task_id": agent.id, "run_id": agent.run,
            "description": DESCRIPTION, "subagent_type": KIND, "is_backgrounded": background, "spawn_depth": 1,
            "task_type": "local_agent", "prompt": PROMPT,
        }))?;
        self.subagents += 1;
        let extra = json!({"agent_id": agent.id, "agent_type": KIND});
        self.fire("SubagentStart", KIND, extra).map(drop)
    }

    /// Ends the subagent. Asks again each time its hook blocks the stop.
    fn end_subagent(&mut self, agent: &Subagent, background_tasks: &Value) -> Result<(), PlayCut> {
        for blocks in 0..=MOST_BLOCKS {
            let extra = json!({
                "agent_id": agent.id, "agent_type": KIND, "stop_hook_active": blocks > 0,
                "agent_transcript_path": format!("/nonexistent/subagents/agent-{}.jsonl", agent.id),
                "last_assistant_message": REPORT, "background_tasks": background_tasks, "session_crons": [],
            });
            let answer = self.fire("SubagentStop", KIND, extra)?;
            if answer.decision != Some(HookDecision::Refuse) {
                break;
            }
        }
        self.aside(&json!({
            "type": "system", "subtype": "task_updated", "task_id": agent.id, "run_id": agent.run,
            "patch": {"status": "completed", "end_time": now_ms()},
        }))?;
        self.aside(&json!({
            "type": "system", "subtype": "task_notification", "task_id": agent.id, "run_id": agent.run,
            "status": "completed", "output_file": "", "summary": REPORT,
            "usage": {"total_tokens": 120, "tool_uses": 0, "duration_ms": 1},
        }))
    }
}

fn notification(agent: &Subagent) -> String {
    format!(
        "<task-notification>\n<task-id>{}</task-id>\n<status>completed</status>\n<summary>Agent \"{DESCRIPTION}\" \
         finished</summary>\n<result>{REPORT}</result>\n</task-notification>",
        agent.id
    )
}
