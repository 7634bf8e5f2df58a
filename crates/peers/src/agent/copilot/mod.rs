//! GitHub Copilot CLI, headless: a prompt on standard input and `--output-format json`.

mod home;
mod hook;
mod judge;
mod launch;
mod parse;
mod patch;
mod plugin;
mod provider;
mod tools;
mod unpacked;
mod usage;

use std::path::{Path, PathBuf};

use windlass_core::event::SessionVerdict;
use windlass_core::hook::{HookAnswer, HookKind};
use windlass_core::usage::ModelUsage;

use super::dialect::{Dialect, Printed, ReadLine};
use super::transcript::{ProcessEnd, Transcript};
use super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::{Capabilities, Enforcement, Hold};

#[derive(Debug)]
pub(super) struct Copilot;

impl Dialect for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn program(&self) -> Option<&'static str> {
        Some("copilot")
    }

    fn install_hint(&self) -> Option<&'static str> {
        Some("npm install -g @github/copilot")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stream: true,
            resume: true,
            hooks: &[hook::TOOL, hook::STOP],
            stop_block: true,
            silent_stop: true,
            permissions: true,
            mcp: true,
            models: true,
            model_names: &["gpt-*"],
            effort: true,
            usage: true,
            reports_model: true,
            adoptable: true,
            enforcement: Enforcement {
                tools: Hold::Enforced,
                settings: Hold::Enforced,
                shell_writes: Hold::ByKernel,
                ..Enforcement::default()
            },
            tools: tools::HAS,
            ..Capabilities::default()
        }
    }

    fn user_settings(&self, home: &Path, env: &[(String, String)]) -> Option<PathBuf> {
        Some(home::users(Some(home), env)?.join(home::LOGIN))
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
        home::SECRETS
    }

    fn reader(&self) -> Box<dyn ReadLine> {
        Box::new(parse::CopilotReader::default())
    }

    fn read_hook(&self, event: &str, payload: &[u8]) -> HookKind {
        hook::read_hook(event, payload)
    }

    fn hook_folder(&self, payload: &[u8]) -> Option<PathBuf> {
        hook::read_cwd(payload)
    }

    fn write_answer(&self, event: &str, _: &[u8], answer: &HookAnswer) -> Printed {
        hook::write_answer(event, answer)
    }

    fn judge(&self, transcript: &Transcript, over: ProcessEnd<'_>, stderr: &str) -> SessionVerdict {
        judge::judge(transcript, over, stderr)
    }

    fn conversation_usage(&self, dir: &Path) -> Option<Vec<ModelUsage>> {
        usage::read(&dir.join(usage::FILE))
    }
}
