//! Claude Code, headless: `-p --output-format stream-json`.

mod hook;
mod launch;
mod parse;
mod schema;
mod tools;

use std::path::{Path, PathBuf};

use windlass_core::agent::AgentEvent;
use windlass_core::hook::{HookAnswer, HookKind};
use windlass_core::time::Moment;

use super::dialect::{Dialect, LoginPlaces, Printed, ReadLine};
use super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::{Capabilities, Enforcement, Hold, stamp};

#[derive(Debug)]
pub(super) struct Claude;

impl Dialect for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn program(&self) -> Option<&'static str> {
        Some("claude")
    }

    fn install_hint(&self) -> Option<&'static str> {
        Some("npm install -g @anthropic-ai/claude-code")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stream: true,
            resume: true,
            fork: true,
            chooses_session_id: false,
            hooks: &["PreToolUse", "Stop"],
            stop_block: true,
            silent_stop: false,
            permissions: true,
            questions: true,
            mcp: true,
            budget: true,
            models: true,
            model_names: &["claude-*"],
            effort: true,
            model_tiers: true,
            usage: true,
            reports_model: true,
            cost: true,
            adoptable: true,
            enforcement: Enforcement {
                tools: Hold::Enforced,
                settings: Hold::Enforced,
                ..Enforcement::default()
            },
            plugins: true,
            schema: true,
            tools: tools::HAS,
            slash_commands: true,
            reads_mentions: true,
        }
    }

    fn user_settings(&self, home: &Path, env: &[(String, String)]) -> Option<PathBuf> {
        Some(user_folder(home, env).join("settings.json"))
    }

    fn login_places(&self, home: &Path, env: &[(String, String)]) -> LoginPlaces {
        LoginPlaces {
            variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            files: vec![user_folder(home, env).join(".credentials.json")],
        }
    }

    fn prepare(
        &self,
        turn: &TurnRequest<'_>,
        paths: &TurnPaths<'_>,
        outside: &UserEnvironment<'_>,
    ) -> Prepared {
        launch::prepare(turn, paths, outside)
    }

    fn secret_files(&self) -> &'static [&'static str] {
        &[launch::SETTINGS]
    }

    fn reader(&self) -> Box<dyn ReadLine> {
        Box::new(ClaudeReader)
    }

    fn read_hook(&self, event: &str, payload: &[u8]) -> HookKind {
        hook::read_hook(event, payload)
    }

    fn hook_folder(&self, payload: &[u8]) -> Option<PathBuf> {
        hook::read_cwd(payload)
    }

    fn write_answer(&self, event: &str, payload: &[u8], answer: &HookAnswer) -> Printed {
        hook::write_answer(event, payload, answer)
    }
}

/// Returns the folder with the user's settings and login.
fn user_folder(home: &Path, env: &[(String, String)]) -> PathBuf {
    let moved = env.iter().find(|(name, dir)| name == "CLAUDE_CONFIG_DIR" && !dir.is_empty());
    moved.map_or_else(|| home.join(".claude"), |(_, dir)| PathBuf::from(dir))
}

/// A reader without state: each line of stream-json is self-contained.
#[derive(Debug)]
struct ClaudeReader;

impl ReadLine for ClaudeReader {
    fn read_line(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), String> {
        parse::read_line(line, out).map_err(|error| error.to_string())
    }

    fn time(&self, line: &str) -> Option<Moment> {
        stamp::time(line)
    }

    fn write_reply(&mut self, request: &str, answer: &str) -> Vec<u8> {
        hook::write_reply(request, answer)
    }
}
