//! Finds an agent CLI and asks it for its version.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::{ShortEnv, ShortProgram, SpawnError, run_short};

/// An error from probing a CLI.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error(transparent)]
    Start(#[from] SpawnError),
    /// The program did not print its version in time.
    #[error("`{program} --version` did not finish within {limit:?}", program = program.display())]
    Silent { program: PathBuf, limit: Duration },
    #[error("`{program} --version` {how}: {said}", program = program.display())]
    Failed {
        program: PathBuf,
        how: String,
        /// The standard error of the program.
        said: String,
    },
}

const LIMIT: Duration = Duration::from_secs(10);

/// Returns the version that a program reports. `env` are variables for it.
pub fn probe(program: &Path, env: &[(&str, &str)]) -> Result<String, ProbeError> {
    let args: &[&OsStr] = &[OsStr::new("--version")];
    let with: Vec<(&str, &str)> = [("DISABLE_AUTOUPDATER", "1")].iter().chain(env).copied().collect();
    let output = run_short(&ShortProgram {
        program,
        args,
        cwd: Path::new("/"),
        env: ShortEnv::Inherit { without: &["CLAUDECODE"], but: &[], with: &with },
        deadline: LIMIT,
        max_output: 4096,
    })?;
    if output.timed_out {
        return Err(ProbeError::Silent { program: program.to_owned(), limit: LIMIT });
    }
    if !output.succeeded() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let how = output.code.map_or("was killed".to_owned(), |code| format!("ended with code {code}"));
        return Err(ProbeError::Failed { program: program.to_owned(), how, said });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Finds a program: a name on the given `PATH`, or any path with a slash relative to `cwd`.
pub fn find_program(name: &str, path: &str, cwd: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(cwd.join(name)).filter(|candidate| is_program(candidate));
    }
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).find(|candidate| is_program(candidate))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
        let path = dir.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_cli_is_found_on_the_path_and_says_its_version() {
        let dir = tempfile::tempdir().unwrap();
        let program = script(dir.path(), "claude", "echo '2.1.325 (Claude Code)'");
        let path = format!("relative:/nowhere:{}", dir.path().display());
        assert_eq!(find_program("claude", &path, Path::new("/")), Some(program.clone()));
        assert_eq!(find_program("./claude", "", dir.path()), Some(dir.path().join("./claude")));
        assert_eq!(find_program("codex", &path, Path::new("/")), None);
        assert_eq!(probe(&program, &[]).unwrap(), "2.1.325 (Claude Code)");
    }

    #[test]
    fn a_broken_cli_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let program = script(dir.path(), "claude", "echo 'needs node 22' >&2; exit 1");
        let error = probe(&program, &[]).unwrap_err();
        assert!(error.to_string().ends_with("ended with code 1: needs node 22"), "{error}");
    }
}
