//! A temporary folder that only this user can read, for what a command plays by itself.
//!
//! The command removes it. If the command is killed, the next one that makes such a folder removes it.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use windlass_runtime::demo::{RunningDemo, mark, remove_stale};

use super::report::{Report, warn};
use crate::exit::Exit;

/// A temporary folder in use.
pub(super) struct TemporaryFolder {
    dir: PathBuf,
    _in_use: Option<RunningDemo>,
}

impl TemporaryFolder {
    /// Creates a new folder, and removes those of killed commands.
    pub(super) fn build(temp: &Path, prefix: &str) -> Result<TemporaryFolder, Report> {
        let dir = fresh(temp, prefix)?;
        // The next command removes marked folders.
        let in_use = mark(&dir).map_err(|error| unwritable(&dir, &error))?;
        Ok(TemporaryFolder { dir, _in_use: Some(in_use) })
    }

    /// Creates a folder that nobody removes.
    pub(super) fn build_to_keep(temp: &Path, prefix: &str) -> Result<TemporaryFolder, Report> {
        Ok(TemporaryFolder { dir: fresh(temp, prefix)?, _in_use: None })
    }

    pub(super) fn path(&self) -> &Path {
        &self.dir
    }

    pub(super) fn remove(self) {
        if let Err(error) = std::fs::remove_dir_all(&self.dir) {
            warn(&format!("cannot remove {}: {error}", self.dir.display()));
        }
    }
}

fn fresh(temp: &Path, prefix: &str) -> Result<PathBuf, Report> {
    let temp = temp.canonicalize().map_err(|error| unwritable(temp, &error))?;
    remove_stale(&temp);
    let name = |number: u32| temp.join(format!("{prefix}{}-{number}", std::process::id()));
    let Some(dir) = (0..1000).map(name).find(|dir| !dir.exists()) else {
        let text = format!("{} is full of folders `{prefix}…`", temp.display());
        return Err(Report::new(Exit::Configuration, text));
    };
    make_private(&dir)?;
    Ok(dir)
}

/// Creates a folder. Fails if it exists, because somebody else may have prepared it.
pub(super) fn make_private(dir: &Path) -> Result<(), Report> {
    DirBuilder::new().mode(0o700).create(dir).map_err(|error| unwritable(dir, &error))
}

fn unwritable(dir: &Path, error: &std::io::Error) -> Report {
    Report::new(Exit::Configuration, format!("cannot create the folder {}", dir.display()))
        .caused_by(error)
        .hint("set TMPDIR to a folder that can be written")
}
