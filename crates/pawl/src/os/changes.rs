//! Notices that somebody wrote to a file.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

/// A watch on files. Its descriptor is readable after each change.
pub(crate) struct FileChanges {
    fd: OwnedFd,
}

impl FileChanges {
    /// Watches these files, which must exist.
    pub(crate) fn of(paths: &[&Path]) -> io::Result<FileChanges> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        for path in paths {
            inotify::add_watch(&fd, *path, WatchFlags::MODIFY)?;
        }
        Ok(FileChanges { fd })
    }

    /// Discards the changes so far. The caller then reads the files, so it misses none.
    pub(crate) fn discard(&self) -> io::Result<()> {
        let mut events = [0; 4096];
        loop {
            match rustix::io::read(&self.fd, &mut events) {
                Ok(0) | Err(Errno::WOULDBLOCK) => return Ok(()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for FileChanges {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
