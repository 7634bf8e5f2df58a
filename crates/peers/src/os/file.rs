//! Operations on files and folders that only Linux offers.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, fcntl_setfl, ioctl_ficlone, renameat_with};

/// Reads the names in a folder without an allocation for each.
pub(crate) use rustix::fs::RawDir as FolderReader;

/// Returns the current path of an open file from its descriptor, because the path it was opened by may
/// have changed.
pub(crate) fn path_of(file: &File) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Renames a file, unless the new name exists.
pub(crate) fn rename_new(from: &Path, to: &Path) -> rustix::io::Result<()> {
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)
}

/// Makes a file share the contents of another until one of them is written to. Returns false if the file
/// system cannot.
pub(crate) fn clone_contents(from: &File, to: &File) -> bool {
    ioctl_ficlone(to, from).is_ok()
}

/// Stops the system from recording the access time, if it allows that.
pub(crate) fn leave_read_time(file: &File) {
    let _ = fcntl_setfl(file, OFlags::NOATIME);
}
