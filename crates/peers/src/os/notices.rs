//! Notices of changes in folders (inotify).

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// A source of notices about the watched folders. The descriptor is readable when notices wait.
#[derive(Debug)]
pub(crate) struct FolderNotices(OwnedFd);

/// The changes of a folder to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WantedNotices {
    /// New and growing files.
    Growth,
    /// All changes, including those of the folder itself.
    Everything,
}

/// One change.
pub(crate) struct Notice<'a> {
    /// The number that [`FolderNotices::follow`] returned for the folder.
    pub(crate) folder: i32,
    /// The name in the folder; `None` if the folder itself changed.
    pub(crate) name: Option<&'a [u8]>,
    pub(crate) kind: NoticeKind,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeKind {
    Changed,
    /// The folder is gone and no longer watched.
    Forgotten,
    /// The system dropped notices because its queue was full.
    Overflow,
}

impl FolderNotices {
    pub(crate) fn start() -> io::Result<FolderNotices> {
        Ok(FolderNotices(inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?))
    }

    /// Watches a folder or a file. The same path always gives the same number, which is above 0.
    pub(crate) fn follow(&self, path: &Path, wanted: WantedNotices) -> rustix::io::Result<i32> {
        inotify::add_watch(&self.0, path, flags(wanted))
    }

    /// Stops watching. The folder may be gone already.
    pub(crate) fn forget(&self, folder: i32) {
        let _ = inotify::remove_watch(&self.0, folder);
    }

    /// Passes every waiting notice to `see`. Does not wait.
    pub(crate) fn each(&self, mut see: impl FnMut(Notice<'_>)) {
        let mut space = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = inotify::Reader::new(self.0.as_fd(), &mut space);
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(CStr::to_bytes);
            see(Notice { folder: event.wd(), name, kind: kind(event.events()) });
        }
    }
}

fn kind(events: ReadFlags) -> NoticeKind {
    if events.contains(ReadFlags::QUEUE_OVERFLOW) {
        return NoticeKind::Overflow;
    }
    if events.contains(ReadFlags::IGNORED) { NoticeKind::Forgotten } else { NoticeKind::Changed }
}

fn flags(wanted: WantedNotices) -> WatchFlags {
    let growth = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE;
    match wanted {
        WantedNotices::Growth => growth,
        WantedNotices::Everything => {
            let losses = WatchFlags::DELETE | WatchFlags::MOVED_FROM | WatchFlags::ATTRIB;
            growth | losses | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF
        }
    }
}

impl AsFd for FolderNotices {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for FolderNotices {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
