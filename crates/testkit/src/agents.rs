//! Lists and finds the agent CLIs of the tests.
//!
//! The list is `agents.txt`. `cargo xtask test` reads it too, and installs them.

use std::env;
use std::path::PathBuf;

use crate::programs::{cache_folder, is_quick};

const LIST: &str = include_str!("agents.txt");

/// An agent CLI at its pinned version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    /// The program: `codex`.
    pub name: &'static str,
    /// Its package in the npm registry.
    pub package: &'static str,
    pub version: &'static str,
}

impl Agent {
    /// Returns an agent of the list. Panics for an unknown name.
    #[track_caller]
    pub fn named(name: &str) -> Agent {
        let found = all().find(|agent| agent.name == name);
        found.unwrap_or_else(|| panic!("no agent CLI of the tests is named `{name}`"))
    }

    /// Returns the program: `WINDLASS_TEST_CODEX` for `codex`, or the one in the cache folder.
    pub fn bin(self) -> Option<PathBuf> {
        if is_quick() {
            return None;
        }
        if let Some(path) = env::var_os(format!("WINDLASS_TEST_{}", self.name.to_uppercase())) {
            return Some(PathBuf::from(path)).filter(|path| path.is_file());
        }
        let package = self.package.rsplit('/').next().unwrap_or(self.package);
        let folder = cache_folder()?.join(format!("{package}-{}", self.version));
        let bin = folder.join("node_modules/.bin").join(self.name);
        (folder.join("complete").is_file() && bin.is_file()).then_some(bin)
    }

    /// Returns the reason why [`bin`](Agent::bin) found nothing.
    pub fn why_not(self) -> String {
        if is_quick() {
            return "left out by --quick".to_owned();
        }
        format!("{} {} is not installed; `cargo xtask test` does it", self.name, self.version)
    }
}

/// Returns the whole list.
pub fn all() -> impl Iterator<Item = Agent> {
    LIST.lines().filter_map(|line| {
        let mut words = line.split_whitespace().filter(|_| !line.starts_with('#'));
        Some(Agent { name: words.next()?, package: words.next()?, version: words.next()? })
    })
}

/// Returns the path of a real agent CLI, or skips the test.
#[macro_export]
macro_rules! require_agent {
    ($name:expr) => {{
        let agent = $crate::agents::Agent::named($name);
        match agent.bin() {
            Some(path) => path,
            None => $crate::skip!("{}", agent.why_not()),
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_pinned_to_three_numbers() {
        assert_eq!(all().count(), 5);
        for agent in all() {
            let numbers = agent.version.split('.').filter(|part| part.parse::<u32>().is_ok()).count();
            assert_eq!(numbers, 3, "{agent:?}");
        }
    }

    #[test]
    fn a_cli_is_known_by_its_program() {
        assert_eq!(Agent::named("claude").package, "@anthropic-ai/claude-code");
    }
}
