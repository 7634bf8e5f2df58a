//! Installs the agent CLIs for the tests, each at a pinned version, in a cache outside the tree.
//!
//! The installs run in parallel, because npm waits for the network most of the time. If an install
//! fails, this prints the reason, and the tests that need that CLI are skipped.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::cargo::is_on_path;
use crate::say;

/// The pinned versions. The tests read the same file.
const LIST: &str = include_str!("../../crates/testkit/src/agents.txt");

/// One line of [`LIST`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Agent {
    name: &'static str,
    package: &'static str,
    version: &'static str,
}

/// Installs the missing CLIs. Returns the environment variable and the path of each CLI that is available.
pub(crate) fn install() -> Vec<(String, PathBuf)> {
    let agents: Vec<Agent> = list().collect();
    let missing: Vec<String> =
        agents.iter().filter(|agent| !agent.is_there()).map(|agent| agent.to_string()).collect();
    if !missing.is_empty() {
        let into = cache_folder().unwrap_or_default();
        say::step(&format!("installing into {}: {}", into.display(), missing.join(", ")));
    }
    let found: Vec<Result<PathBuf, String>> = thread::scope(|scope| {
        let started: Vec<_> = agents.iter().map(|agent| scope.spawn(|| agent.get())).collect();
        let ended = started.into_iter().map(thread::ScopedJoinHandle::join);
        ended.map(|outcome| outcome.unwrap_or_else(|_| Err("the install panicked".to_owned()))).collect()
    });
    let paired = agents.iter().zip(found);
    paired.filter_map(|(agent, outcome)| Some((agent.variable(), agent.told(outcome)?))).collect()
}

fn list() -> impl Iterator<Item = Agent> {
    LIST.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_whitespace();
        Some(Agent { name: words.next()?, package: words.next()?, version: words.next()? })
    })
}

impl Agent {
    /// Returns the variable that holds the path of the program. A person can set it to use another program.
    fn variable(self) -> String {
        format!("WINDLASS_TEST_{}", self.name.to_uppercase())
    }

    fn folder(self, cache: &Path) -> PathBuf {
        let package = self.package.rsplit('/').next().unwrap_or(self.package);
        cache.join(format!("{package}-{}", self.version))
    }

    fn bin(self, folder: &Path) -> PathBuf {
        folder.join("node_modules/.bin").join(self.name)
    }

    fn is_there(self) -> bool {
        let installed = cache_folder().is_some_and(|cache| is_complete(&self.folder(&cache)));
        installed || env::var_os(self.variable()).is_some()
    }

    /// Returns the path of the program and installs it if necessary, or returns why that failed.
    fn get(self) -> Result<PathBuf, String> {
        if let Some(path) = env::var_os(self.variable()) {
            return Ok(PathBuf::from(path));
        }
        let cache = cache_folder().ok_or("neither WINDLASS_TEST_CACHE nor HOME is set")?;
        let folder = self.folder(&cache);
        if !is_complete(&folder) {
            let begun = Instant::now();
            self.install(&cache, &folder)?;
            say::note(&format!("{self}: {:.1} s", begun.elapsed().as_secs_f64()));
        }
        Ok(self.bin(&folder))
    }

    fn told(self, outcome: Result<PathBuf, String>) -> Option<PathBuf> {
        let missing = |why: &String| say::note(&format!("no {self} ({why}); skipping tests that need it"));
        outcome.inspect_err(missing).ok()
    }

    /// Installs into a temporary folder and renames it, so that a parallel install never sees half of it.
    fn install(self, cache: &Path, folder: &Path) -> Result<(), String> {
        if !is_on_path("npm") {
            return Err("npm is not installed".to_owned());
        }
        let place = cache.join(format!(".installing-{}-{}", self.name, std::process::id()));
        let outcome = self.npm_install(&place).and_then(|()| self.put_in_place(&place, folder));
        // After a rename the folder no longer exists.
        let _ = fs::remove_dir_all(&place);
        outcome
    }

    fn npm_install(self, place: &Path) -> Result<(), String> {
        fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
        let output = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
            .arg(place)
            .arg(format!("{}@{}", self.package, self.version))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("npm: {error}"))?;
        match output.status.success() {
            true => self.check_version(place),
            false => Err(format!("npm: {}", first_lines(&output.stderr))),
        }
    }

    /// Starts the CLI and compares its version.
    ///
    /// Uses an empty home, because some CLIs unpack files into it on their first start.
    fn check_version(self, place: &Path) -> Result<(), String> {
        let home = place.join("home");
        fs::create_dir_all(&home).map_err(|error| format!("{}: {error}", home.display()))?;
        let mut command = Command::new(self.bin(place));
        command.arg("--version").env("HOME", &home).current_dir(&home).stdin(Stdio::null());
        let output = command.output().map_err(|error| format!("could not start the installed CLI: {error}"));
        let _ = fs::remove_dir_all(&home);
        let said = String::from_utf8_lossy(&output?.stdout).into_owned();
        match said.contains(self.version) {
            true => Ok(()),
            false => Err(format!("the installed CLI reports version `{}`", said.trim())),
        }
    }

    fn put_in_place(self, place: &Path, folder: &Path) -> Result<(), String> {
        fs::write(place.join("complete"), self.version).map_err(|error| error.to_string())?;
        if is_complete(folder) {
            return Ok(());
        }
        let _ = fs::remove_dir_all(folder);
        fs::rename(place, folder).map_err(|error| format!("{}: {error}", folder.display()))
    }
}

impl std::fmt::Display for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

/// Returns whether the install finished. The file `complete` is written last.
fn is_complete(folder: &Path) -> bool {
    folder.join("complete").is_file()
}

/// Returns the first lines of npm's output: the code and the reason. Advice and the path of a log follow.
fn first_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let said = text.lines().map(|line| line.trim_start_matches("npm error").trim());
    said.filter(|line| !line.is_empty()).take(3).collect::<Vec<_>>().join(" | ")
}

/// Returns the cache for downloads of tests and benches. It is outside the tree.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("WINDLASS_TEST_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("windlass-tests")))
        .or_else(|| Some(set("HOME")?.join(".cache/windlass-tests")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_is_a_program_its_package_and_its_version() {
        let codex = list().find(|agent| agent.name == "codex").map(|agent| agent.package);
        assert_eq!(codex, Some("@openai/codex"));
        assert_eq!(list().count(), 5);
    }

    #[test]
    fn each_version_has_a_folder_of_its_own() {
        let agent = Agent { name: "gemini", package: "@google/gemini-cli", version: "1.2.3" };
        assert_eq!(agent.folder(Path::new("/cache")), Path::new("/cache/gemini-cli-1.2.3"));
        assert_eq!(agent.variable(), "WINDLASS_TEST_GEMINI");
    }
}
