//! The files of a child's folder, as its host reads and writes them.
//!
//! `core::launch` defines names and formats. The engine creates the folder and `launch.json`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::fs::{FlockOperation, flock};
use windlass_core::launch::{ExitFile, LAUNCH_VERSION, Launch, files};

use super::input::OpenInput;

const PRIVATE: u32 = 0o600;
/// The size limit of a launch file. It has arguments and an environment, and the kernel accepts only a few
/// megabytes of them.
const LARGEST_LAUNCH: u64 = 16 << 20;

/// A child's folder.
pub(super) struct ChildFolder {
    path: PathBuf,
}

/// The lock on a child's folder, held while the host or its guard is alive. Children do not inherit it.
pub(super) struct HostLock {
    file: File,
}

impl HostLock {
    /// Writes the process id of the host into the lock file.
    pub(super) fn sign(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.write_all(std::process::id().to_string().as_bytes())
    }
}

/// The standard streams of the child.
pub(super) struct Streams {
    pub(super) stdin: Stdio,
    pub(super) stdout: File,
    pub(super) stderr: File,
    /// The host's side of a standard input that stays open.
    pub(super) input: Option<OpenInput>,
}

impl ChildFolder {
    pub(super) fn new(path: PathBuf) -> ChildFolder {
        ChildFolder { path }
    }

    /// Takes the lock. Returns `None` if another host has it.
    pub(super) fn lock(&self) -> io::Result<Option<HostLock>> {
        let file = private().create(true).truncate(false).write(true).open(self.file(files::LOCK))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        Ok(Some(HostLock { file }))
    }

    pub(super) fn has_ended(&self) -> bool {
        self.file(files::EXIT).exists()
    }

    pub(super) fn has_started(&self) -> bool {
        self.file(files::STARTED).exists()
    }

    /// Reads the launch file, or returns the reason why it cannot be used.
    pub(super) fn read_launch(&self) -> Result<Launch, String> {
        let text = read_bounded(&self.file(files::LAUNCH))
            .map_err(|error| format!("{} could not be read: {error}", files::LAUNCH))?;
        let launch: Launch = serde_json::from_slice(&text)
            .map_err(|error| format!("{} cannot be parsed: {error}", files::LAUNCH))?;
        if launch.v != LAUNCH_VERSION {
            return Err(format!(
                "{} has version {}, this host knows {LAUNCH_VERSION}",
                files::LAUNCH,
                launch.v
            ));
        }
        // The sweep would match every process with an empty cookie.
        if launch.cookie.is_empty() || launch.cookie.contains('\0') {
            return Err(format!("{} has no usable cookie", files::LAUNCH));
        }
        Ok(launch)
    }

    /// Opens the child's standard streams, or returns an error that names the stream.
    pub(super) fn open_streams(&self, launch: &Launch) -> Result<Streams, String> {
        let stdout = self.open_output(files::STDOUT)?;
        let unreadable = |path: &str, error| format!("standard input {path} could not be opened: {error}");
        let (stdin, input) = match (&launch.stdin, &launch.stdin_until) {
            (None, _) => (Stdio::null(), None),
            (Some(path), None) => (File::open(path).map_err(|error| unreadable(path, error))?.into(), None),
            (Some(path), Some(mark)) => {
                let opened = OpenInput::open(Path::new(path), &self.file(files::STDOUT), mark.clone());
                let (input, childs_end) = opened.map_err(|error| unreadable(path, error))?;
                (childs_end.into(), Some(input))
            }
        };
        let stderr = if launch.merge_stderr {
            stdout.try_clone().map_err(|error| format!("stdout could not be shared: {error}"))?
        } else {
            self.open_output(files::STDERR)?
        };
        Ok(Streams { stdin, stdout, stderr, input })
    }

    fn open_output(&self, name: &str) -> Result<File, String> {
        private()
            .create(true)
            .append(true)
            .open(self.file(name))
            .map_err(|error| format!("{name} could not be opened: {error}"))
    }

    /// Returns the number of bytes that the child has printed.
    pub(super) fn printed(&self) -> u64 {
        std::fs::metadata(self.file(files::STDOUT)).map_or(0, |meta| meta.len())
    }

    /// Truncates the child's output to `max` bytes.
    pub(super) fn cut_output(&self, max: u64) -> io::Result<()> {
        private().write(true).open(self.file(files::STDOUT))?.set_len(max)
    }

    /// Records the path of the child's cgroup.
    pub(super) fn note_cgroup(&self, path: &Path) -> io::Result<()> {
        let mut file = private().create(true).truncate(true).write(true).open(self.file(files::CGROUP))?;
        file.write_all(path.as_os_str().as_encoded_bytes())
    }

    /// Removes that record: the cgroup does not exist, or no longer.
    pub(super) fn forget_cgroup(&self) {
        let _ = std::fs::remove_file(self.file(files::CGROUP));
    }

    /// Records that the child may have done something. The record is on disk before the child starts.
    pub(super) fn mark_started(&self) -> io::Result<()> {
        private().create_new(true).write(true).open(self.file(files::STARTED))?;
        self.sync()
    }

    /// Writes the exit file under a draft name.
    pub(super) fn write_exit(&self, exit: &ExitFile) -> io::Result<()> {
        let mut file = private().create(true).truncate(true).write(true).open(self.exit_draft())?;
        file.write_all(&serde_json::to_vec(exit)?)?;
        file.sync_all()
    }

    /// Renames the file from [`ChildFolder::write_exit`] to its final name.
    pub(super) fn publish_exit(&self) -> io::Result<()> {
        std::fs::rename(self.exit_draft(), self.file(files::EXIT))?;
        self.sync()
    }

    fn exit_draft(&self) -> PathBuf {
        self.file(files::EXIT_DRAFT)
    }

    fn sync(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Opens files that only the user can read, and follows no links.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(PRIVATE).custom_flags(libc::O_NOFOLLOW);
    options
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(LARGEST_LAUNCH).read_to_end(&mut text)?;
    Ok(text)
}
