//! OpenCode, headless: `opencode run --format json` with a plugin of Windlass.
//!
//! The plugin asks the run before each tool. In a session that is kept from stopping it also works on the prompt
//! itself, because `opencode run` ends when its session is idle.

mod hook;
mod judge;
mod launch;
mod parse;
mod schema;
mod settings;
mod tools;

use std::path::{Path, PathBuf};

use windlass_core::event::SessionVerdict;
use windlass_core::hook::{HookAnswer, HookKind};

use super::dialect::{Dialect, Printed, ReadLine};
use super::transcript::{ProcessEnd, Transcript};
use super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::{Capabilities, Enforcement, Hold};

#[derive(Debug)]
pub(super) struct Opencode;

impl Dialect for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn program(&self) -> Option<&'static str> {
        Some("opencode")
    }

    fn install_hint(&self) -> Option<&'static str> {
        Some("npm install -g opencode-ai")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stream: true,
            resume: true,
            chooses_session_id: true,
            hooks: &[hook::TOOL, hook::STOP],
            stop_block: true,
            silent_stop: false,
            permissions: true,
            mcp: true,
            models: true,
            model_names: &["*/*"],
            effort: true,
            usage: true,
            reports_model: true,
            cost: true,
            adoptable: true,
            enforcement: Enforcement {
                tools: Hold::Enforced,
                settings: Hold::Enforced,
                ..Enforcement::default()
            },
            tools: tools::HAS,
            ..Capabilities::default()
        }
    }

    fn user_settings(&self, home: &Path, env: &[(String, String)]) -> Option<PathBuf> {
        if let Some((_, file)) = env.iter().find(|(name, file)| name == "OPENCODE_CONFIG" && !file.is_empty())
        {
            return Some(PathBuf::from(file));
        }
        let folder = settings_folder(home, env);
        let files = ["opencode.jsonc", "opencode.json"].map(|name| folder.join(name));
        files.into_iter().find(|file| file.is_file())
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
        &[launch::PROVIDERS]
    }

    fn reader(&self) -> Box<dyn ReadLine> {
        Box::new(parse::OpencodeReader::default())
    }

    fn read_hook(&self, event: &str, payload: &[u8]) -> HookKind {
        hook::read_hook(event, payload)
    }

    fn hook_folder(&self, payload: &[u8]) -> Option<PathBuf> {
        hook::read_cwd(payload)
    }

    fn write_answer(&self, event: &str, _payload: &[u8], answer: &HookAnswer) -> Printed {
        hook::write_answer(event, answer)
    }

    fn judge(&self, transcript: &Transcript, over: ProcessEnd<'_>, stderr: &str) -> SessionVerdict {
        judge::judge(transcript, over, stderr)
    }
}

/// Returns the folder with the user's own settings of OpenCode.
fn settings_folder(home: &Path, env: &[(String, String)]) -> PathBuf {
    let moved = env.iter().find(|(name, dir)| name == "XDG_CONFIG_HOME" && !dir.is_empty());
    moved.map_or_else(|| home.join(".config"), |(_, dir)| PathBuf::from(dir)).join("opencode")
}
