//! The rehearsal agent, which is in the Windlass binary and speaks Claude Code's format.

use std::path::{Path, PathBuf};

use windlass_core::hook::{Answer, HookKind};

use super::Capabilities;
use super::claude::Claude;
use super::dialect::{Dialect, Outside, Paths, Prepared, Printed, ReadLine, Turn};

/// The rehearsal agent.
#[derive(Debug)]
pub(super) struct Sim;

impl Dialect for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn program(&self) -> Option<&'static str> {
        None
    }

    fn install_hint(&self) -> Option<&'static str> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            fork: false,
            budget: false,
            slash_commands: false,
            reads_mentions: false,
            ..Claude.capabilities()
        }
    }

    fn user_settings(&self, home: &Path, env: &[(String, String)]) -> Option<PathBuf> {
        Claude.user_settings(home, env)
    }

    fn prepare(&self, turn: &Turn<'_>, paths: &Paths<'_>, outside: &Outside<'_>) -> Prepared {
        let mut prepared = Claude.prepare(turn, paths, outside);
        let argv = &mut prepared.launch.argv;
        argv.insert(argv.len().min(1), "sim".to_owned());
        prepared
    }

    fn secret_files(&self) -> &'static [&'static str] {
        Claude.secret_files()
    }

    fn reader(&self) -> Box<dyn ReadLine> {
        Claude.reader()
    }

    fn read_hook(&self, event: &str, payload: &[u8]) -> HookKind {
        Claude.read_hook(event, payload)
    }

    fn hook_folder(&self, payload: &[u8]) -> Option<PathBuf> {
        Claude.hook_folder(payload)
    }

    fn write_answer(&self, event: &str, answer: &Answer) -> Printed {
        Claude.write_answer(event, answer)
    }
}
