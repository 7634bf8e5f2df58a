//! The simulated agent, which is part of the Windlass binary. It supports Claude Code's format and its
//! own.
//!
//! `WINDLASS_SIM_FORMAT=plain` starts a session in its own format ([`plain`]). The reader recognises the
//! format of each line and hook call, so it reads transcripts of both.

mod plain;

use std::path::{Path, PathBuf};

use windlass_core::agent::AgentEvent;
use windlass_core::hook::{HookAnswer, HookKind};
use windlass_core::time::Moment;

use super::Capabilities;
use super::claude::Claude;
use super::dialect::{Dialect, Printed, ReadLine};
use super::turn::{Prepared, TurnPaths, TurnRequest, UserEnvironment};

/// Selects the format of new sessions.
const FORMAT: &str = "WINDLASS_SIM_FORMAT";

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
            model_names: &["*"],
            budget: false,
            slash_commands: false,
            reads_mentions: false,
            ..Claude.capabilities()
        }
    }

    fn user_settings(&self, home: &Path, env: &[(String, String)]) -> Option<PathBuf> {
        Claude.user_settings(home, env)
    }

    fn prepare(
        &self,
        turn: &TurnRequest<'_>,
        paths: &TurnPaths<'_>,
        outside: &UserEnvironment<'_>,
    ) -> Prepared {
        if outside.env.iter().any(|(name, format)| name == FORMAT && format == "plain") {
            return plain::prepare(turn, paths, outside);
        }
        let mut prepared = Claude.prepare(turn, paths, outside);
        let argv = &mut prepared.launch.argv;
        argv.insert(argv.len().min(1), "sim".to_owned());
        prepared
    }

    fn secret_files(&self) -> &'static [&'static str] {
        Claude.secret_files()
    }

    fn reader(&self) -> Box<dyn ReadLine> {
        Box::new(SimReader { claude: Claude.reader() })
    }

    fn read_hook(&self, event: &str, payload: &[u8]) -> HookKind {
        match event {
            plain::TOOL | plain::STOP => plain::read_hook(event, payload),
            _ => Claude.read_hook(event, payload),
        }
    }

    fn hook_folder(&self, payload: &[u8]) -> Option<PathBuf> {
        // Both formats use the key `cwd`.
        Claude.hook_folder(payload)
    }

    fn write_answer(&self, event: &str, payload: &[u8], answer: &HookAnswer) -> Printed {
        match event {
            plain::TOOL | plain::STOP => plain::write_answer(event, answer),
            _ => Claude.write_answer(event, payload, answer),
        }
    }
}

/// A reader for lines of both formats.
#[derive(Debug)]
struct SimReader {
    claude: Box<dyn ReadLine>,
}

impl ReadLine for SimReader {
    fn read_line(&mut self, line: &str, out: &mut Vec<AgentEvent>) -> Result<(), String> {
        match plain::read_line(line)? {
            Some(event) => {
                out.push(event);
                Ok(())
            }
            None => self.claude.read_line(line, out),
        }
    }

    fn time(&self, line: &str) -> Option<Moment> {
        self.claude.time(line)
    }

    fn write_reply(&mut self, request: &str, answer: &str) -> Vec<u8> {
        self.claude.write_reply(request, answer)
    }
}
