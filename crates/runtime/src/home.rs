//! The paths and settings that all runs of a process share.
//!
//! The face reads the environment and passes it in as values.

use std::fs::File;
use std::io::{self, BufWriter};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use windlass_peers::agent::Agents;
use windlass_peers::files::{self, FileError, FileMode};
use windlass_store::RunFolders;

use crate::crash::CrashCounter;
use crate::os;

/// The paths of a user, and the environment for children.
#[derive(Debug, Clone)]
pub struct Home {
    /// `$XDG_STATE_HOME/windlass`: database, runs, sockets.
    pub state: PathBuf,
    /// `$XDG_CONFIG_HOME/windlass`: the user's settings.
    pub config: PathBuf,
    /// The user's home folder, where agent CLIs keep their files.
    pub user: PathBuf,
    /// A folder for sockets whose path would be too long.
    pub temp: PathBuf,
    /// The environment that children may inherit.
    pub env: Vec<(String, String)>,
    /// The agent CLIs that a run may use.
    pub agents: Agents,
    /// The Windlass binary, if this process is another program.
    pub binary: Option<PathBuf>,
    /// The name of this machine.
    pub machine: String,
    /// The point at which a crash test kills this process.
    pub crash: CrashCounter,
}

impl Home {
    /// Returns an environment variable.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the path of the folder that contains the folders of all runs, if it is text.
    pub(crate) fn runs_folder(&self) -> Option<String> {
        RunFolders::below(&self.state).all().to_str().map(str::to_owned)
    }

    /// Returns the environment variables for crash tests, the only ones that a host gets.
    pub(crate) fn crash_env(&self) -> Vec<(String, String)> {
        let tests =
            |(name, _): &&(String, String)| name == "WINDLASS_CRASH_AT" || name == "WINDLASS_CRASH_MARK";
        self.env.iter().filter(tests).cloned().collect()
    }

    /// Returns the binary for the hooks and hosts of runs, and creates it if needed. It is a hard link or
    /// copy that an upgrade does not touch, in a folder named after the build.
    pub fn pinned_binary(&self) -> io::Result<PathBuf> {
        if let Some(binary) = &self.binary {
            return Ok(binary.clone());
        }
        let own = os::own_program()?;
        let pinned = self.pinned_path()?;
        if pinned.exists() {
            return Ok(pinned);
        }
        let dir = pinned.parent().unwrap_or(&self.state);
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        place(&own, dir, &pinned)?;
        Ok(pinned)
    }

    /// Returns the path of that binary for this build, which need not exist.
    pub(crate) fn pinned_path(&self) -> io::Result<PathBuf> {
        let meta = os::own_program_metadata()?;
        let build =
            format!("{}-{:x}-{:x}", env!("CARGO_PKG_VERSION"), meta.len(), meta.mtime_nsec() ^ meta.mtime());
        Ok(self.state.join("bin").join(build).join("windlass"))
    }
}

/// Links the binary, or copies it to a draft and renames that, so that no process ever sees half a binary.
fn place(own: &Path, dir: &Path, pinned: &Path) -> io::Result<()> {
    match std::fs::hard_link(own, pinned) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(_) => {}
    }
    files::clear_dead(dir);
    let copy = |out: &mut BufWriter<&File>| io::copy(&mut os::open_own_program()?, out).map(drop);
    files::create_spare(dir, pinned, FileMode::Program, copy).map(drop).map_err(|error| match error {
        FileError::Io { source, .. } => source,
        other => io::Error::other(other),
    })
}
