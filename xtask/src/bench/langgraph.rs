//! LangGraph with its SQLite saver, in a Python environment of its own beside the agent CLIs.
//!
//! Only `bench steps` asks for it, so neither the tests nor `install` wait for a download. What
//! it measures of itself is `bench/langgraph.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::agents::cache_folder;
use crate::cargo::{self, could_not_start, is_on_path};
use crate::say;

/// Every package with its exact version.
const LOCK: &str = include_str!("../../../bench/langgraph.txt");

/// An environment in which `bench/langgraph.py` runs.
pub(crate) struct LangGraph {
    python: PathBuf,
}

impl LangGraph {
    /// Installed once; or why it cannot be had.
    pub(crate) fn get() -> Result<LangGraph, String> {
        let cache = cache_folder().ok_or("neither WINDLASS_TEST_CACHE nor HOME is set")?;
        let folder = cache.join(format!("langgraph-{}", version().unwrap_or("unknown")));
        if !is_complete(&folder) {
            say::note(&format!("installing LangGraph into {}", folder.display()));
            install(&cache, &folder)?;
        }
        Ok(LangGraph { python: python(&folder) })
    }

    /// The script with these words. Nothing of a person's own Python gets into it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.arg("-E").arg(cargo::root().join("bench/langgraph.py"));
        command
    }
}

/// The version of LangGraph itself.
fn version() -> Option<&'static str> {
    LOCK.lines().find_map(|line| line.strip_prefix("langgraph=="))
}

fn python(folder: &Path) -> PathBuf {
    folder.join("bin/python")
}

/// The lock is written last, so an interrupted install is seen, and so is one of other versions.
/// The Python is a link to the system's, which may have gone.
fn is_complete(folder: &Path) -> bool {
    fs::read_to_string(folder.join("complete")).is_ok_and(|lock| lock == LOCK) && python(folder).is_file()
}

/// Beside its place first, then renamed: two at once do not see each other's halves.
fn install(cache: &Path, folder: &Path) -> Result<(), String> {
    if !is_on_path("python3") {
        return Err("python3 is not installed".to_owned());
    }
    let place = cache.join(format!(".installing-langgraph-{}", std::process::id()));
    let outcome = fill(&place).and_then(|()| put_in_place(&place, folder));
    // Nothing is left there when it was renamed.
    let _ = fs::remove_dir_all(&place);
    outcome
}

fn fill(place: &Path) -> Result<(), String> {
    fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
    succeed(Command::new("python3").args(["-m", "venv"]).arg(place))?;
    let lock = place.join("lock.txt");
    fs::write(&lock, LOCK).map_err(|error| format!("{}: {error}", lock.display()))?;
    let pip =
        ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--requirement"];
    succeed(Command::new(python(place)).args(pip).arg(&lock))
}

fn put_in_place(place: &Path, folder: &Path) -> Result<(), String> {
    fs::write(place.join("complete"), LOCK).map_err(|error| error.to_string())?;
    if is_complete(folder) {
        return Ok(());
    }
    let _ = fs::remove_dir_all(folder);
    fs::rename(place, folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Runs it; if it fails, the last line it said is the reason.
fn succeed(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| could_not_start(command, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(reason(&String::from_utf8_lossy(&said)).unwrap_or_else(|| output.status.to_string()))
}

/// pip ends with what was wrong; venv too, after a line without content.
fn reason(said: &str) -> Option<String> {
    said.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_an_exact_version() {
        let packages: Vec<&str> = LOCK.lines().filter(|line| !line.starts_with('#')).collect();
        let loose: Vec<&&str> = packages.iter().filter(|line| !line.contains("==")).collect();
        assert_eq!(loose, Vec::<&&str>::new());
        assert!(packages.iter().any(|line| line.starts_with("langgraph-checkpoint-sqlite==")));
        assert!(version().is_some());
    }

    #[test]
    fn the_last_words_of_a_failed_install_are_the_reason() {
        let said = "Collecting x\nERROR: No matching distribution found for x==1\n\n";
        assert_eq!(reason(said).as_deref(), Some("ERROR: No matching distribution found for x==1"));
        assert_eq!(reason("\n"), None);
    }
}
