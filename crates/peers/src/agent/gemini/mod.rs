//! Gemini CLI, headless: `--output-format stream-json`.

mod home;
mod hook;
mod jsonc;
mod judge;
mod launch;
mod parse;
mod policy;
mod schema;
mod settings;
mod tools;
mod trust;

use std::path::{Path, PathBuf};

use windlass_core::event::SessionVerdict;
use windlass_core::hook::{HookAnswer, HookKind};

use super::dialect::{Dialect, LoginPlaces, Printed, ReadLine};
use super::transcript::{ProcessEnd, Transcript};
use super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};
use super::{Capabilities, Enforcement, Hold};

#[derive(Debug)]
pub(super) struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn program(&self) -> Option<&'static str> {
        Some("gemini")
    }

    fn install_hint(&self) -> Option<&'static str> {
        Some("npm install -g @google/gemini-cli")
    }

    fn version_env(&self) -> &'static [(&'static str, &'static str)] {
        // A home in which no file can be.
        &[(home::VARIABLE, "/dev/null"), ("GEMINI_CLI_NO_RELAUNCH", "true")]
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stream: true,
            resume: true,
            hooks: &[hook::TOOL, hook::STOP],
            stop_block: true,
            permissions: true,
            mcp: true,
            models: true,
            model_names: &["gemini-*"],
            usage: true,
            reports_model: true,
            adoptable: true,
            // Its own sandbox needs a container.
            enforcement: Enforcement {
                tools: Hold::Enforced,
                settings: Hold::Enforced,
                shell_writes: Hold::ByKernel,
                shell_network: Hold::Impossible,
            },
            tools: tools::HAS,
            slash_commands: true,
            reads_mentions: true,
            ..Capabilities::default()
        }
    }

    fn user_settings(&self, home: &Path, env: &[(String, String)]) -> Option<PathBuf> {
        Some(user_folder(home, env).join("settings.json"))
    }

    fn login_places(&self, home: &Path, env: &[(String, String)]) -> LoginPlaces {
        LoginPlaces {
            variables: &["GEMINI_API_KEY"],
            files: vec![user_folder(home, env).join("oauth_creds.json")],
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
        Box::new(parse::GeminiReader::default())
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

/// Returns the folder with the user's settings and login.
fn user_folder(home: &Path, env: &[(String, String)]) -> PathBuf {
    let moved = home::moved(env).map_or_else(|| home.to_owned(), PathBuf::from);
    moved.join(home::FOLDER)
}
