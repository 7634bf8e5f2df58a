//! Chooses the path of a run's socket.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use windlass_core::digest::fnv;
use windlass_core::id::RunId;

use crate::files::{FileError, make_private_dir};

/// The maximum length of the path. The system allows 107 bytes; this leaves some room.
pub const MAX_PATH: usize = 100;

/// An error from creating the socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("could not create the folder of the socket")]
    Folder(#[from] FileError),
    /// The folder belongs to somebody else, or others can enter it.
    #[error("{path} must be a folder that belongs to you and that nobody else can enter", path = path.display())]
    NotOurs { path: PathBuf },
    /// No possible path is short enough.
    #[error("{path} is too long for a socket ({length} bytes, at most {MAX_PATH})", path = path.display())]
    TooLong {
        /// The shortest possible path.
        path: PathBuf,
        length: usize,
    },
    #[error("another process listens at {path}", path = path.display())]
    Busy { path: PathBuf },
    #[error("{path}", path = path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Returns the socket path of a run, the same for every owner, and creates its folder.
pub fn path_for(state_dir: &Path, run: &RunId, temp_dir: &Path) -> Result<PathBuf, SocketError> {
    let name = format!("{}.sock", short_name(run));
    let near = state_dir.join("s");
    let path = near.join(&name);
    if length(&path) <= MAX_PATH {
        make_private_dir(&near)?;
        check_owner(&near)?;
        return Ok(path);
    }
    // Two state folders of one user must not share a socket.
    let uid = rustix::process::getuid().as_raw();
    let folder = temp_dir.join(format!("windlass-{uid}"));
    let path = folder.join(format!("{:016x}-{name}", fnv(state_dir.as_os_str().as_encoded_bytes())));
    if length(&path) > MAX_PATH {
        return Err(SocketError::TooLong { length: length(&path), path });
    }
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
            return Err(SocketError::Io { path: folder, source });
        }
        _ => check_owner(&folder)?,
    }
    Ok(path)
}

/// Checks that the folder is ours. In a folder that everybody can write to, a link or a foreign folder
/// could be a trap.
fn check_owner(folder: &Path) -> Result<(), SocketError> {
    let io_error = |source| SocketError::Io { path: folder.to_owned(), source };
    let meta = fs::symlink_metadata(folder).map_err(io_error)?;
    let is_ours =
        meta.is_dir() && meta.uid() == rustix::process::getuid().as_raw() && meta.mode() & 0o077 == 0;
    if is_ours { Ok(()) } else { Err(SocketError::NotOurs { path: folder.to_owned() }) }
}

fn length(path: &Path) -> usize {
    path.as_os_str().len()
}

/// Returns the run's id, or a hash of it if the id is long or has special characters.
fn short_name(run: &RunId) -> String {
    let id = run.as_str();
    let is_plain =
        !id.is_empty() && id.len() <= 24 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if is_plain { id.to_owned() } else { format!("{:016x}", fnv(id.as_bytes())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_socket_lies_in_the_state_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = path_for(dir.path(), &RunId::new("r1"), Path::new("/tmp")).unwrap();
        assert_eq!(path, dir.path().join("s/r1.sock"));
        assert_eq!(fs::metadata(dir.path().join("s")).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_long_state_folder_moves_it_to_the_temporary_folder() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("x".repeat(120));
        let path = path_for(&state, &RunId::new("r1"), dir.path()).unwrap();
        assert!(path.starts_with(dir.path()) && path.as_os_str().len() <= MAX_PATH, "{path:?}");
        assert_eq!(path, path_for(&state, &RunId::new("r1"), dir.path()).unwrap());
        assert_ne!(path, path_for(&state.join("y"), &RunId::new("r1"), dir.path()).unwrap());
        assert!(matches!(path_for(&state, &RunId::new("r1"), &state), Err(SocketError::TooLong { .. })));
    }

    #[test]
    fn a_folder_others_may_enter_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("x".repeat(120));
        let folder = path_for(&state, &RunId::new("r1"), dir.path()).unwrap();
        let folder = folder.parent().unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(path_for(&state, &RunId::new("r1"), dir.path()), Err(SocketError::NotOurs { .. })));
    }
}
