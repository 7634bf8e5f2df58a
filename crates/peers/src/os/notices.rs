//! What the system says of changes in folders (inotify).

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

/// Notices of changes in the folders that are followed. Readable when there are some.
#[derive(Debug)]
pub(crate) struct FolderNotices(OwnedFd);

/// Which changes of a folder count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WantedNotices {
    /// Its files come and grow.
    Growth,
    /// All of them, also those of the folder itself.
    Everything,
}

/// One change.
pub(crate) struct Notice<'a> {
    /// What [`FolderNotices::follow`] returned for the folder.
    pub(crate) folder: i32,
    /// The name in the folder; none where it is about the folder itself.
    pub(crate) name: Option<&'a [u8]>,
    pub(crate) kind: NoticeKind,
}

/// What a notice says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoticeKind {
    Changed,
    /// The folder is gone and no longer followed.
    Forgotten,
    /// More happened than there was room for.
    Overflow,
}

impl FolderNotices {
    pub(crate) fn start() -> io::Result<FolderNotices> {
        Ok(FolderNotices(inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?))
    }

    /// Follows a folder, or a file. Twice the same gives the same number, which is above 0.
    pub(crate) fn follow(&self, path: &Path, wanted: WantedNotices) -> rustix::io::Result<i32> {
        inotify::add_watch(&self.0, path, flags(wanted))
    }

    /// Follows it no longer. The folder may be gone already.
    pub(crate) fn forget(&self, folder: i32) {
        let _ = inotify::remove_watch(&self.0, folder);
    }

    /// Hands over what there is, and does not wait.
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
