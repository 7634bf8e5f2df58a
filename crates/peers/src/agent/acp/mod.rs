//! Any agent that speaks the Agent Client Protocol: lines of JSON-RPC on its standard streams, version 1.
//!
//! The user names the program and its arguments: `opencode acp`, `gemini --acp`. [`conversation`] holds the
//! conversation; what a line means and what it is answered with is in the file of its kind.

mod conversation;
mod failure;
mod hook;
mod launch;
mod options;
mod permission;
mod tools;
mod updates;
mod usage;
mod wire;

use std::path::{Path, PathBuf};

use windlass_core::hook::{HookAnswer, HookKind};

use super::dialect::{Dialect, Printed, ReadLine};
use super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::{Capabilities, Enforcement, Hold};
use conversation::Conversation;

#[derive(Debug)]
pub(super) struct Acp;

impl Dialect for Acp {
    fn name(&self) -> &'static str {
        "acp"
    }

    fn program(&self) -> Option<&'static str> {
        Some("acp")
    }

    fn needs_command(&self) -> bool {
        true
    }

    fn install_hint(&self) -> Option<&'static str> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stream: true,
            resume: true,
            chooses_session_id: true,
            stop_block: true,
            permissions: true,
            mcp: true,
            models: true,
            effort: true,
            usage: true,
            reports_model: true,
            cost: true,
            adoptable: true,
            // The agent decides what it asks for, and loads its own settings.
            enforcement: Enforcement { tools: Hold::Asked, ..Enforcement::default() },
            tools: tools::HAS,
            slash_commands: true,
            ..Capabilities::default()
        }
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
        launch::prepare(turn, paths, outside)
    }

    fn secret_files(&self) -> &'static [&'static str] {
        &[]
    }

    fn reader(&self) -> Box<dyn ReadLine> {
        Box::new(Conversation::default())
    }

    fn conversation(&self, notes: &[u8]) -> Box<dyn ReadLine> {
        Box::new(Conversation::with(serde_json::from_slice(notes).ok()))
    }

    fn read_hook(&self, event: &str, payload: &[u8]) -> HookKind {
        hook::read_hook(event, payload)
    }

    fn hook_folder(&self, _: &[u8]) -> Option<PathBuf> {
        None
    }

    fn cancel(&self, input: &[u8]) -> Vec<u8> {
        wire::cancel(input)
    }

    fn write_answer(&self, _: &str, _: &[u8], answer: &HookAnswer) -> Printed {
        hook::write_answer(answer)
    }
}
