//! Installs LangGraph and its SQLite saver into a separate Python environment in the cache.
//!
//! Only `bench steps` needs it, so the tests and `install` do not wait for this download. The script
//! `bench/langgraph.py` takes the measurements.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::agents::cache_folder;
use crate::cargo::{self, could_not_start, is_on_path};
use crate::say;

/// The packages with their exact versions.
const LOCK: &str = include_str!("../../../bench/langgraph.txt");

/// An environment in which `bench/langgraph.py` runs.
pub(crate) struct LangGraph {
    python: PathBuf,
}

impl LangGraph {
    /// Returns the environment and installs it if necessary, or returns why that failed.
    pub(crate) fn get() -> Result<LangGraph, String> {
        let cache = cache_folder().ok_or("neither WINDLASS_TEST_CACHE nor HOME is set")?;
        let folder = cache.join(format!("langgraph-{}", version().unwrap_or("unknown")));
        if !is_complete(&folder) {
            say::note(&format!("installing LangGraph into {}", folder.display()));
            install(&cache, &folder)?;
        }
        Ok(LangGraph { python: python(&folder) })
    }

    /// Returns the command that runs the script. `-E` ignores the person's Python variables.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.arg("-E").arg(cargo::root().join("bench/langgraph.py"));
        command
    }
}

/// Returns the version of LangGraph.
fn version() -> Option<&'static str> {
    LOCK.lines().find_map(|line| line.strip_prefix("langgraph=="))
}

fn python(folder: &Path) -> PathBuf {
    folder.join("bin/python")
}

/// Returns whether the install finished and has the current versions. The file `complete` is written last.
///
/// Also checks the Python, because it is a link to the system's Python, which may no longer exist.
fn is_complete(folder: &Path) -> bool {
    fs::read_to_string(folder.join("complete")).is_ok_and(|lock| lock == LOCK) && python(folder).is_file()
}

/// Installs into a temporary folder and renames it, so that a parallel install never sees half of it.
fn install(cache: &Path, folder: &Path) -> Result<(), String> {
    if !is_on_path("python3") {
        return Err("python3 is not installed".to_owned());
    }
    let place = cache.join(format!(".installing-langgraph-{}", std::process::id()));
    let outcome = fill(&place).and_then(|()| put_in_place(&place, folder));
    // After a rename the folder no longer exists.
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

/// Runs a command. If it fails, the error is the last line of its output.
fn succeed(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| could_not_start(command, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(reason(&String::from_utf8_lossy(&said)).unwrap_or_else(|| output.status.to_string()))
}

/// Returns the last line that is not blank. pip and venv end their output with the reason.
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
