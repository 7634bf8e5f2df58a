//! An agent CLI that has nothing in common with any other: lines of words, hooks and tools with names of its own.

use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_core::hook::{HookAnswer, HookKind, Question, QuestionOption, ToolCall, ToolName};
use windlass_peers::agent::{
    AgentEvent, Capabilities, Dialect, Enforcement, Hold, Prepared, Printed, ReadLine, TurnPaths,
    TurnRequest, TurnResult, UserEnvironment,
};

#[derive(Debug)]
pub(crate) struct Teletype;

fn tool(kit: &str) -> ToolName {
    match kit {
        "terminal" => ToolName::Shell,
        "pen" => ToolName::Write,
        "internet" => ToolName::WebFetch,
        _ => ToolName::Other,
    }
}

impl Dialect for Teletype {
    fn name(&self) -> &'static str {
        "teletype"
    }

    fn program(&self) -> Option<&'static str> {
        Some("teletype")
    }

    fn install_hint(&self) -> Option<&'static str> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        let tools = &[ToolName::Shell, ToolName::Write, ToolName::WebFetch];
        let enforcement =
            Enforcement { tools: Hold::Enforced, settings: Hold::Enforced, ..Enforcement::default() };
        let can =
            Capabilities { stream: true, permissions: true, questions: true, ..Capabilities::default() };
        Capabilities { enforcement, tools, ..can }
    }

    fn user_settings(&self, _: &Path, _: &[(String, String)]) -> Option<PathBuf> {
        None
    }

    fn prepare(
        &self,
        turn: &TurnRequest<'_>,
        paths: &TurnPaths<'_>,
        outside: &UserEnvironment<'_>,
    ) -> Prepared {
        let prompt = paths.dir.join("prompt");
        let argv = vec![turn.settings.driver.program.clone(), turn.plan.session.to_string()];
        let mut launch = turn.launch(paths, outside, argv, Some(&prompt));
        launch.env.push(("TELETYPE_HOOK".to_owned(), paths.windlass_exe.display().to_string()));
        Prepared { launch, files: vec![(prompt, turn.plan.prompt.clone().into_bytes())], links: Vec::new() }
    }

    fn secret_files(&self) -> &'static [&'static str] {
        &[]
    }

    fn reader(&self) -> Box<dyn ReadLine> {
        Box::new(Reader)
    }

    fn read_hook(&self, event: &str, payload: &[u8]) -> HookKind {
        let payload: Value = serde_json::from_slice(payload).unwrap_or_default();
        let text = |key: &str| payload[key].as_str().unwrap_or_default().to_owned();
        match event {
            "may_i" => {
                let input = serde_json::json!({ "command": text("what") });
                HookKind::Tool(ToolCall { tool: tool(&text("kit")), name: text("kit"), input })
            }
            "tell_me" => {
                let option = |label: &str| QuestionOption { label: label.to_owned(), description: None };
                let options = text("of").split(' ').map(option).collect();
                let question = Question { options, ..Question::open(text("what")) };
                HookKind::Question { questions: vec![question] }
            }
            other => HookKind::Other { name: other.to_owned() },
        }
    }

    fn hook_folder(&self, _: &[u8]) -> Option<PathBuf> {
        None
    }

    fn write_answer(&self, _: &str, _: &[u8], answer: &HookAnswer) -> Printed {
        let stdout = match answer {
            HookAnswer::Allow => "YES".to_owned(),
            HookAnswer::Reply { answers } => answers.iter().map(|(_, answer)| answer.as_str()).collect(),
            HookAnswer::Deny { reason } | HookAnswer::Block { reason } => format!("NO {reason}"),
            HookAnswer::Pass => String::new(),
        };
        Printed { stdout, ..Printed::default() }
    }
}

#[derive(Debug)]
struct Reader;

impl ReadLine for Reader {
    fn read_line(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (id, text, side) = ("t".to_owned(), rest.to_owned(), false);
        out.push(match word {
            "SAY" => AgentEvent::Text { text, message_id: String::new(), side },
            "DO" => AgentEvent::ToolUse {
                id,
                tool: tool(rest),
                name: text,
                asks: false,
                summary: String::new(),
                side,
            },
            "DID" => AgentEvent::ToolResult { id, is_error: false, text, was_decided: true, side },
            "BYE" => AgentEvent::Result(Box::new(TurnResult { num_turns: 1, ..TurnResult::default() })),
            other => return Err(format!("`{other}` is no word of a teletype")),
        });
        Ok(())
    }
}
