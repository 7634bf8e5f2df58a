//! What can be done with files and folders here and not everywhere.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, RenameFlags, fcntl_setfl, ioctl_ficlone, renameat_with};

/// Reads the names in a folder without allocating for each.
pub(crate) use rustix::fs::RawDir as FolderReader;

/// Returns where an open file is now, asked of the file itself: its path may lead elsewhere by now.
pub(crate) fn path_of(file: &File) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Gives a file another name, unless somebody has that name.
pub(crate) fn rename_new(from: &Path, to: &Path) -> rustix::io::Result<()> {
    renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)
}

/// Lets a file share the contents of another until one of them is written to. Whether the file system can.
pub(crate) fn clone_contents(from: &File, to: &File) -> bool {
    ioctl_ficlone(to, from).is_ok()
}

/// Spares the note of when the file was last read, where that is granted.
pub(crate) fn leave_read_time(file: &File) {
    let _ = fcntl_setfl(file, OFlags::NOATIME);
}
