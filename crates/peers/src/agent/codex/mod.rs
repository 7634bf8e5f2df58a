//! Codex CLI, headless: `codex exec --json`.

mod hook;
mod launch;
mod parse;
mod patch;
mod project;
mod schema;
mod settings;
mod tools;

use std::path::{Path, PathBuf};

use windlass_core::hook::{HookAnswer, HookKind};

use super::dialect::{Dialect, LoginPlaces, Printed, ReadLine};
use super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::{Capabilities, Enforcement, Hold};

#[derive(Debug)]
pub(super) struct Codex;

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn program(&self) -> Option<&'static str> {
        Some("codex")
    }

    fn install_hint(&self) -> Option<&'static str> {
        Some("npm install -g @openai/codex")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stream: true,
            resume: true,
            chooses_session_id: true,
            hooks: &[hook::TOOL, hook::STOP],
            stop_block: true,
            permissions: true,
            questions: true,
            mcp: true,
            models: true,
            model_names: &["gpt-*", "o3*", "o4*", "codex-*"],
            effort: true,
            usage: true,
            adoptable: true,
            enforcement: Enforcement {
                tools: Hold::Enforced,
                settings: Hold::Enforced,
                shell_writes: Hold::Enforced,
                shell_network: Hold::Enforced,
            },
            schema: true,
            tools: tools::HAS,
            ..Capabilities::default()
        }
    }

    fn user_settings(&self, home: &Path, env: &[(String, String)]) -> Option<PathBuf> {
        Some(launch::user_folder(home, env).join("config.toml"))
    }

    fn login_places(&self, home: &Path, env: &[(String, String)]) -> LoginPlaces {
        LoginPlaces {
            variables: &["CODEX_API_KEY"],
            files: vec![launch::user_folder(home, env).join(launch::LOGIN)],
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
        Box::new(parse::CodexReader::default())
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
